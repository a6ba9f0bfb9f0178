#!/usr/bin/env bash
# tier: live
# run: alone
# Time in calls that wait for a GPU is a separate state in `wall`, whether the driver spins or sleeps, and the states of threads still add up to their
# lives. On doubles of the libraries; the program measures by its own clocks how long it was in such calls, and how much of that on a CPU.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double

double() { printf 'kernel slow ns 20000000\nkernel quick ns 400000\nkernel long ns 30000000000\nkernel * ns 1000\nwait %s\n' "$1" >"$CRESSET_DOUBLE"; }
# ns of `wall` whose stack matches this (extended regular expression), of series that a selector takes.
wall_ns() { folded "$1" wall --unit ns --match "$2" | awk -v re="$3" '$0 ~ re { n += $NF } END { printf "%.0f", n + 0 }'; }
of() { awk "BEGIN { printf \"%.0f\", $1 * $2 }"; }
# Threads of --per-thread's table whose times do not add up to their lives.
not_whole() { cat "$1"/*.txt | awk '/^coverage/ && $2 + 0 != 100 { print }'; }
# The time that a scenario's kernels take while the program waits: statements `wait` in the scenario, counted once more.
scripted_ns() { awk -v ns=20000000 '$2 == "wait" && $4 == "slow" { n += $3 * ns } $2 == "launch" && $4 == "slow" { n += $3 * ns } END { printf "%.0f", n }' "$1"; }

cat >"$tmp/scenario" <<-END
	setup launch 1 warm
	- probed 60 wait,copywait
	- sleep 400
	train wait 30 slow
	infer launch 1 slow
	infer copywait 1 4096
	- clocks 1
	- sleep 100
END
recorded() { # NAME OPTION…: leaves NAME.cresset, NAME.truth (ns in calls, of that on a CPU) and NAME.steal
	local name=$1 from
	shift
	from=$(steal_us)
	timeout "$most_s" "$cresset" record --no-progress "$@" -o "$tmp/$name.cresset" -- "$progs/gpu_calls" "$tmp/scenario" >"$tmp/$name.truth" 2>"$tmp/$name.err"
	is "$name: the recording" $? 0
	stolen_us "$from" >"$tmp/$name.steal"
}
# Compares one recording with the program's clocks. Probes run a moment before and after its clocks are read (50 µs for each of some 30 calls is more
# than they ever take); CPU time has the tolerance of wall.sh: 3 %, and 15 µs for a switch.
adds_up() { # NAME HOW
	local file=$tmp/$1.cresset waited cpu call='(train;act;cudaDeviceSynchronize|infer;act;cudaMemcpy);\\[' gpu queued brief steal
	read -r waited cpu <"$tmp/$1.truth"
	steal=$(cat "$tmp/$1.steal")
	gpu=$(wall_ns "$file" 'wall' '\\[waiting for GPU')
	queued=$(wall_ns "$file" 'wall' "$call"sched-wait)
	holds "$1: waited as long as the kernels take ($waited ns)" test "$waited" -ge "$(of "$(scripted_ns "$tmp/scenario")" .95)"
	# Waits for a CPU that are too short for a stack may or may not belong to the call.
	brief=$(wall_ns "$file" 'wall' '^gpu_calls;\\[sched-wait\\]')
	near "$1: all that it was in such calls" "$((gpu + queued + brief / 2))" "$waited" "$(awk "BEGIN { print $waited * .02 + 32 * 50000 + $brief / 2 }")"
	near "$1: … on a CPU" "$(wall_ns "$file" 'wall{how="spin"}' '\\[waiting for GPU')" "$cpu" \
		"$(awk "BEGIN { print $cpu * .03 + 32 * 50000 + 1e6 + $steal * 1000 }")"
	near "$1: … asleep" "$(wall_ns "$file" 'wall{how="sleep"}' '\\[waiting for GPU')" "$((waited - cpu - queued - brief / 2))" \
		"$(awk "BEGIN { print $brief / 2 + $waited * .02 + $cpu * .03 + 32 * 50000 + 1e6 + $steal * 1000 }")"
	holds "$1: the driver would $2" test "$(wall_ns "$file" "wall{how=\"$2\"}" .)" -gt "$(of "$((waited - queued - brief))" .4)" # except waits for a CPU
	is "$1: nothing of the driver's own functions" "$(folded "$file" wall | grep -c 'cuCtxSynchronize_body\|until_ns')" 0
	is "$1: all with a stack ends at the call" "$(folded "$file" wall | grep -F '[waiting for GPU]' | grep ';main;' |
		grep -vE ';main;(train;act;cudaDeviceSynchronize|infer;act;cudaMemcpy);\[waiting for GPU\] ')" ""
	# 30 of 31 waits belong to this function.
	near "$1: which function waits" "$(wall_ns "$file" wall 'train;.*\\[waiting for GPU')" "$(awk "BEGIN { print $gpu * 30 / 31 }")" "$(awk "BEGIN { print $gpu * .08 }")"
}
for how in sleep spin; do
	double $how
	recorded $how -e wall -F 199 --per-thread "$tmp/threads.$how"
	adds_up $how $how
	is "$how: every thread's times are its life" "$(not_whole "$tmp/threads.$how")" ""
	holds "$how: its text has them" grep -qE '^GPU-wait ' "$tmp/threads.$how"/*.txt
done
double sleep
recorded sys_exit -e wall -F 199 --wait-hook sys_exit
adds_up sys_exit sleep
double spin
recorded all -e cpu,off-cpu,wall,gpu-wait -F 199
adds_up all spin
read -r waited _ <"$tmp/all.truth"
near "with other types: those are unchanged" "$(folded "$tmp/all.cresset" gpu-wait --unit ns --match 'gpu-wait{how="spin"}' | awk '{ n += $NF } END { print n }')" \
	"$waited" "$(awk "BEGIN { print $waited * .02 + 32 * 50000 }")"
holds "… functions of the driver as well" grep -q 'cudaDeviceSynchronize;cuCtxSynchronize_body;' <(folded "$tmp/all.cresset" cpu)

# --- waits too short for a stack ---------------------------------------------------------------------------------------------
double sleep
printf 'setup launch 1 warm\n- probed 60 wait\n- sleep 400\ntrain wait 500 quick\n- clocks 1\n- sleep 100\n' >"$tmp/scenario"
recorded short -e wall -F 199
read -r waited cpu <"$tmp/short.truth"
gpu=$(wall_ns "$tmp/short.cresset" wall '\\[waiting for GPU')
queued=$(wall_ns "$tmp/short.cresset" wall 'train;act;cudaDeviceSynchronize;\\[sched-wait')
brief=$(wall_ns "$tmp/short.cresset" wall '^gpu_calls;\\[sched-wait\\]') # the calls', or not
near "short: they are GPU waits, except waits for a CPU" "$((gpu + queued + brief / 2))" "$waited" \
	"$(awk "BEGIN { print $waited * .2 + 500 * 50000 + $brief / 2 }")"
holds "short: most of it has no stack" test "$(wall_ns "$tmp/short.cresset" wall '\\[waiting for GPU below 1ms\\]')" -gt "$(of "$((waited - queued - brief))" .3)"

# --- sampled so often that the way back is hit, too: the call has returned, but its probe has not fired yet ---------------------------
printf 'setup launch 1 warm\n- probed 60 wait\n- sleep 400\ntrain wait 4000 quick\n- clocks 1\n- sleep 100\n' >"$tmp/scenario"
# A sample hits it there by chance: 4000 returns of some microseconds each, so it is recorded until one does.
met=0
for _ in $(seq 8); do
	recorded often -e wall -F 4999
	is "often: all with a stack ends at the call" "$(folded "$tmp/often.cresset" wall | grep -F '[waiting for GPU]' | grep ';main;' |
		grep -vE ';train;act;cudaDeviceSynchronize;\[waiting for GPU\]')" ""
	met=$(folded "$tmp/often.cresset" wall | grep -c ';uprobe_handle_trampoline')
	[ "$met" = 0 ] || break
done
holds "often: … and was met on the way back" test "$met" -gt 0
is "often: … where the caller is shown" "$(folded "$tmp/often.cresset" wall | grep -F '[uprobes]')" ""

# --- a call still open at the end: it began during the recording, and is read from another thread -------------------------------
printf 'setup launch 1 warm\n- stop 0\ntrain wait 1 long\n' >"$tmp/scenario"
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
for how in sleep spin; do
	double $how
	start "$progs/gpu_calls" "$tmp/scenario"
	program=${pids[-1]}
	for _ in $(seq 1200); do
		is_stopped "$program" && break
		sleep 0.05
	done
	begin "$tmp/open.cresset" -e wall -p "$program"
	from=${EPOCHREALTIME/./}
	kill -CONT "$program"
	command sleep 3
	end
	most_ns=$(((${EPOCHREALTIME/./} - from) * 1000))
	kill -9 "$program"
	open_ns=$(wall_ns "$tmp/open.cresset" wall ';main;train;act;cudaDeviceSynchronize;(\\[waiting for GPU\\]|\\[sched-wait)')
	holds "open, $how: what it has waited is there, at the call ($open_ns ns)" test "$open_ns" -gt 2000000000 -a "$open_ns" -le $most_ns
	is "open, $how: its stack is whole" "$(folded "$tmp/open.cresset" wall | grep truncated | grep -v ';do_signal_stop')" "" # a thread may be stopped at its first step
done

# --- a program in Python -----------------------------------------------------------------------------------------------------
double spin
while read -r version _ python; do
	case $version in 3.[6-9].* | 3.10.*) continue ;; esac
	"$python" -c 'import ctypes' 2>/dev/null || continue
	timeout "$most_s" "$cresset" record --no-progress -e wall,gpu-wait -F 999 -o "$tmp/py.cresset" -- "$python" tests/live/gpu_train.py 40 slow wait 2>"$tmp/err"
	is "$version: it runs" $? 0
	called() { folded "$tmp/py.cresset" gpu-wait --unit ns | awk -v re="$1" '$0 ~ re { n += $NF } END { print n + 0 }'; }
	waited() { wall_ns "$tmp/py.cresset" wall "$1.*;cudaDeviceSynchronize;\\[(waiting for GPU|sched-wait)"; }
	holds "$version: … and it does wait ($(called ';main;train;step;') ns)" test "$(called ';main;train;step;')" -gt 0
	# The sum is exact; its functions are known by samples: 1200 of them, of which two in three are train()'s.
	near "$version: main() waits for the GPU" "$(waited ';main;')" "$(called ';main;')" "$(awk "BEGIN { print $(called ';main;') * .03 + 60 * 50000 }")"
	near "$version: train() does" "$(waited ';main;train;step;')" "$(called ';main;train;step;')" "$(awk "BEGIN { print $(called ';main;train;step;') * .1 }")"
done < <(interpreters)

# --- a program without a GPU ---------------------------------------------------------------------------------------------------
timeout "$most_s" "$cresset" record --no-progress -e wall -o "$tmp/none.cresset" -- sleep 0.3 2>"$tmp/err"
is "a program without a GPU: no GPU messages" "$(folded "$tmp/none.cresset" wall | grep -c GPU; grep -c '^  gpu' "$tmp/err")" "$(printf '0\n0')"
finish
