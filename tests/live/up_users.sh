#!/usr/bin/env bash
# tier: live
# Who may query cresset up without tokens: after SIGHUP, a user who has joined the group cresset is let in, and one who has left it is not; nothing
# restarts if nobody has.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
unshare -m sh -c 'mount --bind /etc/group /etc/group' 2>/dev/null || { echo "1..0 # SKIP no mount namespaces here"; exit 0; }

chmod 755 "$tmp" # the store process is not root
{ cat /etc/passwd; echo "joiner:x:64002:100::/:/bin/false"; } >"$tmp/passwd"
# Sets the group's members: written into the file that is mounted.
members() { { grep -v ^cresset: /etc/group; echo "cresset:x:64009:$1"; } >"$tmp/group"; }
status_of() { setpriv --reuid "$1" --clear-groups curl -s -m 20 -o /dev/null -w '%{http_code}' "${url}api/v1/types"; }
members ""
program=$cresset
cat >"$tmp/cresset" <<EOS
#!/bin/sh
exec unshare -m sh -ec 'mount --bind "$tmp/passwd" /etc/passwd; mount --bind "$tmp/group" /etc/group; exec "\$@"' sh "$program" "\$@"
EOS
chmod 755 "$tmp/cresset"
cresset=$tmp/cresset
SUDO_UID=64003 begin_always up --data "$tmp/data" --listen 127.0.0.1:0
until_said "look at it"
where() { url=$(sed -n 's/.*look at it: *//p' "$tmp/log" | tail -1); }
where
is "root, sudo's caller, and others" "$(status_of 0) $(status_of 64003) $(status_of 64002)" "200 200 403"
store=$(half cresset-store)
kill -HUP "$always"
until_said "the configuration is unchanged"
is "nothing restarts while the group is unchanged" "$(half cresset-store)" "$store"
members joiner
kill -HUP "$always"
until_said "look at it" 2
where
holds "SIGHUP reads the group, and logs it" grep -q "other users have access now" "$tmp/log"
is "a user who has joined it has access" "$(status_of 64002) $(status_of 64003)" "200 200"
members ""
kill -HUP "$always"
until_said "look at it" 3
where
is "a user who has left it has no access" "$(status_of 64002) $(status_of 64003)" "403 200"
end_always
is "it ends well" "$status" 0
finish
