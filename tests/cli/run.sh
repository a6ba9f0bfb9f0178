#!/usr/bin/env bash
# tier: test
# tests/run itself: passed, failed and skipped tests, its words about them, and that nothing of a test is left when it ends.
. tests/live/lib.sh
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 0; }

# A project of its own with small tests. It may not lie in /tmp, which each test has for itself.
project=$(mktemp -d "$PWD/$BUILD/run.XXXXXX")
trap 'rm -rf "$project"; cleanup' EXIT
mkdir -p "$project/tests/cli" "$project/build/tools"
cp tests/run "$project/tests/run"
cp "$BUILD/tools/tapsum" "$project/build/tools/"
a_test() { # NAME TIER HEAD-LINE; its commands on standard input
	{ printf '#!/usr/bin/env bash\n# tier: %s\n%s\n' "$2" "$3"; cat; } >"$project/tests/cli/$1.sh"
}
export CRESSET_SLOW=${CRESSET_SLOW:-1} # each of the runners below would measure it again
inside=() # a command before it
run() { # ARG…: sets status; what it prints is in $tmp/out
	(cd "$project" && BUILD=build "${inside[@]}" tests/run "$@") >"$tmp/out" 2>"$tmp/err"
	status=$?
}
# The runner makes no mounts in a chroot unless its root is a mount point: they would spread.
has_mounts() { awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo; }
last() { tail -n 1 "$tmp/out"; }

a_test good test '' <<<'echo "ok 1 - fine"; echo "1..1"'
a_test other live '' <<<'echo "ok 1 - of another tier"; echo "1..1"'
a_test speed live '' <<<'echo "speed $CRESSET_SLOW" >"$OLD/speed"; echo "ok 1 - x"; echo "1..1"'
OLD=$project run cli speed
is "the environment gives the speed of the machine" "$(cat "$project/speed")" "speed $(printf %.1f "$CRESSET_SLOW")"
inside=(env -u CRESSET_SLOW)
OLD=$project run cli speed
holds "… otherwise the runner measures it: 1 to 20 times slower than a quiet one" awk '{ exit !($2 >= 1 && $2 <= 20) }' "$project/speed"
inside=(env CRESSET_SLOW=7)
OLD=$project run cli speed
is "… which tests have for their limits" "$(cat "$project/speed")" "speed 7.0"
inside=()
rm "$project/tests/cli/speed.sh"
run test
is "a tier passes" "$status $(last)" "0 1 passed, 0 failed, 0 skipped"
holds "… with the files done, the failures and the time left in each line" grep -Eq '^ok .*cli_good .* \[1/1, 0 failed, .* left\]$' "$tmp/out"
run live
is "another tier has other tests" "$status $(grep -c cli_other "$tmp/out") $(grep -c cli_good "$tmp/out")" "0 2 0"
run cli 'g*' 'o*'
is "tests by name are of every tier" "$(last)" "2 passed, 0 failed, 0 skipped"
run cli none
is "no such test" "$status" 1

a_test bad test '' <<<'echo "not ok 1 - as meant"; echo "# got 1, want 2"; echo "1..1"; echo a remark >&2'
a_test broken test '' <<<'echo "ok 1 - before"; exit 3'
a_test skipping test '' <<<'echo "1..0 # SKIP no such machine"'
run test --junit "$tmp/all.xml"
is "failures count, and files without an end" "$status $(last)" "1 2 passed, 3 failed, 1 skipped"
holds "… with what was seen" grep -q 'got 1, want 2' "$tmp/out"
holds "… and printed" grep -q '^ *a remark' "$tmp/out"
holds "at the end, the command that runs it by itself" grep -q '^cli_bad: alone: tests/run cli bad; log: build/tap/cli_bad.log; load then: ' "$tmp/out"
holds "… and skips with their reason" grep -q '^cli_skipping: skipped all (no such machine)' "$tmp/out"
is "as JUnit XML" "$(python3 -c 'import sys, xml.etree.ElementTree as x
root = x.parse(sys.argv[1]).getroot()
print(len(root.findall("*/testcase")), len(root.findall("*/testcase/failure")), len(root.findall("*/testcase/skipped")))' "$tmp/all.xml")" "6 3 1"
rm "$project"/tests/cli/{bad,broken,skipping}.sh

a_test late test '# limit: 1 s' <<<'echo "ok 1 - it begins"; sleep 1000'
run cli late
is "a test that does not end is ended" "$status" 1
holds "… and said" grep -q "no end within" "$tmp/out"
is "… and nothing is left of it" "$(pgrep -fc "$project/tests/cli/late.sh")" 0
rm "$project/tests/cli/late.sh"

