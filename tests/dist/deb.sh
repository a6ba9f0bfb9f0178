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
