#!/usr/bin/env bash
# tier: live
# Late attach must not harm its target, whatever happens in the meantime: the attacher is killed, the program is stopped, frozen or replaced, a system
# call or malloc takes long, a thread filters its system calls. Moments are counted in the attacher's system calls (tests/live/prog/attach_at.c), so
# each of them is hit.
#
# CRESSET_ATTACH_KILLS=N: also N kills, stops, freezes and execs at random moments; and N programs of each kind: holding the lock of their mappings,
# waiting in their allocator with its lock, or killed for a system call that we ask for.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
. tests/live/lib_attach.sh
chmod 755 "$tmp"
at=$progs/attach_at
# Root can undo changes that other users cannot: the programs are an ordinary user's.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP it needs root"; exit 0; }
cp "$progs/attach_fragile" "$tmp/other"

fragile() { # MODE…
	said=$tmp/said.$RANDOM
	"${nobody[@]}" "$progs/attach_fragile" "$@" >"$said" &
	target=$!
	pids+=("$target")
	for _ in $(seq 6000); do grep -q ready "$said" && return || sleep 0.01; done
}
drop() {
	kill -9 "$target" 2>/dev/null
	wait "$target" 2>/dev/null
	unset "pids[-1]"
}
# It is as it was, now or soon; and it has printed LINES lines in all: is_right LINES
is_right() {
	wrong=$("$at" look 0 calls "$target") && [ "$(wc -l <"$said")" = "$1" ] && return
	wrong="$wrong; $(tail -n1 "$said")"
	return 1
}
# at_moment ACTION MOMENT calls|all: during one more attach, whose output is in $tmp/at. The attach that repairs the last one may still be running.
at_moment() {
	local rc
	count=$((count + 1))
	ln -sf "$progs/attach_lib" "$tmp/lib$count.so"
	for _ in $(seq 6000); do
		timeout 60 "$at" "$@" "$target" "$cresset" gpu attach "$target" --library "$tmp/lib$count.so" --force young,no-library --wait "${wait:-5s}" --json >"$tmp/at" 2>"$tmp/errors"
		rc=$?
		grep -q 'another process is attaching' "$tmp/errors" || break
		sleep 0.01
	done
	return $rc
}
spoilt() { # MOMENT: the next one begins with another program
	echo "# moment $1: $wrong"
	bad=$((bad + 1))
}
renewed() { # MODE…
	drop
	fragile "$@"
}

# --- we are killed ---------------------------------------------------------------------------------
fragile ppoll
bad=0
for ((i = 0; i < 200; i++)); do
	at_moment kill $i calls || break
	is_right 1 && continue
	spoilt $i
	renewed ppoll
done
holds "killed before or after each of its calls: there are many" test $i -ge 40
is "…each time the program is as it was, of $i" $bad 0
at_moment kill 1000 calls
holds "…and it can be attached to" grep -q '"result":"loaded"' "$tmp/at"
drop
begin spin
bad=0 wait=50ms
for i in 4 9 14 17 20 23 26 29 34 40; do
	at_moment kill $i calls
	case $(asked) in *" attached, ok") ;; *) wrong=$(tail -n1 "$said") && spoilt $i ;; esac
done
is "one that is caught as it enters a call, the same" $bad 0
ended
wait=5s

# --- the process is stopped --------------------------------------------------------------------------
is_stopped() { grep -q '^State:.T (stopped)' "/proc/$target/status"; }
stop_at() { # MOMENT
	local attacher stopped=no # set once seen: at times it is traced when checked
	at_moment stop "$1" calls &
	attacher=$!
	count=$((count + 1)) # for the one in the background
	for _ in $(seq 6000); do
		is_stopped && stopped=yes && break
		kill -0 $attacher 2>/dev/null || break
		sleep 0.01
	done
	is_stopped && stopped=yes
	wrong="SIGSTOP is lost"
	[ $stopped = yes ] || spoilt "$1"
	kill -CONT "$target"
	wait $attacher
	is_right 1 && return
	spoilt "$1"
	renewed ppoll
}
fragile ppoll
bad=0
for ((i = 1; i < 48; i += 3)); do stop_at $i; done
is "stopped in the middle: it stays stopped, and is unchanged when it continues" $bad 0
drop

