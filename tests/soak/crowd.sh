#!/usr/bin/env bash
# tier: full
# run: alone
# cresset up on a machine with 50,000 processes, and one with 100,000 mappings: tests/kernels/size.sh says what is looked at. It takes some 5 GB of memory.
cd "$(dirname "$0")/../.." || exit 1
needs_recording
[ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -gt 8000000 ] || { echo "1..0 # SKIP for a machine with 8 GB of free memory"; exit 0; }
CRESSET_PROCESSES=50000 CRESSET_MAPPINGS=100000 exec bash tests/kernels/size.sh
