#!/usr/bin/env bash
# tier: test
# Usage errors: exit status 2, what was wrong, what is near it; and the help texts, which are reviewed as files.
. tests/cli/lib.sh
printf 'main;work 3\n' >"$tmp/a.folded"
a=$tmp/a.folded

# --- commands and words
fails "no command" 2 "no command given"
fails "unknown command" 2 "unknown command 'bake'" bake
fails "a command nearly typed right" 2 "did you mean 'cresset report'?" reprot "$a"
fails "a command that this version has not" 2 "unknown command 'annotate'" annotate
fails "a missing file" 2 "FILE is missing" report
fails "… for flame" 2 "FILE is missing" flame -o x.svg
fails "too many arguments" 2 "unexpected argument 'x'" doctor 1 x
fails "help on an unknown command" 2 "unknown command 'nothing'" help nothing

# --- options
fails "unknown option" 2 "unknown option '--bogus'" record --bogus
fails "an option nearly typed right" 2 "did you mean --freq?" record --frq 99
fails "an abbreviated option" 2 "did you mean --duration?" record --dur 3
fails "one dash too few" 2 "did you mean --freq?" record -freq 99
fails "unknown letter" 2 "unknown option '-Z'" record -aZ
fails "an option of another command" 2 "unknown option '--tree'" record --tree
fails "missing argument" 2 "option --freq needs an argument: HZ" record -F
fails "the separator is not an argument" 2 "option --comm needs an argument" record --comm -- true
fails "an argument for a flag" 2 "option --all takes no argument" record --all=yes
fails "not a number" 2 "'fast' is not a number" record -F fast
fails "0 Hz" 2 "'0' is not between 1 and 10000" record -f0
fails "10001 Hz" 2 "'10001' is not between 1 and 10000" record --freq=10001
fails "not a time" 2 "'soon' is not a time" record -d soon
fails "no time at all" 2 "option --duration: '0' is too small" record -d 0
fails "not a length of waits" 2 "'long' is not a time" record -e off-cpu -m long
fails "no wait at all" 2 "option --max-block: '0' is too small" record -e off-cpu --max-block 0
fails "no stack a second" 2 "'0' is not between 1 and 10000000" record -e wall --max-rate 0
fails "no level of GPU data" 2 "option --gpu: '3' is not known" record --gpu=3
fails "… of continuous recording" 2 "option --gpu: 'al' is not known" up --gpu=al
fails "events that it leaves out" 2 "--gpu=off does not record -e gpu-launch" record --gpu=off -e cpu,gpu-launch
fails "… that are more than it lets through" 2 "--gpu=0 does not record -e gpu-time" record --gpu=0 -e gpu-time
fails "a budget of nothing" 2 "--gpu-budget must be above 0" up --gpu-budget 0
fails "… of more than there is" 2 "'101' is more than 100 percent" up --gpu-budget 101
fails "… that is not a number" 2 "'some' is not a number" agent --server https://prof.example --gpu-budget some
fails "a directory is needed" 2 "option --per-thread needs an argument: DIR" record --per-thread
fails "not a size" 2 "'big' is not a size" record --buffer big
fails "too large a size" 2 "'2T' is too large" record --buffer 2T
fails "too small a size" 2 "'1K' is too small" record --buffer 1K
fails "too deep" 2 "not between 1 and 512" record --max-depth 513
fails "more than all" 2 "more than 100 percent" record --max-lost 101
fails "unknown choice" 2 "'dwraf' is not known" record --unwind dwraf
has "… with the nearest" "did you mean 'dwarf'?" "$errs"
fails "unknown root frame" 2 "did you mean 'comm'?" record --by com
fails "unknown annotation" 2 "'x' is not known" record --annotate=k,x
fails "unknown event" 2 "did you mean 'cpu'?" record -e cpux
fails "unknown unit" 2 "'hours' is not known" record --unit hours
fails "unknown palette" 2 "did you mean 'mono'?" flame "$a" -o x.svg --palette momo
fails "unknown colour mode" 2 "'sometimes' is not known" --color sometimes doctor
fails "JSON without a table" 2 "prints no table" flame "$a" -o x.svg --json

