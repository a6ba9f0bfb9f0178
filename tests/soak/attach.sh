#!/usr/bin/env bash
# tier: full
# run: alone
# What late attach promises: 1000 injections into 50 fresh processes that hammer malloc and the loader on all CPUs, every one alive and correct afterwards, how long a
# thread was stopped; then 1000 cycles of attaching to one process, and 1000 of attaching to and detaching from one with a GPU (a double), which must not grow.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
. tests/live/lib_attach.sh
export ATTACH_LIB_STAY=0 # twenty threads each would only be slow
each=${EACH:-20} processes=${PROCESSES:-25}
cpus=$(nproc)

hammer() { # NAME, options of the program
	local name=$1 bad=0 failed=0
	shift
	: >"$tmp/stops"
	for _ in $(seq "$processes"); do
		begin "$@"
		for _ in $(seq "$each"); do inject || { failed=$((failed + 1)) && sed 's/^/# /' "$tmp/errors"; }; done
		[ "$(asked)" = "$each attached, ok" ] || { bad=$((bad + 1)) && tail -n1 "$said" | sed 's/^/# /'; }
		ended || bad=$((bad + 1))
	done
	is "$name: every one of $((each * processes)) injections" $failed 0
	is "$name: every process alive and correct" $bad 0
	p50=$(percentile "$tmp/stops" 50) p99=$(percentile "$tmp/stops" 99)
	echo "# $name: stopped for p50 $p50 us, p99 $p99 us, at most $(percentile "$tmp/stops" 100) us; load $(cut -d' ' -f1 /proc/loadavg) on $cpus CPUs"
}

hammer malloc poll --malloc "$cpus"
holds "malloc: p50 of the stop is at most 1 ms ($p50 us)" test "$p50" -le 1000
holds "malloc: p99 of the stop is at most 10 ms ($p99 us)" test "$p99" -le 10000
hammer dlopen epoll --malloc 1 --dlopen 1
holds "dlopen: p50 of the stop is at most 1 ms ($p50 us)" test "$p50" -le 1000
holds "dlopen: p99 of the stop is at most 30 ms ($p99 us)" test "$p99" -le 30000

# --- cycles ---
begin poll
ln -sf "$progs/attach_lib" "$tmp/libsame.so"
again() { "$cresset" gpu attach "$target" --library "$1" --force young,no-library --json 2>/dev/null; }
again "$tmp/libsame.so" >/dev/null
again "$progs/attach_lib_undefined" >/dev/null
sleep 0.1
first=$(size_of "$target") wrong=0
for _ in $(seq 500); do
	json=$(again "$tmp/libsame.so")
	[ "$(field result)" = already ] || wrong=$((wrong + 1))
	json=$(again "$progs/attach_lib_undefined")
	[ "$(field result)" = failed ] || wrong=$((wrong + 1))
done
sleep 0.1
is "1000 cycles, half of them with a library that cannot be loaded: each as it should" $wrong 0
is "…descriptors, mappings and threads have not grown" "$(size_of "$target")" "$first"
is "…and the process has not changed" "$(asked)" "1 attached, ok"

# --- attach and detach: the library closes its ring, and makes it anew ---
printf 'wait none\nkernel gemm ns 1500\nplay threads 2\nplay launches 1000\nplay pace 300\n' >"$tmp/double"
mkfifo "$tmp/in"
LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double "$progs/gpu_play" <"$tmp/in" >"$tmp/out" &
target=$!
pids+=("$target")
exec 3>"$tmp/in"
played() { for _ in $(seq 500); do [ "$(grep -c "$1" "$tmp/out")" = "$2" ] && return; sleep 0.02; done; return 1; }
result() { "$cresset" gpu "$1" "$target" --json "${@:2}" 2>"$tmp/errors" | sed -n 's/.*"result":"\([a-z]*\)".*/\1/p'; }
played ready 1
is "a program with a GPU: attached" "$(result attach --force young)" loaded
for _ in $(seq 100); do "$cresset" gpu status "$target" | grep -q parked && break || sleep 0.05; done
result detach >/dev/null
off=$(size_of "$target")
result attach >/dev/null
on=$(size_of "$target") wrong=0 grown=0
for _ in $(seq "${CYCLES:-1000}"); do
	[ "$(result detach)" = detached ] || wrong=$((wrong + 1))
	[ "$(size_of "$target")" = "$off" ] || grown=$((grown + 1))
	[ "$(result attach)" = reattached ] || wrong=$((wrong + 1))
	[ "$(size_of "$target")" = "$on" ] || grown=$((grown + 1))
done
is "${CYCLES:-1000} cycles of detaching and attaching: each as it should" $wrong 0
is "…descriptors, mappings and threads have not grown after the first, detached nor attached" $grown 0
echo "# descriptors, mappings, threads: detached $off, attached $on"
echo go >&3
holds "…and the program continues" played "done" 1
begin_record() {
	"$cresset" record --no-progress -e gpu-time -p "$target" -o "$tmp/x.cresset" 2>"$tmp/errors" &
	recorder=$!
	pids+=("$recorder")
	for _ in $(seq 100); do "$cresset" gpu status "$target" --json | grep -q '"state":"open"' && return || sleep 0.05; done
}
begin_record
echo go >&3
played "done" 2
kill -INT $recorder
wait $recorder
is "…and its activity is seen as before" "$("$cresset" convert "$tmp/x.cresset" -q --type gpu-time --unit ns -o - --format folded | awk '{ n += $NF } END { print n }')" \
	$((2 * 1000 * 1500))
exec 3>&-
wait "$target"
is "…until its end" $? 0
finish
