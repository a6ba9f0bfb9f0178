#!/usr/bin/env bash
# tier: live
# run: alone
# limit: 1800 s
# Everything compiles without a warning under clang, too.
set -eu
exec make -s -j"$(nproc)" check-cc
