#!/usr/bin/env bash
# What it costs to see Python: the run time of the sampling program for a stack of 30 frames of Python beside one of 30 native frames, and
# what a program in Python loses at 99 Hz, beside perf record -g of the same program with -X perf, which perf needs to see any of it.
# shellcheck disable=SC2154 # set by read
. bench/lib.sh
seconds=${BENCH_SECONDS:-10} pairs=${BENCH_ROUNDS:-30}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT

debian=$(printf '%s\n' /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] | grep -v '[*[]' | sort -V | tail -1)
# 3.12 and newer only: -X perf, which leaves a file.
can_be_perfed() { # PYTHON
	"$1" -X perf -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null &
	wait $!
	local status=$?
	rm -f "/tmp/perf-$!.map"
	return $status
}
for perfable in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3 "$debian" ''; do
	[ -x "$perfable" ] && can_be_perfed "$perfable" && break
done

# --- one stack ---
gcc -std=gnu11 -D_GNU_SOURCE -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$tmp/native" tests/live/prog/deep.c || exit 1
cost() { # NAME PID: sets NAME_us, NAME_n
	local us n
	read -r us n _ <<<"$("$BUILD/bench/unwind_cost" "$seconds" tables "$2")"
	[ -n "$us" ] || exit 1
	say "$1: $us µs, $n samples"
	eval "$1_us=$us $1_n=$n"
}
echo 1 >/proc/sys/kernel/bpf_stats_enabled
start "$tmp/native" 25 1000 >/dev/null # and _start, two of libc, main, the loop
native=${pids[-1]}
for python in "$debian" $perfable; do
	start "$python" bench/python_work.py deep 30
	running=${pids[-1]}
	kill -STOP "$running"
	kill -CONT "$native"
	cost native "$native"
	kill -STOP "$native"
	kill -CONT "$running"
	# What is measured is there: the mean of a sample's frames of Python.
	"$cresset" record -q -F 199 -d 2 -p "$running" -o "$tmp/deep.cresset"
	frames=$("$cresset" sql -q --format csv --data "$tmp/deep.cresset" "SELECT round(sum(1.0 * value * n) / sum(value)) FROM samples JOIN
		(SELECT stack, count(*) AS n FROM frames WHERE kind = 'python' GROUP BY stack) USING (stack)" | tail -1 | tr -d '\r')
	cost python "$running"
	kill -KILL "$running"
	row "one sample of ${frames%.*} frames, hot (BPF run time), $("$python" --version), against 30 native frames" "≤ 2×" \
		"$(calc "$python_us / $native_us")× ($python_us µs of $python_n samples, $native_us µs of $native_n)" "$(met "$python_us <= 2 * $native_us")"
done
kill -KILL "$native"
echo "$stats" >/proc/sys/kernel/bpf_stats_enabled

# --- what the program loses ---
# A program that waits for rounds: worker NAME COMMAND…; round NAME: ns
worker() {
	local name=$1
	shift
	mkfifo "$tmp/$name.in" "$tmp/$name.out"
	taskset -c "$(($(nproc) - 1))" "$@" bench/python_work.py rounds "$loops" <"$tmp/$name.in" >"$tmp/$name.out" &
	pids+=($!)
	eval "exec {${name}_in}>$tmp/$name.in {${name}_out}<$tmp/$name.out"
}
round() {
	local in=$1_in out=$1_out ns
	echo >&"${!in}"
	read -r ns <&"${!out}"
	echo "$ns"
}
# Median of what the second column has more than the first, in percent, and its 95 % interval by order statistics: FILE
loss() {
	awk '{ print ($2 / $1 - 1) * 100 }' "$1" | sort -g | awk '
		function at(k) { return v[k < 1 ? 1 : k > NR ? NR : k] }
		{ v[NR] = $1 }
		END { low = int(NR / 2 - 0.98 * sqrt(NR)); high = NR + 1 - low; median = (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
			printf "%.2f %.2f %.2f\n", median, at(low), at(high) }'
}
loops=${BENCH_LOOPS:-30000}
worker plain "$debian"
round plain >/dev/null
if [ -n "$perfable" ]; then
	worker without "$perfable"
	worker trampolines "$perfable" -X perf
	trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; rm -f "/tmp/perf-'"${pids[-1]}"'.map"; cleanup' EXIT
	round without >/dev/null
	round trampolines >/dev/null
fi
with_cresset() {
	start_cresset -F 99 || exit 1
	during=$(round plain)
	stop_cresset
}
with_perf() {
	start_perf "$tmp/perf.data" -g -F 99
	sleep 0.5
	during=$(round trampolines)
	stop_perf
}
# One round of a pair after the other, each first in every second pair: pair FILE WORKER WITH
pair() {
	if [ $((i % 2)) = 0 ]; then before=$(round "$2"); fi
	"$3"
	if [ $((i % 2)) = 1 ]; then before=$(round "$2"); fi
	echo "$before $during" >>"$1"
}
for ((i = 0; i < pairs; i++)); do
	pair "$tmp/cresset" plain with_cresset
	[ -z "$perfable" ] || pair "$tmp/perf" without with_perf
done
read -r median low high <<<"$(loss "$tmp/cresset")"
row "CPU time added to a Python program by recording the machine at 99 Hz (median of $pairs pairs)" "≤ 1 %" \
	"$median % ($low to $high)" "$(met "$median <= 1")"
if [ -n "$perfable" ]; then
	read -r median low high <<<"$(loss "$tmp/perf")"
	row "… by \`perf record -a -g -F 99\`, with the -X perf that it needs ($("$perfable" --version))" "stated" "$median % ($low to $high)" -
else
	row "the same by \`perf record -a -g -F 99\` with -X perf" "stated" "no Python 3.12 or newer here" -
fi
