#!/usr/bin/env bash
# tier: live
# run: alone
# GPUs always on, on doubles of the libraries: cresset up and cresset agent record what programs ask of them over many intervals, each ns and byte
# once; memory in use is right at each moment; windows keep to a budget; off is off.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH CRESSET_GPU_SCRIPT
library=$PWD/$BUILD/libcresset-cuda.so
chmod 755 "$tmp" # the store process is not root
data=$tmp/data
# Others on this machine may play, too: programs have their own names.
caller=gc$$ player=gp$$
cp "$progs/gpu_calls" "$tmp/$caller"
cp "$progs/gpu_play" "$tmp/$player"
devices='device 0 name "First"\ndevice 1 name "Second"\nwait none\n'
kernels='copy bytes_per_us 1000\nkernel gemm ns 1500\nkernel _Z4axpyPfS_f ns 400\nkernel softmax ns 333\n'

# Started without the pipe to a program, which would otherwise never end.
up() { begin_always up --data "$data" --listen 127.0.0.1:0 "$@" 3>&-; }
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
# Folded stacks of a type, of a program: stacks TYPE PROCESS [OPTION…]
stacks() { "$cresset" query --data "$data" "$1{process=\"$2\"}" -o - --format folded "${@:3}" 2>>"$tmp/err"; }
# The types with any data of these programs.
types() {
	ask "SELECT DISTINCT type FROM series WHERE id IN (SELECT series FROM labels WHERE key = 'process' AND value IN ('$caller', '$player'))
		AND (type LIKE 'gpu%' OR type LIKE 'hbm%' OR type = 'nccl') ORDER BY 1" | tr '\n' ' '
}
sum() { awk '{ n += $NF } END { printf "%.0f\n", n }'; }
# The bytes that a program has in use, by the function that asked for them.
in_use() { stacks hbm-inuse "$caller" | sed -E 's/^.*;(train|infer|setup);.*;/\1;/' | sort | tr '\n' ' '; }
until_in_use() { # BYTES
	for _ in $(seq 600); do
		[ "$(stacks hbm-inuse "$caller" | sum)" = "$1" ] && return
		sleep 0.1
	done
	return 1
}
# Waits until a program has printed a word that many times; begins one that plays what it is told to: begin_player, play, end_player
said() { for _ in $(seq 3000); do [ "$(grep -c "$1" "$tmp/out")" = "$2" ] && return; sleep 0.02; done; return 1; }
begin_player() {
	mkfifo "$tmp/in" 2>/dev/null
	: >"$tmp/out"
	CUDA_INJECTION64_PATH=$library "$tmp/$player" <"$tmp/in" >"$tmp/out" 3>&- &
	playing=$!
	pids+=("$playing")
	exec 3>"$tmp/in"
	said ready 1
	rounds=0
}
play() {
	rounds=$((rounds + 1))
	echo go >&3
	said "done" $rounds
}
end_player() {
	exec 3>&-
	wait "$playing"
}
# Sums in ns of a device in the form of tests/unit/gpu_answers.py, TIMES over, and as stored.
answers() {
	python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" sides | awk -v gpu="$1" -v times="$2" '$2 == gpu && $1 != "calls" {
		name = $1 == "copy" ? "[copy host to device]" : $1 == "graph" ? "[graph]" : $1
		print name, times * $4 }' | LC_ALL=C sort
}
ran() {
	"$cresset" query --data "$data" "gpu-time{process=\"$player\",gpu=\"$1\"}" --unit ns -o - --format folded 2>>"$tmp/err" |
		sed 's/axpy(float\*, float\*, float)/_Z4axpyPfS_f/' | awk '{
			ns = $NF; sub(/ [0-9]+$/, ""); n = split($0, f, ";")
			side = /;work;launch_even;cuLaunchKernel/ ? "/even" : /;work;launch_odd;cuLaunchKernel/ ? "/odd" : ""
			if (f[n - 1] != "-") side = "/" f[n - 1]
			sum[f[n] side] += ns
		} END { for (key in sum) print key, sum[key] }' | LC_ALL=C sort
}

