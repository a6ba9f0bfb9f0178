#!/usr/bin/env bash
# tier: test
# cresset convert: what comes out is what went in, or the part of it that was asked for, whatever the formats.
. tests/cli/lib.sh
folded=tests/golden/folded pprof=tests/golden/pprof
dir=$tmp/dir
mkdir "$dir"
sum() { awk -F, 'NR > 1 { n += $3 } END { print n + 0 }' "$tmp/out"; }
tree_of() { "$cresset" -q report --tree --csv "$@"; }

# --- from every format to every other and back
for ending in cresset pb.gz folded otlp; do
	ends "to .$ending" 0 convert $folded/simple.txt -o "$dir/a.$ending"
	is "… is the same tree" "$(tree_of "$dir/a.$ending")" "$(tree_of $folded/simple.txt)"
	for back in cresset pb.gz folded otlp; do
		ends "… from there to .$back" 0 convert "$dir/a.$ending" -o "$dir/b.$back"
		is "… is the same tree" "$(tree_of "$dir/b.$back")" "$(tree_of $folded/simple.txt)"
	done
done
only_files "no .tmp is left" "$dir" a.cresset a.folded a.otlp a.pb.gz b.cresset b.folded b.otlp b.pb.gz
rm "$dir"/*
for ending in svg json csv; do
	ends "to .$ending" 0 convert $folded/simple.txt -o "$dir/a.$ending"
done
holds "… XML" xmllint --noout "$dir/a.svg"
holds "… JSON" jq -e '.total == 14' "$dir/a.json"
has "… CSV" ",d," "$(cat "$dir/a.csv")"
rm "$dir"/*

# --- standard input and output
"$cresset" convert - -o - --to folded <$folded/simple.txt >"$tmp/out"
is "standard input to standard output" "$(cat "$tmp/out")" $'a;b 5\na;b;c 5\na;b;d 4'
"$cresset" convert - -o - --format folded <$folded/simple.txt >"$tmp/out"
is "--format is --to" "$(tail -1 "$tmp/out")" "a;b;d 4"
fails "standard output without a format" 2 "-o - needs" convert $folded/simple.txt -o -
fails "a recording to standard output" 2 "cannot go to standard output" convert $folded/simple.txt -o - --to cresset
fails "no output" 2 "-o FILE is missing" convert $folded/simple.txt
fails "no input" 2 "FILE is missing" convert -o "$dir/a.svg"
fails "standard input twice" 2 "only once" convert - - -o "$dir/a.svg"
ends "two outputs" 0 convert $folded/simple.txt -o "$dir/a.folded" -o "$dir/a.pb.gz"
is "… hold the same" "$(tree_of "$dir/a.folded")" "$(tree_of "$dir/a.pb.gz")"
rm "$dir"/*

# --- recordings of the first form, as the version that wrote them understood them
old=tests/golden/recording
for name in simple waits commits; do
	is "an earlier recording: $name" "$("$cresset" -q convert $old/$name.cresset -o - --to folded)" "$(cat $old/expected/$name.folded)"
	ends "… becomes one of today" 0 convert $old/$name.cresset -o "$dir/$name.cresset"
	is "… with the same result" "$("$cresset" -q convert "$dir/$name.cresset" -o - --to folded)" "$(cat $old/expected/$name.folded)"
done
rm "$dir"/*

# --- recordings are SQLite files, wherever they come from
ends "a recording" 0 convert $folded/simple.txt -o "$dir/a.cresset"
"$cresset" convert - -o - --to folded <"$dir/a.cresset" >"$tmp/out"
is "… from standard input" "$(cat "$tmp/out")" $'a;b 5\na;b;c 5\na;b;d 4'
gzip -k "$dir/a.cresset"
is "… compressed" "$(tree_of "$dir/a.cresset.gz")" "$(tree_of $folded/simple.txt)"
head -c 5000 "$dir/a.cresset" >"$dir/cut.cresset"
fails "… cut" 6 "cut.cresset: " report "$dir/cut.cresset"
if command -v sqlite3 >/dev/null; then
	is "… faultless" "$(sqlite3 "$dir/a.cresset" 'PRAGMA integrity_check')" ok
	sqlite3 "$dir/a.cresset" 'CREATE TABLE more(x)'
	fails "… with more in it" 6 "has an unknown table" report "$dir/a.cresset"
else
	skip "read by sqlite3" "there is no sqlite3"
fi
rm "$dir"/*

# --- several inputs: merged, types apart, labels kept
ends "several inputs" 0 convert $folded/simple.txt $folded/simple-crlf.txt -o "$dir/a.folded"
is "… add up" "$(cat "$dir/a.folded")" $'a;b 10\na;b;c 10\na;b;d 8'
ends "other types" 0 convert $pprof/parca-fib.pb.gz $pprof/parca-alloc_objects.pb.gz -o "$dir/both.cresset"
for type in alloc_objects alloc_space inuse_objects inuse_space; do
	is "… $type stays apart" "$(tree_of --type $type "$dir/both.cresset")" "$(tree_of --type $type $pprof/parca-alloc_objects.pb.gz)"
done
is "… and so does cpu" "$(tree_of --type samples "$dir/both.cresset")" "$(tree_of --type samples $pprof/parca-fib.pb.gz)"
ends "a format of one type" 0 convert "$dir/both.cresset" -o "$dir/a.folded"
has "… names the types that are left out" "not shown: " "$errs"
has "… all of them" "inuse_space" "$errs"
ends "… quietly" 0 -q convert "$dir/both.cresset" -o "$dir/a.folded"
is "… on request" "$errs" ""
ends "one type of several" 0 convert "$dir/both.cresset" -o "$dir/one.pb.gz" --type inuse_space
ends "… is all there is in a format that could hold more" 0 report --csv --top 0 "$dir/one.pb.gz"
is "… so nothing is left out" "$errs" ""
is "… and its sum is right" "$(sum)" 14730706
if command -v go >/dev/null; then
	is "go tool pprof sees one type" "$(go tool pprof -raw "$dir/one.pb.gz" 2>&1 | sed -n '/^Samples:/{n;p}')" "inuse_space/bytes"
	ends "… of a file with another default" 0 convert "$dir/one.pb.gz" $pprof/parca-alloc_objects.pb.gz -o "$dir/one.pb.gz" --type alloc_space
	holds "… it reads that as well" go tool pprof -top "$dir/one.pb.gz"
else
	skip "go tool pprof sees one type" "no go"
fi
rm "$dir"/*

# --- a trace: what each thread did when, checked against what tests/fixture/waits.c says of its recording
"$BUILD/fixture/waits" "$dir/waits.cresset"
ends "a trace" 0 convert "$dir/waits.cresset" -o "$dir/waits.trace.json"
python3 - "$dir/waits.trace.json" >"$tmp/out" <<'END'
import json, sys
from collections import defaultdict
sums, tracks, names = defaultdict(int), defaultdict(list), {}
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "M":
        names[e["name"], e["tid"]] = e["args"]["name"]
        continue
    begin, length = round(e["ts"] * 1000), round(e["dur"] * 1000)
    sums[e["tid"], e["name"]] += length
    open_ends = tracks[e["tid"]]
    while open_ends and open_ends[-1] <= begin:
        open_ends.pop()
    assert not open_ends or begin + length <= open_ends[-1], e
    open_ends.append(begin + length)
print(names["thread_name", 100], sums[100, "main"], sums[100, "[sched-wait]"], sums[100, "poll"])
print(names["thread_name", 101], sums[101, "start"], sums[101, "take"], sums[101, "[blocked: futex/lock]"])
print(names["thread_name", 200], sums[200, "[blocked: disk I/O]"])
END
is "… has each thread's time" "$(cat "$tmp/out")" "$(printf '%s\n' 'web 10000000000 1000000000 5000000000' 'worker 9250000000 9250000000 8500000000' 'db 2000000000')"
fails "a trace of samples without times" 7 "have no times" convert $folded/simple.txt -o "$dir/simple.trace.json"
rm "$dir"/*

# --- filters act on what is written, in formats of stacks and of trees alike
labels=$pprof/parca-labels.pb.gz
ends "hide" 0 convert $folded/simple.txt -o "$dir/a.folded" --hide '^b$'
is "… leaves frames out" "$(cat "$dir/a.folded")" $'a 5\na;c 5\na;d 4'
for ending in cresset pb.gz folded otlp; do
	ends "all filters to .$ending" 0 -q convert $pprof/parca-fib.pb.gz -o "$dir/a.$ending" --focus fib --ignore gc --hide '^runtime'
	is "… the sum of what passes" "$(tree_of "$dir/a.$ending" | awk -F, 'NR == 2 { print $2, $4 }')" \
		"$(tree_of $pprof/parca-fib.pb.gz --focus fib --ignore gc --hide '^runtime' | awk -F, 'NR == 2 { print $2, $4 }')"
	is "… and no hidden name is in the file" "$("$cresset" convert "$dir/a.$ending" -o - --to folded | grep -c 'runtime\.')" 0
done
hasnt "filtered samples are absent from the file" "runtime.gcBgMarkWorker" "$("$cresset" convert "$dir/a.cresset" -o - --to pprof | gunzip | strings)"
ends "root frames" 0 convert $labels -o "$dir/a.pb.gz" --by comm,cpu
has "… are in every format" "cpu?" "$("$cresset" report --tree "$dir/a.pb.gz" 2>/dev/null)"
fails "time without times" 2 "have no times" convert $folded/simple.txt -o "$dir/x.folded" --time 1-2
fails "neither side" 2 "leave nothing" convert $folded/simple.txt -o "$dir/x.folded" --no-kernel --no-user
printf 'main;sys_[k] 3\nmain 2\n' >"$tmp/sides.folded"
is "no kernel" "$("$cresset" convert "$tmp/sides.folded" -o - --to folded --no-kernel)" "main 5"
is "no user" "$("$cresset" convert "$tmp/sides.folded" -o - --to folded --no-user)" $'[empty] 2\nsys 3'
is "… for report" "$("$cresset" report --csv "$tmp/sides.folded" --no-kernel | grep -c sys)" 0
ends "nothing passes" 0 convert $folded/simple.txt -o "$dir/x.folded" --focus nothing_like_this
has "… is reported" "no samples" "$errs"
rm "$dir"/*

# --- --match
fails "a selector that is none" 2 "column 10" convert $labels -o "$dir/x.pb.gz" --match 'cpu{comm="x'
has "… shows the place" "           ^" "$errs"
fails "a type that is not there" 2 "no type 'heap'" report $folded/simple.txt --match 'heap{}'
has "… with those there are" "types here: samples" "$errs"
fails "two types together" 2 "different types" report $pprof/parca-alloc_objects.pb.gz --type alloc_space --match 'inuse_space{}'
ends "a type by selector" 0 report --csv --top 0 --match 'inuse_space{}' $pprof/parca-alloc_objects.pb.gz
is "… is the one shown" "$(sum)" 14730706
ends "no series" 0 report --match '{no_such_label="x"}' $folded/simple.txt
has "… is reported" "nothing to show" "$errs"
has "… and why" "no sample has a label 'no_such_label'" "$errs"
if command -v go >/dev/null; then
	key=$(go tool pprof -raw $labels 2>/dev/null | grep -oE '[a-z_]+:\[[^]]*\]' | head -1)
	name=${key%%:*} value=${key#*[} value=${value%]}
	holds "the golden file has labels" [ -n "$name" ]
	go tool pprof -tagfocus "$name=$value" -raw $labels 2>/dev/null | awk '/^Locations/ { exit } /^Samples:/ { on = 1; next } on && /^ +[0-9]/ { n += $1 } END { print n + 0 }' >"$tmp/want"
	ends "labels $key" 0 report --csv --top 0 --type samples $labels --match "{$name=\"$value\"}"
	is "… select what go tool pprof does" "$(sum)" "$(cat "$tmp/want")"
	ends "a label nearly typed right" 0 report $labels --match "{${name}x=\"$value\"}"
	has "… suggests the right one" "did you mean '$name'?" "$errs"
	ends "… written" 0 convert $labels -o "$dir/m.pb.gz" --match "{$name=~\"$value\"}"
	is "… preserve the labels" "$(go tool pprof -raw "$dir/m.pb.gz" 2>/dev/null | grep -oE "$name:\[[^]]*\]" | sort -u)" "$key"
	rm "$dir/m.pb.gz"
else
	skip "labels" "no go"
fi

# --- --from
fails "a file of another format" 6 "" convert $folded/simple.txt -o "$dir/x.svg" --from pprof
fails "a format nearly typed right" 2 "did you mean 'folded'?" report $folded/simple.txt --from foldde
fails "a format that is only written" 2 "'svg' cannot be read" report $folded/simple.txt --from svg
fails "a format that is only read" 2 "unknown format 'nothing'" convert $folded/simple.txt -o "$dir/x" --to nothing
printf '# only comments\n\n' >"$tmp/odd"
printf 'just words\nand more words\nmain;work 3\n' >>"$tmp/odd"
fails "unknown content" 6 "not in a known format" report "$tmp/odd"
ends "… is read when the format is named" 0 report --csv --from folded "$tmp/odd"
is "… what of it can be" "$(awk -F, '$6 == "work" { print $3 }' "$tmp/out")" 3

# --- onto itself
cp $folded/simple.txt "$dir/same.folded"
ends "onto its own input" 0 convert "$dir/same.folded" "$dir/same.folded" -o "$dir/same.folded"
is "… everything was read before" "$(cat "$dir/same.folded")" $'a;b 10\na;b;c 10\na;b;d 8'
rm "$dir/same.folded"

# --- bad input leaves what was there
echo precious >"$dir/kept.folded"
fails "bad input" 6 "No such file" convert "$tmp/nothing" -o "$dir/kept.folded"
fails "a bad filter" 2 "(" convert $folded/simple.txt -o "$dir/kept.folded" --focus '('
is "… leaves the old output alone" "$(cat "$dir/kept.folded")" precious
fails "no such directory" 7 "cannot create" convert $folded/simple.txt -o "$tmp/no/x.folded"
only_files "nothing half is left" "$dir" kept.folded
finish
