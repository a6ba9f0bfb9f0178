# shellcheck shell=bash
# tests/live/lib_attach.sh: shared by tests of late attach, after lib.sh.
#
#     begin MODE [OPTIONS]      starts attached, or $program; its pid is in $target, its output in the file $said
#     inject [OPTIONS]          attaches one more library to it; the JSON is in $json, the status in $status
#     asked                     what the program says now: "N attached, ok"
#     ended                     ends it; its status, 0 when nothing of it has changed
# shellcheck disable=SC2154,SC2034 # variables of lib.sh, and for those who read this file
count=0
# In a container the programs of a test have its filter of system calls.
force=young,no-library
! grep -Eq '^Seccomp:\s*[12]' /proc/self/status || force=$force,seccomp

begin() {
	said=$tmp/said.$RANDOM
	"$progs/${program:-attached}" "$@" >"$said" &
	target=$!
	pids+=("$target")
	for _ in $(seq 6000); do
		grep -q ready "$said" && return
		sleep 0.01
	done
}
# Another name each time: a library that is already there is not attached again.
inject() {
	count=$((count + 1))
	ln -sf "$progs/attach_lib" "$tmp/lib$count.so"
	json=$(timeout 60 "$cresset" gpu attach "$target" --library "$tmp/lib$count.so" --force "$force" --json "$@" 2>"$tmp/errors")
	status=$?
	rm -f "$tmp/lib$count.so"
	field stop_us >>"$tmp/stops"
	return $status
}
# field NAME: from the JSON.
field() {
	printf '%s\n' "$json" | sed -n "s/.*\"$1\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p"
}
asked() {
	local lines
	lines=$(wc -l <"$said")
	kill -USR1 "$target" 2>/dev/null
	for _ in $(seq 6000); do
		[ "$(wc -l <"$said")" -gt "$lines" ] && break
		sleep 0.01
	done
	tail -n1 "$said"
}
ended() {
	local rc
	kill -TERM "$target" 2>/dev/null
	wait "$target" 2>/dev/null
	rc=$?
	unset "pids[-1]"
	return $rc
}
# percentile FILE P
percentile() {
	sort -n "$1" | awk -v p="$2" '{ v[NR] = $1 } END { i = int(NR * p / 100 + 0.999999); print v[i < 1 ? 1 : i] }'
}
# Parts of it that could have grown: descriptors, mappings, threads.
size_of() {
	echo "$(find "/proc/$1/fd" -mindepth 1 | wc -l) $(wc -l <"/proc/$1/maps") $(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)"
}
