#!/usr/bin/env bash
# tier: test
# cresset doctor PID, for programs whose run-time system makes code: what can still be done for its names while it runs, and what at its start.
. tests/cli/lib.sh

gcc -x c -o "$tmp/program" - <<'END'
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	if (mmap(0, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 1;
	return write(1, "begun\n", 6) != 6 || pause();
}
END
gcc -x c -shared -fPIC -o "$tmp/libjvm.so" - <<<'int nothing;'

# The advice for a program of this name, with a library: advice_for NAME [LIBRARY]
advice_for() {
	cp "$tmp/program" "$tmp/$1"
	mkfifo "$tmp/begun"
	LD_PRELOAD=${2-} "$tmp/$1" >"$tmp/begun" &
	pid=$!
	read -r _ <"$tmp/begun"
	advice=$("$cresset" doctor --json "$pid" | jq -r .jit.remedy)
	text=$("$cresset" doctor "$pid")
	kill "$pid"
	wait "$pid" 2>/dev/null
	rm "$tmp/begun"
}
advice_for java "$tmp/libjvm.so"
is "Java writes its names when it is asked" "$advice" "now: jcmd $pid Compiler.perfmap; whole stacks need java -XX:+PreserveFramePointer"
has "… for people, too" "better   $advice" "$text"
advice_for beam.smp
has "Erlang" "erl +JPperf true" "$advice"
advice_for node
has "Node" "--perf-basic-prof" "$advice"
advice_for php8.4
has "PHP" "opcache.jit_debug=0x10" "$advice"
advice_for other
has "any other" "start it so that it writes one" "$advice"
finish
