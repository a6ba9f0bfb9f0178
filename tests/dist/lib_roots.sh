# shellcheck shell=bash
# tests/dist/lib_roots.sh: bare userlands of other distributions, for tests that read tests/cli/lib.sh.
# shellcheck disable=SC2034,SC2154 # why and root are for the tests; tmp is of tests/live/lib.sh
#
#     root_of SUITE          makes a bare Debian SUITE, or finds it: sets base, or fails with why in $why
#     fresh_root SUITE       a copy of it in $tmp: sets root
#     in_root COMMAND...     runs a command there, as root, with this machine's /proc, /sys and /dev
#
# Bare ones are kept in $CRESSET_ROOTS, by default in the user's cache.
roots=${CRESSET_ROOTS-${XDG_CACHE_HOME-$HOME/.cache}/cresset-roots}

root_of() {
	base=$roots/$1
	[ ! -e "$base/.ready" ] || return 0
	command -v debootstrap >/dev/null || { why="no debootstrap"; return 1; }
	rm -rf "$base" && mkdir -p "$base"
	debootstrap --variant=minbase "$1" "$base" >"$tmp/debootstrap" 2>&1 || { why="debootstrap $1: $(tail -n 1 "$tmp/debootstrap")"; return 1; }
	touch "$base/.ready"
}
fresh_root() {
	root=$tmp/root-$1
	rm -rf "$root"
	cp -a "$roots/$1" "$root"
}
in_root() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec 'root=$1; shift
		mount -t proc proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"' sh "$root" "$@"
}
