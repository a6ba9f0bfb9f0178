// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A program that the verifier accepts, and one that it refuses (tests/unit/collect/t_collect_groups.c). */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int reads_nothing(void *ctx)
{
	return 0;
}

SEC("perf_event")
int reads_anywhere(void *ctx)
{
	return *(volatile int *)(long)bpf_get_prandom_u32();
}
