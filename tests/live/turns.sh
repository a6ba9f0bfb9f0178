#!/usr/bin/env bash
# tier: live
# run: alone
# More threads wait than one report can hold: cresset up records their waits in turns, in full, and in windows as estimates whose sum is right.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
threads=9000 me=w$$
cp "$progs/crowd" "$tmp/$me"
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/sql.err" | tail -n +2 | tr -d '\r'; }
of_waits() { # COLUMNS: of the crowd's
	ask "SELECT $1 FROM samples WHERE type = 'off-cpu' AND series IN (SELECT series FROM labels WHERE key = 'process' AND value = '$me')"
}
wait_s() { command sleep "$1"; }
# Records while they wait: recorded WAIT_BUDGET; sets us, the duration
recorded() {
	local from
	data=$tmp/data$1
	start "$tmp/$me" threads $threads >"$tmp/crowd"
	crowd=${pids[-1]}
	for _ in $(seq 600); do
		[ -s "$tmp/crowd" ] && break
		sleep 0.1
	done
	is "$threads threads are there" "$(cat "$tmp/crowd")" $threads
	begin_always up --data "$data" --listen none --wait-budget "$1" --min-block 1ms
	from=${EPOCHREALTIME/./}
	wait_s 12
	us=$((${EPOCHREALTIME/./} - from))
	end_always
	is "it ends well" "$status" 0
	kill -9 "$crowd"
	wait "$crowd" 2>/dev/null
}

recorded 0
is "it logs this, once" "$(grep -c 'a pending wait is recorded in one of' "$tmp/log")" 1
is "each thread is there" "$(of_waits 'count(DISTINCT tid)')" $((threads + 1))
# Threads are first seen within the start, and last at the end: apart from that, all have the same time.
read -r least most < <(ask "SELECT CAST(min(s) AS INT), CAST(max(s) AS INT) FROM (SELECT sum(value) AS s FROM samples WHERE type = 'off-cpu'
	AND series IN (SELECT series FROM labels WHERE key = 'process' AND value = '$me') GROUP BY tid)" | tr ',' ' ')
holds "… with all of its time: $((least / 1000)) to $((most / 1000)) of $us µs or a little more" \
	test "$((least / 1000))" -ge $((us * 98 / 100)) -a "$most" -le $((least + least / 20))
most=$(ask "SELECT max(n) FROM (SELECT count(*) AS n FROM samples WHERE type = 'off-cpu' AND series IN (SELECT series FROM labels WHERE key = 'process'
	AND value = '$me') GROUP BY tid)")
holds "… in turns: $most pieces of one thread, fewer than intervals" test "$most" -ge 2 -a "$most" -le 9
is "nothing was lost" "$(grep -c lost "$tmp/log")" 0

recorded 0.001
all=$(of_waits 'CAST(sum(value) AS INT)')
per_s() { awk "BEGIN { printf \"%.0f\", $1 / $2 }"; }
holds "in windows: they are estimates" test "$(of_waits 'count(*)')" -gt 0 -a \
	"$(ask "SELECT count(*) FROM labels WHERE key = 'windows' AND series IN (SELECT series FROM labels WHERE key = 'process' AND value = '$me')")" -gt 0
near "… with the sum of all threads, in thread-seconds per second" "$(per_s "$all" "$((us * 1000))")" $((threads + 1)) $((threads * 12 / 100))
finish
