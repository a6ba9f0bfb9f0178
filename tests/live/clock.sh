#!/usr/bin/env bash
# tier: live
# cresset up while the clock is set, which looks like a suspended machine in the recording: each sample keeps the time that the clock showed, within
# an interval; nothing is lost.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
command -v perl >/dev/null || { echo "1..0 # SKIP no perl"; exit 0; }

me=$$
chmod 755 "$tmp" # the store process is not root
data=$tmp/data
ahead=7200
set_clock() { perl -e 'print pack("q<", $ARGV[0])' -- "$1" | dd of="$tmp/ahead" conv=notrunc status=none; }
set_clock 0
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
between() { # FROM TO: of $me-burner
	ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND time >= ${1}000000000 AND time < ${2}000000000 AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$me-burner')"
}

# An interval is longer than the program's run: a cut at its end alone would move all of it.
real=$(realpath "$cresset")
printf '#!/bin/sh\nexec env LD_PRELOAD=%s CLOCK_AHEAD=%s "%s" "$@" --interval 20s\n' \
	"$PWD/$BUILD/doubles/libclock.so" "$tmp/ahead" "$real" >"$tmp/up"
chmod +x "$tmp/up"
recorder() { cresset=$tmp/up begin_always up --data "$data" --listen 127.0.0.1:0; }
recorder
sleep 2
from=$(($(date +%s) / 10 * 10)) # the windows are 10 s
"$progs/burn" "$me-burner" 3 >/dev/null
set_clock $ahead
sleep 1
"$progs/burn" "$me-burner" 3 >/dev/null
set_clock 0
sleep 1
"$progs/burn" "$me-burner" 3 >/dev/null
to=$(($(date +%s) + 10))
end_always
is "it ends" "$status" 0
all=$(burnt "$me-burner")
near "nothing is lost" "$all" 891 150
near "samples before the clock was set, and after it was right again, have their time" "$(between "$from" "$to")" 594 120
near "… what ran while it was wrong has the time it showed" "$(between $((from + ahead)) $((to + ahead)))" 297 80
is "… and each is one of them" $(($(between "$from" "$to") + $(between $((from + ahead)) $((to + ahead))))) "$all"
finish
