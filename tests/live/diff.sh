#!/usr/bin/env bash
# tier: live
# cresset diff of real recordings: a function made 20 % slower is named, and two runs of the same program raise no alarm.
. tests/live/lib.sh
needs_recording

record_parts() { # FILE SLOWER: 8 s of CPU time, 16,000 samples
	timeout "$most_s" "$cresset" record -q --clock cpu-clock -F 1999 -o "$tmp/$1" -- "$progs/parts" 8 "$2"
}
record_parts old.cresset 1
record_parts same.cresset 1
record_parts slow.cresset 1.2
# The time of interrupts and the scheduler depends on the machine's other work: it is added to the function that they interrupt.
diff() { "$cresset" diff -q --hide kind:kernel "$@"; }
change() { # NAME: from JSON on standard input
	jq --arg f "$1" '.rows[] | select(.function == $f) | .self.change'
}

# A share of one half becomes 1.2 of 2.2: 4.55 points more; the change of a share of n samples has σ = √(2 p (1-p) / n).
diff --json "$tmp/old.cresset" "$tmp/slow.cresset" >"$tmp/slow.json"
is "the slower function is first" "$(jq -r '.rows[0].function' "$tmp/slow.json")" half_work
n=$(jq '.newer.samples' "$tmp/slow.json")
near "by how much" "$(change half_work <"$tmp/slow.json")" 4.545 "$(awk -v n="$n" 'BEGIN { print 100 * 4 * sqrt(2 * .25 / n) }')"
is "… for sure" "$(jq -r '.rows[0].self.certainty' "$tmp/slow.json")" sure
diff "$tmp/old.cresset" "$tmp/slow.cresset" --fail-on 2 >/dev/null 2>"$tmp/err"
is "--fail-on sees it" "$?" 10
holds "… and names it" grep -q 'half_work grew by' "$tmp/err"
diff "$tmp/old.cresset" "$tmp/same.cresset" --fail-on 2 >"$tmp/out"
is "the same program twice is not a regression" "$?" 0
near "… nothing grew by more than chance" "$(diff --json "$tmp/old.cresset" "$tmp/same.cresset" | change half_work)" 0 "$(awk -v n="$n" 'BEGIN { print 100 * 4 * sqrt(2 * .25 / n) }')"

# Another rate: half of the CPU time, in an eighth of the samples. The elapsed time depends on the machine's other work.
timeout "$most_s" "$cresset" record -q --clock cpu-clock -F 499 -o "$tmp/short.cresset" -- "$progs/parts" 4 1
diff "$tmp/old.cresset" "$tmp/short.cresset" --norm abs --json --fail-on 5 >"$tmp/short.json"
is "half of it at another rate is not a regression" "$?" 0
is "… compared in CPU time" "$(jq -r .unit "$tmp/short.json")" nanoseconds
# Its exact size, from the samples that exist: a machine that is too busy for 1999 ticks a second skips some.
near "… each sample by the rate it was taken at" "$(jq '.whole.ratio' "$tmp/short.json")" "$(jq '.newer.samples / 499 / (.older.samples / 1999)' "$tmp/short.json")" 0.001
diff "$tmp/old.cresset" "$tmp/short.cresset" --norm rate --json >"$tmp/rate.json"
near "a rate is CPU time by duration" "$(jq '.whole.newer' "$tmp/rate.json")" \
	"$(jq '.whole.newer / .newer.duration_ns * 1e9' "$tmp/short.json")" 1
finish
