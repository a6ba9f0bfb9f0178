#!/usr/bin/env bash
# tier: test
# Waits for locks: how long, how many, for which lock, and who held it.
CRESSET_BRIEF=1 exec bash tests/live/locks.sh
