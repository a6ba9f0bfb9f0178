#!/usr/bin/env bash
# tier: test
# cresset record as others see it: exit statuses, files, the command it runs. Signals: record_end.sh. What it records is tests/live's.
. tests/cli/lib.sh
dir=$tmp/dir
mkdir "$dir"
# shellcheck disable=SC2016 # for the shell that runs it
burn='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'

# --- without permission
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$cresset" "$tmp/cresset.copy" && chmod 755 "$tmp"
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "$tmp/cresset.copy" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
	nobody record -a -d 1 -o - --format folded
	is "user nobody may not record" $? 3
	has "… and gets the missing capabilities" "CAP_BPF" "$(cat "$tmp/err")"
	has "… and how to get it" "sudo" "$(cat "$tmp/err")"
	is "… in no other words" "$(grep -c libbpf "$tmp/err")" 0
	has "… in two ways" "setcap" "$(cat "$tmp/err")"
	is "… on standard error only" "$(cat "$tmp/out")" ""
	nobody doctor
	is "doctor reports the same" $? 3
	has "… with the missing piece" "CAP_BPF" "$(cat "$tmp/out")"
	nobody record --list-events
	is "events can be listed" $? 0
	hasnt "… none works" "works here" "$(cat "$tmp/out")"
else
	skip "without permission" "only root can become nobody"
fi
if ! "$cresset" doctor >/dev/null 2>&1; then
	skip "recording" "$("$cresset" doctor 2>&1 | tail -2 | tr '\n' ' ')"
	finish
	exit 0
fi

start nice -n 19 sh -c 'while :; do :; done' # an idle machine gives no samples

