#!/usr/bin/env bash
# tier: live
# cresset up -e page-fault,rss shows the memory that a program touches, and its resident memory, by stack; memory from before is marked; a process that has ended has 0 bytes.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

me=mem$$ # others on this machine may run the same program
cp "$progs/resident" "$tmp/$me"
chmod 755 "$tmp" # the store process is not root
mkfifo "$tmp/go"
"$tmp/$me" <"$tmp/go" >"$tmp/truth" &
pid=$!
pids+=("$pid")
exec 7>"$tmp/go"
until [ "$(wc -l <"$tmp/truth")" = 5 ]; do sleep 0.05; done
# Of the program and its child.
anon_pages() { cat "/proc/$pid/status" "/proc/$(pgrep -P $pid)/status" | awk '/^RssAnon:/ { n += $2 / 4 } END { print n }'; }
before=$(anon_pages)

data=$tmp/data
begin_always up --data "$data" --listen 127.0.0.1:0 -e cpu,page-fault,rss 7>&- # the program reads until the end of it
until_said "look at it"
pages() { # TYPE FUNCTION
	"$cresset" query --data "$data" "$1{process=\"$me\"}" --format folded -o - 2>"$tmp/err" |
		awk -v f="$2" '!f || $0 ~ ";" f "(;| )" { n += $NF } END { printf "%d", n / 4096 }'
}
more() { # COMMAND… LEAST: waits until it prints as much
	local least=${*: -1}
	for _ in $(seq 300); do
		[ "$("${@:1:$#-1}")" -ge "$least" ] && return
		sleep 0.5
	done
}
more pages rss '\[not watched\]' $((before * 9 / 10))
near "memory from before is there, as not watched" "$(pages rss '\[not watched\]')" "$before" 200
for i in 1 2 3; do
	echo >&7
	for _ in $(seq 600); do
		[ "$(anon_pages)" -lt $((before + i * 20000)) ] || break
		sleep 0.05
	done
done
more pages rss '' $((before + 50000))
# One page in 64 is chosen: the variance of n pages is 63 n.
near "the total is RssAnon" "$(pages rss '')" "$(anon_pages)" 9800
watched=1
grep -q "watched a part of the time" "$tmp/log" && watched=0
of() { # NAME TYPE
	if [ $watched = 1 ]; then near "$1" "$(pages "$2" hold_kept)" 60000 9800; else skip "$1" "other programs have too many page faults"; fi
}
of "pages of a function that holds some" rss
of "… that it touched" page-fault
exec 7>&-
wait $pid
gone() { [ "$(pages rss '')" = 0 ] && echo 1 || echo 0; }
more gone 1
is "a process that has ended has 0 pages" "$(pages rss '')" 0
[ $watched = 0 ] || holds "… but it touched some" test "$(pages page-fault hold_kept)" -gt 40000
end_always
is "it ends" "$status" 0
finish
