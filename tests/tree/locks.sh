# SPDX-License-Identifier: BSD-3-Clause
# locks.sh - docs/locks.md names each lock and each atomic of the code, and
# none that is not there.
. "$(dirname "$0")/tap.sh"

locks='pthread_(mutex|cond|once|rwlock|spin|barrier)_t|sem_t'
atomics='_Atomic|atomic_[a-z0-9_]+'

# declared TREE PATTERN: "file name" for each field or variable of such a type:
# lines that declare something, without comments, functions and parameters.
declared()
{
	(cd "$1" && grep -rE "(^|[^A-Za-z0-9_])($2)[[:space:]]" lib daemon \
		--include='*.[ch]') |
	sed -E 's,/\*.*,,; s,//.*,,' |
	awk -v types="($2)" '{
		file = $0
		sub(/:.*/, "", file)
		line = substr($0, length(file) + 2)
		gsub(/_Alignas\([0-9]+\)/, "", line)
		if (line !~ /;[[:space:]]*$/ || line ~ /[()]/)
			next
		sub(/[[:space:]]*=[^,;]*/, "", line)
		sub(/;[[:space:]]*$/, "", line)
		if (types ~ /pthread/ && line ~ /\*/)
			next
		n = split(line, part, ",")
		for (i = 1; i <= n; i++) {
			gsub(/\[[^]]*\]/, "", part[i])
			sub(/[[:space:]]+$/, "", part[i])
			m = split(part[i], word, /[[:space:]*]+/)
			if (word[m] !~ /^[A-Z_]+$/)
				print file, word[m]
		}
	}' | sort -u
}

# told TREE HEADING: "file name" for each row of the table below the heading.
told()
{
	awk -F'|' -v heading="## $2" '
	/^## / { inside = $0 == heading }
	inside && $2 ~ /`/ {
		split($2, file, "`")
		n = split($3, name, "`")
		for (i = 2; i <= n; i += 2)
			print file[2], name[i]
	}' "$1/docs/locks.md" | sort -u
}

untold_locks()
{
	comm -23 <(declared "$1" "$locks") <(told "$1" Locks) |
		sed 's/$/: a lock that docs\/locks.md does not name/'
}
gone_locks()
{
	comm -13 <(declared "$1" "$locks") <(told "$1" Locks) |
		sed 's/$/: docs\/locks.md names a lock that is not there/'
}
untold_atomics()
{
	comm -23 <(declared "$1" "$atomics") <(told "$1" Atomics) |
		sed 's/$/: an atomic that docs\/locks.md does not name/'
}
gone_atomics()
{
	comm -13 <(declared "$1" "$atomics") <(told "$1" Atomics) |
		sed 's/$/: docs\/locks.md names an atomic that is not there/'
}

count_locks() { [ "$(declared . "$locks" | wc -l)" -ge 20 ] || echo "too few"; }
count_atomics()
{
	[ "$(declared . "$atomics" | wc -l)" -ge 40 ] || echo "too few"
}

# with_line FILE LINE COMMAND: what COMMAND says of a copy with a line more.
with_line()
{
	rm -rf "$tmp/copy"
	mkdir "$tmp/copy"
	cp -r lib daemon docs "$tmp/copy"
	printf '%s\n' "$2" >> "$tmp/copy/$1"
	"$3" "$tmp/copy"
}

# without_row WORD COMMAND: of a copy whose page lacks the rows with WORD.
without_row()
{
	rm -rf "$tmp/copy"
	mkdir "$tmp/copy"
	cp -r lib daemon docs "$tmp/copy"
	sed -i "/^|.*$1/d" "$tmp/copy/docs/locks.md"
	"$2" "$tmp/copy"
}

check "locks are found" count_locks
check "atomics are found" count_atomics
check "every lock is on the page" untold_locks .
check "every lock of the page exists" gone_locks .
check "every atomic is on the page" untold_atomics .
check "every atomic of the page exists" gone_atomics .
check_fails "a new lock is missed on the page" \
	with_line lib/base/pool.c 'static pthread_mutex_t late;' untold_locks
check_fails "a new condition is missed on the page" \
	with_line lib/base/pool.c 'static pthread_cond_t early, late;' untold_locks
check_fails "a new atomic is missed on the page" \
	with_line daemon/main.c 'static _Atomic int late;' untold_atomics
check_fails "a lock that lost its row is missed" \
	without_row 'lib\/cache\/table.h' untold_locks
check_fails "an atomic that lost its row is missed" \
	without_row 'lib\/cache\/slot.h' untold_atomics
sed -i "/^## Atomics/i | \`lib/base/err.c\` | \`lock\` | nothing | |" \
	"$tmp/copy/docs/locks.md"
check_fails "a lock that is not there is found on the page" \
	gone_locks "$tmp/copy"
finish
