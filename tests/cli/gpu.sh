#!/usr/bin/env bash
# cresset gpu code: every instruction of a file of device code, as a list and as stacks.
. tests/cli/lib.sh

cubin=tests/golden/gpu/lines.sm_90.cubin
"$cresset" gpu code $cubin >"$tmp/list"
holds "the SM" grep -qx sm_90 "$tmp/list"
holds "each instruction" [ "$(grep -c '^  0x' "$tmp/list")" = "$(grep -c '^[0-9]' $cubin.txt)" ]
holds "a chain of inlined calls" grep -qxF '  0x0100  HFMA2         scale.cuh:4 float scale<3>(float) < scale.cuh:8 bend(float) < lines.cu:22 deep::outer(float) < lines.cu:31' "$tmp/list"
"$cresset" gpu code --stacks $cubin >"$tmp/stacks"
holds "one stack an instruction" [ "$(wc -l <"$tmp/stacks")" = "$(grep -c '^[0-9]' $cubin.txt)" ]
"$cresset" convert --from folded "$tmp/stacks" --to folded --annotate=g -o - >"$tmp/again"
holds "stacks can be read" [ "$(awk '{ n += $NF } END { print n }' "$tmp/again")" = "$(wc -l <"$tmp/stacks")" ]

fails "not device code" 6 "not a file of NVIDIA device code" gpu code "$cresset"
fails "not ELF" 6 "not an ELF" gpu code README.md
fails "no such file" 6 "cannot open" gpu code "$tmp/none"
fails "no file" 2 "code takes files" gpu code
fails "a process for detach" 2 "detach takes the id of a process" gpu detach
fails "no such word" 2 "'bake' is none of" gpu bake x
finish
