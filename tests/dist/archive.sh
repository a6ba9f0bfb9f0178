#!/usr/bin/env bash
# tier: full
# run: alone
# The archive in bare userlands of Debian 11, 12 and 13, and the Debian package in the last two: from tar or apt to a page with a named program in it, by
# the lines of docs/install.md.
. tests/cli/lib.sh
. tests/dist/lib_roots.sh
needs_recording
command -v unshare curl jq >/dev/null || { echo "1..0 # SKIP no unshare, curl or jq"; exit 0; }
version=$(tools/version)
archive=cresset-$version-linux-$(uname -m).tar.gz
make -s BUILD="$BUILD" dist-archive
gcc -O1 -static -o "$tmp/known" -x c - <<'END'
#include <stdlib.h>
__attribute__((noinline)) unsigned known_function(unsigned x) { for (int i = 0; i < 1000; i++) x = x * 1103515245 + 12345; return x; }
int main(void) { volatile unsigned x = 1; for (;;) x = known_function(x); }
END
# The lines of a section, with a port of its own, without sudo, which bare systems lack.
section() { # HEADING
	awk -v heading="## $1" '$0 == heading { on = 1; next } /^## / { on = 0 } on && /^```/ { code = !code; next } on && code' docs/install.md |
		sed "s/VERSION/$version/g; s/sudo //; s/ *#.*//; s/cresset up/cresset up --listen 127.0.0.1:$port/"
}
named() { # SUITE: whether the page at $port has the program with its function
	curl -s -m 5 -G --data-urlencode "q=cpu{comm=\"known-$1\"}" -d from=now-1m -d to=now -d fmt=folded "http://127.0.0.1:$port/api/v1/flame" | grep -q 'main;known_function'
}
until_named() { # SUITE FROM WHAT
	for _ in $(seq 200); do
		! named "$1" || break
		sleep 0.25
	done
	holds "$1: the page has a named program, by $3" named "$1"
	echo "# $1: $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $2 }") s from $3 to a named flame graph"
}
# Ends all that runs in the root, or all of that name.
end_root() { end_root_of '*' "$1"; } # SIGNAL
end_root_of() { # COMM SIGNAL
	local p pid
	for p in /proc/[0-9]*/root; do
		pid=${p%/root} pid=${pid#/proc/}
		# shellcheck disable=SC2053 # a pattern
		[ "$(readlink "$p" 2>/dev/null)" = "$root" ] && [[ $(cat "/proc/$pid/comm" 2>/dev/null) = $1 ]] && kill -"$2" "$pid" 2>/dev/null
	done
	return 0
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

for suite in bullseye bookworm trixie; do
	root_of $suite || { skip "$suite" "$why"; continue; }
	fresh_root $suite
	port=$(free_port)
	cp "$BUILD/dist/$archive" "$root/opt"
	cp "$tmp/known" "$root/opt/known-$suite"
	section "The archive" >"$root/opt/commands"
	in_root "/opt/known-$suite" &
	pids+=($!)
	from=$EPOCHREALTIME
	in_root sh -ec 'cd /opt; . ./commands' >"$tmp/$suite.log" 2>&1 &
	up=$!
	pids+=("$up")
	until_named $suite "$from" "the archive"
	sed 's/^/# /' "$tmp/$suite.log"
	end_root TERM
	wait "$up" 2>/dev/null
	is "$suite: doctor --self" "$(in_root sh -c "cd /opt/cresset-$version-linux-$(uname -m) && ./cresset doctor --self >/tmp/said 2>&1; echo \$?")" 0
	[ ! -s "$root/tmp/said" ] || sed 's/^/# /' "$root/tmp/said"
	end_root KILL
	rm -rf --one-file-system "$root"
done

# --- the package
command -v dh >/dev/null || { skip "the Debian package" "no debhelper"; finish; exit; }
make -s BUILD="$BUILD" dist-deb
for suite in bookworm trixie; do
	root_of $suite || { skip "$suite: the package" "$why"; continue; }
	fresh_root $suite
	port=$(free_port)
	cp "$BUILD/dist/cresset_$(tools/package-version "$version")_$(dpkg --print-architecture).deb" "$root/opt"
	cp "$tmp/known" "$root/opt/known-$suite"
	in_root "/opt/known-$suite" &
	pids+=($!)
	from=$EPOCHREALTIME
	line=$(section "Debian and RPM packages" | grep 'apt install' | sed "s/$version/$(tools/package-version "$version")/; s/apt install/apt-get install -qq -y --no-install-recommends/")
	in_root sh -ec "cd /opt; $line" >"$tmp/$suite.log" 2>&1
	is "$suite: apt installs the package" $? 0
	# What systemd would run.
	start=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/cresset.service")
	in_root sh -ec "exec $start --listen 127.0.0.1:$port" >>"$tmp/$suite.log" 2>&1 &
	up=$!
	pids+=("$up")
	until_named $suite "$from" "the package"
	# What an upgrade does: systemctl try-restart.
	end_root_of cresset TERM
	wait "$up"
	is "$suite: it ends" $? 0
	restarted=$(date +%s)
	in_root sh -ec "exec $start --listen 127.0.0.1:$port" >>"$tmp/$suite.log" 2>&1 &
	up=$!
	pids+=("$up")
	times() { # CONDITION
		in_root cresset sql --format csv --data /var/lib/cresset "SELECT $1 FROM (SELECT time, time - lag(time) OVER (ORDER BY time) AS gap FROM samples WHERE type = 'cpu' AND series IN
			(SELECT series FROM labels WHERE key = 'comm' AND value = 'known-$suite'))" 2>/dev/null | tail -n 1 | tr -d '\r'
	}
	for _ in $(seq 200); do
		[ "$(times "max(time) > ${restarted}000000000")" != 1 ] || break
		sleep 0.25
	done
	is "$suite: after a restart it records on, into the same store" "$(times "max(time) > ${restarted}000000000")" 1
	echo "# $suite: not recorded for $(times "max(gap) / 1e9") s"
	sed 's/^/# /' "$tmp/$suite.log"
	end_root TERM
	wait "$up" 2>/dev/null
	end_root KILL
	rm -rf --one-file-system "$root"
done
finish
