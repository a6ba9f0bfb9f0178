#!/usr/bin/env bash
# tier: live
# Labels of recorded programs: in a unit's group and as another user, one that publishes its service, and those that --exclude leaves out.
. tests/live/lib.sh
needs_recording

# --- a group like systemd's: in its own hierarchy, or in that of v2
group=
for mount in /sys/fs/cgroup/systemd /sys/fs/cgroup; do
	[ -e $mount/cgroup.procs ] && mkdir -p "$mount/cresset-test.slice/burn-$$.service" 2>/dev/null || continue
	group=$mount/cresset-test.slice/burn-$$.service
	break
done
leave() {
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; wait "$p" 2>/dev/null; done
	[ -z "$group" ] || rmdir "$group" "${group%/*}" 2>/dev/null
	rm -rf "$tmp"
}
trap leave EXIT
chmod 755 "$tmp"
cp "$progs/burn" "$tmp/burn-it"
cp "$progs/publish" "$tmp/publish"
in_group() { # COMMAND…
	(
		[ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs"
		exec setpriv --reuid=12345 --clear-groups -- "$@"
	) >/dev/null &
	pids+=($!)
}
sql() { "$cresset" sql -q --format csv --data "$1" "$2" | tail -n +2 | tr -d '\r'; }
label() { sql "$1" "SELECT DISTINCT value FROM labels WHERE key = '$3' AND series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$2')"; }

# Series of all kinds without the name of their machine, and how many there are. A recording names it as a store does.
nameless() { # DATA
	sql "$1" "SELECT count(*) - sum((SELECT count(*) FROM labels WHERE series = id AND ((key = 'host' AND value = '$(uname -n)') OR
		(key = 'kernel' AND value = '$(uname -r)') OR (key = 'arch' AND value = '$(uname -m)'))) = 3), count(*) > 1 FROM series"
}

# --- record
in_group "$tmp/burn-it" $$-labelled 8
start "$tmp/publish" $$-published 8 >"$tmp/said"
for _ in $(seq 1200); do
	grep -q published "$tmp/said" && break
	sleep 0.05
done
"$cresset" record -q -a -F 99 -d 7s -o "$tmp/r.cresset" 2>"$tmp/err"
is "recorded" $? 0
is "the name of the file" "$(label "$tmp/r.cresset" $$-labelled executable)" burn-it
is "the user, without a name" "$(label "$tmp/r.cresset" $$-labelled user)" 12345
is "another one, with a name" "$(label "$tmp/r.cresset" $$-published user)" root
if [ -n "$group" ]; then
	is "the unit" "$(label "$tmp/r.cresset" $$-labelled unit)" "burn-$$.service"
else
	skip "the unit" "no group can be made"
fi
is "host, kernel and architecture, of every series" "$(nameless "$tmp/r.cresset")" 0,1
is "the service, as configured" "$(label "$tmp/r.cresset" $$-published service.name)" "front"
is "… and its version" "$(label "$tmp/r.cresset" $$-published service.version)" "1.2.0"
"$cresset" query -q --data "$tmp/r.cresset" 'cpu{user="12345"}' --by executable -o "$tmp/by.folded" 2>"$tmp/err"
is "a selector and --by take them" "$(cut -d';' -f1 "$tmp/by.folded" | sort -u)" burn-it
"$cresset" convert -q "$tmp/r.cresset" --by service -o "$tmp/by.folded"
holds "… for services as well" grep -q '^front;' "$tmp/by.folded"
"$cresset" convert -q "$tmp/r.cresset" -o "$tmp/r.otlp"
"$cresset" convert -q "$tmp/r.otlp" -o "$tmp/back.cresset"
is "labels go through OTLP" "$(label "$tmp/back.cresset" $$-labelled user) $(label "$tmp/back.cresset" $$-published service.name)" "12345 front"
holds "… under their names there" grep -aq process.owner <(gzip -dc "$tmp/r.otlp")
is "… those of the machine as well" "$(nameless "$tmp/back.cresset")" 0,1
"$cresset" convert -q "$tmp/r.cresset" -o "$tmp/r.pb.gz"
is "and through pprof" "$(label "$tmp/r.pb.gz" $$-labelled executable)" burn-it
is "… those of the machine as well" "$(nameless "$tmp/r.pb.gz")" 0,1
"$cresset" convert -q "$tmp/r.cresset" --data "$tmp/imported"
is "… and into a store" "$(nameless "$tmp/imported")" 0,1
wait "${pids[@]}"

# --- up, without one user
"$cresset" up -v --data "$tmp/data" --interval 1s --freq 99 --listen none --exclude 'user="12345"' 2>"$tmp/log" &
up=$!
pids+=("$up")
for _ in $(seq 1200); do
	grep -q "recording this machine" "$tmp/log" && break
	sleep 0.05
done
in_group "$tmp/burn-it" $$-hidden 2
start "$progs/burn" shown 3 >/dev/null
wait "${pids[-1]}"
kill $up
wait $up
is "up ends" $? 0
is "excluded samples are not stored" "$(label "$tmp/data" $$-hidden comm)" ""
is "the rest is" "$(label "$tmp/data" shown comm)" shown
is "host, kernel and architecture are labels here as well" "$(nameless "$tmp/data")" 0,1
holds "and it reports the number of excluded samples" grep -q 'excluded by --only, --exclude or relabel rules: [0-9]' "$tmp/log"
for bad in 'user=' 'pid="1"' 'cpu:samples{}'; do
	"$cresset" up --data "$tmp/data" --only "$bad" 2>"$tmp/err"
	is "--only '$bad' is refused" $? 2
done
finish
