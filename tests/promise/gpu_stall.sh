#!/usr/bin/env bash
# tier: test
# Where kernels stall, on doubles of the libraries: each sample of each instruction, with its source, below the functions that launched its kernel.
. tests/live/lib.sh
needs_recording
. tests/live/lib_gpu_play.sh
kernels=$stall_kernels

# --- a program from its start to its end ----------------------------------------------------------------------------------------
printf "$devices$module$kernels${stalls}stalls period 12\nplay threads 4\nplay launches 3000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
launches
play_stalls "$tmp/all.cresset"
is "from start to end: its status" $? 0
same "from start to end" "$tmp/all.cresset" "$(total 4)" "$(total 5)"
holds "from start to end: nothing was lost" grep -q ' 0 lost ' "$tmp/err"
holds "from start to end: stacks are marked as estimates" grep -Eq "gpu stalls  $(total 4) samples .* 0 by exact stack, $(total 4) by estimate \(.*%\), 0 without" "$tmp/err"
holds "… and how often was sampled" grep -q 'one in 4096 cycles of a multiprocessor' "$tmp/err"
is "… and the number of those without code" "$(sed -n 's/^ *note  *\([0-9,]*\): samples of GPU stalls in device code that no file has.*/\1/p' "$tmp/err" | tr -d ,)" \
	"$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" stalls | awk '$1 == "softmax" { print $4 }')"
is "from start to end: the period is in the recording" \
	"$("$cresset" sql --data "$tmp/all.cresset" "SELECT DISTINCT period, period_unit FROM series WHERE type = 'gpu-stall'" --format csv | tail -1)" 4096,cycles
is "from start to end: estimates have the label" "$(folded "$tmp/all.cresset" gpu-stall --match '{estimated_from=~".+"}' | folded_sum)" "$(total 4)"
is "from start to end: time was not requested" "$(folded "$tmp/all.cresset" gpu-time 2>/dev/null | folded_sum)" 0
"$cresset" convert -q --type gpu-stall "$tmp/all.cresset" -o "$tmp/all.pb.gz"
is "as pprof: the sum" "$("$cresset" convert -q "$tmp/all.pb.gz" -o - --format folded | folded_sum)" "$(total 4)"
finish
