#!/usr/bin/env bash
# What a probe costs a program that launches kernels, on the double of the driver, whose exports begin with the real one's bytes: CPU time of a launch
# alone and while launches are recorded; and what attaching and detaching take.
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
row "a launch that is recorded costs, beside one alone ($alone ns), at as many stacks as --max-rate allows" "≤ 1000 ns" "$(calc "$probed - $alone") ns" \
	"$(met "$probed - $alone <= 1000")"
row "… and without a stack" "-" "$(calc "$bare - $alone") ns" -
attach=$(awk '{ print $2 / $1 }' "$tmp/times" | median) detach=$(awk '{ print $3 / $1 }' "$tmp/times" | median)
row "probes of a library are attached, programs loaded with the first" "≤ 200 ms" "$attach ms" "$(met "$attach <= 200")"
row "probes of a library are taken away" "≤ 1000 ms" "$detach ms" "$(met "$detach <= 1000")"
