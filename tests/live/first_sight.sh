#!/usr/bin/env bash
# tier: live
# cresset up has something to show after 2 s, however long its intervals are: query and the page's data do not wait for the first whole one.
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root"; exit 0; }

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/err" | tail -n +2 | tr -d '\r'; }

"$progs/burn" "$$-first" 60 >/dev/null &
pids+=($!)
begin_always up --data "$data" --listen none --interval 1h
for _ in $(seq 300); do # a minute at least: the interval is an hour
	[ "$(ask "SELECT count(*) > 0 FROM samples WHERE type = 'cpu'")" = 1 ] && break
	sleep 0.2
done
is "samples are there soon" "$(ask "SELECT count(*) > 0 FROM samples WHERE type = 'cpu'")" 1
holds "… a program's as well" "$cresset" query --data "$data" "cpu{comm=\"$$-first\"}"
is "… and metrics of the host" "$(ask "SELECT count(*) > 0 FROM metrics")" 1
# What is stored later than the first interval: nothing, for an hour.
last=$(ask "SELECT max(time) FROM samples")
for _ in $(seq 20); do sleep 0.2; done
is "… then an interval has its own length" "$(ask "SELECT max(time) FROM samples")" "$last"
end_always
is "it ends" "$status" 0
finish
