#!/usr/bin/env bash
# tier: live
# run: alone
# cresset gpu status and detach, and attach again, on a program with the library in it; and on one whose clock differs.
. tests/live/lib.sh
needs_recording
# Its own files: probes of other tests are in theirs.
cp -r "$BUILD/doubles" "$tmp/doubles"
export LD_LIBRARY_PATH=$tmp/doubles CRESSET_DOUBLE=$tmp/double
library=$PWD/$BUILD/libcresset-cuda.so
devices='device 0 name "First"\ndevice 1 name "Second"\nwait none\n'
kernels='kernel gemm ns 1500\nkernel softmax ns 333\n'
printf '%b' "$devices${kernels}play threads 2\nplay launches 2000\nplay pace 9000\n" >"$CRESSET_DOUBLE"

said() { for _ in $(seq 3000); do [ "$(grep -c "$1" "$tmp/out")" = "$2" ] && return; sleep 0.02; done; return 1; }
# Starts gpu_play, after a prefix command if given: player [COMMAND…]; its pid is in $player
player() {
	rm -f "$tmp/in" && mkfifo "$tmp/in"
	"$@" "$progs/gpu_play" <"$tmp/in" >"$tmp/out" &
	player=$!
	pids+=("$player")
	exec 3>"$tmp/in"
	said ready 1
}
# What status reports of it: field NAME in its JSON.
now() { "$cresset" gpu status "$player" --json | jq -r ".processes[0].$1"; }
until_is() { for _ in $(seq 3000); do [ "$(now "$1")" = "$2" ] && break; sleep 0.02; done; is "$3" "$(now "$1")" "$2"; }
total() { folded "$1" gpu-time --unit ns | awk '{ n += $NF } END { print n + 0 }'; }
truth=$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" { n += $4 } END { print n }')
play() { echo go >&3; said "done" "$1"; }

# --- without the library, with it, without its ring, with it -----------------------------------------------------------------
player
is "a program that uses a GPU, without the library" "$(now state)" absent
"$cresset" gpu detach "$player" 2>"$tmp/err"
is "it cannot be detached" $? 5
holds "… and why" grep -q 'has no ring' "$tmp/err"
"$cresset" gpu attach "$player" --force young >/dev/null
until_is state parked "attached: it is parked"
is "… and has had no window" "$(now opened_s_ago)" null
is "… nor an agent" "$(now has_agent)" false
"$cresset" doctor >"$tmp/text"
holds "doctor counts it" grep -Eq 'GPU time +programs that use a GPU: [1-9][0-9]*, with the library: [1-9]' "$tmp/text"
begin "$tmp/a.cresset" -e gpu-time -p "$player"
until_is state open "recorded: its window is open"
is "… by whom" "$(now agent_pid)" "$recorder"
is "… its CUPTI" "$(now cupti_version)" 130101
"$cresset" gpu status "$player" >"$tmp/text"
holds "… as text" grep -Eq "agent +process $recorder \(cresset\)" "$tmp/text"
"$cresset" gpu detach "$player" 2>"$tmp/err"
is "a ring in use is not detached" $? 1
holds "… and why" grep -q 'another agent reads it' "$tmp/err"
play 1
end
is "the record is whole" "$(total "$tmp/a.cresset")" "$truth"
until_is state parked "the recording has ended: it is parked"
is "it reports its calls" "$(now calls)" 4000
holds "… and its cost" [ "$(now busy_ns)" -gt 0 ]
holds "… and when its window closed" [ "$(now 'closed_s_ago | floor')" -le 5 ]
"$cresset" gpu detach "$player" >"$tmp/text"
is "detached" $? 0
is "… it is" "$(now state)" detached
is "… and has no ring, nor a descriptor of one" "$(cat "/proc/$player/maps" <(ls -l "/proc/$player/fd") | grep -c cresset-ring)" 0
is "… and remembers its calls" "$(now calls)" 4000
is "again: nothing to do" "$("$cresset" gpu detach "$player" --json | jq -r .result)" already
play 2
"$cresset" gpu attach "$player" --json >"$tmp/json"
is "attached again, without stopping a thread" "$(jq -r '.result + " \(.stop_us) \(.tid)"' "$tmp/json")" "reattached 0 0"
begin "$tmp/b.cresset" -e gpu-time -p "$player"
until_is state open "… and recorded again"
play 3
end
is "… as exactly" "$(total "$tmp/b.cresset")" "$truth"

