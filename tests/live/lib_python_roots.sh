#!/usr/bin/env bash
# tests/live/lib_python_roots.sh [SUITE…]: fetches Debians with their Python into $BUILD/python/SUITE, where tests/live/lib_python.sh finds
# them, and with their Go, musl, Erlang, Node and PHP, for go.sh, musl.sh, erlang.sh, node_debian.sh and php.sh. Existing ones that have all of that
# stay. Needs root, debootstrap and the archive: a suite that is unavailable is named, with the reason.
# DEBIAN_MIRROR= names another mirror than debootstrap's own.
set -u
cd "$(dirname "$0")/../.." || exit 1
roots=$PWD/${BUILD:-build}/python limit_s=600
mkdir -p "$roots"

# What a suite has: packages, and a file of each.
packages() {
	case $1 in
	bullseye) echo php7.4-cli ;;
	bookworm) echo nodejs ;;
	trixie) echo python3.13,nodejs,php8.4-cli ;;
	sid) echo python3.14,python3.15,python3.15-dbg,golang-1.26-go,golang-1.27-go,musl-tools,erlang-base,nodejs ;;
	*) return 1 ;;
	esac
}
files() {
	case $1 in
	bullseye) echo bin/php7.4 ;;
	bookworm) echo bin/node ;;
	trixie) echo bin/python3.13 bin/node bin/php8.4 ;;
	sid) echo bin/node bin/python3.14 bin/python3.15 bin/python3.15-dbg lib/go-1.26/bin/go lib/go-1.27/bin/go lib/x86_64-linux-musl/musl-gcc.specs bin/erl ;;
	esac
}
is_whole() { # SUITE
	local file
	for file in $(files "$1"); do [ -e "$roots/$1/usr/$file" ] || return 1; done
}
fetch() { # SUITE: half a root counts as none
	local suite=$1 packages half=$roots/.$1.half
	packages=$(packages "$suite") || { echo "$suite: not known here"; return 1; }
	is_whole "$suite" && return
	command -v debootstrap >/dev/null || { echo "$suite: no debootstrap"; return 1; }
	rm -rf "$half"
	if ! timeout -k 5 $limit_s debootstrap --variant=minbase --include="$packages" "$suite" "$half" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$roots/$suite.log" 2>&1; then
		echo "$suite: $(grep -E '^(E|W):' "$roots/$suite.log" | tail -1)"
		rm -rf "$half"
		return 1
	fi
	rm -rf "$half"/var/cache/apt/archives/*.deb "${roots:?}/$suite"
	mv "$half" "$roots/$suite"
}
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 1; }
status=0
[ $# -gt 0 ] || set -- bullseye bookworm trixie sid
for suite; do fetch "$suite" || status=1; done
exit $status
