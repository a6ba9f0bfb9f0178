#!/usr/bin/env bash
# tier: live
# run: alone
# All of a thread's life: times on the CPU, blocked and waiting for a CPU add up to it, thread by thread and stack by stack.
. tests/live/lib.sh
needs_recording
export TMPDIR=$tmp
freq=199

# Per thread of folded stacks --by tid, µs: "TID ON_CPU BLOCKED READY", from the roots NAME-PID/TID.
threads_of() {
	awk '{
		split($0, frame, ";"); root = frame[1]
		if (!index($0, ";")) sub(/ [0-9]+$/, "", root)
		sub(/.*\//, "", root); tid[root] = 1
		if (/\[sched-wait\]/) ready[root] += $NF
		else if (/\[blocked: |\[off-CPU below /) blocked[root] += $NF
		else on[root] += $NF
	} END { for (t in tid) printf "%s %d %d %d\n", t, on[t], blocked[t], ready[t] }' | sort
}

# --- threads of mixed behaviour, from the first to the last moment ---
# The kernel's trace has the times when each thread was created and when it left the CPU for the last time; the program's clocks only
# enclose them. Interrupts may come between its timestamp of the fork and ours, but ours is taken before the new thread is first woken.
# Our timestamp of the last switch lies between those of two traces: one began before the recording, one during it. The host may take
# the CPU away anywhere in between.
lives_of() { # BEFORE AFTER: "TID LEAST_US MOST_US", each thread that both saw to the end
	awk '
		match($0, / [0-9]+\.[0-9]+: /) { us = substr($0, RSTART, RLENGTH - 2) * 1e6; $0 = substr($0, RSTART + RLENGTH) }
		function pid_of(name) { match($0, " " name "=[0-9]+"); return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) }
		/^sched_process_fork:/ { forked[pid_of("child_pid")] = us }
		/^sched_wakeup_new:/ { woken[pid_of("pid")] = us }
		/^sched_switch:/ { if (FNR == NR) before[pid_of("prev_pid")] = us; else after[pid_of("prev_pid")] = us }
		END { for (p in after) if (p in woken && p in before) printf "%d %d %d\n", p, before[p] - woken[p], after[p] - forked[p] }' "$1" "$2"
}
mixed_run() { # NAME SECONDS OPTION…: leaves NAME.truth, NAME.folded, NAME.threads and NAME.lives
	local name=$1 seconds=$2 from recorder traced=
	shift 2
	from=$(steal_us)
	mkfifo "$tmp/$name.go"
	begin_ftrace "$tmp/$name.before" sched/sched_process_fork 0 sched/sched_wakeup_new 0 sched/sched_switch 'prev_state & 0x30' && traced=1
	# shellcheck disable=SC2016
	timeout "$most_s" "$cresset" record -q -e wall -F $freq "$@" -o "$tmp/$name.cresset" -- \
		sh -c ': >"$1"; read -r _ <"$2"; exec "$3" "$4"' - "$tmp/$name.there" "$tmp/$name.go" "$progs/mixed" "$seconds" \
		>"$tmp/$name.truth" 2>"$tmp/$name.err" &
	recorder=$!
	for _ in $(seq 3000); do [ -e "$tmp/$name.there" ] && break; sleep 0.02; done
	begin_ftrace "$tmp/$name.after" sched/sched_switch 'prev_state & 0x30' || traced=
	echo >"$tmp/$name.go"
	wait $recorder
	is "$name: the recording" $? 0
	end_ftrace "$tmp/$name.after"
	end_ftrace "$tmp/$name.before"
	stolen_us "$from" >"$tmp/$name.steal"
	if [ $traced ]; then
		lives_of "$tmp/$name.before" "$tmp/$name.after" >"$tmp/$name.lives"
		is "$name: the kernel's trace has each thread" "$(join <(sort "$tmp/$name.truth") <(sort "$tmp/$name.lives") | wc -l)" "$(wc -l <"$tmp/$name.truth")"
	else
		: >"$tmp/$name.lives"
		skip "$name: the kernel's trace has each thread" "there is no tracefs: $(tail -n 1 "$tmp/$name.before.err")"
	fi
	folded "$tmp/$name.cresset" wall --by tid >"$tmp/$name.folded"
	threads_of <"$tmp/$name.folded" >"$tmp/$name.threads"
}
# Prints each thread for which this is false: lives NAME
lives() {
	awk '
		FILENAME ~ /threads$/ { on[$1] = $2; blocked[$1] = $3; ready[$1] = $4; seen[$1] = 1; next }
		FILENAME ~ /lives$/ { least[$1] = $2; most[$1] = $3; next }
		!seen[$1] { print $1, $2 ": is not there"; next }
		{
			sum = on[$1] + blocked[$1] + ready[$1]
			# 0.1 %, and 0.1 ms: some dozen stacks are rounded to 1 µs
			slop = $3 / 1000 + 100
			if (most[$1]) {
				if (sum < least[$1] - slop || sum > most[$1] + slop) print $1, $2 ": has", sum, "µs, the kernel saw", least[$1], "to", most[$1]
			} else if (sum < $3 - $4 - slop || sum > $3 + slop + ready[$1]) # after its last message it may have to wait again
				print $1, $2 ": has", sum, "µs, lived", $3 - $4, "to", $3
		}' "$tmp/$1.threads" "$tmp/$1.lives" "$tmp/$1.truth"
}
# Switches and the scheduler's clock were measured to agree within 3 %, and 10 µs at every switch: the clock is read some way before the switch. Time
# that the host takes away is on the CPU for the one, and nowhere for the other.
slack_us() { # CPU_US SWITCHES NAME
	awk "BEGIN { print $1 * .03 + $2 * 15 + 1000 + $(cat "$tmp/$3.steal") }"
}
times() { # NAME: prints each thread whose clocks disagree
	awk -v steal="$(cat "$tmp/$1.steal")" '
		FILENAME ~ /threads$/ { on[$1] = $2; blocked[$1] = $3; ready[$1] = $4; next }
		{
			slop = $5 * 0.03 + $7 * 15 + 1000 + steal
			# before its first and after its last message it may run and wait, too
			unsaid = on[$1] + blocked[$1] + ready[$1] - ($3 - $4)
			if (on[$1] < $5 - slop || on[$1] > $5 + slop + unsaid) print $1, $2 ": on the CPU", on[$1], "µs, by its own clock", $5
			if (ready[$1] < $6 * .97 - slop || ready[$1] > $6 * 1.03 + slop + unsaid)
				print $1, $2 ": ready", ready[$1], "µs, by its schedstat", $6
		}' "$tmp/$1.threads" "$tmp/$1.truth"
}
mixed_run wall 5
is "wall: every thread has 99.9 to 100.1 % of its life ($(wc -l <"$tmp/wall.truth") threads)" "$(lives wall)" ""
is "… and its CPU time, and its waits for a CPU" "$(times wall)" ""

# Stacks of one thread, as a share: sampled ones within their sampling error, the others exactly.
tid_of() { awk -v n="$1" '$2 == n { print $1; exit }' "$tmp/wall.truth"; }
of_thread() { awk -v t="/$(tid_of "$1")[; ]" -v re="$2" '$0 ~ t && $0 ~ re { n += $NF } END { print n + 0 }' "$tmp/wall.folded"; }
read -r on_us switches <<<"$(awk '$2 == "spin" { print $5, $7 }' "$tmp/wall.truth")"
samples=$(awk "BEGIN { print $on_us / 1e6 * $freq }")
most=$(of_thread spin ';run_spin;most_work(_\[c\])? ') less=$(of_thread spin ';run_spin;less_work(_\[c\])? ')
near "three quarters of one thread's work" "$(awk "BEGIN { print $most / ($most + $less + 1) }")" 0.75 "$(awk "BEGIN { print 4 * sqrt(.75 * .25 / ($samples + 1)) }")"
near "… are nearly all of it" $((most + less)) "$on_us" "$(awk "BEGIN { print $(slack_us "$on_us" "$switches" wall) + $on_us * 4 * sqrt(.02 / ($samples + 1)) }")"
sleep_life=$(awk '$2 == "sleep" { print $3 - $5 - $6 }' "$tmp/wall.truth") # except its CPU time, and its waits for a CPU
near "a thread that sleeps" "$(of_thread sleep ';sleep_long;.*[[]blocked: sleep')" "$sleep_life" "$(awk "BEGIN { print $sleep_life / 20 }")"
is "waits below the minimum have no stack" "$(awk "BEGIN { print $(of_thread short '[[]blocked') < $(awk '$2 == "short" { print $3 / 10 }' "$tmp/wall.truth") }")" 1
short_us=$(of_thread short 'off-CPU below 1ms')
read -r _ _ life _ cpu delay switches <<<"$(awk '$2 == "short"' "$tmp/wall.truth")"
near "… but their time is there" "$((short_us + $(of_thread short '[[]blocked')))" "$((life - cpu - delay))" "$(awk "BEGIN { print ($life - $cpu - $delay) * .01 + $delay * .03 + $(slack_us "$cpu" "$switches" wall) }")"
# Each holds the lock for 3 ms, and waits 3 ms for the other.
holds "a lock that another holds" test "$(of_thread lock-a ';take_lock;.*[[]blocked: futex')" -gt 100000
holds "two threads on one CPU wait for it" test "$(of_thread pin-a '[[]sched-wait')" -gt "$(awk '$2 == "pin-a" { printf "%d", $6 * .9 }' "$tmp/wall.truth")"

# --- the same with the other way to take stacks ---
mixed_run sys_exit 3 --wait-hook sys_exit
is "sys_exit: every thread has 99.9 to 100.1 % of its life" "$(lives sys_exit)" ""
is "… and its CPU time, and its waits for a CPU" "$(times sys_exit)" ""

# --- begun and ended in mid-run: threads that exist throughout have all of the recording ---
start "$progs/mixed" 8 >"$tmp/part.truth"
mixed=${pids[-1]}
for _ in $(seq 6000); do # until all of those are there, by their names
	[ "$(cat /proc/"$mixed"/task/*/comm 2>/dev/null | grep -cxE 'spin|short|sleep|ping|pong|pin-[ab]|lock-[ab]')" = 9 ] && break
	sleep 0.01
done
timeout "$most_s" "$cresset" record -q --json -e wall -F $freq -p "$mixed" -d 2 -o "$tmp/part.cresset" >"$tmp/part.json"
is "a part of it: the recording" $? 0
folded "$tmp/part.cresset" wall --by tid >"$tmp/part.folded"
threads_of <"$tmp/part.folded" >"$tmp/part.threads"
wait "$mixed"
duration=$(jq '.duration_ns / 1000' "$tmp/part.json")
# Those that existed before. Threads do not begin their recording at the same moment: what is required here is what all of them have.
awk '$2 ~ /^(spin|short|sleep|ping|pong|pin|lock)/ { print $1 }' "$tmp/part.truth" | sort >"$tmp/part.all"
is "threads have all of the 2 s, and no more than the recording's $duration µs" "$(join "$tmp/part.all" "$tmp/part.threads" |
	awk -v d="$duration" '{ s = $2 + $3 + $4; if (s < 2000000 * .999 - 5000 || s > d * 1.001 + 5000) print $1, s }')" ""
