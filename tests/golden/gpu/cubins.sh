#!/usr/bin/env bash
# tests/golden/gpu/cubins.sh: makes the cubins beside it from lines.cu and ops.cu.
#
#   cubins.sh NVCC PTXAS     NVCC of CUDA 13.0; PTXAS of CUDA 12.5, which still knows sm_70 and writes the older ELF form (ABI 7)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$1 ptxas=$2 build=/tmp/cresset-gpu # lands in the line tables
rm -rf "$build"
mkdir "$build"
cp -r "$here"/lines.cu "$here"/ops.cu "$here"/lib "$build"
cd "$build"
for sm in 75 80 90 100 120; do
	"$nvcc" -arch=sm_$sm -lineinfo -cubin -o "$here/lines.sm_$sm.cubin" lines.cu
	"$nvcc" -arch=sm_$sm -lineinfo -cubin -o "$here/ops.sm_$sm.cubin" ops.cu
done
for sm in 86 89; do
	"$nvcc" -arch=sm_$sm -lineinfo -cubin -o "$here/lines.sm_$sm.cubin" lines.cu
done
# Two files linked on the device: two line tables, and a device function in a text of its own.
"$nvcc" -arch=sm_90 -lineinfo -rdc=true -DSEPARATE=1 -c -o one.o lines.cu
"$nvcc" -arch=sm_90 -lineinfo -rdc=true -DSEPARATE=2 -c -o two.o lines.cu
"$nvcc" -arch=sm_90 -rdc=true -dlink -cubin -o "$here/linked.sm_90.cubin" one.o two.o
for sm in 70 90; do
	"$nvcc" -arch=compute_75 -lineinfo -ptx -o lines.ptx lines.cu
	sed -i "s/^\.version .*/.version 8.5/; s/^\.target .*/.target sm_$sm/" lines.ptx
	"$ptxas" -arch=sm_$sm -lineinfo -o "$here/lines-abi7.sm_$sm.cubin" lines.ptx
done
rm -rf "$build"
ls -l "$here"/*.cubin