# --- reserved for a named agent ------------------------------------------------------------------------------------------------
CRESSET_AGENT=other begin "$tmp/e.cresset" -e gpu-time -p "$player"
other=$recorder
ln "$tmp/begin.err" "$tmp/other.err"
begin "$tmp/f.cresset" -e gpu-time -p "$player"
until_is agent_pid "$recorder" "of two recordings, the one of the program's CRESSET_AGENT has its ring"
play 4
end
is "… and its record is whole" "$(total "$tmp/f.cresset")" "$truth"
recorder=$other
end
is "… the other has nothing" "$(total "$tmp/e.cresset" 2>/dev/null)" 0
holds "… and reports why" grep -q 'reserved for another agent (CRESSET_AGENT)' "$tmp/other.err"

# --- probes in the libraries of a GPU ----------------------------------------------------------------------------------------
is "probes: none" "$(now probes)" 0
begin "$tmp/c.cresset" -e gpu-launch -p "$player"
play 5
holds "probes: as long as calls are recorded" [ "$(now probes)" -gt 0 ]
end
until_is probes 0 "… and none after that"

# --- users without permission --------------------------------------------------------------------------------------------------
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$cresset" "$@"; }
chmod 755 "$tmp"
if nobody --version >/dev/null 2>&1; then
	nobody gpu status "$player" 2>"$tmp/err"
	is "another user may not look" $? 3
	nobody gpu detach "$player" 2>"$tmp/err"
	is "… nor detach" $? 3
else
	skip "another user" "it cannot run cresset here"
fi
exec 3>&-
wait "$player"
is "the program has not noticed" $? 0

# --- programs that cannot report what ran --------------------------------------------------------------------------------------
cp "$CRESSET_DOUBLE" "$tmp/plain"
# A program on a CUPTI in this state, after a second of recording; its status is in $tmp/text: hindered STATEMENT
hindered() {
	{ cat "$tmp/plain"; echo "cupti $1"; } >"$CRESSET_DOUBLE"
	player env CUDA_INJECTION64_PATH="$library"
	timeout "$most_s" "$cresset" record --no-progress -e gpu-time -p "$player" -d 1 -o "$tmp/d.cresset" 2>/dev/null
	state=$(now state) other=$(now other_tool) reason=$(now reason)
	"$cresset" gpu status "$player" >"$tmp/text"
	exec 3>&-
	wait "$player"
}
hindered 'busy "Nsight Systems"'
is "another tool has CUPTI: the state, and its name" "$state, $other" "busy, Nsight Systems"
holds "… as text" grep -q 'library   another tool has CUPTI: Nsight Systems; CUPTI 13.1.1' "$tmp/text"
hindered 'version 12'
is "a CUPTI that is too old: the state, and why" "$state, $reason" "inert, libcupti is too old"
holds "… as text" grep -q 'library   inert: libcupti is too old (12)' "$tmp/text"
cp "$tmp/plain" "$CRESSET_DOUBLE"

# --- a different clock -----------------------------------------------------------------------------------------------------------
if unshare -T true 2>/dev/null; then
	for ahead in 5000 -20; do
		# exec: otherwise a shell would be the process in the other namespace
		player env CUDA_INJECTION64_PATH="$library" unshare -T --monotonic "$ahead" -f
		player=$(pgrep -P "$player")
		begin "$tmp/e.cresset" -e gpu-time -p "$player"
		sleep 0.5
		is "a clock that differs by $ahead s: the window is open" "$(now state)" open
		holds "… since when" [ "$(now 'opened_s_ago | floor')" -le 5 ]
		play 1
		end
		exec 3>&-
		is "… each nanosecond is there" "$(total "$tmp/e.cresset")" "$truth"
		holds "… by exact stack" grep -q 'exact stack, 0 ns by estimate, 0 ns without a stack$' "$tmp/begin.err"
		"$cresset" convert -q --type gpu-time "$tmp/e.cresset" -o "$tmp/e.trace.json"
		holds "… at its time, within the recording" python3 - "$tmp/e.trace.json" <<-'END'
			import json, sys
			at = [e["ts"] / 1e6 for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "gpu-kernel"]
			assert at and max(at) - min(at) < 30, (min(at), max(at))
		END
	done
else
	skip "a separate clock" "no time namespace can be made here"
fi

fails() { # NAME STATUS TEXT ARG…
	"$cresset" "${@:4}" >"$tmp/text" 2>"$tmp/err"
	is "$1: its status" $? "$2"
	holds "… and why" grep -q "$3" "$tmp/err"
}
fails "no process id" 2 "'x' is not a process id" gpu status x
fails "nor here" 2 "'0' is not a process id" gpu detach 0
fails "no such process" 5 "no process" gpu status 4194303
fails "nor here" 5 "no process" gpu detach 4194303
fails "a process without a GPU" 5 "uses no GPU" gpu status $$
fails "too many" 2 "status takes at most" gpu status 1 2
finish
