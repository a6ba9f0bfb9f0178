#!/usr/bin/env bash
# tests/live/attach_harm.sh with kills at 200 moments of any system call, and programs that keep the lock of their mappings.
cd "$(dirname "$0")/../.." || exit 1
CRESSET_ATTACH_KILLS=200 exec bash tests/live/attach_harm.sh
