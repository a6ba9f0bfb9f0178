#!/usr/bin/env bash
# tier: live
# run: first
# Metrics of GPUs, from NVIDIA's library (tests/doubles/libnvidia-ml.so.1.c, found as the real one is) to the store: a query answers with the
# library's scripted values, number by number; a driver that hangs stops nothing else; and without a driver there is one line in doctor.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
chmod 755 "$tmp" # the store process is not root
data=$tmp/data
export CRESSET_DOUBLE=$tmp/script
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
with_gpus() { LD_LIBRARY_PATH=$PWD/$BUILD/doubles "$@"; }
# In the order of their times: metric LABELS… as KEY=VALUE
values() {
	local name=$1 where="" l
	shift
	for l; do where+=" AND series IN (SELECT series FROM labels WHERE key = '${l%%=*}' AND value = '${l#*=}')"; done
	ask "SELECT value FROM metrics WHERE name = '$name'$where ORDER BY time"
}
until_values() { # COUNT NAME LABEL…
	for _ in $(seq 240); do
		[ "$(values "${@:2}" | wc -l)" -ge "$1" ] && return
		sleep 0.25
	done
}

# --- every number of the script, in the metric's unit; memory is read once before the first reading, during the search for devices
start sleep 300
user=$!
until_comm "$user" sleep
cat >"$tmp/script" <<END
nvml driver "550.54.15"
device 0 name "NVIDIA H100 80GB HBM3" uuid GPU-a memory 80000000000
device 1 name "NVIDIA H100 80GB HBM3" uuid GPU-b memory 40000000000 mig 2
metric 0 gpu 10,20,30,70,5
metric 0 memory 12,13
metric 0 used 0,1000000000,3000000000
metric 0 reserved 500
metric 0 power_mw 350125,99000
metric 0 energy_mj 1000,351500,701000,1051000,1400000
metric 0 temperature 45,46,47
metric 0 clock_sm 1980
metric 0 max_sm 1981
metric 0 pcie_rx_kb 2500
metric 1 gpu 7
metric 1 memory 1
metric 1 fan 61
metric 1 ecc_uncorrected 3
process 0 pid $user memory 4096000 sm 12
END
with_gpus begin_always up --data "$data" --listen none
until_values 6 hw_gpu_energy gpu=0
end_always
is "it ends as it should" "$status" 0

# The n-th number of a list, the last one for all beyond it, divided.
says() { # LIST DIVISOR COUNT
	awk -v list="$1" -v d="$2" -v n="$3" 'BEGIN { k = split(list, v, ","); for (i = 1; i <= n; i++) printf "%.12g\n", v[i < k ? i : k] / d }'
}
same() { # NAME WANT-LIST DIVISOR METRIC LABEL…
	local got
	got=$(values "${@:4}")
	is "$1" "$got" "$(says "$2" "$3" "$(wc -l <<<"$got")")"
}
same "utilisation of the first GPU" 10,20,30,70,5 100 hw_gpu_utilization gpu=0 task=general
same "… of the other one" 7 100 hw_gpu_utilization gpu=1
same "… of the memory's controller" 12,13 100 hw_gpu_memory_controller_utilization gpu=0
same "memory in use" 1000000000,3000000000 1 hw_gpu_memory_usage gpu=0
same "… that is free" 78999999500,76999999500 1 hw_gpu_memory_free gpu=0
same "power" 350125,99000 1000 hw_gpu_power gpu=0
same "energy" 1000,351500,701000,1051000,1400000 1000 hw_gpu_energy gpu=0
same "temperature" 45,46,47 1 hw_gpu_temperature uuid=GPU-a
same "a clock" 1980000000 1 hw_gpu_speed gpu=0 clock=sm
same "its limit, now and then" 1981000000 1 hw_gpu_speed_limit gpu=0 clock=sm
same "PCIe" 2500000 1 hw_gpu_pcie_throughput gpu=0 direction=receive
same "a fan" 61 100 hw_gpu_fan_speed_ratio gpu=1
same "errors" 3 1 hw_gpu_errors gpu=1 type=uncorrected
same "an instance's memory, which is not added to the GPU's" 20000000000 1 hw_gpu_instance_memory_limit gpu=1:1
same "a process's memory" 4096000 1 process_gpu_memory_usage process=sleep
same "… and its utilisation" 12 100 process_gpu_utilization process=sleep gpu=0
same "the name of the GPU" 1 1 hw_gpu_info "model=NVIDIA H100 80GB HBM3" driver=550.54.15 gpu=0
n=$(values hw_gpu_power gpu=0 | wc -l)
is "limits are read once in ten times" "$(values hw_gpu_speed_limit gpu=0 | wc -l)" $(((n + 9) / 10))
is "energy is a counter, and known from second to second" \
	"$(ask "SELECT count(*) - count(DISTINCT time), max(time) - min(time) > 4000000000, max(time) - min(time) < 1500000000 * count(*) FROM metrics WHERE name = 'hw_gpu_energy'")" 0,1,1
