#!/usr/bin/env bash
# tier: live
# run: alone
# A Go program that allocates, built with each installed Go: this Debian's, and all of the Debian that tests/live/lib_python_roots.sh has fetched. With and
# without C, position independent or not, stripped or not. Stacks are whole, across the runtime's change of stacks too.
. tests/live/lib.sh
needs_recording

export GOCACHE=$tmp/go-cache GOTOOLCHAIN=local
roots() { # of each Go
	go env GOROOT 2>/dev/null
	for root in "$PWD/$BUILD"/python/*/usr/lib/go-1.*; do [ ! -x "$root/bin/go" ] || echo "$root"; done
}
made() { # ROOT NAME CGO FLAG…: builds gc-NAME
	local root=$1 name=$2 cgo=$3
	shift 3
	(cd tests/live/prog/go_gc && GOROOT=$root CGO_ENABLED=$cgo "$root/bin/go" build -buildvcs=false "$@" -o "$tmp/gc-$name" .) \
		>"$tmp/made.err" 2>&1 || not_ok "$name builds" "$(tail -3 "$tmp/made.err")"
}
# The share of the samples of a file, in per cent, that match: share FILE REGEX [OF-REGEX]
share() {
	awk -v re="$2" -v of="${3-.}" '$0 ~ of { all += $NF; if ($0 ~ re) n += $NF } END { printf "%.2f", all ? 100 * n / all : 0 }' "$1"
}
functions_of() { tr ';' '\n' | sed 's/ [0-9]*$//' | grep "^$1\." | sort -u; } # PACKAGE
looked_at() { # NAME
	local name=$1 out=$tmp/$1.folded n
	timeout "$most_s" "$cresset" record -q -F 1999 -o "$out" -- "$tmp/gc-$name" 2000 >/dev/null 2>"$tmp/record.err" ||
		not_ok "$name: the recording" "$(tail -3 "$tmp/record.err")"
	# Samples from before the program's unwind table is built do not count here.
	sed -i '/\[truncated: \(unwind table not loaded\|stack not copied: [^]]*\)\]/d' "$out"
	n=$(folded_sum . <"$out")
	holds "$name: enough samples ($n)" test "$n" -ge 1000
	holds "$name: whole ($(share "$out" '\[truncated') % are cut)" awk "BEGIN { exit !($(share "$out" '\[truncated') <= 0.5) }"
	holds "$name: from the goroutine's start ($(share "$out" ';(runtime.main;)?main.main;') %)" \
		awk "BEGIN { exit !($(share "$out" ';runtime.goexit(.abi0)?;runtime.main;main.main(;| )' ';main.(main|round)(;| )') >= 99.5) }"
	holds "$name: inlined functions ($(share "$out" ';main.spin;main.twice;main.once ' ';main.spin(;| )') %)" \
		awk "BEGIN { exit !($(share "$out" ';main.spin;main.twice;main.once(;| )' ';main.spin(;| )') >= 80) }"
	is "$name: no other names" "$(functions_of main <"$out" | grep -vxE 'main\.(main|once|round|spin|twice|used)')" ""
	holds "$name: some run on the thread's stack" test "$(folded_sum ';main.round;.*;runtime.systemstack' <"$out")" -ge 20
	rm -f "$out" "$tmp/gc-$name"
}

for root in $(roots); do
	version=$("$root/bin/go" version | awk '{ print $3 }')
	made "$root" "$version" 0
	made "$root" "$version-strip" 0 -ldflags "-s -w"
	made "$root" "$version-pie" 0 -buildmode=pie
	made "$root" "$version-cgo" 1
	made "$root" "$version-cgo-strip" 1 -ldflags "-s -w"
	made "$root" "$version-cgo-pie" 1 -buildmode=pie -ldflags "-s -w -linkmode=external"
	for name in "$version" "$version-strip" "$version-pie" "$version-cgo" "$version-cgo-strip" "$version-cgo-pie"; do looked_at "$name"; done
done
[ "$(roots | wc -l)" -gt 1 ] || skip "newer versions of Go" "tests/live/lib_python_roots.sh fetches them"
finish
