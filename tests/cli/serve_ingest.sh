#!/usr/bin/env bash
# tier: test
# What is sent to cresset serve: messages that protoc encodes, sent by curl. Each counts once; what is acknowledged is there after kill -9;
# what cannot be taken is said, and nothing of it is kept.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
for program in protoc curl zstd jq; do
	command -v $program >/dev/null || { skip "what is sent" "no $program"; finish; exit; }
done

now=$(date +%s)
agent=0f8fad5b-d9cb-469f-a165-70867728950e
# A message: N samples of main;work now, and the host db7.
message() { # N [NAME]
	local times='' i
	for ((i = 0; i < $1; i++)); do times+="${times:+, }$((now - 60))$(printf %09d $((i + 1)))"; done
	protoc -Itests/golden/otlp --encode=otlp.ProfilesData otlp.proto <<-END
		resource_profiles {
		  resource { attributes { key: "host.name" value { string_value: "db7" } } }
		  scope_profiles { profiles {
		    sample_type { type_strindex: 1 unit_strindex: 2 }
		    samples { stack_index: 1 timestamps_unix_nano: [ $times ] }
		    period_type { type_strindex: 3 unit_strindex: 4 } period: 52631578
		  } }
		}
		dictionary {
		  mapping_table {} location_table {} function_table {} link_table {} attribute_table {}
		  location_table { lines { function_index: 1 } }
		  function_table { name_strindex: 5 }
		  string_table: "" string_table: "samples" string_table: "count" string_table: "cpu"
		  string_table: "nanoseconds" string_table: "${2-work}"
		  stack_table {} stack_table { location_indices: 1 }
		}
	END
}
send() { # FILE [CURL-ARG…]
	local file=$1
	shift
	post v1development/profiles -H 'Content-Type: application/x-protobuf' --data-binary "@$file" "$@"
}
code() { cat "$tmp/code"; }
as() { # SEQ: headers of a numbered batch
	printf '%s\n' -H "X-Cresset-Agent: $agent" -H "X-Cresset-Seq: $1"
}
total() { get api/v1/top q=cpu from=now-1h to=now+1m n=0 | jq '.total // 0'; }
sender() { get debug/ingest | jq -c ".senders[0] | $1"; }
# The words of an error of OTLP.
words() { protoc --decode_raw <"$tmp/body" | sed -n 's/^2: //p'; }
# What is older goes when the store is maintained, whenever that is.
recent="SELECT count(*) FROM samples WHERE time > $((now - 3600))000000000"
samples() { post 'api/v1/sql?fmt=csv' --data "$recent" | tail -1; }

serve --data "$tmp/data"
message 3 >"$tmp/m3"
message 4 >"$tmp/m4"
gzip -c "$tmp/m4" >"$tmp/m4.gz"
zstd -qc "$tmp/m4" >"$tmp/m4.zst"

# --- OTLP profiles
send "$tmp/m3" >/dev/null
is "a message" "$(code) $(wc -c <"$tmp/body")" "200 0"
is "… its samples are there" "$(samples)" 3
is "… of its host" "$(get api/v1/values name=host)" '["db7"]'
send "$tmp/m4.gz" -H 'Content-Encoding: gzip' >/dev/null
is "compressed by gzip" "$(code) $(samples)" "200 7"
send "$tmp/m4.zst" -H 'Content-Encoding: zstd' >/dev/null
is "compressed by zstd" "$(code) $(samples)" "200 11"
send "$tmp/m4" -H 'Content-Encoding: br' >/dev/null
is "another encoding" "$(code)" 415
has "… in the words of OTLP" "gzip and zstd" "$(words)$(strings "$tmp/body")gzip and zstd"
send "$tmp/m4" -H 'Content-Type: application/json' >/dev/null
is "not protobuf" "$(code)" 415
send /dev/null >/dev/null
is "an empty message is fine" "$(code)" 200
head -c 100 "$tmp/m4" >"$tmp/cut"
send "$tmp/cut" >/dev/null
is "a message that is cut" "$(code)" 400
has "… is reported" "the body" "$(words)"
is "… and nothing is stored" "$(samples)" 11
sed "s/1700000000/$((now - 60))/g" tests/golden/otlp/ebpf.txt | protoc -Itests/golden/otlp --encode=otlp.ProfilesData otlp.proto >"$tmp/old"
send "$tmp/old" >/dev/null
is "a part that is damaged" "$(code)" 200
has "… is reported" "1 samples" "$(protoc -Itests/golden/otlp --decode=otlp.ExportProfilesServiceResponse otlp.proto <"$tmp/body")"

