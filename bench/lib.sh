# shellcheck shell=bash
# bench/lib.sh: what the bench scripts share. Each prints what it does on standard error and, on standard output, rows of the
# table in docs/benchmarks.md:
#
#     row "promise" "bar" "measured" yes|no|-
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # used by the scripts that read this file
cresset=$PWD/$BUILD/cresset progs=$PWD/$BUILD/live
tmp=$(mktemp -d /tmp/cresset-bench.XXXXXX)
pids=()
cleanup() {
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null && wait "$p"; done 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

start() {
	"$@" &
	pids+=($!)
}
say() { printf '%s\n' "$*" >&2; }
row() { printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" "$4"; }
calc() { awk "BEGIN { printf \"%.4g\", $1 }"; }
met() { awk "BEGIN { print ($1) ? \"yes\" : \"no\" }"; }
# Lines "A B", a pair each: the median of B / A, and its 95 % interval by order statistics: the ranks n/2 -+ 0.98 √n.
ratio() {
	awk '{ print $2 / $1 }' | sort -g | awk '
		function at(k) { return v[k < 1 ? 1 : k > NR ? NR : k] }
		{ v[NR] = $1 }
		END { low = int(NR / 2 - 0.98 * sqrt(NR))
			printf "%.4f %.4f %.4f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, at(low), at(NR + 1 - low) }'
}
# CPU time of a process and all its threads so far, in ns.
cpu_ns() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'; }
# Run time of a process's BPF programs so far, in ns (kernel.bpf_stats_enabled).
# Of a process's BPF programs, but for those over threads: they run in its own system calls, so its CPU time has them.
bpf_ns() { # PID
	local own
	own=$(bpftool prog show -j 2>/dev/null | jq -r '.[] | select((.name // "") | startswith("threads_")) | .id' | xargs)
	cat "/proc/$1"/fdinfo/* 2>/dev/null |
		awk -v own=" $own " '/^prog_id:/ { id = $2 } /^run_time_ns:/ && !index(own, " " id " ") { n += $2 } END { printf "%.0f\n", n }'
}
busy_cpus() { # SECONDS: keeps every CPU busy for that long
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		start taskset -c "$cpu" "$progs/burn" busy-"$cpu" "$1" >/dev/null
	done
}
# cresset record in the background until stop_cresset, its pid in $recorder, its summary in $tmp/c.json: returns once it records.
start_cresset() { # OPTION…
	rm -f "$tmp/begin.err"
	"$cresset" record -a --no-progress --json -d 1000 -o "$tmp/c.cresset" "$@" >"$tmp/c.json" 2>"$tmp/begin.err" &
	recorder=$!
	pids+=("$recorder")
	for _ in $(seq 100); do
		grep -q recording "$tmp/begin.err" 2>/dev/null && break
		kill -0 $recorder 2>/dev/null || return 1
		sleep 0.05
	done
	sleep 1
}
stop_cresset() {
	kill -INT "$recorder"
	wait "$recorder" 2>/dev/null
}
# perf record until stop_perf, its pid in $perf: start_perf FILE ARG…
start_perf() {
	local file=$1
	shift
	perf record -q -a "$@" -o "$file" -- sleep 100000 2>"$tmp/perf.err" &
	perf=$!
	pids+=("$perf")
}
stop_perf() {
	pkill -P "$perf" -x sleep
	wait "$perf" 2>/dev/null
}
