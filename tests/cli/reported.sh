#!/usr/bin/env bash
# tier: test
# Situations that users of other profilers have reported: what a file says, and what is said of what it does not.
. tests/cli/lib.sh
given=tests/golden/reported
folded() { "$cresset" -q convert "$@" -o - --to folded 2>/dev/null | sort; }
meta() { "$cresset" -q report --json "$2" 2>/dev/null | jq -c ".meta.$1"; }

# --- slices that touch: one begins 1 ns before its neighbour ends
file=$given/chrome-x-overlap-by-1ns.json
ends "slices that touch" 0 report "$file"
has "… are neighbours" "trace: 3.50 ms" "$out"
has "… are all there" "2.00 ms native relu" "$out"
has "… cuts are reported in the last line, with their time" \
	"1x slices of the input cut where they overlap another one, 1 ns in all" "$(tail -1 <<<"$out")"
has "… and on standard error" "overlap another one: 1, 1 ns in all" "$errs"
is "… and in JSON" "$(meta 'losses, .meta.losses_ns' "$file" | xargs)" "{input_cut:1} {input_cut:1}"
for ending in cresset pb.gz otlp; do
	ends "… is kept in .$ending" 0 convert "$file" -o "$tmp/cut.$ending"
	is "… with the time" "$(meta losses_ns.input_cut "$tmp/cut.$ending")" 1
done
ends "… in a store" 0 convert "$file" --data "$tmp/store" --at 2026-11-21T10:15:00Z
has "… is reported by convert" "1 ns in all" "$errs"

# --- summary events on tracks of their own
file=$given/ftime-trace-total-events.json
ends "summaries of clang" 0 report "$file"
has "… are not added" "trace: 1.00 ms" "$out"
has "… but counted" "3x events of the input skipped, since they are sums of others, 1.90 ms in all" "$(tail -1 <<<"$out")"

# --- samples of blocked threads
file=$given/firefox-idle-as-cpu.json
ends "samples of blocked threads" 0 report "$file"
has "… do not count as CPU time" "cpu: 2.00 ms" "$out"
ends "… but wall time" 0 report --type wall "$file"
has "… the whole of it" "wall: 10.0 ms" "$out"

# --- what is skipped is counted with its time
skipped_ns() { "$cresset" -q report --json - 2>/dev/null | jq -c '[.meta.losses.input_skipped, .meta.losses_ns.input_skipped]'; }
is "skipped slices of a trace" "$(skipped_ns <<<'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":9},{"ph":"X","name":"b","pid":1,"tid":1,"dur":5.5}]')" "[1,5500]"
is "skipped samples of speedscope" "$(skipped_ns <<<'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","name":"t","unit":"milliseconds","samples":[[0],[7]],"weights":[1,3]}]}')" "[1,3000000]"
is "skipped samples of Firefox" "$(jq -c '.threads[0].samples.stack[1] = 99' $given/firefox-idle-as-cpu.json | skipped_ns)" "[1,8000000]"
protoc --encode=perftools.profiles.Profile --proto_path=tests/golden/pprof tests/golden/pprof/profile.proto >"$tmp/odd.pb" 2>/dev/null <<'END' || rm -f "$tmp/odd.pb"
string_table: ["", "wall", "microseconds", "f"]
sample_type { type: 1 unit: 2 }
sample { location_id: 1 value: 5 }
sample { location_id: 9 value: 7 }
location { id: 1 line { function_id: 1 } }
function { id: 1 name: 3 }
END
if [ -s "$tmp/odd.pb" ]; then
	is "skipped samples of pprof" "$(skipped_ns <"$tmp/odd.pb")" "[1,7000]"
else
	skip "skipped samples of pprof" "no protoc"
fi

# --- microseconds since 1970 with decimals
is "times since 1970 are exact" "$(folded $given/chrome-x-epoch-us-decimals.json --unit ns | xargs)" \
	"copy 500000 gemm 1000125 relu 2000100"

