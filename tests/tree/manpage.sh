# SPDX-License-Identifier: BSD-3-Clause
# manpage.sh - the manual and `bloscfs --help` name the same options.
. "$(dirname "$0")/tap.sh"

words() { grep -oE -e '--[a-z][a-z_-]*[a-z]' | sort -u; }
helped() { "$BLOSCFS_DAEMON" --help 2>&1 | words; }
manual() { sed -E 's/\\f[A-Z]//g; s/\\-/-/g; s/\\&//g' docs/bloscfs.1 | words; }

only_help() { comm -23 <(helped) <(manual); }
only_manual() { comm -13 <(helped) <(manual); }
count_options() { [ "$(helped | wc -l)" -ge 10 ] || echo "too few"; }

check "--help lists options" count_options
check "the manual names what --help names" only_help
check "--help names what the manual names" only_manual
finish
