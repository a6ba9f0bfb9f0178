#!/usr/bin/env bash
# tier: test
# cresset report on files: what it shows, what it says beside it, and what it ends with.
. tests/cli/lib.sh
folded=tests/golden/folded pprof=tests/golden/pprof

# Values of a CSV column by function name: function is column 6 of the top table.
self_of() { awk -F, -v f="$1" '$6 == f { print $3 }' "$tmp/out"; }
total_of() { awk -F, -v f="$1" '$6 == f { print $4 }' "$tmp/out"; }

# --- known answers: simple.txt is a;b;c 1, a;b;c 1, a;b;d 4, a;b;c 3, a;b 5
ends "a folded file" 0 report --csv $folded/simple.txt
is "… self of c" "$(self_of c)" 5
is "… total of b" "$(total_of b)" 14
is "… no files next to the data" "$errs" ""
ends "recursion" 0 report --csv $folded/recursion.txt
is "… counts once in totals" "$(total_of a)" "$(awk '/(^|;)a(;| )/ { n += $NF } END { print n }' $folded/recursion.txt)"
ends "CRLF" 0 report --csv $folded/simple-crlf.txt
is "… is the same profile" "$out" "$("$cresset" report --csv $folded/simple.txt)"
ends "a pprof file" 0 report --csv --top 0 $pprof/parca-fib.pb.gz
is "… sums to its samples" "$(awk -F, 'NR > 1 { n += $3 } END { print n }' "$tmp/out")" 2974

# --- several files, standard input
ends "two files are merged" 0 report --csv $folded/simple.txt $folded/simple-crlf.txt
is "… and add up" "$(total_of b)" 28
"$cresset" report --csv - <$folded/simple.txt >"$tmp/out"
is "standard input" "$?,$(total_of b)" 0,14
gzip -c $folded/simple.txt | "$cresset" report --csv - $folded/simple.txt >"$tmp/out"
is "… gzipped, with a plain file" "$?,$(total_of b)" 0,28
ends "one profile and itself" 0 report --csv --top 0 $pprof/parca-fib.pb.gz $pprof/parca-fib.pb.gz
is "… is twice the samples" "$(awk -F, 'NR > 1 { n += $3 } END { print n }' "$tmp/out")" 5948

# --- which type
ends "several types" 0 report --csv $pprof/parca-alloc_objects.pb.gz
has "… the others are named" "not shown: " "$errs"
for type in alloc_objects alloc_space inuse_objects inuse_space; do
	has "… $type" "$type" "$errs"
done
ends "a requested type" 0 report --csv --top 0 --type inuse_space $pprof/parca-alloc_objects.pb.gz
is "… is the one shown" "$(awk -F, 'NR > 1 { n += $3 } END { print n }' "$tmp/out")" 14730706
ends "quiet" 0 -q report --csv $pprof/parca-alloc_objects.pb.gz
is "… prints nothing" "$errs" ""
ends "one type" 0 report --csv $folded/simple.txt
is "… is not talked about" "$errs" ""

# --- filters
ends "focus" 0 report --csv --focus '^d$' $folded/simple.txt
is "… selects stacks with the frame" "$(total_of a)" 4
ends "ignore" 0 report --csv --ignore '^d$' $folded/simple.txt
is "… selects stacks without it" "$(total_of a)" 10
ends "hide" 0 report --csv --hide '^[cd]$' $folded/simple.txt
is "… gives its self time to the caller" "$(self_of b)" 14
ends "a filter that nothing passes" 0 report --focus nothing_like_this $folded/simple.txt
has "… is reported" "no stack passes the filters" "$errs"
ends "top" 0 report --csv --top 2 $folded/simple.txt
is "… is that many rows" "$(wc -l <"$tmp/out")" 3
ends "root frames" 0 report --tree --by comm,pid $folded/simple.txt

# --- views
ends "tree" 0 report --tree --csv $folded/simple.txt
is "… has every node once" "$(awk -F, 'NR > 1' "$tmp/out" | wc -l)" 5
ends "callers" 0 report --callers c $folded/simple.txt
has "… of the function" "callers of c" "$out"
for view in "" --tree "--callers c"; do
	# shellcheck disable=SC2086 # several words
	ends "JSON $view" 0 report --json $view $folded/simple.txt
	holds "… is JSON" jq -e '.format == "cresset.report" and .total == 14' "$tmp/out"
done
LC_ALL=C "$cresset" report --tree $folded/simple.txt >"$tmp/out"
is "a tree for an ASCII terminal" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")" 0
"$cresset" report --tree $folded/simple.txt >"$tmp/out"
has "… and for a UTF-8 one" "├─" "$(cat "$tmp/out")"

