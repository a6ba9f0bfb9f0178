#!/usr/bin/env bash
# Reading other programs' profiles: speed of each reader, the way from a file to a file beside the programs that people use for
# it, and memory for files much larger than what they say. Inputs are generated, always the same (bench/import.c), but for one
# recorded here.
. bench/lib.sh
import=$PWD/$BUILD/bench/import
base=$tmp/base

# FILE: MB/s of the fastest round, by CPU time of one core.
speed() { "$import" read "$1" "${BENCH_ROUNDS:-9}" 2>/dev/null; }
speed_row() { # WHAT BAR FILE
	local mb_s
	if ! mb_s=$(speed "$3"); then
		row "reading $1" "≥ $2 MB/s" "it cannot be read" no
		return
	fi
	row "reading $1 ($(du -m "$3" | cut -f1) MB)" "≥ $2 MB/s" "$mb_s MB/s" "$(met "0$mb_s >= $2")"
}
# COMMAND…: seconds of the fastest of five, on the clock.
seconds() {
	local best=999999999999 start t
	for _ in 1 2 3 4 5; do
		start=$(date +%s%N)
		"$@" >/dev/null 2>"$tmp/err" || { echo "bench/import: $* failed: $(cat "$tmp/err")" >&2 && exit 1; }
		t=$(($(date +%s%N) - start))
		[ "$t" -lt "$best" ] && best=$t
	done
	calc "$best / 1e9"
}
# Gives FILE as often as it takes to make 1 GB.
gigabyte_of() {
	local n
	n=$((1000000000 / $(stat -c %s "$1") + 1))
	while [ $((n--)) -gt 0 ]; do cat "$1"; done
}
# WHAT FILE: peak memory of reading 1 GB that is FILE over and over, beside the bytes of FILE: its distinct stacks.
memory_row() {
	local peak text
	text=$(stat -c %s "$2")
	if peak=$(gigabyte_of "$2" | "$import" peak "$cresset" convert - -o "$base.out.folded"); then
		row "memory for 1 GB of $1 with $(calc "$text / 1e6") MB of distinct stacks" "≤ 3×" \
			"$(calc "$peak / $text")× ($(calc "$peak / 1e6") MB)" "$(met "$peak <= 3 * $text")"
	else
		row "memory for 1 GB of $1" "≤ 3×" "it cannot be read" no
	fi
}

say "folded"
"$import" make folded 2000 20000 100000 >"$base.folded"
speed_row "folded stacks, 20 000 distinct of 100 000" 150 "$base.folded"
"$import" make folded 30000 200000 200000 >"$base.folded"
speed_row "folded stacks, 200 000, all distinct" 150 "$base.folded"

say "pprof"
"$import" make pprof 23000 20000 20000 >"$base.pb"
speed_row "pprof, 20 000 samples, 23 000 locations" 200 "$base.pb"
"$import" make pprof 3000 20000 400000 >"$base.many.pb"
speed_row "pprof, 400 000 samples of 20 000 stacks" 200 "$base.many.pb"
"$import" make pprof 23000 200000 200000 >"$base.many.pb"
speed_row "pprof, 200 000 distinct stacks" 200 "$base.many.pb"
"$cresset" record -q -F 4999 -o "$base.real.pb.gz" -- sh -c \
	'tar c /usr/include /usr/share/doc 2>/dev/null | gzip -1 | sha256sum; ls -lR /usr | sort | wc' >/dev/null
gzip -dc "$base.real.pb.gz" >"$base.real.pb"
speed_row "pprof recorded here (tar, gzip, sha256sum, ls, sort)" 200 "$base.real.pb"
ours=$(seconds "$cresset" convert "$base.pb" -o "$base.out.folded")
if command -v go >/dev/null; then
	theirs=$(seconds go tool pprof -symbolize=none -raw "$base.pb")
	row "pprof, 20 000 samples, to folded stacks, against \`go tool pprof -raw\` ($(go version | cut -d' ' -f3))" "≥ 5×" \
		"$(calc "$theirs / $ours")× ($ours s, $theirs s)" "$(met "$theirs / $ours >= 5")"
else
	row "pprof, 20 000 samples, to folded stacks, against \`go tool pprof -raw\`" "≥ 5×" "$ours s; go is not on this machine" -
fi

say "perf script"
"$import" make perf-script 2000 20000 100000 >"$base.perf.txt"
speed_row "perf script, 100 000 samples of 20 000 stacks" 100 "$base.perf.txt"
ours=$(seconds "$cresset" convert "$base.perf.txt" -o "$base.out.folded")
perl_script=$(find /usr/share /usr/lib /var/lib/gems -path '*/stackcollapse-perf.pl' 2>/dev/null | head -1)
if [ "$perl_script" ]; then
	theirs=$(seconds perl "$perl_script" "$base.perf.txt")
	row "… to folded stacks, against stackcollapse-perf.pl" "≥ 20×" "$(calc "$theirs / $ours")× ($ours s, $theirs s)" \
		"$(met "$theirs / $ours >= 20")"
else
	row "… to folded stacks, against stackcollapse-perf.pl" "≥ 20×" \
		"$ours s; the script is not on this machine" -
fi
rm "$base".*

say "memory"
"$import" make folded 2000 20000 20000 >"$base.folded"
memory_row "folded stacks" "$base.folded"
"$import" make perf-script 2000 20000 20000 >"$base.perf.txt"
memory_row "perf script" "$base.perf.txt"
