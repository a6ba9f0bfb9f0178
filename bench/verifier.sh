#!/usr/bin/env bash
# How many instructions the kernel's verifier walks through for the largest BPF program: tests/unit/bpf/t_bpf.c loads all of them, built
# by each supported clang, with every filter.
. bench/lib.sh
bar=200000
most=$(CRESSET_CLANG=all "$BUILD/unit/t_bpf" | awk '/verified instructions/ { for (i = 1; i <= NF; i++) if ($i == "verified" && $(i - 1) > m) m = $(i - 1) } END { print m + 0 }')
[ "$most" -gt 0 ] || exit 1
row "verified instructions of the largest BPF program" "≤ $bar" "$most" "$(met "$most <= $bar")"
