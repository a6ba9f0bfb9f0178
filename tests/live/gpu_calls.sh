#!/usr/bin/env bash
# tier: live
# run: alone
# Calls of a GPU's libraries by CPU stack, on doubles of the libraries: every launch, byte and allocation matches the scenario, and is counted for the
# function that asked for it.
. tests/live/lib.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
types=gpu-launch,gpu-wait,gpu-copy,hbm-alloc,hbm-inuse,nccl
printf 'kernel slow ns 5000000\nkernel * ns 1000\n' >"$CRESSET_DOUBLE"

# Stacks of a type as tests/live/gpu_truth names them: from the scenario's function on.
calls() {
	folded "$1" "$2" | sed -E 's/;act;/;/; s/^.*;(train|infer|setup|thread_launches);/\1;/; s/(;launch_deep)+/;launch_deep/' |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (key in sum) print key, sum[key] }' | LC_ALL=C sort
}
# is_truth NAME FILE SCENARIO TYPE…
is_truth() {
	local name=$1 file=$2 scenario=$3 type
	shift 3
	for type; do is "$name: $type" "$(calls "$file" "$type")" "$(tests/live/gpu_truth "$type" "$scenario")"; done
}

# --- from its start to its end -------------------------------------------------------------------------------------------
cat >"$tmp/all" <<-END
	setup alloc 1 4096
	setup launch 1 warm
	- probed 60 launch,driver,graph,wait,alloc,free,pitch,pool,handle,release,copy,copywait,copy2d,allreduce,bcast
	- sleep 500
	train launch 300 saxpy
	infer driver 120 gemm
	infer graph 10 7
	train deep 50 saxpy
	train threads 100 saxpy
	setup alloc 10 1048576
	train alloc 3 2000000
	setup free 2
	setup pitch 2 1000
	setup handle 3 2097152
	setup release 1
	infer pool 20 5000
	train copy 30 100000
	train copywait 3 4096
	infer copy2d 2 1000
	train allreduce 20 1000
	infer bcast 5 3000
	train wait 4 slow
	- sleep 100
END
for how in sleep spin; do
	printf 'kernel slow ns 5000000\nkernel * ns 1000\nwait %s\n' $how >"$CRESSET_DOUBLE"
	timeout "$most_s" "$cresset" record --no-progress -e $types -o "$tmp/all.cresset" -- "$progs/gpu_calls" "$tmp/all" 2>"$tmp/err"
	is "the driver would $how: the recording" $? 0
	is_truth "the driver would $how" "$tmp/all.cresset" "$tmp/all" gpu-launch hbm-alloc hbm-inuse hbm-alloc-objects hbm-inuse-objects gpu-copy nccl
	# Each of four waits is at least the kernel's 5 ms; the copies that wait are below 1 ms.
	waited=$(calls "$tmp/all.cresset" gpu-wait | awk '$1 == "train;cudaDeviceSynchronize" { print $2 }')
	holds "the driver would $how: waits in µs ($waited)" test "${waited:-0}" -ge 19900 -a "${waited:-0}" -lt 200000
done
if grep -q bpf_uprobe_multi_link_attach /proc/kallsyms; then # since 6.6
	holds "one link for all places of a file" grep -q 'by uprobe.multi' "$tmp/err"
fi
holds "no launch function was refused" test -z "$(grep refused "$tmp/err")"

