#!/usr/bin/env bash
# tier: live
# Where kernels stall, on doubles of the libraries: each sample of each instruction, with its source, below the functions that launched its kernel.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording
. tests/live/lib_gpu_play.sh
kernels=$stall_kernels

# --- a program that ends right after its work ---------------------------------------------------------------------------------------
printf "$devices$module$kernels${stalls}stalls period 12\nplay threads 4\nplay launches 3000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
launches
play_short() {
	: >"$tmp/out"
	(said ready 1; sleep 0.5; echo warm; said warm 1; sleep 0.4; echo go) |
		timeout "$most_s" "$cresset" record --no-progress -e gpu-stall -o "$tmp/short.cresset" -- "$progs/gpu_play" >"$tmp/out" 2>"$tmp/err"
}
undisturbed play_short
same "one that ends immediately" "$tmp/short.cresset" "$(total 4)"

# --- together with time --------------------------------------------------------------------------------------------------------
printf "$devices$module$kernels${stalls}play threads 2\nplay launches 1600\nplay pace 9000\n" >"$CRESSET_DOUBLE"
play_stalls "$tmp/both.cresset" -e gpu-time
is "with gpu-time: the sum of samples" "$(folded "$tmp/both.cresset" gpu-stall | folded_sum)" "$(total 4)"
is "with gpu-time: the sum of ns" "$(folded "$tmp/both.cresset" gpu-time --unit ns | grep -v ';warm ' | folded_sum)" \
	"$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" { n += $4 } END { print n }')"

# --- a running program: its code was loaded before -------------------------------------------------------------------------------
printf "$devices$module$kernels${stalls}play threads 2\nplay launches 1000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
launches
exec 3> >(CUDA_INJECTION64_PATH=$PWD/$BUILD/libcresset-cuda.so exec "$progs/gpu_play" >"$tmp/out")
player=$!
said ready 1
echo go >&3
said "done" 1
begin "$tmp/late.cresset" -e gpu-stall -p "$player"
sleep 0.5
echo warm >&3
said warm 1
sleep 0.4
echo go >&3
said "done" 2
end
exec 3>&-
sed -i '/^module/d' "$CRESSET_DOUBLE"
same "one that runs already, without its source" "$tmp/late.cresset" "$(total 4)"

# --- Python: from train() to the instruction ---------------------------------------------------------------------------------------
printf "wait none\n$module${kernels}stall $saxpy 0x100 long_scoreboard 6 2\nstall $saxpy 672 wait 3\n" >"$CRESSET_DOUBLE"
printf '%s train 600\n%s infer 300\n' $saxpy $saxpy >"$tmp/launches"
while read -r version _ python; do
	case $version in 3.[6-9].* | 3.10.*) continue ;; esac
	"$python" -c 'import ctypes' 2>/dev/null || continue
	train() { timeout "$most_s" "$cresset" record --no-progress -e gpu-stall -o "$tmp/py.cresset" -- "$python" tests/live/gpu_train.py 600 $saxpy 2>"$tmp/err"; }
	undisturbed train
	is "$version: it runs" $? 0
	same "$version: train() and infer()" "$tmp/py.cresset" 8100
	is "$version: from train() through cudaLaunchKernel into the kernel and its stall" \
		"$(folded "$tmp/py.cresset" gpu-stall | awk '/;main;train;step;.*;cudaLaunchKernel;-;.*;saxpy\(.*;HFMA2;memory \(long scoreboard\);0x100 / { n += $NF } END { print n + 0 }')" 3600
	last=$tmp/py.cresset
done < <(interpreters)
if [ -n "${last-}" ]; then
	"$cresset" convert -q --type gpu-stall "$last" -o "$tmp/train.svg"
	holds "a flame graph of it" grep -q 'memory (long scoreboard)' "$tmp/train.svg"
	[ -z "${KEEP_SVG-}" ] || cp "$tmp/train.svg" "$KEEP_SVG"
else
	skip "Python" "no interpreter from 3.11 on with ctypes is here"
fi

