#!/usr/bin/env bash
# What late attach costs: a thread in poll is stopped, and a library is loaded into its process. How long the thread is stopped, and the CPU time of the
# command. Compared with an earlier build of cresset, in alternating pairs on the same processes: BENCH_BEFORE=PROGRAM. BENCH_ROUNDS: pairs (default 100).
. bench/lib.sh
pairs=${BENCH_ROUNDS:-100} before=${BENCH_BEFORE:-}
each=4 per_process=10 # attaches of a measurement; pairs of a process, where every library stays
force=young,no-library
! grep -Eq '^Seccomp:\s*[12]' /proc/self/status || force=$force,seccomp

begin_target() {
	"$progs/attached" poll >"$tmp/said" &
	target=$!
	pids+=("$target")
	for _ in $(seq 1000); do
		grep -q ready "$tmp/said" && return
		sleep 0.01
	done
	say "the program does not begin"
	exit 1
}
end_target() {
	kill -TERM "$target"
	wait "$target" || {
		say "the program has changed: $(tail -n1 "$tmp/said")"
		exit 1
	}
	unset 'pids[-1]'
}
# PROGRAM NAME: each time another library, as one that is there is not attached again.
attach_some() {
	for i in $(seq $each); do
		ln -s "$progs/attach_lib" "$tmp/$2.$i.so"
		"$1" gpu attach "$target" --library "$tmp/$2.$i.so" --force "$force" --json
	done
}
# PROGRAM NAME: "STOPPED CPU" of an attach, in µs.
measure() {
	local cpu
	cpu=$({ TIMEFORMAT='%U %S' && time attach_some "$1" "$2" >"$tmp/json" 2>"$tmp/errors"; } 2>&1 | awk '{ print ($1 + $2) * 1e6 }')
	sed -n 's/.*"result":"loaded".*"stop_us":\([0-9]*\).*/\1/p' "$tmp/json" >"$tmp/stops"
	if [ "$(wc -l <"$tmp/stops")" != $each ]; then
		say "$1 did not attach: $(cat "$tmp/errors" "$tmp/json")"
		return 1
	fi
	awk -v cpu="$cpu" '{ us += $1 } END { print us / NR, cpu / NR }' "$tmp/stops"
}
# FILE COLUMN: the median.
middle() { awk -v c="$2" '{ print $c }' "$1" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# COLUMN WHAT: a row of the ratio.
compare() {
	local median low high
	read -r median low high < <(paste -d' ' <(awk -v c="$1" '{ print $c }' "$tmp/before") <(awk -v c="$1" '{ print $c }' "$tmp/now") | ratio)
	row "… $2, beside an earlier build of cresset ($("$before" --version | head -1); median of $pairs pairs)" \
		"≤ 1.02, or the interval contains 1" "$median ($low–$high)" "$(met "$median <= 1.02 || ($low <= 1 && $high >= 1)")"
}

for i in $(seq "$pairs"); do
	[ $((i % per_process)) = 1 ] && begin_target
	both=(now before)
	[ $((i % 2)) = 0 ] || both=(before now)
	for which in "${both[@]}"; do
		program=$cresset
		[ "$which" = now ] || program=$before
		[ -z "$program" ] || measure "$program" "$which.$i" >>"$tmp/$which" || exit 1
	done
	say "$(tail -qn1 "$tmp/before" "$tmp/now" 2>/dev/null | xargs)"
	[ $((i % per_process)) = 0 ] && end_target
done
row "late attach: a thread in poll is stopped for (median)" "≤ 10 ms" "$(calc "$(middle "$tmp/now" 1) / 1e3") ms" "$(met "$(middle "$tmp/now" 1) <= 1e4")"
row "… CPU time of the command (median)" "-" "$(calc "$(middle "$tmp/now" 2) / 1e3") ms" -
if [ "$before" ]; then
	compare 1 "time stopped"
	compare 2 "CPU time of the command"
fi
