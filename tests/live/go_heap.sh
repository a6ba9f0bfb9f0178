#!/usr/bin/env bash
# tier: live
# Memory of Go programs, as tests/promise/go_heap.sh, built with each Go that tests/live/lib_python_roots.sh has fetched: with and without C, position
# independent, and stripped.
. tests/live/lib.sh
. tests/live/lib_go_heap.sh
needs_recording
command -v go >/dev/null || { echo "1..0 # SKIP no go"; exit 0; }
roots=("$(go env GOROOT)")
for root in "$PWD/${BUILD:-build}"/python/*/usr/lib/go-1.*; do [ ! -x "$root/bin/go" ] || roots+=("$root"); done
for root in "${roots[@]}"; do
	version=$("$root/bin/go" version | awk '{ print $3 }')
	CGO_ENABLED=0 made "$version" "$root" -tags profile
	CGO_ENABLED=0 made "$version-pie" "$root" -tags profile -buildmode=pie
	CGO_ENABLED=1 made "$version-cgo" "$root" -tags profile,cgo_part -ldflags -linkmode=external
	CGO_ENABLED=0 made "$version-stripped" "$root" -tags profile -ldflags '-s -w'
	for name in "$version" "$version-pie" "$version-cgo" "$version-stripped"; do
		whole_life "$name" "$name"
		second_part "$name" "$name"
		rm -f "$tmp/go_heap-$name"
	done
done
[ ${#roots[@]} -gt 1 ] || skip "newer versions of Go" "tests/live/lib_python_roots.sh fetches them"
finish
