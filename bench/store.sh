#!/usr/bin/env bash
# The store beside databases, filled with the same generated day (bench/store/model.h) and asked the same questions, one thread each. bench/store is
# run once for each of them; answers are compared with what plain arrays give, by number, sum and a checksum.
# The databases get resolved integers, in one durable transaction for 100 s; names are in their clients. DuckDB has the rows as they
# arrived and sorted: the better time counts. SQLite has three hours, ClickHouse folded strings.
#
# Then the same with real stacks: those of this machine compiling, packing and sorting for a minute, amplified to hours of ten nodes
# (store/model_real.h).
#
# BENCH_SIZE: 1 is 45 million rows; BENCH_HOURS: fewer for a short look.
. bench/lib.sh
. bench/lib_loads.sh
store=$PWD/$BUILD/bench/store
size=${BENCH_SIZE:-0.5} hours=${BENCH_HOURS:-24} folded_rows=300000
real_s=60

# What the engines are filled with, and where their lines go.
out=$tmp/made promised=
# The engine's lines, in $out/NAME.
ask() { # NAME run|ask ENGINE [LAST]
	say "$1"
	mkdir -p "$out/$3.d"
	"$store" "$2" "$3" "$size" "$hours" "$out/$3.d" "${4-}" >"$out/$1" && return
	rm -f "$out/$1"
	return 1
}
field() { awk -v key="$2" -v n="$3" '$1 == key { print $n }' "$out/$1" 2>/dev/null; } # NAME KEY N
# Seconds of a question: the best round; of the best database.
took() { field "$1" "$2" 6; }
best_sql() {
	{ took duckdb "$1" && took duckdb "sorted-$1" && took sqlite "$1"; } | sort -g | head -1
}
rate() { calc "$(field "$1" "$2" 2) / $(field "$1" "$2" 4)"; } # rows a second of CPU time
clock_rate() { calc "$(field "$1" "$2" 2) / $(field "$1" "$2" 3)"; }
mega() { calc "$1 / 1e6"; }
ms() { calc "$1 * 1e3"; }

# --- DuckDB, out of its npm package: a database for this bench only ---
duckdb_library() {
	local directory=$BUILD/duckdb
	command -v npm >/dev/null || return
	[ -d "$directory/node_modules" ] || npm install --prefix "$directory" --no-audit --no-fund --loglevel=error \
		@duckdb/node-bindings@1.5.6-r.1 >/dev/null 2>&1
	find "$PWD/$directory" -name 'libduckdb.so' 2>/dev/null | head -1
}

# --- ClickHouse: bytes of a row with its whole stack as text ---
clickhouse_begin() {
	load_port=$(free_port)
	mkdir -p "$tmp/clickhouse"
	cat >"$tmp/clickhouse/config.xml" <<-END
		<yandex><logger><level>warning</level><log>$tmp/clickhouse/log</log><errorlog>$tmp/clickhouse/errors</errorlog></logger>
		<http_port>$load_port</http_port><listen_host>127.0.0.1</listen_host>
		<path>$tmp/clickhouse/data/</path><tmp_path>$tmp/clickhouse/tmp/</tmp_path><mark_cache_size>5368709120</mark_cache_size>
		<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database></yandex>
	END
	cat >"$tmp/clickhouse/users.xml" <<-END
		<yandex><profiles><default><max_threads>1</max_threads></default></profiles><quotas><default></default></quotas>
		<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>
	END
	own clickhouse-server --config-file="$tmp/clickhouse/config.xml"
	until_open "$load_port"
}
clickhouse() { # STATEMENT, its data on standard input
	curl -sS -f --url-query "query=$1" -X POST -T - -H Expect: "http://127.0.0.1:$load_port/"
}
# Bytes of a row on the disk, in $folded.
clickhouse_bytes() {
	local got
	clickhouse_begin || return 1
	clickhouse "CREATE TABLE r (node String, program String, type UInt8, t DateTime, stack String, value Int64)
		ENGINE = MergeTree PARTITION BY toYYYYMMDD(t) ORDER BY (node, program, type, t)" </dev/null &&
		"$store" folded "$size" $folded_rows | clickhouse "INSERT INTO r FORMAT TabSeparated" &&
		clickhouse "OPTIMIZE TABLE r FINAL" </dev/null || return 1
	got=$(clickhouse "SELECT count() FROM r" </dev/null)
	[ "$got" = $folded_rows ] || return 1
	folded=$(clickhouse "SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE active AND table = 'r'" </dev/null)
	folded_text=$(clickhouse "SELECT round(avg(length(stack))) FROM r" </dev/null)
	load_end
}

