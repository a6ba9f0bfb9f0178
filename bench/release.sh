#!/usr/bin/env bash
# The release program and its archive: sizes, and what the smallest command costs beside the program that is linked with the system's libraries: time
# and memory of --version, in turn, medians of 101. Then five upgrades as packages do them, one restart of up: the longest time without a sample of a
# program that always runs.
# shellcheck disable=SC2154 # tmp is of bench/lib.sh
. bench/lib.sh
release=$BUILD/portable/cresset
make -s dist-archive
archive=$BUILD/dist/cresset-$(tools/version)-linux-$(uname -m).tar.zst
objcopy --strip-all --remove-section=.comment "$release" "$tmp/stripped"
program_mb=$(calc "$(stat -c %s "$tmp/stripped") / 1e6") archive_mb=$(calc "$(stat -c %s "$archive") / 1e6")
row "the release program, stripped; its archive" "≤ 10 MB; ≤ 8 MB" "$program_mb MB; $archive_mb MB" "$(met "$program_mb <= 10 && $archive_mb <= 8")"
# Python's own memory would count for what it starts.
ms=$(python3 - "$tmp/stripped" <<'END'
import os, statistics, sys, time
def once(program):
    begin = time.monotonic()
    os.waitpid(os.posix_spawn(program, [program, "--version"], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]), 0)
    return (time.monotonic() - begin) * 1e3
print(statistics.median(once(sys.argv[1]) for _ in range(101)))
END
)
megabytes() { # PROGRAM
	for _ in $(seq 101); do /usr/bin/time -f %M "$1" --version 2>&1 >/dev/null; done | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] * 1024 / 1e6 }'
}
# As linked: of a file that is in memory in larger pieces, the kernel maps up to 1 MB more.
mb=$(megabytes "$release") beside=$(megabytes "$cresset")
row "\`cresset --version\`: time, memory" "≤ 10 ms, ≤ 3 MB" "$(calc "$ms") ms, $mb MB ($beside MB with the system's libraries)" "$(met "$ms <= 10 && $mb <= 3")"

chmod 755 "$tmp" # the store process is not root
burn=upgrade-$$
start "$progs/burn" $burn 300 >/dev/null
rows() { # COLUMN: of the samples of that program, with the time since the one before
	"$tmp/stripped" sql --format csv --data "$tmp/data" "SELECT $1 FROM (SELECT time, time - lag(time) OVER (ORDER BY time) AS gap FROM samples WHERE type = 'cpu' AND
		series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$burn'))" 2>/dev/null | tail -n 1 | tr -d '\r'
}
for _ in $(seq 6); do
	from=$(date +%s%N)
	start "$tmp/stripped" up --data "$tmp/data" --listen "127.0.0.1:$((20000 + $$ % 10000))" 2>>"$tmp/up.log"
	up=${pids[-1]}
	for _ in $(seq 200); do
		[ "$(rows "max(time) > $from")" != 1 ] || break
		kill -0 "$up" || { say "up ends: $(cat "$tmp/up.log")"; exit 1; }
		sleep 0.2
	done
	kill "$up"
	wait "$up"
done
seconds=$(calc "$(rows "max(gap)") / 1e9")
row "an upgrade while \`up\` runs: one restart without a sample" "≤ 2 s" "$seconds s at worst of five" "$(met "$seconds <= 2")"
