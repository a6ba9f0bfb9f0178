#!/usr/bin/env bash
# What it costs to see where threads wait. The worst case is two processes on one CPU that do nothing but wake each other (`perf bench
# sched pipe`): rounds of nothing, of cresset in several ways, of libbpf-tools' offcputime and of a bpftrace script, by turns, each
# compared with the "nothing" of its round. Then what it adds to the always-on recorder of a machine with nothing to do.
. bench/lib.sh
rounds=${BENCH_ROUNDS:-10} seconds=${BENCH_SECONDS:-30} ops=${BENCH_OPS:-100000}
cpu=$(($(nproc) - 1))
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; cleanup' EXIT

begin_none() { recorder=; }
begin_cresset() { start_cresset -e off-cpu --wait-hook sched_exit; }
begin_wakers() { start_cresset -e off-cpu --wait-hook sched_exit --wakers; }
begin_sys_exit() { start_cresset -e off-cpu --wait-hook sys_exit; }
begin_every() { start_cresset -e off-cpu --wait-hook sched_exit -m 0 --max-rate 300000; }
begin_offcputime() { other offcputime 1000; }
begin_bpftrace() {
	# What its own tool offcputime.bt does at the same place: both stacks at every switch, summed by them.
	# shellcheck disable=SC2016
	other bpftrace -e 'tracepoint:sched:sched_switch {
		if (args->prev_pid) { @t[args->prev_pid] = nsecs; @k[args->prev_pid] = kstack; @u[args->prev_pid] = ustack; }
		if (@t[args->next_pid]) {
			@ns[@k[args->next_pid], @u[args->next_pid]] = sum(nsecs - @t[args->next_pid]); delete(@t[args->next_pid]); } }'
}
other() { # PROGRAM ARG…
	command -v "$1" >/dev/null || return 1
	unshare -m sh -c 'mount -t tracefs t /sys/kernel/tracing; mount -t debugfs d /sys/kernel/debug; exec "$@"' - "$@" >/dev/null 2>&1 &
	recorder=$!
	pids+=("$recorder")
	sleep 3
	kill -0 $recorder 2>/dev/null
}
# What offcputime and bpftrace would print at their end takes them long and nobody reads it.
stop() {
	[ -n "$recorder" ] || return
	case $1 in
	offcputime | bpftrace)
		kill -9 "$recorder"
		wait "$recorder" 2>/dev/null
		;;
	*) stop_cresset ;;
	esac
}
pipe_us() { taskset -c $cpu perf bench sched pipe -l "$ops" 2>/dev/null | awk '/usecs\/op/ { print $1 }'; }

variants=${BENCH_VARIANTS:-"none cresset wakers sys_exit every offcputime bpftrace"}
declare -A missing
lost=0 waits=0
for round in $(seq "$rounds"); do
	for v in $variants; do
		[ -z "${missing[$v]-}" ] || continue
		if ! "begin_$v"; then
			missing[$v]=1
			say "$v does not run here: $(tail -2 "$tmp/begin.err" 2>/dev/null)"
			continue
		fi
		us=$(pipe_us)
		stop "$v"
		echo "$round $us" >>"$tmp/$v"
		if [ "$v" = every ]; then
			lost=$((lost + $(jq .lost "$tmp/c.json"))) waits=$((waits + $(jq .samples "$tmp/c.json")))
		fi
	done
	say "round $round: $(for v in $variants; do printf '%s %s  ' "$v" "$(awk -v r="$round" '$1 == r { print $2 }' "$tmp/$v" 2>/dev/null)"; done)"
