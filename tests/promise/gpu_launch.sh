#!/usr/bin/env bash
# tier: test
# Launches and memory of a GPU by CPU stack, without code in the program; on doubles of the vendor's libraries.
CRESSET_BRIEF=1 CRESSET_MAY_SKIP=1 exec bash tests/kernels/features.sh gpu
