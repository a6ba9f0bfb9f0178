#!/usr/bin/env bash
# tier: test
# cresset up records the machine: page, HTTP API and cresset query have what a program did, with names and whole stacks.
CRESSET_BRIEF=1 CRESSET_MAY_SKIP=1 exec bash tests/kernels/features.sh up
