#!/usr/bin/env bash
# tier: live
# Code made at run time has the name of its function, whichever tier compiled it; with --jit-names raw, the name that the compiler gave it.
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
