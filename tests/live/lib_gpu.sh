# shellcheck shell=bash
# tests/live/lib_gpu.sh: questions to a GPU, or to its doubles, after lib.sh: each step has its own verdicts and leaves its findings in $results.
#
#     results=DIR               where findings go
#     load_start, load_end      of the caller: a program that launches until it is ended, with the library in it; its pid is in $load
# shellcheck disable=SC2154 # variables of lib.sh, and of those who read this file

# The first bytes of the driver's exported functions: each place that a probe would take, and whether the runtime gets the same functions.
step_entry() {
	"$progs/gpu_entry" >"$results/entry.txt" 2>"$tmp/err"
	is "entry bytes: the driver's library can be queried" $? 0
	holds "… it exports cuLaunchKernel" grep -q '^cuLaunchKernel ' "$results/entry.txt"
	# cmpl $…, off(%rip), an endbr64, or a push: instructions by which a place behind them, or at them, is recognised (src/attach/prologue.c)
	is "… functions that start in an unknown way" "$(awk '$2 !~ /^(813d|f30f1efa|5[0-7]|415[4-7]|e9|eb)/ { print $1, $2 }' "$results/entry.txt")" ""
	is "… cuGetProcAddress gives other addresses for" "$(awk '$3 == "other" { print $1 }' "$results/entry.txt")" ""
}

# Whether BPF programs load here at all, and whether probes are placed where they are cheap.
step_probes() {
	"$cresset" doctor --json >"$results/doctor.json" 2>/dev/null
	is "recording works" "$(jq .recording_works "$results/doctor.json")" true
	load_start
	timeout "$most_s" "$cresset" record -v --no-progress -e gpu-launch,gpu-wait -d 2 -p "$load" -o "$results/launch.cresset" 2>"$results/launch.txt"
	is "launches are recorded" $? 0
	holds "… there are some" grep -Eq '[1-9][0-9,]* launches' "$results/launch.txt"
	is "… no place was refused" "$(grep -c 'would be single-stepped' "$results/launch.txt")" 0
	load_end
}

# N windows, one after another, under load: step_windows N
step_windows() {
	local failed records lost line
	load_start
	line=$("$PWD/$BUILD/soak/gpu_windows" "$load" "$1" 2>&1)
	is "$1 windows: the tool's status ($line)" $? 0
	echo "open p50 p99 most, close p50 p99 most (us), failed, records, lost: $line" >"$results/windows.txt"
	read -r _ _ _ _ _ _ failed records lost <<<"$line"
	is "… each has opened and closed" "$failed" 0
	holds "… records came" [ "${records:-0}" -gt 0 ]
	echo "# windows: $(cat "$results/windows.txt"); lost $lost"
	holds "… and the program lives" kill -0 "$load"
	load_end
}

# NVML's answers, and the form of CUPTI's buffers, to be kept as fixtures: step_home COMMAND… runs a program to its end.
step_home() {
	"$progs/nvml_answers" >"$results/nvml.txt" 2>"$tmp/err"
	is "results of NVML" $? 0
	holds "… of a device at least" grep -q '^0 nvmlDeviceGetName() 0 .' "$results/nvml.txt"
	CUDA_INJECTION64_PATH=$progs/cupti_buffers CRESSET_BUFFERS=$results/cupti.bin "$@" >/dev/null 2>"$tmp/err"
	is "CUPTI's buffers: the program runs" $? 0
	is "… they are there" "$(head -c 4 "$results/cupti.bin")" CUPT
	holds "… with records" [ "$(stat -c %s "$results/cupti.bin")" -gt 200 ]
}
