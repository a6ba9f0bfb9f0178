#!/usr/bin/env bash
# tier: live
# run: alone
# Late attach into programs of known truth: each checks itself for any change. The long proof is tests/soak/attach.sh.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
. tests/live/lib_attach.sh

# --- parked in each call: three times each, without a visible change ---
for mode in poll epoll select nanosleep read recv accept cond sem wait sigtimedwait raw; do
	begin "$mode"
	by=
	for _ in 1 2 3; do inject && by+=" $(field result) $(field thread)"; done
	# Between two of its calls, another thread is chosen.
	holds "$mode: attached, by the thread that is meant for it" grep -q 'loaded cuda-EvtHandlr' <<<"$by"
	sleep 0.06 # the interrupted call ends
	is "$mode: alive, and nothing has changed" "$(asked)" "3 attached, ok"
	ended
	is "$mode: setuid works, and it ends well" $? 0
done

# --- hammers ---
begin poll --malloc 2
for _ in $(seq 8); do inject; done
is "malloc meanwhile: alive and correct" "$(asked)" "8 attached, ok"
ended
is "malloc in other threads: ends well" $? 0
begin poll --malloc 1 --dlopen 2
for _ in $(seq 8); do inject; done
is "dlopen in other threads: alive and correct" "$(asked)" "8 attached, ok"
ended
is "dlopen in other threads: ends well" $? 0

# --- without a parked thread ---
begin spin
inject --wait 100ms
is "never seen parked: caught as it enters a call" "$status $(field at_entry)" "0 true"
is "never seen parked: nothing has changed" "$(asked)" "1 attached, ok"
ended
is "never seen parked: ends well" $? 0
begin mutex
inject --wait 200ms
is "only in futexes of locks: no thread is safe" "$status $(field refusal)" "4 no-thread"
is "…and it is no longer traced" "$(sed -n 's/^TracerPid:\t//p' "/proc/$target/status")" 0

# --- repeated attaches, and needless ones ---
begin poll
ln -sf "$progs/attach_lib" "$tmp/libsame.so"
same=("$cresset" gpu attach "$target" --library "$tmp/libsame.so" --force "young,no-library" --json)
json=$("${same[@]}" --dry-run)
is "a dry run names the thread" "$(field result) $(field thread) $(field stop_us)" "possible cuda-EvtHandlr 0"
is "…and does nothing" "$(asked)" "0 attached, ok"
json=$("${same[@]}")
first=$(size_of "$target")
for _ in $(seq 10); do json=$("${same[@]}"); done
is "a second attach neither attaches nor stops" "$(field result) $(field stop_us)" "already 0"
is "…and nothing has grown" "$(size_of "$target")" "$first"
printf 'no library' >"$tmp/text.so"
"$cresset" gpu attach "$target" --library "$tmp/text.so" --force young,no-library 2>/dev/null
is "an invalid library is bad input" $? 6

# A library that the process's loader refuses leaves nothing behind.
for i in $(seq 6); do
	json=$("$cresset" gpu attach "$target" --library "$progs/attach_lib_undefined" --force young,no-library --json 2>"$tmp/errors")
	[ "$i" -gt 1 ] || { sleep 0.05 && first=$(size_of "$target"); }
done
sleep 0.05
holds "a library that cannot be loaded: the loader's words" grep -q 'cannot load the library: .*attach_nowhere' "$tmp/errors"
is "…and nothing of the attempts stays" "$(size_of "$target")" "$first"
is "…and nothing has changed" "$(asked)" "1 attached, ok"
head -c 700 "$progs/attach_lib" >"$tmp/cut.so" # its loader would read past the end, and die
"$cresset" gpu attach "$target" --library "$tmp/cut.so" --force young,no-library 2>/dev/null
is "a library that is cut is never given to it" $? 6

# --- we are killed during it ---
for i in $(seq 12); do
	ln -sf "$progs/attach_lib" "$tmp/k$i.so"
	"$cresset" gpu attach "$target" --library "$tmp/k$i.so" --force young,no-library >/dev/null 2>&1 &
	killer=$!
	sleep 0.0$((i % 4))$((RANDOM % 10))
	kill -9 $killer 2>/dev/null
	wait $killer 2>/dev/null
done
sleep 0.1
is "killed at any moment: not stopped, not traced" "$(sed -n 's/^TracerPid:\t//p' "/proc/$target/status") $(sed -n 's/^State:\t\([A-Z]\).*/\1/p' "/proc/$target/status")" "0 S"
holds "…and alive" test -n "$(asked)"
kill -9 "$target"
wait "$target" 2>/dev/null
is "a process that is gone" "$("${same[@]}" 2>/dev/null | sed 's/.*"refusal":"\([a-z-]*\)".*/\1/')" gone