a_test leaving test '' <<<'sleep 1000 & echo $! >"$OLD/left"; touch "${TMPDIR:-/tmp}/file"; echo "ok 1 - x"; echo "1..1"'
OLD=$project run cli leaving
is "a process that a test leaves is ended" "$(kill -0 "$(cat "$project/left")" 2>&1 | grep -c 'No such process')" 1
holds "… and said" grep -q 'left behind: sleep' "$project/build/tap/cli_leaving.log"
is "… and its files" "$(find /tmp -maxdepth 3 -path '*cresset-tests-*' -name file 2>/dev/null | wc -l)" 0

a_test own test '' <<<'[ ! -e "${TMPDIR:-/tmp}/mark" ] && touch "${TMPDIR:-/tmp}/mark" && [ "$CRESSET_CACHE" != "" ] && [ "$CRESSET_AGENT" != "" ] && echo "ok 1 - x"; echo "1..1"'
run cli own --repeat 3
is "each run has files of its own" "$status" 0
holds "runs are counted, with their times" grep -Eq '^cli_own +3 +0 +[0-9.]+ +[0-9.]+$' "$tmp/out"
holds "… all of them" grep -q '^0 of 3 runs failed' "$tmp/out"
a_test again test '' <<<'[ -e "$CRESSET_SKIP_FILE" ] && echo "not ok 1 - x" || echo "ok 1 - x"; echo x >"$CRESSET_SKIP_FILE"; echo "1..1"'
run cli again --repeat 2
is "… and no skips of the run before" "$status" 0
rm "$project/tests/cli/again.sh"
a_test second test '' <<<'echo x >>"$OLD/times"; n=$(wc -l <"$OLD/times"); echo "this is run $n" >&2; [ "$n" = 2 ] && echo "not ok 1 - x" || echo "ok 1 - x"; echo "1..1"'
OLD=$project run cli second --repeat 3
is "one of several runs fails" "$status $(grep -c '^1 of 3 runs failed' "$tmp/out")" "1 1"
holds "… which the table shows, with the log of that run" grep -Eq '^cli_second +3 +1 +[0-9.]+ +[0-9.]+ build/tap/cli_second.run2.log$' "$tmp/out"
is "… that the next one does not replace" "$(cat "$project/build/tap/cli_second.run2.log" "$project/build/tap/cli_second.log")" $'this is run 2\nthis is run 3'
rm "$project/tests/cli/second.sh"

a_test memory test '# run: in memory' <<<'df --output=fstype "${TMPDIR:-/tmp}" | tail -n 1 >"$OLD/fs"; touch "${TMPDIR:-/tmp}/file"; echo "ok 1 - x"; echo "1..1"'
mounts=$(grep -c cresset-tests /proc/mounts) # those of the runner that runs this test
OLD=$project run cli memory
if [ "$(id -u)" = 0 ] && has_mounts && unshare -m true 2>/dev/null; then
	is "a test's directory may be in memory" "$status $(cat "$project/fs")" "0 tmpfs"
else
	is "a directory in memory needs root and a mount: otherwise the test runs as well" "$status" 0
fi
is "… and goes with the test" "$(grep -c cresset-tests /proc/mounts)" "$mounts"
rm "$project/tests/cli/memory.sh"

a_test waiting test '' <<<'echo $$ >"$OLD/waiting"; sleep 1000'
(cd "$project" && OLD=$project BUILD=build exec tests/run cli waiting --repeat 2 >"$tmp/out" 2>&1) &
runner=$!
pids+=("$runner")
for _ in $(seq 1200); do [ -s "$project/waiting" ] && break; sleep 0.05; done
kill -INT "$runner"
wait "$runner"
is "interrupted, it ends with 130" $? 130
holds "… after the table of its runs" grep -q '^--- 1 runs$' "$tmp/out"
is "… and its test, too" "$(kill -0 "$(cat "$project/waiting")" 2>&1 | grep -c 'No such process')" 1

rm "$project/tests/cli/waiting.sh"

# --- machines that lack something

passes() { # NAME: both tests of a machine pass there
	run cli 'room*'
	if [ "$(last)" = "4 passed, 0 failed, 0 skipped" ]; then ok "$1"; else not_ok "$1" "$(cat "$tmp/out" "$tmp/err")"; fi
}
for n in 1 2; do
	a_test room$n test '' <<-'END'
		mkdir "$OLD/alone" 2>/dev/null || echo "# beside another"
		sleep 0.3
		rmdir "$OLD/alone" 2>/dev/null
		printf '#!/bin/sh\n' >"$TMPDIR/program"; chmod +x "$TMPDIR/program"
		"$TMPDIR/program" && [ "$(df --output=avail -m "$TMPDIR" | tail -n 1)" -gt 150 ] && echo "ok 1 - room for files" || echo "not ok 1 - no room"
		python3 -c 'import socket
		s = socket.create_server(("127.0.0.1", 0))
		socket.create_connection(s.getsockname())' && echo "ok 2 - a server is reached" || echo "not ok 2 - no server is reached"
		echo 1..2
	END
