#!/usr/bin/env bash
# tier: full
# run: alone
# tests/live/attach_harm.sh with 200 of each: kills, stops, freezes and execs at any moment, locks of mappings and allocators, filters of system calls.
cd "$(dirname "$0")/../.." || exit 1
CRESSET_ATTACH_KILLS=200 exec bash tests/live/attach_harm.sh
