#!/usr/bin/env bash
# tier: test
# .trace.json of what ran on GPUs: each work on a track of its stream, at its time, with an arrow from the thread that launched it. What is written is held against the
# format's rules (trace_rules.py), and against what the recording was made of (trace_gpu_answers.py), by scripts that share nothing with what writes it.
. tests/cli/lib.sh
rules() { python3 tests/cli/trace_rules.py "$@"; }
answers() { python3 tests/cli/trace_gpu_answers.py "$@"; }

# --- a few, by hand: tests/fixture/gpu.c
"$BUILD/fixture/gpu" "$tmp/gpu.cresset"
ends "a recording with GPUs" 0 convert "$tmp/gpu.cresset" -o "$tmp/gpu.trace.json"
is "… obeys the rules" "$(rules "$tmp/gpu.trace.json")" ""
is "… has a track for each stream" "$(rules "$tmp/gpu.trace.json" lanes)" $'GPU 0/stream 7 200 7000000000\nGPU 1/stream 7 2 3000000000'
is "… and arrows, from what the thread was in" "$(rules "$tmp/gpu.trace.json" arrows)" $'[blocked: futex/lock] -> [copy host to device] 100\ndecode -> gemm 99'
is "… next to its threads" "$(jq '[.traceEvents[] | select(.ph == "X" and .pid == 800)] | length > 0' "$tmp/gpu.trace.json")" true
is "… which it reports" "$(jq -c '.otherData | [.type, .gpu_slices, .gpu_launches, .gpu_slices_without_track]' "$tmp/gpu.trace.json")" '["wall",202,199,null]'
ends "its GPUs only" 0 convert "$tmp/gpu.cresset" --type gpu-time -o "$tmp/only.trace.json"
is "… obeys the rules" "$(rules "$tmp/only.trace.json")" ""
is "… has the same tracks" "$(rules "$tmp/only.trace.json" lanes)" "$(rules "$tmp/gpu.trace.json" lanes)"
is "… and no threads" "$(jq '[.traceEvents[] | select(.ph == "X" and .pid < 10000000)] | length' "$tmp/only.trace.json")" 0
ends "some of it" 0 convert "$tmp/gpu.cresset" --focus gemm -o "$tmp/gemm.trace.json"
is "… is that" "$(rules "$tmp/gemm.trace.json" lanes)" 'GPU 0/stream 7 100 6000000000'

# --- how GPUs were, by their driver: each reading of a recording, at its time, as SQL has them
"$BUILD/fixture/gpu" "$tmp/more.cresset" 0 1763719200 more
read_of() { # FILE FROM_S TO_S
	"$cresset" sql --data "$1" --format csv "SELECT 'GPU ' || g.value || ' by its driver/' || CASE name WHEN 'hw_gpu_power' THEN 'power (W)'
		WHEN 'hw_gpu_memory_usage' THEN 'memory usage (By)' ELSE 'utilization general' END, time - 1763719200000000000 - $2 * 1000000000, printf('%g', m.value)
		FROM metrics m JOIN labels g ON g.series = m.series AND g.key = 'gpu'
		WHERE time >= (1763719200 + $2) * 1000000000 AND time < (1763719200 + $3) * 1000000000" | tail -n +2 | tr -d '\r"' | tr , ' ' | sort
}
points() { rules "$1" points | sort; }
ends "a recording with readings" 0 convert "$tmp/more.cresset" -o "$tmp/more.trace.json"
is "… obeys the rules" "$(rules "$tmp/more.trace.json")" ""
is "… has a counter for each" "$(rules "$tmp/more.trace.json" counters | sed -n 1,3p)" "$(printf 'GPU 0 by its driver/%s\n' 'memory usage (By) 10 20000000000 20000000000' 'power (W) 10 100 190' 'utilization general 10 0.7 0.7')"
is "… with every reading" "$(points "$tmp/more.trace.json")" "$(read_of "$tmp/more.cresset" 0 10)"
is "… which are some" "$(read_of "$tmp/more.cresset" 0 10 | wc -l)" 60
ends "its response as well" 0 query --data "$tmp/more.cresset" wall -o "$tmp/answer.trace.json"
holds "… is the same" cmp "$tmp/answer.trace.json" "$tmp/more.trace.json"
ends "a part of its time" 0 convert "$tmp/more.cresset" --time 2s-4.5s -o "$tmp/some.trace.json"
is "… has the readings of that" "$(points "$tmp/some.trace.json")" "$(read_of "$tmp/more.cresset" 2 4)"
"$BUILD/fixture/gpu" "$tmp/clockless.cresset" 0 0 more
ends "from one without a wall clock" 0 convert "$tmp/clockless.cresset" -o "$tmp/clockless.trace.json"
is "… the same" "$(points "$tmp/clockless.trace.json")" "$(points "$tmp/more.trace.json")"
"$cresset" convert -q "$tmp/more.cresset" "$tmp/more.cresset" -o "$tmp/twice.trace.json"
is "of two that overlap: each moment once" "$(points "$tmp/twice.trace.json")" "$(points "$tmp/more.trace.json")"

