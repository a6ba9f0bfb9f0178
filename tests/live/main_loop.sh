#!/usr/bin/env bash
# tier: live
# run: alone
# Processes of other users delay every process that reads their memory or files: the main loop of the collector of cresset up never sleeps for more
# than 100 ms, by the kernel's own trace of its thread. Time in which it runs or waits for a CPU is not counted.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

readonly most_ms=100
case $(uname -m) in x86_64) epoll_wait=232 ;; *) epoll_wait=22 ;; esac # epoll_pwait
chmod 755 "$tmp" # the store process is not root
data=$tmp/data
mkdir "$tmp/mount"
trap 'for p in "${pids[@]}"; do pkill -9 -P "$p"; kill -9 "$p"; done 2>/dev/null; umount -l "$tmp/mount" 2>/dev/null; cleanup' EXIT
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/sql.err" | tail -n +2 | tr -d '\r'; }
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
until_line() { # FILE TEXT PID
	for _ in $(seq 600); do
		grep -q "$2" "$1" 2>/dev/null && return
		kill -0 "$3" 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}

# Prints the time since which the trace has events of every CPU: a full buffer drops its oldest ones.
whole_from() { awk '/^oldest event ts:/ { if ($4 > from) from = $4 } /^overrun:/ && $2 > 0 { lost = 1 } END { print lost ? from : 0 }' "$tmp/trace.stats"; }
# Reads the trace of the thread from standard input. Prints the number of turns; the longest sleep outside epoll_wait until it is woken, and its system
# call; the longest sum of sleeps in a turn; and the longest turn, without the waits for a CPU. Times are in ms.
turns_of() { # TID
	awk -v tid="$1" -v wait="$epoll_wait" -v from="$(whole_from)" '
		function stood(until) { slept += until - off; if (until - off > longest) { longest = until - off; in_call = call } }
		function end_of_turn() {
			if (slept > most) most = slept
			if (t - turn - queued > length_) length_ = t - turn - queued
		}
		match($0, /[0-9]+\.[0-9]+: /) { t = substr($0, RSTART, RLENGTH - 2) + 0 }
		t < from { next }
		/ sys_enter: NR/ {
			match($0, /NR -?[0-9]+/); call = substr($0, RSTART + 3, RLENGTH - 3) + 0
			if (call == wait) { if (turn) end_of_turn(); waits = 1 }
		}
		/ sys_exit: NR/ {
			match($0, /NR -?[0-9]+/)
			if (substr($0, RSTART + 3, RLENGTH - 3) + 0 == wait) { waits = 0; turn = t; queued = slept = 0; n++ }
			call = wait
		}
		turn && !waits && / sched_switch:/ && match($0, "prev_pid=" tid " ") {
			off = t; is_off = 1; woken = $0 ~ /prev_state=R/ ? t : 0
		}
		is_off && / sched_wakeup:/ && !woken { woken = t }
		is_off && / sched_switch:/ && match($0, "next_pid=" tid " ") {
			stood(woken ? woken : t); queued += t - (woken ? woken : t); is_off = 0
		}
		END {
			if (is_off && !woken) stood(t)
			if (turn && !waits) end_of_turn()
			printf "%d %.1f %d %.1f %.1f\n", n, longest * 1000, in_call, most * 1000, length_ * 1000
		}'
}
begin_looking() { # TID
	FTRACE_KB=32768 begin_ftrace "$tmp/trace" sched/sched_switch "prev_pid == $1 || next_pid == $1" sched/sched_wakeup "pid == $1" \
		raw_syscalls/sys_enter "common_pid == $1" raw_syscalls/sys_exit "common_pid == $1 && id == $epoll_wait"
}
# Traces the main loop during COMMAND…, then checks the trace.
beside() { # WHAT COMMAND…
	local what=$1 collector turns stood where all longest
	collector=$(half cresset-collect)
	begin_looking "$collector" || { skip "$what" "the kernel has no trace of events: $(cat "$tmp/trace.err")"; return; }
	"${@:2}"
	end_ftrace "$tmp/trace"
	read -r turns stood where all longest < <(turns_of "$collector" <"$tmp/trace")
	echo "# $what: $turns turns; the longest sleep $stood ms (system call $where), all of one turn $all ms; the longest turn $longest ms"
	holds "$what: the loop is seen" test "${turns:-0}" -gt 10
	holds "… its longest sleep is $stood ms" awk "BEGIN { exit !($stood <= $most_ms) }"
	is "… it is the same process" "$(half cresset-collect)" "$collector"
}
beside_which() { # PID…: another program is seen, and the processes end
	"$progs/burn" "b$$-$#" 2 >/dev/null
	sleep 8
	kill -9 "$@" 2>/dev/null
	sleep 3
}

