#!/usr/bin/env bash
# tier: live
# Processes of a user without rights whose memory makes every reader wait for ever: cresset up goes on with all others' samples, names and labels, says
# what it met, and ends within 2 s when it is told to, with nobody left over.
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root"; exit 0; }

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/err" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
begin_stall() { # NAME SECONDS
	"$progs/stall" "$1" "$2" >"$tmp/$1" &
	stalls=$!
	pids+=("$stalls")
	for _ in $(seq 200); do
		[ -s "$tmp/$1" ] && return
		kill -0 "$stalls" 2>/dev/null || return
		sleep 0.05
	done
}
# Those of this test, whoever their parent is by now: they have its environment (tests/live/lib.sh).
left_over() { pgrep '^cresset-' | while read -r p; do grep -qsxz "CRESSET_AGENT=tests-$$" "/proc/$p/environ" && echo "$p"; done | wc -l; }

begin_stall "$$-st0" 600
kill -0 "$stalls" 2>/dev/null || { echo "1..0 # SKIP no userfaultfd here"; exit 0; }
begin_always up --data "$data" --listen none
until_said "cresset-read hung while"
holds "its processes are found" test "$(left_over)" -ge 3
holds "a blocked read is logged" grep -q "cresset-read hung while reading another process" "$tmp/log"
for i in 1 2 3; do begin_stall "$$-st$i" 600; done
"$progs/burn" "$$-beside" 3 >/dev/null
until_stored "$$-beside"
near "another program is stored meanwhile, sample by sample" "$(burnt "$$-beside")" 297 60
"$cresset" query --data "$data" "cpu{comm=\"$$-beside\"}" >"$tmp/top" 2>&1
holds "… with names" grep -q burn_loop "$tmp/top"
"$progs/publish" "$$-pub" 2 >"$tmp/published"
until_stored "$$-pub"
is "… and one with a service name has it as a label" "$(ask "SELECT count(*) > 0 FROM labels WHERE key = 'service.name' AND value = 'front'")" 1
holds "they are stored as well" test "$(burnt "$$-st0")" -gt 0
# A collector that has no CPU for 5 s is reported as well, as one that runs.
is "… and the collector never stood still" "$(grep 'not recording for' "$tmp/log" | grep -cv 'it is running$')" 0
holds "skipped retries are counted" test "$(ask "SELECT CAST(coalesce(max(value), 0) AS INT) FROM metrics WHERE name = 'cresset_reads_failed'")" -gt 0
end_always
is "it ends" "$status" 0
holds "… within 2 s (${stop_ms} ms)" [ "$stop_ms" -le 2000 ]
worst=0
for _ in $(seq "${STOPS-5}"); do
	begin_always up --data "$data" --listen none
	until_said "collector runs"
	sleep 0.5
	end_always
	[ "$stop_ms" -gt "$worst" ] && worst=$stop_ms
done
holds "… and each time (at most ${worst} ms)" [ "$worst" -le 2000 ]
is "no process is left over" "$(left_over)" 0
finish