# --- calls and memory, over intervals of a second ---------------------------------------------------------------------------------
printf 'kernel slow ns 5000000\nkernel * ns 1000\n' >"$CRESSET_DOUBLE"
cat >"$tmp/calls" <<-END
	setup launch 1 warm
	- stop 0
	train launch 300 saxpy
	infer driver 120 gemm
	train alloc 3 2000000
	infer alloc 1 512
	- stop 0
	infer driver 100 gemm
	setup free 2
	train copy 30 100000
	- stop 0
	setup free 2
	- stop 0
	train alloc 1 700
	- stop 0
END
stopped() { for _ in $(seq 3000); do grep -q '^State:.*stopped' "/proc/$calling/status" && return; sleep 0.02; done; return 1; }
go_on() { kill -CONT "$calling"; sleep 0.1; stopped; }
up --gpu-budget 100 --max-rate 1000000 --gpu=require
"$tmp/$caller" "$tmp/calls" &
calling=$!
pids+=("$calling")
stopped
sleep 1
go_on
holds "in use: all that was allocated" until_in_use 6000512
go_on
holds "… right after frees: remaining memory" until_in_use 4000000
sleep 2.5
until_named() { for _ in $(seq 600); do stacks hbm-inuse "$caller" | grep -q ';train;' && return; sleep 0.1; done; return 1; }
holds "its functions get their names" until_named
is "… and the same later, by allocating stack" "$(in_use)" "train;cudaMalloc 4000000 "
go_on
holds "… all freed: nothing, immediately" until_in_use 0
go_on
holds "… again some" until_in_use 700
kill -9 "$calling"
holds "… of a program that was killed: nothing" until_in_use 0

# --- GPU time over intervals, of a program that runs on and of one that comes and goes ---------------------------------------------
printf "$devices${kernels}play threads 4\nplay launches 3000\nplay copy 50 4096\nplay graph 16 3\nplay pace 9000\n" >"$CRESSET_DOUBLE"
first_us=${EPOCHREALTIME/./}
begin_player
sleep 1.5
for _ in 1 2 3; do
	play
	sleep 0.7
done
end_player
begin_player
sleep 1
play
end_player
sleep 0.2
end_always
is "it stops cleanly" $status 0
for gpu in 0 1; do is "GPU $gpu by stack and kernel over intervals, in ns" "$(ran $gpu)" "$(answers $gpu 4)"; done
is "both programs were watched: at most as long as there was, on two devices" "$(stacks gpu-window "$player" --unit ns | awk -v most="$((${EPOCHREALTIME/./} - first_us))000" '$NF > 4e9 && $NF <= 2 * most' | wc -l)" 1
is "launches of all intervals" "$(stacks gpu-launch "$caller" | grep -v 'setup;' | sum)" 520 # the first one may come before the probes
is "copies" "$(stacks gpu-copy "$caller" | sum)" 3000000
is "allocations" "$(stacks hbm-alloc "$caller" | sum)" 6001212
is "queryable types" "$(types)" \
	"gpu-copy gpu-launch gpu-queue gpu-time gpu-window hbm-alloc hbm-alloc-objects hbm-inuse hbm-inuse-objects "
holds "the log names the watched program" grep -q 'GPU time of [1-9][0-9]* program' "$tmp/log"
coverage() { ask "SELECT max(value) FROM metrics WHERE name = 'cresset_gpu_time_coverage'"; }
holds "… and how much of its time: all" test "$(coverage | awk '{ print ($1 > 0.9 && $1 <= 1) }')" = 1

# --- memory from before, by the driver's figures of processes: two devices of a script -------------------------------------------------
rm -rf "$data"
cat >"$tmp/calls" <<-END
	setup alloc 6 1000000
	- stop 0
	train alloc 5 2000
	- sleep 300
	- stop 0
	train free 5
	- stop 0
	infer alloc 1 9000000
	- stop 0
