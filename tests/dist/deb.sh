#!/usr/bin/env bash
# tier: full
# run: alone
# The Debian packages: what is in them, that packing twice gives the same bytes, and what dpkg does with them in a bare Debian.
. tests/cli/lib.sh
. tests/dist/lib_roots.sh
if ! command -v dh >/dev/null; then
	skip "the Debian packages" "no debhelper"
	finish
	exit
fi

# --- packing
pack() { make -s BUILD="$BUILD" dist-deb "$@" >"$tmp/log" 2>&1; }
pack DIST="$tmp/first"
is "make dist-deb" "$?$(cat "$tmp/log")" 0
mkdir -p "$tmp/a/directory/of/another/length"
as_root=()
command -v fakeroot >/dev/null && as_root=(fakeroot)
(umask 077 && TZ=Pacific/Apia LC_ALL=C LANG=tr_TR.UTF-8 TMPDIR=$tmp/a/directory/of/another/length "${as_root[@]}" make -s BUILD="$BUILD" dist-deb DIST="$tmp/second")
is "another directory, umask, time zone, locale and user: the same bytes" "$(cd "$tmp/second" && sha256sum ./*)" "$(cd "$tmp/first" && sha256sum ./*)"
pack DIST="$tmp/later" DIST_VERSION=9.9.9
deb=$(echo "$tmp"/first/cresset_*.deb)
dbgsym=$(echo "$tmp"/first/cresset-dbgsym_*.deb)
later=$(echo "$tmp"/later/cresset_9.9.9_*.deb)
dpkg-deb -R "$later" "$tmp/default"
echo '# theirs' >>"$tmp/default/etc/cresset/agent.yaml"
dpkg-deb --root-owner-group -b "$tmp/default" "$tmp/default.deb" >"$tmp/log"

# --- contents
field() { dpkg-deb -f "$deb" "$1"; }
is "version" "$(field Version)" "$(tools/package-version "$(tools/version)")"
is "architecture" "$(field Architecture)" "$(dpkg-architecture -qDEB_HOST_ARCH)"
has "glibc since 2.28 is enough" "libc6 (>= 2.28)" "$(field Depends)"
for library in libcurl3-gnutls libcurl3t64-gnutls libgnutls30 libgnutls30t64; do has "$library is recommended" "$library" "$(field Recommends)"; done
dpkg-deb -R "$deb" "$tmp/files"
for file in usr/bin/cresset usr/lib/cresset/libcresset-cuda.so usr/lib/cresset/libcresset-mem.so usr/share/man/man1/cresset-up.1.gz usr/share/man/man5/cresset-formats.5.gz \
	usr/share/bash-completion/completions/cresset usr/share/zsh/vendor-completions/_cresset usr/share/fish/vendor_completions.d/cresset.fish \
	usr/lib/systemd/system/cresset.service usr/lib/systemd/system/cresset-agent.service usr/lib/systemd/system/cresset-server.service \
	usr/lib/sysusers.d/cresset.conf usr/lib/tmpfiles.d/cresset.conf usr/share/doc/cresset/copyright usr/share/doc/cresset/changelog.gz; do
	holds "$file" test -s "$tmp/files/$file"
done
# Each file that a unit reads is a conffile, and the unit's command takes it.
is "conffiles" "$(sort "$tmp/files/DEBIAN/conffiles")" "$(sed -n 's/^ExecStart=.*--config \([^ ]*\).*/\1/p' deploy/systemd/*.service | sort)"
is "cresset.yaml: every key and its default" "$(cat "$tmp/files/etc/cresset/cresset.yaml")" "$("$cresset" help --config)"
for command in up:cresset agent:agent serve:server; do
	ends "cresset ${command%:*} takes ${command#*:}.yaml" 0 "${command%:*}" --config "$tmp/files/etc/cresset/${command#*:}.yaml" --help
done
is "its files match its SHA256SUMS" "$("$tmp/files/usr/bin/cresset" doctor --self --json | jq .verified)" true
ids=$(dpkg-deb -f "$dbgsym" Build-Ids)
for file in usr/bin/cresset usr/lib/cresset/libcresset-cuda.so usr/lib/cresset/libcresset-mem.so; do
	has "$file: its debug information is in cresset-dbgsym" "$(readelf -n "$tmp/files/$file" | sed -n 's/.*Build ID: //p')" "$ids"
