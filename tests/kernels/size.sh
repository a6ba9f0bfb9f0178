#!/usr/bin/env bash
# tier: kernels
# run: alone
# tests/kernels/size.sh: cresset up on a machine of a size: so many CPUs as the kernel thinks there can be (possible_cpus=N: tables that have a
# part for each CPU have N parts), CRESSET_PROCESSES processes and CRESSET_MAPPINGS mappings of one process before it begins. It is started from
# a shell that has 1024 descriptors. It shows where a program of known truth spends its time; what all this costs is stated.
#
# Prints TAP; "# fact size: WORDS" goes into docs/kernels.md.
. tests/live/lib.sh
. tests/live/lib_always.sh
processes=${CRESSET_PROCESSES:-0} mappings=${CRESSET_MAPPINGS:-0}
fact() { echo "# fact size: $*"; }

chmod 755 "$tmp"
data=$tmp/data
crowd() { # WHAT N: how many there are
	start "$progs/crowd" "$1" "$2" >"$tmp/$1"
	for _ in $(seq 6000); do
		[ -s "$tmp/$1" ] && break
		sleep 0.1
	done
	is "$2 $1 are there" "$(cat "$tmp/$1")" "$2"
}
pss=()
kept_pid_max=$(sysctl -n kernel.pid_max) kept_maps=$(sysctl -n vm.max_map_count)
restore() { sysctl -qw kernel.pid_max="$kept_pid_max" vm.max_map_count="$kept_maps"; }
trap 'for p in "${pids[@]}"; do kill -9 "$p"; done 2>/dev/null; restore; cleanup' EXIT
if [ "$processes" != 0 ]; then
	[ "$kept_pid_max" -gt $((processes * 2)) ] || sysctl -qw kernel.pid_max=$((processes * 2))
	crowd processes "$processes"
fi
if [ "$mappings" != 0 ]; then
	[ "$kept_maps" -gt $((mappings * 2)) ] || sysctl -qw vm.max_map_count=$((mappings * 2))
	crowd mappings "$mappings"
fi

ulimit -n 1024
from=$EPOCHREALTIME
begin_always up --data "$data" --listen 127.0.0.1:0 --freq 499
is "it starts, from a shell with 1024 descriptors" "$(grep -c 'recording this machine' "$tmp/log")" 1
began_s=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $from }")
ready_cpu_s=$(awk '{ sub(/.*\) /, ""); printf "%.2f", ($12 + $13) / 100 }' "/proc/$(half cresset-collect)/stat")
url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | head -n 1)
"$progs/known" known 6 >"$tmp/truth"
for _ in $(seq 200); do
	"$cresset" query --data "$data" 'cpu{comm="known"}' -o - --format folded >"$tmp/folded" 2>"$tmp/query.err"
	all=$(folded_sum ';work_(half|quarter|rest)(;| )' <"$tmp/folded")
	[ "$all" -ge 1500 ] && break
	sleep 1
done
holds "a program's samples are there ($all)" test "$all" -ge 1500
near "share of work_half, in percent" "$(awk "BEGIN { print 100 * $(folded_sum ';work_half(;| )' <"$tmp/folded") / ($all + !$all) }")" 50 5
for name in collect store; do
	pss[${#pss[@]}]="$name $(awk '/^Pss:/ { printf "%.1f MB", $2 / 1000 }' "/proc/$(half cresset-$name)/smaps_rollup")"
done
kernel=$(curl -sf -m 60 "${url}api/v1/status" | jq -r '[.kernel_memory[] | .kind + " \(.bytes / 1e6 * 10 | round / 10) MB"] | join(", ")')
is "kernel memory is known" "$(grep -cE 'maps [0-9.]+ MB' <<<"$kernel")" 1
fact "$(cat /sys/devices/system/cpu/possible) CPUs possible, $(nproc) online; $(find /proc -maxdepth 1 -name '[0-9]*' 2>/dev/null | wc -l) processes$([ "$mappings" = 0 ] || echo ", one of $mappings mappings"): it records after $began_s s ($ready_cpu_s s of CPU time of the collector); $(IFS=,; echo "${pss[*]}" | sed 's/,/, /'); kernel: $kernel; $(find "/proc/$(half cresset-collect)/fd" | wc -l) descriptors"
end_always
is "it ends" "$status" 0
finish