# --- colour
esc=$'\033'
run_cresset report $folded/simple.txt
hasnt "no colour into a file" "$esc" "$out"
run_cresset --color=always report $folded/simple.txt
has "colour on request" "${esc}[" "$out"
run_cresset report --color never $folded/simple.txt
hasnt "no colour on request" "$esc" "$out"
if command -v script >/dev/null; then
	on_terminal() { script -qec "$*" /dev/null </dev/null; }
	has "colour on a terminal" "${esc}[" "$(on_terminal "$cresset" report $folded/simple.txt)"
	hasnt "… not with NO_COLOR" "${esc}[" "$(NO_COLOR=1 on_terminal "$cresset" report $folded/simple.txt)"
	has "… an empty one means nothing" "${esc}[" "$(NO_COLOR='' on_terminal "$cresset" report $folded/simple.txt)"
	hasnt "… not on a dumb one" "${esc}[" "$(TERM=dumb on_terminal "$cresset" report $folded/simple.txt)"
	has "… but --color wins" "${esc}[" "$(NO_COLOR=1 on_terminal "$cresset" --color always report $folded/simple.txt)"
else
	skip "colour on a terminal" "no script(1)"
fi

# --- bad input
fails "a file that is not there" 6 "No such file" report "$tmp/nothing"
fails "a directory" 6 "$tmp" report "$tmp"
has "… with the command for a store" "cresset query --data $tmp 'cpu{}'" "$errs"
: >"$tmp/empty"
fails "an empty file" 6 "is empty" report "$tmp/empty"
fails "a device with nothing" 6 "is empty" report /dev/null
fails "a device without an end" 6 "not in a known format" report /dev/zero
printf '\62\0' | gzip >"$tmp/none.pb.gz" # a string table with one empty string
fails "a profile of nothing" 6 "without a sample type" report "$tmp/none.pb.gz"
fails "not a profile" 6 "not in a known format" report "$cresset"
head -c 3000 $pprof/parca-fib.pb.gz >"$tmp/cut.pb.gz"
fails "a file cut short" 6 "cut.pb.gz" report "$tmp/cut.pb.gz"
fails "one bad file of two" 6 "is empty" report $folded/simple.txt "$tmp/empty"
ends "lines that are none" 0 report --csv $folded/simple-with-invalids.txt
is "… leave the rest" "$(total_of b)" 14
has "… and are counted" "2 records could not be read" "$errs"
has "… on standard input as well" "standard input: 1 record could not be read and was skipped" \
	"$(printf 'a;b 1\nbroken\n' | "$cresset" report - 2>&1 >/dev/null)"

# --- values that are too large
printf 'a;b 9000000000000000000\na;c 9000000000000000000\n' >"$tmp/large.folded"
ends "a sum beyond 2^63" 0 report "$tmp/large.folded"
has "… is counted" "large.folded: values of the input cut: more than the time that has passed, or sums beyond 2^63: 1" "$errs"
printf 'a;b 9000000000000000000\n' >"$tmp/half.folded"
ends "a sum of two files beyond it" 0 report "$tmp/half.folded" "$tmp/half.folded"
has "… is counted as well" "all files: values of the input cut" "$errs"

# --- types of one name
firefox() { # DELTAS
	printf '{"meta":{"interval":2,"preprocessedProfileVersion":50,"sampleUnits":{"time":"ms","threadCPUDelta":"ns"}},"threads":[{"name":"t","pid":1,'
	printf '"stringArray":["main"],"funcTable":{"name":[0]},"frameTable":{"func":[0]},"stackTable":{"frame":[0],"prefix":[null]},'
	printf '"samples":{"stack":[0,0],"time":[0,2]%s}}]}' "$1"
}
firefox "" >"$tmp/count.json"
firefox ',"threadCPUDelta":[0,1000000]' >"$tmp/time.json"
ends "samples of 2 ms and CPU time" 0 report --csv "$tmp/count.json" "$tmp/time.json"
is "… are one type" "$(total_of main)" 5000000
hasnt "… of one name" "samples" "$errs"

# --- output
if full=$(full_device); then
	"$cresset" report $folded/simple.txt >"$full" 2>"$tmp/err"
	is "a full disk" $? 7
	has "… is named" "standard output" "$(cat "$tmp/err")"
else
	skip "a full disk" "no /dev/full, and not root"
fi
"$cresset" report --top 0 $pprof/parca-alloc_objects.pb.gz 2>"$tmp/err" | head -1 >/dev/null
hasnt "a reader that closes the pipe is not an error" "error" "$(cat "$tmp/err")"
finish
