#!/usr/bin/env bash
# tests/golden/gpu/fatbins.sh: makes the fat binaries beside it from cubins that are there.
#
#   fatbins.sh FATBINARY     of CUDA 13.0
set -eu
cd "$(dirname "$0")"
for mode in speed default; do
	"$1" -64 --create=lines.$mode.fatbin --compress-mode=$mode --compress-all \
		--image3=kind=elf,sm=80,file=lines.sm_80.cubin --image3=kind=elf,sm=90,file=lines.sm_90.cubin
done