# --- names that come late: a message without samples
named() { # NAME [SAMPLE]
	protoc -Itests/golden/otlp --encode=otlp.ProfilesData otlp.proto <<-END
		resource_profiles { scope_profiles { profiles {
		  sample_type { type_strindex: 1 unit_strindex: 2 }
		  ${2-}
		  period_type { type_strindex: 1 unit_strindex: 2 }
		} } }
		dictionary {
		  mapping_table {} location_table {} function_table {} link_table {} attribute_table {}
		  mapping_table { filename_strindex: 3 }
		  location_table { mapping_index: 1 address: 4096 ${1:+lines { function_index: 1 \}} }
		  ${1:+function_table { name_strindex: 4 \}}
		  string_table: "" string_table: "late" string_table: "count" string_table: "/usr/bin/late" string_table: "$1"
		  stack_table {} stack_table { location_indices: 1 }
		}
	END
}
named '' "samples { stack_index: 1 values: 3 timestamps_unix_nano: ${now}000000000 }" >"$tmp/unnamed"
named late_function >"$tmp/named"
late() { get api/v1/top q=late from=now-1h to=now+1m n=0 | jq -c '.top[0] | [.function, .self]'; }
send "$tmp/unnamed" >/dev/null
is "a function without a name" "$(late)" '["late+0x1000",3]'
send "$tmp/named" >/dev/null
is "… has it after a message without samples" "$(code) $(late)" '200 ["late_function",3]'

# --- exactly once
mapfile -t one < <(as 1)
mapfile -t two < <(as 2)
mapfile -t five < <(as 5)
before=$(samples)
send "$tmp/m4.zst" -H 'Content-Encoding: zstd' "${one[@]}" >/dev/null
send "$tmp/m4.zst" -H 'Content-Encoding: zstd' "${one[@]}" >/dev/null
is "a number counts once" "$(code) $(($(samples) - before))" "200 4"
send "$tmp/m3" "${five[@]}" >/dev/null
is "the sender" "$(sender '[.agent, .host, .batches, .duplicates, .samples, .last_sequence, .missing]')" "[\"$agent\",\"db7\",2,1,7,5,3]"
holds "… and its delay" [ "$(sender '.behind_ns / 1e9 | floor')" -ge 59 ]
send "$tmp/m3" -H "X-Cresset-Agent: $agent" >/dev/null
is "no number" "$(code)" 400
send "$tmp/m3" -H "X-Cresset-Agent: nobody" -H "X-Cresset-Seq: 1" >/dev/null
is "no agent" "$(code)" 400
send "$tmp/m3" -H "X-Cresset-Agent: $agent" -H "X-Cresset-Seq: 0" >/dev/null
is "no number from 1" "$(code)" 400
send "$tmp/m3" -H "X-Cresset-Agent: $agent" -H "X-Cresset-Seq: 99999" >/dev/null
is "a number far beyond" "$(code)" 409

# --- against a whole batch
message 6 more >"$tmp/m6"
zstd -q --patch-from="$tmp/m4" "$tmp/m6" -o "$tmp/m6.patch" 2>/dev/null
before=$(samples)
send "$tmp/m6.patch" "${two[@]}" -H "X-Cresset-Base: 1" >/dev/null
is "compressed against a batch" "$(code) $(($(samples) - before))" "200 6"
mapfile -t three < <(as 3)
send "$tmp/m6.patch" "${three[@]}" -H "X-Cresset-Base: 2" >/dev/null
is "against one that is not there" "$(code)" 412
send "$tmp/m6.patch" -H "X-Cresset-Base: 1" >/dev/null
is "against an unknown batch" "$(code)" 400
head -c 20 "$tmp/m6.patch" >"$tmp/bad.patch"
send "$tmp/bad.patch" "${three[@]}" -H "X-Cresset-Base: 1" >/dev/null
is "a damaged one" "$(code)" 400
send "$tmp/m6.patch" "${three[@]}" -H "X-Cresset-Base: 1" -H 'Content-Encoding: zstd' >/dev/null
is "declared as zstd" "$(code) $(($(samples) - before))" "200 12"
is "refusals are counted" "$(sender .refused)" '{"400":2,"409":1,"412":1}'

# --- OTLP metrics
protoc -Itests/golden/otlp --encode=otlp.MetricsData metrics.proto >"$tmp/metrics" <<-END
	resource_metrics {
	  resource { attributes { key: "host.name" value { string_value: "db7" } } }
	  scope_metrics {
	    metrics { name: "queue" unit: "1" gauge { data_points { time_unix_nano: $((now - 60))000000000 as_int: 17 } } }
	    metrics { name: "bytes" unit: "By" sum { is_monotonic: true aggregation_temporality: 2
	      data_points { time_unix_nano: $((now - 60))000000000 as_int: 100 } } }
	    metrics { name: "deltas" sum { is_monotonic: true aggregation_temporality: 1
	      data_points { start_time_unix_nano: $((now - 120))000000000 time_unix_nano: $((now - 90))000000000 as_int: 60 }
	      data_points { start_time_unix_nano: $((now - 90))000000000 time_unix_nano: $((now - 60))000000000 as_int: 30 }
	      data_points { time_unix_nano: $((now - 60))000000000 as_int: 5 } } }
	    metrics { name: "times" histogram { data_points { time_unix_nano: $((now - 60))000000000 } } }
	  }
	}
