#!/usr/bin/env bash
# tier: live
# Names of code made at run time come back when the process that reads them is killed, and when the one that starts it is: then the collector begins
# again. Both are in the log, and counted. A program's earlier samples stay.
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root"; exit 0; }

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/err" | tail -n +2 | tr -d '\r'; }
# How many samples of the program have the name, so far.
named() { "$cresset" query --data "$data" 'cpu{comm="jit"}' --format folded 2>"$tmp/err" | awk '/jitted function/ { n += $NF } END { printf "%d\n", n }'; }
until_more() { # THAN: sets now
	for _ in $(seq 150); do
		now=$(named)
		[ "$now" -gt "$1" ] && return
		sleep 0.2
	done
}
"$progs/jit" 600 &
pids+=($!)
rm_map="/tmp/perf-$!.map"
begin_always up --data "$data" --listen none
until_more 0
holds "a function made at run time has its name" [ "$now" -gt 0 ]

before=$now
kill -9 "$(worker cresset-code)"
until_said "cresset-code died"
until_more "$before"
until_more "$now"
holds "it has it after its reader was killed" [ "$now" -gt "$before" ]
is "… which is logged" "$(grep -c 'cresset-code died and was replaced: 1 so far' "$tmp/log")" 1
for _ in $(seq 100); do
	ends=$(ask "SELECT CAST(max(value) AS INT) FROM metrics WHERE name = 'cresset_worker_ends' AND series IN (SELECT series FROM labels WHERE key = 'worker' AND value = 'cresset-code') AND series IN (SELECT series FROM labels WHERE key = 'how' AND value = 'died')")
	[ "$ends" = 1 ] && break
	sleep 0.2
done
is "… and counted" "$ends" 1

before=$(named)
nursery=$(pgrep -P "$(half cresset-collect)" -x cresset-nursery)
kill -9 "$nursery"
until_said "collector runs" 2
until_more "$before"
until_more "$now"
holds "it has it after the nursery was killed" [ "$now" -gt "$before" ]
is "… which is logged" "$(grep -c 'cresset-nursery, which starts the reader processes, was killed' "$tmp/log")" 1
holds "… with another nursery" test -n "$(pgrep -P "$(half cresset-collect)" -x cresset-nursery)"
is "… and no other restart" "$(grep -c 'collector has ended' "$tmp/log")" 1
end_always
is "it ends" "$status" 0
rm -f "$rm_map"
finish
