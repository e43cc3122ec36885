# SPDX-License-Identifier: BSD-3-Clause
# words.sh - the tree speaks of the product alone: no unfinished marks, no
# path of the machine it was written on, no name of another library as ours;
# and its pages speak of files that are there.
. "$(dirname "$0")/tap.sh"

# Broken up, so that this file passes its own test.
marks='\b(TO''DO|FIX''ME|X''XX|HA''CK)\b'
paths='(^|[^A-Za-z0-9_.])/(wo''rk|home/[a-z]+|ro''ot)/'

search()
{
	tree_files | grep -v '^tests/data/' | tr '\n' '\0' |
		xargs -0 grep -nsIE "$1" --
	[ "${PIPESTATUS[3]}" != 0 ]
}

# Symbols with those prefixes belong to other people's libraries.
borrowed_names()
{
	product_c | xargs grep -nE '^[a-z].*[ *]blosc2?_[a-z0-9_]+\('
	[ $? != 0 ]
}

# Files and rooms that the pages for contributors name and that are not there:
# `lib/x/y.c`, `tests/tree/`, or `x/y` for a file of a room, with any ending.
gone_files()
{
	grep -oE '`[a-z0-9_]+(/[A-Za-z0-9_.-]+)+/?`' "$@" | tr -d '`' |
	while IFS=: read -r page name; do
		case $name in *NAME* | *ROOM*) continue ;; esac
		for at in "$name" "lib/$name" "daemon/$name"; do
			[ -e "$at" ] || [ -e "$at.c" ] || [ -e "$at.h" ] &&
				continue 2
		done
		echo "$page: $name is not there"
	done
}

pages='docs/architecture.md docs/CONTRIBUTING.md docs/locks.md'

check "no unfinished marks" search "$marks"
check "no path of one machine" search "$paths"
check "no function is called blosc_ or blosc2_" borrowed_names
check "the pages name files that are there" gone_files $pages
echo 'see `lib/array/gone.c`' > "$tmp/page.md"
check_fails "a file that is not there is found" \
	gone_files $pages "$tmp/page.md"
finish
