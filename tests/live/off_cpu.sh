#!/usr/bin/env bash
# tier: live
# run: alone
# Where threads wait, cause by cause, compared with the program's own measurements and with bpftrace; and which waits count.
. tests/live/lib.sh
needs_recording
export TMPDIR=$tmp

# Records `waits COUNT MS CAUSE…` from its start to its end: waits_run NAME "OPTIONS" COUNT MS [CAUSE…]. Leaves NAME.truth and NAME.folded, with
# both types of waits in µs.
waits_run() {
	local name=$1 options=$2 from
	shift 2
	from=$(steal_us)
	# shellcheck disable=SC2086
	timeout "$most_s" "$cresset" record --no-progress -e off-cpu,sched-wait $options -o "$tmp/$name.cresset" -- \
		"$progs/waits" "$@" >"$tmp/$name.truth" 2>"$tmp/$name.err"
	is "$name: the recording" $? 0
	stolen_us "$from" 0 >"$tmp/$name.truth.stolen"
	folded "$tmp/$name.cresset" off-cpu,sched-wait >"$tmp/$name.folded"
}

# --- every cause, by the usual way to take stacks ---
# A stopped task is not a wait. The disk's speed is unknown, so that its waits may be too short; see below.
waits_run causes '' 10 20
causes "1 ms minimum" "$tmp/causes.truth" "$tmp/causes.folded" direct sync stop short
is "a stopped process does not wait" "$(folded_sum '^waits-stop;.*blocked' <"$tmp/causes.folded")" 0
longer=$(awk '/;wait_short;.*\[blocked/ { n += $NF } END { print n + 0 }' "$tmp/causes.folded")
# Timers may be late now and then: the program prints by how much.
late=$(awk '$1 == "short-late" { print $3 }' "$tmp/causes.truth")
holds "waits below the minimum are not there ($longer µs; $late µs were late)" test "$longer" -le $((late + late / 100))
holds "… and the summary has their durations" grep -qi 'below 1' "$tmp/causes.err"
is "a wait inside an exec does not show the new program" \
	"$(awk '/^exe;/ && /handle_userfault/ && !/wait_exec/ && /;(_start|main|_dl_start)[;_]/' "$tmp/causes.folded" | wc -l)" 0
# In this order, though libraries may have any functions between them.
for stack in 'main;run_futex;wait_futex;.*pthread_cond_wait.*;\[blocked: futex' 'main;run_fault;wait_fault;.*\[blocked: page fault' \
	'main;run_vfork;wait_vfork;.*\[blocked: wait for child' 'main;run_stop;wait_stop;.*\[blocked'; do
	if [ "${stack#*stop}" = "$stack" ]; then
		holds "stack $stack" grep -Eq "^waits;.*$stack" "$tmp/causes.folded"
	fi
done

# --- a slow disk: reads of 1 MiB, at 26 MiB/s, each in any number of waits ---
# Where the host takes away CPU time that the device's completions and copying need, the program's clocks are less exact than for others.
device=$(stat -c '%Hd:%Ld' "$tmp")
slow=$(awk '$3 == "cgroup" && /blkio/ { print $2; exit }' /proc/self/mounts)/cresset-disk-$$ limit=blkio.throttle.read_bps_device rate="$device 27262976"
if [ "${slow#/cresset}" != "$slow" ]; then
	slow=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/cresset-disk-$$ limit=io.max rate="$device rbps=27262976"
fi
if mkdir "$slow" 2>/dev/null && echo "$rate" 2>/dev/null >"$slow/$limit"; then
	home=$(awk -F: -v c="$limit" '(c ~ /blkio/ && $2 ~ /blkio/) || (c ~ /io.max/ && $1 == 0) { print $3 }' /proc/self/cgroup)
	echo $$ >"$slow/cgroup.procs"
	waits_run disk '-m 0' 8 0 direct
	echo $$ >"$(dirname "$slow")/$home/cgroup.procs"
	if [ "$(awk '$1 == "direct" { print $3 }' "$tmp/disk.truth")" -ge 250000 ]; then # 8 MiB take 308 ms; otherwise not all reads were slowed down
		causes "slow disk" "$tmp/disk.truth" "$tmp/disk.folded"
	else
		skip "slow disk" "the limit of $device does not slow it down"
	fi
else
	skip "slow disk" "no group here may limit $device"
fi
rmdir "$slow" 2>/dev/null

