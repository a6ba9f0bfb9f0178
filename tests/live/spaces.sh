#!/usr/bin/env bash
# tier: live
# run: alone
# Stacks without frame pointers are complete wherever their code lies and however it got there: forked, executed, opened late, mapped twice, deleted,
# in memory, in another namespace, in a thread, beside code made at run time.
. tests/live/lib.sh
needs_recording

# The programs of names.sh, whose stacks are known, without frame pointers.
flags=(-O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -D_GNU_SOURCE)
for p in burn family dl deep short; do
	gcc "${flags[@]}" -o "$tmp/$p" "tests/live/prog/$p.c" -lpthread -ldl || not_ok "$p builds"
done
gcc "${flags[@]}" -shared -fPIC -o "$tmp/plug" tests/live/prog/plug.c

# All samples of a comm that have a function in their stack have this stack from the first frame on: at least 30, and 99 % of them: a library that was
# just opened becomes known some milliseconds later.
whole() { # NAME COMM FUNCTION STACK
	local all with
	all=$(folded_sum "^$2;.*$3" <"$tmp/out.folded")
	with=$(folded_sum "^$2;$4" <"$tmp/out.folded")
	if [ "$all" -ge 30 ] && [ "$with" -ge $((all * 99 / 100 - 1)) ]; then
		ok "$1 ($with of $all)"
	else
		not_ok "$1" "$with of $all: $(grep "^$2;" "$tmp/out.folded" | grep -Ev "^$2;$4" | head -5)"
	fi
}
main='_start;__libc_start[^;]*;([^;]*;)*main;'
thread='(clone3?|__clone3?|__clone_internal)?;?start_thread;'

# Everything runs under one recorder: it loads the tables of these programs, not those of all other running programs.
everything() {
	cp "$tmp/burn" "$tmp/doomed"
	"$tmp/doomed" doomed 0.5 >/dev/null &
	until_comm $! doomed
	rm "$tmp/doomed"
	wait $!
	"$progs/memfd" "$tmp/burn" from-memory 0.5 >/dev/null
	"$tmp/dl" "$tmp/plug" 0.5
	"$progs/twice" "$progs/plain" 0.8
	"$progs/callback" 0.5
	(echo; sleep 3) | "$tmp/family" 0.5 >/dev/null
	mkdir -p "$tmp/hidden"
	# In a chroot whose root is not a mount point, unshare cannot keep mounts from spreading.
	spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
	# shellcheck disable=SC2086 # empty is nothing
	unshare -m $spread -p -f sh -c "mount -t tmpfs none '$tmp/hidden' && cp '$tmp/burn' '$tmp/hidden/burn' && '$tmp/hidden/burn' elsewhere 0.5" >/dev/null
	sh -c "'$tmp/burn' before-exec 0.3 >/dev/null; exec '$tmp/burn' after-exec 0.3" >/dev/null
	cp "$tmp/short" "$tmp/short-lived"
	for _ in $(seq 100); do "$tmp/short-lived"; done
}
export -f everything until_comm
export tmp progs
"$cresset" record -q -F 299 -o "$tmp/out.folded" -- bash -c everything
is "recording ends with 0" $? 0
whole "a deleted binary" doomed burn_loop "${main}burn_outer;burn_loop"
whole "an executable in memory" from-memory burn_loop "${main}burn_outer;burn_loop"
whole "a library opened later, and the vDSO under it" dl plug_work "${main}plug_work"
whole "a library's code where the dynamic linker put it" twice ';first;' "${main}first;plain_outer;"
whole "… and mapped once more, at another place, in two pieces" twice ';second;' "${main}second;plain_outer;"
whole "a function called by code made at run time" callback called_back "${main}enters;[^;]*;called_back"
whole "a process" family main_work "${main}main_work"
whole "a child that does not call exec" family child_work "${main}child_work"
whole "a thread" fam-thread thread_work "${thread}thread_main;thread_work"
whole "another mount and pid namespace" elsewhere burn_loop "${main}burn_outer;burn_loop"
whole "before an exec" before-exec burn_loop "${main}burn_outer;burn_loop"
whole "after an exec" after-exec burn_loop "${main}burn_outer;burn_loop"
# Half of their life is spent in the dynamic linker, some of it before the recorder knew about them.
all=$(folded_sum '^short-lived;.*short_work' <"$tmp/out.folded")
holds "processes of 5 ms: ($all)" test "$all" -ge 50
near "… to their start" "$(folded_sum "^short-lived;${main}short_work" <"$tmp/out.folded")" "$all" "$((all / 50))"

# --- depth ---
for n in 20 100 200 400; do
	"$cresset" record -q -F 199 -o "$tmp/deep.folded" -- "$tmp/deep" $n 0.3
	all=$(folded_sum deep_leaf <"$tmp/deep.folded")
	with=$(awk -v n=$n '/deep_leaf/ { v = $NF; if ($0 ~ /^[^;]*;_start;/ && gsub(/deep_frame/, "") == n) sum += v } END { print sum + 0 }' "$tmp/deep.folded")
	holds "$n frames: enough samples ($all)" test "$all" -ge 20
	is "$n frames without frame pointers are all there" "$with" "$all"
done
"$cresset" record -q -F 199 -o "$tmp/deep.folded" -- "$tmp/deep" 100000 0.3
all=$(folded_sum . <"$tmp/deep.folded")
cut=$(folded_sum '^[^;]*;.truncated: depth.;deep_frame;.*deep_leaf' <"$tmp/deep.folded")
holds "100 000 frames end in a marker, samples kept ($cut of $all)" test "$cut" -ge $((all * 8 / 10))

# --- 32 bits ---
printf '.globl _start\n_start: mov $600000000, %%ecx\n1: dec %%ecx\njnz 1b\nmov $1, %%eax\nxor %%ebx, %%ebx\nint $0x80\n' >"$tmp/small.S"
if gcc -m32 -nostdlib -static -o "$tmp/small" "$tmp/small.S" 2>/dev/null && "$tmp/small"; then
	# exec itself has no user side yet
	"$cresset" record -q --no-kernel -F 199 -o "$tmp/small.folded" -- "$tmp/small"
	all=$(folded_sum '^small;' <"$tmp/small.folded")
	holds "a 32-bit process is sampled ($all)" test "$all" -ge 20
	is "… and marked" "$(folded_sum '^small;.truncated: 32-bit.;_start' <"$tmp/small.folded")" "$all"
else
	skip "a 32-bit process" "no 32-bit programs can be made or run here"
fi
finish