# --- folded stacks with decimals
in_fractions() { "$cresset" -q report --json "$1" 2>/dev/null | jq -r '"\(.unit) \([.top[] | select(.self > 0) | "\(.function) \(.self)"] | sort | join(" "))"'; }
printf 'main;a 1e-9\nmain;b 2.5e-9\nmain;c 1e-9\n' >"$tmp/small.folded"
printf 'main;a 12345678901234.5678\nmain;b 0.25\n' >"$tmp/large.folded"
printf 'main;a 9.3e15\nmain;b 0.25\n' >"$tmp/largest.folded"
is "small decimals do not vanish" "$(in_fractions "$tmp/small.folded")" "billionths a 1 b 3 c 1"
is "large ones fit" "$(in_fractions "$tmp/large.folded")" "thousandths a 12345678901234568 b 250"
is "the largest ones are rounded" "$(in_fractions "$tmp/largest.folded")" "samples a 9300000000000000"
cat >"$tmp/large.speedscope.json" <<'END'
{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"}]},
 "profiles":[{"type":"sampled","name":"t","unit":"none","samples":[[0],[1]],"weights":[12345678901234.5,1.25]}]}
END
is "… in speedscope" "$(in_fractions "$tmp/large.speedscope.json")" "samples a 12345678901235 b 1"
has "… is reported" "2x stacks of the input with a value rounded" "$("$cresset" -q report "$tmp/large.speedscope.json")"
is "decimals are added up first" "$(folded $given/folded-decimals.folded | xargs)" "main;emit 3 main;parse 2"

# --- frames that a pprof file says to leave out
file=$given/pprof-drop-frames.pb.gz
rows() { "$cresset" -q report --json --type space "$@" 2>/dev/null | jq -r '.top[] | select(.self > 0) | "\(.function) \(.self)"' | xargs; }
is "drop_frames: costs are the callers'" "$(rows "$file")" "userB 200 userA 100 userC 50"
is "… all frames" "$(rows --all-frames "$file")" "malloc 300 helper_keep 50"
ends "… is reported" 0 report "$file"
has "… with the number of samples" "6x samples from which frames were removed (drop_frames of the file); --all-frames shows them" "$out"
for ending in pb.gz cresset; do
	ends "… to .$ending" 0 convert "$file" -o "$tmp/drop.$ending"
	is "… follows the fields" "$(rows "$tmp/drop.$ending")" "userB 200 userA 100 userC 50"
	is "… has all frames" "$(rows --all-frames "$tmp/drop.$ending")" "malloc 300 helper_keep 50"
done
ends "… to both kinds" 0 convert "$file" -o "$tmp/two.folded" -o "$tmp/two.pb.gz" --type space
is "… folded stacks are without" "$(sort "$tmp/two.folded" | xargs)" "main;userA 100 main;userB 200 main;userC 50"
is "… pprof has all" "$(rows --all-frames "$tmp/two.pb.gz")" "malloc 300 helper_keep 50"
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
	is "… go tool pprof gives the same" "$(go tool pprof -top -sample_index=space -unit=B "$file" 2>/dev/null | awk '/flat%/ { f = 1; next } f && $1 != 0 { print $6, $1 }' | xargs)" \
		"userB 200B userA 100B userC 50B"
else
	skip "… go tool pprof gives the same" "no go"
fi

# --- one type in two units
units=("$given/pprof-unit-ns.pb.gz" "$given/pprof-unit-us.pb.gz")
ends "two units" 0 report "${units[@]}"
has "… are one type" "wall: 200 ms" "$out"
hasnt "… the only one" "not shown" "$errs"
ends "… can be compared" 0 diff "${units[@]}" --fail-on 5
"$cresset" -q convert "${units[0]}" --data "$tmp/units" --at 2026-11-21T10:15:00Z
"$cresset" -q convert "${units[1]}" --data "$tmp/units" --at 2026-11-21T10:15:00Z
ends "… in a store" 0 query --data "$tmp/units" wall --from 2026-11-21 --to 2026-11-22
has "… are one type as well" "wall: 200 ms" "$out"