# --- samples and waits in the middle of a call whose return is probed: their stacks are whole --------------------------------
printf 'setup launch 1 warm\n- probed 60 wait\n- sleep 400\ntrain wait 30 slow\n- sleep 100\n' >"$tmp/inside"
for how in sleep:off-cpu spin:cpu; do
	printf 'kernel slow ns 30000000\nkernel * ns 1000\nwait %s\n' "${how%:*}" >"$CRESSET_DOUBLE"
	timeout "$most_s" "$cresset" record --no-progress -F 199 -e cpu,off-cpu,gpu-wait -o "$tmp/inside.cresset" -- "$progs/gpu_calls" "$tmp/inside" 2>"$tmp/err"
	whole=$(folded "$tmp/inside.cresset" "${how#*:}" | awk '/;main;train;act;cudaDeviceSynchronize;cuCtxSynchronize_body;/ { n++ } END { print n + 0 }')
	holds "inside a wait, ${how#*:}: whole stacks" test "$whole" -gt 0
	is "inside a wait, ${how#*:}: no other ones" "$(folded "$tmp/inside.cresset" "${how#*:}" | grep 'until_ns' | grep -v ';train;act;cudaDeviceSynchronize;')" ""
done

# --- a program made by nvcc ----------------------------------------------------------------------------------------------
timeout "$most_s" "$cresset" record --no-progress -e gpu-launch -o "$tmp/nvcc.cresset" -- tests/doubles/fixture/vector_add 400 >"$tmp/out" 2>"$tmp/err"
is "nvcc -cudart shared: it runs" "$(cat "$tmp/out")" "800 launches: no error"
is "nvcc -cudart shared: launches" "$(folded "$tmp/nvcc.cresset" gpu-launch | awk '{ n += $NF } END { print n }')" 800

# --- a running program: it frees memory that it allocated before ---------------------------------------------------------
cat >"$tmp/late" <<-END
	setup alloc 6 1000000
	- stop 0
	train alloc 4 2000
	- sleep 300
	train launch 7 saxpy
	train free 4
	setup free 2
	train alloc 2 3000
	- stop 0
END
start "$progs/gpu_calls" "$tmp/late"
late=$!
stopped() { for _ in $(seq 3000); do grep -q '^State:.*stopped' "/proc/$1/status" && return; sleep 0.02; done; return 1; }
stopped "$late"
begin "$tmp/late.cresset" -e $types -p "$late"
kill -CONT "$late"
sleep 0.1
stopped "$late"
end
is "late: memory in use was allocated since" "$(calls "$tmp/late.cresset" hbm-inuse)" "train;cudaMalloc 6000"
is "late: allocations" "$(calls "$tmp/late.cresset" hbm-alloc)" "train;cudaMalloc 14000"
is "late: launches" "$(calls "$tmp/late.cresset" gpu-launch)" "train;cudaLaunchKernel 7"
holds "late: frees of earlier allocations are counted" grep -q '2 frees of earlier allocations' "$tmp/begin.err"
kill -9 "$late"

# --- memory from before, by the driver's figures of processes: two devices of a script ----------------------------------------
export CRESSET_GPU_SCRIPT=$tmp/gpus
before() { # MEMORY_OF_GPU_0 MEMORY_OF_GPU_1 OPTION…: records a program that had 6 MB, frees 1 MB of that and allocates 5 × 2000 bytes
	local had=$1 other=$2 pid
	shift 2
	start "$progs/gpu_calls" "$tmp/before"
	pid=${pids[-1]}
	stopped "$pid"
	printf 'device 0 X-0 80000000000 A\ndevice 1 X-1 80000000000 B\nprocess 0 %s %s 0\nprocess 1 %s %s 0\nprocess 1 1 5000 0\n' \
		"$pid" "$had" "$pid" "$other" >"$tmp/gpus"
	begin "$tmp/before.cresset" -e hbm-inuse "$@" -p "$pid"
	kill -CONT "$pid"
	sleep 0.3
	stopped "$pid"
	end
	kill -9 "$pid"
}
printf 'setup alloc 6 1000000\n- stop 0\nsetup free 1\ntrain alloc 1 2000\n- sleep 300\ntrain alloc 4 2000\n- stop 0\n' >"$tmp/before"
# As in the scenario: 5 MB from before, 10 kB since, and 3 MB that the driver needs, on two devices.
before 6010000 2000000
is "before: counts its allocations since" "$(calls "$tmp/before.cresset" hbm-inuse | grep -v before)" "train;cudaMalloc 10000"
is "before: the rest of the driver's figures, of that process only" "$(folded "$tmp/before.cresset" hbm-inuse | grep before)" "gpu_calls;[before attach] 8000000"
is "before: it is marked as an estimate" "$(folded "$tmp/before.cresset" hbm-inuse --match 'hbm-inuse{how="estimate"}')" "gpu_calls;[before attach] 8000000"
before 9000 1000
is "before: never less than nothing" "$(folded "$tmp/before.cresset" hbm-inuse | grep -c before)" 0
printf 'no script\n' >"$tmp/bad"
CRESSET_GPU_SCRIPT=$tmp/bad before 6010000 2000000
is "before: no figures, no estimate" "$(calls "$tmp/before.cresset" hbm-inuse)" "train;cudaMalloc 10000"
# A command has nothing from before: any excess that the driver reports is the driver's own.
printf 'device 0 X-0 80000000000 A\nprocess 0 1 5000 0\n' >"$tmp/gpus"
sed '/probed/d' "$tmp/inside" >"$tmp/command"
timeout "$most_s" "$cresset" record --no-progress -e hbm-inuse -o "$tmp/before.cresset" -- "$progs/gpu_calls" "$tmp/command" 2>"$tmp/err"
is "before: nothing of a command" "$(folded "$tmp/before.cresset" hbm-inuse | grep -c before)" 0
unset CRESSET_GPU_SCRIPT

# --- ends: a reset and an exit free all memory ---------------------------------------------------------------------------
printf 'setup alloc 5 1000\nsetup launch 1 warm\n- probed 60 alloc,free,reset\n- sleep 400\nsetup alloc 5 1000\nsetup reset 1\ntrain alloc 2 700\n- sleep 100\n' >"$tmp/reset"
timeout "$most_s" "$cresset" record --no-progress -e hbm-inuse,hbm-alloc -o "$tmp/reset.cresset" -- "$progs/gpu_calls" "$tmp/reset" 2>"$tmp/err"
is_truth "after a reset" "$tmp/reset.cresset" "$tmp/reset" hbm-inuse
# The first call that is seen makes the recorder read the process's mappings; the probes may come after a call.
printf 'setup alloc 1 1000\n- probed 60 alloc,launch\nsetup alloc 1 1000\n- sleep 400\ntrain alloc 9 1000\n- sleep 200\n' >"$tmp/ends"
begin "$tmp/ends.cresset" -e hbm-inuse,hbm-alloc,gpu-launch --comm gpu_calls
"$progs/gpu_calls" "$tmp/ends"
sleep 2.5 # a process that has ended is forgotten after a second
printf -- '- probed 60 launch\n- sleep 400\ntrain launch 3 saxpy\n' >"$tmp/more"
"$progs/gpu_calls" "$tmp/more"
end
is "after its end a process has nothing in use" "$(calls "$tmp/ends.cresset" hbm-inuse)" ""
is "… its allocations are known" "$(calls "$tmp/ends.cresset" hbm-alloc | awk '/^train/ { print $2 }')" 9000

# --- memory other than plain blocks: arrays, and mapped handles -------------------------------------------------------------------
cat >"$tmp/odd" <<-END
	setup launch 1 warm
	- probed 60 array,array3d,mipmap,unarray,handle,release,mapped,unmap,retained,rect
	- sleep 400
	setup array 3 1000
	train array3d 4 100
	train mipmap 2 129
	infer sparse 5 4096
	infer unarray 6
	setup mapped 6 2097152
	train mapped 3 4194304
	train unmap 1
	infer retained 2 2097152
	infer unmap 1
	setup rect 3 1000
	- sleep 100
END
timeout "$most_s" "$cresset" record --no-progress -e $types -o "$tmp/odd.cresset" -- "$progs/gpu_calls" "$tmp/odd" 2>"$tmp/err"
is_truth "arrays and handles" "$tmp/odd.cresset" "$tmp/odd" hbm-alloc hbm-inuse hbm-alloc-objects hbm-inuse-objects gpu-copy
is "arrays and handles: no free is unknown" "$(grep -c 'frees of earlier' "$tmp/err")" 0
sed '/sleep 100/i infer unmapall 1' "$tmp/odd" >"$tmp/odd.all"
timeout "$most_s" "$cresset" record --no-progress -e $types -o "$tmp/odd.cresset" -- "$progs/gpu_calls" "$tmp/odd.all" 2>"$tmp/err"
is_truth "one call unmaps many" "$tmp/odd.cresset" "$tmp/odd.all" hbm-inuse

# --- more launches than stacks: weights make up for them -----------------------------------------------------------------
printf 'setup launch 1 warm\n- probed 60 launch\n- sleep 400\ntrain launch 60000 saxpy\ninfer launch 20000 gemm\n' >"$tmp/many"
timeout "$most_s" "$cresset" record --no-progress -e gpu-launch --max-rate 2000 -o "$tmp/many.cresset" -- "$progs/gpu_calls" "$tmp/many" 2>"$tmp/err"
is "many: all launches are there" "$(calls "$tmp/many.cresset" gpu-launch | awk '{ n += $NF } END { print n }')" 80001
# There are at least some hundreds of stacks: 3 σ of a share of 3/4 of 300 is 7.5 %.
train=$(calls "$tmp/many.cresset" gpu-launch | awk '/^train/ { n += $NF } END { print n + 0 }')
near "many: frees for one of two" "$train" 60000 6500

# --- a library in a container, and another file of the same library ------------------------------------------------------
mkdir -p "$tmp/box" "$tmp/libs"
cp "$BUILD"/doubles/lib*.so.* "$tmp/libs"
printf 'setup launch 1 warm\n- probed 60 launch\nsetup launch 1 warm\n- sleep 400\ntrain launch 40 saxpy\n- sleep 300\n' >"$tmp/box.scenario"
begin "$tmp/box.cresset" -e gpu-launch --comm gpu_calls
# In a chroot whose root is not a mount point, unshare cannot keep mounts from spreading.
spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
# shellcheck disable=SC2016,SC2086
unshare -m $spread sh -c 'mount -t tmpfs t "$1/box" && cp "$1"/libs/lib*.so.* "$1/box" && LD_LIBRARY_PATH=$1/box exec "$2" "$1/box.scenario"' - \
	"$tmp" "$progs/gpu_calls" &
box=$!
LD_LIBRARY_PATH=$tmp/libs "$progs/gpu_calls" "$tmp/box.scenario"
wait $box
end
is "in a container, and of another file: launches" "$(calls "$tmp/box.cresset" gpu-launch | grep ^train)" "train;cudaLaunchKernel 80"

# --- a program that uses no GPU ------------------------------------------------------------------------------------------
timeout "$most_s" "$cresset" record --no-progress -e gpu-launch -o "$tmp/none.cresset" -- true 2>"$tmp/err"
is "a program that uses none: its status" $? 0
holds "a program that uses none: no launch is counted" test -z "$(grep launches "$tmp/err")"
finish
