#!/usr/bin/env bash
# tier: live
# run: alone
# GPU time by CPU stack, on doubles of the libraries, as tests/promise/gpu_time.sh has it: over time, in running programs, with less than all of the
# records, in programs that cannot report.
. tests/live/lib.sh
needs_recording
. tests/live/lib_gpu_play.sh

# --- over time: each record its own -------------------------------------------------------------------------------------------
printf "$devices${kernels}play threads 2\nplay launches 640\nplay copy 50 4096\nplay pace 9000\n" >"$CRESSET_DOUBLE"
play "$tmp/two.cresset" 2
"$cresset" convert -q --type gpu-time "$tmp/two.cresset" -o "$tmp/two.trace.json"
is "a trace: each kernel as often, and as long, as it ran" "$(python3 - "$tmp/two.trace.json" <<'END'
import json, sys
from collections import Counter
count, total = Counter(), Counter()
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "X" and (e.get("cat") == "gpu-kernel" or e["name"].startswith("[copy")):
        count[e["name"]] += 1
        total[e["name"]] += round(e["dur"] * 1000)
for name in sorted(count):
    print(name.replace("axpy(float*, float*, float)", "_Z4axpyPfS_f"), count[name], total[name])
END
)" "$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" {
	name = $1 == "copy" ? "[copy host to device]" : $1; n[name] += 2 * $3; ns[name] += 2 * $4
} END { for (name in n) print name, n[name], ns[name] }' | LC_ALL=C sort)"
# Each launch is on its thread's track, with an arrow to the later work that it asked for: no rule of the format is broken.
"$cresset" convert -q "$tmp/two.cresset" -o "$tmp/arrows.trace.json"
is "a trace: its rules" "$(python3 tests/cli/trace_rules.py "$tmp/arrows.trace.json")" ""
is "a trace: an arrow for each, from its launch to the kernel" "$(python3 tests/cli/trace_rules.py "$tmp/arrows.trace.json" arrows |
	sed 's/axpy(float\*, float\*, float)/_Z4axpyPfS_f/; s/.* -> //' | grep -v '^\[copy')" "$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" |
	awk '$1 != "calls" && $1 != "copy" { n[$1] += 2 * $3 } END { for (name in n) print name, n[name] }' | LC_ALL=C sort)"
is "a trace: a stack above each launch" "$(jq -r '[.traceEvents[] | select(.cat == "gpu-launch") | .args.stack | split(";")[] | select(startswith("launch_"))] | group_by(.) | map([.[0], length] | join(" ")) | join(" ")' \
	"$tmp/arrows.trace.json")" "launch_even 1280 launch_odd 1280"
"$cresset" report --gpu-idle --json "$tmp/two.cresset" >"$tmp/idle.json" 2>"$tmp/idle.err"
# One thread on each device: work never overlaps there, so that busy is the sum. The second round begins with kernel (7 * device) modulo 3, half a
# second after the first one ended; within a round no device is idle for longer than its pauses of 9 ms.
idle() { python3 -c 'import json, sys
for d in json.load(open(sys.argv[1]))["devices"]: print(d["gpu"], '"$1"')' "$tmp/idle.json"; }
is "idle: busy is what kernels and copies took" "$(idle 'd["busy_ns"]')" "$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" |
	awk '$1 != "calls" { ns[$2] += 2 * $4 } END { for (gpu in ns) print gpu, ns[gpu] }' | sort)"
is "idle: the work after the pause" "$(idle '[c["name"] for c in d["ended_by"] if c["name"] and c["longest_ns"] >= 450000000]')" \
	"$(printf "0 ['gemm']\n1 ['axpy(float*, float*, float)']")"
is "idle: it is known when the program was watched" "$(idle 'd["exact"]')" "$(printf '0 True\n1 True')"

# --- a running program ----------------------------------------------------------------------------------------------------------
printf "$devices${kernels}play threads 2\nplay launches 2000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
mkfifo "$tmp/in"
CUDA_INJECTION64_PATH=$library "$progs/gpu_play" <"$tmp/in" >"$tmp/out" &
player=$!
pids+=("$player")
exec 3>"$tmp/in"
said ready 1
echo go >&3
said "done" 1
for round in 1 2; do
	begin "$tmp/late.cresset" -e gpu-time -p "$player"
	sleep 0.5
	echo go >&3
	said "done" $((round + 1))
	end
	is_exact "one that runs already, $round" "$tmp/late.cresset"
done

# --- a recorder kept off the CPU: the library takes it for gone and closes its window, which is opened again ----------------
begin "$tmp/held.cresset" -e gpu-time -p "$player"
sleep 0.5
kill -STOP "$recorder"
command sleep 2
kill -CONT "$recorder"
sleep 0.5
echo go >&3
said "done" 4
end
is_exact "not let run for 2 s" "$tmp/held.cresset"
holds "not let run for 2 s: how long is missing counts" grep -Eq '^ *note  *[0-9]+: ms of GPU programs without GPU times' "$tmp/begin.err"