begin_fs() {
	"$progs/hung_fs" "$tmp/mount" "$progs/burn" >"$tmp/mounted" 2>"$tmp/mount.err" &
	fs=$!
	pids+=("$fs")
	until_line "$tmp/mounted" mounted "$fs"
}
end_fs() {
	kill -9 "$fs"
	wait "$fs"
	umount -l "$tmp/mount"
} 2>/dev/null

cp "$progs/hostile" "$progs/burn" "$tmp/"
up() { # waits until it has read the running processes
	begin_always up --data "$data" --listen none
	until_said "collector runs"
	sleep 5
}
up
calm() { sleep 10; }
beside "nothing" calm

stall_reads() {
	local i
	for i in 1 2 3; do
		"$progs/stall" "$$-st$i" 600 >"$tmp/stall" &
		pids+=("$!")
	done
	beside_which "${pids[@]: -3}"
}
"$progs/stall" "$$-try" 0 >/dev/null
if [ $? = 77 ]; then skip "memory that no reader returns from" "no userfaultfd"; else beside "memory that no reader returns from" stall_reads; fi

hold_lock() {
	"$progs/lock_held" "$$-lock" "$tmp/mount/program" 600 >"$tmp/held" &
	held=$!
	pids+=("$held")
	until_line "$tmp/held" ready "$held" || return
	kill -USR1 "$fs"
	kill -USR1 "$held"
	beside_which "$held"
	end_fs
}
hang_program() {
	"$tmp/mount/program" "$$-hung" 600 >/dev/null &
	hung=$!
	pids+=("$hung")
	until_comm "$hung" "$$-hung"
	kill -USR1 "$fs"
	beside_which "$hung"
	end_fs
}
# A process with code made at run time has its root on a file system that does not respond: its perf map is searched there.
hang_root() {
	setpriv --reuid 65534 --clear-groups unshare -Ur chroot "$tmp/mount" /program "$$-root" 600 >/dev/null 2>&1 &
	hung=$!
	pids+=("$hung")
	sleep 1
	kill -USR1 "$fs"
	beside_which "$hung"
	end_fs
}
for situation in "a process whose lock of mappings is held:hold_lock" "a program whose file does not answer:hang_program" \
	"a root that does not answer:hang_root"; do
	if begin_fs; then beside "${situation%:*}" "${situation#*:}"; else skip "${situation%:*}" "no file system can be mounted: $(cat "$tmp/mount.err")"; fi
done

as_nobody() {
	setpriv --reuid 65534 --clear-groups "$tmp/hostile" "$@" >/dev/null &
	pids+=("$!")
}
storms() {
	as_nobody maps
	as_nobody short
	as_nobody sparse 60000000000
	as_nobody entries 300000
	beside_which "${pids[@]: -4}"
	pkill -9 -P "${pids[-3]}"
	rm -f /tmp/perf-*.map
}
beside "storms of mappings and processes, and perf maps of 60 GB and of 300,000 entries" storms

stopped() {
	"$progs/publish" "$$-stop" 60 >"$tmp/published" &
	pids+=("$!")
	sleep 1
	kill -STOP "${pids[-1]}"
	beside_which "${pids[-1]}"
}
beside "a process that is stopped" stopped
stop_helpers() {
	local stopped
	mapfile -t stopped < <(pgrep -x 'cresset-(read|code|far|probe)' | while read -r p; do [ "$(readlink "/proc/$p/exe")" = "$(readlink -f "$cresset")" ] && echo "$p"; done)
	kill -STOP "${stopped[@]}"
	"$progs/publish" "$$-unread" 3 >"$tmp/published"
	"$progs/jit" 2 >/dev/null 2>&1
	kill -CONT "${stopped[@]}" 2>/dev/null
	sleep 2
}
beside "workers that are stopped" stop_helpers
stop_store() {
	kill -STOP "$(half cresset-store)"
	sleep 5
	kill -CONT "$(half cresset-store)"
	sleep 5
}
beside "a store process that is stopped" stop_store
end_always
is "it ends" "$status" 0
for n in 1 4; do
	holds "a program beside $n of them is stored" test "$(burnt "b$$-$n")" -gt 0
done
finish