# --- many, by chance: works at once, streams of several processes, threads that have nothing but launches
"$BUILD/fixture/gpu_trace" "$tmp/many.cresset" 20000 >"$tmp/works"
ends "many works" 0 convert "$tmp/many.cresset" -o "$tmp/many.trace.json"
is "… obey the rules" "$(rules "$tmp/many.trace.json")" ""
is "… are there, each with its arrow" "$(answers "$tmp/many.trace.json" "$tmp/works")" ""
is "… and launched work has its stack" "$(jq -r '[.traceEvents[] | select(.cat == "gpu-launch") | [.name, .args.stack] | join(" ")] | unique[]' "$tmp/many.trace.json")" "cuLaunchKernel main;step"
ends "a part of the time" 0 convert "$tmp/many.cresset" --time 0.0021s-0.0047s -o "$tmp/part.trace.json"
is "… obeys the rules" "$(rules "$tmp/part.trace.json")" ""
is "… is that part" "$(answers "$tmp/part.trace.json" "$tmp/works" 2100000 4700000)" ""

# --- of a store: threads, what ran on GPUs, and how these were: tests/fixture/gpu_store.c
"$BUILD/fixture/gpu_store" "$tmp/store"
range=(--from 2026-11-21T10:00:00Z --to 2026-11-21T10:01:40Z)
ends "from a store" 0 query --data "$tmp/store" "${range[@]}" 'wall{host="exact"}' -o "$tmp/exact.trace.json"
is "… obeys the rules" "$(rules "$tmp/exact.trace.json")" ""
is "… has what ran, of that host" "$(rules "$tmp/exact.trace.json" lanes)" 'GPU 0 of exact/stream 7 100 60000000000'
is "… and the driver's readings" "$(rules "$tmp/exact.trace.json" counters)" 'GPU 0 of exact by its driver/utilization general 100 0.6 0.6'
is "… with exact times of threads" "$(jq -c '[.traceEvents[] | select(.ph == "X" and .pid == 700 and .name[0:1] == "w") | [.name, .ts, .dur]] | .[0:2]' "$tmp/exact.trace.json")" '[["work",0,600000],["wait",600000,400000]]'
ends "another host" 0 query --data "$tmp/store" "${range[@]}" 'wall{host="read"}' -o "$tmp/read.trace.json"
is "… has its counters, with their units" "$(rules "$tmp/read.trace.json" counters)" "$(printf '%s\n' 'GPU 0 of read by its driver/power (W) 100 100 199' \
	'GPU 0 of read by its driver/utilization encoder 100 1 1' 'GPU 0 of read by its driver/utilization general 100 0.02 0.9' 'GPU 1 of read by its driver/utilization general 100 0 0')"
is "… and no tracks of GPUs" "$(rules "$tmp/read.trace.json" lanes)" ""
ends "several hosts" 0 query --data "$tmp/store" "${range[@]}" wall -o "$tmp/hosts.trace.json"
has "… are reported" "these are 2 hosts" "$errs"
is "… obey the rules" "$(rules "$tmp/hosts.trace.json")" ""
fails "with other outputs" 2 "a trace cannot be combined with other outputs" query --data "$tmp/store" "${range[@]}" wall -o "$tmp/a.trace.json" -o "$tmp/a.svg"
ends "a part of a minute" 0 query --data "$tmp/store" --from 2026-11-21T10:00:03.25Z --to 2026-11-21T10:00:05Z 'wall{host="exact"}' -o "$tmp/short.trace.json"
is "… obeys the rules" "$(rules "$tmp/short.trace.json")" ""
is "… and starts with it" "$(rules "$tmp/short.trace.json" lanes; rules "$tmp/short.trace.json" counters)" $'GPU 0 of exact/stream 7 2 950000000\nGPU 0 of exact by its driver/utilization general 1 0.6 0.6'
finish
