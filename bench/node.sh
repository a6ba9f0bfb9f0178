#!/usr/bin/env bash
# The cost of seeing JavaScript: the run time of the sampling program for a stack of 30 frames of Node, compiled and interpreted, against one of 30
# native frames and one of 30 frames of Python.
# shellcheck disable=SC2154 # set by bench/lib_deep.sh
. bench/lib.sh
. bench/lib_deep.sh
if ! command -v node >/dev/null; then
	row "one sample of 30 frames of JavaScript" "≤ 15 µs" "no node here" -
	exit 0
fi
measure_others
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
