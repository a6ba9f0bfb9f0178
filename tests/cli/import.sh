#!/usr/bin/env bash
# tier: test
# cresset convert --data: files of every format into a store, each once, at their time; and out of it again as what they were.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
folded=tests/golden/folded pprof=tests/golden/pprof
all=(--from 2000-01-01 --to 2100-01-01)
at=2026-11-21T10:15:00Z
stacks="SELECT type, sample_type, stack_text(stack) AS stack, sum(value) AS n FROM samples GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
ids="SELECT DISTINCT stack_id FROM samples JOIN stacks USING (stack) ORDER BY 1"
sql() { "$cresset" -q sql --format csv --data "$@"; }

# --- every format in
n=0
for file in $folded/simple.txt $folded/recursion.txt $pprof/parca-fib.pb.gz $pprof/parca-alloc_objects.pb.gz $pprof/parca-labels.pb.gz \
	tests/golden/callgrind/*.callgrind tests/golden/speedscope/*.json tests/golden/chrome/*.json tests/golden/chrome/*.cpuprofile \
	tests/golden/perf-script/*.txt tests/golden/recording/*.cresset; do
	"$cresset" -q convert "$file" -o "$tmp/whole.cresset" 2>/dev/null || continue
	n=$((n + 1))
	store=$tmp/in.$n
	ends "import of $file" 0 convert "$file" --data "$store" --at $at
	sql "$tmp/whole.cresset" "$stacks" >"$tmp/want"
	sql "$store" "$stacks" >"$tmp/have"
	holds "… has its stacks and values" cmp "$tmp/want" "$tmp/have"
	sql "$tmp/whole.cresset" "$ids" >"$tmp/want.ids"
	sql "$store" "$ids" >"$tmp/have.ids"
	holds "… and ids of stacks" cmp "$tmp/want.ids" "$tmp/have.ids"
	ends "… again" 0 convert "$file" --data "$store" --at $at
	sql "$store" "$stacks" >"$tmp/have"
	holds "… changes nothing" cmp "$tmp/want" "$tmp/have"
done
holds "files of several formats were read" test $n -ge 8

# --- every format out: what was folded is folded again
"$cresset" -q convert $folded/simple.txt --data "$tmp/out-store" --at $at
for ending in cresset pb.gz speedscope.json firefox.json perf.txt folded; do
	ends "out as .$ending" 0 query --data "$tmp/out-store" samples "${all[@]}" -o "$tmp/a.$ending"
	is "… is what went in" "$("$cresset" -q convert "$tmp/a.$ending" -o - --to folded --by none | sort)" \
		"$("$cresset" -q convert $folded/simple.txt -o - --to folded --by none | sort)"
done
ends "out as .callgrind" 0 query --data "$tmp/out-store" samples "${all[@]}" -o "$tmp/a.callgrind"
is "… has the total" "$(awk '$1 == "summary:" || $1 == "totals:" { print $2; exit }' "$tmp/a.callgrind")" 14
for ending in svg json; do
	ends "out as .$ending" 0 query --data "$tmp/out-store" samples "${all[@]}" -o "$tmp/a.$ending"
done
holds "… JSON has the total" jq -e '.total == 14' "$tmp/a.json"

# --- a directory of pprof files with times in their names
dir=$tmp/pprofs
mkdir -p "$dir/later"
for minute in 00 01 02 03 04 05; do
	printf 'main;work %d\nmain;idle 1\n' $((10#$minute + 1)) >"$tmp/one.folded"
	"$cresset" -q convert "$tmp/one.folded" -o "$dir/cpu-2026-11-21T10:${minute}:00Z.pb"
done
mv "$dir/cpu-2026-11-21T10:05:00Z.pb" "$dir/later/cpu-20261121-100500.pb"
printf 'no profile\0\1' >"$dir/README"
ends "a directory" 6 convert "$dir" --data "$tmp/days" --label service=front --label 'env=a=b'
has "… lists the skipped files" "README is not in a known format" "$errs"
has "… and counts it" "1 file skipped because of errors" "$errs"
has "… reports the result" "6 files with 12 samples imported" "$errs"
"$cresset" -q query --data "$tmp/days" 'samples{service="front",env="a=b"}' --from 2026-11-21T10:00:00Z --to 2026-11-21T10:06:00Z --range 1m --csv >"$tmp/range"
is "… is at its times" "$(cut -d, -f2 "$tmp/range" | xargs)" "value 2 3 4 5 6 7"
is "… from the first minute on" "$(sed -n '2s/,.*//p' "$tmp/range")" 1795255200000000000
"$cresset" -q query --data "$tmp/days" samples "${all[@]}" -o "$tmp/days.pb.gz"
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
	go tool pprof -top -nodecount=100 -nodefraction=0 "$tmp/days.pb.gz" 2>/dev/null | awk '/flat%/ { f = 1; next } f { print $1, $6 }' | sort >"$tmp/top"
	is "… go tool pprof adds up the same" "$(xargs <"$tmp/top")" "0 main 21 work 6 idle"
