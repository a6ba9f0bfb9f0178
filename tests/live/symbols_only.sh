#!/usr/bin/env bash
# tier: live
# Only symbols leave a host: all that an agent with --symbols=server sends is recorded and unpacked, and has no piece of the code, the constants, the
# data or the stack of a program that it samples, whose names it has.
. tests/live/lib.sh
. tests/cli/lib_serve.sh
needs_recording
for program in curl gcc objcopy python3 zstd; do
	command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done
me=$$
chmod 755 "$tmp" # the sending process is not root

# A program of random constants and data, some of it on its stack and in the text that it runs.
python3 - >"$tmp/secret.c" <<'PY'
import os
import platform
def bytes_of(n): return ",".join(str(b) for b in os.urandom(n))
print("#include <string.h>\n#include <time.h>")
print(f"const unsigned char constants[4096] = {{{bytes_of(4096)}}};")
print(f"unsigned char data[4096] = {{{bytes_of(4096)}}};")
jump = {"x86_64": "jmp", "aarch64": "b"}[platform.machine()]
print(f'__attribute__((noinline)) unsigned secret_function(unsigned x) {{ __asm__ volatile goto ("{jump} %l0\\n.byte {bytes_of(2048)}" :::: on); on:')
print("""	unsigned char stack[4096];
	memcpy(stack, data, sizeof stack);
	for (int i = 0; i < 200000; i++) x = x * 31 + stack[i % 4096] + constants[x % 4096] + *(volatile unsigned char *)&stack[x % 4096];
	return x;
}
int main(void)
{
	volatile unsigned x = 1;
	for (time_t end = time(0) + 600; time(0) < end;) x = secret_function(x);
	return 0;
}""")
PY
gcc -O1 -g -o "$tmp/$me-secret" "$tmp/secret.c"
for section in .text .rodata .data; do objcopy -O binary -j $section "$tmp/$me-secret" "$tmp/section$section"; done
# Pieces of 12 bytes, of at least 8 different ones, of the sections that are in files: pieces FILE...
pieces() {
	python3 - "$tmp" "$@" <<-'PY'
		import sys
		def pieces(b): return {b[i:i + 12] for i in range(len(b) - 11) if len(set(b[i:i + 12])) >= 8}
		read = lambda name: open(name, "rb").read()
		secret = set().union(*(pieces(read(f"{sys.argv[1]}/section{s}")) for s in (".text", ".rodata", ".data")))
		assert len(secret) > 10000
		print(sum(len(pieces(read(name)) & secret) for name in sys.argv[2:]))
	PY
}

serve --data "$tmp/data"
mkdir "$tmp/sent"
coproc proxy { exec python3 tests/live/recording_proxy.py "$url" "$tmp/sent"; }
# shellcheck disable=SC2154 # of coproc
pids+=("$proxy_PID")
read -r port <&"${proxy[0]}"
"$tmp/$me-secret" &
pids+=($!)
"$cresset" agent --server "http://127.0.0.1:$port" --symbols server --spool "$tmp/spool" --interval 1s --freq 99 -e cpu,off-cpu 2>"$tmp/log" &
agent=$!
pids+=("$agent")
named() { get api/v1/flame fmt=folded "q=cpu{comm=\"$me-secret\"}" | grep -q 'main;secret_function'; }
for _ in $(seq 200); do
	! named || break
	sleep 0.3
done
holds "the program has names at the server" named
kill -TERM $agent
wait $agent
is "the agent ends" $? 0
id=$(readelf -nW "$tmp/$me-secret" | sed -n 's/.*Build ID: //p')
table=$(grep -l "^PUT /api/v1/symbols/$id" "$tmp"/sent/*.head)
holds "its table was sent" test -n "$table"
holds "… with the names" grep -q -a secret_function "${table%.head}.body"
holds "messages were sent, whole" grep -q -a -F "$me-secret" "$tmp"/sent/*.body
is "no piece of code or data was sent" "$(pieces "$tmp"/sent/*)" 0
{ cat "${table%.head}.body" && tail -c +1000 "$tmp/section.data" | head -c 20; } >"$tmp/leak"
is "… and 20 bytes of it would be found" "$(pieces "$tmp/leak")" 9
stop
finish