# --- every wait, however short; bpftrace adds up the same time ---
# While a thread is off the CPU, from switch to switch, it is first blocked and then ready. bpftrace misses switches of a CPU while a
# thread there is interrupted in a system call about BPF maps. Then the thread that leaves the CPU is not the one that came last, and
# bpftrace was blind since then. A wait whose beginning or end it missed is not in its sum: it was no longer than the time since the
# thread was seen before.
begin_trace 'tracepoint:sched:sched_switch {
	if (@at[cpu] && @last[cpu] != args->prev_pid) { @blind_ns = @blind_ns + (nsecs - @at[cpu]); }
	@at[cpu] = nsecs; @last[cpu] = args->next_pid;
	if (args->next_comm == "waits") {
		if (!@out[args->next_pid] && @in[args->next_pid]) { @blind_ns = @blind_ns + (nsecs - @in[args->next_pid]); }
		@in[args->next_pid] = nsecs; }
	if (@out[args->next_pid]) { @ns = @ns + (nsecs - @out[args->next_pid]); delete(@out[args->next_pid]); }
	if (args->prev_comm == "waits") {
		if (@out[args->prev_pid]) { @blind_ns = @blind_ns + (nsecs - @out[args->prev_pid]); }
		@out[args->prev_pid] = nsecs; } }
	tracepoint:sched:sched_process_fork { if (comm == "waits") { @out[args->child_pid] = nsecs; } }
	END { clear(@out); clear(@in); clear(@at); clear(@last); }' "$tmp/trace" && traced=1
waits_run every '-m 0' 10 20 futex sleep pipe_read fault direct sync short
[ -z "${traced-}" ] || end_trace
causes "no minimum" "$tmp/every.truth" "$tmp/every.folded" direct
if [ "${traced-}" ]; then
	theirs=$(awk '/^@ns:/ { printf "%d", $2 / 1000 }' "$tmp/trace")
	near "bpftrace has the same sum, µs" "$(folded_sum '^waits;' <"$tmp/every.folded")" "$theirs" \
		"$(awk -v t="$theirs" '/^@blind_ns:/ { blind = $2 / 1000 } END { print t / 100 + blind }' "$tmp/trace")"
else
	skip "bpftrace has the same sum" "no bpftrace here, or it does not start"
fi

# --- by the other way to take stacks, which every kernel has ---
waits_run sys_exit '--wait-hook sys_exit' 5 20
causes "sys_exit" "$tmp/sys_exit.truth" "$tmp/sys_exit.folded" direct sync stop short
is "sys_exit: a wait inside an exec does not show the new program" \
	"$(awk '/^exe;/ && /handle_userfault/ && !/wait_exec/ && /;(_start|main|_dl_start)[;_]/' "$tmp/sys_exit.folded" | wc -l)" 0
waits_run sys_exit_every '--wait-hook sys_exit -m 0' 5 20 futex poll fault short
causes "sys_exit, no minimum" "$tmp/sys_exit_every.truth" "$tmp/sys_exit_every.folded"

# --- more waits than allowed stacks: a sample of them has the same sum ---
waits_run sampled '-m 0 --max-rate 500' 100 1 short
read -r _ count total_us _ <<<"$(grep '^short ' "$tmp/sampled.truth")"
# The CPU clock that the program subtracts from its waits counts up to 25 µs more than the time between two switches. Time is cut into quanta, and
# each quantum is sampled once, so that the sum is off by a few of them at most: here 1/500 s.
near "--max-rate: the sum of $count waits" "$(cause_us short sleep/timer <"$tmp/sampled.folded")" "$((total_us + 12 * count))" \
	"$((13 * count + 5 * 1000000 / 500))"
holds "… and the summary marks it as sampled" grep -qi 'max-rate' "$tmp/sampled.err"

# --- filters: recordings of the same seconds, side by side ---
start "$progs/waits" 1000 20 sleep >/dev/null
twenty=${pids[-1]}
start "$progs/waits" 1000 100 futex >/dev/null
hundred=${pids[-1]}
start "$progs/waits" 1 0 dead >/dev/null
dead=${pids[-1]}
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=$v2/cresset-waits-$$
if [ -n "$v2" ] && mkdir "$group" 2>/dev/null; then
	# shellcheck disable=SC2016
	start bash -c 'echo $BASHPID >"$1/cgroup.procs"; exec "$2" 1000 20 poll' - "$group" "$progs/waits" >/dev/null
	grouped=${pids[-1]}
