#!/usr/bin/env bash
# tier: test
# cresset serve and its clock: set by years, ahead or back, for a moment, while it runs or while it does not: nothing goes, what comes is kept,
# and it says what it does. What is older than what is kept is not acknowledged as if it were there.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in curl jq perl; do
	command -v $program >/dev/null || { skip "a clock that is set" "no $program"; finish; exit; }
done
real=$cresset
preload="LD_PRELOAD=$PWD/$BUILD/doubles/libclock.so CLOCK_AHEAD=$tmp/ahead"
set_clock() { perl -e 'print pack("q<", $ARGV[0])' -- "$1" | dd of="$tmp/ahead" conv=notrunc status=none; }
set_clock 0
printf '#!/bin/sh\nexec env %s "%s" "$@"\n' "$preload" "$(realpath "$real")" >"$tmp/cresset"
chmod +x "$tmp/cresset"
cresset=$tmp/cresset
"$cresset" --version >"$tmp/out" 2>&1 || { skip "a clock that is set" "this build takes no preloaded library"; finish; exit; }

years=$((12 * 365 * 86400))
push() { post "api/v1/profiles?type=cpu&label=comm=it" --data-binary 'main;work 9' >/dev/null; }
total() { post 'api/v1/sql?fmt=csv' --data "SELECT sum(value) FROM samples" | tail -1 | tr -d '\r'; }
said() { # TEXT [TIMES]: waits for it
	for _ in $(seq 1200); do
		[ "$(grep -c "$1" "$tmp/serve.err")" -ge "${2-1}" ] && return
		sleep 0.05
	done
}
days() { find "$tmp/data/p" -name '*.db' ! -name '*.det.db' | wc -l; }
kept() { get api/v1/status | jq -r ".kept.$1"; }
# What is there stays, and grows by what is pushed.
goes_on() { # WHEN
	push
	is "$1: what comes is taken" "$(cat "$tmp/code") $(jq -r '"\(.samples) \(.expired)"' "$tmp/body")" "200 1 null"
	want=$((want + 9))
	is "… and all is there" "$(total)" "$want"
	is "… nothing was expired" "$(kept expired_rows)" 0
}

serve --data "$tmp/data"
want=0
goes_on "at first"
before=$(days)

# --- while it runs
ahead=0 back=0
for by in $years -$years; do
	set_clock "$by"
	[ "$by" -gt 0 ] && ahead=$((ahead + 1)) || back=$((back + 1))
	said "the clock was set ahead" $ahead
	said "the clock was set back" $back
	is "$by s: nothing is deleted" "$(days)" "$before"
	holds "… and reports for how long" test "$(kept held_ns)" -gt 0
	set_clock 0
	[ "$by" -gt 0 ] && back=$((back + 1)) || ahead=$((ahead + 1))
	said "the clock was set ahead" $ahead
	said "the clock was set back" $back
	goes_on "$by s for a moment"
done
has "it reports the change" "nothing is deleted by age in the next 24 h" "$(cat "$tmp/serve.err")"
stop

# --- while it does not
for by in $years -$years; do
	set_clock "$by"
	serve --data "$tmp/data"
	said "the clock was set"
	stop
	is "$by s while it is down: nothing is deleted" "$(days)" "$before"
	set_clock 0
	serve --data "$tmp/data"
	goes_on "$by s while it was down"
	stop
done

# --- what is too old for what is kept
serve --data "$tmp/old" --retention 14d
now=$(date +%s)
old=$((now - 30 * 86400))
perf_text() { printf 'it 1 %d.000000: 1 cpu-clock:\n\t1000 work (/bin/it)\n\n' 100 $((100 + $1)); }
post "api/v1/profiles?from=$old" --data-binary "$(perf_text 1)" >/dev/null
push
for _ in $(seq 1200); do
	[ "$(kept from)" != null ] && break
	sleep 0.05
done
post "api/v1/profiles?from=$old" --data-binary "$(perf_text 1)" >/dev/null
is "a profile that is too old altogether is refused" "$(cat "$tmp/code") $(jq -r '.error.code' "$tmp/body")" "422 expired"
has "… with its number" "all 2 samples" "$(jq -r '.error.message' "$tmp/body")"
post "api/v1/profiles?from=$old" --data-binary "$(perf_text $((30 * 86400)))" >/dev/null
is "… a partial one reports the amount" "$(cat "$tmp/code") $(jq -c '[.samples, .expired]' "$tmp/body")" "200 [2,1]"
stop
finish
