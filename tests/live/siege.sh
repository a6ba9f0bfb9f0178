#!/usr/bin/env bash
# tier: live
# run: alone
# Everything at once: endless processes of 5 ms, one that maps and unmaps endlessly, a perf map of 60 GB, a program whose file system no longer
# answers, and a clock that is set to and fro. Beside them, cresset up shows where a program of known truth spends its time.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
command -v perl >/dev/null || { echo "1..0 # SKIP no perl"; exit 0; }

chmod 755 "$tmp" # the store process is not root
data=$tmp/data
known=k$$
for program in hostile known; do cp "$progs/$program" "$tmp/$program"; done
mv "$tmp/known" "$tmp/$known"
mkdir "$tmp/mount"
trap 'for p in "${pids[@]}"; do pkill -9 -P "$p"; kill -9 "$p"; done 2>/dev/null; umount -l "$tmp/mount" 2>/dev/null; cleanup' EXIT
set_clock() { perl -e 'print pack("q<", $ARGV[0])' -- "$1" | dd of="$tmp/ahead" conv=notrunc status=none; }
as_nobody() { # WHAT [ARG]
	setpriv --reuid 65534 --clear-groups "$tmp/hostile" "$@" >/dev/null &
	pids+=("$!")
}
stacks() { "$cresset" query --data "$data" "cpu{process=\"$known\"}" --from 2000-01-01 --to 2100-01-01 -o - --format folded 2>"$tmp/query.err"; }

# A program on a file system that no longer answers; where none can be mounted, the rest goes on without it.
"$progs/hung_fs" "$tmp/mount" "$progs/burn" >"$tmp/mounted" 2>"$tmp/mount.err" &
fs=$!
pids+=("$fs")
for _ in $(seq 1200); do
	if [ -s "$tmp/mounted" ] || ! kill -0 "$fs" 2>/dev/null; then break; fi
	sleep 0.05
done
if [ -s "$tmp/mounted" ]; then
	"$tmp/mount/program" "$$-hung" 300 >/dev/null &
	pids+=("$!")
	until_comm "$!" "$$-hung"
	kill -USR1 "$fs"
else
	skip "a file system that hangs" "none can be mounted: $(cat "$tmp/mount.err")"
fi

set_clock 0
real=$(realpath "$cresset")
printf '#!/bin/sh\nexec env LD_PRELOAD=%s CLOCK_AHEAD=%s "%s" "$@"\n' "$PWD/$BUILD/doubles/libclock.so" "$tmp/ahead" "$real" >"$tmp/up"
chmod +x "$tmp/up"
cresset=$tmp/up begin_always up --data "$data" --listen none --freq 499
as_nobody short
as_nobody maps
as_nobody sparse 60000000000
sparse=${pids[-1]}
"$tmp/$known" "$known" 10 >"$tmp/truth" &
program=$!
while kill -0 "$program" 2>/dev/null; do
	for ahead in 7200 0 -7200 0; do
		sleep 2
		set_clock "$ahead"
	done
done
wait "$program"
is "the program ends well" $? 0
for p in "${pids[@]}"; do [ "$p" = "$always" ] || { kill -9 "$p"; pkill -9 -P "$p"; }; done 2>/dev/null
rm -f "/tmp/perf-$sparse.map"
sleep 3
end_always
is "up ends well" "$status" 0

stacks >"$tmp/folded"
all=$(folded_sum ';work_(half|quarter|rest)(;| )' <"$tmp/folded")
holds "the program's samples are there ($all)" test "$all" -ge 2500
work() { awk -v what="$1" '$1 == "work" && $2 ~ what { n += $3 } END { print n }' "$tmp/truth"; }
for function in work_half work_quarter work_rest; do
	near "share of $function, in percent" "$(awk "BEGIN { print 100 * $(folded_sum ";$function(;| )" <"$tmp/folded") / ($all + !$all) }")" \
		"$(awk "BEGIN { print 100 * $(work $function) / $(work .) }")" 3
done
is "each belongs to its thread" "$(folded_sum "^$known" <"$tmp/folded")" "$(folded_sum <"$tmp/folded")"
finish
