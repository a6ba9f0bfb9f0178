#!/usr/bin/env bash
# tier: test
# The store's last hours: recent samples are there as they were taken, those of yesterday as sums of windows, and what cannot be known of these is said.
# And ids of stacks, by which either is found.
. tests/cli/lib.sh
now=$(($(date +%s) / 10 * 10)) # windows of 10 s: what is seconds apart lies in one
trace=30313233343536373839616263646566
# Samples of pid 7, tid 8 (main;work, one of them of a trace) and of pid 9, tid 9 (main;idle), a second apart.
message() { # UNIX-TIME
	protoc -Itests/golden/otlp --encode=otlp.ProfilesData otlp.proto <<-END
		resource_profiles {
		  resource { attributes { key: "host.name" value { string_value: "db7" } } }
		  scope_profiles { profiles {
		    sample_type { type_strindex: 1 unit_strindex: 2 }
		    samples { stack_index: 1 attribute_indices: [ 1, 2 ] link_index: 1 timestamps_unix_nano: ${1}000000001 }
		    samples { stack_index: 1 attribute_indices: [ 1, 2 ] timestamps_unix_nano: $(($1 + 1))000000002 }
		    samples { stack_index: 2 attribute_indices: [ 3, 4 ] timestamps_unix_nano: $(($1 + 2))000000003 }
		    time_unix_nano: ${1}000000000 duration_nano: 3000000000
		    period_type { type_strindex: 3 unit_strindex: 4 } period: 52631578
		  } }
		}
		dictionary {
		  mapping_table {} location_table {} function_table {} link_table {} attribute_table {}
		  link_table { trace_id: "0123456789abcdef" span_id: "01234567" }
		  location_table { lines { function_index: 1 } }
		  location_table { lines { function_index: 2 } }
		  location_table { lines { function_index: 3 } }
		  function_table { name_strindex: 5 } function_table { name_strindex: 6 } function_table { name_strindex: 7 }
		  string_table: "" string_table: "samples" string_table: "count" string_table: "cpu" string_table: "nanoseconds"
		  string_table: "main" string_table: "work" string_table: "idle" string_table: "process.pid" string_table: "thread.id"
		  attribute_table { key_strindex: 8 value { int_value: 7 } } attribute_table { key_strindex: 9 value { int_value: 8 } }
		  attribute_table { key_strindex: 8 value { int_value: 9 } } attribute_table { key_strindex: 9 value { int_value: 9 } }
		  stack_table {} stack_table { location_indices: [ 2, 1 ] } stack_table { location_indices: [ 3, 1 ] }
		}
	END
}
if ! command -v protoc >/dev/null; then
	skip "recent samples" "no protoc"
	finish
fi
recent=$((now - 300)) old=$((now - 86400))
message "$recent" >"$tmp/recent.otlp"
message "$old" >"$tmp/old.otlp"
sql() { "$cresset" -q sql --format csv --data "$@" | tail -n +2; }
folded() { "$cresset" -q convert "$1" -o - --to folded --by none | sort | xargs; }
query() { ends "$1" 0 query --data "$store" "${@:2}"; }

# --- samples of the last minutes
store=$tmp/store
ends "recent samples" 0 convert "$tmp/recent.otlp" --data "$store"
is "… are there as they were" "$(sql "$store" "SELECT time, pid, tid, trace_id FROM samples ORDER BY time" | xargs)" \
	"${recent}000000001,7,8,$trace $((recent + 1))000000002,7,8, $((recent + 2))000000003,9,9,"
is "… by trace in SQL" "$(sql "$store" "SELECT count(*) FROM samples WHERE trace_id = '$trace'")" 1
query "… by trace" "cpu{trace_id=\"$trace\"}" --json
is "… one sample" "$(jq -r '"\(.total) \(.top[0].function)"' <<<"$out")" "1 work"
query "… by pid" cpu --by pid --range 10s --csv
is "… each its own" "$(cut -d, -f2,3 <<<"$out" | grep -E '^(7|9),[1-9]' | sort | xargs)" "7,2 9,1"
hasnt "… nothing is missing" "without pid, tid, cpu and trace_id" "$errs"
query "a heatmap" cpu --heatmap --csv
has "… has columns" , "$out"
query "a file" 'cpu{pid=~".*"}' -o "$tmp/out.cresset"
is "… has exact times and ids" "$(sql "$tmp/out.cresset" "SELECT time, pid, tid, trace_id FROM samples ORDER BY time" | xargs)" \
	"$(sql "$store" "SELECT time, pid, tid, trace_id FROM samples ORDER BY time" | xargs)"