is "nothing is made up" "$(ask "SELECT count(*) FROM metrics WHERE name IN ('hw_gpu_link_io', 'hw_gpu_performance_state', 'cresset_gpu_left_out')")" 0
from=$(ask "SELECT min(time) / 1000000000 FROM metrics WHERE name = 'hw_gpu_power'")
"$cresset" query --data "$data" 'hw_gpu_temperature{gpu="0"}' --from "$from" --to $((from + 60)) --range 60s --reduce max --csv >"$tmp/csv"
is "a query reports it as well" "$(sed -n '2s/.*,//p' "$tmp/csv" | tr -d '\r')" 47

# --- a driver that hangs
data=$tmp/hang
cat >"$tmp/script" <<END
device 0 name G uuid GPU-a memory 1000
metric 0 temperature 40
hang nvmlDeviceGetFanSpeed ms 900000 after 2
END
with_gpus begin_always up --data "$data" --listen none
until_said "the GPU driver does not respond"
holds "a hanging driver is logged" grep -q "the GPU driver does not respond" "$tmp/log"
"$progs/burn" "$$-hang" 3 >/dev/null
burnt() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
until_stored "$$-hang"
near "samples continue" "$(burnt "$$-hang")" 297 60
is "… and the other metrics" "$(ask "SELECT max(h.time) > max(g.time) + 1000000000 FROM metrics h, metrics g WHERE h.name = 'system_memory_limit' AND g.name = 'hw_gpu_temperature'")" 1
is "the GPU has the earlier readings" "$(values hw_gpu_temperature | sort | uniq -c | tr -s ' ')" " 2 40"
end_always
is "it ends nevertheless" "$status" 0
near "… immediately: ms" "$stop_ms" 2500 2500
sed -i 's/ after 2/ after 0/' "$tmp/script"
with_gpus "$cresset" doctor >"$tmp/doctor"
holds "doctor reports it" grep -q "GPUs .*the driver does not respond" "$tmp/doctor"
with_gpus "$cresset" gpu list >"$tmp/list" 2>&1
is "… and gpu list, and ends" $? 1

# --- lists, and none
cat >"$tmp/script" <<END
nvml driver "550.54.15"
device 0 name G uuid GPU-a memory 1000
device 1 name G uuid GPU-b memory 1000
metric 0 gpu 37
metric 0 memory 0
process 1 pid $user memory 4096 sm 50
lost 0 after 0
END
with_gpus "$cresset" gpu list --json >"$tmp/list"
is "gpu list: processes" "$(jq -c '[.driver, .devices[1].uuid, (.devices[1].processes[] | [.name, .memory_bytes, .pid])]' "$tmp/list")" "[\"550.54.15\",\"GPU-b\",[\"sleep\",4096,$user]]"
is "… and losses" "$(jq -c '[.devices[].is_lost]' "$tmp/list")" "[true,false]"
with_gpus "$cresset" doctor >"$tmp/doctor"
holds "doctor: permission to profile" grep -q "GPU profiling  *the driver" "$tmp/doctor"
holds "doctor: it is lost" grep -q "1 of them lost" "$tmp/doctor"
with_gpus "$cresset" top --once >"$tmp/top" 2>&1
holds "top has a line for them" grep -q "^GPU 0: lost   GPU 1:" "$tmp/top"
echo "fail nvmlInit_v2 9" >"$tmp/script"
with_gpus "$cresset" gpu list >"$tmp/list"
is "no driver: its status" $? 4
is "no driver: one line" "$(cat "$tmp/list")" "no GPUs: NVIDIA's library is installed but cannot be initialized: the driver is not loaded"
if ldconfig -p | grep -q libnvidia-ml.so.1; then
	skip "nothing of it here" "this machine has NVIDIA's library"
else
	is "nothing of it here" "$("$cresset" gpu list)" "no GPUs: no NVIDIA driver: libnvidia-ml.so.1 not found"
fi