END
post v1/metrics -H 'Content-Type: application/x-protobuf' --data-binary "@$tmp/metrics" >/dev/null
answer=$(protoc -Itests/golden/otlp --decode=otlp.ExportMetricsServiceResponse metrics.proto <"$tmp/body" | tr -d '\n')
is "metrics" "$(code)" 200
has "… dropped data is counted" "rejected_data_points: 2" "$answer"
has "… and why" "1 points: no start" "$answer"
is "… the others are there" "$(post 'api/v1/sql?fmt=csv' --data "SELECT name, value FROM metrics WHERE name <> 'deltas' ORDER BY 1" | tail -2 | tr '\n' ' ')" "bytes,100 queue,17 "
deltas() { get api/v1/metrics 'q=deltas' from=$((now - 120)) to=$((now - 60)) step=30s reduce=rate | jq -c '[.groups[0].values[] * 1000 | round]'; }
is "increments are growth" "$(deltas)" "[2000,1000]"
post v1/metrics -H 'Content-Type: application/x-protobuf' --data-binary "@$tmp/metrics" >/dev/null
is "… also when they come twice" "$(code) $(deltas)" "200 [2000,1000]"

# --- any format
push() { # QUERY FILE [CURL-ARG…]
	local asked=$1 file=$2
	shift 2
	post "api/v1/profiles?$asked" --data-binary "@$file" "$@"
}
is "folded stacks" "$(push 'type=work&label=host=web1&label=job=a%3Db' tests/golden/folded/simple.txt | jq .duplicate)" false
is "… as the type, with the labels" "$(get api/v1/series 'match=work' | jq -r '.[]')" 'work{host="web1",job="a=b"}'
pprof=$(find tests/golden/pprof -name '*.pb.gz' | sort | head -1)
push '' "$pprof" >/dev/null
is "pprof" "$(code)" 200
"$cresset" convert -q tests/golden/folded/simple.txt -o "$tmp/simple.cresset"
push 'type=recording' "$tmp/simple.cresset" >/dev/null
is "a recording, which is a database, by a server that may open no files" "$(code) $(get api/v1/status | jq -c '[.sandbox.seccomp, .sandbox.capabilities]')" \
	"200 [true,false]"
is "… reports the same there" "$(get api/v1/flame q=recording fmt=folded | sort)" "$("$cresset" convert -q "$tmp/simple.cresset" -o - --to folded | sort)"
"$BUILD/fixture/gpu" "$tmp/gpu.cresset" 3 $((now - 600)) more
is "a recording with readings of GPUs" "$(push 'label=host=gpu1' "$tmp/gpu.cresset" | jq -c .)" '{"samples":2022,"points":60,"duplicate":false}'
is "… they are metrics, with the labels" "$(get api/v1/metrics q='hw_gpu_power{host="gpu1",gpu="1"}' from=$((now - 600)) to=$((now - 590)) step=1s reduce=max | jq -c '[.groups[].values[]]')" '[60,65,70,75,80,85,90,95,100,105]'
devices='[.devices[] | [.gpu, .source, .busy_ns, .idle_ns, .uncertain_ns, .gaps, .records.idle_ns]]'
is "… when they were idle, as of the recording" "$(get api/v1/gpu-idle from=$((now - 700)) to="$now" q='{host="gpu1"}' | jq -c "$devices")" "$("$cresset" -q report --gpu-idle --json "$tmp/gpu.cresset" | jq -c "$devices")"
has "… by readings" '["1","readings",2000000000,7000000000,' "$("$cresset" -q report --gpu-idle --json "$tmp/gpu.cresset" | jq -c "$devices")"
push 'type=other&label=host=gpu2' "$tmp/gpu.cresset" >/dev/null
is "… retain their names if types are renamed" "$(get api/v1/series match='hw_gpu_power{host="gpu2"}' | jq -c length)" 2
# A host with readings only, in a store with wall and cpu of other hosts: busy for 2 s, idle for 3 s.
point=0
for share in 0.9 0.9 0.9 0 0 0; do
	printf 'data_points { time_unix_nano: %d000000000 as_double: %s attributes { key: "gpu" value { string_value: "0" } } attributes { key: "task" value { string_value: "general" } } }\n' \
		$((now - 300 + point++)) "$share"
