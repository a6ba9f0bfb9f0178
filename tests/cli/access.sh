#!/usr/bin/env bash
# tier: test
# A server without tokens: the user whose connection it is decides. Root, who started it, sudo's caller, members of the group cresset, everybody else;
# by IPv4, IPv6 and IPv4 inside of it; a connection that its client has closed, and one that was handed on.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP other users take root"; exit 0; }
command -v setpriv >/dev/null || { echo "1..0 # SKIP no setpriv here"; exit 0; }

chmod 755 "$tmp"
cp "$cresset" "$tmp/cresset"
cresset=$tmp/cresset
program=$cresset
stranger=64001 member=64002 caller=64003 starter=64004 keeper=64005 # nobody on this machine
unset SUDO_UID SUDO_USER
printf 'main;work 7\n' >"$tmp/a.folded"
chmod 644 "$tmp/a.folded"

# Asks as a user: as UID CURL-ARG… PATH. Prints the status; the answer is in $tmp/body.
as() {
	local uid=$1 path=${!#}
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups curl -sS -g -m 20 -w '%{http_code}' "${@:1:$#-1}" "$url$path" -o - >"$tmp/answer"
	tail -c 3 "$tmp/answer"
	head -c -3 "$tmp/answer" >"$tmp/body"
}
add() { as "$1" --data-binary "@$tmp/a.folded" api/v1/profiles; }
delete() { as "$1" -X DELETE 'api/v1/series?match=%7B%7D'; }
# What a user may do: the statuses of reading, adding and deleting.
may() { echo "$(as "$1" api/v1/types) $(add "$1") $(delete "$1")"; }
message() { jq -r '.error.message, .error.hint' "$tmp/body"; }
metric() { curl -sS -m 60 "${url}metrics" | sed -n "s/^$1 //p"; }

# --- everybody, and root -------------------------------------------------------------------------------------------------------
serve --data "$tmp/data"
is "root adds" "$(add 0)" 200
is "others may do nothing" "$(may $stranger)" "403 403 403"
is "… and so is user nobody" "$(may 65534)" "403 403 403"
is "… nor by any route of the page and the API" "$(for path in '' explore page/app.js metrics api/v1/status api/v1/live?q=samples debug/ingest; do as $stranger "$path"; done)" 403403403403403403403
is "… except for liveness and readiness" "$(as $stranger healthz) $(as $stranger readyz)" "200 200"
is "nothing is gone" "$(as 0 api/v1/types):$(jq length "$tmp/body")" 200:1
as $stranger api/v1/types >/dev/null
has "the response names the refused user" "user $stranger may not read" "$(message)"
has "… and how to get in" "usermod -aG cresset" "$(message)"
is "a browser gets a page" "$(as $stranger -H 'Accept: text/html,*/*' '')" 403
has "… with the same error" "<h1>user $stranger may not read" "$(<"$tmp/body")"
has "… and how to get in" "usermod -aG cresset" "$(<"$tmp/body")"
is "they are counted" "$(("$(metric 'cresset_http_refused_total{limit="user"}')" > 10))" 1
is "agents of this machine send as the user of stores" "$(may "$(id -u cresset 2>/dev/null || echo 65520)")" "403 200 403"
is "root deletes" "$(delete 0)" 200

# --- who a connection belongs to -----------------------------------------------------------------------------------------------
cat >"$tmp/ask.py" <<'PYTHON'
"""ask.py WHAT PORT UID [PID]: raw connections, of a user, in ways that curl has none for."""
import encodings.idna, os, signal, socket, sys  # what another user may not be able to import later
what, port, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
request = b"%s /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
types = request % (b"GET", b"api/v1/types")


def answer(s):
    print(s.recv(64).split()[1].decode())


if what == "mapped":  # IPv4 inside of an IPv6 socket
    os.setuid(uid)
    s = socket.socket(socket.AF_INET6)
    s.connect(("::ffff:127.0.0.1", port))
    s.send(types)
    answer(s)
if what == "handed":  # root's connection in another user's hands
    s = socket.create_connection(("127.0.0.1", port))
    os.setuid(uid)
    s.send(types)
    answer(s)
if what == "half":  # all is said, the answer is waited for
    os.setuid(uid)
    s = socket.create_connection(("127.0.0.1", port))
    s.send(request % (b"GET", b"metrics"))
    s.shutdown(socket.SHUT_WR)
    answer(s)
if what == "closed":  # before the server can look whose it is: the kernel says root's, then
    os.kill(int(sys.argv[4]), signal.SIGSTOP)
    try:
        os.seteuid(uid)
        for i in range(20):
            s = socket.create_connection(("127.0.0.1", port))
            s.send(request % (b"DELETE", b"api/v1/series?match=%7B%7D"))
            s.close()
    finally:
        os.seteuid(0)
        os.kill(int(sys.argv[4]), signal.SIGCONT)
PYTHON
port=${url##*:} port=${port%/}
ask() { python3 "$tmp/ask.py" "$@"; }
if command -v python3 >/dev/null; then
	is "root adds once more" "$(add 0)" 200
	before=$(metric 'cresset_http_refused_total{limit="user"}')
	ask closed "$port" $stranger "$server"
	for _ in $(seq 1200); do
		[ "$(metric 'cresset_http_refused_total{limit="user"}')" -ge $((before + 20)) ] && break
		sleep 0.05
	done
	is "a closed connection has no owner" "$(metric 'cresset_http_refused_total{limit="user"}')" $((before + 20))
	is "… nothing is deleted for it" "$(as 0 api/v1/types):$(jq length "$tmp/body")" 200:1
	is "a half-closed connection still belongs to its user" "$(ask half "$port" 0) $(ask half "$port" $stranger)" "200 403"
	is "passing a connection passes the access rights" "$(ask handed "$port" $stranger)" 200
	if ask mapped "$port" 0 >/dev/null 2>&1; then
		is "IPv4 inside of IPv6" "$(ask mapped "$port" 0) $(ask mapped "$port" $stranger)" "200 403"
	else
		skip "IPv4 inside of IPv6" "no IPv6 here"
	fi
else
	skip "the owner of a connection" "no python3 here"
fi
stop

if grep -qs ' lo$' /proc/net/if_inet6; then
	serve --data "$tmp/data" --listen '[::1]:0'
	is "IPv6: root" "$(as 0 api/v1/types)" 200
	is "… and others" "$(may $stranger)" "403 403 403"
	stop
else
	skip "IPv6" "no ::1 here"
fi

# One user's requests are not counted with another's.
serve --data "$tmp/data" --max-rate 2
setpriv --reuid $stranger --regid $stranger --clear-groups curl -s -o /dev/null -w '%{http_code}\n' "${url}api/v1/types?[1-60]" >"$tmp/codes"
has "a user over the rate limit gets an error" 429 "$(<"$tmp/codes")"
is "… and no other user" "$(as 0 api/v1/types)" 200
stop

# --- sudo, and the group -------------------------------------------------------------------------------------------------------
export SUDO_UID=$caller
serve --data "$tmp/data"
is "sudo's caller reads and adds" "$(may $caller)" "200 200 403"
is "… and no other user" "$(may $stranger)" "403 403 403"
stop
export SUDO_UID=-1
serve --data "$tmp/data"
has "an invalid SUDO_UID grants no access" "ignoring SUDO_UID=-1: no such user" "$(<"$tmp/serve.err")"
stop
export SUDO_UID=$caller SUDO_USER=root
serve --data "$tmp/data"
has "nor does a name of another" "SUDO_USER is root" "$(<"$tmp/serve.err")"
is "… at all" "$(may $caller)" "403 403 403"
stop
unset SUDO_UID SUDO_USER

cat >"$tmp/grouped" <<EOS
#!/bin/sh
# The user database of this process, and of what it starts, has a group and its members.
exec unshare -m sh -ec 'mount --bind "$tmp/passwd" /etc/passwd; mount --bind "$tmp/group" /etc/group; exec "\$@"' sh "$program" "\$@"
EOS
chmod 755 "$tmp/grouped"
{ grep -v ^cresset: /etc/passwd; echo "first:x:$starter:64009::/:/bin/false"; echo "member:x:$member:100::/:/bin/false"; } >"$tmp/passwd"
{ grep -v ^cresset: /etc/group; echo "cresset:x:64009:member,gone"; } >"$tmp/group"
if unshare -m sh -c 'mount --bind /etc/group /etc/group' 2>/dev/null; then
	cresset=$tmp/grouped
	serve --data "$tmp/data"
	is "members of the group read and add" "$(may $member)" "200 200 403"
	is "… including those with it as primary group" "$(may $starter)" "200 200 403"
	is "… and no other user" "$(may $stranger)" "403 403 403"
	is "the groups of the process do not count, only those of the user" \
		"$(setpriv --reuid $stranger --regid 64009 --groups 64009 curl -s -o /dev/null -w '%{http_code}' "${url}api/v1/types")" 403
	is "without a user cresset, agents send as the first user of stores" "$(may 65520)" "403 200 403"
	stop
	echo "cresset:x:$keeper:64009::/:/bin/false" >>"$tmp/passwd"
	serve --data "$tmp/data"
	is "with one, agents send as cresset" "$(may $keeper)" "403 200 403"
	is "… and as no other user of stores" "$(may 65520)" "403 403 403"
	stop
	cresset=$program
else
	skip "members of the group, and users of stores" "no mount namespaces here"
fi

# --- without root --------------------------------------------------------------------------------------------------------------
cat >"$tmp/ordinary" <<EOS
#!/bin/sh
exec setpriv --reuid $starter --regid $starter --clear-groups "$program" "\$@"
EOS
chmod 755 "$tmp/ordinary"
mkdir "$tmp/own"
chown $starter "$tmp/own"
export SUDO_UID=$caller
cresset=$tmp/ordinary
serve --data "$tmp/own/data"
is "a server without root lets its user read, add and delete" "$(may $starter)" "200 200 200"
is "root can as well" "$(add 0) $(may 0)" "200 200 200 200"
is "no other user can" "$(may $stranger)" "403 403 403"
is "… whatever the environment contains" "$(may $caller)" "403 403 403"
stop
finish
