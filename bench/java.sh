#!/usr/bin/env bash
# The cost of seeing Java: the run time of the sampling program for a stack of 30 frames of Java, compiled and interpreted, against one of 30
# native frames and one of 30 frames of Python; and the cost of the walkers of runtimes for a program without a runtime.
# shellcheck disable=SC2154 # set by read
. bench/lib.sh
seconds=${BENCH_SECONDS:-10} pairs=${BENCH_ROUNDS:-15}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT
if ! command -v javac >/dev/null; then
	row "one sample of 30 frames of Java" "≤ 20 µs" "no javac here" -
	exit 0
fi
javac -d "$tmp" bench/Deep.java || exit 1
gcc -std=gnu11 -D_GNU_SOURCE -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$tmp/native" tests/live/prog/deep.c || exit 1
debian=$(printf '%s\n' /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] | grep -v '[*[]' | sort -V | tail -1)
version=$(java -version 2>&1 | awk -F'"' '{ print $2; exit }')
cost() { # NAME PID [MODE]: sets NAME_us, NAME_n
	local us n
	read -r us n _ <<<"$("$BUILD/bench/unwind_cost" "$seconds" "${3-tables}" "$2")"
	[ -n "$us" ] || exit 1
	say "$1: $us µs, $n samples"
	eval "$1_us=$us $1_n=$n"
}
# Measures the program of a process that runs alone, and ends it.
measure() { # NAME PID
	cost "$1" "$2"
	kill -KILL "$2"
}
echo 1 >/proc/sys/kernel/bpf_stats_enabled
start "$tmp/native" 25 10000 >/dev/null # and _start, two of libc, main, the loop
native=${pids[-1]}
cost native "$native"
kill -STOP "$native"
start "$debian" bench/python_work.py deep 30
measure python "${pids[-1]}"
for mode in "compiled -XX:-TieredCompilation -XX:-Inline" "interpreted -Xint"; do
	name=${mode%% *}
	# shellcheck disable=SC2086 # options
	start java ${mode#* } -XX:+UseSerialGC -cp "$tmp" Deep 30
	running=${pids[-1]}
	# The mean of a sample's frames of Java shows whether they are seen.
	"$cresset" record -q -F 199 -d 2 -p "$running" -o "$tmp/deep.cresset"
	frames=$("$cresset" sql -q --format csv --data "$tmp/deep.cresset" "SELECT round(sum(1.0 * value * n) / sum(value)) FROM samples JOIN
		(SELECT stack, count(*) AS n FROM frames WHERE kind = 'java' GROUP BY stack) USING (stack)" | tail -1 | tr -d '\r')
	measure java "$running"
	row "one sample of ${frames%.*} frames of Java, $name, hot (BPF run time), OpenJDK $version" "≤ 20 µs" \
		"$java_us µs of $java_n samples: $(calc "$java_us / $native_us")× 30 native frames ($native_us µs), $(calc "$java_us / $python_us")× 30 of Python ($python_us µs)" \
		"$(met "$java_us <= 20")"
done

# --- a program without a runtime, with the walkers of runtimes and without them ---
kill -CONT "$native"
for ((i = 0; i < pairs; i++)); do
	if [ $((i % 2)) = 0 ]; then cost with "$native" tables; fi
	cost without "$native" native
	if [ $((i % 2)) = 1 ]; then cost with "$native" tables; fi
	echo "$without_us $with_us"
done >"$tmp/pairs"
kill -KILL "$native"
read -r median low high <<<"$(ratio <"$tmp/pairs")"
row "one sample of 30 native frames, with the walkers of runtimes against without (median of $pairs pairs)" "≤ 1.01×" \
	"$median× ($low to $high)" "$(met "$median <= 1.01")"