done
# Median over the rounds of the time beyond that of "none", in percent of it.
added() {
	join "$tmp/none" "$tmp/$1" 2>/dev/null | awk '{ print ($3 / $2 - 1) * 100 }' | sort -n |
		awk '{ v[NR] = $1 } END { if (NR) printf "%.4g", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
bar_row() { # PROMISE BAR VARIANT LIMIT: with what the variant adds
	local percent
	percent=$(added "$3")
	if [ -n "$percent" ]; then row "$1" "$2" "+$percent %" "$(met "$percent <= $4")"; else row "$1" "$2" "this kernel or machine has it not" -; fi
}
what="\`perf bench sched pipe\` pinned to one CPU ($(sort -nk2 "$tmp/none" | awk '{ v[NR] = $2 } END { print v[int((NR + 1) / 2)] }') µs an operation, median of $rounds rounds by turns)"
bar_row "$what: off-cpu, 1 ms minimum, sched_exit_tp" "≤ +20 %" cresset 20
bar_row "… with --wakers" "≤ +25 %" wakers 25
bar_row "… sys_exit, without wakers" "≤ +40 %" sys_exit 40
bar_row "… every wait with its stack (\`-m 0 --max-rate 300000\`)" "≤ +160 %" every 160
ours=$(added cresset) every=$(added every) theirs=$(added offcputime) script=$(added bpftrace)
if [ -n "$theirs" ] && [ -n "$ours" ]; then
	row "… cost (1 ms minimum) against libbpf-tools offcputime" "≤ 1/6" \
		"$(calc "$ours / $theirs") (offcputime +$theirs %)" "$(met "$ours <= $theirs / 6")"
	row "… every wait (offcputime's user stacks need frame pointers)" "< 1" \
		"$(calc "$every / $theirs")" "$(met "$every < $theirs")"
else
	row "against libbpf-tools offcputime (+${theirs:-?} %)" "≤ 1/6" "one of the two does not run here (package libbpf-tools)" -
fi
row "… a bpftrace script with both stacks" "stated" "${script:++$script %}" -
[ "$waits" = 0 ] || row "… waits lost with every wait recorded" "0" "$lost of $waits" "$(met "$lost == 0")"

# --- always on, with nothing to do ---
# In turn twice, as a machine is never quite idle: CPU time of the recorder and run time of its BPF programs, and its memory.
idle() { # NAME EVENTS
	local own bpf
	start_cresset -F 19 -e "$2" || return 1
	sleep 10
	own=$(cpu_ns $recorder) bpf=$(bpf_ns $recorder)
	sleep "$seconds"
	echo "$(($(cpu_ns $recorder) - own)) $(($(bpf_ns $recorder) - bpf)) $(awk '/^Pss:/ { print $2 * 1024 }' "/proc/$recorder/smaps_rollup")" >>"$tmp/idle.$1"
	stop cresset
	jq .kernel_map_bytes "$tmp/c.json" >"$tmp/maps.$1"
}
echo 1 >/proc/sys/kernel/bpf_stats_enabled
for _ in 1 2; do
	idle cpu cpu && idle both cpu,off-cpu || say "no off-cpu: $(tail -2 "$tmp/begin.err")"
done
echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
mean() { awk -v f="$2" '{ n += $f } END { if (NR) printf "%.0f", n / NR }' "$tmp/idle.$1" 2>/dev/null; }
if [ -n "$(mean both 1)" ]; then
	share() { calc "($(mean "$1" 1) + $(mean "$1" 2)) / $seconds / 1e7"; }
	more=$(calc "($(mean both 3) - $(mean cpu 3)) / 1e6")
	row "whole machine, idle, cpu and off-cpu at 19 Hz: own CPU time + BPF after 10 s" "≤ 0.3 % of a CPU" \
		"$(share both) % (cpu alone $(share cpu) %; load $(cut -d' ' -f1 /proc/loadavg))" "$(met "$(share both) <= 0.3")"
	row "… memory (Pss) that off-cpu adds" "≤ 2 MB" \
		"$more MB ($(calc "$(mean both 3) / 1e6") against $(calc "$(mean cpu 3) / 1e6") MB; the kernel's maps $(calc "$(cat "$tmp/maps.both") / 1048576") against $(calc "$(cat "$tmp/maps.cpu") / 1048576") MiB)" "$(met "$more <= 2")"
fi
