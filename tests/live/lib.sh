# shellcheck shell=bash
# tests/live/lib.sh: shared by live tests: TAP, a temporary directory, processes that are ended by pid, folded arithmetic.
#
#     . tests/live/lib.sh           from the project's root
#     is "name" "$got" "$want"      near "name" GOT WANT TOLERANCE       holds "name" COMMAND…
#     needs_recording               finish
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # used by the tests that read this file
cresset=$PWD/$BUILD/cresset
# shellcheck disable=SC2034
progs=$PWD/$BUILD/live
tmp=$(mktemp -d "${TMPDIR:-/tmp}/cresset-live.XXXXXX")
# Tests look up names apart from users' caches, and ask no server.
export CRESSET_CACHE=$tmp/cache CRESSET_AGENT=tests-$$
unset DEBUGINFOD_URLS
t_count=0
pids=()
# How many times slower than a quiet machine this one is: tests/run has measured it, and tests/kernels sets it for emulated machines. For a file that is
# run by hand it is the number of threads that wait for a CPU.
: "${CRESSET_SLOW=$(awk -v cpus="$(nproc)" '{ n = int($1 / cpus); print(n < 1 ? 1 : n > 4 ? 4 : n) }' /proc/loadavg)}"
# The longest time for one recording: only a hang takes longer.
# shellcheck disable=SC2034
most_s=$(awk "BEGIN { print int(240 * $CRESSET_SLOW) }")
# Every pause of a test, and so the longest wait of a loop, is longer by this.
case $CRESSET_SLOW in
1 | 1.0) ;;
*) sleep() { command sleep "$(awk "BEGIN { print $1 * $CRESSET_SLOW }")"; } ;;
esac

cleanup() {
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null && wait "$p"; done 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

# Starts a program in the background and remembers to end it: a program also where sleep is the function above.
start() {
	[ "$1" != sleep ] || set -- env "$@"
	"$@" &
	pids+=($!)
}
ok() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $1"
}
not_ok() {
	t_count=$((t_count + 1))
	echo "not ok $t_count - $1"
	printf '%s\n' "${2-}" | sed 's/^/# /'
}
skip() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $1 # SKIP $2"
}
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', want '$3'"; fi; }
# Numbers: |got - want| ≤ tolerance.
near() {
	if awk -v g="$2" -v w="$3" -v t="$4" 'BEGIN { d = g - w; exit !(g ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ && (d < 0 ? -d : d) <= t) }'; then
		ok "$1 ($2, want $3 ± $4)"
	else
		not_ok "$1" "got $2, want $3 ± $4"
	fi
}
holds() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$out"; fi
}

# Waits until a process has this name: until_comm PID NAME
until_comm() {
	for _ in $(seq 6000); do
		[ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ] && return
		sleep 0.01
	done
}
# The processes below one: descendants PID
descendants() {
	local pid
	for pid in $(pgrep -P "$1"); do echo "$pid" && descendants "$pid"; done
}
# Records in the background until `end`; returns once the recorder samples. begin FILE ARG…
begin() {
	local out=$1
	shift
	rm -f "$tmp/begin.err"
	"$cresset" record --no-progress "$@" -o "$out" 2>"$tmp/begin.err" &
	recorder=$!
	pids+=("$recorder")
	for _ in $(seq 1200); do
		grep -q recording "$tmp/begin.err" 2>/dev/null && return
		kill -0 $recorder 2>/dev/null || return
		sleep 0.05
	done
}
end() {
	kill -INT "$recorder" 2>/dev/null
	wait "$recorder"
}

# Time that the host has taken away from this machine so far, in µs; the kernel counts it in ticks. A thread that loses it is on the CPU according to
# switches, but uses no CPU time according to the scheduler.
steal_us() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / { print $9 * 1e6 / hz }' /proc/stat; }
# The most that can have been taken since it was FROM; stolen_us FROM 0: without the possible rest of a tick.
stolen_us() { awk "BEGIN { print $(steal_us) - $1 + ${2-$(nproc)} * 1e6 / $(getconf CLK_TCK) }"; }

# Runs a bpftrace program beside the commands that follow, until it is interrupted; its output at the end goes to a file. It may miss the tracing file
# systems here. begin_trace PROGRAM OUT; end_trace
begin_trace() {
	command -v bpftrace >/dev/null || return 1
	rm -f "$2"
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tracefs t /sys/kernel/tracing; mount -t debugfs d /sys/kernel/debug; exec bpftrace -B line -e "$1"' \
		- "BEGIN { printf(\"ready\\n\"); } $1" >"$2" 2>"$2.err" &
	tracer=$!
	pids+=("$tracer")
	for _ in $(seq 1200); do
		grep -q ready "$2" 2>/dev/null && return
		kill -0 $tracer 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}
end_trace() {
	kill -INT "$tracer"
	wait "$tracer"
}