# --- what does not go together
fails "two targets" 2 "choose one of" record -a -p 1
fails "a target and a command" 2 "choose one of" record -p 1 -- true
fails "no pid" 2 "'0' is not a process or thread id" record -p 0
fails "no number as pid" 2 "'init' is not a process or thread id" record -p 1,init
fails "an empty pid" 2 "is empty" record -p 1,,2
fails "a program without --" 2 "cresset record -- ./prog" record ./prog
fails "nothing after --" 2 "missing command after --" record --
fails "waits shorter than the longest only" 2 "--min-block is more than --max-block" record -e off-cpu -m 2s --max-block 1s
fails "wakers of no waits" 2 "--wakers needs -e off-cpu" record --wakers
fails "… nor of CPU time" 2 "--waker-stacks needs -e off-cpu" record -e cpu --waker-stacks
fails "kernel threads that wait for nothing" 2 "--kernel-threads needs -e off-cpu" record --kernel-threads
fails "neither side" 2 "leave nothing" record --no-kernel --no-user
fails "JSON and CSV" 2 "choose one of" report --json --csv "$a"
fails "standard input twice" 2 "only once" report - -

# --- outputs
fails "an unknown ending" 2 "unknown format: 'x.foo'" record -o x.foo
has "… with the supported ones" ".folded" "$errs"
fails "standard output without --format" 2 "-o - needs --format" record -o -
fails "unknown format" 2 "did you mean 'folded'?" record -o x --format floded
fails "a recording to standard output" 2 "cannot go to standard output" record -o - --format cresset
fails "one output twice" 2 "is given twice" record -o "$tmp/x.svg" -o "$tmp/x.svg"
fails "two things on standard output" 2 "cannot both" record --json -o - --format folded
fails "flame without output" 2 "-o OUT.svg is missing" flame "$a"
fails "flame to another format" 2 "does not end in .svg" flame "$a" -o "$tmp/x.folded"

# --- what is understood, and what is not there
fails "allocations of the whole machine" 2 "needs -p or -- COMMAND" record -e cpu,alloc

# --- values that only the file can refuse
fails "no such type" 2 "no type 'heap'" report "$a" --type heap
has "… with those there are" "types here: samples" "$errs"
fails "a type nearly typed right" 2 "did you mean 'samples'?" report "$a" --type sample
fails "no such function" 2 "wor" report "$a" --callers wor
fails "a range that is none" 2 "is not a range" report "$a" --time soon
fails "a range backwards" 2 "is not a range" report "$a" --time 5-3
fails "a regular expression that is none" 2 "(" report "$a" --focus '('
fails "… to hide" 2 "[" flame "$a" -o "$tmp/x.svg" --hide '['
only_files "no files left over" "$tmp" a.folded err out

# --- help
for text in up agent record report flame diff convert query sql serve token doctor gpu completion help; do
	for kind in help help-all; do
		run_cresset $text --$kind
		is "cresset $text --$kind" "$out" "$(cat tests/golden/help/$text.$kind.txt)"
	done
	run_cresset $text -h
	holds "cresset $text -h fits 24 lines" [ "$(wc -l <"$tmp/out")" -le 24 ]
	is "… of 80 columns" "$(awk 'length > 80' "$tmp/out")" ""
	run_cresset help $text
	is "cresset help $text says everything" "$out" "$(cat tests/golden/help/$text.help-all.txt)"
done
run_cresset --help
is "cresset --help" "$out" "$(cat tests/golden/help/cresset.txt)"
run_cresset help
is "cresset help" "$out" "$(cat tests/golden/help/cresset.txt)"
run_cresset help formats
holds "cresset help formats lists every format" [ "$(grep -cE '^  [a-z]+ +(read|written)' "$tmp/out")" -gt 6 ]
is "… in 80 columns" "$(awk 'length > 80' "$tmp/out")" ""
ends "help wins over missing arguments" 0 report -h
ends "options in front of the command" 0 -q --color=never doctor --help
run_cresset --version
holds "version" grep -qxE 'cresset [0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z-]+)?' <(head -1 "$tmp/out")
ends "version of a command" 0 record --version
if full=$(full_device); then
	"$cresset" --help >"$full" 2>"$tmp/err"
	is "help to a full disk" $? 7
else
	skip "help to a full disk" "no /dev/full, and not root"
fi
finish
