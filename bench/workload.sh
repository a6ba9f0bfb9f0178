#!/usr/bin/env bash
# What the work on the machine loses: one pinned loop per CPU sums the gaps over 1 µs between two readings of the cycle counter.
# Everything a recorder does is in there: interrupts, BPF, its process. Rounds alternate: nothing, cresset, perf record. At 99 Hz the
# loss is near the noise of a shared machine; at 999 Hz it stands out more.
. bench/lib.sh
rounds=${BENCH_ROUNDS:-4} seconds=${BENCH_SECONDS:-4}

gaps() { # the mean share lost over all CPUs, in percent of a CPU's time
	local cpu loops=()
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset -c "$cpu" "$progs/gaps" "$seconds" >"$tmp/gaps.$cpu" &
		loops+=($!)
	done
	wait "${loops[@]}"
	cat "$tmp"/gaps.* | awk '{ n += $1 } END { print n / NR }'
}
with_cresset() { # HZ: the loss while a recorder runs, after it has settled
	"$cresset" record -a -q -F "$1" -d 100 -o "$tmp/c.cresset" 2>/dev/null &
	local recorder=$!
	pids+=("$recorder")
	sleep 2
	gaps
	kill -INT $recorder
	wait $recorder 2>/dev/null
}
with_perf() {
	start_perf "$tmp/perf.data" -g -F "$1"
	sleep 2
	gaps
	stop_perf
}
# Mean of the paired differences of two files and its 95 % interval (Student's t for the usual number of rounds).
difference() {
	paste "$1" "$2" | awk '{ d = $1 - $2; n++; s += d; q += d * d }
		END { m = s / n; e = sqrt((q / n - m * m) / (n - 1)); t = n > 9 ? 2.26 : n > 5 ? 2.57 : 3.18; printf "%.3f %.3f\n", m, t * e }'
}
for freq in 99 999; do
	for _ in $(seq "$rounds"); do
		gaps >>"$tmp/none.$freq"
		with_cresset $freq >>"$tmp/cresset.$freq"
		with_perf $freq >>"$tmp/perf.$freq"
	done
	read -r ours e <<<"$(difference "$tmp/cresset.$freq" "$tmp/none.$freq")"
	read -r theirs te <<<"$(difference "$tmp/perf.$freq" "$tmp/none.$freq")"
	say "$freq Hz, lost without: $(tr '\n' ' ' <"$tmp/none.$freq")"
	say "        with cresset: $(tr '\n' ' ' <"$tmp/cresset.$freq")"
	say "           with perf: $(tr '\n' ' ' <"$tmp/perf.$freq")"
	row "pinned loops on every CPU lose at $freq Hz ($rounds rounds)" "stated" \
		"$ours ± $e %; perf record -a -g $theirs ± $te %" -
done
