#!/usr/bin/env bash
# tier: full
# run: alone
# Memory of cresset up over an hour (SOAK_SECONDS) while programs come and go all the time and the page is asked. Five times as many samples as by
# default, so that all that has a limit (dictionaries, heads, caches, a part of the day after the other) meets it again and again in that time:
# what the store process has goes up and down between its limits, and the middle of that is where it was. Both processes stay below what they may
# have. The collector has more while it makes the table of a very large library, which is said.
. tests/live/lib.sh
needs_recording
seconds=${SOAK_SECONDS:-3600}
chmod 755 "$tmp"

"$cresset" up --data "$tmp/data" --listen 127.0.0.1:0 --memory 32M --freq 99 --interval 2s >"$tmp/log" 2>&1 &
up=$!
pids+=("$up")
half() { pgrep -P "$up" -x "$1"; }
for _ in $(seq 200); do
	url=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' "$tmp/log")
	[ -n "$url" ] && break
	sleep 0.1
done
is "it responds" "$(curl -s -o /dev/null -w '%{http_code}' "${url}readyz")" 200

# Threads, files and names that were never there before.
churn() {
	local n=0
	while :; do
		n=$((n + 1))
		cp "$progs/burn" "$tmp/burn-$((n % 50))"
		"$tmp/burn-$((n % 50))" "churn-$((n % 500))" 0.2 >/dev/null
		curl -s -o /dev/null "${url}api/v1/flame?q=cpu&px=1600"
	done
}
churn &
pids+=($!)

pss() { awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup"; }
collector=$(half cresset-collect) store=$(half cresset-store)
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ] && kill -0 "$collector" && kill -0 "$store"; do
	echo "$SECONDS $(pss "$collector") $(pss "$store")" >>"$tmp/pss"
	sleep 5
done 2>/dev/null
is "both of its processes were there all the time" "$(half cresset-collect) $(half cresset-store)" "$collector $store"

# of FIELD FROM TO SHARE: what that share of the readings from quarter FROM to TO is below, in KiB.
of() {
	awk -v f="$1" -v from="$2" -v to="$3" '{ v[NR] = $f } END { for (i = int(NR * from / 4) + 1; i <= NR * to / 4; i++) print v[i] }' "$tmp/pss" |
		sort -n | awk -v share="$4" '{ v[NR] = $1 } END { i = int(NR * share); print v[i < 1 ? 1 : i] }'
}
for part in "collector 2" "store 3"; do
	read -r name field <<<"$part"
	echo "# $name: medians of the quarters $(of "$field" 0 1 .5), $(of "$field" 1 2 .5), $(of "$field" 2 3 .5), $(of "$field" 3 4 .5) KiB;" \
		"9 of 10 below $(of "$field" 0 4 .9), all below $(of "$field" 0 4 1)"
done
holds "the collector's memory is flat" test $(($(of 2 3 4 .5) - $(of 2 1 2 .5))) -le 1024
holds "the store process's is" test $(($(of 3 3 4 .5) - $(of 3 1 2 .5))) -le 4096
holds "the collector has at most 12 MB, except for moments" test "$(of 2 0 4 .9)" -le 11718
holds "both have at most 72 MB" test $(($(of 2 0 4 1) + $(of 3 0 4 1))) -le 70312
kill -INT "$up"
wait "$up"
is "it ends well" $? 0
finish
