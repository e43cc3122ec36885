# SPDX-License-Identifier: BSD-3-Clause
# release.sh - the source tarball is the same, byte for byte, wherever it is made.
. "$(dirname "$0")/tap.sh"
# Fast; how far it compresses is no part of this.
export BLOSCFS_XZ_LEVEL=0

if ! git -c safe.directory='*' rev-parse -q --verify HEAD > /dev/null 2>&1; then
	echo "1..0 # SKIP this is no checkout"
	exit 0
fi

mkdir "$tmp/here" "$tmp/there"
elsewhere()
{
	git -c safe.directory='*' clone -q . "$tmp/a folder" &&
		(cd / && umask 077 && TZ=Asia/Tokyo LC_ALL=C \
			"$tmp/a folder/packaging/release" --out="$tmp/there")
}
make_two()
{
	(umask 002 && TZ=America/Lima packaging/release --out="$tmp/here") &&
		elsewhere
}
differ() { diff -r "$tmp/here" "$tmp/there"; }
unchecked()
{
	(cd "$tmp/here" && grep 'tar.xz$' ./*.sha256 | sha256sum -c --quiet)
}
# What is inside, whichever xz made it.
inside()
{
	local sum
	sum=$(xz -dc "$tmp"/here/*.tar.xz | sha256sum | cut -d ' ' -f 1)
	grep -q "^$sum  " "$tmp"/here/*.sha256 || echo "not $sum"
}

make_two > "$tmp/out" 2>&1 || cat "$tmp/out" >&2
check "two tarballs are the same" differ
check "its checksum is right" unchecked
check "that of what is inside too" inside
echo >> "$(echo "$tmp"/there/*.tar.xz)"
check_fails "a byte more is found" differ
finish