# --- it runs another program -------------------------------------------------------------------------
exec_at() { # MOMENT
	fragile execs "$tmp/other" ppoll
	at_moment exec "$1" calls
	[ "$1" -gt 0 ] || result=$(sed -n 's/.*"refusal":"\([a-z-]*\)".*/\1/p' "$tmp/at")
	for _ in $(seq 6000); do [ "$(grep -c ready "$said")" = 2 ] && break || sleep 0.01; done
	is_right 2 || spoilt "$1"
	drop
}
bad=0
for i in 0 1 4 8 12 16 20 24 28 32 36 40; do exec_at $i; done
is "another program between looking and stopping: refused" "$result" changed
is "…and at other moments the new one is unchanged" $bad 0

# --- slow calls --------------------------------------------------------------------------------------
fragile slow-call
inject --force young,no-library,seccomp
is "a system call of ours that takes long: waited for" "$(field result)" loaded
holds "…which is reported" grep -q 'blocks in the kernel' "$tmp/errors"
holds "…and the program is unchanged" is_right 1
drop
fragile slow-malloc
inject
holds "malloc takes longer than we wait: given up" grep -q 'pthread_create did not return in time.*completes it, then continues' "$tmp/errors"
"$at" look 0 calls "$target"
lines=$(wc -l <"$said")
for _ in $(seq 6000); do [ "$(wc -l <"$said")" -gt $((lines + 2)) ] && break || sleep 0.01; done
holds "…and its lock is free again" test "$(wc -l <"$said")" -gt $((lines + 2))
is "…and the program is unchanged" "$("$at" look 0 calls "$target") $(grep -c returned "$said")" " 0"
drop

# --- the lock of the mappings ----------------------------------------------------------------------------
# Whoever maps memory waits for the thread that makes or frees pages. No thread is held meanwhile; 100 times, and the longest but one is p99.
longest_but_one() { sort -n | tail -n2 | head -n1; }
bad=0 busy=0
: >"$tmp/held"
fragile churn 2
for _ in $(seq 100); do
	inject --wait 100ms
	if [ "$(field refusal)" = busy ]; then busy=$((busy + 1)); else field stop_us >>"$tmp/held"; fi
	is_right 1 && continue
	spoilt 0
	renewed churn 2
done
is "with a thread that maps and unmaps gigabytes, 100 times: unchanged" $bad 0
echo 0 >>"$tmp/held"
echo "# busy: $busy; held, us: $(sort -n "$tmp/held" | tail -n3 | tr '\n' ' ')"
holds "…no thread is stopped for 10 ms, except one in a hundred" test "$(longest_but_one <"$tmp/held")" -lt 10000
holds "…otherwise it is busy, which is reported" grep -q 'is busy mapping memory' "$tmp/errors"
drop

# --- threads that filter their system calls ------------------------------------------------------------
for mode in filtered strict; do
	fragile "$mode"
	inject
	is "the only thread that waits is $mode: another one is taken" "$(field result) $(field tid)" "loaded $target"
	holds "…and the program lives" kill -0 "$target"
	drop
	fragile "all-$mode"
	inject --wait 100ms
	is "all threads are $mode: refused" "$(field refusal)" seccomp
	holds "…which is reported" grep -q seccomp "$tmp/errors"
	holds "…and the program lives" kill -0 "$target"
	drop
done

