#!/usr/bin/env bash
# tier: live
# run: alone
# The steps of tests/live/gpu.sh that need no GPU, on doubles: so that they work when there is one.
. tests/live/lib.sh
. tests/live/lib_gpu.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
cat >"$CRESSET_DOUBLE" <<'END'
nvml driver "550.54.15"
device 0 name First uuid GPU-a memory 1000
metric 0 gpu 37
wait none
kernel gemm ns 1500
play threads 1
play launches 200
play pace 200
END
results=$tmp/results
mkdir "$results"
load_start() {
	mkfifo "$tmp/in.$t_count"
	: >"$tmp/out" # the program before this one has said "done" there
	CUDA_INJECTION64_PATH=$PWD/$BUILD/libcresset-cuda.so "$progs/gpu_play" <"$tmp/in.$t_count" >"$tmp/out" &
	load=$!
	pids+=("$load")
	(while echo go; do sleep 0.01; done >"$tmp/in.$t_count") 2>/dev/null &
	pids+=($!)
	for _ in $(seq 100); do grep -q "done" "$tmp/out" && break || sleep 0.05; done
}
load_end() { kill "$load" "${pids[-1]}" 2>/dev/null; wait "$load" "${pids[-1]}" 2>/dev/null; }
step_entry
step_probes
step_windows 60
step_home sh -c 'echo go | "$0"' "$progs/gpu_play"
is "NVML's results: the device's name, and missing values" "$(grep -E '^0 (nvmlDeviceGetName|nvmlDeviceGetFanSpeed)' "$results/nvml.txt")" \
	"$(printf '0 nvmlDeviceGetName() 0 First\n0 nvmlDeviceGetFanSpeed() 3')"
# u32 after the length: the kind of the first record; 10 is a kernel, of 1500 ns
is "CUPTI's buffers: kernels as they ran" "$(python3 - "$results/cupti.bin" <<'END'
import struct, sys
data, at, n, wrong = open(sys.argv[1], "rb").read(), 8, 0, 0
while at < len(data):
    (length,) = struct.unpack_from("<I", data, at)
    end, at = at + 4 + length, at + 4
    while at < end:
        (kind,) = struct.unpack_from("<I", data, at)
        if kind == 10:
            start, stop = struct.unpack_from("<QQ", data, at + 16)
            n, wrong = n + 1, wrong + (stop - start != 1500)
        at += {10: 216, 1: 96, 2: 88, 38: 56, 51: 56, 17: 56, 49: 128}[kind]
print(n, wrong)
END
)" "200 0"
if command -v nvcc >/dev/null; then
	holds "the program of the GPU's test compiles" nvcc -O2 -arch=sm_90 -o "$tmp/work" tests/live/gpu/work.cu
else
	skip "the program of the GPU's test compiles" "no nvcc is here"
fi
finish
