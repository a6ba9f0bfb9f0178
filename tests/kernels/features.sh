#!/usr/bin/env bash
# tier: kernels
# run: alone
# tests/kernels/features.sh: what cresset can do on the kernel that runs, feature by feature, against what programs know of themselves.
#
#   tests/kernels/features.sh [FEATURE...]     from the project's root; all features when none is named
#
# Prints TAP. The name of a check begins with its feature, and comments of the form "# fact FEATURE: WORDS" state what is measured but not
# judged: tests/kernels/report makes docs/kernels.md of both. A feature that a kernel or a setting cannot have is in tests/kernels/limits; then
# the check is that cresset says so. CRESSET_SETTING names the setting of the machine, such as cgroup1.
#
# CRESSET_BRIEF makes programs use less CPU time, and samples them more often: shares then have a tolerance of 5 standard deviations of the samples
# that came.
# CRESSET_MAY_SKIP: where nothing can be recorded, the file is skipped.
# CRESSET_UP is a command that runs cresset up; otherwise it is that of the build.
#
# The machine may be ten times slower than a real one. Programs here end when they have used a given CPU time, and nothing is asserted of how
# long anything takes.
. tests/live/lib.sh
[ -z "${CRESSET_MAY_SKIP-}" ] || needs_recording
limits=$PWD/tests/kernels/limits
setting=${CRESSET_SETTING-}
release=$(uname -r)
cpu_s=9 long_s=9 short_s=3 python_s=7 filter_ms=2000 # CPU time of programs
cpu_hz=499 filter_hz=199
[ -z "${CRESSET_BRIEF-}" ] || cpu_s=3 long_s=5 short_s=2 python_s=4 filter_ms=500 cpu_hz=997 filter_hz=397
# Samples that shares within 3 points need. Where CPUs of the machine are many and those below it few, timers come late, and as one.
least=$((long_s * 250))
[ "$(nproc)" -le 8 ] || cpu_s=$((6 * cpu_s)) long_s=$((6 * long_s))
# Programs have names that no other run of this file gives.
me=k$$ chosen_name=c$$ other_name=o$$
# Waits whose stack is cut: those of before a program's tables are loaded.
first_us=$(awk "BEGIN { print 600000 * ${CRESSET_SLOW:-1} }")
fact() { echo "# fact $*"; }

# --- what a kernel cannot have ---

# Whether the kernel that runs is older than VERSION: before 5.15
before() { [ "$(printf '%s\n' "$1" "${release%%-*}" | sort -V | head -n 1)" != "$1" ]; }
# Sets says and why when a feature is limited here: limited FEATURE
limited() {
	local feature when
	while IFS='|' read -r feature when says why; do
		[ "${feature// /}" = "$1" ] || continue
		when=${when// /}
		says=$(sed 's/^ *//; s/ *$//' <<<"$says") why=$(sed 's/^ *//; s/ *$//' <<<"$why")
		case $when in
		'<'*) before "${when#<}" && return 0 ;;
		*) [ "$when" = "$setting" ] && return 0 ;;
		esac
	done < <(grep -v '^ *#' "$limits")
	return 1
}
# A limited feature has to be named by what the program prints: is_said FEATURE FILE...
is_said() {
	local feature=$1
	shift
	fact "$feature: degraded: $why"
	if grep -qE -- "$says" "$@"; then
		ok "$feature: cresset says what is missing: $(grep -hE -- "$says" "$@" | head -n 1)"
	else
		not_ok "$feature: cresset says what is missing" "no line like: $says
$(tail -n 5 "$@")"
	fi
}

# --- recordings of programs that know where their time goes ---

