#!/usr/bin/env bash
# tier: test
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

# Several in a file: fat binaries that NVIDIA's own program made, a program, and what fatbin.py makes.
for mode in speed default; do
	"$cresset" gpu code tests/golden/gpu/lines.$mode.fatbin >"$tmp/images"
	is "$mode: the images" "$(grep -c '^image [12]: sm_[89]0, ' "$tmp/images")" 2
	is "$mode: their kernels" "$(grep -c '^  kernel ' "$tmp/images")" 6
	"$cresset" gpu code --image 2 tests/golden/gpu/lines.$mode.fatbin >"$tmp/one"
	holds "$mode: one of them, as from its own file" cmp "$tmp/one" "$tmp/list"
done
"$cresset" gpu code tests/doubles/fixture/vector_add >"$tmp/images"
holds "a program" grep -qx 'image 2: sm_90, 8616 bytes' "$tmp/images"
holds "… its kernels" grep -qxF '  kernel vector_add(float const*, float const*, float*, int)  512 bytes' "$tmp/images"
holds "… PTX" grep -qx 'image 3: sm_90 PTX, 1920 bytes, zstd' "$tmp/images"
"$cresset" gpu code --stacks tests/golden/gpu/lines.default.fatbin >"$tmp/both"
holds "stacks of all" [ "$(wc -l <"$tmp/both")" = "$(cat tests/golden/gpu/lines.sm_80.cubin.txt $cubin.txt | grep -c '^[0-9]')" ]
python3 tests/golden/gpu/fatbin.py "$tmp/broken" cut-lz4:90:$cubin zstd:90:$cubin --broken
"$cresset" gpu code "$tmp/broken" >"$tmp/images"
is "broken: its status" $? 0
holds "broken: which" grep -qx '  device code that cannot be unpacked' "$tmp/images"
holds "broken: how many more" grep -qx '1 images or containers could not be read' "$tmp/images"
is "broken: the other one" "$(grep -c '^  kernel ' "$tmp/images")" 3
fails "the broken one" 6 "device code that cannot be unpacked" gpu code --image 1 "$tmp/broken"
fails "no such image" 6 "there are 2 images in it" gpu code --image 3 "$tmp/broken"
fails "PTX as code" 6 "image 3 is PTX, not device code" gpu code --image 3 tests/doubles/fixture/vector_add

fails "not device code" 6 "not a file of NVIDIA device code" gpu code "$cresset"
fails "not ELF" 6 "not an ELF" gpu code README.md
fails "no such file" 6 "cannot open" gpu code "$tmp/none"
fails "no file" 2 "code takes files" gpu code
fails "a process for detach" 2 "detach takes the id of a process" gpu detach
fails "no such word" 2 "'bake' is not one of" gpu bake x
finish