END
"$tmp/$caller" "$tmp/calls" &
calling=$!
pids+=("$calling")
stopped
printf 'device 0 X-0 80000000000 A\ndevice 1 X-1 80000000000 B\nprocess 0 %s 6010000 0\nprocess 1 %s 2000000 0\nprocess 1 4194303 5000 0\n' \
	"$calling" "$calling" >"$tmp/gpus"
export CRESSET_GPU_SCRIPT=$tmp/gpus
up --gpu-budget 100 --max-rate 1000000
before() { stacks hbm-inuse "$caller" | sed -n 's/^.*\[before attach\] //p'; }
until_before() { for _ in $(seq 600); do [ "$(before)" = "$1" ] && return; sleep 0.1; done; return 1; }
holds "in use: its earlier memory" until_before 8010000
go_on
holds "… the driver's figures, minus the counted memory" until_before 8000000
is "… all of it" "$(stacks hbm-inuse "$caller" | sum)" 8010000
is "… which is an estimate" "$(stacks hbm-inuse "$caller\",how=\"estimate" | sum)" 8000000
sleep 2.5
is "… of each snapshot" "$(before) $(stacks hbm-inuse "$caller" | sum)" "8000000 8010000"
go_on
holds "… counted memory is freed: the rest is from before" until_before 8010000
is "… all of it" "$(stacks hbm-inuse "$caller" | sum)" 8010000
go_on
holds "… more counted than the driver reports: nothing is from before" until_in_use 9000000
is "… nor below nothing" "$(ask "SELECT count(*) FROM samples WHERE value < 0 AND type = 'hbm-inuse'")" 0
kill -9 "$calling"
holds "… of a program that was killed: nothing" until_in_use 0
end_always
unset CRESSET_GPU_SCRIPT