# --- the other backend: the same from its own script
data=$tmp/scripted
cat >"$tmp/played" <<END
driver 1.0
device 0 X-1 1000 A GPU of no vendor
metric 0 hw_gpu_utilization:general 0.25,0.5,0.75,0,0.04,0.5
metric 0 hw_gpu_power 120.5
process 0 $user 512 0.5
END
CRESSET_GPU_SCRIPT=$tmp/played begin_always up --data "$data" --listen none
until_values 7 hw_gpu_utilization
end_always
same "a script plays GPUs of no vendor" 25,50,75,0,4,50 100 hw_gpu_utilization gpu=0 uuid=X-1
same "… and its processes" 50 100 process_gpu_utilization process=sleep
"$cresset" -q query --data "$data" --gpu-idle --from start --to end --json >"$tmp/idle"
is "when it was idle, by these readings" "$(jq -c '.devices[] | select(.source == "readings") | [.busy_ns, .idle_ns, .gaps, .uncertain_ns]' "$tmp/idle")" \
	"$(ask "SELECT time, value FROM metrics WHERE name = 'hw_gpu_utilization' ORDER BY time" | python3 tests/cli/gpu_idle_answers.py 0.05)"
is "… by whom" "$(jq -c '.devices[] | select(.source == "readings") | [.source, .owned, .owners[0].process]' "$tmp/idle")" '["readings","listed","sleep"]'
"$cresset" -q query --data "$data" cpu --from start --to end -o "$tmp/up.trace.json"
is "a trace of it: its rules" "$(python3 tests/cli/trace_rules.py "$tmp/up.trace.json")" ""
has_counters=$(python3 tests/cli/trace_rules.py "$tmp/up.trace.json" counters | sed 's/ by its driver//')
is "… its counters" "$(sed -E 's/ of [^/]*//; s/ [0-9]+( [0-9.]+ [0-9.]+)$/ N\1/' <<<"$has_counters")" $'GPU 0/power (W) N 120.5 120.5\nGPU 0/utilization general N 0 0.75'
"$cresset" -q query --data "$data" cpu --from start --to end -o "$tmp/up.html"
page=$(python3 tests/cli/report_header.py "$tmp/up.html")
is "a page of it has them as well" "$(jq -c '[.gpu.metrics[] | [.metric, (.groups[0].values | map(select(. != null)) | min, max)]] | sort' <<<"$page")" '[["hw_gpu_power",120.5,120.5],["hw_gpu_utilization",0,0.75]]'
is "… and its samples at their times" "$(jq -c '[.types[] | select(.name == "cpu") | .samples == .timeline.rows]' <<<"$page")" '[true]'
# --- a recording of GPU events has them beside its samples, others do not
sed -i "s/^metric 0 hw_gpu_power.*/metric 0 hw_gpu_power 100,200,300,400/" "$tmp/played"
CRESSET_GPU_SCRIPT=$tmp/played "$cresset" -q record -p "$user" -e wall,gpu-launch -d 6 -o "$tmp/r.cresset" -o "$tmp/r.html" -o "$tmp/r.pb.gz" -o "$tmp/r.trace.json"
data=$tmp/r.cresset
n=$(values hw_gpu_power gpu=0 | wc -l)
holds "a recording of 6 s has what was read once a second ($n)" [ "$n" -ge 4 ]
# On a busy machine the recording may begin some readings later: it has the rest.
missed=$(says 25,50,75,0,4,50 100 6 | grep -n "^$(values hw_gpu_utilization gpu=0 | head -1)$" | head -n 1 | cut -d : -f 1)
[ "${CRESSET_SLOW%.0}" != 1 ] || missed=1
rest() { says "$1" "$2" $((n + ${missed:-1} - 1)) | tail -n "$n" | xargs; }
is "… its power" "$(values hw_gpu_power gpu=0 | xargs)" "$(rest 100,200,300,400 1)"
is "… how busy it was" "$(values hw_gpu_utilization gpu=0 | xargs)" "$(rest 25,50,75,0,4,50 100)"
is "… who used it" "$(ask "SELECT DISTINCT l.value FROM metrics m JOIN labels l ON l.series = m.series AND l.key = 'process' WHERE m.name = 'process_gpu_memory_usage'")" sleep
read -r began_s lasted_ns < <("$cresset" report --json "$tmp/r.cresset" | jq -r '.meta | "\(.start | fromdate) \(.duration_ns)"')
is "… inside of its time" "$(ask "SELECT count(*) FROM metrics WHERE time < $((began_s * 1000000000)) OR time > $(((began_s + 1) * 1000000000 + lasted_ns))")" 0
"$cresset" -q report --gpu-idle --json "$data" >"$tmp/idle"
is "when it was idle, by these readings" "$(jq -c '.devices[] | select(.source == "readings") | [.idle_ns, .gaps]' "$tmp/idle")" \
	"$(ask "SELECT time, value FROM metrics WHERE name = 'hw_gpu_utilization' ORDER BY time" | python3 tests/cli/gpu_idle_answers.py 0.05 | jq -c '.[1:3]')"
