#!/usr/bin/env bash
# tier: live
# run: alone
# What a kernel, a container or an administrator refuses, by its real cause: each has its own message, with a remedy, in doctor and where a recording
# fails; none of doctor's hints points to doctor.
. tests/cli/lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
chmod 755 "$tmp"

start "$progs/burn" burner 200 >/dev/null # something to record

# Runs `doctor` and `record` under a command: sets doctor_status, doctor, record_status, errs.
refused() { # COMMAND…
	"$@" "$cresset" doctor >"$tmp/doctor" 2>&1 </dev/null
	doctor_status=$?
	doctor=$(<"$tmp/doctor")
	"$@" "$cresset" record -q -d 200ms -o "$tmp/refused.cresset" >"$tmp/err" 2>&1 </dev/null
	record_status=$?
	errs=$(<"$tmp/err")
}
# Like `refused`, where nothing can be recorded: NAME STATUS ROW TEXT COMMAND…, ROW is doctor's row that says TEXT.
cannot() {
	local name=$1 want=$2 row=$3 text=$4
	shift 4
	refused "$@"
	is "$name: record's status" "$record_status" "$want"
	is "$name: doctor's" "$doctor_status" "$want"
	has "$name: a row of doctor" "$text" "$(grep " $row " <<<"$doctor")"
	hasnt "$name: no hint to doctor itself" "cresset doctor" "$doctor"
	has "$name: doctor's verdict" "recording does not work here" "$doctor"
	has "$name: record fails" "cresset: error: cannot " "$errs"
}
works() { # NAME COMMAND…
	local name=$1
	shift
	refused "$@"
	is "$name: record works" "$record_status" 0
	is "$name: doctor says so" "$doctor_status" 0
}

# --- this machine as it is
"$cresset" doctor >"$tmp/doctor" 2>&1 || { echo "1..0 # SKIP recording does not work here at all"; exit 0; }
doctor=$(<"$tmp/doctor")
for row in "kernel lockdown" "security modules" seccomp "performance events" "locked memory" "memory cgroup"; do
	has "doctor has a row: $row" " $row " "$doctor"
done
has "types of modules do not matter" "types of modules are not needed" "$doctor"
is "its JSON lists no missing features" "$("$cresset" doctor --json | jq -c '[.recording_works, .records_cpu, .missing]')" '[true,true,[]]'

# --- capabilities
all=$(capsh --print 2>/dev/null | sed -n 's/^Bounding set =//p')
without() { setpriv --bounding-set "${1//cap_/-}" --inh-caps "${1//cap_/-}" "${@:2}"; }
if [ -n "$all" ]; then
	cannot "no capabilities" 3 capabilities "missing: CAP_BPF CAP_PERFMON" setpriv --bounding-set -all --inh-caps -all
	has "… record names them" "CAP_BPF and CAP_PERFMON missing" "$errs"
	has "… and how to give them" "sudo setcap cap_bpf,cap_perfmon" "$errs"
	cannot "no CAP_PERFMON" 3 capabilities "missing: CAP_PERFMON" without cap_perfmon,cap_sys_admin
	hasnt "… and not the absent ones" "CAP_BPF" "$errs"
	works "without CAP_SYS_ADMIN" without cap_sys_admin
else
	skip "capabilities" "no capsh"
fi

# --- a seccomp filter
cannot "bpf() filtered by EPERM" 3 seccomp "bpf() is refused by a filter" "$progs/deny" bpf 1
has "… record names the filter" "bpf() is refused by a seccomp filter" "$errs"
has "… and what helps" "--security-opt seccomp=" "$errs"
hasnt "… and no capability that is there" "setcap" "$errs"
cannot "bpf() filtered by ENOSYS" 3 seccomp "bpf() is refused by a filter" "$progs/deny" bpf 38
cannot "perf_event_open() filtered" 3 seccomp "perf_event_open() is refused by a filter" "$progs/deny" perf_event_open 1
has "… record names the call" "perf_event_open() is refused by a seccomp filter" "$errs"
works "a filter that refuses nothing of it" "$progs/deny" none 1
has "… which doctor sees" "a filter that allows bpf() and perf_event_open()" "$doctor"

# 28 is BPF_LINK_CREATE, which attaches the programs of waits, and none that samples need.
"$progs/deny" bpf:28 1 "$cresset" record -e cpu,off-cpu -d 300ms -o "$tmp/part.cresset" >"$tmp/err" 2>&1
is "programs of waits that load, and cannot be attached, cost the waits" $? 0
has "… with a warning" "warning: no waits are recorded: " "$(<"$tmp/err")"
hasnt "… and is not listed as recorded" "99 Hz · off-cpu" "$(<"$tmp/err")"
"$cresset" convert -q --type cpu -o "$tmp/part.folded" "$tmp/part.cresset" 2>/dev/null
holds "… CPU samples are there" grep -q '^burner' "$tmp/part.folded"
"$progs/deny" bpf:28 1 "$cresset" record -q -e off-cpu -d 300ms -o "$tmp/none.cresset" >"$tmp/err" 2>&1
is "… waits alone cannot be recorded" $? 3

