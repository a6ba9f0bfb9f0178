#!/usr/bin/env bash
# tier: live
# What Java programs allocate: with other collectors of garbage, interpreted, with other headers of objects, and by other versions that are installed.
. tests/live/lib.sh
. tests/live/lib_java_heap.sh
needs_recording
needs_allocates
mib=${java_mib:-2048} types=
mode() { # WORDS JAVA OPTION…
	"$2" "${@:3}" -version >/dev/null 2>&1 || { skip "$1" "this Java has no ${*:3}" && return; }
	allocates "$2" -Xmx512m "${@:3}" -- "$mib"
	begin "$tmp/java.cresset" -e alloc -p "$pid"
	echo >&"$to"
	holds "$1: the program is done" states "done"
	end
	is "$1: the recording" $? 0
	echo >&"$to"
	wait "$pid"
	inside "$1" "$tmp/java.cresset" "$types"
}
for java in $(readlink -f /usr/lib/jvm/*/bin/java | sort -u); do
	[ -x "$java" ] || continue
	java_name=$(basename "${java%/bin/java}")
	mode "$java_name" "$java"
	mode "$java_name, serial" "$java" -XX:+UseSerialGC
	mode "$java_name, parallel" "$java" -XX:+UseParallelGC
	mode "$java_name, ZGC" "$java" -XX:+UseZGC
	# Small objects have other sizes.
	types=alloc-objects
	mode "$java_name, wide classes" "$java" -XX:-UseCompressedClassPointers
	mode "$java_name, short headers" "$java" -XX:+UseCompactObjectHeaders
	types=
	mib=$((mib / 8)) mode "$java_name, interpreted" "$java" -Xint
done
finish
