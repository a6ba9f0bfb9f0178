#!/usr/bin/env bash
# bench/lanes.sh: lanes of threads of a day against those of ten seconds, from a store of a day that bench/lanes.c makes.
. bench/lib.sh
"$BUILD/bench/lanes" "$tmp/data"
