#!/usr/bin/env bash
# Are all samples there? Two programs with a known CPU time, watched by cresset and by perf record at the same time. A virtual machine's timer interrupts
# may be late on a busy host, for both sides alike.
. bench/lib.sh
worst=0 worst_perf=0 lost=0
for freq in 19 49 99 199 499 999; do
	for try in 1 2 3; do # perf 6.1 now and then aborts at the end and leaves no samples
		"$cresset" record -a -F $freq -o "$tmp/c.folded" 2>"$tmp/c.err" &
		recorder=$!
		pids+=("$recorder")
		start_perf "$tmp/perf.data" -e cpu-clock -F $freq
		sleep 1.5
		"$progs/burn" count-a 8 >"$tmp/a" &
		a=$!
		"$progs/burn" count-b 8 >"$tmp/b"
		wait $a
		sleep 0.3
		stop_perf
		kill -INT $recorder
		wait $recorder 2>/dev/null
		theirs=$(perf script -i "$tmp/perf.data" -F comm 2>"$tmp/script.err" | grep -c '^ *count-')
		[ "$theirs" = 0 ] || break
		say "perf failed (try $try): $(cat "$tmp/perf.err" "$tmp/script.err")"
	done
	want=$(awk -v f=$freq '{ n += $1 } END { print n * f / 1e9 }' "$tmp/a" "$tmp/b")
	got=$(awk '/^count-[ab];/ { n += $NF } END { print n + 0 }' "$tmp/c.folded")
	lost=$((lost + $(sed -n 's/.*[^0-9,]\([0-9,]*\) lost.*/\1/p' "$tmp/c.err" | head -1 | tr -d ,)))
	off=$(calc "($got / $want - 1) * 100") off_perf=$(calc "($got / ($theirs + 1e-9) - 1) * 100")
	say "$freq Hz: CPU time × rate $want, cresset $got ($off %), perf $theirs ($off_perf %)"
	worst=$(calc "(${off#-} > $worst) ? ${off#-} : $worst")
	worst_perf=$(calc "(${off_perf#-} > $worst_perf) ? ${off_perf#-} : $worst_perf")
done
row "sample count, both CPUs busy, 19…999 Hz, against CPU time × rate" "within 3 %, 0 lost" "$worst % at worst, $lost lost" "$(met "$worst <= 3 && $lost == 0")"
row "… against \`perf record -a\` at the same time" "within 3 %" "$worst_perf % at worst" "$(met "$worst_perf <= 3")"