done
export OLD=$project
passes "a machine that lacks nothing"
inside=(taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')")
passes "one CPU"
is "… one test at a time" "$(grep -l 'beside another' "$project"/build/tap/cli_room*.tap)" ""
has_tmp() { unshare -m mount -t tmpfs -o "$1" none /tmp 2>/dev/null; }
for options in noexec size=100m; do
	# The project stays where it is, also if that is below /tmp.
	# shellcheck disable=SC2016
	inside=(unshare -m sh -c 'exec 9<"$1" && mount -t tmpfs -o "$0" none /tmp && mkdir -p "$1" && mount -c --bind /proc/self/fd/9 "$1" && cd "$1" && shift && exec "$@"' "$options" "$project")
	if has_tmp "$options"; then passes "/tmp with $options"; else skip "/tmp with $options" "mounting is refused here"; fi
done
inside=(unshare -n)
if "${inside[@]}" true 2>/dev/null; then passes "no network, and no loopback"; else skip "no network, and no loopback" "needs root"; fi
inside=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chown -R 65534:65534 "$project" 2>/dev/null
if "${inside[@]}" test -w "$project/build" 2>/dev/null; then
	passes "an ordinary user"
else
	skip "an ordinary user" "needs root, in a directory that others may enter"
fi
inside=()

mkdir -p "$project/tests/web" "$tmp/path"
printf '// tier: test\n' >"$project/tests/web/page.test.js"
ln -s "$(command -v env)" "$tmp/path/env"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$tmp/path/python3" # the program itself: PATH may have a script
inside=(env PATH="$tmp/path")
run web page
holds "no Node: skipped, with the reason" grep -q '^web_page: skipped all (no node or no tests/web/node_modules' "$tmp/out"
mkdir "$project/tests/web/node_modules"
install -m 755 /dev/null "$tmp/path/node"
run web page
holds "no Chromium: skipped, with the reason" grep -q '^web_page: skipped all (none of chromium-headless-shell, chromium is here' "$tmp/out"
inside=()
if [ "$(id -u)" = 0 ]; then
	is "a kernel that refuses BPF: skipped, with the reason" "$("$progs/deny" bpf 1 bash tests/promise/cpu.sh)" \
		"1..0 # SKIP recording is refused here: bpf: Operation not permitted"
else
	skip "a kernel that refuses BPF" "needs root"
fi
# How many tests run at once depends on whether a CPU has nothing to do; here it is told.
run_idle() { # IDLE-CPUS NAME…: as run cli
	local idle=$1
	shift
	(cd "$project" && OLD=$project BUILD=build python3 - "$idle" cli "$@" <<-'END'
		import importlib.machinery, importlib.util, sys
		loader = importlib.machinery.SourceFileLoader("run", "tests/run")
		run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
		loader.exec_module(run)
		idle = float(sys.argv.pop(1))
		run.Slots.idle = lambda _: idle
		sys.exit(run.main())
	END
	) >"$tmp/out" 2>"$tmp/err"
	status=$?
}
cpus=$(nproc)
mkdir "$project/here"
for i in $(seq $((cpus + 1))); do
	a_test "meet$i" test '' <<-END
		touch "\$OLD/here/$i"
		until [ "\$(ls "\$OLD/here" | wc -l)" -gt $cpus ]; do sleep 0.05; done
		echo "ok 1 - all are here"; echo "1..1"
	END
	a_test "pass$i" test '' <<-END
		touch "\$OLD/here/$i"
		[ "\$(ls "\$OLD/here" | wc -l)" -le $cpus ] && echo "ok 1 - one for each CPU, or fewer"; echo "1..1"
		sleep 0.3
		rm "\$OLD/here/$i"
	END
done
if [ "$cpus" = "$(nproc --all)" ]; then
	run_idle 1 'meet*'
	is "while a CPU is idle, a test more than there are CPUs runs" "$status $(last)" "0 $((cpus + 1)) passed, 0 failed, 0 skipped"
else
	skip "a test more than CPUs" "this test may not use all CPUs"
fi
rm -f "$project"/here/*
run_idle 0.2 'pass*'
is "… otherwise, as many as there are CPUs" "$status $(last)" "0 $((cpus + 1)) passed, 0 failed, 0 skipped"
rm "$project"/tests/cli/{meet,pass}*

sed -i 's/^# tier: .*//' "$project/tests/cli/own.sh"
run test
is "a test without a tier is refused" "$status $(grep -c "no line 'tier:" "$tmp/err")" "1 1"
finish
