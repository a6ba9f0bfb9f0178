#!/usr/bin/env bash
# tier: test
# How cresset record ends: by signals, with its command or its target, at a terminal.
. tests/cli/lib.sh
dir=$tmp/dir
mkdir "$dir"
if ! "$cresset" doctor >/dev/null 2>&1; then
	skip "recording" "$("$cresset" doctor 2>&1 | tail -2 | tr '\n' ' ')"
	finish
	exit 0
fi

start nice -n 19 sh -c 'while :; do :; done' # an idle machine gives no samples

# --- signals; the recording has begun once its line is there
begin() { # ARG… in the background; sets pid
	: >"$tmp/err"
	# a shell starts what runs in the background with SIGINT ignored; the command would inherit that
	env --default-signal=INT,HUP "$cresset" record "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
	pid=$!
	pids+=("$pid")
	for _ in $(seq 1200); do
		grep -q '^cresset: recording' "$tmp/err" && return
		sleep 0.05
	done
}
for sig in INT TERM HUP; do
	rm -f "$dir"/*
	begin -a -o "$dir/x.folded"
	sleep 0.5 # 50 samples of the busy CPU
	kill -$sig $pid
	wait $pid
	is "SIG$sig ends a recording" $? 0
	only_files "… which is written" "$dir" x.folded
done
rm -f "$dir"/*
begin -a -o "$dir/x.folded" -o "$dir/x.cresset"
kill -STOP $pid # so that both signals are there when it goes on
kill -INT $pid
kill -TERM $pid
kill -CONT $pid
wait $pid
is "the second signal aborts" $? 1
only_files "… and leaves nothing" "$dir"
# shellcheck disable=SC2016 # for the shell that runs it
waiting='echo >"$0"; while :; do :; done' # says that its trap is set
wait_ready() { until [ -e "$tmp/ready" ]; do sleep 0.05; done; }
until_there() { for _ in $(seq 1200); do [ -e "$1" ] && return; sleep 0.05; done; }
begin -o "$dir/x.folded" -- sh -c "trap 'exit 7' INT; $waiting" "$tmp/ready"
wait_ready
kill -INT $pid
wait $pid
is "SIGINT for us alone reaches the command" $? 7
only_files "… and its data is written" "$dir" x.folded
rm "$tmp/ready"
begin -o "$dir/x.folded" -- sh -c "trap 'exit 6' TERM; $waiting" "$tmp/ready"
wait_ready
kill -TERM $pid
wait $pid
is "SIGTERM as well" $? 6
sleep 30 &
target=$!
begin -p $target -o "$dir/x.folded"
kill $target
wait $pid
is "a target that ends is the end" $? 8

# --- a terminal
if command -v script >/dev/null; then
	rm -f "$dir"/*
	script -qec "'$cresset' record -a -d 1.2 -o '$dir/x.folded'" "$tmp/typescript" >/dev/null </dev/null
	n=$(tr '\r' '\n' <"$tmp/typescript" | grep -c '00:0[01]/00:01.*samples')
	near "a status line, at most 4 times a second" "$n" 3 2
	script -qec "'$cresset' record --no-progress -a -d 0.6 -o '$dir/x.folded'" "$tmp/typescript" >/dev/null </dev/null
	hasnt "… none with --no-progress" "00:00/00:00" "$(cat "$tmp/typescript")"
	# Ctrl-C goes to the whole foreground group, and the command decides
	rm -f "$tmp/ready"
	printf '%s\n' "trap 'exit 5' INT" "$waiting" >"$tmp/loop.sh"
	{ wait_ready && printf '\003' && until_there "$dir/y.folded"; } | env --default-signal=INT script -qec "exec '$cresset' record -q -o '$dir/y.folded' -- sh -c '. $tmp/loop.sh' '$tmp/ready'" /dev/null >/dev/null
	is "Ctrl-C is the command's matter" "${PIPESTATUS[1]}" 5
	holds "… and its data is written" [ -e "$dir/y.folded" ]
else
	skip "a status line" "no script(1)"
fi
finish
