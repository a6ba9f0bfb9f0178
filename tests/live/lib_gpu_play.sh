# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of lib.sh, and for those who read this file
# tests/live/lib_gpu_play.sh: tests/live/prog/gpu_play on doubles of the GPU's libraries, for tests that read tests/live/lib.sh. The scenario is in
# $CRESSET_DOUBLE.
#
#     said WORD TIMES                   waits until the program has printed a word that many times
#     play FILE TIMES [OPTION…]         records gpu-time of it; half a second before each round, for its ring to be found
#     is_exact NAME FILE                the time of each kernel and copy, by function and device, is that of the scenario, to the ns
#     play_stalls FILE [OPTION…]        records gpu-stall of it, in contexts that are sampled
#     launches                          how often each function launched each kernel, by the scenario alone, into $tmp/launches
#     same NAME FILE SAMPLES [NOT_ISSUED]   the samples of each instruction are those of the scenario
#     total COLUMN                      a sum of the scenario's stalls: 4 samples, 5 those in which nothing was issued
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH
library=$PWD/$BUILD/libcresset-cuda.so
devices='device 0 name "First"\ndevice 1 name "Second"\nwait none\n'
kernels='copy bytes_per_us 1000\nkernel gemm ns 1500\nkernel _Z4axpyPfS_f ns 400\nkernel softmax ns 333\n'

said() { for _ in $(seq 3000); do [ "$(grep -c "$1" "$tmp/out")" = "$2" ] && return; sleep 0.02; done; return 1; }

# --- time ---
play() {
	local file=$1 times=$2
	shift 2
	: >"$tmp/out"
	(said ready 1; for i in $(seq "$times"); do sleep 0.5; echo go; said "done" "$i"; done; sleep 0.2) |
		timeout "$most_s" "$cresset" record --no-progress -e gpu-time "$@" -o "$file" -- "$progs/gpu_play" >"$tmp/out" 2>"$tmp/err"
}
# Sums in ns of a device in the form of gpu_answers.py: NAME/SIDE DEVICE NS, and NAME DEVICE NS for names without a side.
sums() {
	folded "$1" gpu-time --unit ns --match "{gpu=\"$2\"}" | sed 's/axpy(float\*, float\*, float)/_Z4axpyPfS_f/' |
		awk -v gpu="$2" '{
			ns = $NF; sub(/ [0-9]+$/, ""); n = split($0, f, ";")
			side = /;work;launch_even;cuLaunchKernel/ ? "/even" : /;work;launch_odd;cuLaunchKernel/ ? "/odd" : ""
			if (f[n - 1] != "-") side = "/" f[n - 1]
			sum[f[n] side] += ns
		} END { for (key in sum) print key, gpu, sum[key] }' | LC_ALL=C sort
}
# The same from the scenario alone, in which a copy takes as many ns as it has bytes.
answers() {
	python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" sides | awk -v gpu="$1" '$2 == gpu && $1 != "calls" {
		name = $1 == "copy" ? "[copy host to device]" : $1 == "graph" ? "[graph]" : $1
		print name, $2, $4 }' | LC_ALL=C sort
}
is_exact() {
	local gpu
	for gpu in 0 1; do is "$1: GPU $gpu by stack and kernel, in ns" "$(sums "$2" $gpu)" "$(answers $gpu)"; done
}

# --- stalls ---
# Inlined three deep, in a device function, in the kernel itself; in missing code.
saxpy=_Z5saxpyPfPKffi
module="module $PWD/tests/golden/gpu/lines.sm_90.cubin $saxpy _Z3sumIdEvPT_PKS0_i\n"
stall_kernels="kernel $saxpy ns 1500\nkernel softmax ns 400\nkernel _Z3sumIdEvPT_PKS0_i ns 333\n"
stalls="stall $saxpy 0x100 long_scoreboard 7 3\nstall $saxpy 0x100 selected 2\nstall $saxpy 672 short_scoreboard 5 5\nstall $saxpy 0 wait 1
stall _Z3sumIdEvPT_PKS0_i 304 membar 3 1\nstall softmax 0xfff0 barrier 4 2\n"

# Another agent on this machine may have taken the program's ring first, and a recorder may be kept off the CPU until a window closes: both are
# reported, and then it tries once more. undisturbed COMMAND…
undisturbed() {
	local rc
	for _ in 1 2 3 4 5; do
		"$@"
		rc=$?
		grep -Eq 'another agent|ms of GPU programs without GPU times' "$tmp/err" || break
	done
	return $rc
}
play_stalls() { undisturbed play_stalls_once "$@"; }
play_stalls_once() {
	local file=$1
	shift
	: >"$tmp/out"
	(said ready 1; sleep 0.5; echo warm; said warm 1; sleep 0.4; echo go; said "done" 1; sleep 0.3) |
		timeout "$most_s" "$cresset" record --no-progress -e gpu-stall "$@" -o "$file" -- "$progs/gpu_play" >"$tmp/out" 2>"$tmp/err"
}
launches() {
	python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" sides | awk '$1 ~ "/" { split($1, at, "/"); print at[1], "launch_" at[2], $3 }' >"$tmp/launches"
}
same() {
	folded "$2" gpu-stall --annotate=g,G >"$tmp/folded"
	is "$1: samples" "$(python3 tests/live/gpu_stall_check.py "$CRESSET_DOUBLE" "$tmp/folded" "$tmp/launches" 2>&1)" "$3 samples"
	[ -n "${4-}" ] || return
	folded "$2" gpu-stall-not-issued --annotate=g,G >"$tmp/folded"
	is "$1: … of which nothing was issued" "$(python3 tests/live/gpu_stall_check.py "$CRESSET_DOUBLE" "$tmp/folded" "$tmp/launches" --not-issued 2>&1)" "$4 samples"
}
total() { python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" stalls | awk -v column="$1" '{ n += $column } END { print n + 0 }'; }
