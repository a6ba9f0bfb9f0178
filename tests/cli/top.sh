#!/usr/bin/env bash
# tier: test
# cresset top without a terminal: of files, directories and servers; as text and as JSON; what it cannot do is said. Its figures are those of report.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
"$BUILD/fixture/waits" "$tmp/waits.cresset" || exit 1
waits=$tmp/waits.cresset
printf '%s\n' 'main;parse;read 30' 'main;parse;malloc 20' 'main;sort 50' >"$tmp/a.folded"
printf 'main;\033]0;x\007\033[2J;\xff\xfe 30\n' >"$tmp/bad.folded"

# --- text
ends "a file" 0 top "$tmp/a.folded" --once
has "… has its title" "a.folded" "$out"
is "… functions by self" "$(awk '/ sort$| read$| malloc$/ { print $1, $2, $NF }' "$tmp/out")" $'50.00 50.00 sort\n30.00 30.00 read\n20.00 20.00 malloc'
has "… totals" "0.00   100.00 native main" "$out"
ends "some rows" 0 top "$tmp/a.folded" --once -n 2
is "… are so many" "$(grep -c native "$tmp/out")" 2
for tab in functions processes threads waits flame heatmap; do
	ends "tab $tab" 0 top "$waits" --once --tab $tab
	holds "… prints something" [ "$(wc -l <"$tmp/out")" -ge 4 ]
	holds "… without escape sequences" bash -c '! grep -q "[[:cntrl:]]" "$1"' - "$tmp/out"
done
ends "a tab that this file has not" 0 top "$tmp/a.folded" --once --tab waits
has "… shows another" "sort" "$out"
LC_ALL=C ends "ASCII" 0 top "$waits" --once --tab flame
holds "… is ASCII" bash -c '! LC_ALL=C grep -q "[^ -~]" "$1"' - "$tmp/out"
ends "hostile names" 0 top "$tmp/bad.folded" --once
holds "… do no harm" bash -c '! LC_ALL=C tr -d "\n" <"$1" | LC_ALL=C grep -q "[[:cntrl:]]"' - "$tmp/out"

# --- JSON, against report
ends "JSON" 0 top "$waits" --json -n 100000
is "… has its description" "$(jq -c '[.format, .version]' "$tmp/out")" '["cresset.top",1]'
jq -r '.functions[] | [.function, .binary, .kind, (.self_percent * 1000 | round), (.total_percent * 1000 | round)] | @tsv' "$tmp/out" | sort >"$tmp/a"
"$cresset" report "$waits" --json --top 0 -q >"$tmp/report"
jq -r '.total as $t | .top[] | [.function, (.binary // ""), .kind, (.self / $t * 100000 | round), (.total / $t * 100000 | round)] | @tsv' "$tmp/report" | sort >"$tmp/b"
holds "… functions are report's" diff "$tmp/a" "$tmp/b"
holds "… there are some" [ -s "$tmp/a" ]
is "… processes add up to all" "$(jq '[.processes[].percent] | add | round' "$tmp/out")" 100
is "… threads as well" "$(jq '[.threads[].percent] | add | round' "$tmp/out")" 100
is "… waits equal those of the file" "$(jq '[.waits[].time_ns] | add' "$tmp/out")" \
	"$("$cresset" query --data "$waits" "$(jq -r .type "$tmp/out")" --json --focus '^\[(blocked|sched-wait|off-CPU)' 2>/dev/null | jq .total)"
is "hostile names are strings" "$("$cresset" top "$tmp/bad.folded" --json | jq '.functions | length')" 4

# --- a store, a server
"$cresset" serve "$waits" --listen 127.0.0.1:0 >"$tmp/url" 2>"$tmp/log" &
pids+=($!)
for _ in $(seq 1200); do
	[ -s "$tmp/url" ] && break
	sleep 0.05
done
ends "a server" 8 top --server "$(cat "$tmp/url")" --json --window 60s
is "… of now: a recording that is old has nothing of it" "$(jq '.functions | length' "$tmp/out" 2>/dev/null)" 0
fails "no server there" 1 "127.0.0.1:1" top --server http://127.0.0.1:1 --once

# --- what cannot be
fails "no terminal" 2 "cresset top --once" top "$waits"
TERM=dumb fails "a terminal that cannot be drawn on" 2 "--once" top "$waits"
fails "no such file" 6 "nothing.cresset" top "$tmp/nothing.cresset" --once
printf 'not a profile\n\0\1' >"$tmp/junk"
fails "no profile" 6 "junk" top "$tmp/junk" --once
fails "two sources" 2 "choose one of" top "$waits" -p 1 --once
fails "two others" 2 "choose one of" top "$waits" --server http://127.0.0.1:1 --once
fails "no pid" 2 "'init' is not a process id" top -p init --once
fails "no rows" 2 "not between 1" top "$waits" --once -n 0
fails "no tab" 2 "did you mean 'threads'?" top "$waits" --once --tab thread
fails "too often" 2 "too small" top "$waits" --once -i 1ms
: >"$tmp/empty.folded"
fails "nothing in it" 6 "is empty" top "$tmp/empty.folded" --once
finish
