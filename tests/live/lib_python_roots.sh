#!/usr/bin/env bash
# tests/live/lib_python_roots.sh [SUITE…]: fetches newer Debians with their Python into $BUILD/python/SUITE, where tests/live/lib_python.sh finds
# them: trixie has 3.13, sid 3.14. Existing ones stay. Needs root, debootstrap and the archive: a suite that is unavailable is named, with the reason.
# DEBIAN_MIRROR= names another mirror than debootstrap's own.
set -u
cd "$(dirname "$0")/../.." || exit 1
roots=$PWD/${BUILD:-build}/python limit_s=600
mkdir -p "$roots"

packages() {
	case $1 in
	trixie) echo python3.13 ;;
	sid) echo python3.14 ;;
	*) return 1 ;;
	esac
}
fetch() { # SUITE: half a root counts as none
	local suite=$1 python half=$roots/.$1.half
	python=$(packages "$suite") || { echo "$suite: not known here"; return 1; }
	[ -x "$roots/$suite/usr/bin/$python" ] && return
	command -v debootstrap >/dev/null || { echo "$suite: no debootstrap"; return 1; }
	rm -rf "$half"
	if ! timeout -k 5 $limit_s debootstrap --variant=minbase --include="$python" "$suite" "$half" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$roots/$suite.log" 2>&1; then
		echo "$suite: $(grep -E '^(E|W):' "$roots/$suite.log" | tail -1)"
		rm -rf "$half"
		return 1
	fi
	rm -f "$half"/var/cache/apt/archives/*.deb
	mv "$half" "$roots/$suite"
}
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 1; }
status=0
[ $# -gt 0 ] || set -- trixie sid
for suite; do fetch "$suite" || status=1; done
exit $status
