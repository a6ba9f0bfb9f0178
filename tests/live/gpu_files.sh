#!/usr/bin/env bash
# tier: live
# run: alone
# Where kernels stall in code that was loaded before the library was, on doubles of the libraries: the code is read from the files that the program
# has mapped.
. tests/live/lib.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH
gpu=tests/golden/gpu saxpy=_Z5saxpyPfPKffi sum=_Z3sumIdEvPT_PKS0_i
module="module $PWD/$gpu/lines.sm_90.cubin $saxpy $sum\n"
both="kernel $saxpy ns 1500\nkernel softmax ns 400\nkernel $sum ns 333\n"
stalls="stall $saxpy 0x100 long_scoreboard 7 3\nstall $saxpy 672 short_scoreboard 5 5\nstall $sum 304 membar 3 1\nstall softmax 0xfff0 barrier 4 2\n"
plays="play threads 2\nplay launches 600\nplay pace 9000\n"

said() { for _ in $(seq 3000); do [ "$(grep -c "$1" "$tmp/out")" = "$2" ] && return; sleep 0.02; done; return 1; }
scenario() { printf 'device 0 name "First"\ndevice 1 name "Second"\nwait none\n'"$1" >"$CRESSET_DOUBLE"; }
# A program with this device code in its file: program ENTRY… (fatbin.py)
program() {
	player_file=$tmp/play_$RANDOM
	python3 $gpu/fatbin.py "$player_file" "ELF:$progs/gpu_play" "$@"
}
# It runs, and has loaded its code; then the library is attached, then it is recorded: late FILE
late() {
	: >"$tmp/out"
	exec 3> >(exec "$player_file" >"$tmp/out")
	player=$!
	said ready 1
	echo go >&3
	said "done" 1
	"$cresset" gpu attach "$player" --force young >"$tmp/attach" 2>&1
	begin "$1" -e gpu-stall -p "$player"
	sleep 0.5
	echo warm >&3
	said warm 1
	sleep 0.4
	echo go >&3
	said "done" 2
	end
	exec 3>&-
}
total() { python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" stalls | awk -v kernel="${1-}" '!kernel || $1 == kernel { n += $4 } END { print n + 0 }'; }
launches() { python3 tests/unit/gpu_answers.py "$CRESSET_DOUBLE" sides | awk '$1 ~ "/" { split($1, at, "/"); print at[1], "launch_" at[2], $3 }' >"$tmp/launches"; }
# exactly NAME FILE: every sample has the stack that follows from the scenario and the golden answers of its modules.
exactly() {
	folded "$2" gpu-stall --annotate=g,G >"$tmp/folded"
	is "$1" "$(python3 tests/live/gpu_stall_check.py "$CRESSET_DOUBLE" "$tmp/folded" "$tmp/launches" 2>&1)" "$(total) samples"
}
# The count in a note of the summary: noted WHAT
noted() { sed -n "s/^ *note  *\([0-9,]*\): $1.*/\1/p" "$tmp/begin.err" | tr -d ,; }
without="samples of GPU stalls in device code that no file has"

scenario "$module$both$stalls$plays"
launches
for packing in lz4 zstd plain; do
	program lz4:80:$gpu/lines.sm_80.cubin $packing:90:$gpu/lines.sm_90.cubin / lz4:90:$gpu/ops.sm_90.cubin
	late "$tmp/a.cresset"
	exactly "$packing: as if it had been loaded later" "$tmp/a.cresset"
	is "$packing: what is in no file is counted" "$(noted "$without")" "$(total softmax)"
	holds "$packing: where it was found" grep -q 'code of 1 modules from files' "$tmp/begin.err"
done

# The same function in different cubins that are alike wherever there are samples; one of them twice.
program lz4:90:$gpu/lines.sm_90.cubin / zstd:90:$gpu/lines.sm_90.cubin / lz4:90:$gpu/lines-abi7.sm_90.cubin
late "$tmp/a.cresset"
exactly "alike in each of two" "$tmp/a.cresset"

# In different cubins that are alike at one place and differ at another.
scenario "${module% *}\nkernel $saxpy ns 1500\nstall $saxpy 0x100 long_scoreboard 7 3\nstall $saxpy 672 short_scoreboard 5 5\n$plays"
launches
program lz4:90:$gpu/lines.sm_90.cubin / lz4:90:$gpu/linked.sm_90.cubin
late "$tmp/a.cresset"
unclear=$(($(total) / 12 * 5))
is "not alike: it is not known which" "$(noted "$without")" $unclear
holds "… and the reason is given" grep -q "; $unclear in functions that differ between files" "$tmp/begin.err"
folded "$tmp/a.cresset" gpu-stall --annotate=g,G >"$tmp/folded"
is "… nor shown" "$(awk '/;-;saxpy\(float\*, float const\*, float, int\)_\[G\];shared memory[^;]*;0x2a0_\[g\] / { n += $NF } END { print n + 0 }' "$tmp/folded")" $unclear
is "… but where they agree" "$(awk '/;lines.cu_\[G\]|;scale.cuh_\[G\]/ && /;HFMA2_\[g\];memory[^;]*;0x100_\[g\] / { n += $NF } END { print n + 0 }' "$tmp/folded")" $(($(total) - unclear))

# Code that a device cannot run, or that cannot be read, or that the driver compiles again in full.
sed -i '/^module/d' "$CRESSET_DOUBLE"
program lz4:80:$gpu/lines.sm_80.cubin / zstd:100:$gpu/lines.sm_100.cubin
late "$tmp/a.cresset"
exactly "for other devices: not taken" "$tmp/a.cresset"
program cut-lz4:90:$gpu/lines.sm_90.cubin / cut-zstd:90:$gpu/linked.sm_90.cubin --broken
late "$tmp/a.cresset"
exactly "broken: not taken" "$tmp/a.cresset"
is "… and counted" "$(noted 'pieces of GPU code in files')" 3
program lz4:90:$gpu/lines.sm_90.cubin
CUDA_FORCE_PTX_JIT=1 late "$tmp/a.cresset"
exactly "recompiled: not used" "$tmp/a.cresset"

# Handed over, beside a file with something else under that name.
scenario "$module$both$stalls$plays"
launches
program lz4:90:$gpu/linked.sm_90.cubin
: >"$tmp/out"
(said ready 1; sleep 0.5; echo warm; said warm 1; sleep 0.4; echo go; said "done" 1; sleep 0.3) |
	timeout "$most_s" "$cresset" record --no-progress -e gpu-stall -o "$tmp/a.cresset" -- "$player_file" >"$tmp/out" 2>"$tmp/begin.err"
exactly "handed over: that is taken" "$tmp/a.cresset"

# Always on: nothing waits for the files, so the first intervals may lack source; no sample is lost because of that.
. tests/live/lib_always.sh
program lz4:80:$gpu/lines.sm_80.cubin zstd:90:$gpu/lines.sm_90.cubin
name=gf$$
mv "$player_file" "$tmp/$name" # others on this machine may play, too
chmod 755 "$tmp"              # the store process is not root
: >"$tmp/out"
exec 3> >(exec "$tmp/$name" >"$tmp/out")
player=$!
said ready 1
echo go >&3
said "done" 1
"$cresset" gpu attach "$player" --force young >"$tmp/attach" 2>&1
begin_always up --data "$tmp/data" --listen 127.0.0.1:0 --gpu=2 --gpu-budget 100 --max-rate 1000000
for _ in $(seq 1200); do [ "$("$cresset" gpu status "$player" --json | jq -r '.processes[0].state')" = open ] && break; sleep 0.05; done
echo warm >&3
said warm 1
sleep 1
asked() { "$cresset" query --data "$tmp/data" "gpu-stall{process=\"$name\"}" -o - --format folded --annotate=g,G >"$tmp/folded" 2>>"$tmp/err"; }
with_source() { asked; grep 'HFMA2_\[g\];memory (long scoreboard)_\[g\];0x100_\[g\] ' "$tmp/folded" | folded_sum; }
for rounds in $(seq 20); do # until the thread that reads files has had its turn
	echo go >&3
	said "done" $((rounds + 1))
	sleep 1.5
	[ "$(with_source)" -gt 0 ] && break
done
exec 3>&-
sleep 1.5
end_always
known=$(with_source)
is "always on: the sum" "$(folded_sum <"$tmp/folded")" $((rounds * $(total)))
plain=$(grep 'saxpy(.*_\[G\];memory (long scoreboard)_\[g\];0x100_\[g\] ' "$tmp/folded" | folded_sum)
is "always on: each with source or without" $((known + plain)) $((rounds * $(total $saxpy) * 7 / 12))
holds "always on: with source from some interval on" test "$known" -ge $(($(total $saxpy) * 7 / 12))
finish
