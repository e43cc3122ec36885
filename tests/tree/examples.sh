# SPDX-License-Identifier: BSD-3-Clause
# examples.sh - the programs of docs/examples do what they say: built against
# the shared library of this build, and built as a user does, against what
# `meson install` lays out, with the flags of pkg-config.
. "$(dirname "$0")/tap.sh"

data=tests/data
names='slice metalayers own_source'
dest=$tmp/dest

# manifest FILE WHAT: the SHA-256 that the manifest gives.
manifest()
{
	awk -F '\t' -v f="$1" -v w="$2" '$1 == f && $2 != "" && $3 == w {
		print $5; exit }' $data/MANIFEST.tsv
}

# same WANTED GOT WHAT
same() { [ "$1" = "$2" ] || echo "$3 is '$2', wanted '$1'"; }

# prints SHA COMMAND...: the command succeeds and prints what has this sum.
prints()
{
	local sha=$1
	shift
	"$@" > "$tmp/out" 2> "$tmp/err" || { echo "$1 fails"; cat "$tmp/err"; }
	same "$sha" "$(sha256sum < "$tmp/out" | cut -d ' ' -f 1)" "output of $*"
}

# refuses TEXT COMMAND...: the command fails as itself and says this.
refuses()
{
	local text=$1 status
	shift
	"$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
	[ $status = 1 ] || [ $status = 2 ] || echo "$* ends with $status"
	grep -qF -- "$text" "$tmp/err" || { echo "$* says:"; cat "$tmp/err"; }
}

reads_a_slice()
{
	local file=$data/good-nd-shrunk.b2nd row

	prints "$(manifest good-nd-shrunk.b2nd npy)" "$1/slice" $file 0:17 0:12
	prints "$(manifest good-nd16.b2nd npy)" "$1/slice" \
		$data/good-nd16.b2nd 0:1 0:2 0:1 0:1 0:2 0:1 0:1 0:1 0:2 0:1 \
		0:1 0:1 0:1 0:1 0:1 0:3
	"$1/slice" $file 0:17 0:12 > "$tmp/whole"
	for row in 3 4 5 6 7 8; do
		tail -c +$(((row * 12 + 5) * 4 + 1)) "$tmp/whole" | head -c 8
	done > "$tmp/part"
	prints "$(sha256sum < "$tmp/part" | cut -d ' ' -f 1)" \
		"$1/slice" $file 3:9 5:7
	same 0 "$("$1/slice" $file 3:3 5:7 | wc -c)" 'an empty slice'
	refuses 'within the shape' "$1/slice" $file 0:18 0:12
	refuses 'no array' "$1/slice" $data/good-frame-rc1.b2frame 0:1
	refuses 'too big' "$1/slice" $data/bad-nd-shape.b2nd 0:1
	refuses 'not a Blosc container' "$1/slice" $data/README.md
}

walks_metalayers()
{
	cat > "$tmp/wanted" << 'END'
meta/a 7 61732e206c617a
meta/json 120 b6c28603b3ffd6cf70e00906abeb8583
meta/with space 1000 1600000004cd00dbe200f0f700050c00
meta/dots.and-dashes_1 0
meta/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx 33 e15d38b2d97f1e486317fe8e52ef0bf2
meta/unicodé 5 1900000004
meta/日本語 120 73687566666c65203934303620657870
meta/UPPER 1000 f1c828df61e4efa1ed7bdc6e9d6b7f25
meta/tab%09here 0
meta/%25percent%25 33 6c61796572206173206279204f662073
END
	prints "$(sha256sum < "$tmp/wanted" | cut -d ' ' -f 1)" \
		"$1/metalayers" $data/good-frame-metalayers.b2frame
	"$1/metalayers" $data/good-frame-vlmetalayers.b2frame > "$tmp/out" ||
		echo 'metalayers fails'
	same 16 "$(grep -c '^vlmeta/k0' "$tmp/out")" 'number of vlmetalayers'
	same 'vlmeta/k014 15 626974732066726f6d207761732069' \
		"$(grep k014 "$tmp/out")" 'one of them'
	refuses 'nbytes' "$1/metalayers" $data/bad-frame-vlmetalayer.b2frame
	refuses 'container: corrupt' "$1/metalayers" \
		$data/bad-frame-metalayer.b2frame
}

