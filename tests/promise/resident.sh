#!/usr/bin/env bash
# tier: test
# The memory that processes have, by the stack that wrote to it, at the end of a recording.
. tests/live/lib.sh
needs_recording

pages() { awk -v f="$1" '$0 ~ ";" f "(;| )" { n += $NF } END { printf "%d", n / 4096 }' "$2"; }
# One page in 16 is chosen: the variance of n pages is 15 n.
mkfifo "$tmp/go"
"$progs/resident" <"$tmp/go" >"$tmp/truth" &
pid=$!
exec 7>"$tmp/go"
until [ "$(wc -l <"$tmp/truth")" = 5 ]; do sleep 0.05; done
anon_pages() { awk '/^RssAnon:/ { print $2 / 4 }' /proc/$pid/status; }
before=$(anon_pages)
begin "$tmp/p.cresset" -e rss -p $pid
for i in 1 2 3; do
	echo >&7
	for _ in $(seq 600); do
		[ "$(anon_pages)" -lt $((before + i * 20000)) ] || break
		sleep 0.05
	done
done
all=$(anon_pages)
end
is "a process from before: the recording" $? 0
exec 7>&-
wait $pid
folded "$tmp/p.cresset" rss >"$tmp/folded"
near "… its total is RssAnon" "$(awk '{ n += $NF } END { printf "%d", n / 4096 }' "$tmp/folded")" "$all" 400
# hold_kept has added 20,000 pages each time; those from before are not known.
near "… the pages that it wrote since" "$(pages hold_kept "$tmp/folded")" 60000 4743
near "… the ones from before, as not watched" "$(awk '/;\[not watched\] / { n += $NF } END { printf "%d", n / 4096 }' "$tmp/folded")" "$before" 4743
finish