# --- refusals ---
refusal() { # PID [OPTIONS]
	json=$("$cresset" gpu attach "$1" --library "$progs/attach_lib" --json "${@:2}" 2>"$tmp/errors")
	field refusal
}
one_line() { [ "$(head -1 "$tmp/errors" | wc -l)" = 1 ] && grep -q "process $1 $2" "$tmp/errors"; }
start "$progs/attach_static"
is "static" "$(refusal $!)" static
holds "…is reported" one_line $! "is linked statically"
start "$progs/attached" poll >/dev/null
is "young" "$(refusal $! --force no-library)" young
is "without the library it needs" "$(refusal $! --force young)" no-library
plain=$!
kill -STOP $plain
sleep 0.05
is "stopped" "$(refusal $plain)" stopped
kill -CONT $plain
is "a thread's number" "$(refusal "$(find /proc/$plain/task -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tail -1)")" thread
start "$progs/attach_odd" trace $plain >/dev/null
sleep 0.3
is "traced" "$(refusal $plain)" traced
holds "…the tracer is named" one_line $plain "is already traced by .*attach_odd"
kill -9 "${pids[-1]}" # what it traces could not be waited for
start "$progs/attach_odd" vfork >/dev/null
sleep 0.1
is "the parent of vfork, in state D" "$(refusal $!)" uninterruptible
is "…and its child, with the same memory" "$(refusal "$(pgrep -P $!)")" shared-memory
start "$progs/attach_odd" seccomp-kill >/dev/null
sleep 0.1
is "a filter of system calls" "$(refusal $! --force young,no-library)" seccomp
holds "…and it lives" kill -0 $!
start "$progs/attach_odd" seccomp-errno >/dev/null
filtered=$!
sleep 0.1
json=$("$cresset" gpu attach $filtered --library "$progs/attach_lib" --force young,no-library,seccomp --json 2>/dev/null)
is "one that forbids openat, forced: dlopen fails" "$(field result)" failed
holds "…and it lives" kill -0 $filtered
is "kernel thread" "$(refusal 2)" kernel-thread
bash -c 'sleep 0.3 & exec sleep 30' & # its child ends after the exec: bash would wait for it
pids+=($!)
for _ in $(seq 1200); do
	zombie=$(pgrep -P $!) && grep -q '^State:.Z' "/proc/$zombie/status" && break
	sleep 0.05
done
is "zombie" "$(refusal "$zombie")" zombie

# --- namespaces, and memory that cannot be run ---
# In a chroot whose root is not a mount point, unshare can neither keep mounts from spreading nor create a user namespace.
spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
inside() { # OPTIONS of unshare
	: >"$tmp/inside" # the program before this one has said "ready" there
	# shellcheck disable=SC2086 # none or one
	unshare "$@" $spread "$progs/attached" poll >"$tmp/inside" &
	pids+=($!)
	for _ in $(seq 6000); do grep -q ready "$tmp/inside" && break || sleep 0.01; done
	target=$(pgrep -P "${pids[-1]}")
	said=$tmp/inside
}
inside -m -p -f --kill-child --mount-proc
inject
is "other pid and mount namespaces: attached" "$status $(field by_file)" "0 false"
is "…nothing has changed" "$(asked)" "1 attached, ok"
if unshare -U true 2>/dev/null; then
	inside -U -r -m -p -f --kill-child --mount-proc
	inject
	is "another user namespace: refused" "$(field refusal)" user-namespace
	inject --force user-namespace,young,no-library
	is "…attached when forced" "$status" 0
	is "…nothing has changed" "$(asked)" "1 attached, ok"
else
	skip "another user namespace" "none can be made here"
fi
if [ -e /proc/sys/vm/memfd_noexec ]; then
	: >"$tmp/inside"
	# shellcheck disable=SC2086
	unshare -p -f --kill-child --mount-proc $spread sh -c "echo 2 >/proc/sys/vm/memfd_noexec && exec '$progs/attached' poll" >"$tmp/inside" &
	pids+=($!)
	for _ in $(seq 6000); do grep -q ready "$tmp/inside" && break || sleep 0.01; done
	target=$(pgrep -P "${pids[-1]}")
	inject
	is "memory that cannot be run: a file in /tmp" "$status $(field by_file)" "0 true"
	is "…nothing has changed" "$(asked)" "1 attached, ok"
	is "…and no file stays" "$(find /tmp -maxdepth 1 -name 'cresset-attach.*' -o -maxdepth 1 -name "lib$count.so*" | wc -l)" 0
else
	skip "memory that cannot be run" "no vm.memfd_noexec here"
fi

# All injections above. Other programs run beside this test, so the limits are those of the soak test (tests/soak/attach.sh).
p50=$(percentile "$tmp/stops" 50)
echo "# stops: $(wc -l <"$tmp/stops"), p50 $p50 us, p99 $(percentile "$tmp/stops" 99) us, load $(cut -d' ' -f1 /proc/loadavg)"
finish