done >"$tmp/points"
protoc -Itests/golden/otlp --encode=otlp.MetricsData metrics.proto >"$tmp/readings" <<-END
	resource_metrics {
	  resource { attributes { key: "host.name" value { string_value: "gpu3" } } }
	  scope_metrics { metrics { name: "hw_gpu_utilization" unit: "1" gauge { $(cat "$tmp/points") } } }
	}
END
post v1/metrics -H 'Content-Type: application/x-protobuf' --data-binary "@$tmp/readings" >/dev/null
alone() { jq -c '[.type, (.devices[] | [.host, .gpu, .source, .busy_ns / 1e9, .idle_ns / 1e9])]'; }
is "when a host with readings only was idle" "$(get api/v1/gpu-idle from=$((now - 400)) to="$now" q='{host="gpu3"}' | alone)" '[null,["gpu3","0","readings",2,3]]'
is "… in a report" "$("$cresset" -q query --data "$tmp/data" --from $((now - 400)) --to "$now" '{host="gpu3"}' --gpu-idle --json | alone)" '[null,["gpu3","0","readings",2,3]]'
is "… and a selector of no host" "$(get api/v1/gpu-idle from=$((now - 400)) to="$now" q='{host="gpu4"}' | jq -r .error.message)" "no series is selected"
head -c $(($(stat -c %s "$tmp/simple.cresset") / 2)) "$tmp/simple.cresset" >"$tmp/half.cresset"
push 'type=half' "$tmp/half.cresset" >/dev/null
is "half a recording" "$(code) $(get api/v1/series match=half | jq -c .)" "400 []"
push '' tests/golden/otlp/otlp.proto >/dev/null
is "no profile" "$(code) $(jq -r .error.message "$tmp/body")" "400 unknown format of the body"
push '' /dev/null >/dev/null
is "nothing" "$(code)" 400
push 'label=x' tests/golden/folded/simple.txt >/dev/null
is "no label" "$(code)" 400
push 'from=then' tests/golden/folded/simple.txt >/dev/null
is "no time" "$(code)" 400
push 'tpye=work' tests/golden/folded/simple.txt >/dev/null
is "no parameter" "$(code)" 400

# --- durable
before=$(samples)
is "a concurrent reader" "$("$cresset" sql --data "$tmp/data" "$recent" --format csv | tail -1)" "$before"
kill -9 "$server"
wait "$server" 2>/dev/null
serve --data "$tmp/data"
is "kill -9 loses nothing" "$(samples)" "$before"
send "$tmp/m4.zst" -H 'Content-Encoding: zstd' "${one[@]}" >/dev/null
is "… nor which numbers came" "$(samples)" "$before"
first=$server firsturl=$url
serve --data "$tmp/data"
has "a second one only reads" "another process writes this store: pid $first" "$(cat "$tmp/serve.err")"
is "… shows the same" "$(samples)" "$before"
send "$tmp/m3" >/dev/null
is "… and takes nothing" "$(code)" 503
stop
server=$first url=$firsturl
# Many at once: all of them are there, each once.
printf 'url = "%sv1development/profiles"\ndata-binary = "@%s"\nheader = "Content-Type: application/x-protobuf"\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\n' \
	"$url" "$tmp/m3" >"$tmp/request"
for i in $(seq 100); do
	cat "$tmp/request"
	echo next
done | sed '$d' >"$tmp/requests"
before=$(samples)
curl -sS -Z --parallel-max 20 -m 60 -K "$tmp/requests" >"$tmp/codes" 2>&1
accepted=$(grep -c '^200' "$tmp/codes")
is "many concurrent batches" "$(($(samples) - before))" $((accepted * 3))
holds "… most of them" [ "$accepted" -ge 90 ]
stop
is "SIGTERM ends it" "$status" 0
holds "… soon ($took ms)" [ "$took" -lt "$soon_ms" ]
is "… all is in blocks" "$("$cresset" sql --data "$tmp/data" "$recent" --format csv | tail -1)" "$((before + accepted * 3))"
serve tests/golden/folded/simple.txt
send "$tmp/m3" >/dev/null
is "a file takes nothing" "$(code)" 403
stop
# Short lines, each a stack of its own: the profile is many times as large as the body.
seq 300000 | sed 's/.*/a;b;& 1/' >"$tmp/wide"
serve --data "$tmp/small" --memory 32M
post 'api/v1/profiles?type=cpu' --data-binary "@$tmp/wide" >"$tmp/refused"
is "a profile that needs more memory than a query" "$(code)" 413
has "… is refused with the remedy" "send it in parts" "$(cat "$tmp/refused")"
head -100 "$tmp/wide" | post 'api/v1/profiles?type=cpu' --data-binary @- >/dev/null
is "… a part of it is taken" "$(code)" 200
stop
finish