# --- always on: interval by interval, each sample once ------------------------------------------------------------------------------
. tests/live/lib_always.sh
printf "$devices$module$kernels${stalls}play threads 2\nplay launches 1000\nplay pace 9000\n" >"$CRESSET_DOUBLE"
launches
chmod 755 "$tmp" # the store process is not root
cp "$progs/gpu_play" "$tmp/gs$$" # others on this machine may play, too
until_watched() {
	for warms in $(seq 60); do
		echo warm >&3
		said warm "$warms"
		sleep 1.2
		"$cresset" query --data "$tmp/data" "gpu-time{process=\"gs$$\"}" -o - --format folded 2>/dev/null | grep -q ';warm ' && return
	done
	return 1
}
unwatched_ms() {
	"$cresset" sql --format csv --data "$tmp/data" "SELECT CAST(coalesce(max(value), 0) AS INT) FROM metrics WHERE name = 'cresset_lost' AND series IN
		(SELECT series FROM labels WHERE key = 'reason' AND value = 'gpu_unwatched')" | tail -1 | tr -d '\r'
}
play_always() {
	rm -rf "$tmp/data"
	begin_always up --data "$tmp/data" --listen 127.0.0.1:0 --gpu=2 --gpu-budget 100 --max-rate 1000000
	: >"$tmp/out"
	exec 3> >(CUDA_INJECTION64_PATH=$PWD/$BUILD/libcresset-cuda.so exec "$tmp/gs$$" >"$tmp/out")
	said ready 1
	until_watched
	watched=$?
	for round in 1 2 3; do
		echo go >&3
		said "done" "$round"
		sleep 1.2
	done
	exec 3>&-
	sleep 1.5
	end_always
}
for _ in 1 2 3; do
	play_always
	[ "$(unwatched_ms)" = 0 ] && break
	sed 's/^/# /' "$tmp/log"
done
holds "always on: the program is watched" test $watched = 0
is "always on: it ends well" "$status" 0
for type in gpu-stall:4 gpu-stall-not-issued:5; do
	column=${type#*:} type=${type%:*}
	"$cresset" query --data "$tmp/data" "$type{process=\"gs$$\"}" -o - --format folded --annotate=g,G >"$tmp/folded" 2>>"$tmp/err"
	is "always on: the sum of $type" "$(folded_sum <"$tmp/folded")" "$((3 * $(total "$column")))"
done
holds "always on: with source and reason" grep -q 'saxpy(.*HFMA2_\[g\];memory (long scoreboard)_\[g\];0x100_\[g\] ' "$tmp/folded"

# --- missing stalls ----------------------------------------------------------------------------------------------------------------
printf "$devices$kernels${stalls}stalls drop 4\nplay threads 1\nplay launches 400\n" >"$CRESSET_DOUBLE"
play_stalls "$tmp/drop.cresset"
got=$(folded "$tmp/drop.cresset" gpu-stall | folded_sum)
is "samples dropped by the device are counted" "$(sed -n 's/^ *lost  *\([0-9,]*\): samples of GPU stalls dropped: table full.*/\1/p' "$tmp/err" | tr -d ,)" $(($(total 4) - got))
holds "… and is not all" test "$got" -gt 0 -a "$got" -lt "$(total 4)"
for fault in "denied:needs a privilege" "memory 2:no memory to sample stalls" "error 7:cuptiPCSampling"; do
	printf "$devices$kernels${stalls}stalls ${fault%%:*}\nplay threads 1\nplay launches 400\n" >"$CRESSET_DOUBLE"
	play_stalls "$tmp/none.cresset" -e gpu-time
	is "stalls ${fault%%:*}: its status" $? 0
	holds "stalls ${fault%%:*}: why" grep -q "${fault#*:}" "$tmp/err"
	is "stalls ${fault%%:*}: time is there" "$(folded "$tmp/none.cresset" gpu-time --unit ns | grep -v ';warm ' | folded_sum)" \
		"$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" { n += $4 } END { print n }')"
done
printf "$devices$kernels${stalls}play threads 2\nplay launches 1600\nplay graph 16 2\n" >"$CRESSET_DOUBLE"
play_stalls "$tmp/none.cresset" -e gpu-time
is "a program that launches graphs: its status" $? 0
holds "a program that launches graphs: why its stalls end" grep -q 'launches CUDA graphs' "$tmp/err"
is "a program that launches graphs: time is there" "$(folded "$tmp/none.cresset" gpu-time --unit ns | grep -v ';warm ' | folded_sum)" \
	"$(python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" | awk '$1 != "calls" { n += $4 } END { print n }')"
mkdir "$tmp/old"
ln -s "$PWD/$BUILD/doubles/libcupti-old.so.13" "$tmp/old/libcupti.so.13"
LD_LIBRARY_PATH=$tmp/old:$LD_LIBRARY_PATH play_stalls "$tmp/none.cresset" -e gpu-time
holds "a CUPTI without PC sampling: reported" grep -q 'this libcupti does not sample stalls' "$tmp/err"
"$cresset" record --no-progress -e gpu-stall --comm gpu_play -d 1 -o "$tmp/none.cresset" 2>"$tmp/err"
is "a target that is unknown beforehand: its status" $? 2
holds "… and why" grep -q -- '-e gpu-stall needs -p' "$tmp/err"
holds "it is listed as what works" sh -c "'$cresset' record --list-events | grep -q '^gpu-stall .*works here'"
finish
