#!/usr/bin/env bash
# tier: full
# run: alone
# limit: 30000 s
# libFuzzer on every reader, five minutes each.
set -eu
exec make -s -j"$(nproc)" fuzz FUZZ_TIME=300
