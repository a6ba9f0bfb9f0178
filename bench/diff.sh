#!/usr/bin/env bash
# cresset diff of two recordings with 200 000 functions: the time to decide which functions are the same in two builds, beside the
# comparison of equal functions only (--strict), and beside an earlier build of cresset: BENCH_BEFORE=PROGRAM. Best of seven.
. bench/lib.sh
functions=${BENCH_FUNCTIONS:-200000}
before=${BENCH_BEFORE:-}

# SEED DIRECTORY: a pprof file with every function, each in one stack of its own below two others. Files are in DIRECTORY.
make_side() {
	awk -v n="$functions" -v seed="$1" 'BEGIN {
		srand(seed)
		for (i = 0; i < n; i++)
			printf "main;%s;%s;%s %d\n", name(int(n * rand())), name(int(n * rand())), name(i), 1 + int(50 * rand())
	}
	function name(i) { return "space" i % 37 "::part" i % 997 "::function" i "(int, char const*)" }' >"$tmp/$1.folded"
	"$cresset" convert "$tmp/$1.folded" -o "$tmp/$1.cresset"
}
# NAME FILE1 FILE2 PROGRAM OPTION…: the CPU seconds of the fastest of seven, in $best.
best_of() {
	local old=$1 new=$2 program=$3 s
	shift 3
	best=999999
	for _ in $(seq "${BENCH_ROUNDS:-7}"); do
		s=$({ TIMEFORMAT='%U %S' && time "$program" diff "$old" "$new" --top 3 "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }')
		best=$(awk "BEGIN { print ($s < $best) ? $s : $best }")
	done
}

say "diff of $functions functions"
make_side 1
make_side 2
# The same program in another build: every name differs by a clone's suffix.
sed -E 's/\(int, char const\*\)/.isra.0/g' "$tmp/2.folded" >"$tmp/3.folded"
sed -E 's/\(int, char const\*\)/.part.1/g' "$tmp/1.folded" >"$tmp/4.folded"
"$cresset" convert "$tmp/3.folded" -o "$tmp/3.cresset"
"$cresset" convert "$tmp/4.folded" -o "$tmp/4.cresset"
best_of "$tmp/1.cresset" "$tmp/2.cresset" "$cresset" --strict
strict=$best
best_of "$tmp/1.cresset" "$tmp/2.cresset" "$cresset"
now=$best
row "\`cresset diff\` of 200 000 functions, the same in two builds, against \`--strict\`" "≤ 1.2×" \
	"$(calc "$now / $strict")× ($now s)" "$(met "$now <= 1.2 * $strict")"
best_of "$tmp/3.cresset" "$tmp/4.cresset" "$cresset"
builds=$best
best_of "$tmp/3.cresset" "$tmp/4.cresset" "$cresset" --strict
row "… of two builds with other names" "-" "$(calc "$builds / $best")× ($builds s; strictly all are gone and new)" -
if [ "$before" ]; then
	best_of "$tmp/1.cresset" "$tmp/2.cresset" "$before"
	row "… against an earlier build ($("$before" --version | head -1))" "≤ 1.1×" "$(calc "$now / $best")× ($best s)" \
		"$(met "$now <= 1.1 * $best")"
	best_of "$tmp/3.cresset" "$tmp/4.cresset" "$before"
	row "… two builds, beside it" "≤ 1.1×" "$(calc "$builds / $best")× ($best s)" "$(met "$builds <= 1.1 * $best")"
fi