# --- one table ---
run_all() {
	mkdir -p "$out"
	ask naive run naive || exit 1
	ask sqlite run sqlite || exit 1
	[ -z "$library" ] || ask duckdb run duckdb "$library" || exit 1
	ask ours run ours 256 || exit 1
	ask small ask ours 64 || exit 1
}
compare_answers() {
	local engine question answer expected
	compared=0 wrong=
	for engine in sqlite duckdb ours small; do
		while read -r question answer; do
			expected=$(awk -v q="${question#sorted-}" '$1 == q { print $2, $3, $4 }' "$out/naive")
			[ "$expected" ] || continue
			compared=$((compared + 1))
			[ "$answer" = "$expected" ] || wrong+=" $engine:$question"
		done < <(awk 'NF == 7 { print $1, $2, $3, $4 }' "$out/$engine" 2>/dev/null)
	done
	rows=$(($(field ours hour 2) + $(field ours others 2)))
	day="$(calc "$rows / 1e6") million rows, $(field ours stacks 2) stacks, $hours h"
	row "${promised}answers ($day) of the store with 256 and 64 MB, DuckDB, SQLite, against plain arrays" "equal" \
		"${wrong:-all of $compared}" "$([ "$wrong" ] && echo no || echo yes)"
}
ingest_peers() {
	peers="no DuckDB here" duck=0
	if [ -e "$out/duckdb" ]; then
		duck=$(calc "($(field duckdb hour 2) + $(field duckdb others 2)) / ($(field duckdb hour 4) + $(field duckdb others 4))")
		peers="DuckDB $(mega "$duck")"
	fi
	sql=$(calc "($(field sqlite hour 2) + $(field sqlite others 2)) / ($(field sqlite hour 4) + $(field sqlite others 4))")
}
ingest() { # PROMISE RUN LINE
	local ours
	ours=$(rate "$2" "$3")
	row "$promised$1" "≥ 3; ≥ 2 × DuckDB; ≥ 20 × SQLite" \
		"$(mega "$ours") ($(mega "$(clock_rate "$2" "$3")") on the clock); $peers, SQLite $(mega "$sql"): $(calc "$duck ? $ours / $duck : 0") ×, $(calc "$ours / $sql") ×" \
		"$(met "$ours >= 3e6 && $ours >= 2 * $duck && $ours >= 20 * $sql")"
}
put_bytes() {
	inbox=$(field ours inbox_bytes 2) hot=$(field ours hot_bytes 2)
	bytes=$(calc "($(field ours catalog_bytes 2) + $(field ours names_bytes 2) + $(field ours parts_bytes 2) + $hot) / $rows")
	detail="$bytes: detail $(calc "$(field ours detail_bytes 2) / $rows"), sums and stacks $(calc "($(field ours parts_bytes 2) - $(field ours detail_bytes 2)) / $rows"), names $(calc "$(field ours names_bytes 2) / $rows"); the inbox file $(mega "$inbox") MB, hot tier $(mega "$hot") MB"
	if [ -e "$out/duckdb" ]; then
		theirs=$(calc "$(field duckdb bytes 2) / $rows")
		row "${promised}bytes of a row, all files, against DuckDB's" "≤ 0.6 ×" \
			"$(calc "$bytes / $theirs") × ($detail; DuckDB $theirs; its rows alone, sorted, $(calc "$(field duckdb sorted_rows_bytes 2) / $rows"))" \
			"$(met "$bytes <= 0.6 * $theirs")"
	fi
	if [ "$folded" ]; then
		row "${promised}… against ClickHouse with a folded string in each row (LZ4; $folded_rows rows, $folded_text bytes each)" "≤ 1/50" \
			"1/$(calc "$folded / $bytes") ($folded)" "$(met "$bytes * 50 <= $folded")"
	fi
}
against() { # PROMISE BAR QUESTION TIMES [AS-OURS]
	local theirs ours
	theirs=$(best_sql "$3") ours=$(took ours "${5-$3}")
	if [ -z "$theirs" ]; then
		row "$promised$1" "$2" "$(ms "$ours") ms; no DuckDB here" -
		return
	fi
	row "$promised$1" "$2" "$(calc "$theirs / $ours") × ($(ms "$ours") ms; DuckDB $(ms "$(took duckdb "$3")"), sorted $(ms "$(took duckdb "sorted-$3")")$(
		[ -z "$(took sqlite "$3")" ] || printf '; SQLite %s' "$(ms "$(took sqlite "$3")")"
	))" "$([ "$4" ] && met "$theirs / $ours >= $4" || echo -)"
}
put_questions() {
	local hashing tree grown q
	against "merge of all series and time, by blocks, against the best database" "≥ 5 ×" merge 5
	against "… every row read" "≥ 2 ×" merge 2 rows
	against "totals by process and type, 60 s steps, $hours h" "≥ 10 ×" steps 10
	against "one series, one hour: flame tree with names" "≥ 5 ×" tree 5
	row "${promised}… on its own" "≤ 5 ms" "$(ms "$(took ours tree)") ms, $(ms "$(field ours tree 5)") the first time" "$(met "$(took ours tree) <= 0.005")"
	against "diff of two hours of one series" "target 3 ×" diff ''
	against "filter by function name, all series, $hours h" "target 3 ×" filter ''
	hashing=$(took naive tree-all) tree=$(field ours tree_alone 2)
	row "${promised}flame tree of $(field ours stacks 2) stacks, nodes ≥ 1/1000, against hashing the frames of each" "≥ 20 ×; ≤ 10 ms" \
		"$(calc "$hashing / $tree") × ($(ms "$tree") ms, $(ms "$hashing"))" "$(met "$hashing / $tree >= 20 && $tree <= 0.01")"
	grown=$(for q in tree tree-all diff merge rows steps filter; do field ours $q 7; done | sort -g | tail -1)
	row "${promised}memory of the widest query, above the cache" "≤ 64 MB" "$(mega "$grown") MB" "$(met "$grown <= 64e6")"
	row "${promised}with 64 MB: merge, every row, steps, tree, diff, filter, against 256 MB" "stated" "$(
		for q in merge rows steps tree diff filter; do printf '%s × ' "$(calc "$(took small $q) / $(took ours $q)")"; done
	)" -
}

