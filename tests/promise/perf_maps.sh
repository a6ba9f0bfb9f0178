#!/usr/bin/env bash
# tier: test
# perf.data of this machine: a perf map names the code of the program that wrote it, not of an earlier or later one of its pid.
. tests/live/lib.sh
needs_recording
command -v perf >/dev/null || {
	skip "perf maps in perf.data" "there is no perf"
	finish
	exit 0
}

recorded() { # COMMAND…: recorded by perf with the options in clock; as folded stacks, with the messages of the conversion in $tmp/err
	perf record -q -F 499 -g "${clock[@]}" -o "$tmp/map.data" -- "$@" >/dev/null 2>&1
	converted "$tmp/map.data"
}
converted() { "$cresset" convert "$1" -o "$tmp/map.folded" 2>"$tmp/err"; }
names() { grep -ohE '(name_of_a_dead_process|before_exec|after_exec|late_name|\[unknown\]) [0-9]+$' "$tmp/map.folded" | cut -d' ' -f1 | sort -u | xargs; }
is_counted() { holds "… which is counted" grep -q "of generated code without a name: the perf map is of another program" "$tmp/err"; }

# --- with -k the times are exact
clock=(-k CLOCK_MONOTONIC)
recorded "$progs/jit_exec" 0.5 quiet
is "a map from before an exec names what ran before it" "$(names)" "[unknown] before_exec"
is_counted
recorded "$progs/jit_exec" 0.5 after
is "a map from after an exec names nothing before it" "$(names | grep -c before_exec)" 0
is_counted

# --- without, they are known to within the time that perf needs for its start and end: a program gets its own names, or none
clock=()
recorded "$progs/jit_exec" 0.5 quiet
holds "known roughly: after the exec nothing has a name" grep -q '\[unknown\]' "$tmp/map.folded"
is_counted
cp "$tmp/map.data" "$tmp/copy.data"
converted "$tmp/copy.data"
is "two programs have no names if the recording is a copy" "$(names)" "[unknown]"
is_counted
recorded sh -c "exec $progs/jit_late 0.3"
is "a shell generates no code: the map is not its own" "$(names)" late_name
touch "$(find /tmp -maxdepth 1 -name 'perf-*.map' -newer "$tmp/copy.data" -print -quit)"
converted "$tmp/map.data"
is "… it may be touched" "$(names)" late_name
gcc -O1 -o "$tmp/stale" tests/golden/reported/stale-perf-map.c 2>/dev/null
recorded "$tmp/stale" stale 1
is "a map older than the process is not used" "$(names)" "[unknown]"
is_counted
finish
