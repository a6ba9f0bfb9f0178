#!/usr/bin/env bash
# tier: test
# An unprivileged program renames itself all the time: names beyond its share of --max-series become [other], which is logged. Another program of that
# user, and one of root, have their names.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
share=64 # series of one program, at --max-series 1024
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/err" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
names() { ask "SELECT count(DISTINCT value) FROM labels WHERE key = 'comm' AND value LIKE '$1%'"; }
for name in renames other; do cp "$progs/hostile" "$tmp/$name"; done
mv "$tmp/other" "$tmp/o$$"
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@" >/dev/null &
	pids+=("$!")
}

until_seen() { # COMM…: until each has samples
	for _ in $(seq 300); do
		local comm missing=0
		for comm; do [ "$(burnt "$comm")" -gt 0 ] || missing=1; done
		[ $missing = 1 ] || return
		sleep 0.2
	done
}

begin_always up --data "$data" --listen none --max-series 1024
as_nobody "$tmp/renames" names "n$$-"
renames=$!
until_seen "[other]"
as_nobody "$tmp/o$$" work 1
"$progs/burn" "r$$" 1 >/dev/null
wait "${pids[-1]}"
kill "$renames"
until_seen "o$$" "r$$"
until_said "has more series than its share"
is "a program with ever new names is logged" "$(grep -c 'program renames of user .* has more series than its share' "$tmp/log")" 1
end_always
holds "another program of that user has its name" test "$(burnt "o$$")" -gt 0
holds "… and so has one of root" test "$(burnt "r$$")" -gt 0
found=$(names "n$$-")
# Of as many more series only the thread has its name: the process is [other].
holds "the first has names within its share ($found)" test "$found" -gt 8 -a "$found" -le $((2 * share))
holds "… and the others are folded" test "$(burnt "[other]")" -gt 0
is "it ends" "$status" 0
finish