done
is "the build directory appears nowhere" "$(grep -rlI -e "$PWD" -e @PREFIX@ -e '@[A-Z_]*@$' "$tmp/files")" ""
# Every library that is linked in is in the list of licences.
notices=$(cd "$tmp/files/usr/share/doc/cresset/notices" && printf '%s\n' * | sed 's/^zlib1g/zlib/' | grep -vx -e bpf -e uplot)
is "copyright lists the linked libraries" "$(sed -n 's,^Files: linked-in/,,p' deploy/debian/copyright | sort)" "$notices"
if command -v lintian >/dev/null; then
	# As root it says that it should not be.
	is "lintian: no error, no warning" "$(lintian "$deb" "$dbgsym" 2>&1 | grep -v 'root privileges')" ""
else
	skip "lintian" "no lintian"
fi

# --- in a bare Debian
quiet='PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C'
run() { # COMMANDS; sets out, status
	# shellcheck disable=SC2086 # words
	out=$(unshare -m chroot "$root" env -i $quiet sh -c "$1" 2>&1 </dev/null)
	status=$?
}
does() { # NAME COMMANDS
	run "$2"
	if [ $status = 0 ]; then ok "$name: $1"; else not_ok "$name: $1" "$out"; fi
}
says() { # NAME COMMANDS WANT
	run "$2"
	is "$name: $1" "$out" "$3"
}
# Backups of the user database, logs and dpkg's own files remain of every package.
files() { (cd "$root" && find etc opt root run srv tmp usr var -xdev | grep -vE '^(etc/(passwd|group|shadow|gshadow)-|etc/\.pwd\.lock|var/log/|var/lib/dpkg/|var/cache/(man|ldconfig))' | LC_ALL=C sort); }

in_debian() { # NAME DIR
	name=$1 root=$tmp/root-$1
	cp -a --reflink=auto "$2" "$root" && rm -rf "$root/packages" "$root/var/cache/cresset" && mkdir "$root/packages"
	cp "$deb" "$root/packages/first.deb"
	cp "$later" "$root/packages/later.deb"
	cp "$tmp/default.deb" "$root/packages/"
	files >"$tmp/before"

	does "it is installed" "dpkg -i /packages/first.deb"
	says "nothing is enabled" "find /etc/systemd -name '*cresset*'" ""
	says "the user" "getent passwd cresset | cut -d: -f5-" "Cresset, store process:/var/lib/cresset:/usr/sbin/nologin"
	says "its directories" "stat -c '%n %U:%G %a' /var/lib/cresset /var/lib/cresset-agent /etc/cresset" \
		"/var/lib/cresset cresset:cresset 700"$'\n'"/var/lib/cresset-agent cresset:cresset 700"$'\n'"/etc/cresset root:cresset 750"
	says "the program runs" "cresset --version | head -n 1" "$("$BUILD/portable/cresset" --version | head -n 1)"

	# --- upgrade
	run "echo 'retention: 3d' >>/etc/cresset/cresset.yaml; echo data >/var/lib/cresset/data; chown cresset: /var/lib/cresset/data"
	does "a later version is installed over it" "dpkg -i /packages/later.deb"
	says "… and is there" "dpkg-query -W -f '\${Version} \${Status}' cresset" "9.9.9 install ok installed"
	says "… with the changed file" "tail -n 1 /etc/cresset/cresset.yaml; ls /etc/cresset | grep dpkg" "retention: 3d"
	says "… and the data" "cat /var/lib/cresset/data" data

	# --- remove, purge
	does "it is removed" "dpkg -r cresset"
	says "… files that may be changed stay" "tail -n 1 /etc/cresset/cresset.yaml; ls /usr/bin/cresset 2>/dev/null" "retention: 3d"
	run "mkdir -p /etc/systemd/system/multi-user.target.wants && ln -s /usr/lib/systemd/system/cresset.service /etc/systemd/system/multi-user.target.wants/"
	does "it is purged" "dpkg -P cresset"
	has "$name: … and says where the data is" "rm -r /var/lib/cresset" "$out"
	says "… the user is gone" "getent passwd cresset; getent group cresset" ""
	says "… and /etc/cresset" "ls -d /etc/cresset /var/lib/cresset-agent 2>/dev/null" ""
	says "… data stays, and is root's" "stat -c '%U:%G' /var/lib/cresset /var/lib/cresset/data" "root:root"$'\n'"root:root"
	does "it is installed again" "dpkg -i /packages/first.deb"
	says "… the data is its own again" "stat -c '%U:%G' /var/lib/cresset /var/lib/cresset/data" "cresset:cresset"$'\n'"cresset:cresset"
	run "rm -r /var/lib/cresset; mkdir /var/cache/cresset"
	does "it is purged without data" "dpkg -P cresset"
	hasnt "$name: … and says nothing of it" "rm -r" "$out"
	run "rmdir --ignore-fail-on-non-empty /etc/systemd/system/multi-user.target.wants /etc/systemd/system"
	files >"$tmp/after"
	is "$name: … nothing is left" "$(diff "$tmp/before" "$tmp/after")" ""

	with_systemd
	with_other_user
	with_full_disk
	with_changed_default
	with_other_formats
	with_power_loss
	rm -rf "$root"
}

