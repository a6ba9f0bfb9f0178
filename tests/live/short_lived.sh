#!/usr/bin/env bash
# tier: live
# run: alone
# Programs that use 20 ms of a CPU and are deleted when they end have names, each from a file of its own.
. tests/live/lib.sh
needs_recording

me=b$$
begin "$tmp/out.folded" -a -F 499
for i in $(seq 100); do
	cp "$progs/burn" "$tmp/short$i"
	"$tmp/short$i" "$me-short" 0.02 >/dev/null
	rm "$tmp/short$i"
done
end

all=$(folded_sum "^$me-short;" <"$tmp/out.folded")
gone=$(folded_sum "^$me-short;\[exit\]" <"$tmp/out.folded")
named=$(folded_sum "^$me-short;.*;(burn|main)" <"$tmp/out.folded")
holds "they have names ($named of $((all - gone)))" test "$named" -ge $(((all - gone) * 95 / 100))
holds "… and are many" test "$all" -ge 400
finish
