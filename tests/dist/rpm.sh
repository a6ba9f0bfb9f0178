#!/usr/bin/env bash
# tier: full
# run: alone
# The RPM packages: what is in them, that packing twice gives the same bytes, and what rpm does with them: without their scripts in an
# empty directory, and with them in a bare Debian, as their scripts need no rpm distribution.
. tests/cli/lib.sh
. tests/dist/lib_roots.sh
if ! command -v rpmbuild >/dev/null; then
	skip "the RPM packages" "no rpmbuild"
	finish
	exit
fi

# --- packing
pack() { make -s BUILD="$BUILD" dist-rpm "$@" >"$tmp/log" 2>&1; }
pack DIST="$tmp/first"
is "make dist-rpm" "$?$(cat "$tmp/log")" 0
mkdir -p "$tmp/a/directory/of/another/length"
as_root=()
command -v fakeroot >/dev/null && as_root=(fakeroot)
(umask 077 && TZ=Pacific/Apia LC_ALL=C LANG=tr_TR.UTF-8 TMPDIR=$tmp/a/directory/of/another/length "${as_root[@]}" make -s BUILD="$BUILD" dist-rpm DIST="$tmp/second")
is "another directory, umask, time zone, locale and user: the same bytes" "$(cd "$tmp/second" && sha256sum ./*)" "$(cd "$tmp/first" && sha256sum ./*)"
pack DIST="$tmp/later" DIST_VERSION=9.9.9
rpm=$(echo "$tmp"/first/cresset-[0-9]*.rpm)
debuginfo=$(echo "$tmp"/first/cresset-debuginfo-*.rpm)
later=$(echo "$tmp"/later/cresset-9.9.9-1.*.rpm)

# --- contents
query() { rpm -qp "$@" 2>&1; }
is "version" "$(query --qf '%{VERSION}-%{RELEASE}' "$rpm")" "$(tools/package-version "$(tools/version)")-1"
is "architecture" "$(query --qf '%{ARCH}' "$rpm")" "$(uname -m)"
is "glibc since 2.28 is enough" "$(query --requires "$rpm" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)" GLIBC_2.28
is "recommended" "$(query --recommends "$rpm" | sort)" "libcurl.so.4()(64bit)"$'\n'"libgnutls.so.30()(64bit)"
is "files to be changed" "$(query -c "$rpm")" "$(sed -n 's/^ExecStart=.*--config \([^ ]*\).*/\1/p' deploy/systemd/*.service | sort)"
list=$(query -l "$rpm")
for file in /usr/bin/cresset /usr/lib/cresset/libcresset-cuda.so /usr/lib/cresset/libcresset-mem.so /usr/share/man/man1/cresset-up.1.gz /usr/share/man/man5/cresset-formats.5.gz \
	/usr/share/bash-completion/completions/cresset /usr/share/zsh/site-functions/_cresset /usr/share/fish/vendor_completions.d/cresset.fish \
	/usr/lib/systemd/system/cresset.service /usr/lib/systemd/system/cresset-agent.service /usr/lib/systemd/system/cresset-server.service \
	/usr/lib/sysusers.d/cresset.conf /usr/lib/tmpfiles.d/cresset.conf /usr/share/doc/cresset/copyright /usr/share/licenses/cresset/LICENSE; do
	holds "$file" grep -qx -e "$file" <<<"$list"
done
if command -v rpmlint >/dev/null; then
	is "rpmlint: no error" "$(rpmlint -c deploy/rpm/rpmlint.toml "$rpm" "$debuginfo" 2>&1 | grep -E ' E: ')" ""
else
	skip "rpmlint" "no rpmlint"
fi

# --- in a directory
root=$tmp/empty
in_root() { rpm --root "$root" --dbpath /var/lib/rpm "$@" 2>&1 | grep -v '^rpm: '; }
# Debian's rpm installs only where that is asked for, and knows of no installed package.
by_force=(--nodeps)
[ ! -e /etc/debian_version ] || by_force+=(--force-debian)
mkdir -p "$root/etc"
echo root:x:0:0::/root:/bin/sh >"$root/etc/passwd"
echo cresset:x:70:70::/var/lib/cresset:/usr/sbin/nologin >>"$root/etc/passwd"
printf 'root:x:0:\ncresset:x:70:\n' >"$root/etc/group"
if [ "$(id -u)" != 0 ]; then
	skip "installation" "not root"
	finish
	exit
