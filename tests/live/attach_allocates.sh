#!/usr/bin/env bash
# tier: live
# Late attach into programs with a single thread, which allocates all the time. A thread that is stopped inside its allocator, inside the loader or below a signal handler
# that has interrupted them would wait for itself: "pthread_create did not return".
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
. tests/live/lib_attach.sh
export ATTACH_LIB_STAY=0 # no second thread
each=${EACH:-4}

takes() { # NAME PROGRAM [OPTIONS]
	local name=$1 failed=0
	program=$2
	begin "${@:3}"
	is "$name: one thread" "$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 | wc -l)" 1
	for _ in $(seq "$each"); do inject --wait 50s || { failed=$((failed + 1)) && sed 's/^/# /' "$tmp/errors"; }; done
	is "$name: attached each time" $failed 0
	is "$name: alive, and nothing has changed" "$(asked)" "$each attached, ok"
	ended
	is "$name: ends well" $? 0
}
takes "C, never waits" allocates loop
takes "C, waits with stale words on its stack" allocates parks
takes "C++" allocates_cxx
takes "an allocator in the program, which waits with its lock" allocates_own
takes "a signal handler that waits, and interrupts malloc" allocates handler
takes "in dlopen, with a constructor that waits" allocates opens "$progs/allocates_lib"
echo "# stops: $(wc -l <"$tmp/stops"), p50 $(percentile "$tmp/stops" 50) us, p99 $(percentile "$tmp/stops" 99) us, load $(cut -d' ' -f1 /proc/loadavg)"

# --- a program that ends during the attach ---
# Its only thread is in no call in which it can be stopped, and it ends while that is looked for.
reasons=
for _ in 1 2 3 4; do
	program=attached
	begin mutex
	{ sleep 0.3 && kill -9 "$target"; } &
	killer=$!
	inject --wait 3s
	wait $killer "$target" 2>/dev/null
	unset 'pids[-1]'
	reasons+=" $(field refusal)"
done
is "a program that ends during the attach is gone" "$reasons" " gone gone gone gone"
finish
