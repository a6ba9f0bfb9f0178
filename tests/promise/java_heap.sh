#!/usr/bin/env bash
# tier: test
# What a Java program allocates, by stack, without an agent in it: right within the interval that the report states, of a running program and of a command;
# HotSpot's sampler is off before and afterwards, also when the recorder is killed.
. tests/live/lib.sh
. tests/live/lib_java_heap.sh
needs_recording
needs_allocates
mib=${java_mib:-600}

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
# HotSpot itself turns it off when the events of an agent change.
javac --release 11 -d "$tmp/agent" tests/live/java/Watches.java
echo 'Agent-Class: Watches' >"$tmp/manifest"
jar cfm "$tmp/agent.jar" "$tmp/manifest" -C "$tmp/agent" . || not_ok jar
begin "$tmp/agent.cresset" -e alloc -p "$pid"
holds "a second recording turns it on" until_sampler 1 "$pid"
"$cresset" record --no-progress -e alloc -d 0.5 -p "$pid" -o "$tmp/beside.cresset" 2>/dev/null
is "a third one, in the meantime, leaves it on at its end" "$(sampler "$pid")" 1
jcmd "$pid" JVMTI.agent_load "$tmp/agent.jar" >"$tmp/jcmd" 2>&1 || not_ok "an agent is loaded" "$(tail -3 "$tmp/jcmd")"
holds "… and after an agent came it is on again" until_sampler 1 "$pid"
end
is "then it is off once more" "$(sampler "$pid")" 0
"$cresset" record --no-progress -e alloc -p "$pid" -o "$tmp/killed.cresset" 2>/dev/null &
killed=$!
pids+=("$killed")
holds "another recording turns it on" until_sampler 1 "$pid"
kill -9 "$killed"
holds "… and is killed: it is off" until_sampler 0 "$pid"
echo >&"$to"
wait "$pid"
is "the program ends as ever" $? 0

# Without symbols it is left alone.
own_java stripped strip
allocates "$tmp/stripped/bin/stripped" -Xmx64m -- 1
"$cresset" record --no-progress -e alloc -d 0.2 -p "$pid" -o "$tmp/stripped.cresset" 2>"$tmp/err"
holds "a libjvm without symbols is named" grep -q "Java's heap: its libjvm has no symbols" "$tmp/err"
"$cresset" doctor "$pid" >"$tmp/doctor"
holds "… by doctor as well" grep -q 'Java *not recorded: its libjvm has no symbols' "$tmp/doctor"
echo >&"$to"
echo >&"$to"
wait "$pid"
is "it ends as ever" $? 0

# A command's first moments are not recorded: it allocates once the sampler is on.
rm -f "$tmp/lines" "$tmp/truth"
mkfifo "$tmp/lines"
: >"$tmp/truth"
exec {to}<>"$tmp/lines"
"$cresset" record --no-progress -e alloc -o "$tmp/command.cresset" -- java -Xmx256m -cp "$tmp/classes" Allocates "$mib" <"$tmp/lines" >"$tmp/truth" 2>"$tmp/err" &
pid=$!
pids+=("$pid")
holds "a command runs" states ready
holds "its sampler is turned on" until_sampler 1 "$(pgrep -P "$pid" -x java)"
echo >&"$to"
holds "the command is done" states "done"
echo >&"$to"
wait "$pid"
is "a command" $? 0
inside "command" "$tmp/command.cresset"
finish
