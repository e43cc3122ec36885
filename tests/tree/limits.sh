# SPDX-License-Identifier: BSD-3-Clause
# limits.sh - files, functions and lines stay short enough to read.
. "$(dirname "$0")/tap.sh"

longer_than()
{
	local most=$1
	shift
	[ $# -gt 0 ] || return 0
	wc -l "$@" | awk -v most="$most" '$2 != "total" && $1 > most {
		print $2 ": " $1 " lines, at most " most }'
}

# Headers that hold a family's whole table may be a little longer, and so may
# those that are code (vector kernels); the public one is the library's manual.
long_headers()
{
	local long='lib/(container/container|view/view)\.h'
	local code='lib/.*_(x86|neon)\.h'

	longer_than 200 $(product_h | grep -vxE "lib/bloscfs.h|$long|$code")
	longer_than 250 $(product_h | grep -xE "$long")
	longer_than 300 $(product_h | grep -xE "$code")
}

long_sources() { longer_than 800 $(all_c | grep '\.c$'); }

wide_lines()
{
	all_c | xargs awk '{
		rest = $0
		for (n = 0; at = index(rest, "\t"); n += 8 - n % 8) {
			n += at - 1
			rest = substr(rest, at + 1)
		}
	}
	n + length(rest) > 80 { print FILENAME ":" FNR ":" $0 }' |
		# In characters, as awk may count bytes.
		while IFS= read -r line; do
			! echo "${line#*:*:}" | expand -t 8 | grep -qE '.{81}' ||
				printf '%s\n' "$line"
		done
}

spaced_lines() { all_c | xargs grep -nE '[[:space:]]+$'; [ $? = 123 ]; }

# Of the product at most 60 lines, of tests 80.
long_functions()
{
	all_c | grep '\.c$' | xargs ctags -x --c-kinds=f \
		--_xformat='%{line} %{end} %F %N' |
		awk '$2 - $1 + 1 > ($3 ~ /^(lib|daemon)\// ? 60 : 80) {
			print $3 ": " $4 " has " $2 - $1 + 1 " lines" }'
}

no_spdx()
{
	all_c | xargs awk 'FNR == 1 &&
		$0 != "/* SPDX-License-Identifier: BSD-3-Clause */" {
		print FILENAME ": no SPDX line first" }'
}

check "sources have at most 800 lines" long_sources
check "headers have at most 200 lines" long_headers
check "lines have at most 80 columns" wide_lines
check "no line ends in blanks" spaced_lines
check "every C file names its licence first" no_spdx
! ctags --version 2> /dev/null | grep -q Universal ||
	check "functions have at most 60 lines, in tests 80" long_functions

# A tree that keeps to none of it. lines TEXT COUNT
lines() { yes "$1" | head -n "$2"; }
in_bad_tree() { cd "$tmp/bad" && "$@"; }
mkdir -p "$tmp/bad/lib" "$tmp/bad/daemon" "$tmp/bad/tests"
{
	printf 'int f(int x)\n{\n'
	lines '	x++;' 56
	printf '	return x;\n}\n'
} > "$tmp/bad/lib/function.c"
lines '/* */' 801 > "$tmp/bad/daemon/long.c"
lines '/* */' 201 > "$tmp/bad/lib/long.h"
{ lines 'x' 81 | tr -d '\n'; printf '\nx \n'; } > "$tmp/bad/tests/wide.c"

check_fails "a source of 801 lines is found" in_bad_tree long_sources
check_fails "a header of 201 lines is found" in_bad_tree long_headers
check_fails "a line of 81 columns is found" in_bad_tree wide_lines
check_fails "a blank at a line's end is found" in_bad_tree spaced_lines
check_fails "a file without its licence is found" in_bad_tree no_spdx
! ctags --version 2> /dev/null | grep -q Universal || {
	check "a function of 60 lines is as it should be" \
		in_bad_tree long_functions
	sed -i '3i\	x--;' "$tmp/bad/lib/function.c"
	check_fails "a function of 61 lines is found" \
		in_bad_tree long_functions
}
finish
