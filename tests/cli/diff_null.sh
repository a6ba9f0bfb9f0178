#!/usr/bin/env bash
# tier: test
# A null test of cresset diff: perf script's text of one program on two days, with another pid, at other addresses, from another directory,
# another build of it, or stripped. Nothing has changed, so functions are marked as often as chance marks them: at most 5 %, and --fail-on 0
# fires in at most 2.5 % of all comparisons. tests/live/diff_null.sh has recordings.
. tests/cli/lib.sh

runs=40 samples=400
# SEED VARIANT: samples of 30 functions, drawn by their shares. The seed is fixed, so the result is as well.
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

# VARIANT SEED: adds up self values that were compared, those with an interval without 0, and the ends with 10 of --fail-on 0, in $compared, $marked, $fired.
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
