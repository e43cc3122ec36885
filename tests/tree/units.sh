# SPDX-License-Identifier: BSD-3-Clause
# units.sh - systemd takes the units as they are installed, and counts that of
# the system among those that are OK: less than 5.0 of 10.
. "$(dirname "$0")/tap.sh"

if ! command -v systemd-analyze > /dev/null; then
	echo "1..0 # SKIP there is no systemd-analyze"
	exit 0
fi

# unit FILE: the unit of a template, of the program that was built.
unit()
{
	local to=$tmp/${1##*/}
	sed "s,@bindir@/bloscfs,$BLOSCFS_DAEMON," "packaging/$1.in" > "$to"
	echo "$to"
}
verify()
{
	XDG_RUNTIME_DIR=$tmp systemd-analyze verify --man=no "$@" \
		"$(unit "$unit")"
}
exposure()
{
	systemd-analyze security --offline=true --no-pager \
		--threshold="$1" "$(unit "$unit")" > "$tmp/out" 2>&1 ||
		tail -n 1 "$tmp/out"
}
# Beside bloscfs, only what each system has, or fuse3 brings: kill(1) is in a
# package of its own.
commands()
{
	sed -nE 's/^Exec[A-Za-z]*=[-+!:]*([^ ]*).*/\1/p' "packaging/$unit.in" |
		grep -vxE '@bindir@/bloscfs|/bin/sh|/usr/bin/(umount|fusermount3)' || true
}

unit=bloscfs@.service
check "systemd takes the unit of the system" verify
check "its commands are on each system" commands
check "what it is exposed to is OK" exposure 50
check_fails "more than it has is not" exposure 10
unit=bloscfs-user@.service
check "systemd takes the unit of users" verify --user
check "its commands are on each system" commands
finish
