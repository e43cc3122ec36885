# SPDX-License-Identifier: BSD-3-Clause
# headers.sh - every header compiles alone; the public one with each compiler
# found.
. "$(dirname "$0")/tap.sh"

packages=$(pkg-config --cflags fuse3 liblz4 libzstd zlib libcrypto libcurl expat)

compile()
{
	local h=$1
	shift
	"$@" -fsyntax-only -Ilib -Idaemon $packages "$h"
}

# The public header stands by itself: plain C11, and C++ where there is one.
compile_public()
{
	compile lib/bloscfs.h "$1" -x c -std=c11 -pedantic -Wall -Wextra -Werror
}

compile_cxx()
{
	compile lib/bloscfs.h "$1" -x c++ -std=c++11 -Wall -Wextra -Werror
}

for h in $(product_h); do
	check "$h compiles alone" compile "$h" ${CC:-cc} -x c -std=gnu11 \
		-D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function
done
for cc in gcc clang; do
	! command -v $cc > /dev/null ||
		check "$cc takes the public header as C11" compile_public $cc
done
for cxx in g++ clang++; do
	! command -v $cxx > /dev/null ||
		check "$cxx takes the public header" compile_cxx $cxx
done
finish
