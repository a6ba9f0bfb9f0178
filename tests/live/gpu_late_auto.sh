#!/usr/bin/env bash
# --gpu-attach on doubles of the libraries: cresset up puts its library into the programs that a selector chooses, and into no others; what it then says of
# them is what it says of one that was attached to by hand; those that cannot be attached to are left alone, and said once.
. tests/live/lib.sh
. tests/live/lib_always.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording the machine needs root"; exit 0; }
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH CRESSET_GPU_SCRIPT
library=$PWD/$BUILD/libcresset-cuda.so
chmod 755 "$tmp" # the store process is nobody
data=$tmp/data
# Others on this machine may play, too: programs go by names of their own.
for name in chosen early other stopped filtered injected exec late; do
	cp "$progs/gpu_play" "$tmp/$name$$"
done
cp "$progs/attach_odd" "$tmp/filtered$$"
devices='device 0 name "First"\ndevice 1 name "Second"\nwait none\n'
kernels='copy bytes_per_us 1000\nkernel gemm ns 1500\nkernel _Z4axpyPfS_f ns 400\nkernel softmax ns 333\n'
printf "$devices${kernels}play threads 2\nplay launches 1000\nplay copy 50 4096\nplay pace 9000\n" >"$CRESSET_DOUBLE"

up() {
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
until_log() { for _ in $(seq 200); do grep -q "$1" "$tmp/log" && return; sleep 0.05; done; return 1; }
state() { "$cresset" gpu status "$1" --json | jq -r '.processes[0].state'; }
until_state() { for _ in $(seq 100); do [ "$(state "$1")" = "$2" ] && return; sleep 0.05; done; return 1; }

# Programs that play each time they are told to: begin NAME [COMMAND…], play NAME, end_of NAME; their ids are in ${of[NAME]}.
declare -A of to rounds
begin() {
	local name=$1 fd
	shift
	mkfifo "$tmp/$name.in"
	"$@" "$tmp/$name$$" <"$tmp/$name.in" >"$tmp/$name.out" &
	of[$name]=$!
	pids+=("$!")
	exec {fd}>"$tmp/$name.in"
	to[$name]=$fd rounds[$name]=0
	for _ in $(seq 200); do grep -q ready "$tmp/$name.out" && return; sleep 0.02; done
}
play() {
	rounds[$1]=$((rounds[$1] + 1))
	echo go >&"${to[$1]}"
	for _ in $(seq 500); do [ "$(grep -c done "$tmp/$1.out")" = "${rounds[$1]}" ] && return; sleep 0.02; done
	return 1
}
end_of() {
	local fd=${to[$1]}
	exec {fd}>&-
	wait "${of[$1]}"
}

# --- chosen or not ------------------------------------------------------------------------------------------------------------
begin early
up --gpu-attach "comm=\"chosen$$\"" --gpu-attach "comm=\"early$$\""
begin chosen
begin other
holds "one that runs before it: attached to" until_log "process ${of[early]} (early$$) has the GPU library now"
holds "one that begins after it, too" until_log "process ${of[chosen]} (chosen$$) has the GPU library now"
end_always
cat "$tmp/log"
finish
