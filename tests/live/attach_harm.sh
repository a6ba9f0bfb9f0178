#!/usr/bin/env bash
# Late attach must not harm what it touches, whatever happens meanwhile: the attacher is killed, the program is stopped, frozen or replaced, a system call or malloc
# takes long, a thread filters its system calls. Moments are counted by the attacher's system calls (tests/live/prog/attach_at.c), so each of them is met.
#
# CRESSET_ATTACH_KILLS=N: also N kills at moments of any system call, by chance, and programs that keep the lock of their mappings.
# run: alongside
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
. tests/live/lib_attach.sh
chmod 755 "$tmp"
at=$progs/attach_at
# What root may undo, other users may not: the programs are an ordinary user's.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP it needs root"; exit 0; }
cp "$progs/attach_fragile" "$tmp/other"

fragile() { # MODE…
	said=$tmp/said.$RANDOM
	"${nobody[@]}" "$progs/attach_fragile" "$@" >"$said" &
	target=$!
	pids+=("$target")
	for _ in $(seq 300); do grep -q ready "$said" && return || sleep 0.01; done
}
drop() {
	kill -9 "$target" 2>/dev/null
	wait "$target" 2>/dev/null
	unset "pids[-1]"
}
# As it was, now or soon; and it has said LINES lines in all: is_right LINES
is_right() {
	wrong=$("$at" look 0 calls "$target") && [ "$(wc -l <"$said")" = "$1" ] && return
	wrong="$wrong; $(tail -n1 "$said")"
	return 1
}
# at_moment ACTION MOMENT calls|all: of one more attach. What that says is in $tmp/at. Who puts the last one right may still be at it.
at_moment() {
	local rc
	count=$((count + 1))
	ln -sf "$progs/attach_lib" "$tmp/lib$count.so"
	for _ in $(seq 300); do
		timeout 60 "$at" "$@" "$target" "$cresset" gpu attach "$target" --library "$tmp/lib$count.so" --force young,no-library --wait "${wait:-5s}" --json >"$tmp/at" 2>"$tmp/errors"
		rc=$?
		grep -q 'somebody else is attaching' "$tmp/errors" || break
		sleep 0.01
	done
	return $rc
}
spoilt() { # MOMENT: the next begins with another program
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
fragile ppoll
bad=0
for ((i = 1; i < 48; i += 3)); do
	at_moment stop $i calls &
	attacher=$!
	count=$((count + 1)) # of the one in the background
	stopped=no # as soon as it is seen: for moments it is traced, when it is looked at
	for _ in $(seq 500); do
		is_stopped && stopped=yes && break
		kill -0 $attacher 2>/dev/null || break
		sleep 0.01
	done
	is_stopped && stopped=yes
	wrong="SIGSTOP is lost"
	[ $stopped = yes ] || spoilt $i
	kill -CONT "$target"
	wait $attacher
	is_right 1 && continue
	spoilt $i
	renewed ppoll
done
is "stopped in the middle: it stops, and is as it was when it goes on" $bad 0
drop

# --- it runs another program -------------------------------------------------------------------------
bad=0
for i in 0 1 4 8 12 16 20 24 28 32 36 40; do
	fragile execs "$tmp/other" ppoll
	at_moment exec $i calls
	[ $i -gt 0 ] || result=$(sed -n 's/.*"refusal":"\([a-z-]*\)".*/\1/p' "$tmp/at")
	for _ in $(seq 200); do [ "$(grep -c ready "$said")" = 2 ] && break || sleep 0.01; done
	is_right 2 || spoilt $i
	drop
done
is "another program between looking and stopping: refused" "$result" changed
is "…and at other moments the new one is as it began" $bad 0

# --- what takes long ---------------------------------------------------------------------------------
fragile slow-call
inject --force young,no-library,seccomp
is "a system call of ours that takes long: waited for" "$(field result)" loaded
holds "…which is said" grep -q 'blocks in the kernel' "$tmp/errors"
holds "…and the program is as it was" is_right 1
drop
fragile slow-malloc
inject
holds "malloc takes longer than we wait: given up" grep -q 'pthread_create did not return in time.*completes it, then continues' "$tmp/errors"
"$at" look 0 calls "$target"
lines=$(wc -l <"$said")
for _ in $(seq 500); do [ "$(wc -l <"$said")" -gt $((lines + 2)) ] && break || sleep 0.01; done
holds "…and its lock is free again" test "$(wc -l <"$said")" -gt $((lines + 2))
is "…and the program is as it was" "$("$at" look 0 calls "$target") $(grep -c returned "$said")" " 0"
drop

# --- threads that filter their system calls ------------------------------------------------------------
for mode in filtered strict; do
	fragile "$mode"
	inject --wait 100ms
	is "the only thread that waits is $mode: refused" "$(field refusal)" no-thread
	holds "…which is said" grep -q '1 of them filtered by seccomp' "$tmp/errors"
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
	for _ in $(seq 200); do grep -q 'frozen 1' "$group/cgroup.events" && break || sleep 0.01; done
	inject
	is "frozen: refused" "$(field refusal)" frozen
	echo 0 >"$ATTACH_FREEZER"
	bad=0
	for i in 18 26; do
		at_moment freeze $i calls &
		attacher=$!
		count=$((count + 1))
		for _ in $(seq 1000); do
			grep -q 'frozen 1' "$group/cgroup.events" && break
			kill -0 $attacher 2>/dev/null || break
			sleep 0.01
		done
		sleep 2.5 # longer than anything is waited for
		echo 0 >"$ATTACH_FREEZER"
		wait $attacher
		is_right 1 || spoilt $i
	done
	is "frozen in the middle: as it was when it is thawed" $bad 0
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
	bad=0
	for _ in 1 2 3 4 5; do
		fragile populate 3
		sleep 0.$((RANDOM % 9))
		inject
		is_right 1 || spoilt 0
		drop
	done
	is "while its mappings are locked for seconds: as it was" $bad 0
fi
finish
