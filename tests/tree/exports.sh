# SPDX-License-Identifier: BSD-3-Clause
# exports.sh - the shared library exports bloscfs.h and nothing else, and the
# daemon holds nothing of the library's inside.
. "$(dirname "$0")/tap.sh"

exported() { nm -D --defined-only "$BLOSCFS_LIBRARY" | awk '{ print $3 }'; }
declared()
{
	grep -oE '\bbloscfs_[a-z0-9_]+\(' lib/bloscfs.h | tr -d '(' | sort -u
}

strange_exports() { exported | grep -v '^bloscfs_'; [ $? = 1 ]; }
missing_exports() { comm -23 <(declared) <(exported | sort); }
hidden_exports() { comm -13 <(declared) <(exported | sort); }
# What programs were built against stays, and what is new is said with a version.
packaged()
{
	sed -n 's/^ \(bloscfs_[a-z0-9_]*\)@Base .*/\1/p' \
		packaging/debian/libbloscfs0.symbols
}
unpackaged_exports() { diff <(packaged | sort) <(exported | sort); }
inside_of_daemon() { nm "$BLOSCFS_DAEMON" | grep -E ' bfs_'; [ $? = 1 ]; }
count_exports() { [ "$(exported | wc -l)" -gt 10 ] || echo "too few"; }

check "there are exported symbols" count_exports
check "exported symbols begin with bloscfs_" strange_exports
check "all that bloscfs.h declares is exported" missing_exports
check "all that is exported is declared in bloscfs.h" hidden_exports
check "the package names each exported symbol" unpackaged_exports
check "the daemon calls nothing private" inside_of_daemon
finish
