#!/usr/bin/env bash
# tier: test
# GPU time by CPU stack, on doubles of the libraries: each nanosecond of every kernel and copy is counted for the function that launched it.
. tests/live/lib.sh
needs_recording
. tests/live/lib_gpu_play.sh

# --- a program from its start to its end, with the library ------------------------------------------------------------------
printf "$devices${kernels}play threads 4\nplay launches 3000\nplay copy 50 4096\nplay graph 16 3\nplay pace 9000\n" >"$CRESSET_DOUBLE"
play "$tmp/all.cresset" 1
is "from start to end: its status" $? 0
is "from start to end: it has run" "$(tr '\n' ' ' <"$tmp/out")" "ready done "
is_exact "from start to end" "$tmp/all.cresset"
holds "from start to end: all of it has an exact stack" grep -q 'exact stack, 0 ns by estimate, 0 ns without a stack$' "$tmp/err"
holds "from start to end: nothing was lost" grep -q ' 0 lost ' "$tmp/err"
is "from start to end: the library's own frames are none of the program's" "$(folded "$tmp/all.cresset" gpu-time | grep -c launch_probe)" 0
is "… nor those of its callers: a launch ends in the called function" \
	"$(folded "$tmp/all.cresset" gpu-time | awk '{ sub(/ [0-9]+$/, ""); n = split($0, f, ";"); while (f[n] != "-") n--; print f[n - 1] }' | sort -u | tr '\n' ' ')" \
	"cuGraphLaunch_body cuLaunchKernel_body cuMemcpyHtoDAsync_v2_body "
is "from start to end: devices and streams are distinguished" \
	"$("$cresset" sql --data "$tmp/all.cresset" "SELECT count(*) FROM series WHERE type = 'gpu-time'" --format csv | tail -1)" 4
finish
