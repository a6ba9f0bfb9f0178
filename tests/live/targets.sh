#!/usr/bin/env bash
# tier: live
# run: alone
# The targets of cresset record: everything, a process with its threads and children, a thread, a name, a group, a command.
. tests/live/lib.sh
needs_recording

# --- two programs that use 3 s and 1 s of CPU time ---
from=$(steal_us)
begin "$tmp/all.folded" -a -F 99
begun=$EPOCHREALTIME
"$progs/burn" truth-one 1 >/dev/null &
one=$!
"$progs/burn" truth-three 3 >/dev/null
wait $one
ended=$EPOCHREALTIME
end
is "recording until Ctrl-C ends with 0" $? 0
stolen=$(stolen_us "$from" 0)
three=$(folded_sum '^truth-three;' <"$tmp/all.folded")
one=$(folded_sum '^truth-one;' <"$tmp/all.folded")
n=$((three + one))
near "share of a program that uses three quarters" "$three" "$(awk -v n=$n 'BEGIN{print n*.75}')" "$(sigma $n .75 4)"
near "samples are CPU time × rate" $n 396 "$(awk "BEGIN { print $(sampled_sigma 396 .03 4 3 "$begun" "$ended") + $stolen * 99 / 1e6 }")"
near "all of them are in burn_loop under main" "$(folded_sum '^truth-[a-z]+;.*main;burn_outer;burn_loop[ ;]' <"$tmp/all.folded")" $n "$(sigma $n .02 4)"

# --- a process: its threads and children, not others ---
mkfifo "$tmp/go"
family() { # SECONDS: starts the family and waits for its ids; `echo >&3` lets it work
	rm -f "$tmp/ids"
	"$progs/family" "$1" <"$tmp/go" >"$tmp/ids" &
	family=$!
	pids+=("$family")
	exec 3>"$tmp/go"
	for _ in $(seq 1200); do
		[ -s "$tmp/ids" ] && break
		sleep 0.05
	done
	read -r _ tid <"$tmp/ids"
}
start "$progs/burn" bystander 100 >/dev/null
bystander=${pids[-1]}
family 0.7
begin "$tmp/family.folded" -p $family -F 199
echo >&3
wait $family
wait "$recorder"
is "-p ends with its target" $? 0
is "only the process's own stacks" "$(folded_sum bystander <"$tmp/family.folded")" 0
# Four busy threads on fewer CPUs are switched at timer ticks, which beat with the sampling clock: one's loss is another's gain. And time that a host
# takes from a virtual machine is sampled, but is nobody's CPU time.
near "-p has all three of them" "$(folded_sum ';(main|child|thread)_work;' <"$tmp/family.folded")" 418 60
for part in main_work child_work thread_work; do
	near "-p has $part" "$(folded_sum ";$part;" <"$tmp/family.folded")" 139 40
done
near "threads carry their own name" "$(folded_sum '^fam-thread;' <"$tmp/family.folded")" 139 40

# --- a thread alone ---
family 0.7
begin "$tmp/thread.folded" -t "$tid" -F 199
echo >&3
wait $family
wait "$recorder"
is "-t ends with its target" $? 0
is "-t follows no other thread" "$(folded_sum 'main_work|child_work|bystander' <"$tmp/thread.folded")" 0
near "-t has the thread" "$(folded_sum thread_work <"$tmp/thread.folded")" 139 40
exec 3>&-
kill -9 "$bystander"

# Time that a host took in the meantime may have been sampled in any program: adds that many.
more_than() { awk -v least="$1" -v stolen="$(stolen_us "$from" 0)" -v hz="$2" 'BEGIN { print least + stolen * hz / 1e6 }'; }

# --- names ---
from=$(steal_us)
begin "$tmp/comm.folded" --comm 'name-al*' -F 99
"$progs/burn" name-alpha 1 >/dev/null
"$progs/burn" name-beta 0.5 >/dev/null
end
is "--comm: nothing else" "$(grep -cv '^name-alpha;' "$tmp/comm.folded")" 0
near "--comm: a glob" "$(folded_sum '^name-alpha;' <"$tmp/comm.folded")" 99 "$(more_than "$(sigma 99 .05 4)" 99)"

# --- cgroups ---
v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
group=$v2/cresset-test-$$
if [ -n "$v2" ] && mkdir -p "$group/inner" 2>/dev/null; then
	from=$(steal_us)
	begin "$tmp/cgroup.folded" --cgroup "cresset-test-$$" -F 99
	start "$progs/burn" not-in-group 0.5 >/dev/null
	(echo "$BASHPID" >"$group/inner/cgroup.procs" && exec "$progs/burn" in-group 1 >/dev/null)
	end
	is "--cgroup: nothing else" "$(grep -cv '^in-group;\|^burn;\|^targets.sh;\|^bash;' "$tmp/cgroup.folded")" 0
	near "--cgroup: with descendants" "$(folded_sum '^in-group;' <"$tmp/cgroup.folded")" 99 "$(more_than 20 99)"
	rmdir "$group/inner" "$group"
else
	skip "--cgroup" "no writable cgroup v2 here"
fi
v1=$(awk '$3 == "cgroup" { print $2; exit }' /proc/self/mounts)
if [ -n "$v1" ]; then
	"$cresset" record -q --cgroup "$v1" -d 1 -o "$tmp/x.folded" 2>"$tmp/err"
	is "a v1 group is refused" $? 4
	holds "… with the reason" grep -q 'v1' "$tmp/err"
else
	skip "a v1 group is refused" "no cgroup v1 here"
fi

# --- a command ---
from=$(steal_us)
timeout "$most_s" "$cresset" record -q -F 199 -o "$tmp/cmd.folded" -- "$progs/burn" by-command 1 7 >/dev/null
is "the command's status comes through" $? 7
near "-- CMD has all of it" "$(folded_sum burn_loop <"$tmp/cmd.folded")" 199 "$(more_than "$(sigma 199 .05 4)" 199)"
is "nothing from before its exec" "$(folded_sum '^cresset;' <"$tmp/cmd.folded")" 0
timeout "$most_s" "$cresset" record -q -o "$tmp/kill.folded" -- sh -c 'kill -9 $$' 2>/dev/null
is "a killed command gives 128 + signal" $? 137

# --- refusals ---
"$cresset" record -q -p 4194000 -d 1 -o "$tmp/x.folded" 2>"$tmp/err"
is "a process that is not there" $? 5
"$cresset" record -q -o "$tmp/x.folded" -- /no/such/program 2>"$tmp/err"
is "a command that is not there" $? 5
is "no half files" "$(find "$tmp" -name 'x.folded*' | wc -l)" 0
if command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	cp "$cresset" "$tmp/cresset"
	(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$tmp/cresset" record -a -d 1 -o /dev/null --format folded) 2>"$tmp/err"
	is "without permission" $? 3
	holds "… it lists missing features" grep -q 'CAP_' "$tmp/err"
	holds "… and what to do" grep -q 'sudo' "$tmp/err"
else
	skip "without permission" "no setpriv"
fi
finish