# --- files
ends "three outputs together" 0 record -a -d 0.3 -o "$dir/x.cresset" -o "$dir/x.folded" -o - --format pprof
is "… standard output is pprof" "$(head -c 2 "$tmp/out" | od -An -tx1)" " 1f 8b"
only_files "… and nothing else is left" "$dir" x.cresset x.folded
has "… which the summary names" "wrote $dir/x.folded" "$errs"
ends "… the recording opens" 0 report "$dir/x.cresset"
is "… folded and recording agree" "$("$cresset" report --json "$dir/x.cresset" | jq .total)" "$(awk '{ n += $NF } END { print n }' "$dir/x.folded")"
is "… folded as record writes it is folded as convert makes it" "$("$cresset" convert "$dir/x.cresset" -o - --to folded)" "$(cat "$dir/x.folded")"
echo "what was there before" >"$dir/x.folded"
ends "an old file" 0 record -q -a -d 0.3 -o "$dir/x.folded"
hasnt "… is replaced" "what was there before" "$(cat "$dir/x.folded")"
is "… quietly" "$errs" ""
rm "$dir"/*
ends "the whole machine until a command ends" 3 record -a -o "$dir/x.folded" -- sh -c 'sleep 0.5; exit 3'
has "… is announced" "the whole machine until sh ends" "$errs"
holds "… and has samples of other programs" grep -q '^sh;' "$dir/x.folded"
fails "the whole machine and a process" 2 "choose one of" record -a -p 1 -o "$dir/x.folded" -- true
rm "$dir"/*
fails "no such directory" 7 "cannot create" record -a -d 60 -o "$dir/no/x.cresset" -o "$dir/x.svg"
hasnt "… is found before the start" "recording" "$errs"
only_files "… and leaves nothing" "$dir"
(cd "$dir" && "$cresset" record -q -a -d 0.2)
is "without -o" "$(find "$dir" -regextype posix-extended -regex '.*/cresset-[0-9]{8}-[0-9]{6}\.cresset' | wc -l)" 1
rm "$dir"/*
mkdir "$tmp/small"
trap 'umount "$tmp/small" 2>/dev/null; cleanup' EXIT
if mount -t tmpfs -o size=8k tmpfs "$tmp/small" 2>/dev/null; then
	fails "a disk that fills up" 7 "No space left" record -a -d 0.3 -o "$tmp/small/x.svg" -o "$dir/x.folded"
	is "… has no half file" "$(ls -A "$tmp/small")" ""
	only_files "… but the other output is there" "$dir" x.folded
	fails "a recording on a disk that fills up" 7 "No space left" record -a -d 60 -F 999 -o "$tmp/small/x.cresset" -o "$dir/x.folded"
	is "… reports it once" "$(grep -c error: "$tmp/err")" 1
	is "… and leaves nothing" "$(ls -A "$tmp/small")" ""
	holds "… but the other output" [ -s "$dir/x.folded" ]
	fails "… whatever the command prints" 7 "No space left" record -o "$tmp/small/x.svg" -- sh -c "$burn; exit 3"
	umount "$tmp/small"
else
	skip "a disk that fills up" "mounting one needs root"
fi
rm -f "$dir"/*

# --- files of each thread
ends "a directory for threads" 0 record -a -d 0.3 -o "$dir/busy.folded" --per-thread "$dir/threads/new"
has "… is named" "thread_analysis.txt and files of " "$errs" # busy_single_…, where only one had samples
threads=$(find "$dir/threads/new" -name 'thread_*_analysis.txt' | wc -l)
has "… with how many threads there are" "files of $threads thread" "$errs"
is "… all have a graph" "$(find "$dir/threads/new" -name 'thread_*.svg' | wc -l)" "$threads"
is "… and folded stacks, which add up to the total" "$(cat "$dir"/threads/new/thread_*.folded | awk '{ n += $NF } END { print n }')" "$(awk '{ n += $NF } END { print n }' "$dir/busy.folded")"
fails "a directory that is a file" 7 "cannot create the directory $dir/busy.folded: Not a directory" record -a -d 60 -o "$dir/x.svg" --per-thread "$dir/busy.folded"
hasnt "… is found before the start" "recording" "$errs"
rm -r "${dir:?}"/*

# --- the summary
ends "the summary" 0 record -a -d 0.3 -o "$dir/x.folded"
has "… reports samples" " samples" "$errs"
has "… losses" " lost" "$errs"
has "… its cost" "peak memory" "$errs"
one_cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[,-].*//')
for _ in 1 2; do start taskset -c "$one_cpu" sh -c 'while :; do :; done'; done # one of them waits while the other one runs
ends "waits for a CPU" 0 record -v -e sched-wait -d 0.3 -o "$dir/x.folded"
kill "${pids[@]: -2}"
hasnt "… nothing about blocked time, which was not requested" "went into waits" "$errs"
hasnt "… nor about samples, since none are expected" "  due " "$errs"
ends "blocked time" 0 record -v -e off-cpu,cpu -d 0.3 -o "$dir/x.folded"
has "… waits without a stack" "went into waits below 1.00 ms, which have no stack" "$errs"
has "… and how many samples were due" " samples, by the CPUs' " "$errs"
ends "all blocked time" 0 record -e off-cpu -m 0 -d 0.3 -o "$dir/x.folded"
hasnt "… no waits below nothing" "went into waits" "$errs"
ends "as JSON" 0 record --json -a -d 0.3 -o "$dir/x.folded"
holds "… it is JSON" jq -e '.samples >= 0 and .lost == 0 and .duration_ns >= 300000000 and .written[0].format == "folded"' "$tmp/out"
LC_ALL=C "$cresset" record -a -d 0.2 -o "$dir/x.folded" 2>"$tmp/err"
is "… ASCII without UTF-8" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/err")" 0
ends "events" 0 record --list-events
has "… work or not" "works here" "$out"
ends "events as JSON" 0 record --list-events --json
holds "… lists the working ones" jq -e 'map(select(.works)) | map(.name) == ["cpu", "off-cpu", "sched-wait", "wall", "page-fault", "rss", "alloc", "inuse", "lock", "gpu-time", "gpu-wait", "gpu-launch", "gpu-copy", "gpu-stall", "hbm-alloc", "hbm-inuse", "nccl"]' "$tmp/out"

# --- a command
run() { "$cresset" record -q -o "$dir/x.folded" "$@"; }
run -- sh -c 'exit 42'
is "a command's status is ours" $? 42
run -- sh -c 'kill -TERM $$'
is "… also when it is killed" $? 143
run -- true 2>/dev/null
is "a command that ends immediately is not an error" $? 0
rm -f "$dir"/*
fails "a command that is not there" 5 "cannot run '/no/such': No such file" record -o "$dir/x.folded" -- /no/such arg
fails "… or not to be executed" 5 "Permission denied" record -o "$dir/x.folded" -- /etc/passwd
only_files "… leaves nothing" "$dir"
is "its standard input is ours" "$(echo hello | run -- cat)" hello
is "its open files are not" "$(run -- ls /proc/self/fd)" "$(ls /proc/self/fd)"
is "its signals are as we found them" "$(run -- grep -E "SigBlk|SigIgn" /proc/self/status)" "$(grep -E "SigBlk|SigIgn" /proc/self/status)"
run -d 0.2 -- sh -c "sleep 1; exit 9"
is "a recording can end before it" $? 9
holds "… and is written" [ -e "$dir/x.folded" ]

finish
