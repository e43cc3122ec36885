# SPDX-License-Identifier: BSD-3-Clause
# hardening.sh - what the program and the library are built and linked with, so
# that a fault in memory ends them: as readelf and nm see it.
. "$(dirname "$0")/tap.sh"

machine=$(readelf -hW "$BLOSCFS_DAEMON" | sed -n 's/^ *Machine: *//p')

# Each find_ prints what is missing in a file.
find_pie()
{
	readelf -hW "$1" | grep -q 'Type: *DYN' &&
		readelf -dW "$1" | grep -q 'FLAGS_1.*PIE' ||
		echo "$1: its place in memory is fixed"
}

find_relro()
{
	readelf -lW "$1" | grep -q GNU_RELRO || echo "$1: no RELRO"
	readelf -dW "$1" | grep -Eq '\(FLAGS\).*BIND_NOW|FLAGS_1.*NOW' ||
		echo "$1: symbols are bound late"
}

find_nx()
{
	readelf -lW "$1" | grep -q 'GNU_STACK.* RW  ' ||
		echo "$1: its stack can be executed"
	if readelf -lW "$1" | grep -q 'LOAD.* RWE '; then
		echo "$1: memory that can be written and executed"
	fi
	if readelf -dW "$1" | grep -q TEXTREL; then
		echo "$1: code that is changed when loaded"
	fi
}

find_protector()
{
	nm -D -u "$1" | grep -q __stack_chk_fail || echo "$1: no stack protector"
}

find_fortify()
{
	nm -D -u "$1" | grep -Eq '__[a-z]+_chk(@|$)' || echo "$1: no checked calls"
}

# Where calls and returns may lead: of a program the linker says so only if the
# C library's own objects were made for it, so each object of ours is asked.
find_branches()
{
	local object wanted n=0
	case $machine in
	*X86-64*) wanted='x86 feature:.*IBT.*SHSTK' ;;
	AArch64) wanted='AArch64 feature:.*BTI.*PAC' ;;
	*) return ;;
	esac
	for object; do
		n=$((n + 1))
		readelf -nW "$object" | grep -q "$wanted" ||
			echo "$object: no marks where branches lead"
	done
	[ $n -gt 0 ] || echo "no objects"
}

objects() { find "$BLOSCFS_BUILD_ROOT"/{daemon,lib}/*.p -name '*.o'; }

both() { "$1" "$BLOSCFS_DAEMON"; "$1" "$BLOSCFS_LIBRARY"; }

# A program with none of it, in which each must be missed.
make_weak()
{
	weak=$tmp/weak
	cat > "$weak.c" << 'END'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[64];

	strcpy(text, argv[argc - 1]);
	return puts(text);
}
END
	$CC -O2 -w -fno-pie -no-pie -fno-stack-protector -U_FORTIFY_SOURCE \
		-Wl,-z,norelro -Wl,-z,lazy -Wl,-z,execstack $(case $machine in
		*X86-64*) echo -fcf-protection=none ;;
		esac) -o "$weak" "$weak.c"
}

check "the program lies anywhere in memory" find_pie "$BLOSCFS_DAEMON"
check "what the loader has bound cannot be changed" both find_relro
check "no memory is both written and executed" both find_nx
check "stacks are protected" both find_protector
check "branches lead where they may" find_branches $(objects)
[ "$BLOSCFS_FORTIFY" = 0 ] ||
	check "calls of the C library are checked" both find_fortify

check "a program without all this is built" make_weak
check_fails "a fixed place is found" find_pie "$tmp/weak"
check_fails "late binding is found" find_relro "$tmp/weak"
check_fails "a stack that can be executed is found" find_nx "$tmp/weak"
check_fails "an unprotected stack is found" find_protector "$tmp/weak"
check_fails "unchecked calls are found" find_fortify "$tmp/weak"
case $machine in
*X86-64* | AArch64) check_fails "free branches are found" find_branches "$tmp/weak" ;;
esac
finish
