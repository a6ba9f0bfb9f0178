#!/usr/bin/env bash
# tier: test
# The port of cresset up stays taken from its start to its end: another user, with a program that tries to bind it all the time, never gets it while the
# store process is killed and started again, and requests of that time are served. A port that is taken at the start is an error with its holder.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
command -v curl >/dev/null || { echo "1..0 # SKIP no curl here"; exit 0; }
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3 here"; exit 0; }

chmod 755 "$tmp" # the store process is not root
stranger=65534
# Binds as a user without rights, in every way, until SIGTERM; then prints whether it tried, and the number of successes.
cat >"$tmp/binds.py" <<'END'
import os, signal, socket, sys, time
port = int(sys.argv[1])
ends = []
signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
options = [(), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)]
tried, got = 0, 0
while not ends:
    for address in "127.0.0.1", "0.0.0.0":
        for chosen in options:
            with socket.socket() as s:
                for option in chosen:
                    s.setsockopt(socket.SOL_SOCKET, option, 1)
                try:
                    s.bind((address, port))
                    s.listen()
                    got += 1
                except OSError:
                    pass
    tried += 1
    if tried == 1:
        print("begun", flush=True)
    time.sleep(0.0005)
print("tried" if tried > 1 else "not tried", got, flush=True)
END
until_in() { # FILE TEXT
	for _ in $(seq 1200); do
		grep -q -- "$2" "$1" 2>/dev/null && return
		sleep 0.05
	done
	return 1
}
port_of() { sed -n 's,.*look at it:  http://127.0.0.1:\([0-9]*\)/.*,\1,p' "$tmp/log" | tail -n 1; }
ask() { curl -s -m 60 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$1/api/v1/status"; }

# --- while the store process is started again
cat >"$tmp/up.yaml" <<END
data: $tmp/data
listen: 127.0.0.1:0
END
begin_always up --config "$tmp/up.yaml"
until_said "look at it"
port=$(port_of)
first=$(half cresset-store)
python3 "$tmp/binds.py" "$port" $stranger >"$tmp/binds" &
binds=$!
pids+=("$binds")
until_in "$tmp/binds" begun
kill -9 "$first"
until_said "store process was killed"
is "a request without a store process waits for the next one" "$(ask "$port")" 200
until_said "look at it" 2
second=$(half cresset-store)
holds "… which is another one" [ -n "$second" -a "$second" != "$first" ]
is "… at the same port" "$(port_of)" "$port"
kill "$binds"
wait "$binds"
is "another user never got the port" "$(tail -n 1 "$tmp/binds")" "tried 0"

# Only the supervisor and the store process have the socket.
has_socket() { # PID
	local inode
	inode=$(awk -v port="$(printf ':%04X' "$port")" '$4 == "0A" && substr($2, 9) == port { print $10 }' /proc/net/tcp)
	[ -n "$inode" ] && readlink "/proc/$1"/fd/* | grep -qF "socket:[$inode]"
}
others() { descendants "$always" | while read -r pid; do [ "$pid" = "$second" ] || ! has_socket "$pid" || cat "/proc/$pid/comm"; done; }
holds "the supervisor has the socket" has_socket "$always"
is "… the collector and its workers do not" "$(others)" ""

# --- another address by SIGHUP
python3 -c '
import os, signal, socket, sys
os.setgroups([]), os.setgid(int(sys.argv[1])), os.setuid(int(sys.argv[1]))
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
signal.pause()' $stranger >"$tmp/taken" &
holder=$!
pids+=("$holder")
until_in "$tmp/taken" .
taken=$(cat "$tmp/taken")
name=$(getent passwd $stranger | cut -d: -f1)
says="cannot listen on 127.0.0.1:$taken: the port is in use by a process of user ${name:-$stranger}"
sed -i "s/^listen: .*/listen: 127.0.0.1:$taken/" "$tmp/up.yaml"
kill -HUP "$always"
until_said "keeping the previous configuration"
holds "a port that is taken is an error of the configuration" grep -qF "$says" "$tmp/log"
is "… and the page stays there" "$(ask "$port")" 200
sed -i "s/^listen: .*/listen: 127.0.0.1:$port/" "$tmp/up.yaml"
kill -HUP "$always"
until_said "look at it" 3
is "its own port, by its number, is the same" "$(port_of) $(ask "$port")" "$port 200"
sed -i "s/^listen: .*/listen: 127.0.0.2:$port/" "$tmp/up.yaml"
kill -HUP "$always"
for _ in $(seq 1200); do
	grep -q "look at it:  http://127.0.0.2:$port/" "$tmp/log" && break
	sleep 0.05
done
is "another address is served" "$(curl -s -m 60 -o /dev/null -w '%{http_code}' "http://127.0.0.2:$port/api/v1/status")" 200
is "… and the first one is free" "$(ask "$port")" 000
end_always
is "it ends" "$status" 0

# --- at the start
timeout -s INT 60 "$cresset" up --data "$tmp/other" --listen "127.0.0.1:$taken" >/dev/null 2>"$tmp/err"
is "a port that is taken at the start" $? 1
holds "… is named, with its user" grep -qF "$says" "$tmp/err"
holds "… before anything is made" [ ! -e "$tmp/other" ]

# --- a socket of the init system
cat >"$tmp/passes.py" <<'END'
import os, socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], file=open(sys.argv[1], "w"), flush=True)
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
END
python3 "$tmp/passes.py" "$tmp/passed" "$cresset" up -v --data "$tmp/data" --listen "127.0.0.1:$taken" 2>"$tmp/log" &
always=$!
pids+=("$always")
until_said "look at it"
is "a socket of the init system is used instead of --listen" "$(port_of) $(ask "$(cat "$tmp/passed")")" "$(cat "$tmp/passed") 200"
end_always
is "… until the end" "$status" 0
: >"$tmp/log"
python3 "$tmp/passes.py" "$tmp/passed" "$cresset" up -v --data "$tmp/data" --listen none 2>"$tmp/log" &
always=$!
pids+=("$always")
until_said "recording this machine"
is "no process has it with --listen none" "$(grep -ci "$(printf ':%04X 00000000:0000 0A ' "$(cat "$tmp/passed")")" /proc/net/tcp)" 0
end_always
finish
