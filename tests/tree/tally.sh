# SPDX-License-Identifier: BSD-3-Clause
# tally.sh - how the logs of tests are added up.
. "$(dirname "$0")/tap.sh"

tally=packaging/tally
export PYTHONDONTWRITEBYTECODE=1

# record NAME RESULT OUTPUT: one line of a log.
record()
{
	printf '{"name": "bloscfs:unit / %s", "result": "%s", ' "$1" "$2"
	printf '"returncode": 1, "stdout": "%s", "stderr": "why"}\n' "$3"
}

# prints WANTED COMMAND...: fails, and shows it, where it prints another text.
prints()
{
	local wanted=$1 got
	shift
	got=$("$@" 2> /dev/null)
	[ "$got" = "$wanted" ] || echo "printed '$got', wanted '$wanted'"
}

{
	record one OK 'ok 1 - a\nok 2 - b\n'
	record two FAIL 'ok 1 - a\nnot ok 2 - b\n'
	record three TIMEOUT 'ok 1 - a\n'
} > "$tmp/testlog.json"
cp "$tmp/testlog.json" "$tmp/twice.json"
{
	record two OK 'ok 1 - a\nok 2 - b\n'
	record three FAIL 'ok 1 - a\n'
} > "$tmp/twice-again.json"

check "each line counts, and what stops early is a failure" \
	prints "4 passed, 2 failed, 0 skipped" $tally "$tmp/testlog.json"
check "a test that passes when it runs again has passed" \
	prints "5 passed, 1 failed, 0 skipped" $tally "$tmp/twice.json"
check "one that fails again has failed" \
	prints three $tally --failed "$tmp/twice.json"
check "what passed at last is named as unsteady, with what it had printed" \
	prints "bloscfs:unit / two
-- bloscfs:unit / two: FAIL, exit status 1
not ok 2 - b
why" $tally --unsteady "$tmp/twice.json"
{
	record one OK 'ok 1 - a\nok 2 - b # SKIP no c\n# SKIP d: no e\n'
	record two OK 'ok 1 - a\n# 5 things, none to SKIP\n'
} > "$tmp/skipped.json"
check "what a test says that it skips is counted" \
	prints "2 passed, 0 failed, 2 skipped" $tally "$tmp/skipped.json"
check "a log that is not there is a failure" \
	prints "0 passed, 1 failed, 0 skipped" $tally "$tmp/none.json"
finish