# systemd as the scripts see it: a program that notes what it is told.
with_systemd() {
	mkdir -p "$root/run/systemd/system"
	mv "$root/usr/bin/systemctl" "$root/packages/" 2>/dev/null
	printf '#!/bin/sh\necho "$*" >>/packages/told\n' >"$root/usr/bin/systemctl"
	chmod 755 "$root/usr/bin/systemctl"
	told() { grep -oE '(^| )(start|restart|try-restart|stop|enable) .*' "$root/packages/told" | tr -s ' ' '\n' | grep . | sort | uniq -c | tr -s ' \n' ' '; rm "$root/packages/told"; }
	run "dpkg -i /packages/first.deb"
	is "$name: with systemd: nothing is started" "$(told)" ""
	run "dpkg -i /packages/later.deb"
	is "$name: … an upgrade restarts once what runs" "$(told)" " 1 cresset-agent.service 1 cresset-server.service 1 cresset.service 1 try-restart "
	run "dpkg -r cresset"
	is "$name: … and removal stops it" "$(told)" " 1 cresset-agent.service 1 cresset-server.service 1 cresset.service 1 stop "
	run "dpkg -P cresset"
	rm -rf "$root/usr/bin/systemctl" "$root/run/systemd" "$root/packages/told"
}
with_other_user() {
	run "useradd --create-home --home-dir /srv/cresset cresset"
	does "with a user cresset: it is installed" "dpkg -i /packages/first.deb"
	has "$name: … and says so" "a user cresset already" "$out"
	run "dpkg -P cresset"
	says "… which remains after a purge" "getent passwd cresset | cut -d: -f6; ls -d /srv/cresset" "/srv/cresset"$'\n'"/srv/cresset"
	run "userdel -r cresset"
}
with_full_disk() {
	run "dpkg --unpack /packages/first.deb"
	cp -a "$root/etc" "$root/packages/etc"
	# shellcheck disable=SC2016,SC2086 # the inner shell's variables; words
	out=$(root=$root unshare -m sh -c 'mount -t tmpfs -o size=32m tmpfs "$root/etc" && cp -a "$root/packages/etc/." "$root/etc"
		dd if=/dev/zero of="$root/etc/fill" bs=4096 2>/dev/null
		chroot "$root" env -i '"$quiet"' sh -c "dpkg --configure cresset; dpkg-query -W -f \"\\\${Status}\\n\" cresset; rm /etc/fill
			dpkg --configure cresset && getent passwd cresset && dpkg -P cresset"' 2>&1 </dev/null)
	status=$?
	has "$name: without room in /etc: it is said what to do" "cresset: the user cresset could not be made" "$out"
	has "$name: … the package is not configured" "install ok half-configured" "$out"
	has "$name: … and is once there is room" "/var/lib/cresset:/usr/sbin/nologin" "$out"
	is "$name: … with status 0" "$status" 0
}

# The administrator has changed a file, and so has the package.
with_changed_default() {
	run "dpkg -i /packages/first.deb; echo '# mine' >>/etc/cresset/agent.yaml; dpkg -i /packages/default.deb"
	has "$name: a default that changed, too: dpkg asks" "conffile prompt" "$out"
	says "… and leaves it unconfigured" "dpkg-query -W -f '\${Status}' cresset" "install ok unpacked"
	does "… with --force-confold it continues" "dpkg --force-confold --configure -a"
	says "… both files are there" "tail -qn 1 /etc/cresset/agent.yaml /etc/cresset/agent.yaml.dpkg-dist" "# mine"$'\n'"# theirs"
	run "dpkg -P cresset"
	says "… until the purge" "ls -d /etc/cresset 2>/dev/null" ""
}
# Stores of other formats: the server of the unit continues with an older one, and leaves a newer one unchanged.
with_other_formats() {
	local data=$root/var/lib/cresset-server server user='setpriv --reuid cresset --regid cresset --clear-groups'
	run "dpkg -i /packages/first.deb"
	mkdir "$data"
	tar -xzf tests/golden/store-v0/store.tar.gz -C "$data"
	run "chown -R cresset: /var/lib/cresset-server; chmod 700 /var/lib/cresset-server; dpkg -i /packages/later.deb"
	unit=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/cresset-server.service")
	# shellcheck disable=SC2086
	kept() { in_root $user cresset query --data /var/lib/cresset-server --from 2026-11-22T06:00:00Z --to 2026-11-22T08:00:00Z 'samples{}' -o - --format folded 2>&1; }
	: >"$tmp/url"
	# shellcheck disable=SC2086 # words
	in_root $user $unit --listen 127.0.0.1:0 --retention 36500d >"$tmp/url" 2>"$tmp/said" &
	server=$!
	pids+=("$server")
	for _ in $(seq 1200); do [ -s "$tmp/url" ] || ! kill -0 $server 2>/dev/null || sleep 0.05; done
	holds "$name: after an upgrade, the store of an older format is served" test -s "$tmp/url"
	kill "$(pgrep -P $server)"
	wait $server
	is "$name: … until it ends" $? 0
	is "$name: … and has its data" "$(kept)" "main;a;b 3"$'\n'"main;c 4"
	format() { python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1], isolation_level=None).execute(f"PRAGMA user_version{sys.argv[2]}"))' "$data/meta.db" "$1"; }
	is "$name: … in today's format" "$(format '')" "(1,)"
	format "= 99"
	does "a downgrade is possible" "dpkg -i /packages/first.deb"
	# shellcheck disable=SC2086
	in_root $user $unit --listen 127.0.0.1:0 >"$tmp/said" 2>&1
	is "$name: … but not of a store" "$?$(grep -c 'was written by a newer cresset (format version 99)' "$tmp/said")" 61
	format "= 1"
	is "$name: … which has its data" "$(kept)" "main;a;b 3"$'\n'"main;c 4"
	run "dpkg -P cresset; rm -r /var/lib/cresset-server"
}
# interrupted FILE: an upgrade. All its processes are killed when that file exists.
interrupted() {
	local upgrade
	rm -f "$root/$1"
	# shellcheck disable=SC2086 # words
	unshare -m -p -f --kill-child chroot "$root" env -i $quiet dpkg -i /packages/later.deb >/dev/null 2>&1 </dev/null &
	upgrade=$!
	pids+=("$upgrade")
	while [ ! -e "$root/$1" ] && kill -0 $upgrade 2>/dev/null; do :; done
	kill -KILL $upgrade
	wait $upgrade 2>/dev/null
}
# recovers REMEDY: after it the later version is there, with changed files and data of before.
recovers() {
	says "… the data is there" "cat /var/lib/cresset/data" data
	does "… '$1' continues" "$1"
	says "… to the later version" "dpkg-query -W -f '\${Version} \${Status}' cresset; dpkg --verify cresset; tail -n 1 /etc/cresset/cresset.yaml" \
		"9.9.9 install ok installed??5?????? c /etc/cresset/cresset.yaml"$'\n'"retention: 3d"
	does "… and its program runs" "cresset --version"
	run "dpkg -P cresset"
}
with_power_loss() {
	local prepared="dpkg -i /packages/first.deb; echo 'retention: 3d' >>/etc/cresset/cresset.yaml; echo data >/var/lib/cresset/data"
	run "$prepared"
	interrupted usr/bin/cresset.dpkg-new
	has "$name: a power loss while files are unpacked" "half-installed" "$(cat "$root"/var/lib/dpkg/status "$root"/var/lib/dpkg/updates/* 2>/dev/null | grep -A 3 '^Package: cresset$')"
	recovers "dpkg -i /packages/later.deb"
	mkdir -p "$root/run/systemd/system"
	printf '#!/bin/sh\n: >/packages/asked\nexec sleep 1000\n' >"$root/usr/bin/systemctl"
	run "$prepared"
	chmod 755 "$root/usr/bin/systemctl"
	interrupted packages/asked
	rm -r "$root/usr/bin/systemctl" "$root/run/systemd"
	has "$name: a power loss while it is configured" "half-configured" "$(cat "$root"/var/lib/dpkg/status "$root"/var/lib/dpkg/updates/* 2>/dev/null | grep -A 3 '^Package: cresset$')"
	recovers "dpkg --configure -a"
}

for name in bookworm trixie; do
	if [ "$(id -u)" != 0 ]; then
		skip "$name" "not root"
	elif root_of $name; then
		in_debian $name "$base"
	else
		skip "$name" "$why"
	fi
done
finish