# Records tests/live/prog/known: leaves NAME.cresset, NAME.truth and NAME.err. record_known FEATURE NAME CPU_SECONDS OPTION...
record_known() {
	local feature=$1 name=$2 seconds=$3 status
	shift 3
	# shellcheck disable=SC2086 # a command prefix
	timeout "$most_s" "$cresset" record --no-progress "$@" -o "$tmp/$name.cresset" -- ${pin-} "$progs/known" "$me" "$seconds" \
		>"$tmp/$name.truth" 2>"$tmp/$name.err"
	status=$?
	[ $status = 0 ] && ok "$feature: the recording" && return
	not_ok "$feature: the recording" "status $status
$(tail -n 5 "$tmp/$name.err")"
	return 1
}
truth() { awk -v kind="$2" -v what="${3-}" '$1 == kind && (what == "" || $2 == what) { n += $3 } END { print n + 0 }' "$tmp/$1.truth"; } # NAME KIND [FUNCTION]
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? 100 * a / b : 0 }'; }
# The functions of the worker, in folded stacks, have the shares of its work, within 3 points. The standard deviation of a half
# of 4000 samples is 0.8 points. shares FEATURE NAME FOLDED LEAST
shares() {
	local feature=$1 name=$2 folded=$3 least=$4 function all points=3
	all=$(folded_sum ';work_(half|quarter|rest)(;| )' <"$folded")
	holds "$feature: at least $least of the known functions ($all)" test "$all" -ge "$least" || return
	[ -z "${CRESSET_BRIEF-}" ] || points=$(awk "BEGIN { print 5 * 100 * sqrt(.25 / $all) }")
	for function in work_half work_quarter work_rest; do
		near "$feature: share of $function" "$(percent "$(folded_sum ";$function(;| )" <"$folded")" "$all")" \
			"$(percent "$(truth "$name" work $function)" "$(truth "$name" work)")" "$points"
	done
}
# The waiter is blocked for as long as its clock says, within 2 %, and in wait_known. Tables of a program are read after its first wait, which takes a
# slow machine a few waits of 0.1 s more. LOST: part of the waits that may be missing: sums FEATURE NAME FOLDED [LOST]
sums() {
	local want slack blocked placed lost=${4-0}
	want=$(truth "$2" off wait_known) slack=$(truth "$2" slack wait_known)
	blocked=$(folded_sum "^$me-waiter;.*\\[blocked: " <"$3") placed=$(folded_sum "^$me-waiter;.*;wait_known;.*\\[blocked: " <"$3")
	near "$1: µs that the waiter is blocked" "$blocked" "$(awk "BEGIN { print $want * (1 - $lost / 2) + $slack / 2 }")" \
		"$(awk "BEGIN { print $want * (.02 + $lost / 2) + $slack / 2 }")"
	holds "$1: … but for the first of them in wait_known ($placed µs)" test "$placed" -ge $((blocked - first_us)) -a "$placed" -gt 0
}
# Of the samples with a user side, those whose stack begins where a thread does, and how many frames of descend they have. With LOST,
# stacks that are marked as cut do not count, up to this part of all.
whole_stacks() { # FEATURE FOLDED [LOST]
	local counts whole all
	counts=$(awk -v mine="^$me" -v lost="${3-0}" '
		{
			value = $NF
			sub(/ [0-9]+$/, "")
			n = split($0, frame, ";")
			if (frame[1] !~ mine || n < 2 || frame[2] ~ /^(entry_|asm_|ret_from_fork|do_|__x64_|exc_)/) next
			all += value
			if (frame[2] ~ /^(_start|clone3?|__clone3?)$/) whole += value
			else why[frame[2]] += value
		}
		END {
			for (w in why) if (w ~ /^\[truncated: /) cut += why[w]
			if (lost && cut <= lost * all) all -= cut
			printf "%d %d", whole, all
			for (w in why) printf "\n# other beginnings: %s %d", w, why[w]
			print ""
		}' "$2")
	tail -n +2 <<<"$counts"
	read -r whole all <<<"$(head -n 1 <<<"$counts")"
	fact "$1: whole stacks $whole of $all ($(percent "$whole" "$all") %)"
	if limited tables; then return; fi
	# Those before the program's tables are loaded are cut, and say so.
	holds "$1: stacks reach the program's start in 99 % of samples, within 5 standard deviations ($whole of $all)" \
		awk "BEGIN { exit !($all > 0 && $whole >= $all * .99 - 5 * sqrt($all * .01 * .99)) }"
	is "$1: … and those have all 21 frames of descend" "$(grep "^$me;" "$2" | awk '/^[^;]*;(_start|clone3?|__clone3?);/ && /;work_(half|quarter|rest)[; ]/ { n = gsub(/;descend/, ""); if (n != 21) print n }' | sort -u | head -n 3)" ""
}

feature_doctor() {
	local status
	"$cresset" doctor --json >"$tmp/doctor.json" 2>"$tmp/doctor.err"
	status=$?
	fact "doctor: $(jq -r '[.checks[] | select(.state != "ok") | .name + ": " + .detail] | join("; ")' "$tmp/doctor.json")"
	if limited doctor; then
		is_said doctor "$tmp/doctor.json" "$tmp/doctor.err"
		return
	fi
	is "doctor: its status" $status 0
	is "doctor: recording works" "$(jq -r '"\(.recording_works) \(.error)"' "$tmp/doctor.json")" "true null"
}
feature_cpu() {
	if limited cpu; then
		"$cresset" record --no-progress -d 1 -o "$tmp/no.folded" 2>"$tmp/no.err"
		is_said cpu "$tmp/no.err"
		return
	fi
	record_known cpu cpu $cpu_s -F $cpu_hz || return
	folded "$tmp/cpu.cresset" cpu >"$tmp/cpu.folded"
	shares cpu cpu "$tmp/cpu.folded" $least
	whole_stacks cpu "$tmp/cpu.folded"
	fact "cpu: $(grep -E 'lost|truncated' "$tmp/cpu.err" | tail -n 2 | paste -sd ' ')"
}
# One that waits: what is recorded is that of the waiter's clock. waiting FEATURE CPU_SECONDS OPTION...
waiting() {
	local feature=$1 seconds=$2
	shift 2
	if limited "$feature"; then
		timeout "$most_s" "$cresset" record --no-progress "$@" -d 1 -o "$tmp/$feature.cresset" 2>"$tmp/$feature.err"
		is_said "$feature" "$tmp/$feature.err"
		return 1
	fi
	record_known "$feature" "$feature" "$seconds" "$@" || return
}
feature_off_cpu() {
	local whole blocked
	waiting off-cpu $short_s -m 0 -e off-cpu,sched-wait || return
	folded "$tmp/off-cpu.cresset" off-cpu,sched-wait >"$tmp/off-cpu.folded"
	sums off-cpu off-cpu "$tmp/off-cpu.folded"
	if limited tables; then return; fi
	# Tables of a program are read after its first wait: those have no whole stack, and say so.
	whole=$(grep -E '^[^;]*;(__)?clone3?;start_thread;waiter_main;(descend;){21}wait_rounds;' "$tmp/off-cpu.folded" | folded_sum ';wait_known;.*\[blocked: ')
	blocked=$(folded_sum "^$me-waiter;.*\\[blocked: " <"$tmp/off-cpu.folded")
	holds "off-cpu: … and but for the first of them its stacks reach the thread's start ($whole of $blocked µs)" test "$whole" -ge $((blocked - first_us)) -a "$whole" -gt 0
	is "off-cpu: … where they don't, they say so" "$(grep ';wait_known;' "$tmp/off-cpu.folded" |
		grep -vE '^[^;]*;((__)?clone3?;start_thread;waiter_main;(descend;){21}wait_rounds;|\[truncated: (unwind table not loaded|stack not copied: [^]]*)\];)')" ""
}
feature_wall() {
	local from stolen times
	from=$(steal_us)
	waiting wall $short_s -m 0 -F 499 -e wall || return
	stolen=$(stolen_us "$from") times=$(awk '$1 == "delay" { n += $4 } END { print n + 0 }' "$tmp/wall.truth")
	folded "$tmp/wall.cresset" wall >"$tmp/wall.folded"
	sums wall wall "$tmp/wall.folded"
	# Time on the CPU is from switch to switch. How far switches and the scheduler's clock agree: tests/live/wall.sh, slack_us.
	near "wall: µs of the worker on the CPU" "$(grep "^$me;" "$tmp/wall.folded" | grep -vE '\[(blocked: |sched-wait|off-CPU)' | folded_sum)" \
		"$(truth wall used)" "$(awk "BEGIN { print $(truth wall used) * .03 + $times * 15 + 1000 + $stolen }")"
}
# How long a thread of this name was ready without a CPU, in µs, by the kernel's own trace: that of them with the most lines, the worker.
traced_queue_us() { # TRACE COMM
	awk -v comm="$2" '
		function field(name) { return match($0, name "=[^ ]+") ? substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1) : "" }
		match($0, /[0-9]+\.[0-9]+: sched_/) { at = substr($0, RSTART) + 0 }
		/sched_switch:/ {
			out = field("prev_pid"); come = field("next_pid")
			if (field("next_comm") == comm && come in since) { queued[come] += at - since[come]; lines[come]++; delete since[come] }
			if (field("prev_comm") == comm && field("prev_state") ~ /^R/) since[out] = at
		}
		/sched_wakeup/ && field("comm") == comm && !(field("pid") in since) { since[field("pid")] = at }
		END {
			for (pid in lines) if (lines[pid] > most) { most = lines[pid]; us = queued[pid] * 1e6 }
			printf "%d", us
		}' "$1"
}
feature_sched_wait() {
	local want got placed traced='' pin='taskset -c 0'
	start taskset -c 0 "$progs/burn" rival 1000 >/dev/null
	begin_ftrace "$tmp/switches" sched/sched_switch "prev_comm == \"$me\" || next_comm == \"$me\"" sched/sched_wakeup "comm == \"$me\"" && traced=1
	waiting sched-wait $long_s -m 0 -e sched-wait || return
	[ -z "$traced" ] || end_ftrace "$tmp/switches"
	kill "${pids[-1]}"
	folded "$tmp/sched-wait.cresset" sched-wait >"$tmp/sched-wait.folded"
	# The scheduler's own sum counts from when another thread was woken to preempt it, not from the switch that follows: it is for where no trace can be had.
	want=$(truth sched-wait delay worker)
	fact "sched-wait: the scheduler's own sum $want µs${traced:+, its trace $(traced_queue_us "$tmp/switches" "$me") µs}"
	[ -z "$traced" ] || want=$(traced_queue_us "$tmp/switches" "$me")
	got=$(folded_sum "^$me;.*\\[sched-wait" <"$tmp/sched-wait.folded")
	near "sched-wait: µs that the worker was ready without a CPU" "$got" "$want" "$((want * 3 / 100))"
	placed=$(folded_sum "^$me;.*;work_rounds.*\\[sched-wait" <"$tmp/sched-wait.folded")
	holds "sched-wait: … 95 % of it in work_rounds ($placed of $got µs)" awk "BEGIN { exit !($got && $placed >= .95 * $got) }"
}
feature_wakers() {
	local woken by
	waiting wakers $short_s -e off-cpu --wakers || return
	folded "$tmp/wakers.cresset" off-cpu >"$tmp/wakers.folded"
	woken=$(folded_sum ';wait_known;' <"$tmp/wakers.folded") by=$(folded_sum ";wait_known;.*\\[blocked: futex/lock\\];\\[woken by: $me" <"$tmp/wakers.folded")
	holds "wakers: 95 % of the waits name the worker ($by of $woken µs)" awk "BEGIN { exit !($woken > 0 && $by >= $woken * .95) }"
}
feature_waker_stacks() {
	local woken by
	waiting waker-stacks $short_s -e off-cpu --waker-stacks || return
	folded "$tmp/waker-stacks.cresset" off-cpu >"$tmp/waker-stacks.folded"
	woken=$(folded_sum ';wait_known;' <"$tmp/waker-stacks.folded")
	by=$(folded_sum ';wait_known;.*\[blocked: futex/lock\];.*;wake_waiter;' <"$tmp/waker-stacks.folded")
	# A wait takes 0.1 s. The tables of the worker are read after its first wake, which takes a slow machine a few more.
	holds "waker-stacks: all but the first waits have wake_waiter in the stack of the worker ($by of $woken µs)" test "$by" -ge $((woken - first_us)) -a "$by" -gt 0
}
feature_python() {
	local all
	if limited python; then
		timeout "$most_s" "$cresset" record -v --no-progress -o "$tmp/python.cresset" -- python3 -c 'pass' 2>"$tmp/python.err"
		is_said python "$tmp/python.err"
		return
	fi
	cat >"$tmp/known.py" <<-'END'
		import time
		def turn():
		    x = 0
		    for i in range(1000):
		        x += i * i
		    return x
		def often(): turn(); turn(); turn()
		def rarely(): turn()
		while time.process_time() < PYTHON_S:
		    often()
		    rarely()
	END
	sed -i "s/PYTHON_S/$python_s/" "$tmp/known.py"
	timeout "$most_s" "$cresset" record --no-progress -F 499 -o "$tmp/python.cresset" -- python3 "$tmp/known.py" 2>"$tmp/python.err"
	is "python: the recording" $? 0
	folded "$tmp/python.cresset" cpu >"$tmp/python.folded"
	all=$(folded_sum ';turn' <"$tmp/python.folded")
	holds "python: functions of Python are there ($all samples)" test "$all" -ge 500
	near "python: share of often()" "$(percent "$(folded_sum ';often;' <"$tmp/python.folded")" "$all")" 75 "$(awk "BEGIN { print 5 * 100 * sqrt(.75 * .25 / ($all + 1)) }")"
	if limited tables; then return; fi
	holds "python: 99 % of them start at the interpreter's start" awk "BEGIN { exit !($(folded_sum '^[^;]*;_start;.*;<module>;(often|rarely);' <"$tmp/python.folded") >= .99 * $all) }"
}
feature_gpu() {
	export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
	printf 'kernel * ns 1000\n' >"$CRESSET_DOUBLE"
	# The first call has the libraries looked at, and a slow machine needs a while for that.
	printf 'setup launch 1 warm\n- sleep 8000\ntrain launch 300 saxpy\ninfer driver 120 gemm\nsetup alloc 10 1048576\n- sleep 1000\n' >"$tmp/scenario"
	timeout "$most_s" "$cresset" record --no-progress -e gpu-launch,hbm-alloc -o "$tmp/gpu.cresset" -- "$progs/gpu_calls" "$tmp/scenario" 2>"$tmp/gpu.err"
	local status=$?
	unset LD_LIBRARY_PATH CRESSET_DOUBLE
	if limited gpu; then
		is_said gpu "$tmp/gpu.err"
		return
	fi
	if [ $status != 0 ]; then
		not_ok "gpu: the recording" "$(tail -n 5 "$tmp/gpu.err")"
		return
	fi
	ok "gpu: the recording"
	folded "$tmp/gpu.cresset" gpu-launch >"$tmp/gpu.folded"
	is "gpu: launches of train()" "$(folded_sum ';main;.*train;.*;?cudaLaunchKernel' <"$tmp/gpu.folded")" 300
	is "gpu: launches of infer()" "$(folded_sum ';main;.*infer;' <"$tmp/gpu.folded")" 120
	folded "$tmp/gpu.cresset" hbm-alloc >"$tmp/gpu.folded"
	is "gpu: bytes that were allocated" "$(folded_sum <"$tmp/gpu.folded")" 10485760
	is "gpu: … in setup()" "$(folded_sum ';setup;' <"$tmp/gpu.folded")" 10485760
	grep -v ';setup;' "$tmp/gpu.folded" | sed 's/^/# elsewhere: /'
}
# Who is recorded, while two programs burn: filtered NAME OPTION...
filtered() {
	local name=$1
	shift
	begin "$tmp/$name.folded" -F $filter_hz "$@"
	until_cpu_ms "$chosen" "$filter_ms"
	end
	is "filters: $name: the recording" $? 0
	holds "filters: $name: who is chosen is there" test "$(folded_sum "^$chosen_name;.*burn_loop" <"$tmp/$name.folded")" -ge 100
	is "filters: $name: nobody else is" "$(folded_sum "^$other_name" <"$tmp/$name.folded")" 0
}
# Until a process has used so much more CPU time.
until_cpu_ms() { # PID MS
	local until=$(($(cut -d' ' -f1 "/proc/$1/schedstat") + $2 * 1000000))
	for _ in $(seq 600); do
		[ "$(cut -d' ' -f1 "/proc/$1/schedstat")" -ge $until ] && return
		sleep 0.1
	done
}
feature_filters() {
	local chosen group v2
	if limited cpu; then return; fi
	start "$progs/burn" "$chosen_name" 1000 >/dev/null
	chosen=${pids[-1]}
	start "$progs/burn" "$other_name" 1000 >/dev/null
	until_comm "$chosen" "$chosen_name"
	sleep 0.2
	filtered pid -p "$chosen"
	filtered tid -t "$chosen"
	filtered comm --comm "${chosen_name%?}*"
	v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts) group=$v2/cresset-features
	if limited cgroup; then
		"$cresset" record --no-progress --cgroup /sys/fs/cgroup/cpu -d 1 -o "$tmp/no.folded" 2>"$tmp/no.err"
		is_said cgroup "$tmp/no.err"
	elif [ -n "$v2" ] && mkdir -p "$group" 2>/dev/null && echo "$chosen" >"$group/cgroup.procs"; then
		filtered cgroup --cgroup "$group"
		echo "$chosen" >"$v2/cgroup.procs"
		rmdir "$group"
	else
		skip "filters: cgroup" "no cgroup can be made here"
	fi
	kill "$chosen" "${pids[-2]}" 2>/dev/null
}
feature_top() {
	if limited cpu; then return; fi
	start "$progs/burn" topmost 1000 >/dev/null
	until_comm "${pids[-1]}" topmost
	timeout "$most_s" "$cresset" top --once -i 5s -n 20 >"$tmp/top.txt" 2>"$tmp/top.err"
	is "top: its status" $? 0
	if grep -qE 'burn_loop +burn$' "$tmp/top.txt"; then
		ok "top: the loop of burn is among the functions"
	else
		not_ok "top: the loop of burn is among the functions" "$(cat "$tmp/top.txt" "$tmp/top.err")"
	fi
	kill "${pids[-1]}"
}

