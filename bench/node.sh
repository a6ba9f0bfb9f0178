#!/usr/bin/env bash
# The cost of seeing JavaScript: the run time of the sampling program for a stack of 30 frames of Node, compiled and interpreted, against one of 30
# native frames and one of 30 frames of Python.
# shellcheck disable=SC2154 # set by read
. bench/lib.sh
seconds=${BENCH_SECONDS:-10}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT
if ! command -v node >/dev/null; then
	row "one sample of 30 frames of JavaScript" "≤ 15 µs" "no node here" -
	exit 0
fi
gcc -std=gnu11 -D_GNU_SOURCE -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$tmp/native" tests/live/prog/deep.c || exit 1
debian=$(printf '%s\n' /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] | grep -v '[*[]' | sort -V | tail -1)
measure() { # NAME PID: sets NAME_us, NAME_n, and ends the process
	local us n
	read -r us n _ <<<"$("$BUILD/bench/unwind_cost" "$seconds" tables "$2")"
	kill -KILL "$2"; wait "$2" 2>/dev/null
	[ -n "$us" ] || exit 1
	say "$1: $us µs, $n samples"
	eval "$1_us=$us $1_n=$n"
}
# Mean number of frames of a kind in the samples of a recording; all of them: with no kind.
frames() { # [KIND]
	"$cresset" sql -q --format csv --data "$tmp/deep.cresset" "SELECT round(sum(1.0 * value * n) / sum(value)) FROM samples JOIN
		(SELECT stack, count(*) AS n FROM frames ${1:+WHERE kind = '$1'} GROUP BY stack) USING (stack)" | tail -1 | tr -d '\r'
}
echo 1 >/proc/sys/kernel/bpf_stats_enabled
start "$tmp/native" 25 10000 >/dev/null # and _start, two of libc, main, the loop
measure native "${pids[-1]}"
start "$debian" bench/python_work.py deep 30
measure python "${pids[-1]}"
for mode in "compiled --no-turbo-inlining" "interpreted --no-opt --no-sparkplug"; do
	# shellcheck disable=SC2086 # options
	start node ${mode#* } bench/deep.js 30
	running=${pids[-1]}
	"$cresset" record -q -F 199 -d 2 -p "$running" -o "$tmp/deep.cresset"
	seen=$(frames js) all=$(frames)
	measure node "$running"
	row "one sample of ${seen%.*} frames of JavaScript (${all%.*} in all), ${mode%% *}, hot (BPF run time), Node $(node --version)" "≤ 15 µs" \
		"$node_us µs of $node_n samples: $(calc "$node_us / $native_us")× 30 native frames ($native_us µs), $(calc "$node_us / $python_us")× 30 of Python ($python_us µs)" \
		"$(met "$node_us <= 15")"
done
