#!/usr/bin/env bash
# tier: live
# Code made at run time has its function's name for all tiers of a compiler, and with --jit-names raw the compiler's.
. tests/live/lib.sh
needs_recording
name="JS:*'hot /srv/app.js:1:2"
stacks() { "$cresset" -q record -F 199 "$@" -o "$tmp/out.folded" -- "$progs/jit" 0.6 "$name" >"$tmp/log" 2>&1; }
stacks
has_line() { if grep -qF "jit_caller;$2 " "$tmp/out.folded"; then ok "$1"; else not_ok "$1" "$(cat "$tmp/log" "$tmp/out.folded")"; fi; }
has_line "one name for all tiers" "JS:hot /srv/app.js:1:2"
stacks --jit-names raw
has_line "the name with its tier" "$name"
finish
