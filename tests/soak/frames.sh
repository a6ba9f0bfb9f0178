#!/usr/bin/env bash
# tier: full
# run: alone
# Call frame information of every ELF file in this machine's library and program directories against readelf, row by row, and the
# rules that unwind tables give for these rows. FRAMES_DIRS="…" names other directories.
set -u
build=${BUILD:-build} log=$(mktemp)
trap 'rm -f "$log"' EXIT
read -ra dirs <<<"${FRAMES_DIRS:-/usr /opt /lib /lib64 /bin /sbin}"
echo "1..3"

find "${dirs[@]}" -xdev -type f \( -name '*.so*' -o -perm /111 \) -print0 2>/dev/null |
	xargs -0 -P 2 -n 40 "$build/soak/frames" >"$log"
status=$?
awk '/^sum/ { for (i = 2; i <= NF; i++) { split($i, kv, "="); n[kv[1]] += kv[2] } } END { for (k in n) print "# " k, n[k] }' "$log" | sort
sed -n 's/^none .*: /# passed over: /p' "$log" | sort | uniq -c | sed 's/^ *\([0-9]*\) # /# \1 /'

ok() { # TRUTH WORDS
	[ "$1" = 1 ] || printf 'not '
	echo "ok - $2"
}
ok $((status == 0)) "every file could be looked at"
grep '^diff' "$log" | sed 's/^/# /'
ok $(($(grep -c '^diff' "$log") == 0)) "no row differs from readelf's"
ok $(($(awk '/^sum/ { for (i = 2; i <= NF; i++) if (sub(/^rows=/, "", $i)) n += $i } END { print n + 0 }' "$log") >= 100000)) "there were rows"
