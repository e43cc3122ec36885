# SPDX-License-Identifier: BSD-3-Clause
# Completion of bloscfs for bash. Options come from the program itself.

_bloscfs_options()
{
	"${1:-bloscfs}" --help=all 2> /dev/null |
		sed -n 's/^  --\([a-z_]*=\{0,1\}\).*/\1/p'
}

_bloscfs_views()
{
	"${1:-bloscfs}" --version 2> /dev/null |
		sed -n '/^views:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p' |
		grep -vx members
}

# The last word of a list, completed behind what stands before it.
_bloscfs_list()
{
	local list=$1 before=
	shift
	case $list in
	*,*) before=${list%,*}, ;;
	esac
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$*" -- "${list##*,}")
	compopt -o nospace
}

_bloscfs()
{
	local program=$1 word=${COMP_WORDS[COMP_CWORD]} before=
	local forms='--check --info --cat --unmount --version --help'
	[ "$COMP_CWORD" = 0 ] || before=${COMP_WORDS[COMP_CWORD - 1]}
	# "=" is a word of its own.
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	case $before in
	-o)
		# shellcheck disable=SC2046
		_bloscfs_list "$word" $(_bloscfs_options "$program")
		return
		;;
	--views)
		# shellcheck disable=SC2046
		_bloscfs_list "$word" $(_bloscfs_views "$program")
		return
		;;
	--log_level)
		mapfile -t COMPREPLY < <(compgen -W 'err warn notice info debug' \
			-- "$word")
		return
		;;
	--unmount | --disk_cache)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	esac
	case $word in
	-*)
		mapfile -t COMPREPLY < <(compgen -W "-f -d -o $forms $(
			_bloscfs_options "$program" | sed 's/^/--/')" -- "$word")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames
		;;
	esac
}
complete -F _bloscfs bloscfs
