# SPDX-License-Identifier: BSD-3-Clause
# completion.sh - what the shells offer behind `bloscfs`, as far as they are
# here.
. "$(dirname "$0")/tap.sh"

here=packaging/completion
mkdir "$tmp/bin"
ln -s "$BLOSCFS_DAEMON" "$tmp/bin/bloscfs"
PATH=$tmp/bin:$PATH

# offers WANTED WORD...: bash's answer to a line that ends in the last word.
offers()
{
	local wanted=$1 got
	shift
	got=$(
		. $here/bloscfs.bash
		compopt() { :; }
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_bloscfs "$1"
		echo "${COMPREPLY[*]}"
	)
	[ "$got" = "$wanted" ] || echo "'$*' gives '$got', not '$wanted'"
}
all_options()
{
	local option
	for option in $(bloscfs --help=all | grep -oE -- '  --[a-z_]+=?' |
		sort -u); do
		offers "$option" bloscfs "$option"
	done
}

bash_offers()
{
	offers --check bloscfs --ch
	offers --cache_size= bloscfs --cac
	offers allow_other,cache_size= bloscfs -o allow_other,cach
	offers info,chunks bloscfs --views = info,chu
	offers debug bloscfs --log_level = de
	offers README.md bloscfs --info READM
	offers '' bloscfs --bogus
}

fish_offers()
{
	fish --no-config -c "source $here/bloscfs.fish
		complete -C 'bloscfs --cache'; complete -C 'bloscfs --unm'" |
		cut -f 1 | diff - <(printf '%s\n' --cache_size= --unmount)
}

zsh_reads() { zsh -f -n $here/_bloscfs; }
# The shells of Debian and Fedora look there below /usr/local.
places()
{
	local place
	for place in bash-completion/completions zsh/site-functions \
		fish/vendor_completions.d; do
		meson introspect --installed "$BLOSCFS_BUILD_ROOT" |
			grep -oE "/share/$place/_?bloscfs(\.fish)?\"" > "$tmp/out" ||
			echo "nothing is installed into $place"
	done
}
zsh_looks()
{
	zsh -f -c 'print -l $fpath' | grep -x '.*/share/zsh/site-functions' \
		> "$tmp/out" || echo 'not in zsh/site-functions'
}

check "bash offers what fits" bash_offers
check "bash offers every option" all_options
! command -v fish > /dev/null || check "fish offers options" fish_offers
! command -v zsh > /dev/null || check "zsh takes its file" zsh_reads
check "files are installed where shells look" places
! command -v zsh > /dev/null || check "zsh looks there" zsh_looks
finish