fi
is "it is installed" "$(in_root -i "${by_force[@]}" --noscripts "$rpm" "$debuginfo")" ""
is "… unchanged" "$(in_root -V --nodeps cresset cresset-debuginfo)" ""
is "… as in its SHA256SUMS" "$("$root/usr/bin/cresset" doctor --self --json | jq .verified)" true
for file in usr/bin/cresset usr/lib/cresset/libcresset-cuda.so usr/lib/cresset/libcresset-mem.so; do
	id=$(readelf -n "$root/$file" | sed -n 's/.*Build ID: //p')
	holds "$file: its debug information" test -s "$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
done
is "the build directory appears nowhere" "$(grep -rlI -e "$PWD" -e @PREFIX@ -e '@[A-Z_]*@$' "$root/etc/cresset" "$root/usr")" ""
is "… nor do the scripts" "$(query --scripts "$rpm" | grep -e "$PWD" -e '@[A-Z_]*@$')" ""
if command -v dh >/dev/null && make -s BUILD="$BUILD" dist-deb DIST="$tmp/deb" >"$tmp/log" 2>&1; then
	dpkg-deb -x "$tmp"/deb/cresset_*.deb "$tmp/deb/files"
	for file in usr/bin/cresset usr/lib/cresset/libcresset-cuda.so usr/lib/cresset/libcresset-mem.so; do
		holds "$file is that of the Debian package" cmp "$root/$file" "$tmp/deb/files/$file"
	done
else
	skip "the files of the Debian package" "no debhelper"
fi
is "they are erased" "$(in_root -e "${by_force[@]}" --noscripts cresset cresset-debuginfo)" ""
is "… and nothing is left" "$(cd "$root" && find . -path ./var/lib/rpm -prune -o -name '*cresset*' -print)" ""

# --- with scripts
if ! root_of bookworm; then
	skip "its scripts" "$why"
	finish
	exit
fi
root=$tmp/root
cp -a --reflink=auto "$base" "$root"
mkdir -p "$root/run/systemd/system"
printf '#!/bin/sh\necho "$*" >>/told\n' >"$root/usr/bin/systemctl"
chmod 755 "$root/usr/bin/systemctl"
told() { grep -v daemon-reload "$root/told"; rm "$root/told"; }
run() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$1" 2>&1; }

is "with its scripts: it is installed" "$(in_root -i "${by_force[@]}" "$rpm")" ""
is "… unchanged" "$(in_root -V --nodeps cresset)" ""
is "… the user" "$(run "getent passwd cresset | cut -d: -f5-")" "Cresset, store process:/var/lib/cresset:/usr/sbin/nologin"
is "… its directories" "$(run "stat -c '%n %U:%G %a' /var/lib/cresset /var/lib/cresset-agent /etc/cresset")" \
	"/var/lib/cresset cresset:cresset 700"$'\n'"/var/lib/cresset-agent cresset:cresset 700"$'\n'"/etc/cresset root:cresset 750"
is "… nothing is started" "$(told)" ""
is "… the program runs" "$(run "cresset --version | head -n 1")" "$("$BUILD/portable/cresset" --version | head -n 1)"
run "echo 'retention: 3d' >>/etc/cresset/cresset.yaml; echo data >/var/lib/cresset/data"
is "a later version is installed over it" "$(in_root -U "${by_force[@]}" "$later")" ""
is "… and is there" "$(in_root -q cresset --qf '%{VERSION}')" 9.9.9
is "… with the changed file" "$(run "tail -n 1 /etc/cresset/cresset.yaml; ls /etc/cresset | grep rpm")" "retention: 3d"
is "… and what runs is restarted once" "$(told)" "try-restart cresset.service cresset-agent.service cresset-server.service"
in_root -e "${by_force[@]}" cresset >"$tmp/log"
is "it is erased: services are stopped" "$(told)" "disable --now cresset.service cresset-agent.service cresset-server.service"
is "… the changed file and data remain" "$(run "tail -n 1 /etc/cresset/cresset.yaml.rpmsave; cat /var/lib/cresset/data")" "retention: 3d"$'\n'data
run "rm -r /etc/cresset /var/lib/cresset"
is "… and nothing else but the user's name" "$(cd "$root" && find etc usr var run -xdev -path var/lib/rpm -prune -o -name '*cresset*' -print; run "getent passwd cresset | cut -d: -f1")" cresset
run "userdel cresset; useradd --home-dir /srv/cresset cresset"
has "an existing user cresset is reported" "a user cresset already" "$(in_root -i "${by_force[@]}" "$rpm")"
is "… and retained" "$(run "getent passwd cresset | cut -d: -f6")" /srv/cresset
finish