# Asks the API of the page: ask SELECTOR
ask() { curl -sfG -m 60 "${url}api/v1/flame" --data-urlencode "q=$1" --data-urlencode fmt=folded --data-urlencode from=now-1h; }
# Until nothing more comes of the program, which has ended: questions in a row have the same answer for 2 s once its waits are there, for 10 s if
# they never are. until_shown OFF_US
until_shown() {
	local last='' now same=0
	for _ in $(seq 300); do # names come when the store process gets a CPU
		ask "cpu{comm=\"$me\"}" >"$tmp/up.cpu"
		ask "off-cpu{comm=\"$me-waiter\"}" >"$tmp/up.off"
		now="$(folded_sum ';work_(half|quarter|rest)[; ]' <"$tmp/up.cpu") $(folded_sum 'blocked: ' <"$tmp/up.off")"
		if [ "$now" = "$last" ]; then same=$((same + 1)); else same=0; fi
		[ $same -ge 2 ] && [ "${now% *}" -gt 0 ] && [ "${now#* }" -ge "$1" ] && return
		[ $same -ge 10 ] && [ "${now% *}" -gt 0 ] && return
		last=$now
		sleep 1
	done
}
half() { pgrep -P "$always" -x "$1"; }
feature_up() {
	local url='' off lost part=0 waits=0 cut='^$'
	if limited up; then
		timeout 20 "$cresset" up --data "$tmp/data" --listen none 2>"$tmp/up.err"
		is_said up "$tmp/up.err"
		return
	fi
	chmod 755 "$tmp" # the store process is nobody
	# shellcheck disable=SC2086 # a command
	${CRESSET_UP:-"$cresset" up} --data "$tmp/data" --listen 127.0.0.1:0 --freq 499 --max-rate 100000 --interval 1s --wait-budget 0 >"$tmp/up.out" 2>"$tmp/up.err" &
	always=$!
	pids+=("$always")
	for _ in $(seq 600); do
		url=$(sed -n 's/.*look at it: *//p' "$tmp/up.err" | head -n 1)
		[ -n "$url" ] && curl -sf -m 60 -o /dev/null "${url}api/v1/status" && break
		kill -0 "${pids[-1]}" 2>/dev/null || break
		sleep 0.1
	done
	if ! curl -sf -m 60 "${url}api/v1/status" >"$tmp/up.status"; then
		not_ok "up: the page responds" "$(tail -n 5 "$tmp/up.err")"
		return
	fi
	ok "up: the page responds"
	always=$(pgrep -P "${pids[-1]}" -x cresset | head -n 1) # of a script
	[ -n "$always" ] && [ -n "$(half cresset-collect)" ] || always=${pids[-1]}
	is "up: … with a page" "$(curl -s -m 60 -o "$tmp/page" -w '%{http_code}' "$url")" 200
	# The collector may begin after the page does; a program that came before it would not be seen from its start.
	for _ in $(seq 300); do
		[ -n "$(ask 'cpu{}' 2>/dev/null)" ] && break
		sleep 0.2
	done
	"$progs/known" "$me" $long_s >"$tmp/up.truth"
	off=$(truth up off wait_known)
	until_shown $((off * 97 / 100))
	shares up up "$tmp/up.cpu" $least
	# On a host that starts programs all the time it reads a part of the records, and counts the others.
	lost=$("$cresset" sql --format csv --data "$tmp/data" "SELECT l.value, max(m.value) FROM metrics m JOIN labels l ON l.series = m.series
		AND l.key = 'reason' WHERE m.name = 'cresset_lost' GROUP BY l.value HAVING max(m.value) > 0" 2>"$tmp/sql.err" | tail -n +2 | tr -d '\r' | paste -sd ' ')
	! grep -qE '(^| )(side_band|ring_full|stack_ring_full),' <<<"$lost" || part=.5 waits=.1 cut='\[truncated: '
	whole_stacks up "$tmp/up.cpu" "$part"
	if limited up-waits; then
		is_said up-waits "$tmp/up.err"
	else
		sums up up "$tmp/up.off" "$waits"
		is "up: … below the thread's start" "$(grep ';wait_known;' "$tmp/up.off" | grep -v "$cut" | grep -vcE ';(__)?clone3?;start_thread;waiter_main;')" 0
	fi
	"$cresset" query --data "$tmp/data" "cpu{comm=\"$me\"}" --csv >"$tmp/query.csv" 2>"$tmp/query.err"
	is "up: cresset query while it runs" $? 0
	holds "up: … has the known functions" grep -q work_half "$tmp/query.csv"
	fact "up: lost: $lost"
	fact "up: collector: $(awk '$1 == "VmRSS:" || $1 == "RssAnon:" { printf "%s %d KiB, ", $1, $2 }' "/proc/$(half cresset-collect)/status")$(find "/proc/$(half cresset-collect)/fd" | wc -l) descriptors, $(nproc) CPUs"
	fact "up: store: $(awk '$1 == "VmRSS:" || $1 == "RssAnon:" { printf "%s %d KiB, ", $1, $2 }' "/proc/$(half cresset-store)/status")$(find "/proc/$(half cresset-store)/fd" 2>/dev/null | wc -l) descriptors"
	kill "$always"
	wait "${pids[-1]}"
	is "up: it ends" $? 0
}
# Each CPU has a program, and each of these is sampled.
feature_cpus() {
	local cpu burners=() cpus
	if limited cpu; then return; fi
	cpus=$(nproc)
	begin "$tmp/cpus.cresset" -a -F 99
	for ((cpu = 0; cpu < cpus; cpu++)); do
		start taskset -c $cpu "$progs/burn" each-cpu 3 >/dev/null
		burners+=("${pids[-1]}")
	done
	wait "${burners[@]}"
	end
	is "cpus: the recording" $? 0
	is "cpus: each of $cpus is sampled" "$("$cresset" sql --format csv --data "$tmp/cpus.cresset" \
		"SELECT count(DISTINCT cpu) FROM samples WHERE type = 'cpu' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = 'each-cpu')" | tail -n 1 | tr -d '\r')" "$cpus"
	fact "cpus: $(grep -m 1 done: "$tmp/begin.err") $cpus CPUs"
}
# How long the kernel side works for a sample of a stack some 25 frames deep; the kernel counts it.
feature_cost() {
	local known
	if limited cpu; then return; fi
	sysctl -q kernel.bpf_stats_enabled=1 2>/dev/null || { skip "cost: of a sample" "kernel.bpf_stats_enabled cannot be set" && return; }
	start "$progs/known" costly 1000 >/dev/null
	known=${pids[-1]}
	until_comm "$known" costly
	begin "$tmp/cost.folded" -F 499 -p "$known"
	until_cpu_ms "$known" 4000
	# 7: BPF_PROG_TYPE_PERF_EVENT
	fact "cost: $(cat /proc/"$recorder"/fdinfo/* 2>/dev/null | awk '
		/^prog_type:/ { type = $2 } /^run_time_ns:/ { ns = $2 }
		/^run_cnt:/ && type == 7 && $2 > most { most = $2; of = ns }
		END { printf "%d ns a sample, of %d", most ? of / most : 0, most }')"
	end
	is "cost: the recording" $? 0
	kill "$known"
	sysctl -q kernel.bpf_stats_enabled=0
}

fact "kernel: $release $(nproc) CPUs ${setting:+$setting }$(cat /sys/kernel/security/lockdown 2>/dev/null)"
[ $# -gt 0 ] || set -- doctor cpu off-cpu wall sched-wait wakers waker-stacks python gpu filters top up cpus cost
for feature; do
	from=$SECONDS
	"feature_${feature//-/_}"
	fact "$feature: took $((SECONDS - from)) s"
done
finish
