# SPDX-License-Identifier: BSD-3-Clause
# layers.sh - a file includes only rooms of lower rank, its own room, or one
# beside it of the same rank; codec/ and filter/ do not see each other. The
# ranks are those of the table in docs/architecture.md.
. "$(dirname "$0")/tap.sh"

# rank FILE: from the table's rows "| rank | `room` `room` ... | holds |".
ranks()
{
	awk -F'|' '$2 ~ /^ *[0-9]+ *$/ {
		n = split($3, word, "`")
		for (i = 2; i <= n; i += 2)
			print word[i], $2 + 0
	}' docs/architecture.md
}

# Prints one line for each include in TREE that the table forbids.
find_faults()
{
	(cd "$1" && find lib daemon -name '*.[ch]' -exec \
		grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} +) |
	awk -v root="$1" '
	FNR == NR { rank[$1] = $2; next }
	function exists(f,   line, found) {
		found = (getline line < (root "/" f)) >= 0
		close(root "/" f)
		return found
	}
	# The room of a file: a directory below lib, or daemon.
	function room(f,   part, n) {
		if (f == "lib/bloscfs.h")
			return "bloscfs.h"
		n = split(f, part, "/")
		if (part[1] == "daemon")
			return "daemon/"
		return n > 2 ? part[2] "/" : part[2]
	}
	{
		colon = index($0, ":")
		file = substr($0, 1, colon - 1)
		split(substr($0, colon + 1), quoted, "\"")
		want = quoted[2]
		if (file ~ /^daemon\// && exists("daemon/" want))
			want = "daemon/" want
		else
			want = "lib/" want
		from = room(file)
		to = room(want)
		if (want ~ /\.\./ || !exists(want))
			print file ": \"" quoted[2] "\" is not named from lib/"
		else if (!(from in rank))
			print file ": " from " has no rank"
		else if (!(to in rank))
			print file ": " to " has no rank"
		else if (from == "daemon/" && to != from && to != "bloscfs.h")
			print file ": the daemon sees " want
		else if (rank[to] > rank[from])
			print file ": includes " want ", which is above it"
		else if (rank[to] == rank[from] && to != from && to ~ /^(codec|filter)\/$/)
			print file ": includes its sibling " want
	}' <(ranks) -
}

# Every file has a rank, includes or not.
find_strangers()
{
	find lib daemon -name '*.[ch]' | while read -r f; do
		case $f in
		lib/*/*) r=${f#lib/} r=${r%%/*}/ ;;
		lib/bloscfs.h) r=bloscfs.h ;;
		lib/*) r=${f#lib/} ;;
		*) r=daemon/ ;;
		esac
		ranks | grep -qxE "$r [0-9]+" || echo "$f: $r has no rank"
	done
}

count_rooms() { [ "$(ranks | wc -l)" -ge 12 ] || echo "table not read"; }

# with_line FILE LINE: the faults of a copy that has one line more.
with_line()
{
	rm -rf "$tmp/copy"
	mkdir "$tmp/copy"
	cp -r lib daemon docs "$tmp/copy"
	printf '%s\n' "$2" >> "$tmp/copy/$1"
	find_faults "$tmp/copy" | grep -F "$1"
}

check "the table of ranks is read" count_rooms
check "every file has a rank" find_strangers
check "no include points up" find_faults .
check_fails "an include that points up is found" \
	with_line lib/base/err.h '#include "chunk/plan.h"'
check_fails "filter/ may not include codec/" \
	with_line lib/filter/filter.h '#include "codec/codec.h"'
check_fails "codec/ may not include filter/" \
	with_line lib/codec/codec.h '# include "filter/filter.h"'
check_fails "an include by a path of its own is found" \
	with_line lib/chunk/plan.h '#include "../lib/base/err.h"'
if [ -n "$(find daemon -name '*.c' -print -quit)" ]; then
	check_fails "the daemon may not look into the library" \
		with_line "$(find daemon -name '*.c' | sort | head -n 1)" \
		'#include "base/mem.h"'
fi
finish
