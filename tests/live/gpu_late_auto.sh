#!/usr/bin/env bash
# tier: live
# run: alone
# --gpu-attach on doubles of the libraries: cresset up loads its library into the programs that a selector chooses, and into no others. Its data on
# them equals that of a program attached by hand. Programs that cannot be attached to are left alone, and reported once.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH CRESSET_GPU_SCRIPT
library=$PWD/$BUILD/libcresset-cuda.so
chmod 755 "$tmp" # the store process is not root
data=$tmp/data program=$cresset
# Others on this machine may play, too: programs have their own names.
for name in chosen early other stopped filtered injected exec late; do
	cp "$progs/gpu_play" "$tmp/$name$$"
done
cp "$progs/attach_odd" "$tmp/filtered$$"
cp "$progs/attached" "$tmp/stopped$$"
devices='device 0 name "First"\ndevice 1 name "Second"\nwait none\n'
kernels='copy bytes_per_us 1000\nkernel gemm ns 1500\nkernel _Z4axpyPfS_f ns 400\nkernel softmax ns 333\n'
printf "$devices${kernels}play threads 2\nplay launches 1000\nplay copy 50 4096\nplay pace 9000\n" >"$CRESSET_DOUBLE"

# Without the ends of pipes to programs, which would never be closed.
apart() {
	local fd
	for fd in "${to[@]}"; do exec {fd}>&-; done
	exec "$@"
}
program_apart() { apart "$program" "$@"; }
up() {
	local cresset=program_apart
	rm -rf "$data"
	begin_always up --data "$data" --listen none --gpu-budget 100 --max-rate 1000000 "$@"
}
ask() { "$cresset" sql --format csv --data "$data" "$1" | tail -n +2 | tr -d '\r'; }
attached() { ask "SELECT CAST(max(value) AS INTEGER) FROM metrics WHERE name = 'cresset_gpu_attached' AND series IN (SELECT series FROM labels WHERE key = 'result' AND value = '$1')"; }
sum() { awk '{ n += $NF } END { print n + 0 }'; }
gpu_ns() { "$cresset" query --data "$data" "gpu-time{process=\"$1\"}" --unit ns -o - --format folded 2>>"$tmp/err" | sum; }
answers() { python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk -v times="$1" '$1 != "calls" { n += $4 } END { print times * n }'; }
has_library() { grep -q 'libcresset-cuda\|cresset-ring' "/proc/$1/maps"; }
said_of() { grep -c "$2.*process $1 \|process $1 .*$2" "$tmp/log"; }
until_log() { for _ in $(seq 1200); do grep -q "$1" "$tmp/log" && return; sleep 0.05; done; return 1; }
state() { "$cresset" gpu status "$1" --json | jq -r '.processes[0].state'; }
until_state() { for _ in $(seq 1200); do [ "$(state "$1")" = "$2" ] && return; sleep 0.05; done; return 1; }

# Programs that play each time they are told to: begin NAME [COMMAND…], play NAME, end_of NAME; their ids are in ${of[NAME]}.
declare -A of to rounds
begin() {
	local name=$1 fd
	shift
	[ -p "$tmp/$name.in" ] || mkfifo "$tmp/$name.in"
	apart "$@" "$tmp/$name$$" <"$tmp/$name.in" >"$tmp/$name.out" &
	of[$name]=$!
	pids+=("$!")
	exec {fd}>"$tmp/$name.in"
	to[$name]=$fd rounds[$name]=0
	for _ in $(seq 3000); do grep -q ready "$tmp/$name.out" && return; sleep 0.02; done
}
play() {
	rounds[$1]=$((rounds[$1] + 1))
	echo go >&"${to[$1]}"
	for _ in $(seq 500); do [ "$(grep -c "done" "$tmp/$1.out")" = "${rounds[$1]}" ] && return; sleep 0.02; done
	return 1
}
end_of() {
	local fd=${to[$1]}
	exec {fd}>&-
	wait "${of[$1]}"
}

