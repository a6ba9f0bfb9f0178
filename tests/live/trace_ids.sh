#!/usr/bin/env bash
# tier: live
# run: alone
# Spans of traces: programs whose threads publish the span they work for, in each way that compilers and linkers have for a thread-local variable.
# Each sample's span must be the one that its thread had at that moment by its own log; other processes have none; and every output has them.
. tests/live/lib.sh
needs_recording
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }

sql() { "$cresset" sql -q --format csv --data "$1" "$2" | tail -n +2 | tr -d '\r'; }
declare -A pid_of
# Somebody else may run programs of the same names.
of_program() { echo "pid = ${pid_of[$1]} AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$1')"; }
# Samples of a program: samples FILE TYPE NAME, in the form for trace_check.py.
samples() {
	echo "time,length,tid,trace_id,span_id"
	sql "$1" "SELECT time, length, tid, trace_id, span_id FROM samples WHERE type = '$2' AND $(of_program "$3")"
}
# checked NAME TYPE [RECORDING]: right wrong missing none unsure outside
checked() {
	samples "$tmp/${3-$1}.cresset" "$2" "$1" >"$tmp/$1.$2.csv"
	python3 tests/live/trace_check.py "$tmp/$1.log" "$tmp/$1.$2.csv"
}
loss() { "$cresset" report -q --json "$tmp/$1.cresset" | grep -o "\"$2\": *[0-9]*" | grep -o '[0-9]*$'; }
# Records a program from its start to its end: run_traced NAME PROGRAM SECONDS [OPTION…]; with $also: options of the recorder
run_traced() {
	local name=$1
	# shellcheck disable=SC2086 # words
	begin "$tmp/$name.cresset" ${also:---comm $name} -F 499 -e cpu,off-cpu
	begin_traced "$@"
	wait "${pids[-1]}"
	end
}
begin_traced() {
	start "$progs/$2" "$1" "$3" "$tmp/$1.log" "${@:4}" >/dev/null
	pid_of[$1]=${pids[-1]}
}
# The span of each sample, on the CPU and off it, is the thread's.
spans_are_true() { # NAME WHAT [RECORDING]
	local type right wrong missing none
	for type in cpu off-cpu; do
		read -r right wrong missing none _ <<<"$(checked "$1" $type "${@:3}")"
		is "$2, $type: no span that the thread did not have, none that is missing" "$wrong $missing" "0 0"
		holds "… $right samples in spans, $none in none" test "$right" -ge 20 -a "$none" -ge 20
	done
}

# --- in the program itself, beside all others. The machine's programs are new to the recorder: it takes a while.
also=-a run_traced in-program trace 15
spans_are_true in-program "in the program"

# --- places of the variable: programs of all kinds at the same time
kinds="in-static|trace_static||in a static program at a random address
in-lib|trace_dl|lib=$progs/trace_lib|in a library, general-dynamic
in-lib-desc|trace_dl|lib=$progs/trace_lib_desc|in a library, by a descriptor of a block of its own
in-lib-static|trace_dl|lib=$progs/trace_lib_desc_static|… of static variables
in-lib-ie|trace_dl|lib=$progs/trace_lib_ie|in a library, initial-exec
in-lib-own|trace_dl|lib=$progs/trace_lib_local|in a library, protected"
begin "$tmp/kinds.cresset" --comm 'in-*' -F 999 -e cpu,off-cpu
traced=()
while IFS='|' read -r name program option _; do
	# shellcheck disable=SC2086 # an option or nothing
	begin_traced "$name" "$program" 10 $option
	traced+=("${pids[-1]}")
done <<<"$kinds"
wait "${traced[@]}"
end
while IFS='|' read -r name _ _ what; do
	spans_are_true "$name" "$what" kinds
done <<<"$kinds"

