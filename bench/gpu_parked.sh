#!/usr/bin/env bash
# What the parked library and its probe, to which nobody has attached, cost a program: pairs of runs of one that launches kernels through the driver's double
# as fast as it can, one without the library and one with it, each pair in the other order than the one before.
# Addresses and lengths of the environment are equal in both: unequal ones differ by ± 2.5 %.
. bench/lib.sh
pairs=${BENCH_ROUNDS:-100} seconds=${BENCH_SECONDS:-0.25}
library=$PWD/$BUILD/libcresset-cuda.so
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
printf 'kernel * ns 1\nwait none\n' >"$CRESSET_DOUBLE"
[ -e "$BUILD/doubles/libcuda.so.1" ] && [ -e "$library" ] || exit 1

# CPU time of a launch, in ns: of the program alone, or with the library. Addresses are the same each time.
cpu=$(($(nproc) - 1))
rate() { setarch -R taskset -c $cpu env CUDA_INJECTION64_PATH="$1" "$progs/gpu_rate" "$seconds"; }
alone() { rate "${library%o}x"; } # which is not there: the environment is as long, so that the stack is where it is
parked() { rate "$library"; }
# Is it parked, while the program runs?
begin_parked() {
	CUDA_INJECTION64_PATH=$library "$progs/gpu_rate" 3 >/dev/null &
	target=$!
	pids+=("$target")
	for _ in $(seq 50); do "$cresset" gpu status "$target" 2>/dev/null | grep -q 'library   parked' && return; sleep 0.05; done
	say "the library is not parked"
	exit 1
}
begin_parked
wait "$target"
for i in $(seq "$pairs"); do
	if [ $((i % 2)) = 0 ]; then
		a=$(alone) b=$(parked)
	else
		b=$(parked) a=$(alone)
	fi
	echo "$a $b" | tee -a "$tmp/pairs" >&2
done
read -r median low high < <(ratio <"$tmp/pairs")
say "$(awk '{ print $1 }' "$tmp/pairs" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }') ns a launch without it"
row "a launch with the parked library against without (median of $pairs pairs)" "contains 1.00, at most ± 1 % wide" \
	"$median ($low–$high)" "$(met "$low <= 1 && $high >= 1 && $high - $low <= 0.02")"
