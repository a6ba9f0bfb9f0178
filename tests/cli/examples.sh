#!/usr/bin/env bash
# tier: test
# Every example of every help text is run as it stands, in a directory with files of the names it uses, and does what it says:
# it ends with 0 (10 with --fail-on: the file grew) and leaves the file behind -o. Five things are different, so that it takes seconds: -d 10 is -d 0.3, the process 4242
# is one of ours, a recording without an end is interrupted after a second, as are serve, up and agent once they are there, of which the last two get directories of their own,
# top is told --once and half a second, and sudo is left out. What several texts have is run once.
. tests/cli/lib.sh

cd "$tmp" || exit
mkdir bin && ln -s "$cresset" bin/cresset
PATH=$tmp/bin:$PATH
chmod 755 "$tmp" # the store process of up is not root
printf '%s\n' 'main;parse;read 30' 'main;parse;malloc 20' 'main;sort 50' >a.folded
printf '%s\n' 'main;parse;read 10' 'main;parse;malloc 60' 'main;sort 50' >b.folded
for name in a before old; do cresset convert a.folded -o $name.pb.gz && cresset convert a.folded -o $name.cresset; done
for name in b after new; do cresset convert b.folded -o $name.pb.gz && cresset convert b.folded -o $name.cresset; done
for i in 1 2 3; do
	printf 'redis-server 4242/4242 [000] 100.%d: 10101010 cpu-clock:\n\t401010 read+0x0 (/usr/bin/redis-server)\n\t401000 main+0x0 (/usr/bin/redis-server)\n\n' $i
done >cpu.script
cresset convert cpu.script -o cpu.cresset
cp a.cresset cresset-20250102-030405.cresset
cp a.pb.gz cpu.pb.gz
cp "$OLDPWD/tests/golden/gpu/lines.sm_90.cubin" kernels.cubin
echo cresset_0123 >token
printf '#!/bin/sh\ni=0\nwhile [ $i -lt 200000 ]; do i=$((i + 1)); done\n' >prog
chmod +x prog
start sh -c 'while :; do :; done'
spinning=${pids[0]}
kill -STOP "$spinning" # it runs while it is looked at
start sleep 600
waiting=${pids[1]}

cresset doctor >/dev/null 2>&1
can_record=$?

# "  cresset COMMAND …  what it does", up to the usage.
examples_of() {
	"$cresset" "$@" | sed -n '/^usage:/q; s/^  \(\(sudo \)\{0,1\}cresset .*[^ ]\)  .*/\1/p' | sed 's/ *$//'
}
# Runs a command until it says that it records or serves, then ends it as Ctrl-C does.
interrupted() {
	"$@" &
	until grep -qE 'recording this machine for|http://.*/$' out err || ! kill -0 $!; do sleep 0.02; done
	kill -INT $!
	wait $!
}
export -f interrupted
run_example() { # LINE
	local line=$1
	line=${line#sudo }
	line=${line/-d 10/-d 0.3}
	line=${line/-p 4242/-p $spinning}
	line=${line/doctor 4242/doctor $spinning}
	[[ $line != 'cresset '???' attach '* ]] || line="${line/4242/$waiting} --dry-run --force young,no-library"
	case $line in
	'cresset top' | 'cresset top -p '*) line="$line --once -i 0.5s" ;;
	'cresset up'*) line="interrupted $line --data $tmp/up --listen 127.0.0.1:0" ;;
	'cresset agent '*) line="interrupted $line --spool $tmp/agent" ;;
	'cresset serve '*) line="interrupted $line --listen 127.0.0.1:0" ;;
	*' -d '* | *' -- '*) ;;
	'cresset record '*) line="timeout --foreground --preserve-status -s INT 1 $line" ;;
	esac
	[[ $line != *record* && $line != *top* && $line != *" $spinning"* ]] || kill -CONT "$spinning"
	timeout "$most_s" bash -c "$line" >out 2>err
	rc=$?
	kill -STOP "$spinning"
}
written() { # what is behind each -o
	local word last=
	for word in $1; do
		[ "$last" = -o ] && [ "$word" != - ] && echo "$word"
		last=$word
	done
}

mapfile -t commands < <("$cresset" --help | awk '/^usage:/ { on = 1 } on && /^  / { print $1 }')
holds "there are commands" [ ${#commands[@]} -gt 5 ]
n=0
while read -r line; do
	n=$((n + 1))
	case $line in
	*'cresset record '* | *'cresset doctor'* | *'cresset '???' attach '* | 'cresset up'* | 'cresset agent '* | 'cresset top' | 'cresset top -p '*)
		if [ $can_record != 0 ]; then
			skip "$line" "recording does not work here"
			continue
		fi
		;;
	esac
	outputs=$(written "$line")
	# shellcheck disable=SC2086 # several names
	[ -z "$outputs" ] || rm -f $outputs
	want=0
	[[ $line != *--fail-on* ]] || want=10 # the status to expect
	run_example "$line"
	if [ $rc = $want ]; then ok "$line"; else not_ok "$line" "status $rc: $(cat err)"; fi
	if [ -z "$outputs" ] && [[ $line != *'record '* && $line != 'cresset up'* && $line != 'cresset agent '* ]]; then holds "… prints something" [ -s out ]; fi
	for file in $outputs; do
		holds "… writes $file" [ -s "$file" ]
	done
done < <({
	examples_of --help
	for command in "${commands[@]}"; do examples_of "$command" -h; done
} | awk '!seen[$0]++')
holds "there are examples" [ $n -gt $((2 * ${#commands[@]})) ]
finish