# --- chosen or not ------------------------------------------------------------------------------------------------------------
begin early
up --gpu-attach "comm=\"chosen$$\"" --gpu-attach "process=~\"early$$|injected$$\""
begin chosen
begin other
begin injected env CUDA_INJECTION64_PATH="$library"
holds "one that runs before it: attached to" until_log "process ${of[early]} (early$$) has the GPU library now: .* stopped in .* for [0-9]* us"
holds "one that starts later as well" until_log "process ${of[chosen]} (chosen$$) has the GPU library now"
holds "one that has it from its start is left alone" until_log "process ${of[injected]} had the GPU library before"
for name in early chosen injected; do until_state "${of[$name]}" open; done
for name in early chosen other injected; do play $name; done
play chosen
sleep 1.2
is "one that is not selected never gets it" "$(has_library "${of[other]}"; echo $?)" 1
end_always
"$cresset" record --no-progress -e gpu-time -p "${of[other]}" -d 3 -o "$tmp/hand.cresset" 2>/dev/null & # as it would be by hand
recording=$!
"$cresset" gpu attach "${of[other]}" >/dev/null
until_state "${of[other]}" open
play other
wait $recording
is "GPU time of the first is exact, in ns" "$(gpu_ns "early$$")" "$(answers 1)"
is "… and of the second" "$(gpu_ns "chosen$$")" "$(answers 2)"
is "… and of one that had it" "$(gpu_ns "injected$$")" "$(answers 1)"
"$cresset" query --data "$data" "gpu-time{process=\"early$$\"}" --unit ns -o - --format folded | sed 's/^[^;]*;//' >"$tmp/early.folded"
"$cresset" convert -q --type gpu-time --unit ns "$tmp/hand.cresset" -o - --format folded | sed 's/^[^;]*;//' >"$tmp/hand.folded"
# On a busy machine the first stacks of a recording may be truncated: their time is in no stack then, but still in its kernel or copy.
whole_stacks() { grep -v '^\[truncated' "$1" | sed 's/ [0-9]*$//' | LC_ALL=C sort; }
by_work() { sed -E 's/^.*;([^;]*) ([0-9]+)$/\2 \1/' "$1" | awk '{ n = $1; $1 = ""; sum[$0] += n } END { for (work in sum) print work, sum[work] }' | LC_ALL=C sort; }
is "… its stacks are the same as in a recording by hand" "$(whole_stacks "$tmp/early.folded")" "$(whole_stacks "$tmp/hand.folded")"
is "… and the time of each kernel and copy" "$(by_work "$tmp/early.folded")" "$(by_work "$tmp/hand.folded")"
is "each was logged once" "$(grep -c 'has the GPU library now' "$tmp/log")" 2
is "… and counted" "$(attached attached) $(attached refused) $(attached failed) $(attached left_out)" "2 0 0 0"
for name in early chosen other injected; do
	end_of $name
	is "$name has not noticed" $? 0
done

# --- refused: for good, and for a while ---------------------------------------------------------------------------------------
# Programs with the driver's library that use no GPU: driver NAME ARG
driver() {
	apart env LD_PRELOAD="$PWD/$BUILD/doubles/libcuda.so.1" "$tmp/$1$$" "$2" >"$tmp/$1.out" &
	of[$1]=$!
	pids+=("$!")
	for _ in $(seq 3000); do grep -q ready "$tmp/$1.out" && return; sleep 0.02; done
}
up --gpu-attach "comm=~\".*$$\""
driver stopped poll
kill -STOP "${of[stopped]}"
driver filtered seccomp-errno
holds "one that is stopped: logged" until_log "not attached yet: process ${of[stopped]} is stopped; next try in 5 s"
holds "one that filters its system calls: logged" until_log "not attached: process ${of[filtered]} filters its system calls"
kill -CONT "${of[stopped]}"
holds "one that continues: attached to after all" until_log "process ${of[stopped]} (stopped$$) has the GPU library now"
sleep 1.2
end_always
is "each refusal was logged once" "$(grep -c "process ${of[stopped]} is stopped" "$tmp/log") $(grep -c "process ${of[filtered]} filters" "$tmp/log")" "1 1"
is "… and counted" "$(attached attached) $(attached refused) $(attached failed)" "1 1 0"
is "the one with the filter is without the library" "$(has_library "${of[filtered]}"; echo $?)" 1
kill -USR1 "${of[stopped]}"
sleep 0.2
is "nothing of the other one has changed" "$(tail -n1 "$tmp/stopped.out")" "0 attached, ok"
up --gpu-attach "comm=\"filtered$$\"" --gpu-attach-force seccomp
holds "the one with the filter, forced: it cannot load it, which is logged" until_log "attaching failed: .* process cannot load the library"
holds "… and it lives" kill -0 "${of[filtered]}"
sleep 1.2
end_always
is "… once, and counted" "$(grep -c 'attaching failed' "$tmp/log") $(attached failed)" "1 1"
for name in stopped filtered; do kill -9 "${of[$name]}" && wait "${of[$name]}"; done 2>/dev/null