fi
sleep 0.5
recorders=()
beside() { # NAME OPTION…
	(
		from=$EPOCHREALTIME
		timeout "$most_s" "$cresset" record -q --json -e off-cpu,sched-wait -d 1.5 -o "$tmp/$1.cresset" "${@:2}" >"$tmp/$1.json" 2>"$tmp/$1.err"
		status=$?
		awk "BEGIN { print ($EPOCHREALTIME - $from) * 1e6 }" >"$tmp/$1.took"
		exit $status
	) &
	recorders+=("$1 $!")
}
gather() {
	local one name pid
	for one in "${recorders[@]}"; do
		read -r name pid <<<"$one"
		wait "$pid"
		is "$name: the recording" $? 0
		folded "$tmp/$name.cresset" off-cpu,sched-wait --by pid >"$tmp/$name.folded"
	done
	recorders=()
}
queued_us() { awk '{ printf "%d", $2 / 1000 }' "/proc/$twenty/schedstat"; } # how long it has been ready, without a CPU
queued=$(queued_us)
taken=$(steal_us)
beside pid -p "$twenty,$hundred"
beside tid -t "$hundred"
beside comm --comm 'wait?'
beside min -p "$twenty,$hundred" -m 50ms
beside max -p "$twenty,$hundred" --max-block 50ms
beside no_kernel -p "$twenty" --no-kernel
[ -z "${grouped-}" ] || beside cgroup --cgroup "cresset-waits-$$"
gather
taken=$(stolen_us "$taken") queued=$(($(queued_us) - queued))
# Long enough to be there when six recorders have started, also on a busy machine.
"$progs/waits" 1 12000 sleep >"$tmp/middle.truth" &
middle=$!
sleep 0.5
taken=$(steal_us)
beside middle -p $middle -d 20
beside dead -p "$dead"
beside kernel -a --kernel-threads -m 0
beside user -a -m 0
beside wakers -p "$hundred" --wakers
beside waker_stacks -p "$hundred" --waker-stacks
gather
taken=$(stolen_us "$taken")
wait $middle
duration_us() { jq '.duration_ns / 1000' "$tmp/$1.json"; }
of() { folded_sum "$2" <"$tmp/$1.folded"; }
# Threads that do nothing but wait: the whole recording is blocked, and a little of it ready. The CPU time between the waits, some 0.1 ms of each 20,
# is not part of it, nor is the time that the host took. A recording is at least as long as requested, and not longer than its command took.
mostly() { # NAME RECORDING PID [LEAST_US]
	local us
	us=$(of "$2" "^waits-$3;")
	holds "$1 ($us µs)" awk "BEGIN { exit !($us >= ${4-1460000} - $taken && $us <= $(cat "$tmp/$2.took")) }"
}
mostly "-p" pid "$twenty"
mostly "-p, another" pid "$hundred"
is "-p: no other process" "$(of pid "^waits-$dead;")" 0
mostly "-t" tid "$hundred"
is "-t: no other thread" "$(grep -cv "^waits-$hundred;" "$tmp/tid.folded")" 0
mostly "--comm" comm "$twenty"
is "--comm: no other thread" "$(grep -cv '^waits-' "$tmp/comm.folded")" 0
# The waits at both ends may be too short, and it may be ready for less than 50 ms in between.
mostly "--min-block: longer waits" min "$hundred" 1000000
is "--min-block: shorter waits" "$(of min "^waits-$twenty;.*blocked")" 0
# On a busy machine it may be ready for more than 50 ms at a time, and that is left out: it is less than all its time in a queue.
mostly "--max-block: shorter waits" max "$twenty" $((1460000 - queued))
holds "… its sleeps" grep -Eq "^waits-$twenty;.*wait_sleep;.*sleep/timer" "$tmp/max.folded"
holds "--max-block: longer waits, except the parts of the first and last inside the recording" \
	test "$(of max "^waits-$hundred;.*blocked")" -le 100000
holds "--kernel-threads" grep -Eq '^(kworker|rcu_|ksoftirqd|kcompactd|khugepaged|migration)' "$tmp/kernel.folded"
is "without --kernel-threads" "$(grep -Ec '^(kworker|rcu_|ksoftirqd|kcompactd|khugepaged|migration)' "$tmp/user.folded")" 0
mostly "--no-kernel" no_kernel "$twenty"
is "--no-kernel: no kernel functions" "$(folded "$tmp/no_kernel.cresset" off-cpu --annotate=k | grep -c '_\[k\]')" 0
holds "… but the reason" grep -q 'wait_sleep;.*\[blocked: sleep/timer\]' "$tmp/no_kernel.folded"
if [ -n "${grouped-}" ]; then
	mostly "--cgroup" cgroup "$grouped"
	is "--cgroup: no other process" "$(grep -cv "^waits-$grouped;" "$tmp/cgroup.folded")" 0
else
	skip "--cgroup" "no writable cgroup v2 here"
fi

# --- waits that began before the recording or continue after it: the part inside ---
mostly "a wait longer than the recording" dead "$dead"
# It ends with its target: as soon as the process is gone and this was noticed.
inside=$(of middle "^waits-$middle;.*sleep/timer")
near "a wait that started before, µs" "$inside" "$(duration_us middle)" 200000
holds "… not all of it" awk -v us="$inside" '{ exit !(us < $3 - 400000) }' "$tmp/middle.truth"

# --- the thread that ended the wait ---
woken=$(of wakers "^waits-$hundred;.*;wait_futex;.*futex/lock.*woken") by=$(of wakers "^waits-$hundred;.*;wait_futex;.*futex/lock.*waits-waker")
holds "--wakers names the thread ($by of $woken µs)" awk "BEGIN { exit !($woken > 1000000 && $by >= $woken * .95) }"
holds "… and its process" grep -Eq ";wait_futex;.*\[blocked: futex/lock\];.*$hundred" "$tmp/wakers.folded"
is "… without its stack" "$(grep -c 'woken by.*wake_futex' "$tmp/wakers.folded")" 0
holds "--waker-stacks has its stack" grep -Eq ';wait_futex;.*\[blocked: futex/lock\];.*wake_futex' "$tmp/waker_stacks.folded"
kill -9 "$twenty" "$hundred" "$dead" ${grouped:+"$grouped"}
if [ -n "${grouped-}" ]; then
	for _ in $(seq 1200); do
		rmdir "$group" 2>/dev/null && break
		sleep 0.05
	done
fi
finish
