#!/usr/bin/env bash
# tier: test
# make install: all of it is there; systemd takes the units; the user and directories that they need are made.
. tests/cli/lib.sh
root=$tmp/root
make -s BUILD="$BUILD" install DESTDIR="$root" PREFIX=/usr >"$tmp/log" 2>&1
is "make install" "$?$(cat "$tmp/log")" 0
for file in bin/cresset share/man/man1/cresset-up.1 share/man/man5/cresset-formats.5 share/bash-completion/completions/cresset \
	share/zsh/site-functions/_cresset share/fish/vendor_completions.d/cresset.fish share/doc/cresset/cresset.yaml \
	lib/systemd/system/cresset.service lib/systemd/system/cresset-agent.service lib/systemd/system/cresset-server.service \
	lib/sysusers.d/cresset.conf lib/tmpfiles.d/cresset.conf; do
	holds "$file" test -s "$root/usr/$file"
done
holds "the binary runs" "$root/usr/bin/cresset" --version
is "the build directory appears nowhere" "$(grep -rlI -e "$PWD" -e @PREFIX@ "$root")" ""
is "nothing is there that others may write to" "$(find "$root/usr" -type f -perm /022)" ""

# --- units
units=("$root"/usr/lib/systemd/system/*.service)
if command -v systemd-analyze >/dev/null; then
	mkdir "$tmp/units"
	for unit in "${units[@]}"; do sed "s,/usr/bin/cresset,$root&," "$unit" >"$tmp/units/${unit##*/}"; done
	out=$(systemd-analyze verify --man=no "$tmp"/units/*.service 2>&1)
	is "systemd-analyze verify finds nothing" "$?$out" 0
	# 10 is a service without any protection. What the collector cannot do without is most of what is left.
	for at_most in cresset:4.5 cresset-agent:4.5 cresset-server:2.0; do
		unit=${at_most%:*}
		score=$(systemd-analyze security --offline=true --no-pager "$tmp/units/$unit.service" | awk '/Overall/ { print $(NF - 2); exit }' | grep -oE '[0-9.]+')
		if awk "BEGIN { exit !(${score:-10} <= ${at_most#*:}) }"; then ok "$unit: exposure $score"; else not_ok "$unit: exposure" "$score"; fi
	done
else
	skip "systemd-analyze" "no systemd here"
fi
# What the units run is what the program takes.
for unit in "${units[@]}"; do
	# systemd 252 has no set with these; where they are refused, the process may open what its user may.
	is "${unit##*/}: Landlock is permitted" "$(sed -n 's/^SystemCallFilter=@system-service//p' "$unit" | grep -o 'landlock_[a-z_]*' | sort | tr '\n' ' ')" \
		"landlock_add_rule landlock_create_ruleset landlock_restrict_self "
	line=$(sed -n 's/^ExecStart=[^ ]* //p' "$unit")
	read -r command rest <<<"$line"
	"$cresset" help "$command" >/dev/null 2>&1 || { skip "${unit##*/}: its command line" "no cresset $command"; continue; }
	# shellcheck disable=SC2046 # words
	ends "${unit##*/}: its command line" 0 "$command" $(sed 's,--config [^ ]*,,' <<<"$rest") --help
done
for example in deploy/examples/*.yaml; do
	command=$(basename "$example" .yaml)
	command=${command/server/serve}
	"$cresset" help "$command" >/dev/null 2>&1 || { skip "$example" "no cresset $command"; continue; }
	ends "$example is taken" 0 "$command" --config "$example" --help
done

# --- who runs it
if command -v systemd-sysusers >/dev/null && command -v systemd-tmpfiles >/dev/null && [ "$(id -u)" = 0 ]; then
	mkdir -p "$root/etc"
	systemd-sysusers --root="$root" cresset.conf >"$tmp/log" 2>&1
	holds "the user is made" grep -q '^cresset:' "$root/etc/passwd"
	systemd-tmpfiles --root="$root" --create cresset.conf >"$tmp/log" 2>&1
	want=$(awk -F: '$1 == "cresset" { print $3 ":700" }' "$root/etc/passwd")
	is "its directory is its own" "$(stat -c %u:%a "$root/var/lib/cresset")" "$want"
	is "… and that of the spool" "$(stat -c %u:%a "$root/var/lib/cresset-agent")" "$want"
else
	skip "the user and directories" "no systemd-sysusers, or not root"
fi
finish
