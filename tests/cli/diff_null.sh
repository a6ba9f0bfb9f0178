#!/usr/bin/env bash
# tier: test
# A null test of cresset diff: it compares two outputs of perf script of one program. The newer one is of another day, has another pid, other
# addresses or another directory, or is of another build or a stripped file. The program is the same, so differences are due to chance: at most
# 5 % of functions are marked, and --fail-on 0 fails at most 2.5 % of all comparisons. tests/live/diff_null.sh compares real recordings.
. tests/cli/lib.sh

runs=40 samples=400
# SEED VARIANT: prints random samples of 30 functions. Seeds are fixed, so every run of the test has the same samples.
texts() {
	awk -v seed="$1" -v variant="$2" -v samples=$samples 'BEGIN {
		srand(seed)
		pid = variant == "pid" ? 4711 : 99
		base = variant == "aslr" ? 5640 : 4096
		day = variant == "day" ? 86400 * 3 : 0
		dir = variant == "directory" ? "/tmp/build-2/prog" : variant == "container" ? "/app/prog" : "/tmp/build-1/prog"
		dir = variant == "replaced" ? dir " (deleted)" : dir
		for (s = 0; s < samples; s++) {
			f = int(30 * rand() * rand()) # 0 is the most frequent one
			at = day + 1000 + s / 1000
			printf "prog %d [000] %.6f: 1001001 cpu-clock:\n", pid, at
			frame(f, 16 + 64 * f)
			frame(100, 4000)
			print ""
		}
	}
	function frame(f, offset,   name) {
		name = f == 100 ? "main" : "work_" f
		name = variant == "build" && f % 3 == 0 ? name ".isra." f : name
		name = variant == "build" && f % 3 == 1 ? name ".part.0" : name
		name = variant == "stripped" ? "[unknown]" : name "+0x4"
		printf "\t%10x %s (%s)\n", base * 4096 + offset, name, dir
	}'
}

# VARIANT SEED: compares two outputs. Counts functions in $compared, functions with an interval of self without 0 in $marked, and exits with status
# 10 (--fail-on 0) in $fired.
compare() {
	local got
	texts $((2 * $2)) "" >"$tmp/old.perf.txt"
	texts $((2 * $2 + 1)) "$1" >"$tmp/new.perf.txt"
	"$cresset" -q diff "$tmp/old.perf.txt" "$tmp/new.perf.txt" --json --top 0 --fail-on 0 >"$tmp/out.json" 2>"$tmp/err"
	case $? in
	0) ;;
	10) fired=$((fired + 1)) ;;
	*) not_ok "diff of $1" "$(cat "$tmp/err")" ;;
	esac
	got=$(jq -r '[.rows[].self | select(.older + .newer > 0)] | "\(length) \(map(select(.certainty == "likely" or .certainty == "sure")) | length)"' "$tmp/out.json")
	compared=$((compared + ${got% *}))
	marked=$((marked + ${got#* }))
	is_new=$(jq '[.rows[] | select((.total.older == 0 or .total.newer == 0) and .total.older + .total.newer > 5)] | length' "$tmp/out.json")
	[ "$is_new" = 0 ] || gone="$gone $1"
}

variants=(day pid aslr directory container replaced build stripped)
compared=0 marked=0 fired=0 gone=
for i in $(seq $runs); do compare "${variants[i % ${#variants[@]}]}" "$i"; done
holds "$marked of $compared functions are marked" test $((marked * 20)) -le "$compared"
holds "--fail-on 0 fires in $fired of $runs comparisons" test "$fired" -le 1
is "no function with many samples is gone or new" "$gone" ""
finish
