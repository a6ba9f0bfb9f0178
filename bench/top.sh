#!/usr/bin/env bash
# cresset top of the whole machine at its defaults (99 Hz, waits and who ended them, a picture a second) on a screen of 100 x 30 (tmux's), in turn with
# cresset record that collects the same: what both processes and their BPF programs take of a CPU, while two programs compute. Of each pair of runs
# the difference is taken, and of those the median: what else the machine does meets both. BENCH_SECONDS: how long each (default 8);
# BENCH_PAIRS: how many (default 5).
. bench/lib.sh
. bench/lib_loads.sh
seconds=${BENCH_SECONDS:-8} pairs=${BENCH_PAIRS:-5}
stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
mux() { tmux -f /dev/null -L "cresset-bench-$$" "$@"; }
server=
trap 'echo "$stats" >/proc/sys/kernel/bpf_stats_enabled; [ -z "$server" ] || kill "$server"; load_end; cleanup' EXIT

for load in sqlite openssl; do
	load_begin $load $((2 * pairs * (seconds + 20) + 60)) || say "$load: $load_missing"
done
tmux -V >/dev/null || exit 1
echo 1 >/proc/sys/kernel/bpf_stats_enabled

begin_top() {
	mux new-session -d -x 100 -y 30 "exec env LC_ALL=C.UTF-8 TERM=screen-256color $cresset top" || exit 1
	server=$(mux display-message -p '#{pid}')
	watched=$(mux list-panes -F '#{pane_pid}')
	for _ in $(seq 200); do
		mux capture-pane -p | grep -q 'self %' && return
		sleep 0.1
	done
	say "cresset top shows nothing"
	exit 1
}
end_top() {
	kill "$watched" "$server" 2>/dev/null
	server=
}
begin_record() {
	start_cresset -e cpu,off-cpu --wakers || exit 1
	watched=$recorder
}
measure() { # what is watched takes of a CPU, in percent: "process BPF"
	local cpu bpf
	sleep 12 # the window is full, names are there
	cpu=$(cpu_ns "$watched") bpf=$(bpf_ns "$watched")
	sleep "$seconds"
	awk "BEGIN { printf \"%.4f %.4f\", ($(cpu_ns "$watched") - $cpu) / $seconds / 1e7, ($(bpf_ns "$watched") - $bpf) / $seconds / 1e7 }"
}
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.3g", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
column() { awk -v c="$1" '{ print $c }' "$tmp/pairs" | median; }

for _ in $(seq "$pairs"); do
	begin_top
	of_top=$(measure)
	end_top
	begin_record
	of_record=$(measure)
	stop_cresset
	say "top (process, BPF): $of_top; record: $of_record"
	echo "$of_top $of_record" | awk '{ print $1 - $3, $1, $2, $3, $4 }' >>"$tmp/pairs"
done
more=$(column 1)
row "\`top\`, a picture a second, beyond \`record\` of the same in turn" "≤ 0.5 % of a CPU" \
	"$more % (median of $pairs pairs; top: $(column 2) %, its BPF programs $(column 3) %; record: $(column 4) %, $(column 5) %)" "$(met "$more <= 0.5")"

"$cresset" record -a -q -d 10 -e cpu,off-cpu --wakers -o "$tmp/ten.cresset"
read -r median least <<<"$("$BUILD/bench/top_picture" "$tmp/ten.cresset")"
samples=$("$cresset" top "$tmp/ten.cresset" --json -n 1 | jq .samples)
row "… one redraw: 10 s of a machine, $samples samples and waits" "≤ 5 ms" \
	"$median ms (least $least ms)" "$(met "$least <= 5")"