else
	skip "… go tool pprof adds up the same" "no go"
fi
ends "… again" 6 convert "$dir" --data "$tmp/days" --label service=front --label 'env=a=b'
has "… is known" "6 files skipped: imported before" "$errs"
ends "with another label" 6 convert "$dir" --data "$tmp/days" --label service=back
has "… it is another" "6 files with" "$errs"
is "… series" "$("$cresset" query --data "$tmp/days" --values service)" $'back\nfront'

# --- what a recording read of GPUs: metrics there, as `up` keeps them
"$BUILD/fixture/gpu" "$tmp/gpu.cresset" 0 1763719200 more
metrics() { sql "$1" "SELECT name, time, value, (SELECT value FROM labels l WHERE l.series = m.series AND key = 'gpu') FROM metrics m ORDER BY 1, 2, 4" | tail -n +2; }
ends "a recording with readings" 0 convert "$tmp/gpu.cresset" --data "$tmp/gpus"
has "… reports it" "1 file with 2301 samples and 60 readings imported" "$errs"
metrics "$tmp/gpu.cresset" >"$tmp/want"
metrics "$tmp/gpus" >"$tmp/have"
is "… which are some" "$(wc -l <"$tmp/want")" 60
holds "… are there, each at its time" cmp "$tmp/want" "$tmp/have"
ends "… again" 0 convert "$tmp/gpu.cresset" --data "$tmp/gpus"
has "… is known" "1 file skipped: imported before" "$errs"
metrics "$tmp/gpus" >"$tmp/have"
holds "… and changes nothing" cmp "$tmp/want" "$tmp/have"
idle() { jq -c '.devices[] | [.gpu, .source, .busy_ns, .idle_ns, .uncertain_ns, .gaps]' <<<"$out"; }
ends "when GPUs were idle, of the store" 0 query --gpu-idle --json --data "$tmp/gpus" "${all[@]}"
is "… by readings" "$(idle)" $'["0","readings",9000000000,0,0,0]\n["1","readings",2000000000,7000000000,1000000000,1]'
ends "with a label" 0 convert "$tmp/gpu.cresset" --data "$tmp/labeled" --label host=db7
ends "… the readings as well" 0 query --data "$tmp/labeled" 'hw_gpu_power{host="db7",gpu="1"}' "${all[@]}" --reduce max --csv
is "… as samples have" "$("$cresset" query --data "$tmp/labeled" --values host)" db7
"$BUILD/fixture/gpu" "$tmp/clockless.cresset" 0 0 more
ends "without a time" 0 convert "$tmp/clockless.cresset" --data "$tmp/clockless" --at 1763719200
metrics "$tmp/clockless" >"$tmp/have"
holds "… at the given time" cmp "$tmp/want" "$tmp/have"

# --- the limits of the program that owns the store
asked() { "$cresset" doctor --data "$tmp/limited" --json | jq -c .asked; }
serve --data "$tmp/limited" --retention 3d --disk 2G
stop
limits=$(asked)
is "a store with limits" "$(jq .retention_ns <<<"$limits")" 259200000000000
ends "… takes a file" 0 convert $folded/simple.txt --data "$tmp/limited" --at $at
is "… and its limits stay" "$(asked)" "$limits"

# --- other names, and none
for name in heap-1795255200.folded heap-1795255200000.folded 20261121T100000Z.folded 2026-11-21_10-00-00.folded x.20261121100000.y.folded; do
	cp $folded/simple.txt "$tmp/$name"
	ends "$name" 0 convert "$tmp/$name" --data "$tmp/named.$name"
	is "… is read" "$(sql "$tmp/named.$name" "SELECT min(time) FROM samples" | tail -1)" 1795255200000000000
done
fails "no time" 6 "no timestamp in the file or its name" convert $folded/simple.txt --data "$tmp/none"
has "… suggests a remedy" "--at" "$errs"
ends "a given time" 0 convert $folded/simple.txt --data "$tmp/none" --at 1795255200
fails "a wrong one" 2 "option --at" convert $folded/simple.txt --data "$tmp/none" --at yesterday
fails "a label without a value" 2 "is not KEY=VALUE" convert $folded/simple.txt --data "$tmp/none" --label host
fails "-o and --data" 2 "choose one of -o and --data" convert $folded/simple.txt --data "$tmp/none" -o "$tmp/x.folded"
fails "filters" 2 "without filters" convert $folded/simple.txt --data "$tmp/none" --focus main
fails "--label alone" 2 "go with --data" convert $folded/simple.txt --label a=b -o "$tmp/x.folded"
fails "standard input" 2 "not standard input" convert - --data "$tmp/none"
fails "a file that is not there" 6 "no-such" convert "$tmp/no-such" --data "$tmp/none"
finish
