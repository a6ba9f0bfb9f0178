#!/usr/bin/env bash
# tier: test
# cresset serve with a socket of the init system: it is used instead of --listen, requests of before the start are served, and a wrong one is an error.
. tests/cli/lib.sh
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3 here"; exit 0; }
command -v curl >/dev/null || { echo "1..0 # SKIP no curl here"; exit 0; }

# Passes sockets as systemd does: from descriptor 3 on.
cat >"$tmp/passes.py" <<'END'
import os, socket, sys, time
kind, sockets, started = sys.argv[1], [], sys.argv[2]
for i in range(2 if kind == "two" else 1):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    if kind != "silent":
        s.listen()
    sockets.append(s)
with open(started + ".new", "w") as f:
    print(sockets[0].getsockname()[1], file=f)
os.rename(started + ".new", started)
while kind == "late" and not os.path.exists(started + ".go"):
    time.sleep(0.01)
copies = [os.dup(s.fileno()) for s in sockets]
for s in sockets:
    s.close()
high = [os.dup2(fd, 100 + i) for i, fd in enumerate(copies)]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.set_inheritable(3 + i, True)
    os.close(fd)
os.environ["LISTEN_FDS"], os.environ["LISTEN_PID"] = str(len(sockets)), str(os.getpid())
os.execv(sys.argv[3], sys.argv[3:])
END
printf 'main;work 3\n' >"$tmp/a.folded"
port_of() {
	for _ in $(seq 1200); do
		[ -s "$1" ] && break
		sleep 0.05
	done
	cat "$1"
}

python3 "$tmp/passes.py" late "$tmp/late" "$cresset" serve "$tmp/a.folded" --listen 127.0.0.1:1 >"$tmp/url" 2>"$tmp/err" &
server=$!
pids+=("$server")
port=$(port_of "$tmp/late")
curl -s -m 60 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/healthz" >"$tmp/code" &
request=$!
for _ in $(seq 1200); do
	grep -qi "$(printf ':%04X .* 01 ' "$port")" /proc/net/tcp && break
	sleep 0.05
done
: >"$tmp/late.go"
wait "$request"
is "a request of before the start is served" "$(cat "$tmp/code")" 200
is "… at the address of the socket" "$(cat "$tmp/url")" "http://127.0.0.1:$port/"
kill "$server"
wait "$server"
is "it ends" $? 0

for kind in two silent; do
	timeout 60 python3 "$tmp/passes.py" $kind "$tmp/$kind" "$cresset" serve "$tmp/a.folded" >"$tmp/url" 2>"$tmp/err"
	is "wrong sockets ($kind)" $? 2
	holds "… are reported" grep -q '^cresset: error: the init system passes' "$tmp/err"
done
finish
