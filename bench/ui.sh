#!/usr/bin/env bash
# bench/ui.sh: the page's flame graph in headless Chromium, beside d3-flame-graph (an npm package, fetched when it is not there yet).
# CPU time of the page's thread on a generated tree: 200 000 nodes, 36 deep, 8000 names; at its worst 80 000 nodes of a pixel each, or
# 3200 with labels. Gaps between frames are in wall time.
set -eu
cd "$(dirname "$0")/.."
for directory in tests/web bench/ui; do
	[ -e $directory/node_modules/.package-lock.json ] || npm ci --prefix $directory --no-audit --no-fund --loglevel=error >&2
done
exec node bench/ui/run.mjs