serves_a_source()
{
	local file

	for file in good-frame-metalayers.b2frame good-frame-vlmetalayers.b2frame
	do
		prints "$(manifest $file data)" "$1/own_source" $data/$file
		grep -qE '^reads [1-9][0-9]*, ranges told [1-9][0-9]*, closed 1$' \
			"$tmp/err" || cat "$tmp/err"
	done
	refuses 'own_source: read: corrupt' "$1/own_source" \
		$data/bad-frame-stream.b2frame
}

reads_by_python()
{
	local row file facts run="/usr/bin/python3 docs/examples/read_array.py"
	export BLOSCFS_LIBRARY=$1 PYTHONDONTWRITEBYTECODE=1

	for row in 'good-nd-shrunk.b2nd (17, 12) int32' 'good-nd0.b2nd () int32' \
		'good-blp3-array-fortran.blp (4, 6, 10) int64' \
		'good-nd-zero-dim.b2nd (0, 7, 2) int32' \
		'good-nd-big-endian.b2nd (25, 25) >i4' \
		"good-nd-structured.b2nd (9, 7) [('id', '<u2'), ('pos', [('x', '<f4'), ('y', '<f4')]), ('name', 'S5')]"
	do
		file=${row%% *} facts=${row#* }
		same "$facts $(manifest "$file" npy)" "$($run $data/$file 2>&1)" \
			"$file"
	done
	refuses 'is no array' $run $data/good-frame-rc1.b2frame
	refuses 'Not a directory' $run $data/README.md/none
}

install()
{
	meson install -C "$BLOSCFS_BUILD_ROOT" --no-rebuild --quiet \
		--destdir "$dest" > "$tmp/install.log" 2>&1 ||
		cat "$tmp/install.log"
	pc=$(find "$dest" -name bloscfs.pc)
	[ -n "$pc" ] || { echo 'no bloscfs.pc'; cat "$tmp/install.log"; }
	[ -n "$(find "$dest" -path '*/man3/libbloscfs.3*')" ] ||
		echo 'no libbloscfs(3)'
}

# Only the flags of pkg-config; --define-prefix: the place is not the final one.
compile()
{
	local pc_dir name
	pc_dir=$(dirname "$(find "$dest" -name bloscfs.pc)")
	mkdir -p "$tmp/user"
	for name in $names; do
		PKG_CONFIG_PATH=$pc_dir $CC -std=gnu11 -Wall -Wextra -Wpedantic \
			-Werror -o "$tmp/user/$name" docs/examples/$name.c \
			$(PKG_CONFIG_PATH=$pc_dir pkg-config --define-prefix \
				--cflags --libs bloscfs)
	done
}

built=$BLOSCFS_BUILD_ROOT/tests/tree
check "slices are read" reads_a_slice "$built"
check "metalayers are walked" walks_metalayers "$built"
check "a source of one's own is served" serves_a_source "$built"
check "meson install lays out library and manual" install
check "pkg-config has the flags to build them" compile
library=$(find "$dest" -name 'libbloscfs.so.*[0-9]' | head -n 1)
export LD_LIBRARY_PATH=${library%/*}
check "slices are read, installed" reads_a_slice "$tmp/user"
check "metalayers are walked, installed" walks_metalayers "$tmp/user"
check "a source of one's own is served, installed" serves_a_source "$tmp/user"
if /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
	check "Python reads arrays without a mount" reads_by_python "$library"
else
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - Python reads arrays # SKIP there is no numpy"
fi
finish
