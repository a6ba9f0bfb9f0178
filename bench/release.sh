#!/usr/bin/env bash
# The release program and its archive: sizes, and what the smallest command costs beside the program that is linked with the system's libraries: time
# and memory of --version, in turn, medians of 101.
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
