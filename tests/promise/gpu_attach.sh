#!/usr/bin/env bash
# tier: test
# cresset gpu attach loads its library into a running program and changes nothing else of it: one that computes, one that waits, one that allocates all
# the time. What it is refused is said. Each program checks itself for any change.
. tests/live/lib.sh
. tests/live/lib_attach.sh
opens_map_files || { echo "1..0 # SKIP attaching to a process needs root"; exit 0; }

for mode in poll nanosleep cond spin; do
	begin "$mode"
	inject
	is "$mode: attached" "$status" 0
	is "$mode: it goes on as before" "$(asked)" "1 attached, ok"
	ended
	is "$mode: it ends well" $? 0
done
begin poll --malloc 2
for _ in $(seq 4); do inject; done
is "allocations in other threads: it continues as before" "$(asked)" "4 attached, ok"
ended
is "allocations in other threads: it ends well" $? 0

begin poll
printf 'no library' >"$tmp/text.so"
"$cresset" gpu attach "$target" --library "$tmp/text.so" --force young,no-library >"$tmp/out" 2>"$tmp/err"
is "an invalid library: refused" $? 6
holds "… in words" grep -q '^cresset: error: .*text.so' "$tmp/err"
is "… and nothing has changed" "$(asked)" "0 attached, ok"
"$cresset" gpu attach "$target" --force young >"$tmp/out" 2>"$tmp/err"
is "a program without a GPU: refused" $? 4
is "… and nothing has changed there, either" "$(asked)" "0 attached, ok"
ended
"$cresset" gpu attach 4194305 >"$tmp/out" 2>"$tmp/err"
holds "no such process: refused" test $? -ne 0
finish
