#!/usr/bin/env bash
# tier: full
# run: alone
# tests/live/python_gdb.sh on every Python there is. Rows of what was seen, for docs/languages.md, are in $BUILD/tap/python/gdb.
set -u
CRESSET_PYTHONS=all exec bash tests/live/python_gdb.sh