# --- shares: the time in spans by the program's own clocks, of samples since its spans are known
read -r _ in_ns out_ns < <(grep ^cpu "$tmp/in-program.log")
since=$(sql "$tmp/in-program.cresset" "SELECT min(time) FROM samples WHERE trace_id IS NOT NULL AND $(of_program in-program)")
working=$(awk -v s="$since" '$1 != "cpu" && $2 > s && !seen[$1]++ { n++ } END { print n }' "$tmp/in-program.log")
is "all threads have been seen" "$working" 4
read -r n with <<<"$(sql "$tmp/in-program.cresset" "SELECT count(*), count(trace_id) FROM samples WHERE type = 'cpu' AND time >= $since
	AND $(of_program in-program)" | tr , ' ')"
share=$(awk "BEGIN { print $in_ns / ($in_ns + $out_ns) }")
near "the share of samples in spans" "$with" "$(awk "BEGIN { print $n * $share }")" "$(awk "BEGIN { print $(sigma "$n" "$share" 4) + 0.02 * $n }")"

# --- processes without spans
is "other processes have none" "$(sql "$tmp/in-program.cresset" "SELECT count(*) FROM samples WHERE trace_id IS NOT NULL AND pid != ${pid_of[in-program]}")" 0

# --- every output
trace=$(sql "$tmp/in-program.cresset" "SELECT trace_id FROM samples WHERE type = 'cpu' AND trace_id IS NOT NULL GROUP BY trace_id ORDER BY count(*) DESC LIMIT 1")
want=$(sql "$tmp/in-program.cresset" "SELECT count(*) FROM samples WHERE type = 'cpu' AND trace_id = '$trace'")
of_trace() { "$cresset" query -q --data "$1" "cpu{trace_id=\"$trace\"}" -o - --format folded | folded_sum; }
is "a selector takes one trace" "$(of_trace "$tmp/in-program.cresset")" "$want"
is "… of report as well" "$("$cresset" convert -q "$tmp/in-program.cresset" --match "{trace_id=\"$trace\"}" --type cpu -o - --format folded | folded_sum)" "$want"
for ending in pb.gz otlp; do
	"$cresset" convert -q "$tmp/in-program.cresset" --type cpu -o "$tmp/out.$ending"
	is "it goes through .$ending" "$(of_trace "$tmp/out.$ending")" "$want"
done
"$cresset" convert -q "$tmp/in-program.cresset" --data "$tmp/store"
is "… and into a store" "$(of_trace "$tmp/store")" "$want"

# --- invalid records
run_traced garbage trace 5 mode=garbage
read -r right wrong _ none _ <<<"$(checked garbage cpu)"
is "pointers to anything: no span" "$right $wrong" "0 0"
holds "… and the samples are there: $none" test "$none" -ge 50
holds "… and what could not be read is counted: $(loss garbage traces_unread)" test "$(loss garbage traces_unread)" -ge 20

# --- published late, and removed: takes effect at once
begin "$tmp/changes.cresset" --comm 'ch-*' -F 499 -e cpu,off-cpu
begin_traced ch-late trace_dl 9 lib="$progs/trace_lib" late=1
traced=("${pids[-1]}")
begin_traced ch-close trace_dl 2 lib="$progs/trace_lib" mode=close gap=0.005
traced+=("${pids[-1]}")
begin_traced ch-execs trace 2 mode=exec gap=0.005
traced+=("${pids[-1]}")
wait "${traced[@]}"
end
spans_are_true ch-late "published after a second of its time" changes
read -r right wrong _ none _ <<<"$(checked ch-close cpu changes)"
is "a library that is closed: no span from then on" "$wrong" 0
holds "… $right samples before, $none after" test "$right" -ge 20 -a "$none" -ge 100
read -r right wrong _ none _ <<<"$(checked ch-execs cpu changes)"
is "another program by exec: no span from then on" "$wrong" 0
holds "… $right samples before, $none after" test "$right" -ge 20 -a "$none" -ge 100

# --- without unwind tables; changes that take long
also="--comm plain --unwind fp" run_traced plain trace 5 gap=0.002
spans_are_true plain "stacks by frame pointers"
finish