# Two columns of one quantity, samples and their CPU time, in any units of time.
cpu_pair() { # UNIT VALUE PERIOD_UNIT PERIOD
	protoc --encode=perftools.profiles.Profile --proto_path=tests/golden/pprof tests/golden/pprof/profile.proto 2>/dev/null <<-END
		string_table: ["", "samples", "count", "cpu", "$1", "$3", "f"]
		sample_type { type: 1 unit: 2 }
		sample_type { type: 3 unit: 4 }
		sample { location_id: 1 value: [50, $2] }
		location { id: 1 line { function_id: 1 } }
		function { id: 1 name: 6 }
		period_type { type: 3 unit: 5 }
		period: $4
	END
}
cpu_pair nanoseconds 500000000 nanoseconds 10000000 >"$tmp/pair.1.pb"
cpu_pair microseconds 500000 microseconds 10000 >"$tmp/pair.2.pb"
cpu_pair ms 500 us 10000 >"$tmp/pair.3.pb"
if [ -s "$tmp/pair.1.pb" ]; then
	ends "CPU time in three units" 0 report "$tmp"/pair.?.pb
	has "… is one type" "cpu: 150 samples ≈ 1.50 s" "$out"
	ends "… converted" 0 convert "$tmp"/pair.?.pb -o "$tmp/pairs.pb.gz"
	has "… loses nothing" "cpu: 150 samples ≈ 1.50 s" "$("$cresset" -q report "$tmp/pairs.pb.gz")"
	cpu_pair ms 501 us 10000 >"$tmp/pair.4.pb"
	has "… unless they are not the same" "cpu: 501 ms" "$("$cresset" -q report "$tmp/pair.4.pb")"
	"$cresset" -q convert "$tmp/pair.4.pb" --data "$tmp/pair" --at 2026-11-21T10:15:00Z
	is "… then the types have two names" "$("$cresset" -q query --data "$tmp/pair" --types | cut -d: -f1 | sort | xargs)" "cpu samples"
	ends "… in a store" 0 query --data "$tmp/pair" cpu --from 2026-11-21 --to 2026-11-22
	has "… each is its own" "cpu: 501 ms" "$out"
	is "… without a doubt" "$errs" ""
else
	skip "CPU time in three units" "no protoc"
fi

# The same in OTLP: a Profile has one type.
otlp_pair() { # VALUE [BETWEEN_THE_TWO [AFTER_THEM]]
	protoc --encode=otlp.ProfilesData --proto_path=tests/golden/otlp tests/golden/otlp/otlp.proto 2>/dev/null <<-END
		resource_profiles { scope_profiles {
			profiles {
				sample_type { type_strindex: 1 unit_strindex: 2 } period_type { type_strindex: 3 unit_strindex: 4 } period: 10000000
				samples { stack_index: 1 values: 30 } samples { stack_index: 1 values: 20 }
			}
			${2-}
			profiles {
				sample_type { type_strindex: 3 unit_strindex: 5 } period_type { type_strindex: 3 unit_strindex: 4 } period: 10000000
				samples { stack_index: 1 values: $1 } samples { stack_index: 1 values: 200 }
			}
			${3-}
		} }
		dictionary {
			string_table: ["", "samples", "count", "cpu", "nanoseconds", "ms", "f"]
			mapping_table {} location_table {} location_table { lines { function_index: 1 } } function_table {} function_table { name_strindex: 6 }
			link_table {} attribute_table {} stack_table {} stack_table { location_indices: 1 }
		}
	END
}
otlp_pair 300 >"$tmp/pair.1.otlp"
otlp_pair 301 >"$tmp/pair.2.otlp"
otlp_pair 300 "" "profiles { sample_type { type_strindex: 3 unit_strindex: 5 } period_type { type_strindex: 3 unit_strindex: 4 } period: 10000000 samples { stack_index: 1 values: 7 } }" >"$tmp/pair.3.otlp"
otlp_pair 301 "} scope_profiles {" >"$tmp/pair.4.otlp"
if [ -s "$tmp/pair.1.otlp" ]; then
	ends "samples and their CPU time in OTLP" 0 report "$tmp/pair.1.otlp"
	has "… are one type" "cpu: 50 samples ≈ 500 ms" "$out"
	is "… nothing is skipped" "$(meta losses "$tmp/pair.1.otlp")" "{}"
	by_type() { for type in cpu samples; do "$cresset" -q report --json --type $type "$1" 2>/dev/null | jq -r .total; done | xargs; }
	for ending in otlp pb.gz cresset; do
		"$cresset" -q convert "$tmp/pair.2.otlp" -o "$tmp/pair.two.$ending"
		is "… two with two names if they are not the same, in .$ending" "$(by_type "$tmp/pair.two.$ending")" "501000000 50"
	done
	is "… also if only a part of the times is the samples times the period" "$(by_type "$tmp/pair.3.otlp")" "507000000 50"
	is "… also in two scopes" "$(by_type "$tmp/pair.4.otlp")" "501000000 50"
	"$cresset" -q convert "$tmp/pair.2.otlp" --data "$tmp/otlp-pair" --at 2026-11-21T10:15:00Z
	is "… also in a store" "$("$cresset" -q query --data "$tmp/otlp-pair" --types | cut -d: -f1 | sort | xargs)" "cpu samples"
