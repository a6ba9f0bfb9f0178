#!/usr/bin/env bash
# tier: test
# Memory in cresset up: a running program that --mem-attach selects gets the library; its allocations and its memory in use are right within the interval, the
# memory of an ended one is gone, and the library parks when cresset ends. No other program gets it.
. tests/live/lib.sh
. tests/live/lib_always.sh
. tests/live/lib_mem_sites.sh
needs_recording
me=m$$
cp "$progs/mem_sites" "$tmp/$me"
run_sites "$tmp/$me"
start sleep 1000
other=${pids[-1]}
"$cresset" up --data "$tmp/data" --listen none --mem-attach "comm=\"$me\"" 2>"$tmp/err"
is "without an event of memory it is refused" $? 2
chmod 755 "$tmp" # the store process is another user
begin_always up --data "$tmp/data" --listen none --events alloc,inuse --mem-attach "comm=\"$me\""
until_said "($me) has the memory library now"
until_said "allocations of 1 programs"
has_library() { grep -q libcresset-mem.so "/proc/$1/maps"; }
holds "the selected program has the library" has_library "$pid"
is "another one has not" "$(has_library "$other" && echo has)" ""

sum() { # TYPE OPTION…: its sum, and half of the 95 % interval
	rm -f "$tmp/sum.cresset"
	"$cresset" query --data "$tmp/data" "$1{pid=\"$pid\"}" "${@:2}" -o "$tmp/sum.cresset" 2>/dev/null
	[ -e "$tmp/sum.cresset" ] || { echo 0 0 && return; }
	"$cresset" report "$tmp/sum.cresset" --type "$1" --top 0 --json |
		jq -r '.top[] | [.self, .self_low, .self_high] | @tsv' |
		awk '{ n += $1; square += (($3 - $2) / 2) ^ 2 } END { printf "%d %d\n", n, sqrt(square) }'
}
# Of the first state from now on.
in_use() {
	local since=$((EPOCHSECONDS + 1)) now
	for _ in $(seq 600); do
		now=$(sum inuse --from "$since")
		[ "$now" = "0 0" ] || break
		sleep 0.3
	done
	echo "$now"
}
bytes_of() { tr ' ' '\n' <"$1" | awk -F: 'NF == 2 { n += $1 * $2 } END { printf "%d", n }'; }
echo "fill 30000" >&"$to"
next_line >"$tmp/held"
all=$(bytes_of "$tmp/held")
read -r got half <<<"$(in_use)"
near "bytes in use" "$got" "$all" "$(awk "BEGIN { print $half * 5 / 1.96 }")"
# One site allocates half of its size first.
read -r got half <<<"$(sum alloc)"
near "bytes that it has allocated" "$got" $((all + 30000 * 500)) "$(awk "BEGIN { print $half * 5 / 1.96 }")"
echo end >&"$to"
wait "$pid"
is "the program ends as ever" $? 0
for _ in $(seq 600); do
	read -r got half <<<"$(sum inuse)"
	[ "$got" != 0 ] || break
	sleep 0.2
done
is "then it has no memory in use" "$got" 0
read -r got half <<<"$(sum alloc)"
holds "… but has had it" test "$got" -gt 0
end_always TERM
is "cresset ends" $status 0
finish
