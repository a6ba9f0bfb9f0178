#!/usr/bin/env bash
# tier: live
# run: alone
# Losses are counted and shown; failures end with the right status; a killed recorder leaves a readable file.
. tests/live/lib.sh
needs_recording

start "$progs/burn" lossy 8 >/dev/null
start "$progs/burn" lossy 8 >/dev/null
# A ring of one page cannot hold what two busy CPUs send in a tenth of a second at 10 kHz.
"$cresset" record -a -F 10000 -d 2 --buffer 4096 -o "$tmp/small.folded" 2>"$tmp/small.err"
is "losses alone are not a failure" $? 0
holds "losses are shown" grep -Eq 'lost [1-9]|[1-9][0-9,]* lost' "$tmp/small.err"
holds "… with the reason and the remedy" grep -q -- '--buffer' "$tmp/small.err"
"$cresset" record -a -q -F 10000 -d 1 --buffer 4096 --max-lost 0.05 -o "$tmp/small.folded" 2>/dev/null
is "--max-lost" $? 9
"$cresset" record -a -F 999 -d 2 -o "$tmp/large.folded" 2>"$tmp/large.err"
holds "nothing is lost with the ordinary buffer" grep -Eq '(^|[^0-9,])0 lost|lost 0' "$tmp/large.err"

"$cresset" record -a -q -F 199 -o "$tmp/killed.cresset" &
recorder=$!
for _ in $(seq 300); do # it commits every 3 s
	"$cresset" report -q "$tmp/killed.cresset.tmp" >/dev/null 2>&1 && break
	sleep 0.2
done
kill -9 $recorder
wait $recorder 2>/dev/null
holds "a killed recorder leaves its .tmp" test -s "$tmp/killed.cresset.tmp"
holds "… which opens" "$cresset" report "$tmp/killed.cresset.tmp"
# --- up: a collector that is stopped for a while cannot empty its ring. Its message and the store give the same figures.
chmod 755 "$tmp"
# It runs first: its losses before it is stopped would depend on other programs here.
nice -n -10 "$cresset" up -v --data "$tmp/data" --interval 1s --freq 1000 --buffer 512K --listen none 2>"$tmp/up.err" &
up=$!
pids+=("$up")
lost() { # WHICH: the greatest value of these series
	"$cresset" sql --format csv --data "$tmp/data" "SELECT coalesce(max(value), -1) FROM metrics WHERE name = 'cresset_lost' AND series IN
		(SELECT series FROM labels WHERE key = 'reason' AND value = '$1')" 2>"$tmp/sql.err" | tail -n 1 | tr -d '\r'
}
until_lost() { # WHICH AWK-CONDITION of n
	for _ in $(seq 120); do
		awk -v n="$(lost "$1")" "BEGIN { exit !(n != \"\" && $2) }" && return
		sleep 0.5
	done
}
until_lost ring_full "n >= 0"
is "nothing is lost at first, as the store reports" "$(lost ring_full)" 0
start "$progs/burn" lossy 12 >/dev/null
one=${pids[-1]}
start "$progs/burn" lossy 12 >/dev/null
other=${pids[-1]}
# A sample of a stack that was sent before takes 88 bytes and the ring's 8: 5461 of them fill it. At 1 kHz, 11 s of CPU time give 11000.
burnt_ms() { awk -v hz="$(getconf CLK_TCK)" '{ ticks += $14 } END { print int(ticks * 1000 / hz) }' "/proc/$one/stat" "/proc/$other/stat"; }
collector=$(pgrep -P "$up" -x cresset-collect)
kill -STOP "$collector"
from_ms=$(burnt_ms)
for _ in $(seq 1200); do
	stopped_for_ms=$(($(burnt_ms) - from_ms))
	[ $stopped_for_ms -ge 11000 ] && break
	sleep 0.05
done
holds "it is stopped for long enough, ms of CPU time" test $stopped_for_ms -ge 11000
kill -CONT "$collector"
until_lost ring_full "n > 0"
said=$(sed -n 's/.*ring buffer full: \([0-9]*\).*/\1/p' "$tmp/up.err" | head -1)
holds "samples lost to a full ring are a metric of the host" test "${said:-0}" -gt 0
is "… by their number" "$("$cresset" sql --format csv --data "$tmp/data" "SELECT CAST(min(value) AS INT) FROM metrics WHERE name = 'cresset_lost' AND value > 0 AND series IN
	(SELECT series FROM labels WHERE key = 'reason' AND value = 'ring_full')" | tail -n 1 | tr -d '\r')" "$said"
parts=$(descendants "$up")
kill "$up"
wait "$up"
is "no programs are left over" "$(for pid in $parts; do readlink "/proc/$pid/exe"; done | grep -c "$cresset")" 0

"$cresset" record -q -t 1 --comm x -d 1 -o "$tmp/x.folded" 2>/dev/null
is "two kinds of targets" $? 2
"$cresset" record -a -q -d 1 -F 20000 -o "$tmp/x.folded" 2>/dev/null
is "a rate that is too high" $? 2
finish
