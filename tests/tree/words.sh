# SPDX-License-Identifier: BSD-3-Clause
# words.sh - the tree speaks of the product alone: no unfinished marks, no
# path of the machine it was written on, no name of another library as ours.
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

check "no unfinished marks" search "$marks"
check "no path of one machine" search "$paths"
check "no function is called blosc_ or blosc2_" borrowed_names
finish