near "… and all of them the same" "$(join "$tmp/part.all" "$tmp/part.threads" |
	awk '{ s = $2 + $3 + $4; if (!n++ || s < least) least = s; if (s > most) most = s } END { print most - least }')" 0 7000
is "… and all are there" "$(join "$tmp/part.all" "$tmp/part.threads" | wc -l)" "$(wc -l <"$tmp/part.all")"

# --- causes: the program's own measurements; stopped tasks, too; short waits together ---
from=$(steal_us)
timeout "$most_s" "$cresset" record --no-progress -e wall -o "$tmp/causes.cresset" --per-thread "$tmp/threads" -- \
	"$progs/waits" 5 20 futex sleep poll recv child vfork stop fault exit short >"$tmp/causes.truth" 2>"$tmp/causes.err"
is "causes: the recording" $? 0
stolen_us "$from" 0 >"$tmp/causes.truth.stolen"
folded "$tmp/causes.cresset" wall >"$tmp/causes.folded"
causes wall "$tmp/causes.truth" "$tmp/causes.folded" short
read -r _ _ total_us _ <<<"$(grep '^short ' "$tmp/causes.truth")"
# All of the main thread's waits below the minimum are in the leaf, not only these 500: there are few others.
near "waits below the minimum" "$(awk '/^waits;/ && (/\[off-CPU below 1ms\]/ || /;wait_short;.*blocked/) { n += $NF } END { print n + 0 }' "$tmp/causes.folded")" \
	"$total_us" "$(awk "BEGIN { print $total_us / 10 + 5000 }")"
is "stacks of on-CPU time have no marker of a wait" "$(grep -c 'sched-wait.*blocked\|blocked.*sched-wait' "$tmp/causes.folded")" 0
for kind in svg folded; do
	holds "--per-thread: $kind files" test -n "$(find "$tmp/threads" -name "thread_*_waits.$kind" -o -name "thread_*_main.$kind" | head -1)"
done
holds "--per-thread: the summary" test -s "$tmp/threads/causes_thread_analysis.txt"

# --- the sums of the types of one recording are those of wall ---
timeout "$most_s" "$cresset" record -q -e off-cpu,sched-wait,wall -m 0 -o "$tmp/types.cresset" -- "$progs/waits" 5 20 sleep pipe_read short >/dev/null
is "types: the recording" $? 0
near "off-cpu and sched-wait are what wall has off the CPU" \
	"$(folded "$tmp/types.cresset" off-cpu,sched-wait | folded_sum)" \
	"$(folded "$tmp/types.cresset" wall | folded_sum '[[](blocked|sched-wait|off-CPU)')" "$(awk 'BEGIN { print 1000 }')"
finish
