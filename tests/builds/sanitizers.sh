#!/usr/bin/env bash
# tier: live
# run: alone
# limit: 1800 s
# Unit tests under AddressSanitizer and UBSan.
set -eu
exec make -s -j"$(nproc)" asan
