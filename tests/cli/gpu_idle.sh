#!/usr/bin/env bash
# tier: test
# cresset report --gpu-idle against a recording whose truth is known: tests/fixture/gpu.c says it.
. tests/cli/lib.sh
"$BUILD/fixture/gpu" "$tmp/gpu.cresset"
"$BUILD/fixture/gpu" "$tmp/window.cresset" 5
of() { "$cresset" -q report --gpu-idle --json "${@:2}" | jq -c "$1"; }
times='.devices[] | [.gpu, .watched_ns / 1e6, .busy_ns / 1e6, .idle_ns / 1e6, .gaps, .processes[]]'
ended='.devices[0].ended_by[] | [.name, .gaps, .total_ns / 1e6, .median_ns / 1e6, .longest_ns / 1e6]'
# FUNCTION: its share of self while idle and while busy.
shares() { of ".devices[0].change.rows[] | select(.function == \"$1\") | [(.self.newer | round), (.self.older | round), .self.certainty]" "${@:2}"; }

is "how long each was busy and idle, and who used it" "$(of "$times" "$tmp/gpu.cresset")" $'["0",10000,7000,3000,100,700]\n["1",10000,1000,9000,1,700]'
is "gaps by what ended them" "$(of "$ended" "$tmp/gpu.cresset")" $'["gemm",99,2970,30,30]\n[null,1,30,30,30]'
is "activity while it was idle" "$(shares decode "$tmp/gpu.cresset")" '[100,0,"sure"]'
is "… and while it was busy" "$(shares '[blocked: futex/lock]' "$tmp/gpu.cresset")" '[0,100,"sure"]'
is "… of its processes only" "$(shares other "$tmp/gpu.cresset")" ""
is "in windows: unobserved time is neither" "$(of "$times" "$tmp/window.cresset")" $'["0",5000,3500,1500,50,700]\n["1",5000,1000,4000,1,700]'
is "… which is reported" "$(of .windows "$tmp/window.cresset" "$tmp/gpu.cresset" | head -1)" true
is "a part of the time" "$(of "$times" "$tmp/gpu.cresset" --time 0.5s-2.04s)" $'["0",1540,1090,450,15,700]\n["1",1540,500,1040,1,700]'
is "… with gaps cut at its edges" "$(of "$ended" "$tmp/gpu.cresset" --time 0.58s-0.89s)" $'["gemm",3,80,30,30]\n[null,1,20,20,20]'
"$cresset" -q report --gpu-idle --csv "$tmp/gpu.cresset" >"$tmp/out"
is "CSV" "$(cat "$tmp/out")" $'gpu,gaps,total_ns,median_ns,longest_ns,ended_by,over,host,source,period_ns\n0,99,2970000000,30000000,30000000,gemm,1,,records,0\n0,1,30000000,30000000,30000000,,0,,records,0\n1,1,9000000000,9000000000,9000000000,,0,,records,0'
"$cresset" -q report --gpu-idle "$tmp/gpu.cresset" >"$tmp/out"
has "text has the durations" "GPU 0: idle 3.00 s (30.00 %) in 100 gaps, busy 7.00 s (70.00 %) of 10.0 s recorded" "$(cat "$tmp/out")"
has "… of windows, that they are" "GPU 0: idle 1.50 s (30.00 %) in 50 gaps, busy 3.50 s (70.00 %) of 5.00 s watched" "$("$cresset" -q report --gpu-idle "$tmp/window.cresset")"
has "… and who" "used by process 700" "$(cat "$tmp/out")"

fails "a file without GPUs" 8 "no GPU work or readings" report --gpu-idle tests/golden/folded/simple.txt
fails "with another view" 2 "choose one of --gpu-idle and --tree" report --gpu-idle --tree "$tmp/gpu.cresset"
fails "with a heatmap" 2 "choose one of --gpu-idle and --heatmap" report --gpu-idle --heatmap "$tmp/gpu.cresset"
fails "a threshold of nothing" 2 "--gpu-idle-threshold goes with --gpu-idle" report --gpu-idle-threshold 5 "$tmp/gpu.cresset"
fails "a selector" 2 "select the others with --type" report --gpu-idle --match 'wall{}' "$tmp/gpu.cresset"
fails "a type that is not there" 2 "no type" report --gpu-idle --type heap "$tmp/gpu.cresset"
finish