# --- more launches than stacks: the sum stays, and estimates are marked --------------------------------------------------------
begin "$tmp/some.cresset" -e gpu-time -p "$player" --max-rate 200
sleep 0.5
echo go >&3
said "done" 5
end
exec 3>&-
total() { folded "$1" gpu-time --unit ns | awk '{ n += $NF } END { print n + 0 }'; }
truth() { python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" { n += $4 } END { print n }'; }
is "more launches than stacks: the sum" "$(total "$tmp/some.cresset")" "$(truth)"
"$cresset" report --gpu-idle --json "$tmp/some.cresset" >"$tmp/idle.json" 2>"$tmp/idle.err"
is "more launches than stacks: each record has its time" "$(idle 'd["busy_ns"]')" "$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" |
	awk '$1 != "calls" { ns[$2] += $4 } END { for (gpu in ns) print gpu, ns[gpu] }' | sort)"
# The truth is nearly always inside an interval of 95 %, and inside one of twice its width except one time in ten thousand.
"$cresset" report --top 0 --json --type gpu-time "$tmp/some.cresset" >"$tmp/some.json" 2>/dev/null
is "more launches than stacks: how far off they may be" "$(python3 - "$tmp/some.json" <(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" sides) <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
truth = {"launch_even": 0, "launch_odd": 0}
for line in open(sys.argv[2]):
    name, _, _, ns = line.split()
    if "/" in name:
        truth["launch_" + name.split("/")[1]] += int(ns)
for row in sorted(report["top"], key=lambda row: row["function"]):
    if row["function"] in truth:
        ns, total, low, high = truth[row["function"]], row["total"], row["total_low"], row["total_high"]
        print(row["function"], low < total < high, total - 2 * (total - low) <= ns <= total + 2 * (high - total))
END
)" $'launch_even True True\nlaunch_odd True True'
is "more launches than stacks: a label has the number of samples" \
	"$("$cresset" sql --data "$tmp/some.cresset" "SELECT DISTINCT value FROM labels WHERE key = 'estimated_from'" --format csv | tail -n +2 | tr -d '\r' | awk '{ n++; bad += !/^[125]0*$/ } END { print (n > 0), bad + 0 }')" "1 0"
holds "more launches than stacks: a part is an estimate" grep -Eq 'exact stack, [1-9][0-9.]* .?s by estimate, 0 ns without' "$tmp/begin.err"

# --- the library is loaded late, during the recording ----------------------------------------------------------------------------
env -u CUDA_INJECTION64_PATH "$progs/gpu_play" <"$tmp/in" >"$tmp/out" &
attached=$!
pids+=("$attached")
exec 3>"$tmp/in"
said ready 1
begin "$tmp/attached.cresset" -e gpu-time -p "$attached"
holds "attached while it is recorded" "$cresset" gpu attach "$attached" --force young
for _ in $(seq 600); do [ "$("$cresset" gpu status "$attached" --json | jq -r '.processes[0].state')" = open ] && break || sleep 0.1; done
sleep 0.7 # calls are probed, too
echo go >&3
said "done" 1
end
exec 3>&-
is_exact "attached while it is recorded" "$tmp/attached.cresset"
holds "… by exact stack" grep -q 'exact stack, 0 ns by estimate, 0 ns without a stack$' "$tmp/begin.err"

# --- records that never came ----------------------------------------------------------------------------------------------------
printf "$devices${kernels}play threads 2\nplay launches 2000\nplay pace 9000\ncupti drop 7\n" >"$CRESSET_DOUBLE"
play "$tmp/drop.cresset" 1
holds "dropped records are counted" grep -q "lost  $((4000 / 7)): kernels and copies dropped in the program" "$tmp/err"
holds "… and received ones are there" grep -q " in $((4000 - 4000 / 7)) kernels and copies" "$tmp/err"

# --- programs that cannot report what ran -----------------------------------------------------------------------------------------
printf "$devices${kernels}play threads 1\nplay launches 10\ncupti busy \"Nsight Systems\"\n" >"$CRESSET_DOUBLE"
play "$tmp/busy.cresset" 1
holds "another tool has the GPU: its name" grep -q 'Nsight Systems' "$tmp/err"
timeout "$most_s" "$cresset" record --no-progress -e gpu-time -o "$tmp/none.cresset" -- true 2>"$tmp/err"
is "a program that uses none: its status" $? 0
holds "… and missing ones" grep -q 'CUDA_INJECTION64_PATH=.*cresset gpu attach PID' "$tmp/err"
"$cresset" record --no-progress -e gpu-time --comm gpu_play -d 1 -o "$tmp/none.cresset" 2>"$tmp/err"
is "a target that is unknown beforehand: its status" $? 2
holds "… and why" grep -q -- '-e gpu-time needs -p' "$tmp/err"
"$cresset" report --gpu-idle "$tmp/none.cresset" 2>"$tmp/err"
holds "idle of a recording without any" grep -q 'record with -e gpu-time' "$tmp/err"
finish
