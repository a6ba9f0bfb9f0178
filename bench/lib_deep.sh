# shellcheck shell=bash disable=SC2154 # set by read, and by bench/lib.sh
# bench/lib_deep.sh: the run time of the sampling program for 30 frames of a native program, of Python and of another language.
#
#     . bench/lib.sh; . bench/lib_deep.sh      restores bpf_stats_enabled at the end
#     measure_others                           sets native_us and python_us
#     measure NAME PID                         sets NAME_us and NAME_n, and ends the process
#     frames [KIND]                            mean number of frames in $tmp/deep.cresset, of a kind or of any
seconds=${BENCH_SECONDS:-10}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT
measure() { # NAME PID
	local us n
	read -r us n _ <<<"$("$BUILD/bench/unwind_cost" "$seconds" tables "$2")"
	kill -KILL "$2"; wait "$2" 2>/dev/null
	[ -n "$us" ] || exit 1
	say "$1: $us µs, $n samples"
	eval "$1_us=$us $1_n=$n"
}
frames() { # [KIND]
	"$cresset" sql -q --format csv --data "$tmp/deep.cresset" "SELECT round(sum(1.0 * value * n) / sum(value)) FROM samples JOIN
		(SELECT stack, count(*) AS n FROM frames ${1:+WHERE kind = '$1'} GROUP BY stack) USING (stack)" | tail -1 | tr -d '\r'
}
measure_others() {
	local debian
	gcc -std=gnu11 -D_GNU_SOURCE -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$tmp/native" tests/live/prog/deep.c || exit 1
	debian=$(printf '%s\n' /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] | grep -v '[*[]' | sort -V | tail -1)
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	start "$tmp/native" 25 10000 >/dev/null # and _start, two of libc, main, the loop
	measure native "${pids[-1]}"
	start "$debian" bench/python_work.py deep 30
	measure python "${pids[-1]}"
}