# --- with those of yesterday, of which only windows are left
ends "samples of yesterday" 0 convert "$tmp/old.otlp" --data "$store"
is "… are sums of windows" "$(sql "$store" "SELECT sum(value), count(pid), max(length) FROM samples WHERE time < ${recent}000000000")" 3,0,10000000000
query "all of it" cpu --from now-48h --csv
hasnt "… is complete" "without pid, tid, cpu and trace_id" "$errs"
has "… sums" "work" "$out"
query "by pid" 'cpu{pid="7"}' --from now-48h --csv
has "… a part is not known" "without pid, tid, cpu and trace_id" "$errs"
query "by trace" "cpu{trace_id=\"$trace\"}" --from now-48h --csv
has "… the same" "without pid, tid, cpu and trace_id" "$errs"

# --- ids of stacks: the same in a file, in the store, of samples and of windows, and on another machine
stack_of="SELECT DISTINCT stack_id FROM samples JOIN stacks USING (stack) WHERE leaf = 'work'"
id=$(sql "$store" "$stack_of")
is "one id of one stack" "${#id}" 32
is "… the same in the file" "$(sql "$tmp/recent.otlp" "$stack_of")" "$id"
sed 's/db7/db8/' <"$tmp/recent.otlp" >"$tmp/db8.otlp"
is "… on another host" "$(sql "$tmp/db8.otlp" "$stack_of")" "$id"
is "… in what the store wrote" "$(sql "$tmp/out.cresset" "$stack_of")" "$id"
total() { "$cresset" -q query "$@" --json | jq '.total // 0'; }
is "a selector finds its samples and windows" "$(total --data "$store" "cpu{stack_id=\"$id\"}" --from now-48h)" 4
is "… and all others" "$(total --data "$store" "cpu{stack_id!=\"$id\"}" --from now-48h)" 2
is "… in a file" "$(total --data "$tmp/recent.otlp" "cpu{stack_id=\"${id^^}\"}")" 2
is "… by prefix" "$(total --data "$tmp/recent.otlp" "cpu{stack_id=~\"${id:0:12}.*\"}")" 2
is "… with a pid" "$(total --data "$tmp/recent.otlp" "cpu{stack_id=\"$id\",pid=\"9\"}")" 0
query "windows know it" "cpu{stack_id=\"$id\"}" --from now-48h --csv
hasnt "… nothing is missing" "without pid, tid, cpu and trace_id" "$errs"
query "over time" "cpu{stack_id=\"$id\"}" --from now-48h --range 12h --csv
is "… it is all there" "$(tail -n +2 <<<"$out" | awk -F, '{ n += $2 } END { print n }')" 4
fails "an invalid id" 2 "a stack_id is 32 hexadecimal digits" query --data "$store" 'cpu{stack_id="abc"}'

# --- in files of other programs
"$cresset" -q convert "$tmp/recent.otlp" -o "$tmp/ids.otlp"
gzip -dc "$tmp/ids.otlp" | protoc -Itests/golden/otlp --decode=otlp.ProfilesData otlp.proto >"$tmp/ids.txt"
holds "OTLP has the ids" grep -q "\"$id\"" "$tmp/ids.txt"
holds "… of both stacks" test "$(grep -cE '"[0-9a-f]{32}"' "$tmp/ids.txt")" = 2
"$cresset" -q convert "$tmp/recent.otlp" -o "$tmp/ids.pb"
gzip -dc "$tmp/ids.pb" | strings >"$tmp/ids.txt" || strings "$tmp/ids.pb" >"$tmp/ids.txt"
holds "pprof has that of the trace's sample" grep -q "$id" "$tmp/ids.txt"
is "… and no other" "$(grep -cE '[0-9a-f]{32}' "$tmp/ids.txt")" 2
for file in ids.otlp ids.pb; do
	is "$file says no more when it is read" "$(sql "$tmp/$file" "SELECT count(*) FROM labels WHERE key LIKE '%stack%'")" 0
	is "… and has the same stacks" "$(folded "$tmp/$file")" "$(folded "$tmp/recent.otlp")"
	is "… of the same ids" "$(sql "$tmp/$file" "$stack_of")" "$id"
done
finish
