# SPDX-License-Identifier: BSD-3-Clause
# manpage.sh - the manual and `bloscfs --help` name the same options; that of
# the library names what it exports, and its example runs.
. "$(dirname "$0")/tap.sh"

words() { grep -oE -e '--[a-z][a-z_-]*[a-z]' | sort -u; }
helped() { "$BLOSCFS_DAEMON" --help=all 2>&1 | words; }
# The short form names each option without its dashes.
short() { "$BLOSCFS_DAEMON" --help 2>&1; }
not_short()
{
	for option in $(helped); do
		short | grep -qE "(^|[ ,-])${option#--}([ ,=[]|\$)" ||
			echo "$option"
	done
}
fits_a_screen()
{
	[ "$(short | wc -l)" -le 24 ] || short | wc -l
	short | awk 'length > 79'
}
# plain PAGE: what a reader sees of it, more or less.
plain() { sed -E 's/\\f[A-Z]//g; s/\\-/-/g; s/\\&//g; s/\\e/\\/g' "$1"; }
manual() { plain docs/bloscfs.1 | words; }

only_help() { comm -23 <(helped) <(manual); }
only_manual() { comm -13 <(helped) <(manual); }
count_options() { [ "$(helped | wc -l)" -ge 10 ] || echo "too few"; }

exported()
{
	nm -D --defined-only "$BLOSCFS_LIBRARY" | awk '{ print $3 }' |
		grep '^bloscfs_' | sort -u
}
# named PAGE: the functions in its section FUNCTIONS.
named()
{
	plain "$1" | sed -n '/^\.SH FUNCTIONS/,/^\.SH EXAMPLES/p' |
		grep -oE '\bbloscfs_[a-z0-9_]+' | sort -u
}
not_named() { comm -23 <(exported) <(named "$1"); }
not_exported() { comm -13 <(exported) <(named "$1"); }

# A page that lacks a function, and one that names what is no more.
without_read() { sed '/bloscfs_read/d' docs/libbloscfs.3; }
with_strange() { sed 's/bloscfs_read/bloscfs_reed/' docs/libbloscfs.3; }

# The program of the page, from its .nf to its .fi.
runs_example()
{
	plain docs/libbloscfs.3 | sed -n '/^\.SH EXAMPLES/,$p' |
		sed -n '/^\.nf/,/^\.fi/{/^\./!p}' > "$tmp/example.c"
	$CC -std=gnu11 -Wall -Wextra -Wpedantic -Werror -Ilib \
		-o "$tmp/example" "$tmp/example.c" \
		-L"${BLOSCFS_LIBRARY%/*}" -lbloscfs || return
	export LD_LIBRARY_PATH=${BLOSCFS_LIBRARY%/*}
	[ "$("$tmp/example" tests/data/good-nd-pond.b2nd)" = '64 bytes' ] ||
		echo "it does not read an array"
	! "$tmp/example" tests/data/README.md 2> "$tmp/err" ||
		echo "it reads what is no container"
	grep -q 'not a Blosc container' "$tmp/err" || cat "$tmp/err"
}

# A line that begins with a dot and is no request would be left out, text and
# all.
no_requests()
{
	grep -nE "^[.']" "$@" | grep -vE ":(\\.|')(\\\\\"|(TH|SH|SS|TP|PP|IP|RS|RE|nf|fi|br|sp|B|BI|BR|I|IB|IR|RB|RI)( |\$))"
}
pages() { no_requests docs/*.[1358]; [ $? = 1 ]; }
with_dots() { sed 's/^or$/.../' docs/bloscfs.1; }

check "--help lists options" count_options
check "the short form of --help names all options" not_short
check "it fits a screen" fits_a_screen
check "the manual names what --help names" only_help
check "--help names what the manual names" only_manual
check "each line of the manuals is shown" pages
with_dots > "$tmp/dots.1"
check_fails "a line that would be left out is found" no_requests "$tmp/dots.1"
check "docs/manual/ is what the pages make" packaging/markdown --check
check "libbloscfs(3) names what is exported" not_named docs/libbloscfs.3
check "libbloscfs(3) names nothing else" not_exported docs/libbloscfs.3
without_read > "$tmp/without.3"
check_fails "a function that is missing there is found" \
	not_named "$tmp/without.3"
with_strange > "$tmp/strange.3"
check_fails "a function that is not exported is found" \
	not_exported "$tmp/strange.3"
check "the example of libbloscfs(3) compiles and runs" runs_example
finish
