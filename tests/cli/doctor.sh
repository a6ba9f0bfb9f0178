#!/usr/bin/env bash
# tier: test
# cresset doctor: the same facts for people and for scripts, and a status that tells whether recording works.
. tests/cli/lib.sh

run_cresset doctor --json
text_status=$status
holds "JSON" jq -e '.checks | length > 5' "$tmp/out"
is "… has a remedy wherever something is missing" "$(jq '[.checks[] | select(.state == "missing" and .remedy == "")] | length' "$tmp/out")" 0
is "… and its status shows whether recording works" "$(jq .recording_works "$tmp/out")" "$([ "$text_status" = 0 ] && echo true || echo false)"
names=$(jq -r '.checks[].name' "$tmp/out")
if [ "$text_status" = 0 ]; then
	clock=$(jq -r .clock "$tmp/out")
	walker=$(jq -r .walker "$tmp/out")
fi
ends "text has the same status" "$text_status" doctor
while read -r name; do
	has "… and the row '$name'" "$name" "$out"
done <<<"$names"
if [ "$text_status" = 0 ]; then
	has "… names the clock" "clock:  $clock" "$out"
	has "… and which walker" "walker: $walker" "$out"
	has "… and that recording works" "recording works" "$out"
else
	skip "clock and walker" "recording does not work here"
fi
LC_ALL=C "$cresset" doctor >"$tmp/out"
is "ASCII without UTF-8" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")" 0
run_cresset doctor --color=always
has "colour" $'\033[32m' "$out"
finish
