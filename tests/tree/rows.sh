# SPDX-License-Identifier: BSD-3-Clause
# rows.sh - every row of a family has its file and its place in the docs, and
# every source file is built.
. "$(dirname "$0")/tap.sh"

# stems ROOM
stems()
{
	sed -nE 's/^BFS_[A-Z]+_ROW\(([a-z0-9_]+)\).*/\1/p' "lib/$1/rows.def"
}

# The name that users see: .name = "..." in the row's descriptor.
shown_name()
{
	sed -nE 's/^\t\.name = "([^"]+)".*/\1/p' "$1" | head -n 1
}

# "sparse frame", "Sparse-Frame" and "sparseframe" are one name.
plain() { tr -d ' _-' | tr '[:upper:]' '[:lower:]'; }

is_named()
{
	local name=$1
	shift
	cat "$@" | plain | grep -F -e "$(printf %s "$name" | plain)" >/dev/null
}

check_row()
{
	local file=lib/$1/$2.c name where=docs/formats/*.md
	[ ! -d "lib/$1/$2" ] || file=lib/$1/$2/$2.c
	[ -f "$file" ] || { echo "$file is missing"; return; }
	grep -qE "^const struct bfs_[a-z]+ bfs_$1_$2 = " "$file" ||
		echo "$file does not define bfs_$1_$2"
	name=$(shown_name "$file")
	[ "$1" != view ] || where=docs/bloscfs.1
	is_named "$2" $where || is_named "${name:-$2}" $where ||
		echo "$where does not name $2 (${name:-no name})"
}

# Sources that are neither a row nor listed in lib/meson.build.
unbuilt()
{
	find lib -name '*.c' | while read -r f; do
		f=${f#lib/}
		room=${f%%/*} stem=${f##*/} stem=${stem%.c}
		[ "$room" != "$f" ] && [ -f "lib/$room/rows.def" ] &&
			stems "$room" | grep -qxF "$stem" && continue
		grep -qF "'$f'" lib/meson.build ||
			echo "lib/$f is not in lib/meson.build"
	done
}

for room in codec filter container view; do
	for stem in $(stems $room); do
		check "$room/$stem is complete" check_row $room "$stem"
	done
done
check "every source file of the library is built" unbuilt
finish