# --- another program as the same process; one that was detached; the process that attaches -------------------------------------
printf 'gpu-attach:\n  - comm="exec%s"\n' $$ >"$tmp/config.yaml"
up --config "$tmp/config.yaml"
begin exec
holds "chosen by a file: attached to" until_log "process ${of[exec]} (exec$$) has the GPU library now"
: >"$tmp/exec.out"
echo exec >&"${to[exec]}"
rounds[exec]=0
until_said "process ${of[exec]} (exec$$) has the GPU library now" 2
is "it runs another program: attached to again" "$(grep -c "process ${of[exec]} (exec$$) has the GPU library now" "$tmp/log")" 2
until_state "${of[exec]}" open
play exec
begin late
printf 'gpu-attach: comm="late%s"\n' $$ >"$tmp/config.yaml"
kill -HUP "$always"
holds "another choice, read again: the next one" until_log "process ${of[late]} (late$$) has the GPU library now"
helper=$(pgrep -P "$(half cresset-collect)" -x cresset-attach)
kill -9 "$helper"
holds "the attaching process is killed: this is logged" until_log "the attach process has ended"
until_state "${of[late]}" open
play late
sleep 1.2
end_always
is "… and everything else continues" "$status $(gpu_ns "late$$")" "0 $(answers 1)"
is "… also of the one before" "$(gpu_ns "exec$$")" "$(answers 1)"
until_state "${of[exec]}" parked
holds "detached by hand" "$cresset" gpu detach "${of[exec]}"
up --gpu-attach "comm=\"exec$$\""
holds "chosen, but it was detached: left alone" until_log "process ${of[exec]} had the GPU library before"
is "… it still is" "$(state "${of[exec]}")" detached
end_always
for name in exec late; do
	end_of $name
	is "$name has not noticed" $? 0
done

# --- an agent; and no attach without the option ----------------------------------------------------------------------------------
begin chosen
begin other
begin_agent() { # OPTION…
	local cresset=program_apart
	begin_always agent --server http://127.0.0.1:9 --spool "$tmp/spool" "$@"
}
begin_agent
is "without selectors it attaches to nothing: no process for it" "$(pgrep -P "$(half cresset-collect)" -x cresset-attach)" ""
end_always
is "… and none was" "$(grep -c 'has the GPU library now' "$tmp/log") $(has_library "${of[chosen]}"; echo $?)" "0 1"
begin_agent --gpu-attach "{comm=~\".*$$\"}" --exclude "comm=\"other$$\""
holds "an agent: attached to" until_log "process ${of[chosen]} (chosen$$) has the GPU library now"
sleep 1.2
end_always
is "… but not to excluded ones" "$(has_library "${of[other]}"; echo $?)" 1
end_of chosen
end_of other

# --- invalid selectors ---------------------------------------------------------------------------------------------------------
refused() { # STATUS WORDS OPTION…
	"$cresset" up --data "$tmp/none" "${@:3}" 2>"$tmp/err"
	is "${*:3}: its status" $? "$1"
	holds "… $2" grep -qF -- "$2" "$tmp/err"
}
refused 2 "selector, column 1: it is empty" --gpu-attach ''
refused 2 "a value in quotes is missing" --gpu-attach 'comm=x'
refused 2 "unexpected text" --gpu-attach '{}}'
refused 2 "only labels and the name of a type are allowed" --gpu-attach 'pid="1"'
refused 2 "select programs by labels" --gpu-attach 'gpu-time{comm="x"}'
refused 2 "GPU time, which --gpu=off does not record" --gpu-attach '{}' --gpu=off
refused 2 "GPU time, which --gpu=0 does not record" --gpu-attach '{}' --gpu=0
refused 2 "--gpu-attach-force needs --gpu-attach" --gpu-attach-force seccomp
refused 2 "young" --gpu-attach '{}' --gpu-attach-force young
mkdir "$tmp/bare"
cp "$cresset" "$tmp/bare/cresset"
"$tmp/bare/cresset" up --data "$tmp/none" --gpu-attach '{}' 2>"$tmp/err"
is "no library is installed: its status" $? 4
holds "… its name" grep -q 'libcresset-cuda.so does not exist' "$tmp/err"
finish