"$cresset" -q report --gpu-idle --gpu-idle-threshold 3% --json "$data" >"$tmp/idle3"
is "… below 3 %" "$(jq -c '.devices[] | select(.source == "readings") | [.idle_ns, .gaps]' "$tmp/idle3")" \
	"$(ask "SELECT time, value FROM metrics WHERE name = 'hw_gpu_utilization' ORDER BY time" | python3 tests/cli/gpu_idle_answers.py 0.03 | jq -c '.[1:3]')"
header=$(python3 tests/cli/report_header.py "$tmp/r.html")
is "its page has the same idle times" "$(jq -c '.gpu.idle.devices[] | [.gpu, .source, .idle_ns, .gaps, .owned]' <<<"$header")" \
	"$(jq -c '.devices[] | [.gpu, .source, .idle_ns, .gaps, .owned]' "$tmp/idle")"
is "… and the same power" "$(jq '.gpu.metrics[] | select(.metric == "hw_gpu_power").groups[0].values | map(select(. != null)) | max' <<<"$header")" \
	"$(values hw_gpu_power gpu=0 | sort -g | tail -1)"
is "its trace: its rules" "$(python3 tests/cli/trace_rules.py "$tmp/r.trace.json")" ""
start_ns=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["gpu"]["start_ns"])' <<<"$header")
is "… its counter has each reading at its time, the one from before its start at its start" "$(python3 tests/cli/trace_rules.py "$tmp/r.trace.json" points | sed -n 's/^GPU 0.* by its driver\/power (W) //p')" \
	"$(ask "SELECT max(time - $start_ns, 0), printf('%g', value) FROM metrics WHERE name = 'hw_gpu_power' ORDER BY time" | tr -d '"' | tr , ' ' |
		awk '{ if (NR > 1 && $1 != at) print line; at = $1; line = $0 } END { print line }')"
"$cresset" convert -q "$data" -o "$tmp/again.trace.json"
is "… as a trace of the recording has" "$(python3 tests/cli/trace_rules.py "$tmp/again.trace.json" points)" "$(python3 tests/cli/trace_rules.py "$tmp/r.trace.json" points)"
data=$tmp/r.pb.gz
is "files that cannot say it have samples only" "$(ask "SELECT count(*) FROM metrics") $(ask "SELECT count(*) > 0 FROM samples")" "0 1"
CRESSET_GPU_SCRIPT=$tmp/played "$cresset" -q record -p "$user" -e off-cpu -d 2 -o "$tmp/other.cresset"
data=$tmp/other.cresset
is "without GPU events nothing is read" "$(ask "SELECT count(*) FROM metrics")" 0
echo "hang 2 30" >>"$tmp/played"
before=$SECONDS
CRESSET_GPU_SCRIPT=$tmp/played timeout 60 "$cresset" -q record -p "$user" -e wall,gpu-launch -d 4 -o "$tmp/hung.cresset"
is "a driver that hangs holds up no recording" "$?" 0
holds "… which ends" [ $((SECONDS - before)) -lt 20 ]
data=$tmp/hung.cresset
is "… with the readings" "$(values hw_gpu_power gpu=0 | xargs)" 100
echo "metric 0 nonsense 1" >"$tmp/played"
CRESSET_GPU_SCRIPT=$tmp/played "$cresset" gpu list >"$tmp/list" 2>"$tmp/log"
is "a script that makes no sense" $? 6
is "… is an error" "$(head -1 "$tmp/log")" "cresset: error: $tmp/played: line 1 of the script is not a statement"
is "… and nothing else" "$(cat "$tmp/list")" ""
CRESSET_GPU_SCRIPT=$tmp/nowhere "$cresset" gpu list --json >"$tmp/list" 2>"$tmp/log"
is "one that is not there" "$? $(cat "$tmp/list")" "6 "
holds "… and why" grep -q 'cannot open .*/nowhere: No such file' "$tmp/log"
finish
