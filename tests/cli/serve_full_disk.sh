#!/usr/bin/env bash
# tier: test
# cresset serve on a disk that fills up: what does not fit is refused with Retry-After, what was acknowledged stays, and it goes on when there is
# room again.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in curl jq; do
	command -v $program >/dev/null || { skip "a full disk" "no $program"; finish; exit; }
done
disk=$tmp/disk
mkdir "$disk"
trap 'kill -9 "$server" 2>/dev/null; wait "$server" 2>/dev/null; umount "$disk" 2>/dev/null; cleanup' EXIT
mount -t tmpfs -o size=48m tmpfs "$disk" 2>/dev/null || { skip "a full disk" "mounting one needs root"; finish; exit; }

agent=0f8fad5b-d9cb-469f-a165-70867728950e
# 2000 stacks that no other batch has: about 100 KB in the store, and 2000 samples.
batch() { awk -v n="$1" 'BEGIN { for (i = 0; i < 2000; i++) printf "main;service_%d_%d;function_%d;leaf_%d 1\n", n, i, i * 7919 % 9973 + n, i }'; }
push() { # SEQ: sets code
	batch "$1" >"$tmp/batch"
	code=$(curl -sS -m 60 -D "$tmp/head" -o "$tmp/body" -w '%{http_code}' -H "X-Cresset-Agent: $agent" -H "X-Cresset-Seq: $1" \
		--data-binary "@$tmp/batch" "${url}api/v1/profiles")
}
count() { post 'api/v1/sql?fmt=csv' --data 'SELECT sum(value) FROM samples' | tail -1; }
fill() { # what is left of the disk, but for so many KiB
	local left
	left=$(df -k --output=avail "$disk" | tail -1)
	[ "$left" -le "$1" ] || head -c $(((left - $1) * 1024)) /dev/zero >"$disk/filler$RANDOM"
}

serve --data "$disk/data"
acknowledged=0
push 1
is "space is available" "$code" 200
fill 2048
for ((seq = 2; seq < 200; seq++)); do
	push $seq
	[ "$code" = 200 ] || break
	acknowledged=$seq
done
has "requests that do not fit are refused" "$code" "503 507"
has "… and may come again" "retry-after" "$(tr '[:upper:]' '[:lower:]' <"$tmp/head")"
hasnt "… in words" "null" "$(jq .error.message "$tmp/body")"
fill 0
push $seq
has "nor does it with nothing left at all" "$code" "503 507"
is "all that was acknowledged is there" "$(count)" $((acknowledged * 2000))
get readyz >/dev/null
is "it still responds" "$(cat "$tmp/code")" 200
get metrics | grep -q 'refused_total{tenant="",code="503"} 2'
is "… and counts the refused data" $? 0

stop KILL
serve --data "$disk/data"
has "after kill -9 on the full disk it starts, and reports this" "No space left on device; it is read-only until space is available" "$(cat "$tmp/serve.err")"
is "… with all that was acknowledged" "$(count)" $((acknowledged * 2000))
push $seq
is "… and takes nothing yet" "$code $(jq -r .error.message "$tmp/body")" "503 the disk is full: nothing can be added"
rm "$disk"/filler*
for _ in $(seq 1200); do grep -q "space is available again" "$tmp/serve.err" && break; sleep 0.05; done
has "it continues with free space" "space is available again" "$(cat "$tmp/serve.err")"
is "… and has it all still" "$(count)" $((acknowledged * 2000))
push $seq
is "the batch that did not fit" "$code" 200
push $seq
is "… again" "$code $(jq .duplicate "$tmp/body")" "200 true"
push $((seq + 1))
is "the next one" "$code" 200
is "each counts once" "$(count)" $(((seq + 1) * 2000))
stop
serve --data "$disk/data"
is "… and after a restart" "$(count)" $(((seq + 1) * 2000))
stop
finish
