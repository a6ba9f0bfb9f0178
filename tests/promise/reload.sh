#!/usr/bin/env bash
# tier: test
# SIGHUP to cresset up while the name service does not respond: recording and the end do not wait for it, and users with access stay.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording

chmod 755 "$tmp" # the store process is not root
cat >"$tmp/hangs.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>
struct group *getgrnam(const char *name)
{
	while (access(getenv("HANGS"), F_OK) == 0)
		pause();
	return ((struct group * (*)(const char *))dlsym(RTLD_NEXT, "getgrnam"))(name);
}
END
if ! gcc -shared -fPIC -o "$tmp/hangs.so" "$tmp/hangs.c" -ldl 2>/dev/null; then
	skip "a name service that does not respond" "no compiler here"
	finish
	exit 0
fi
program=$cresset
cat >"$tmp/run" <<END
#!/bin/sh
export HANGS=$tmp/hangs LD_PRELOAD=$tmp/hangs.so
exec $program "\$@"
END
chmod 755 "$tmp/run"
cresset=$tmp/run
cat >"$tmp/up.yaml" <<END
data: $tmp/data
listen: 127.0.0.1:0
freq: 99
END
: >"$tmp/log"
"$cresset" up -v --interval 1s --config "$tmp/up.yaml" 2>"$tmp/log" &
always=$!
pids+=("$always")
until_said "look at it"
touch "$tmp/hangs"
store=$(half cresset-store)
sed -i 's/^freq: .*/freq: 49/' "$tmp/up.yaml"
kill -HUP "$always"
until_said "collector runs" 2
is "a change of the configuration is applied" "$(grep -c 'freq changed: restarting the collector' "$tmp/log")" 1
kill -9 "$store"
until_said "store process runs" 2
holds "a process that dies is started again" [ "$(half cresset-store)" != "$store" ]
end_always
is "it ends" "$status" 0
holds "… before the name service responds" [ "$stop_ms" -lt 30000 ]
finish