# --- locked memory: not counted since 5.11
works "no locked memory at all" prlimit --memlock=0:0

# --- descriptors: 384 CPUs need more than a shell allows, 2 more than this
# shellcheck disable=SC2016 # for the inner shell
works "a soft limit of 32 descriptors" sh -c 'ulimit -Sn 32 && exec "$@"' sh
# shellcheck disable=SC2016
is "… which the command had before" "$(sh -c 'ulimit -Sn 32 && exec "$@"' sh "$cresset" record -q -o "$tmp/limit.cresset" -- sh -c 'ulimit -Sn' 2>/dev/null)" 32

# --- kernel types
private() { unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && { [ -z "$0" ] || cp "$0" /sys/kernel/btf/vmlinux; } && exec "$@"' "$@"; }
if unshare -m mount -t tmpfs none /sys/kernel/btf 2>/dev/null && [ ! -e "/boot/vmlinux-$(uname -r)" ] && [ -r /sys/kernel/btf/vmlinux ]; then
	cannot "a kernel without BTF" 4 "kernel type information" "this kernel has no BTF" private ""
	has "… record reports it" "this kernel has no BTF (/sys/kernel/btf/vmlinux)" "$errs"
	has "… and what helps" "--btf FILE" "$errs"
	head -c 100000 /sys/kernel/btf/vmlinux >"$tmp/cut"
	cannot "BTF that is cut off" 4 "kernel type information" "cut off" private "$tmp/cut"
	has "… record reports it" "/sys/kernel/btf/vmlinux: cut off" "$errs"

	# With types from a file: waits attach to the kernel's own, all else works, and missing parts are reported where users look.
	cp /sys/kernel/btf/vmlinux "$tmp/types"
	private "" "$cresset" record -e cpu,off-cpu -d 500ms --btf "$tmp/types" -o "$tmp/part.cresset" >"$tmp/err" 2>&1
	is "types from a file: record works" $? 0
	is "… with a warning" "$(grep -c "warning: no waits are recorded: this kernel does not publish its types" "$tmp/err")" 1
	is "… the recording reports it as well" "$("$cresset" report --json "$tmp/part.cresset" 2>/dev/null | jq -r '.meta.comments[0][:24]')" "no waits are recorded: t"
	is "… its JSON" "$(private "" "$cresset" record -q --json -e cpu,off-cpu -d 300ms --btf "$tmp/types" -o "$tmp/part.cresset" 2>/dev/null | jq -c '[.missing[].feature]')" '["waits"]'
	private "" "$cresset" record -q -e off-cpu -d 500ms --btf "$tmp/types" -o "$tmp/none.cresset" >"$tmp/err" 2>&1
	is "… waits alone cannot be recorded" $? 4
	private "" "$cresset" doctor --json --btf "$tmp/types" >"$tmp/doctor" 2>&1
	is "… doctor's status" $? 4
	is "… and its report" "$(jq -c '[.recording_works, .records_cpu, .error, .missing[].feature]' "$tmp/doctor")" '[false,true,null,"waits","page faults"]'
	private "" "$cresset" record --list-events --btf "$tmp/types" >"$tmp/doctor"
	is "… --list-events" "$(awk '$1 ~ /^(cpu|off-cpu|wall)$/ { print $1, /works here/ }' "$tmp/doctor" | tr '\n' ' ')" "cpu 1 off-cpu 0 wall 0 "
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh "$cresset" up --data "$tmp/part" --listen 127.0.0.1:0 --interval 1s --btf "$tmp/types" 2>"$tmp/log" &
	pids+=($!)
	for _ in $(seq 600); do grep -q "look at it" "$tmp/log" && break; sleep 0.1; done
	url=$(sed -n 's/.*look at it: *//p' "$tmp/log")
	for _ in $(seq 240); do
		missing=$(curl -s "${url}api/v1/status" | jq -c '[.missing[] | .feature, .why]')
		[ "${missing:-[]}" != "[]" ] && break
		sleep 0.25
	done
	is "… up: its status" "$missing" '["waits","this kernel does not publish its types (/sys/kernel/btf/vmlinux)"]'
	is "… and its log, once" "$(grep -c "warning: no waits are recorded" "$tmp/log")" 1
	kill "${pids[-1]}"
	wait "${pids[-1]}"
	is "… up ends well" $? 0
else
	skip "no BTF" "the kernel's types are elsewhere, too, or no mounts"
fi

# --- --btf
for command in record "record --list-events" doctor "top --once" "up --data $tmp/up" "agent --server http://127.0.0.1:1 --spool $tmp/spool"; do
	# shellcheck disable=SC2086 # words
	fails "${command%% *}: no such file of types" 6 "--btf $tmp/none: No such file" $command --btf "$tmp/none"
done
head -c 100 /dev/zero >"$tmp/zeros"
fails "… one that is none" 6 "no BTF" record --btf "$tmp/zeros"
: >"$tmp/empty"
fails "… an empty one" 6 "empty" record --btf "$tmp/empty"
if [ -r /sys/kernel/btf/vmlinux ]; then
	head -c 100000 /sys/kernel/btf/vmlinux >"$tmp/cut"
	fails "… one that is cut off" 6 "cut off" record --btf "$tmp/cut"
	ends "the right one" 0 record -q -d 200ms --btf /sys/kernel/btf/vmlinux -o "$tmp/btf.cresset"
fi
# The first bytes of an object for another machine: ELF's number for it is at 18.
printf '\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01%43s' "" >"$tmp/riscv"
fails "… one of another architecture" 6 "types of another architecture" record --btf "$tmp/riscv"
is "no files for a failed start" "$(ls -d "$tmp/up" "$tmp/spool" 2>/dev/null)" ""

# --- the kernel's verifier: types put a field that waits need far behind the end of its structure, so it refuses one of the programs of waits
if [ -r /sys/kernel/btf/vmlinux ] && python3 tests/live/bend_types.py /sys/kernel/btf/vmlinux "$tmp/bent" sched_info last_queued; then
	bent() { "$cresset" record "$@" -d 300ms --btf "$tmp/bent" -o "$tmp/bent.cresset" 2>"$tmp/err"; }
	log_lines() { sed -n '/^cresset: .*the verifier rejects/,/^cresset: warning/p' "$tmp/err" | grep -c '^  '; }
	bent -e cpu,off-cpu
	is "a program that the verifier refuses costs its feature" $? 0
	has "… the program and the verifier's last line are named" "warning: no waits are recorded: the kernel's verifier rejects off_switch: access beyond struct task_struct" "$(<"$tmp/err")"
	is "… and no more of its log" "$(log_lines)" 0
	bent -v -e cpu,off-cpu
	is "-v: its last 20 lines" "$(log_lines)" 20
	has "… to the end" "processed " "$(sed -n '/^cresset: the verifier/,/^cresset: warning/p' "$tmp/err" | tail -2)"
	bent -vv -e cpu,off-cpu
	holds "-vv: all of it ($(log_lines) lines)" test "$(log_lines)" -gt 100
	bent -e off-cpu
	is "with no other events the recording fails" $? 4
	has "… with the same words" "error: cannot load the BPF programs: the kernel's verifier rejects off_switch: access beyond struct task_struct" "$(<"$tmp/err")"
	hasnt "… and no capability" "CAP_" "$(<"$tmp/err")"
	"$cresset" doctor -v --btf "$tmp/bent" >"$tmp/doctor" 2>"$tmp/err"
	is "doctor's status" $? 4
	has "… and words" "recording works in part" "$(<"$tmp/doctor")"
	is "… the log once" "$(grep -c "the verifier rejects" "$tmp/err")" 1
else
	skip "a refusal by the verifier" "the kernel's types cannot be read, or have no such field"
fi

# --- cresset up announces its recording only once it records
"$progs/deny" bpf 1 "$cresset" up --data "$tmp/refused" --listen 127.0.0.1:0 >"$tmp/err" 2>&1
is "up where BPF is refused" $? 3
has "… reports why" "bpf() is refused by a seccomp filter" "$(<"$tmp/err")"
hasnt "… not that it records" "recording this machine" "$(<"$tmp/err")"
hasnt "… nor where to look" "look at it" "$(<"$tmp/err")"

# --- a full memory cgroup
group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/cresset-refused-$$
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/cresset-refused-$$
if mkdir "$group" 2>/dev/null && { echo 64M >"$group/memory.limit_in_bytes" || echo 64M >"$group/memory.max"; } 2>/dev/null; then
	inside() { sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }
	inside "$cresset" record -q -d 200ms --buffer 512M -o "$tmp/full.cresset" >"$tmp/err" 2>&1
	is "a ring buffer larger than the memory cgroup" $? 1
	has "… is distinguished from others" "the memory cgroup of this process allows 67.1 MB" "$(<"$tmp/err")"
	inside "$cresset" doctor >"$tmp/doctor" 2>&1
	has "doctor has the limit" "of 67.1 MB are used" "$(grep ' memory cgroup ' "$tmp/doctor")"
	works "valid types work" inside
	rmdir "$group"
else
	skip "a full memory cgroup" "no memory cgroup can be made here"
fi

# --- kernel.perf_event_paranoid, put back at once. Above 2 only kernels of Debian and Ubuntu want more than CAP_PERFMON.
paranoid=/proc/sys/kernel/perf_event_paranoid
if [ -n "$all" ] && was=$(<$paranoid) && echo 4 2>/dev/null >$paranoid; then
	trap 'echo "$was" >$paranoid; cleanup' EXIT
	works "root, with perf_event_paranoid=4" env
	refused without cap_sys_admin
	echo "$was" >$paranoid
	if [ "$record_status" = 0 ]; then
		has "… without CAP_SYS_ADMIN, on a kernel that does not mind" "allowed; kernel.perf_event_paranoid is 4" "$doctor"
	else
		has "… without CAP_SYS_ADMIN record names the setting" "kernel.perf_event_paranoid is 4" "$errs"
		has "… and doctor" "kernel.perf_event_paranoid is 4" "$doctor"
	fi
	hasnt "… no hint to doctor itself" "cresset doctor" "$doctor"
else
	skip "kernel.perf_event_paranoid" "it cannot be set here"
fi
finish
