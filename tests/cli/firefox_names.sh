#!/usr/bin/env bash
# tier: test
# A Firefox profile of samply has addresses without names, relative to the first segment of each file. They are symbolized from local files with
# the same build id.
. tests/cli/lib.sh
cat >"$tmp/known.c" <<'END'
volatile int x;
__attribute__((noinline)) void leaf(void) { x++; x++; }
int main(void) { leaf(); leaf(); return x; }
END
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
address() { readelf -Ws "$1" | awk -v f="$2" '$8 == f { print $2; exit }'; }
first_segment() { readelf -Wl "$1" | awk '$1 == "LOAD" { print $3; exit }'; }
profile() { # FILE BUILD_ID
	local base leaf main
	base=$(first_segment "$1")
	leaf=$(printf '0x%x' $((0x$(address "$1" leaf) - base + 4)))
	main=$(printf '0x%x' $((0x$(address "$1" main) - base + 5)))
	cat <<-END
	{"meta":{"version":24,"preprocessedProfileVersion":55,"interval":1,"startTime":0,"product":"known","categories":[{"name":"User"}]},
	"libs":[{"name":"other","path":"/none/other","codeId":null},{"name":"known","path":"$1","debugName":"known","codeId":$2,"breakpadId":"x"}],
	"threads":[{"name":"known","pid":"7","tid":"8.1","samples":{"length":2,"stack":[1,1],"time":[0,1],"weightType":"samples"},
	"stackTable":{"length":2,"frame":[1,0],"prefix":[null,0]},
	"frameTable":{"length":2,"address":[$((leaf)),$((main))],"func":[0,1],"category":[0,0]},
	"funcTable":{"length":2,"name":[0,1],"resource":[0,0]},
	"resourceTable":{"length":1,"lib":[1],"name":[2],"type":[1]},
	"stringArray":["$leaf","$main","known"]}]}
	END
}
for how in "-pie" "-no-pie" "-pie -Wl,-z,separate-code,-Ttext-segment=0x10000" "-no-pie -Wl,-z,noseparate-code"; do
	# shellcheck disable=SC2086 # options
	gcc -O1 -fno-omit-frame-pointer $how -fPIE -Wl,--build-id "$tmp/known.c" -o "$tmp/known" 2>"$tmp/gcc" || { skip "$how" "$(head -1 "$tmp/gcc")"; continue; }
	profile "$tmp/known" "\"$(build_id "$tmp/known")\"" >"$tmp/p.json"
	ends "a profile of $how" 0 -q convert "$tmp/p.json" -o - --format folded
	is "… has the file's names" "$out" "known;main;leaf 2"
done
profile "$tmp/known" '"00112233445566778899aabbccddeeff00112233"' >"$tmp/p.json"
ends "a profile of another build" 0 convert "$tmp/p.json" -o - --format folded
has "… has offsets" "known+0x" "$out"
profile "$tmp/known" null >"$tmp/p.json"
ends "a profile without a build id" 0 convert "$tmp/p.json" -o - --format folded
has "… has the names of the file at the path" "main;leaf 2" "$out"
has "… with a warning" "unverified" "$errs"
finish
