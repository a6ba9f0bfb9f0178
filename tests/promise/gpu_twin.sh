#!/usr/bin/env bash
# tier: test
# Another user has a copy of a GPU library on a private file system, with the inode number, size and time of the real one, and maps it first: the
# launches of a program with the real one are recorded all the same. On doubles of the libraries.
. tests/live/lib.sh
. tests/live/lib_always.sh
needs_recording
export CRESSET_DOUBLE=$tmp/double
unset CUDA_INJECTION64_PATH CRESSET_GPU_SCRIPT
chmod 755 "$tmp"
data=$tmp/data
# shellcheck disable=SC2031 # p is the trap's own
trap 'for p in "${pids[@]}"; do kill -9 "$p"; done 2>/dev/null; umount -l "$tmp/theirs" "$tmp/real" 2>/dev/null; cleanup' EXIT
ask() { "$cresset" sql --format csv --data "$data" "$1" 2>"$tmp/err" | tail -n +2 | tr -d '\r'; }
launched() { ask "SELECT coalesce(sum(value), 0) FROM samples WHERE type = 'gpu-launch' AND series IN (SELECT series FROM labels WHERE key = 'process' AND value = '$1')"; }
# Starts a program again and again until launches are stored: a busy machine may read its environment too late for the probes.
until_launched() { # COMM COMMAND…
	for _ in $(seq 60); do
		kill -0 "$always" || return 1
		"${@:2}" 2 >/dev/null
		[ "$(launched "$1")" -gt 0 ] 2>/dev/null && return
	done
	return 1
}

printf 'kernel * ns 1\nwait none\n' >"$CRESSET_DOUBLE"
for at in theirs real; do
	mkdir "$tmp/$at"
	mount -t tmpfs -o mode=755 none "$tmp/$at" 2>"$tmp/err" || { echo "1..0 # SKIP no file system can be mounted: $(cat "$tmp/err")"; exit 0; }
	cp "$BUILD/doubles/libcuda.so.1" "$tmp/$at/"
	touch -d @1700000000 "$tmp/$at/libcuda.so.1"
done
chown 65534:65534 "$tmp/theirs/libcuda.so.1"
# The files differ by the time of their last change, which a user cannot set. Both changes can be in one tick of the clock.
for _ in $(seq 1000); do
	[ "$(stat -c %z "$tmp/theirs/libcuda.so.1")" != "$(stat -c %z "$tmp/real/libcuda.so.1")" ] && break
	chmod 755 "$tmp/theirs/libcuda.so.1"
done
chmod 644 "$CRESSET_DOUBLE"
is "two files look the same" "$(stat -c '%i %s %Y' "$tmp/theirs/libcuda.so.1")" "$(stat -c '%i %s %Y' "$tmp/real/libcuda.so.1")"
cp "$progs/gpu_rate" "$tmp/t$$"
cp "$progs/gpu_rate" "$tmp/r$$"
begin_always up --data "$data" --listen none --events cpu
holds "the launches of the user with the copy are stored" \
	until_launched "t$$" env LD_LIBRARY_PATH="$tmp/theirs" setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/t$$"
holds "… and the launches of a program with the real library" until_launched "r$$" env LD_LIBRARY_PATH="$tmp/real" "$tmp/r$$"
end_always
is "it ends" "$status" 0
finish