# --- windows under a budget: a part of the time, and its records -------------------------------------------------------------------
rm -rf "$data"
printf "$devices${kernels}play threads 2\nplay launches 20000\nplay pace 500\n" >"$CRESSET_DOUBLE"
up --gpu-budget 1
begin_player
until_ms=$((${EPOCHREALTIME/./} / 1000 + 8000))
while [ $((${EPOCHREALTIME/./} / 1000)) -lt $until_ms ]; do play; done
end_player
end_always
window=$(stacks gpu-window "$player" --unit ns | sum)
holds "a budget of 1 %: windows were open, not all the time (ms: $((window / 1000000)))" test "$window" -gt 5000000 -a "$window" -lt 6000000000
seen=$(stacks gpu-time "$player" --unit ns | sum)
all=$(($(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" { n += $4 } END { print n }') * rounds))
holds "… and of what ran they saw a part ($seen of $all ns)" test "$seen" -gt 0 -a "$seen" -lt $((all / 2))
holds "… which is logged" test "$(ask "SELECT avg(value) FROM metrics WHERE name = 'cresset_gpu_time_coverage'" | awk '{ print ($1 > 0 && $1 < 0.9) }')" = 1

# --- a second recorder beside the first, a killed one, and its successor ---------------------------------------------------------------
rm -rf "$data"
printf "$devices${kernels}play threads 2\nplay launches 2000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
up --gpu-budget 100 --max-rate 1000000
begin_player
# Words of the ring (gpu/ring/ring.h): ring_word PLACE FORMAT
ring_word() {
	python3 - "$playing" "$@" <<'END'
import re, struct, sys
for line in open(f"/proc/{sys.argv[1]}/maps"):
    if "memfd:cresset-ring" in line:
        with open(f"/proc/{sys.argv[1]}/map_files/{line.split()[0]}", "rb") as ring:
            print(struct.unpack_from(sys.argv[3], ring.read(256), int(sys.argv[2]))[0])
            break
END
}
state() { ring_word 128 "<I"; } # of the library: 1 it is parked, 2 a window is open
until_state() { for _ in $(seq 1200); do [ "$(state)" = "$1" ] && return; sleep 0.05; done; return 1; }
holds "a program that is watched all the time: its window is open" until_state 2
play
# Waits until that many rounds are stored: a killed recorder loses an interval.
stored() { # ROUNDS
	local want
	want=$(for gpu in 0 1; do answers $gpu "$1"; done | sum)
	for _ in $(seq 600); do
		[ "$(stacks gpu-time "$player" --unit ns | sum)" = "$want" ] && return
		sleep 0.1
	done
	return 1
}
holds "its work is stored" stored 1
"$cresset" record --no-progress -e gpu-time -p "$playing" -d 1 -o "$tmp/beside.cresset" >"$tmp/out.beside" 2>"$tmp/err.beside"
holds "two agents: the second gets an error" grep -q 'another agent reads its ring' "$tmp/err.beside"
play
holds "two agents: the first one continues" stored 2
kill -9 "$always" $(pgrep -P "$always")
holds "killed: the library parks" until_state 1
took=$((($(ring_word 160 "<Q") - $(ring_word 88 "<Q")) / 1000000)) # by its own clock: from the last heartbeat to the end of the window
holds "… within 2 s ($took ms)" test $took -lt 2000
play # nobody sees it
up --gpu-budget 100 --max-rate 1000000
holds "the next one opens a window" until_state 2
play
end_player
end_always
# A killed recorder had no time for all names.
by_kernel() { awk '{ sub("/.*", "", $1); sum[$1] += $NF } END { for (key in sum) print key, sum[key] }' | LC_ALL=C sort; }
for gpu in 0 1; do is "what they saw: GPU $gpu, in ns" "$(ran $gpu | by_kernel)" "$(answers $gpu 3 | by_kernel)"; done

# --- one that runs another program as the same process, and one that is detached for a while ---------------------------------------------
rm -rf "$data"
up --gpu-budget 100 --max-rate 1000000
begin_player
holds "a program that is watched" until_state 2
# CUPTI's records of a program that has played are lost with its memory: the figures would not be exact. Its output starts again.
: >"$tmp/out"
echo exec >&3
said ready 1
holds "another program as the same process: its window is open" until_state 2
play
end_player
end_always
for gpu in 0 1; do is "… GPU $gpu by stack and kernel, in ns" "$(ran $gpu)" "$(answers $gpu 1)"; done
rm -rf "$data"
up
begin_player
window() { stacks gpu-window "$player" --unit ns | sum; }
more_window() { for _ in $(seq 600); do [ "$(window)" -gt "$1" ] && return; sleep 0.1; done; return 1; }
holds "windows now and then" more_window 0
detached() { for _ in $(seq 3000); do "$cresset" gpu detach "$playing" >/dev/null 2>&1 && return; sleep 0.02; done; return 1; }
holds "detached between two of them" detached
sleep 2.5
before=$(window)
sleep 2
is "… it is left alone" "$("$cresset" gpu status "$playing" --json | jq -r .processes[0].state) $(window)" "detached $before"
"$cresset" gpu attach "$playing" >/dev/null
holds "attached again: it has windows again" more_window "$before"
end_player
end_always
is "… and nothing was wrong with it" "$(grep -c 'no GPU time of a program' "$tmp/log")" 0

# --- programs that cannot report what runs: a message once, and their calls are recorded ------------------------------------------------
for how in 'busy "Nsight Systems":Nsight Systems' 'version 130000:too old to be switched off'; do
	rm -rf "$data"
	printf "$devices${kernels}play threads 1\nplay launches 500\ncupti ${how%:*}\n" >"$CRESSET_DOUBLE"
	up
	begin_player
	sleep 1.5
	play
	sleep 1.2
	end_player
	end_always
	is "${how#*:}: said once" "$(grep -c "no GPU time of a program: process $playing: .*${how#*:}" "$tmp/log")" 1
	is "… and launches are there" "$(stacks gpu-launch "$player" | sum)" 500
	is "… GPU time is not" "$(stacks gpu-time "$player" | sum)" 0
done

# --- off ----------------------------------------------------------------------------------------------------------------------------
rm -rf "$data"
printf "$devices${kernels}play threads 1\nplay launches 500\n" >"$CRESSET_DOUBLE"
up --gpu=off
begin_player
sleep 0.5
play
sleep 1
is "off: the program's ring is left alone" "$(grep -c memfd:cresset-ring "/proc/$(half cresset-collect)/maps")" 0
end_player
end_always
is "off: nothing of a GPU is there" "$(types)" ""
rm -rf "$data"
up --gpu=0
begin_player
sleep 0.5
play
sleep 1
is "0: the program's ring is left alone" "$(grep -c memfd:cresset-ring "/proc/$(half cresset-collect)/maps")" 0
end_player
end_always
is "0: launches are there, GPU time is not" "$(types)" "gpu-launch "

# --- reserved for another agent: left alone, in libraries that only it has mapped -----------------------------------------------------
rm -rf "$data"
mkdir "$tmp/libs"
cp -a "$PWD/$BUILD"/doubles/lib*.so* "$tmp/libs"
up
probes_of() { # OWNER LIBRARIES: sets probes
	CRESSET_AGENT=$1 LD_LIBRARY_PATH=$2 begin_player
	play
	sleep 1.5
	probes=$("$cresset" gpu status "$playing" --json | jq .processes[0].probes)
	end_player
}
probes_of other "$tmp/libs"
reserved=$probes
probes_of "$CRESSET_AGENT" "$tmp/libs"
holds "an agent's own program has probes ($probes)" test "$probes" -gt 0
end_always
# A recording probes every program. Another one on this machine does so without this agent as well.
probes=0
if [ "$reserved" != 0 ]; then
	cp -a "$tmp/libs" "$tmp/more"
	probes_of other "$tmp/more"
fi
if [ "$probes" = 0 ]; then
	is "… one reserved for another agent: without probes" "$reserved" 0
else
	skip "… one reserved for another agent: without probes" "another recorder here probes every program"
fi

# --- record ---------------------------------------------------------------------------------------------------------------------------
# Records a program that plays once; then prints the types in the recording, without the driver's readings: recorded FILE [OPTION…]
recorded() {
	: >"$tmp/out"
	(said ready 1; sleep 0.5; echo go; said "done" 1; sleep 0.2) |
		timeout "$most_s" "$cresset" record --no-progress "${@:2}" -o "$1" -- "$tmp/$player" >"$tmp/out" 2>"$tmp/err"
	"$cresset" sql --data "$1" --format csv "SELECT DISTINCT type FROM series WHERE type != 'cpu' AND type NOT LIKE 'hw_gpu%' ORDER BY 1" | tail -n +2 | tr -d '\r' | tr '\n' ' '
}
printf "$devices${kernels}play threads 1\nplay launches 500\nplay pace 9000\n" >"$CRESSET_DOUBLE"
is "record --gpu: all GPU calls of the program, with the CPU" "$(recorded "$tmp/all.cresset" --gpu)" "gpu-launch gpu-queue gpu-time gpu-window "
is "… exactly" "$("$cresset" convert -q --type gpu-time --unit ns "$tmp/all.cresset" -o - --format folded | sum)" "$(answers 0 1 | sum)"
is "record --gpu=0: calls" "$(recorded "$tmp/calls.cresset" --gpu=0)" "gpu-launch "
is "record without it: no GPU events" "$(recorded "$tmp/none.cresset")" ""
if compgen -G '/usr/lib/x86_64-linux-gnu/libcuda*' >/dev/null || [ -e /usr/lib64/libcuda.so.1 ] || [ -e /usr/local/cuda ]; then
	skip "--gpu=require without any library" "this machine has some"
else
	# No other processes are there, nor the doubles. In a chroot whose root is not a mount point, unshare cannot keep mounts from spreading.
	spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
	# shellcheck disable=SC2016,SC2086
	env -u LD_LIBRARY_PATH unshare -mpf $spread sh -c 'mount -t proc p /proc && exec "$1" record --gpu=require -d 1 -o "$2"' - "$cresset" "$tmp/x.cresset" 2>"$tmp/err"
	is "--gpu=require without any library: its status" $? 4
	holds "… and why" grep -q "no driver or runtime library found" "$tmp/err"
fi

# --- one that begins while a user without rights maps and forks without end: its records may be dropped, and /proc is read instead ----
rm -rf "$data"
cp "$progs/hostile" "$tmp/hostile"
chmod 755 "$tmp/hostile"
up --gpu-budget 100 --max-rate 1000000
storm=()
for what in maps short; do
	setpriv --reuid 65534 --clear-groups "$tmp/hostile" $what >/dev/null 3>&- &
	storm+=("$!")
	pids+=("$!")
done
dropped() { ask "SELECT CAST(coalesce(max(value), 0) AS INT) FROM metrics WHERE name = 'cresset_lost' AND series IN (SELECT series FROM labels WHERE key = 'reason' AND value = 'side_band')"; }
for _ in $(seq 120); do [ "$(dropped)" -gt 0 ] && break; sleep 0.5; done
holds "amid a storm of mappings: records are dropped" test "$(dropped)" -gt 0
amid=()
mkfifo "$tmp/idle"
exec 4<>"$tmp/idle" # nothing comes
for _ in $(seq 12); do
	CUDA_INJECTION64_PATH=$library "$tmp/$player" <&4 >/dev/null 3>&- 4>&- &
	amid+=("$!")
	pids+=("$!")
	command sleep 0.3
done
for pid in "${storm[@]}"; do pkill -9 -P "$pid"; kill -9 "$pid"; wait "$pid"; done 2>/dev/null
watched() { for playing in "${amid[@]}"; do state; done | grep -c 2; }
for _ in $(seq 80); do [ "$(watched)" = 12 ] && break; sleep 1; done # the next scan is 30 s after the last one
is "… and programs started meanwhile are watched" "$(watched)" 12
exec 4>&-
kill "${amid[@]}"
end_always

# --- an agent and its server --------------------------------------------------------------------------------------------------------
rm -rf "$data"
printf "$devices${kernels}play threads 2\nplay launches 2000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
: >"$tmp/serve.log"
"$cresset" serve --listen 127.0.0.1:0 --data "$data" >"$tmp/serve.log" 2>"$tmp/err" &
serving=$!
pids+=("$serving")
for _ in $(seq 1200); do grep -q 'http://' "$tmp/serve.log" && break; sleep 0.05; done
url=$(sed 's|/$||' "$tmp/serve.log")
# Of each thread, 200 launches a second have a known stack, and the others an estimated one: the sum stays right.
begin_always agent --server "$url" --spool "$tmp/spool" --gpu-budget 100
begin_player
sleep 1
play
sleep 1.2
play
end_player
sleep 1
end_always
# How much of it has run by now: a query over HTTP.
total() {
	"$cresset" sql --server "$url" --format csv "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'gpu-time'
		AND series IN (SELECT series FROM labels WHERE key = 'process' AND value = '$player')
		AND series IN (SELECT series FROM labels WHERE key = 'gpu' AND value = '$1')" 2>>"$tmp/err" | tail -n +2 | tr -d '\r'
}
for _ in $(seq 600); do [ "$(total 1)" != 0 ] && break; sleep 0.1; done
for gpu in 0 1; do is "agent and server: GPU $gpu, in ns" "$(total $gpu)" "$(answers $gpu 2 | sum)"; done
kill -TERM $serving
finish
