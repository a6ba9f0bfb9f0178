#!/usr/bin/env bash
# tier: live
# run: alone
# Questions that only a GPU can answer, asked where there is one (NVIDIA, driver, nvcc): each step has its own verdict, and leaves its findings in
# $OUT, or in the directory that it names. The steps that need no GPU also run on doubles (tests/live/gpu_steps.sh). GPU_ROUNDS: repeats of each
# measurement of overhead (5); GPU_SECONDS: the length of each.
. tests/live/lib.sh
. tests/live/lib_gpu.sh
none() { echo "1..0 # SKIP $1"; exit 0; }
[ -e /dev/nvidiactl ] || none "no NVIDIA GPU is here"
[ "$(id -u)" = 0 ] || none "recording a program needs root"
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || none "no nvcc is here: the programs for the GPU cannot be made"
"$cresset" gpu list >/dev/null 2>"$tmp/err" || none "no GPU answers: $(head -1 "$tmp/err")"
results=${OUT:-$tmp/results} seconds=${GPU_SECONDS:-3} rounds=${GPU_ROUNDS:-5}
mkdir -p "$results"
work=$tmp/work
chmod 755 "$tmp" # the store process of up is not root
unset CUDA_INJECTION64_PATH
library=$PWD/$BUILD/libcresset-cuda.so
holds "the program for the GPU compiles" nvcc -O2 -arch=native -o "$work" tests/live/gpu/work.cu
[ -x "$work" ] || { finish; exit 0; }
{ "$cresset" gpu list --json; nvcc --version | tail -2; uname -r; } >"$results/machine.txt" 2>&1

load_start() {
	: >"$tmp/load"
	CUDA_INJECTION64_PATH=$library "$work" decode 600 ready </dev/zero >"$tmp/load" &
	load=$!
	pids+=("$load")
	for _ in $(seq 600); do grep -q ready "$tmp/load" && break || sleep 0.1; done
}
load_end() { kill "$load" 2>/dev/null; wait "$load" 2>/dev/null; }
gpu_ns() { "$cresset" convert -q --type gpu-time --unit ns --format folded -o - "$1" | awk -v of="$2" 'index($0, of) { n += $NF } END { print n + 0 }'; }
works() { "$cresset" record --list-events --json | jq -e --arg e "$1" '.[] | select(.name == $e) | .works' >/dev/null; }

# --- does it load, and where do probes go; windows; fixtures -----------------------------------------------------------------
step_entry
step_probes
step_windows 1000
step_home "$work" decode 0.2

# --- sums against the runtime's events -----------------------------------------------------------------------------------------
timeout 120 "$cresset" record --no-progress -e gpu-time -o "$results/sum.cresset" -- "$work" sum "$seconds" ready <<<go >"$tmp/sum" 2>"$results/sum.txt"
is "sums: the recorded program runs" $? 0
said=$(awk '/ in / { print $1 }' "$tmp/sum") got=$(gpu_ns "$results/sum.cresset" ';longer(')
echo "events $said ns, recorded $got ns" >>"$results/sum.txt"
near "sums: ns of kernels, against cudaEvent" "$got" "${said:-0}" "$(awk "BEGIN { print ${said:-0} / 100 }")"
holds "… nothing was lost" grep -q ' 0 lost ' "$results/sum.txt"
holds "… all by exact stack" grep -q 'exact stack, 0 ns by estimate, 0 ns without a stack$' "$results/sum.txt"