# --- its cgroup is frozen ------------------------------------------------------------------------------
group=
for dir in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -e "$dir/cgroup.controllers" ] && mkdir "$dir/cresset-test-$$" 2>/dev/null && group=$dir/cresset-test-$$ && break
done
if [ -n "$group" ] && [ -e "$group/cgroup.freeze" ]; then
	export ATTACH_FREEZER=$group/cgroup.freeze
	fragile ppoll
	echo "$target" >"$group/cgroup.procs"
	echo 1 >"$ATTACH_FREEZER"
	for _ in $(seq 6000); do grep -q 'frozen 1' "$group/cgroup.events" && break || sleep 0.01; done
	inject
	is "frozen: refused" "$(field refusal)" frozen
	echo 0 >"$ATTACH_FREEZER"
	freeze_at() { # MOMENT
		local attacher
		at_moment freeze "$1" calls &
		attacher=$!
		count=$((count + 1))
		for _ in $(seq 6000); do
			grep -q 'frozen 1' "$group/cgroup.events" && break
			kill -0 $attacher 2>/dev/null || break
			sleep 0.01
		done
		sleep 2.5 # longer than any wait
		echo 0 >"$ATTACH_FREEZER"
		wait $attacher
		is_right 1 && return
		spoilt "$1"
		[ -z "${CRESSET_ATTACH_KILLS-}" ] || { renewed ppoll && echo "$target" >"$group/cgroup.procs"; }
	}
	bad=0
	for i in 18 26; do freeze_at $i; done
	is "frozen in the middle: unchanged when it is thawed" $bad 0
	if [ -n "${CRESSET_ATTACH_KILLS-}" ]; then
		bad=0
		for _ in $(seq "$CRESSET_ATTACH_KILLS"); do freeze_at $((RANDOM % 48)); done
		is "frozen at $CRESSET_ATTACH_KILLS moments: the same" $bad 0
	fi
	drop
else
	skip "frozen" "no cgroup of version 2 can be made here"
fi
[ -z "$group" ] || { sleep 0.1 && rmdir "$group"; }

# --- long ----------------------------------------------------------------------------------------------
if [ -n "${CRESSET_ATTACH_KILLS-}" ]; then
	fragile ppoll
	at_moment kill 100000 all
	moments=$(sed -n 's/^moments: //p' "$tmp/errors") bad=0 hits=0
	for _ in $(seq "$CRESSET_ATTACH_KILLS"); do
		i=$((RANDOM % moments))
		at_moment kill $i all || continue
		hits=$((hits + 1))
		is_right 1 && continue
		spoilt $i
		renewed ppoll
	done
	is "killed at any of $moments moments, $hits times: the program is as it was" $bad 0
	holds "…often enough" test $hits -ge $((CRESSET_ATTACH_KILLS / 2))
	drop
	fragile ppoll
	bad=0
	for _ in $(seq "$CRESSET_ATTACH_KILLS"); do stop_at $((RANDOM % 48)); done
	is "stopped at $CRESSET_ATTACH_KILLS moments: as it was" $bad 0
	drop
	bad=0
	for _ in $(seq "$CRESSET_ATTACH_KILLS"); do exec_at $((1 + RANDOM % 48)); done
	is "another program at $CRESSET_ATTACH_KILLS moments: as it began" $bad 0
	bad=0
	for _ in $(seq "$CRESSET_ATTACH_KILLS"); do
		fragile populate 1
		sleep 0.$((RANDOM % 9))
		inject
		is_right 1 || spoilt 0
		drop
	done
	is "while its mappings are locked, $CRESSET_ATTACH_KILLS times: as it was" $bad 0
	bad=0
	for _ in $(seq "$CRESSET_ATTACH_KILLS"); do
		fragile slow-malloc
		inject
		"$at" look 0 calls "$target" >/dev/null || spoilt 0
		lines=$(wc -l <"$said")
		for _ in $(seq 6000); do [ "$(wc -l <"$said")" -gt $((lines + 2)) ] && break || sleep 0.01; done
		wrong="its lock is held"
		[ "$(wc -l <"$said")" -gt $((lines + 2)) ] || spoilt 0
		drop
	done
	is "its allocator waits with a lock, $CRESSET_ATTACH_KILLS times: it goes on" $bad 0
	bad=0
	for _ in $(seq "$CRESSET_ATTACH_KILLS"); do
		fragile filtered
		inject --wait 50ms
		wrong="it is dead"
		[ "$(field refusal)" = no-thread ] && kill -0 "$target" 2>/dev/null || spoilt 0
		drop
	done
	is "a filter would kill it, $CRESSET_ATTACH_KILLS times: refused, and it lives" $bad 0
fi
finish
