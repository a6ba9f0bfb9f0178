#!/usr/bin/env bash
# What the work on the machine loses: a pinned loop that sums the gaps over 1 µs between two readings of the cycle counter,
# alternating without and with a recording of the whole machine at 99 Hz.
. bench/lib.sh
rounds=${BENCH_ROUNDS:-12} seconds=2
cpu=$(($(nproc) - 1))
for _ in $(seq "$rounds"); do
	taskset -c $cpu "$progs/gaps" $seconds >>"$tmp/without"
	"$cresset" record -a -q -F 99 -d 100 -o "$tmp/c.folded" &
	recorder=$!
	pids+=("$recorder")
	sleep 1
	taskset -c $cpu "$progs/gaps" $seconds >>"$tmp/with"
	kill -INT $recorder
	wait $recorder 2>/dev/null
done
# Mean of the paired differences and its 95 % interval (t about 2.2 for 12 pairs).
paste "$tmp/with" "$tmp/without" | awk '{ d = $1 - $2; n++; s += d; q += d * d }
	END { m = s / n; e = sqrt((q / n - m * m) / (n - 1)); printf "%.3f ± %.3f\n", m, 2.2 * e }' >"$tmp/result"
say "share of time in gaps over 1 µs, with: $(tr '\n' ' ' <"$tmp/with")"
say "                           without: $(tr '\n' ' ' <"$tmp/without")"
row "what a pinned loop loses while the machine is recorded at 99 Hz" "stated" "$(cat "$tmp/result") % of its CPU ($rounds pairs, 95 % interval)" -