# --- late attach into a running PyTorch -----------------------------------------------------------------------------------------
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	python3 tests/live/gpu/loop.py $((20 + 3 * seconds)) >"$tmp/loop" 2>"$tmp/loop.err" &
	loop=$!
	pids+=("$loop")
	for _ in $(seq 600); do grep -q ready "$tmp/loop" && break || sleep 0.1; done
	sleep 2
	"$cresset" gpu attach "$loop" --json >"$results/attach.json" 2>"$tmp/err"
	is "PyTorch: attached while it runs" "$(jq -r .result "$results/attach.json")" loaded
	holds "… its thread was stopped for at most 10 ms" [ "$(jq .stop_us "$results/attach.json")" -le 10000 ]
	timeout "$most_s" "$cresset" record --no-progress -e gpu-time -d "$seconds" -p "$loop" -o "$results/torch.cresset" 2>"$results/torch.txt"
	is "… recorded" $? 0
	holds "… its kernels stand below train()" [ "$(gpu_ns "$results/torch.cresset" ';train;')" -gt 0 ]
	for _ in $(seq 20); do "$cresset" gpu detach "$loop" >/dev/null && "$cresset" gpu attach "$loop" >/dev/null || break; done
	is "… detached and attached 20 times" "$("$cresset" gpu status "$loop" --json | jq -r '.processes[0].state')" parked
	wait "$loop"
	is "… and it continues to its end" "$? $(grep -c '^rounds' "$tmp/loop")" "0 1"
else
	skip "PyTorch" "no PyTorch with CUDA is here"
fi

# --- overhead: rounds a second of each kind of work, with each level and without, alternating -----------------------------------
rate() { awk '/per second/ { print $1 }' "$1"; }
plain() { "$work" "$1" "$seconds" >"$tmp/rate"; }
parked() { CUDA_INJECTION64_PATH=$library "$work" "$1" "$seconds" >"$tmp/rate"; }
recorded() { timeout 120 "$cresset" record -q --no-progress "${@:2}" -o "$tmp/o.cresset" -- "$work" "$1" "$seconds" >"$tmp/rate" 2>"$tmp/err"; }
level0() { recorded "$1" -e gpu-launch,gpu-wait; }
level1() { recorded "$1" -e gpu-time; }
level2() { recorded "$1" -e gpu-stall; }
# Always on: windows under a budget, in a program that has the library.
duty() {
	"$cresset" up --data "$tmp/up" --listen none >"$tmp/up.log" 2>&1 &
	local up=$!
	pids+=("$up")
	sleep 3
	parked "$1"
	kill -INT "$up"
	wait "$up"
	rm -rf "$tmp/up"
}
measured=(parked level0 level1)
works gpu-stall && measured+=(level2) || skip "overhead of level 2" "gpu-stall does not work here"
"$cresset" up --help-all | grep -q -- --gpu && measured+=(duty) || skip "overhead of level 1 under a budget" "up has no --gpu"
printf 'work\twhat\tround\twithout\twith\n' >"$results/overhead.tsv"
for kind in decode graph gemm; do
	for i in $(seq "$rounds"); do
		for what in "${measured[@]}"; do
			plain $kind && without=$(rate "$tmp/rate") && "$what" $kind &&
				printf '%s\t%s\t%s\t%s\t%s\n' $kind "$what" "$i" "$without" "$(rate "$tmp/rate")" >>"$results/overhead.tsv"
		done
	done
	for what in "${measured[@]}"; do
		# Median of the loss, in %.
		lost=$(awk -v kind=$kind -v what="$what" '$1 == kind && $2 == what && $4 > 0 { print 100 * (1 - $5 / $4) }' "$results/overhead.tsv" | sort -g |
			awk '{ v[NR] = $1 } END { if (NR) printf "%.2f", v[int((NR + 1) / 2)] }')
		holds "overhead of $what on $kind: $lost % of its rounds (stated)" [ -n "$lost" ]
	done
done
parked_lost=$(awk '$2 == "parked" && $4 > 0 { print 100 * (1 - $5 / $4) }' "$results/overhead.tsv" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
near "overhead: the parked library takes nothing, %" "${parked_lost:-100}" 0 1
[ -n "${OUT-}" ] || { mkdir -p "$BUILD/gpu" && cp -r "$results/." "$BUILD/gpu/" && results=$BUILD/gpu; }
echo "# what was found is in $results"
finish
