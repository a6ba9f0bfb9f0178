#!/usr/bin/env bash
# tier: test
# Stacks of Python programs have the functions of Python, in their shares, from the interpreter's start on.
CRESSET_BRIEF=1 CRESSET_MAY_SKIP=1 exec bash tests/kernels/features.sh python
