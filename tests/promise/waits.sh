#!/usr/bin/env bash
# tier: test
# Time off the CPU is exact: how long, for what cause, who ended it; on and off the CPU add up to the wall clock.
CRESSET_BRIEF=1 CRESSET_MAY_SKIP=1 exec bash tests/kernels/features.sh off-cpu wall wakers
