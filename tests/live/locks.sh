#!/usr/bin/env bash
# tier: live
# Waits for locks: time, number, names of locks and holders, against a program that knows them; waits that are for no lock are left out.
# CRESSET_BRIEF: fewer waits.
. tests/live/lib.sh
needs_recording
waits=1000
[ -z "${CRESSET_BRIEF-}" ] || waits=100
# Waits before the ones that are checked: a waker has no whole stack before the program's tables are loaded, which takes longer on a busy machine.
mapfile -t before < <(yes heap | head -n "$(awk "BEGIN { print int(1 + (2 + 3 * $CRESSET_SLOW) * 100 / $waits) }")")

# NAME.cresset in text: NAME.locks (ns), NAME.counts.
in_text() {
	"$cresset" convert "$tmp/$1.cresset" -o - --to folded --type lock --unit ns >"$tmp/$1.locks"
	"$cresset" convert "$tmp/$1.cresset" -o - --to folded --type lock-waits >"$tmp/$1.counts" 2>/dev/null
}
inside=() # options of unshare, and the command
# Records `locks COUNT MS KIND…`, and writes NAME.truth. lock_run NAME "OPTIONS" COUNT MS KIND…
lock_run() {
	local name=$1 options=$2
	shift 2
	# shellcheck disable=SC2086
	timeout "$most_s" "$cresset" record --no-progress -e lock $options -o "$tmp/$name.cresset" -- "${inside[@]}" "$progs/locks" "$@" >"$tmp/$name.truth" 2>"$tmp/$name.err"
	is "$name: the recording" $? 0
	in_text "$name"
}
# The same in a program that waits until the recorder samples. lock_run_beside NAME "OPTIONS" COUNT MS KIND…: PID in the options is its process
lock_run_beside() {
	local name=$1 options=$2 program
	shift 2
	rm -f "$tmp/go" && mkfifo "$tmp/go"
	# shellcheck disable=SC2016
	start sh -c 'read -r _ <"$1"; shift; exec "$@"' - "$tmp/go" "$progs/locks" "$@" >"$tmp/$name.truth"
	program=${pids[-1]}
	# shellcheck disable=SC2086
	begin "$tmp/$name.cresset" -e lock ${options//PID/$program}
	echo >"$tmp/go"
	wait "$program"
	end
	is "$name: the recording" $? 0
	in_text "$name"
}
address_of() { nm "$progs/locks" | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print $1 }'; }

# Of one kind of mutex, in a recording: check NAME KIND VARIABLE
check() {
	local name=$1 kind=$2 comm="^${2:0:8}-waiter;" n least most got count held placed lock
	read -r _ n least most <<<"$(grep "^$kind " "$tmp/$name.truth")"
	grep "$comm" "$tmp/$name.locks" >"$tmp/one.locks"
	grep "$comm" "$tmp/$name.counts" >"$tmp/one.counts"
	got=$(folded_sum . <"$tmp/one.locks") count=$(folded_sum . <"$tmp/one.counts")
	holds "$name: $kind: ns waited, within 2 % ($got, want $least to $most)" awk "BEGIN { exit !($got >= $least * .98 && $got <= $most * 1.02) }"
	near "$name: $kind: waits" "$count" "$n" "$(awk "BEGIN { print $n * .02 }")"
	# The first waits of the program are from before its tables.
	held=$(folded_sum ";\\[held by: ${kind:0:8}-holder\\];.*;hold_$kind;" <"$tmp/one.counts")
	placed=$(folded_sum ";waiter_main;wait_$kind;.*\\[held by: " <"$tmp/one.counts")
	holds "$name: $kind: … 99 % of them name the function that held the lock ($held of $count)" awk "BEGIN { exit !($held >= $n * .99 - ${4-0}) }"
	holds "$name: $kind: … and the one that waits ($placed)" awk "BEGIN { exit !($placed >= $n * .99 - ${4-0}) }"
	[ -n "$3" ] && lock="[lock: locks+0x$(address_of "$3")]" || lock='[lock]'
	is "$name: $kind: the lock" "$(sed 's/ [0-9]*$//; s/.*;//' "$tmp/one.counts" | sort -u)" "$lock"
	is "$name: $kind: no frames of the kernel" "$(grep -c 'do_syscall_64\|do_futex\|__x64_sys' "$tmp/one.locks")" 0
}

# The first kind is from before the tables of the program, on a busy machine.
lock_run warm '' "$waits" 2 heap plain robust inherit
for kind in plain robust inherit; do check warm $kind lock_$kind; done
check warm heap '' "$waits"
lock_run others '' $((waits / 5)) 2 "${before[@]}" recursive timed shared between died
for kind in recursive timed shared; do check others $kind lock_$kind; done
check others between ''
read -r _ n _ <<<"$(grep "^died " "$tmp/others.truth")"
near "others: died: waits" "$(grep "^died-waiter;.*;wait_died;.*;\[not unlocked\];\[lock: locks+0x$(address_of lock_died)\] " "$tmp/others.counts" | folded_sum .)" "$n" "$(awk "BEGIN { print $n * .02 }")"

# Threads have other ids there.
inside=(unshare -m -p -f --kill-child --mount-proc)
unshare -m true 2>/dev/null || inside+=(--propagation=unchanged)
if "${inside[@]}" true 2>/dev/null; then
	lock_run container '' $((waits / 5)) 2 "${before[@]}" plain
	check container plain lock_plain
else
	skip "container" "no namespaces"
fi
inside=()
lock_run_beside process "-p PID" $((waits / 5)) 2 "${before[@]}" plain
check process plain lock_plain
lock_run_beside machine -a $((waits / 5)) 2 "${before[@]}" plain
check machine plain lock_plain
lock_run sys_exit '--wait-hook sys_exit' $((waits / 5)) 2 "${before[@]}" plain
check sys_exit plain lock_plain

# Waits without an owner are off the CPU only.
timeout "$most_s" "$cresset" record --no-progress -e off-cpu,lock -o "$tmp/none.cresset" -- \
	"$progs/locks" $((waits / 10)) 2 condition semaphore rwlock barrier futex ended plain stay >"$tmp/none.truth" 2>"$tmp/none.err"
is "no locks: the recording" $? 0
"$cresset" convert "$tmp/none.cresset" -o - --to folded --type lock-waits >"$tmp/none.counts" 2>/dev/null
folded "$tmp/none.cresset" off-cpu >"$tmp/none.off"
is "only the mutex is a lock" "$(grep -o ';wait_[a-z]*;' "$tmp/none.counts" | sort -u)" ";wait_plain;"
for kind in condition semaphore rwlock barrier futex ended plain; do
	read -r _ _ least _ <<<"$(grep "^$kind " "$tmp/none.truth")"
	got=$(folded_sum "^${kind:0:8}-waiter;.*;wait_$kind;.*\\[blocked: futex/lock\\] " <"$tmp/none.off")
	holds "$kind: off the CPU without a waker ($got µs)" test "$got" -ge $((least / 1000 * 9 / 10))
done
holds "a table of locks" grep -q "\\[lock: locks+0x$(address_of lock_plain)\\]" <("$cresset" report "$tmp/warm.cresset" --type lock)
finish
