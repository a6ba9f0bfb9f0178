#!/usr/bin/env bash
# tier: full
# run: alone
# tests/live/python.sh on every Python there is, newer Debians' fetched first. Rows of what was seen, for docs/languages.md, are
# in $BUILD/tap/python.
set -u
reason=$(bash tests/live/lib_python_roots.sh 2>&1) || true
CRESSET_PYTHONS=all bash tests/live/python.sh
while read -r line; do [ -z "$line" ] || echo "# not fetched: $line"; done <<<"$reason"
