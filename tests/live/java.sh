#!/usr/bin/env bash
# tier: live
# Java in each of its modes: interpreted, by the first compiler alone, by the second alone, with other collectors of garbage, and by other versions that are
# installed; and threads that wait for long, compared with the JVM's own dump.
. tests/live/lib.sh
. tests/live/lib_java.sh
needs_recording
needs_java
mode() { # WORDS JAVA-OPTION…
	look "$1" -F 499 -e cpu,off-cpu -- "${@:2}"
	whole_stacks "$1"
	waits "$1"
}
mode interpreted -Xint
mode "C1 alone, serial" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
mode "C2 alone, parallel" -XX:-TieredCompilation -XX:+UseParallelGC
# Stacks of mounted virtual threads, through to the thread that carries them. The tables of 21 to 24 lack what that needs.
virtual() { # WORDS DIRECTORY-OF-JAVA JAVA-OPTION…
	[ "$("$2/java" -XshowSettings:properties -version 2>&1 | awk '$1 == "java.specification.version" { print int($3) }')" -ge 25 ] || return 0
	"$2/javac" -d "$tmp/virtual" tests/live/java/Virtual.java || { not_ok "$1: javac" && return; }
	timeout "$most_s" "$cresset" record -q -F 499 -o "$tmp/virtual.cresset" -- "$2/java" "${@:3}" -cp "$tmp/virtual" Virtual "$java_seconds" 2>"$tmp/err" ||
		not_ok "$1: the recording" "$(tail -3 "$tmp/err")"
	"$cresset" convert -q "$tmp/virtual.cresset" --type cpu -o "$tmp/virtual.folded"
	most "$1: virtual threads are whole" "$tmp/virtual.folded" 'Virtual\.burn' \
		'^[^;]*;(clone3?|__clone3?|start_thread);.*;java\.util\.concurrent\.ForkJoinWorkerThread\.run\(\);.*;Virtual\.work\(long,long,int\)(;Virtual\.deep\(int\)){21};Virtual\.burn'
}
mine=$(readlink -f "$(command -v java)")
for other in $(readlink -f /usr/lib/jvm/*/bin/java | sort -u); do
	[ -x "$other" ] || continue
	words=$(basename "${other%/bin/java}")
	[ "$other" = "$mine" ] || PATH=${other%/*}:$PATH mode "$words"
	virtual "$words" "${other%/*}"
	virtual "$words, interpreted" "${other%/*}" -Xint
	virtual "$words, C2 alone" "${other%/*}" -XX:-TieredCompilation
done

# Methods with lines of a thread, innermost first: by its name in a dump of the JVM, by its tid in a recording. Frames of lambdas' hidden
# classes have no lines.
dumped() { # NAME
	awk -v name="\"$1\"" '$1 == name { on = 1; next } /^$/ { on = 0 } on && $1 == "at" { print $2, $3 }' "$tmp/dump" | grep -v 'Lambda' |
		sed -E 's/ +$//; s/\((.*\/)?(Native Method|[^:)]*)(:([0-9]+))?\)$/ \4/; s/ +$//'
}
sampled() { # NAME
	local tid
	tid=$(awk -v name="\"$1\"" '$1 == name { sub(/.*nid=/, ""); print $1 }' "$tmp/dump")
	"$cresset" sql -q --format csv --timeout 0 --data "$tmp/held.cresset" "SELECT function, line FROM frames WHERE kind = 'java' AND stack IN
		(SELECT stack FROM samples WHERE type = 'off-cpu' AND tid = $((tid)) ORDER BY value DESC LIMIT 1) ORDER BY depth DESC" | tail -n +2 | tr -d '"\r' |
		sed -E 's/\([^)]*\)//; s/,NULL$|,$//; s/,([0-9]+)$/ \1/' | grep -v 'Lambda'
}
java -cp "$tmp/classes" Shapes 60 asleep parked waits >"$tmp/dump" &
pids+=($!)
for _ in $(seq 600); do
	grep -q ready "$tmp/dump" && break
	sleep 0.1
done
sleep 1
timeout "$most_s" "$cresset" record -q -e off-cpu -d 2 -p "${pids[-1]}" -o "$tmp/held.cresset" 2>"$tmp/err" || not_ok "threads that wait: the recording" "$(tail -3 "$tmp/err")"
"$cresset" doctor --json "${pids[-1]}" >"$tmp/doctor" 2>"$tmp/err"
holds "doctor names the compiled methods" grep -qE '"language":"java","state":"ok",.*"methods":[1-9][0-9]+,"named":[1-9][0-9]+' "$tmp/doctor"
kill -QUIT "${pids[-1]}"
for _ in $(seq 600); do
	grep -q 'JNI global refs' "$tmp/dump" && break
	sleep 0.1
done
for name in asleep parked waits; do
	holds "$name: the dump has its stack" test "$(dumped $name | grep -c dormant)" -ge 6
	is "$name: as the JVM's dump has it" "$(sampled $name | paste -sd ';')" "$(dumped $name | paste -sd ';')"
done
finish
