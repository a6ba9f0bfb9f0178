#!/usr/bin/env bash
# cresset diff of two releases of one program under the same load: redis-server of two Debian suites (BENCH_SUITES="bookworm trixie"), recorded in turn
# while it serves the same requests, BENCH_ROUNDS times BENCH_REQUESTS of each kind. Compares shares of its CPU time in user space. Prints the functions
# that changed for sure, with intervals; the whole comparison is on standard error. On 2026-11-23 the sure ones were, besides those of
# docs/internals/differences.md: dictSdsKeyLen (new) 0 → 2.4 %, updateKeysizesHist, enterExecutionUnit, getKeySlot (new) 0 → 0.8, 0.6, 0.4,
# dictRehash 0.8 → 0.1, dictAddRaw 0.5 → 0. The null: rounds of the older release against its other rounds.
# Needs root and a Debian mirror, the first one among this machine's package sources. The packages are unpacked below a temporary directory
# (BENCH_ROOTS=DIRECTORY: there, for the next run) and run by chroot; nothing is installed.
. bench/lib.sh
. bench/lib_loads.sh
read -r older newer <<<"${BENCH_SUITES:-bookworm trixie}"
rounds=${BENCH_ROUNDS:-8} requests=${BENCH_REQUESTS:-40000}

roots=${BENCH_ROOTS:-$tmp/roots}

missing() { row "\`cresset diff\` of redis-server of $older and $newer" "the functions that changed" "$1" - && exit 0; }
mirror() {
	grep -hoE '(https?|ftp|file)://[^][[:space:]]+/debian/?([[:space:]]|$)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v snapshot | head -n 1
}
# SUITE COMMAND…: apt with the lists of one suite, as if nothing was installed.
apt_of() { APT_CONFIG=$tmp/$1.apt/conf "${@:2}" -qq -o Acquire::Retries=2; }
apt_begin() { # SUITE
	local home=$tmp/$1.apt keys=/usr/share/keyrings/debian-archive-keyring.gpg
	mkdir -p "$home/lists/partial" "$home/archives/partial"
	: >"$home/status"
	echo "deb $([ ! -e $keys ] || echo "[signed-by=$keys] ")$(mirror) $1 main" >"$home/sources"
	cat >"$home/conf" <<-END
		Dir::State::lists "$home/lists";
		Dir::State::status "$home/status";
		Dir::Cache "$home";
		Dir::Etc::sourcelist "$home/sources";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Acquire::Languages "none";
		APT::Sandbox::User "root";
	END
	apt_of "$1" apt-get update >&2
}
# SUITE: unpacks redis and the libraries that it needs to $roots/SUITE.
unpack() {
	local root=$roots/$1 names deb
	[ ! -e "$root/ready" ] || return 0
	rm -rf "$root"
	mkdir -p "$root"/usr/{bin,lib,lib64,sbin} "$root/tmp" "$tmp/$1.debs"
	(cd "$root" && ln -s usr/bin usr/lib usr/lib64 usr/sbin .)
	apt_begin "$1" || return
	names=$(apt_of "$1" apt-get --print-uris --no-install-recommends install redis-server redis-tools | awk '{ sub(/_.*/, "", $2); print $2 }' | grep -E '^(lib|zlib|redis)')
	# shellcheck disable=SC2086 # names
	(cd "$tmp/$1.debs" && apt_of "$1" apt-get download $names >&2) || return
	for deb in "$tmp/$1.debs"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root" || return; done
	chroot "$root" redis-server --version >&2 && : >"$root/ready"
}
release() { chroot "$roots/$1" redis-server --version | grep -oE 'v=[^ ]*' | cut -c3-; } # SUITE
# SUITE OUT: one round. The load is redis-benchmark of the older suite for both.
recorded() {
	local server
	load_own=() load_port=$(free_port)
	own env LC_ALL=C chroot "$roots/$1" redis-server --port "$load_port" --bind 127.0.0.1 --save '' --appendonly no --dir /tmp
	server=$!
	until_open "$load_port"
	"$cresset" record --no-progress -F 999 -p "$server" -o "$2" 2>"$tmp/record.err" &
	load_own+=($!)
	pids+=($!)
	until_recording $! || missing "it cannot be recorded: $(tail -n 1 "$tmp/record.err")"
	timeout 300 chroot "$roots/$older" redis-benchmark -p "$load_port" -c 20 -P 16 -r 10000 -q -n "$requests" \
		-t set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,mset >"$tmp/load.out" 2>&1 || missing "the load failed: $(tail -n 1 "$tmp/load.out")"
	kill -INT "${load_own[1]}"
	wait "${load_own[1]}" || missing "it cannot be recorded: $(tail -n 1 "$tmp/record.err")"
	load_end
}
until_recording() { # PID
	for _ in $(seq 600); do
		! grep -q recording "$tmp/record.err" 2>/dev/null || return 0
		kill -0 "$1" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}
