#!/usr/bin/env bash
# tier: live
# run: alone
# limit: 1800 s
# The BPF programs compile by the newer clang.
set -eu
exec make -s -j"$(nproc)" BUILD=build-clang19 BPF_CC=clang-19 all
