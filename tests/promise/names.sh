#!/usr/bin/env bash
# tier: test
# Each sample has a name, whatever happened to the program's file: it was deleted or replaced, lies in memory or in another mount namespace, was opened
# late, has no symbols left, or the code was made at run time.
. tests/live/lib.sh
needs_recording

me=n$$
burns='burn_outer;(burn_loop|clock_gettime)' # one computes, the other looks when it is over
# What, comm, and the functions that its stacks have.
programs=(
	"a deleted binary|$me-gone|$burns"
	"a replaced binary|$me-new|$burns"
	"an executable in memory|$me-mem|$burns"
	"a library opened later|$me-dl|plug_work|clock_gettime" # the vDSO keeps no frame pointer: it hides its caller
	"code made at run time|$me-jit|jit_caller;jitted function <made> at run time"
	"another mount and pid namespace|$me-ns|$burns"
)
# Whether all samples of a comm have a function in their stack: at least 40 samples, and 99 % of them, within 5 standard deviations.
is_named() { # COMM FUNCTION
	all=$(folded_sum "^$1;" <"$tmp/out.folded")
	with=$(folded_sum "^$1;.*($2)" <"$tmp/out.folded")
	awk "BEGIN { exit !($all >= 40 && $with >= $all * .99 - 5 * sqrt($all * .01)) }"
}
named() { # WORDS COMM FUNCTION
	if is_named "$2" "$3"; then
		ok "$1 ($with of $all)"
	else
		not_ok "$1" "$with of $all: $(grep "^$2;" "$tmp/out.folded" | head -5)"
	fi
}
all_named() {
	local row words comm functions
	for row in "${programs[@]}"; do
		IFS='|' read -r words comm functions <<<"$row"
		is_named "$comm" "$functions" || return
	done
}
# On a busy machine a response of the workers that read files may come when a short-lived program has ended. The recording states that.
is_late() { grep -qE 'before they could be read|generated code without a name|read too late' "$tmp/begin.err"; }

strip -o "$tmp/$me-bare" "$progs/known"
# Its own build id: a running copy with symbols, of another test, would give it names.
id_at=$(readelf -SW "$tmp/$me-bare" | awk 'sub(/.*note.gnu.build-id/, "") { print $3 }')
head -c 20 /dev/urandom | dd of="$tmp/$me-bare" bs=1 seek=$((0x$id_at + 16)) conv=notrunc 2>/dev/null
# In a chroot whose root is not a mount point, unshare cannot keep mounts from spreading.
spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
play() {
	begin "$tmp/out.folded" -a -F 397
	cp "$progs/burn" "$tmp/doomed"
	"$tmp/doomed" "$me-gone" 0.4 >/dev/null &
	until_comm $! "$me-gone"
	rm "$tmp/doomed"
	wait $!
	rm -f "$tmp/swapped"
	cp "$progs/burn" "$tmp/swapped"
	"$tmp/swapped" "$me-new" 0.4 >/dev/null &
	until_comm $! "$me-new"
	cp "$progs/deep" "$tmp/swapped.new"
	mv "$tmp/swapped.new" "$tmp/swapped"
	wait $!
	"$progs/memfd" "$progs/burn" "$me-mem" 0.4 >/dev/null
	cp "$progs/jit" "$tmp/$me-jit"
	"$tmp/$me-jit" 0.4
	cp "$progs/dl" "$tmp/$me-dl"
	"$tmp/$me-dl" "$progs/plug" 0.4
	mkdir -p "$tmp/hidden"
	cp "$progs/burn" "$tmp/other"
	# shellcheck disable=SC2086 # empty is nothing
	unshare -m $spread -p -f sh -c "mount -t tmpfs none '$tmp/hidden' && cp '$tmp/other' '$tmp/hidden/burn' && '$tmp/hidden/burn' $me-ns 0.4" >/dev/null
	"$tmp/$me-bare" "$me-bare" 1 >/dev/null
	dd if=/dev/zero of=/dev/null bs=1M count=20000 2>/dev/null
	end
	rc=$?
	# A busy machine builds the unwind table of a program late, and copies few stacks until then.
	sed -i '/^n[0-9]*-[a-z]*;\[truncated: \(stack not copied: ring full\|unwind table not loaded\)\]/d' "$tmp/out.folded"
}
for _ in 1 2 3; do
	play
	all_named || ! is_late || continue
	break
done
is "recording ends with 0" "$rc" 0
for row in "${programs[@]}"; do
	IFS='|' read -r words comm functions <<<"$row"
	named "$words" "$comm" "$functions"
done
# Without symbols a function has its file and address; the stack is whole all the same, 21 calls deep.
named "a stripped program without frame pointers" "$me-bare" "(_start|clone3?).*$(printf ";$me-bare\\+0x[0-9a-f]+%.0s" {1..22})"
# Of dd's samples below read, all but those at the instruction that enters the kernel, and a few of its start.
below() { folded_sum "^dd;.*;read$1" <"$tmp/out.folded"; }
inside=$(below ';.*(ksys_read|vfs_read|read_zero|clear_user|syscall|SYSCALL)') all=$(below '(;| )')
holds "the kernel ($inside of $all)" test "$all" -ge 40 -a "$inside" -ge $((all * 3 / 4))
is "… has names only" "$(below ';.*(\[unknown\]|[+]0x)')" 0
finish
