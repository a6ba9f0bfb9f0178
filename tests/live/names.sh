#!/usr/bin/env bash
# tier: live
# run: alone
# Every stack is named, whatever happened to the file: gone in 5 ms, deleted, replaced, in memory, in another namespace, opened late, forked, made at
# run time.
. tests/live/lib.sh
needs_recording

# All samples of a comm have a function in their stack: at least 30 samples, and 99 % of them.
named() {
	local all with
	all=$(folded_sum "^$2;" <"$tmp/out.folded")
	with=$(folded_sum "^$2;.*$3" <"$tmp/out.folded")
	if [ "$all" -ge "${4:-30}" ] && [ "$with" -ge $((all * 99 / 100 - 1)) ]; then
		ok "$1 ($with of $all)"
	else
		not_ok "$1" "$with of $all: $(grep "^$2;" "$tmp/out.folded" | head -5)"
	fi
}

begin "$tmp/out.folded" -a -F 999
cp "$progs/short" "$tmp/short-lived"
for _ in $(seq 200); do "$tmp/short-lived"; done
end
all=$(folded_sum '^short-lived;' <"$tmp/out.folded")
work=$(folded_sum '^short-lived;.*short_work' <"$tmp/out.folded")
unnamed=$(folded_sum '^short-lived;.*short-lived\+0x' <"$tmp/out.folded")
holds "processes of 5 ms are sampled ($all)" test "$all" -gt 400
is "they have names" "$unnamed" 0
holds "… of their own function ($work of $all)" test $((work * 10)) -gt $((all * 5))

begin "$tmp/out.folded" -a -F 199
cp "$progs/burn" "$tmp/doomed"
"$tmp/doomed" doomed 0.6 >/dev/null &
until_comm $! doomed
rm "$tmp/doomed"
wait $!
cp "$progs/burn" "$tmp/swapped"
"$tmp/swapped" swapped 0.6 >/dev/null &
until_comm $! swapped
cp "$progs/deep" "$tmp/swapped.new"
mv "$tmp/swapped.new" "$tmp/swapped"
wait $!
"$progs/memfd" "$progs/burn" from-memory 0.6 >/dev/null
"$progs/dl" "$progs/plug" 0.6
"$progs/jit" 0.6
mkdir -p "$tmp/hidden"
cp "$progs/burn" "$tmp/other"
# In a chroot whose root is not a mount point, unshare cannot keep mounts from spreading.
spread=$(unshare -m true 2>/dev/null || echo --propagation=unchanged)
# shellcheck disable=SC2086 # empty is nothing
unshare -m $spread -p -f sh -c "mount -t tmpfs none '$tmp/hidden' && cp '$tmp/other' '$tmp/hidden/burn' && '$tmp/hidden/burn' elsewhere 0.6" >/dev/null
sh -c "'$progs/burn' before-exec 0.4 >/dev/null; exec '$progs/burn' after-exec 0.4" >/dev/null
dd if=/dev/zero of=/dev/null bs=1M count=100000 2>/dev/null
end
is "recording ends with 0" $? 0
burns='burn_outer;(burn_loop|clock_gettime)' # one computes, the other looks when it is over
named "a deleted binary" doomed "$burns"
named "a replaced binary" swapped "$burns"
named "an executable in memory" from-memory "$burns"
named "a library opened later" dl 'plug_work|clock_gettime' # the vDSO keeps no frame pointer: it hides its caller
named "code made at run time" jit 'jit_caller;jitted function <made> at run time'
named "another mount and pid namespace" elsewhere "$burns"
named "before an exec" before-exec "$burns"
named "after an exec" after-exec "$burns"
kernel=$(folded_sum '^dd;' <"$tmp/out.folded")
unnamed=$(folded_sum '^dd;.*\[kernel\]\+0x' <"$tmp/out.folded")
holds "kernel frames are there ($kernel)" test "$kernel" -gt 50
near "kernel frames have names" "$unnamed" 0 "$(awk -v n="$kernel" 'BEGIN{print n*.05}')"

# --- depth ---
for n in 20 100 200 400; do
	"$cresset" record -q -F 199 -o "$tmp/deep.folded" -- "$progs/deep" $n 0.4
	best=$(awk '{ sub(/ [0-9]+$/, ""); print gsub(/deep_frame/, "") }' "$tmp/deep.folded" | sort -n | tail -1)
	is "$n frames are all there" "$best" $((n - 0))
done
"$cresset" record -q -F 199 -o "$tmp/deep.folded" -- "$progs/deep" 100000 0.4
holds "100 000 frames end in a marker, the sample remains" grep -q '^[^;]*;\[truncated: depth\];deep_frame;.*deep_leaf' "$tmp/deep.folded"
finish
