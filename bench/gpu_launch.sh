#!/usr/bin/env bash
# What a probe costs a program that launches kernels, on the double of the driver, whose exports begin with the real one's bytes: CPU time of a launch
# alone, while launches are recorded, and while cresset up runs at its defaults; and what attaching and detaching take.
. bench/lib.sh
rounds=${BENCH_ROUNDS:-5}
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
printf 'kernel * ns 1\nwait none\n' >"$CRESSET_DOUBLE"
[ -e "$BUILD/doubles/libcuda.so.1" ] || exit 1
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# The verbose summary says "attached in A ms, detached in D ms, N files".
attached() { # OPTION…
	"$cresset" record -v --no-progress -e gpu-launch "$@" -o "$tmp/x.cresset" -- "$progs/gpu_rate" 2 2>"$tmp/err"
}
for _ in $(seq "$rounds"); do
	"$progs/gpu_rate" 2 >>"$tmp/alone"
	attached >>"$tmp/probed"
	sed -n 's/.*probes: \([0-9]*\) files attached in \([0-9.]*\) ms, detached in \([0-9.]*\) ms.*/\1 \2 \3/p' "$tmp/err" >>"$tmp/times"
	attached --max-rate 10 >>"$tmp/bare"
done
alone=$(median <"$tmp/alone") probed=$(median <"$tmp/probed") bare=$(median <"$tmp/bare")
[ -n "$alone" ] && [ -s "$tmp/times" ] || exit 1
say "alone $alone ns, recorded $probed ns, with 10 stacks a second $bare ns"
row "a recorded launch, against one alone ($alone ns), as many stacks as --max-rate allows" "≤ 1000 ns" "$(calc "$probed - $alone") ns" \
	"$(met "$probed - $alone <= 1000")"
row "… and without a stack" "-" "$(calc "$bare - $alone") ns" -
attach=$(awk '{ print $2 / $1 }' "$tmp/times" | median) detach=$(awk '{ print $3 / $1 }' "$tmp/times" | median)
row "attaching probes of a library, programs loaded with the first" "≤ 200 ms" "$attach ms" "$(met "$attach <= 200")"
row "… removed" "≤ 1000 ms" "$detach ms" "$(met "$detach <= 1000")"

chmod 755 "$tmp" # the store process is not root
start "$cresset" up --data "$tmp/data" --listen none --memory 32M 2>"$tmp/log"
up=${pids[-1]}
for _ in $(seq 100); do
	pgrep -P "$up" -x cresset-store >/dev/null && break
	sleep 0.1
done
sleep 3
"$progs/gpu_rate" 2 >/dev/null # its library is known from then on
collector=$(pgrep -P "$up" -x cresset-collect)
before=$(cpu_ns "$collector") from=$EPOCHREALTIME
for _ in $(seq "$rounds"); do "$progs/gpu_rate" 2 >>"$tmp/up"; done
share=$(calc "($(cpu_ns "$collector") - $before) / 1e7 / ($EPOCHREALTIME - $from)")
up_ns=$(median <"$tmp/up")
[ -n "$up_ns" ] || exit 1
row "a launch costs while cresset up runs, beside one alone" "≤ 1000 ns" "$(calc "$up_ns - $alone") ns" "$(met "$up_ns - $alone <= 1000")"
row "… the collector meanwhile, of all that it does" "-" "$share % of a CPU" -
kill "$up" && wait "$up"
# --- each launch with its stack, beside a cpu sample of the same program -----------------------------------------------------
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT
# ns of a run of the recorder's programs of a type (7: those of the sampling timer): run_ns PID TYPE
run_ns() {
	cat "/proc/$1"/fdinfo/* 2>/dev/null | awk -v type="$2" '/^prog_type:/ { is = $2 == type } is && /^run_time_ns:/ { ns += $2 }
		is && /^run_cnt:/ { n += $2 } END { if (n) printf "%.1f\n", ns / n }'
}
for _ in $(seq "$rounds"); do
	attached --max-rate 10000000 >>"$tmp/whole"
	# by turns: a sample in the middle of a launch's probe costs both
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	"$cresset" record -q --no-progress -e cpu -F 4999 -o "$tmp/x.cresset" -- "$progs/gpu_rate" 2 >/dev/null 2>&1 &
	recorder=$!
	pids+=("$recorder")
	sleep 2
	run_ns $recorder 7 >>"$tmp/sample"
	wait $recorder
	echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
done
whole=$(median <"$tmp/whole") sample=$(median <"$tmp/sample")
[ -n "$sample" ] || exit 1
say "with its stack $whole ns, a cpu sample's program $sample ns"
row "a launch with its stack, against BPF of a cpu sample of that program ($sample ns)" "≤ 1000 ns more" \
	"$(calc "$whole - $alone - $sample") ns more" "$(met "$whole - $alone - $sample <= 1000")"
