#!/usr/bin/env bash
# tier: live
# run: alone
# Spans of traces, always on: one program among many is soon found, its samples have the spans that its threads had, and a selector takes one trace:
# from the store of cresset up, and from the store of a server that an agent sends to.
. tests/live/lib.sh
. tests/live/lib_always.sh
. tests/cli/lib_serve.sh
needs_recording
for program in curl jq python3; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done

chmod 755 "$tmp" # the store process is not root
of_comm() { echo "series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
ask() { "$cresset" sql -q --format csv "${from[@]}" "$1" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND $(of_comm "$1")"; }
checked() { # NAME: right wrong missing none unsure outside
	{
		echo "time,length,tid,trace_id,span_id"
		ask "SELECT time, length, tid, trace_id, span_id FROM samples WHERE type = 'cpu' AND $(of_comm "$1")"
	} >"$tmp/$1.csv"
	python3 tests/live/trace_check.py "$tmp/$1.log" "$tmp/$1.csv"
}
# The spans of a program by its own log are in the store: spans_are_stored NAME
spans_are_stored() {
	local right wrong missing none trace want
	until_stored "$1"
	read -r right wrong missing none _ <<<"$(checked "$1")"
	is "$1: no span that the thread did not have, none that is missing" "$wrong $missing" "0 0"
	holds "… $right samples in spans, $none in none" test "$right" -ge 20 -a "$none" -ge 20
	late=$(ask "SELECT (min(CASE WHEN trace_id IS NOT NULL THEN time END) - min(time)) / 1000000 FROM samples WHERE $(of_comm "$1")")
	holds "… the first one ${late:-never} ms after its first sample" test "${late:-9999}" -le 3000
	trace=$(ask "SELECT trace_id FROM samples WHERE type = 'cpu' AND trace_id IS NOT NULL AND $(of_comm "$1") GROUP BY trace_id ORDER BY count(*) DESC LIMIT 1")
	want=$(ask "SELECT count(*) FROM samples WHERE type = 'cpu' AND trace_id = '$trace'")
	is "… and a selector takes one trace" "$("$cresset" query -q "${from[@]}" "cpu{trace_id=\"$trace\"}" -o - --format folded | folded_sum)" "$want"
}
# Others that wake constantly, each with mappings that come and go.
crowd() { # HOW-MANY
	python3 -c '
import mmap, os, sys, time
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        break
ours = os.getppid()
kept = []
while os.getppid() == ours:
    kept = kept + [mmap.mmap(-1, 1 << 20)] if len(kept) < 5 else []
    time.sleep(0.2)' "$1" &
	pids+=($!)
}

from=(--data "$tmp/data")
begin_always up --data "$tmp/data" --listen none
crowd 150
crowded=${pids[-1]}
sleep 4 # by then they are all old
"$progs/trace" among-many 8 "$tmp/among-many.log"
kill "$crowded"
spans_are_stored among-many
is "the store process has not ended" "$(grep -c "store process has ended" "$tmp/log")" 0
end_always
is "it ends well" $status 0

serve --data "$tmp/served"
from=(--server "$url")
begin_always agent --spool "$tmp/spool" --server "$url"
sleep 5 # the programs here are new to it: it is behind
"$progs/trace" sent 8 "$tmp/sent.log"
spans_are_stored sent
# A batch that is mostly new, on a machine that does much at the same time, is sent whole: the next ones are not.
for _ in $(seq 120); do
	packed=$(get debug/ingest | jq '.senders[0] | .key_sequence < .last_sequence')
	[ "$packed" = true ] && break
	sleep 0.5
done
is "batches are compressed against an earlier one" "$packed" true
is "no number is missing" "$(get debug/ingest | jq '.senders[0].missing')" 0
end_always
is "it ends well as well" $status 0
finish
