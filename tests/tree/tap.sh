# SPDX-License-Identifier: BSD-3-Clause
# tap.sh - what the scripts beside it share: TAP output and the place to work.
# Sourced; leaves the shell in the source root with a directory $tmp.
set -u
export LC_ALL=C.UTF-8

cd "${BLOSCFS_SOURCE_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_n=0

# check NAME COMMAND...: passes when the command prints nothing and returns 0;
# what it printed goes to stderr, which meson shows of a failed test.
check()
{
	local name=$1 out
	shift
	tap_n=$((tap_n + 1))
	if out=$("$@" 2>&1) && [ -z "$out" ]; then
		echo "ok $tap_n - $name"
	else
		echo "not ok $tap_n - $name"
		printf '%s\n' "$name:" "$out" | head -n 60 >&2
	fi
}

# check_fails NAME COMMAND...: passes when the command prints what it found.
check_fails()
{
	local name=$1 out
	shift
	tap_n=$((tap_n + 1))
	out=$("$@" 2>&1)
	if [ -n "$out" ]; then
		echo "ok $tap_n - $name"
	else
		echo "not ok $tap_n - $name"
	fi
}

finish()
{
	echo "1..$tap_n"
}

# The C files and headers of the product (lib, daemon) or of all.
product_c() { find lib daemon -name '*.c' | sort; }
product_h() { find lib daemon -name '*.h' | sort; }
all_c() { find lib daemon tests -name '*.[ch]' | sort; }

# All text files that belong to the tree; where git is there, those it knows
# or would take.
tree_files()
{
	git ls-files -co --exclude-standard 2>/dev/null ||
		find . -path ./.git -prune -o -path './build*' -prune -o \
			-type f -print | sed 's,^\./,,'
}
