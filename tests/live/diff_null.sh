#!/usr/bin/env bash
# tier: live
# A null test of cresset diff: one program recorded twice, from another directory, stripped, as PIE or not, without ASLR, in another mount and pid
# namespace, under another name of its library, on another day, and by perf. The program is the same, so differences are due to chance: at most 5 % of
# functions are marked, and --fail-on 0 fails at most 2.5 % of all comparisons. The same holds for the recordings converted to every format that is
# both written and read.
. tests/live/lib.sh
needs_recording

runs=${DIFF_NULL_RUNS:-40}
source=tests/live/prog/cpu_shares.c
# NAME OPTION…: builds the program in a directory of its own.
build() {
	mkdir -p "$tmp/$1"
	cp "$source" "$tmp/$1/prog.c"
	gcc -g -O1 "${@:2}" -o "$tmp/$1/prog" "$tmp/$1/prog.c"
}
build here -pie -fPIE
build there -pie -fPIE
build fixed -no-pie -fno-pie
mkdir "$tmp/bare"
strip -o "$tmp/bare/prog" "$tmp/here/prog"

variants=(here there fixed bare aslr container)
# VARIANT OUT
recorded() {
	local program=("$tmp/$1/prog" 1)
	case $1 in
	aslr) program=(setarch -R "$tmp/here/prog" 1) ;;
	container) program=(unshare -m -p -f "$tmp/here/prog" 1) ;;
	esac
	timeout "$most_s" "$cresset" record -q -F 997 -o "$2" -- "${program[@]}" >/dev/null || not_ok "recording $1" "status $?"
}

# FILE OPTION…: converts the samples of the program only, without the shell that started it and without the kernel, where interrupts of other work run.
of_program() { "$cresset" convert -q "$1" --no-kernel --match 'cpu{comm="prog"}' "${@:2}" || not_ok "convert ${*:2}" $?; }

# OLD NEW: compares two files. Counts functions in $compared, functions with an interval of self without 0 in $marked, and exits with status 10
# (--fail-on 0) in $fired.
compare() {
	local got
	"$cresset" diff "$1" "$2" --json --top 0 --fail-on 0 >"$tmp/out.json" 2>"$tmp/err"
	case $? in
	0) ;;
	10) fired=$((fired + 1)) && sed 's/^/# /' "$tmp/err" ;;
	*) not_ok "diff $1 $2" "$(cat "$tmp/err")" ;;
	esac
	got=$(jq -r '[.rows[].self | select(.older + .newer > 0)] | "\(length) \(map(select(.certainty == "likely" or .certainty == "sure")) | length)"' "$tmp/out.json")
	compared=$((compared + ${got% *}))
	marked=$((marked + ${got#* }))
}
# WHAT: marks and ends with 10 within five standard deviations of 5 % and 2.5 %.
within() {
	holds "$1: $marked of $compared functions are marked" \
		awk -v k="$marked" -v n="$compared" 'BEGIN { exit !(n > 0 && k <= n * .05 + 5 * sqrt(n * .05 * .95)) }'
	holds "$1: --fail-on 0 fires in $fired of $runs comparisons" \
		awk -v k="$fired" -v n="$runs" 'BEGIN { exit !(k <= n * .025 + 5 * sqrt(n * .025 * .975)) }'
}

compared=0 marked=0 fired=0
for i in $(seq "$runs"); do
	recorded here "$tmp/all.cresset"
	of_program "$tmp/all.cresset" -o "$tmp/old.$i.cresset"
	recorded "${variants[i % ${#variants[@]}]}" "$tmp/all.cresset"
	of_program "$tmp/all.cresset" -o "$tmp/new.$i.cresset"
	compare "$tmp/old.$i.cresset" "$tmp/new.$i.cresset"
done
within "recordings"

for format in pprof folded perf-script speedscope firefox callgrind otlp chrome-trace; do
	compared=0 marked=0 fired=0
	for i in $(seq "$runs"); do
		for side in old new; do
			of_program "$tmp/$side.$i.cresset" --to "$format" -o "$tmp/$side.file"
		done
		compare "$tmp/old.file" "$tmp/new.file"
	done
	within "$format"
done

# --- the same on other days: stacks without times, in a store
day() { "$cresset" -q query --data "$tmp/days" samples --from "2026-11-$1" --to "2026-11-$2" -o "$3" || not_ok "query of a day" $?; }
compared=0 marked=0 fired=0
for i in $(seq "$runs"); do
	rm -rf "$tmp/days"
	for side in old new; do
		of_program "$tmp/$side.$i.cresset" -o "$tmp/$side.folded"
		at=2026-11-01T10:00:00Z
		[ $side = old ] || at=2026-11-20T22:00:00Z
		"$cresset" -q convert "$tmp/$side.folded" --data "$tmp/days" --at $at || not_ok "$side into a store" $?
	done
	day 01 02 "$tmp/old.cresset"
	day 20 21 "$tmp/new.cresset"
	compare "$tmp/old.cresset" "$tmp/new.cresset"
done
within "two days of a store"

# --- perf's own recordings: its file, and its text
if command -v perf >/dev/null; then
	perf_recorded() {
		local program=("$tmp/$1/prog" 1)
		case $1 in
		aslr) program=(setarch -R "$tmp/here/prog" 1) ;;
		container) program=(unshare -m -p -f "$tmp/here/prog" 1) ;;
		esac
		timeout "$most_s" perf record -q -e cpu-clock:u -F 997 -g -o "$2.data" -- "${program[@]}" >/dev/null 2>&1 || not_ok "perf record of $1" "status $?"
		perf script -i "$2.data" >"$2.perf.txt" 2>/dev/null
	}
	for i in $(seq "$runs"); do
		perf_recorded here "$tmp/perf.old.$i"
		perf_recorded "${variants[i % ${#variants[@]}]}" "$tmp/perf.new.$i"
	done
	for ending in data perf.txt; do
		compared=0 marked=0 fired=0
		for i in $(seq "$runs"); do
			for side in old new; do of_program "$tmp/perf.$side.$i.$ending" -o "$tmp/$side.cresset"; done
			compare "$tmp/old.cresset" "$tmp/new.cresset"
		done
		within "perf: $ending"
	done
else
	skip "perf's recordings" "no perf"
fi
finish
