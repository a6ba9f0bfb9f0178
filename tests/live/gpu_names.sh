#!/usr/bin/env bash
# tier: live
# run: alone
# Programs that number the same GPUs differently, on doubles of the libraries: work is assigned to the GPU that it ran on, under its driver's number;
# each is one GPU in the report of idle times, also for times in which nothing ran.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH CUDA_VISIBLE_DEVICES CRESSET_GPU_SCRIPT
library=$PWD/$BUILD/libcresset-cuda.so
chmod 755 "$tmp" # the store process is not root
data=$tmp/data
first=GPU-11111111-2222-3333-4444-55555555aaaa second=GPU-11111111-2222-3333-4444-55555555bbbb
cat >"$CRESSET_DOUBLE" <<END
nvml driver "550.54.15"
device 0 name "Double A" uuid $first
device 1 name "Double B" uuid $second
metric 0 gpu 50
metric 0 memory 1
metric 1 gpu 50
metric 1 memory 1
wait none
copy bytes_per_us 1000
kernel gemm ns 1500
kernel _Z4axpyPfS_f ns 400
kernel softmax ns 333
play threads 2
play launches 2000
play pace 9000
END

said() { for _ in $(seq 3000); do [ "$(grep -c "$2" "$tmp/$1.out")" = "$3" ] && return; sleep 0.02; done; return 1; }
# Begins a program of a given name, with the GPUs in that order: begin_player NAME ORDER
declare -A player
begin_player() {
	cp "$progs/gpu_play" "$tmp/$1"
	mkfifo "$tmp/$1.in"
	: >"$tmp/$1.out"
	CUDA_VISIBLE_DEVICES=$2 CUDA_INJECTION64_PATH=$library "$tmp/$1" <"$tmp/$1.in" >"$tmp/$1.out" 2>/dev/null &
	player[$1]=$!
	pids+=("$!")
}
play() { echo go >"/proc/${player[$1]}/fd/0"; said "$1" "done" "$2"; }
# Time in ns of work on a device as the program numbers it, and as stored under its driver's number: ns GPU, stored NAME GPU
ns() { python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk -v gpu="$1" '$2 == gpu && $1 != "calls" { n += $4 } END { print n }'; }
stored() {
	"$cresset" query --data "$1" "gpu-time{process=\"$2\",gpu=\"$3\"}" --from start --to end --unit ns -o - --format folded 2>>"$tmp/err" | awk '{ n += $NF } END { print n + 0 }'
}
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }

# --- always on --------------------------------------------------------------------------------------------------------------------------
plain=gn$$ swapped=gs$$
begin_always up --data "$data" --listen none --gpu-budget 100
begin_player $plain 0,1
exec 4>"$tmp/$plain.in"
begin_player $swapped "$second,$first"
exec 5>"$tmp/$swapped.in"
said $plain ready 1
said $swapped ready 1
sleep 1.5
echo go >&4
echo go >&5
said $plain "done" 1
said $swapped "done" 1
sleep 1.5
from=$(date +%s)
sleep 4
to=$(date +%s)
sleep 1.2
exec 4>&- 5>&-
wait "${player[$plain]}" "${player[$swapped]}"
end_always
is "it ends as it should" "$status" 0
for gpu in 0 1; do
	is "a program that has them in order: GPU $gpu" "$(stored "$data" $plain $gpu)" "$(ns $gpu)"
	is "one that has them the other way round: GPU $gpu" "$(stored "$data" $swapped $gpu)" "$(ns $((1 - gpu)))"
done
is "each has one number, and its UUID" "$(ask "SELECT DISTINCT g.value, u.value FROM labels g, labels u, series s
	WHERE g.series = s.id AND u.series = s.id AND g.key = 'gpu' AND u.key = 'uuid' AND s.type IN ('gpu-time', 'gpu-window', 'hw_gpu_utilization') ORDER BY 1")" \
	"$(printf '0,%s\n1,%s' $first $second)"
idle() { "$cresset" -q query --data "$data" --gpu-idle --json "$@" >"$tmp/idle.json" 2>>"$tmp/err"; }
of() { jq -c "$1" "$tmp/idle.json"; }
idle --from start --to end
is "idle: each GPU once" "$(of '.devices[] | [.gpu, .uuid, .model]')" "$(printf '["0","%s","Double A"]\n["1","%s","Double B"]' $first $second)"
# One thread of each program on each GPU: they may overlap, so that busy is at most the sum, and at least the longer one.
is "idle: busy is what ran" "$(of '.devices[] | if .source == "records" then . else .records end | .busy_ns' | while read -r busy; do
	[ "$busy" -le $(($(ns 0) + $(ns 1))) ] && [ "$busy" -ge "$(ns 0)" ] && [ "$busy" -ge "$(ns 1)" ] && echo fits || echo "$busy"
done | tr '\n' ' ')" "fits fits "
idle --from "$from" --to "$to"
is "a time in which nothing ran: each is watched, and idle" "$(of '.devices[] | [.gpu, .source, .watched_ns, .busy_ns, .idle_ns, .gaps]')" \
	"$(for gpu in 0 1; do printf '["%s","records",%d,0,%d,1]\n' $gpu $(((to - from) * 1000000000)) $(((to - from) * 1000000000)); done)"
is "… by processes with it" "$(of '[.devices[].owners | map(.pid) | sort] | unique | .[]')" "[$(printf '%s\n' "${player[$plain]}" "${player[$swapped]}" | sort -n | paste -sd,)]"

# --- a recording ------------------------------------------------------------------------------------------------------------------------
player=()
begin_player recorded 1,0
exec 4>"$tmp/recorded.in"
said recorded ready 1
begin "$tmp/one.cresset" -e gpu-time -p "${player[recorded]}"
sleep 0.5
echo go >&4
said recorded "done" 1
sleep 0.5
end
exec 4>&-
for gpu in 0 1; do is "a recording: GPU $gpu" "$(stored "$tmp/one.cresset" recorded $gpu)" "$(ns $((1 - gpu)))"; done
finish