merged() { "$cresset" -q convert --ignore kind:kernel "$@" || exit 1; } # FILE… -o OUT
compare() { "$cresset" -q diff "$1" "$2" "${@:3}"; }                         # OLD NEW OPTION…

[ "$(id -u)" = 0 ] || missing "not root"
[ "$(mirror)" ] || missing "no Debian mirror among the package sources"
for suite in "$older" "$newer"; do
	say "fetching redis of $suite"
	unpack "$suite" || missing "the packages of $suite cannot be fetched"
done
for i in $(seq "$rounds"); do
	say "round $i of $rounds"
	for suite in "$older" "$newer"; do recorded "$suite" "$tmp/$suite.$((i % 2)).$i.cresset"; done
done
for suite in "$older" "$newer"; do merged "$tmp/$suite".?.*.cresset -o "$tmp/$suite.cresset"; done
for half in 0 1; do merged "$tmp/$older.$half".*.cresset -o "$tmp/half.$half.cresset"; done

# FILE OLD NEW: the comparison as JSON; as text on standard error.
compared() {
	compare "$2" "$3" --top 20 >&2
	compare "$2" "$3" --top 0 --json >"$1" || exit 1
}
# FILE CERTAINTY: functions that have a change of self with it, one per line with intervals.
changed() {
	jq -r --arg c "$2" '.rows[] | select(.self.certainty == $c and .match != "no-names") |
		"\(.function // .name) \(.self.older * 10 | round / 10) → \(.self.newer * 10 | round / 10) (\(.self.low * 10 | round / 10) … \(.self.high * 10 | round / 10))"' "$1"
}
# FILE: the same for addresses without names, which are one row of each binary.
nameless() {
	jq -r '.rows[] | select(.match == "no-names") |
		"\(.binary // "unknown") \(.self.older * 10 | round / 10) → \(.self.newer * 10 | round / 10) (\(.self.low * 10 | round / 10) … \(.self.high * 10 | round / 10))"' "$1"
}
of_self() { jq '[.rows[].self | select(.older + .newer > 0)] | length' "$1"; } # FILE
listed() { paste -sd ';' | sed 's/;/; /g'; }

compared "$tmp/diff.json" "$tmp/$older.cresset" "$tmp/$newer.cresset"
compared "$tmp/null.json" "$tmp/half.0.cresset" "$tmp/half.1.cresset"
changed "$tmp/diff.json" sure >"$tmp/sure"
changed "$tmp/diff.json" likely >"$tmp/likely"
n=$(wc -l <"$tmp/sure") null=$(changed "$tmp/null.json" sure | wc -l)
row "\`cresset diff\` of redis-server $(release "$older") and $(release "$newer"), the same requests: percent of CPU time of functions that changed for sure" \
	"a handful" "$(listed <"$tmp/sure")" "$(met "$n > 0 && $n <= 10")"
row "… addresses without names, one row for each binary" "stated" "$(nameless "$tmp/diff.json" | listed)" -
row "… those that may be among the ones that chance marks" "stated" "$(wc -l <"$tmp/likely") of $(of_self "$tmp/diff.json")" -
row "… the older release against itself" "none for sure, ≤ 5 % marked" "$null for sure, $(changed "$tmp/null.json" likely | wc -l) of $(of_self "$tmp/null.json") marked" \
	"$(met "$null == 0 && $(changed "$tmp/null.json" likely | wc -l) <= .05 * $(of_self "$tmp/null.json") + 1")"