# --- made up ---
library=$(duckdb_library)
run_all
say agents
"$store" agents "$tmp/agents.d" 256 >"$out/agents" || exit 1
"$store" kept "$tmp/kept.d" 256 >"$out/kept" || exit 1
folded=
! command -v clickhouse-server >/dev/null || clickhouse_bytes
compare_answers
ingest_peers
ingest "durable ingest, million rows a CPU second: messages with stacks and names (one agent, 10 s, 2500 samples, 2000 stacks of 30 frames)" agents agents
ingest "… agents that reuse their profiles" kept agents
ingest "… 100 s of ten machines, seven names a row" ours hour
row "… messages of 1000 s" "stated" "$(mega "$(rate ours others)"); sealing and compaction $(field ours finish 2) s" -
put_bytes
put_questions

# --- real ---
# What a machine that builds software does, one thing after another.
work() {
	local f
	while :; do
		for f in src/*/*.c; do
			${CC:-gcc} -O2 -Isrc -I"$BUILD/gen" -D_GNU_SOURCE -c -o "$tmp/work.o" "$f" 2>/dev/null
		done
		tar -c src docs tests | xz -1 | wc -c
		cat src/*/*.c | sort | uniq -c | sort -rn | wc -l
	done >/dev/null
}
rm -rf "$out" # room on the disk
say "recording $real_s s"
start work
"$cresset" record -a --no-progress -d "$real_s" -o "$tmp/real.cresset" 2>/dev/null || exit 1
kill -9 "${pids[-1]}"
out=$tmp/real size=$tmp/real.cresset promised='real stacks: ' folded=
run_all
compare_answers
ingest_peers
ingest "messages of 100 s of ten machines" ours hour
put_bytes
put_questions
