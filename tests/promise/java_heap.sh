#!/usr/bin/env bash
# tier: test
# What a Java program allocates, by stack, without an agent in it: right within the interval that the report states, of a running program and of a command;
# HotSpot's sampler is off before and afterwards, also when the recorder is killed.
. tests/live/lib.sh
. tests/live/lib_java_heap.sh
needs_recording
needs_allocates
mib=${java_mib:-600}

# The byte that turns the sampler on: sampler PID
sampler() {
	local lib start at
	read -r start lib < <(awk '$NF ~ /\/libjvm\.so$/ { split($1, a, "-"); print a[1], $NF; exit }' "/proc/$1/maps")
	at=$((16#$start + 16#$(nm "$lib" | awk '$3 ~ /_should_post_sampled_object_alloc/ { print $1 }')))
	dd if="/proc/$1/mem" bs=1 skip="$at" count=1 status=none | od -An -t u1 | tr -d ' '
}
until_sampler() { # VALUE PID
	for _ in $(seq 600); do
		[ "$(sampler "$2")" != "$1" ] || return 0
		sleep 0.05
	done
	return 1
}

allocates java -Xmx256m -- "$mib"
is "its sampler is off" "$(sampler "$pid")" 0
begin "$tmp/java.cresset" -e alloc -p "$pid"
holds "a recording turns it on" until_sampler 1 "$pid"
echo >&"$to"
holds "the program is done" states "done"
end
is "the recording" $? 0
is "then it is off" "$(sampler "$pid")" 0
inside "running" "$tmp/java.cresset"
"$cresset" convert -q "$tmp/java.cresset" --type alloc --to folded -o "$tmp/java.folded"
holds "stacks are whole" grep -qE '^java;.*;Allocates.main\(String\[\]\);Allocates.mixed\(long\);Allocates.large\(int\)(;|$)' "$tmp/java.folded"
"$cresset" record --no-progress -e alloc -p "$pid" -o "$tmp/killed.cresset" 2>/dev/null &
killed=$!
pids+=("$killed")
holds "another recording turns it on" until_sampler 1 "$pid"
kill -9 "$killed"
holds "… and is killed: it is off" until_sampler 0 "$pid"
echo >&"$to"
wait "$pid"
is "the program ends as ever" $? 0

printf '\n\n' | "$cresset" record --no-progress -e alloc -o "$tmp/command.cresset" -- java -Xmx256m -cp "$tmp/classes" Allocates "$mib" >"$tmp/truth" 2>"$tmp/err"
is "a command" $? 0
inside "command" "$tmp/command.cresset"
finish