else
	skip "samples and their CPU time in OTLP" "no protoc"
fi

# --- two files with one build id and the same code under other names
program() { # NAME FUNCTION
	protoc --encode=perftools.profiles.Profile --proto_path=tests/golden/pprof tests/golden/pprof/profile.proto 2>/dev/null <<-END
		string_table: ["", "cpu", "nanoseconds", "/bin/$1", "1234567890abcdef1234567890abcdef12345678", "main", "$2"]
		sample_type { type: 1 unit: 2 }
		sample { location_id: [2, 1] value: 50 }
		mapping { id: 1 memory_start: 4096 memory_limit: 8192 filename: 3 build_id: 4 }
		location { id: 1 mapping_id: 1 address: 4352 line { function_id: 1 } }
		location { id: 2 mapping_id: 1 address: 4608 ${2:+line { function_id: 2 \}} }
		function { id: 1 name: 5 }
		function { id: 2 name: 6 }
	END
}
program one secret_hot >"$tmp/one.pb"
program two asm_entry >"$tmp/two.pb"
program bare "" >"$tmp/bare.pb"
if [ -s "$tmp/one.pb" ]; then
	for ending in pb.gz otlp cresset; do
		for name in one two bare; do "$cresset" -q convert "$tmp/$name.pb" -o "$tmp/$name.$ending"; done
		ends "two files of one build id in .$ending" 0 report "$tmp/one.$ending" "$tmp/two.$ending"
		has "… are reported" "files with the build id of another file: identified by path only" "$out"
		is "… have their own names" "$(folded "$tmp/one.$ending" "$tmp/two.$ending" | xargs)" "main;asm_entry 50 main;secret_hot 50"
		"$cresset" -q convert "$tmp/two.$ending" "$tmp/one.$ending" -o "$tmp/both.$ending" 2>/dev/null
		is "… converted" "$(folded "$tmp/both.$ending" | xargs)" "main;asm_entry 50 main;secret_hot 50"
		is "… a copy without names has the names of the full one" "$(folded "$tmp/bare.$ending" "$tmp/one.$ending" | xargs)" "main;secret_hot 100"
	done
else
	skip "two files of one build id" "no protoc"
fi

# --- a difference in a store
"$cresset" -q convert $given/pprof-diff-base.pb.gz --data "$tmp/signed" --at 2026-11-21T10:15:00Z 2>/dev/null
type=$("$cresset" -q report --json $given/pprof-diff-base.pb.gz 2>/dev/null | jq -r .type)
ends "a difference in a store" 0 query --data "$tmp/signed" "$type" --from 2026-11-21 --to 2026-11-22
has "… is reported" "a difference: values below zero are of its older side" "$errs"
ends "… as a file" 0 query --data "$tmp/signed" "$type" --from 2026-11-21 --to 2026-11-22 -o "$tmp/signed.pb.gz"
is "… has both sides" "$("$cresset" -q report "$tmp/signed.pb.gz" | grep '[▲▼]')" "$("$cresset" -q report $given/pprof-diff-base.pb.gz | grep '[▲▼]')"

# --- a log whose lines end in numbers is no profile
for i in 1 2 3 4 5 6; do echo "2026-11-29T01:00:0$i worker[$i] GET /a;b=$i took 1$i"; done | sed '3,$s/;/,/' >"$tmp/server.log"
fails "a log" 6 "server.log is not in a known format" report "$tmp/server.log"
has "… one hint names the option to read it" "--from folded" "$errs"
is "… and nothing else" "$(wc -l <<<"$errs")" 2
has "… on standard input" "is not in a known format" "$("$cresset" convert - -o "$tmp/x.svg" 2>&1 <"$tmp/server.log")"
ends "… with --from folded" 0 report --from folded "$tmp/server.log"
cp "$tmp/server.log" "$tmp/server.txt"
fails "… as .txt" 6 "is not in a known format" report "$tmp/server.txt"
fails "… compressed" 6 "is not in a known format" report <(gzip -c "$tmp/server.log")
printf 'main 3\nidle 4\n' >"$tmp/one.collapsed"
gzip -k "$tmp/one.collapsed"
for name in one.collapsed one.collapsed.gz; do
	is "the ending says so: $name" "$(folded "$tmp/$name" | xargs)" "idle 4 main 3"
done
finish
