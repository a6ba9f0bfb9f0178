#!/usr/bin/env bash
# tier: test
# A recording has each function's share of the CPU, and no more samples than there were ticks; stacks of a program without frame pointers are whole.
CRESSET_BRIEF=1 CRESSET_MAY_SKIP=1 exec bash tests/kernels/features.sh doctor cpu filters
