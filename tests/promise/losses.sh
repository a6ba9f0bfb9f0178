#!/usr/bin/env bash
# tier: test
# What is lost is counted, shown and explained, and what is refused is said with its reason and a remedy.
. tests/cli/lib.sh
needs_recording
chmod 755 "$tmp"

"$progs/burn" "l$$" 1000 >/dev/null &
lossy=$!
pids+=("$lossy")
until_comm "$lossy" "l$$"
cpu_ns() { cut -d' ' -f1 "/proc/$lossy/schedstat"; }
until_cpu_s() { # the program has used so much more CPU time
	local until=$(($(cpu_ns) + $1 * 1000000000))
	for _ in $(seq 2000); do
		[ "$(cpu_ns)" -ge $until ] && break
		sleep 0.05
	done
}
burn_stopped() { # the recorder, meanwhile
	kill -STOP "$recorder"
	until_cpu_s 1
	kill -CONT "$recorder"
}
begin "$tmp/whole.folded" -F 1000 -p "$lossy"
until_cpu_s 1
end
is "a recording with the ordinary buffer ends with 0" $? 0
holds "… and has lost nothing" grep -Eq '(^|[^0-9,])0 lost|lost 0' "$tmp/begin.err"

# A ring of one page holds 42 samples. A recorder that is stopped while a program is given 1 s of CPU time at 2 kHz cannot have the other 1950.
begin "$tmp/small.folded" -F 2000 --buffer 4096 -p "$lossy"
burn_stopped
end
is "losses alone are not a failure" $? 0
lost=$(sed -nE 's/.*(^|[^0-9,])([0-9,]+) lost.*/\2/p; s/.*lost ([0-9,]+).*/\1/p' "$tmp/begin.err" | head -n 1 | tr -d ,)
holds "losses are counted ($lost)" test "${lost:-0}" -ge 1000
holds "… with their reason" grep -q 'ring buffer full' "$tmp/begin.err"
holds "… and the remedy" grep -q -- '--buffer' "$tmp/begin.err"
begin "$tmp/small.cresset" -F 2000 --buffer 4096 --max-lost 0.05 -p "$lossy"
burn_stopped
end
is "more losses than --max-lost" $? 9
"$cresset" report --json "$tmp/small.cresset" >"$tmp/report.json"
holds "a recording contains its losses" test "$(jq '[.. | .ring_full? // empty] | add // 0' "$tmp/report.json")" -gt 0
kill "$lossy"

# The first samples of a program are walked from a copy of its stack, which is larger than this ring.
begin "$tmp/copies.folded" -a -v -F 997 --buffer 4096
for _ in $(seq 25); do "$progs/known" "c$$" 0.03 >/dev/null; done
end
holds "a stack that is not copied has the reason" grep -q '^c[^;]*;\[truncated: stack not copied: ring full\];' "$tmp/copies.folded"
holds "… which -v counts" grep -Eq 'truncated .*stack not copied: ring full: [0-9]' "$tmp/begin.err"

# --- refusals
all=$(command -v setpriv)
if [ -n "$all" ]; then
	setpriv --bounding-set -all --inh-caps -all "$cresset" record -q -d 200ms -o "$tmp/no.folded" 2>"$tmp/err"
	is "without capabilities: its status" $? 3
	holds "… which are missing" grep -q 'CAP_BPF and CAP_PERFMON missing' "$tmp/err"
	holds "… and how to give them" grep -q 'sudo setcap cap_bpf,cap_perfmon' "$tmp/err"
	setpriv --bounding-set -all --inh-caps -all "$cresset" doctor >"$tmp/doctor" 2>&1
	is "doctor: its status" $? 3
	holds "… which are missing" grep -q 'missing: CAP_BPF CAP_PERFMON' "$tmp/doctor"
fi
fails "a rate that is too high" 2 "" record -a -q -d 1 -F 20000 -o "$tmp/x.folded"
fails "two kinds of targets" 2 "" record -q -t 1 --comm x -d 1 -o "$tmp/x.folded"
fails "no such process" 5 "" record -q -p 4194305 -d 1 -o "$tmp/x.folded"
finish
