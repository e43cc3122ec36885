# SPDX-License-Identifier: BSD-3-Clause
# bare-cc.sh - the program builds from its files alone, without a build
# system: one compiler call with the libraries' flags.
. "$(dirname "$0")/tap.sh"

packages='fuse3 liblz4 libzstd zlib libcrypto libcurl expat'
if pkg-config --exists msgpack-c; then
	packages="$packages msgpack-c"
else
	packages="$packages msgpack"
fi
# What the program can do without is named by a macro where it is there.
options=
if pkg-config --exists snappy; then
	packages="$packages snappy"
	options="$options -DBFS_HAVE_SNAPPY=1"
fi
if echo '#include <zfp.h>' | ${CC:-cc} -E -x c - > /dev/null 2>&1; then
	options="$options -DBFS_HAVE_ZFP=1 -lzfp"
fi
if pkg-config --exists libseccomp; then
	packages="$packages libseccomp"
	options="$options -DBFS_HAVE_SECCOMP=1"
fi

build()
{
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DBLOSCFS_VERSION='"bare"' \
		-pthread -Ilib -Idaemon -o "$tmp/bloscfs" \
		$(find lib daemon -name '*.c') $options \
		$(pkg-config --cflags --libs $packages)
}

answer()
{
	"$tmp/bloscfs" --version | grep -qw bare ||
		echo "--version does not say so"
}

check "one call of the compiler builds all" build
check "what it built answers" answer
finish