# Traces kernel events with ftrace while other commands run: begin_ftrace OUT EVENT FILTER…; end_ftrace OUT. Filter 0: none. Timestamps are of
# CLOCK_MONOTONIC, as in a recording. Where several programs trace an event, they get it one after another, in the order in which they attached to it.
# So the timestamp of an event in a recording lies between those in a trace started before the recording and in one started during it, even if the
# host takes the CPU away in between. FTRACE_KB: size of the buffer of each CPU; OUT.stats counts the events that did not fit. Tracing ends with the test.
declare -A ftrace_fd ftrace_pid
begin_ftrace() {
	local out=$1 fd
	rm -f "$out" "$out.end"
	mkfifo "$out.end"
	# shellcheck disable=SC2016
	unshare -m bash -c 'out=$1; shift
		{ [ -d /sys/kernel/tracing/instances ] || mount -t tracefs t /sys/kernel/tracing; } && dir=/sys/kernel/tracing/instances/cresset-test-$$ && mkdir "$dir" || exit
		echo mono >"$dir/trace_clock"
		[ -z "${FTRACE_KB-}" ] || echo "$FTRACE_KB" >"$dir/buffer_size_kb"
		while [ $# -gt 0 ]; do
			echo "$2" >"$dir/events/$1/filter" && echo 1 >"$dir/events/$1/enable" || break
			shift 2
		done
		[ $# -gt 0 ] || : >"$out"
		read -r _
		echo 0 >"$dir/tracing_on"
		cat "$dir"/per_cpu/*/stats >"$out.stats"
		[ $# -gt 0 ] || grep -v "^#" "$dir/trace" >"$out"
		rmdir "$dir"' - "$@" <"$out.end" 2>"$out.err" &
	ftrace_pid[$out]=$!
	exec {fd}>"$out.end"
	ftrace_fd[$out]=$fd
	for _ in $(seq 3000); do
		[ -e "$out" ] && return
		kill -0 "${ftrace_pid[$out]}" 2>/dev/null || return 1
		sleep 0.02
	done
	return 1
}
end_ftrace() {
	local fd=${ftrace_fd[$1]}
	exec {fd}>&-
	wait "${ftrace_pid[$1]}"
}

# Folded stacks of one or more types of a recording, in µs: folded FILE TYPE[,TYPE] [OPTION…]
folded() {
	local file=$1 type
	for type in ${2//,/ }; do "$cresset" convert "$file" -q --type "$type" -o - --format folded "${@:3}"; done
}
# Time off the CPU of a cause of tests/live/prog/waits, from folded stacks on standard input, in µs: cause_us CAUSE REASON
cause_us() {
	awk -v cause="$1" -v reason="[blocked: $2]" '
		function has(what) { return index($0, what) > 0 }
		{ waited = has(reason) || has("[sched-wait]"); mine = has(";wait_" cause ";") && /^waits(-stop)?;/ }
		cause == "vfork" { mine = /^waits;/ && has("vfork;") } # the stack itself is another question
		cause == "several" { waited = has("[blocked: ") || has("[sched-wait]") }
		# The program knows when these are woken, not when they run again. During an exec the program may be gone; during an exit it is.
		cause == "several-fault" { mine = has(";wait_several;"); waited = has("[blocked: page fault]") }
		cause == "exec" { mine = /^(waits-exec|exe);/ && has("handle_userfault"); waited = has("[blocked: ") }
		cause == "exit" { mine = /^waits-exit;/ && has("zap_pid_ns_processes"); waited = has("[blocked: ") }
		mine && waited { n += $NF }
		END { print n + 0 }'
}
# Each cause that the program printed, except the named ones, is in the folded stacks: causes NAME TRUTH FOLDED [CAUSE…]. Time that the host took
# away in the meantime (in TRUTH.stolen) counts as a wait by the program's clocks.
causes() {
	local name=$1 truth=$2 folded=$3 cause count total_us slack_us reason stolen
	stolen=$(cat "$truth.stolen")
	while read -r cause count total_us slack_us reason; do
		case " short-late ${*:4} " in *" $cause "*) continue ;; esac
		if [ "$count" = 0 ]; then
			skip "$name: $cause" "userfaultfd or a pid namespace is refused here"
			continue
		fi
		# 1 % and 0.1 ms a wait, around the middle of the program's own range
		near "$name: $cause, µs" "$(cause_us "$cause" "$reason" <"$folded")" "$(awk "BEGIN { print $total_us - $slack_us / 2 }")" \
			"$(awk "BEGIN { print $total_us / 100 + $count * 100 + $slack_us / 2 + $stolen }")"
	done <"$truth"
}

# Skips the file where nothing can be recorded: without root, or on a kernel that refuses BPF.
needs_recording() {
	local why
	why=$("$progs/can_record") && return
	echo "1..0 # SKIP $why"
	exit 0
}

# Whether deleted and replaced files of a process can be opened here: as root, or with CAP_CHECKPOINT_RESTORE.
opens_map_files() {
	local files=(/proc/$$/map_files/*)
	head -c 1 "${files[0]}" >/dev/null 2>&1
}

finish() { echo "1..$t_count"; }

# Sum of the values of folded lines on standard input that match an awk regex (all without one).
folded_sum() { awk -v re="${1-.}" '$0 ~ re { n += $NF } END { print n + 0 }'; }
# k standard deviations of the number of samples of a program that has a share of a CPU while it runs: alone as in sigma, beside others by chance.
sampled_sigma() { # N P K CPU_S FROM TO: the share is CPU_S in FROM … TO, of $EPOCHREALTIME
	awk -v n="$1" -v p="$2" -v k="$3" -v share="$(awk "BEGIN { print $4 / ($6 - $5) }")" '
		BEGIN { v = 1 - share; if (v < p * (1 - p)) v = p * (1 - p); printf "%.1f", k * sqrt(n * v) + 1 }'
}
# k standard deviations of a share p over n samples, as a number of samples.
sigma() { awk -v n="$1" -v p="$2" -v k="$3" 'BEGIN { printf "%.1f", k * sqrt(n * p * (1 - p)) + 1 }'; }
