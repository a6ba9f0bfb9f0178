// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sums what the probe cresset:launch of libcresset-cuda.so is called with. */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__u64 hits, weights, correlations, launches; /* launches: of cuLaunchKernel */
} sums;

SEC("uprobe")
int launch(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&sums.hits, 1);
	__sync_fetch_and_add(&sums.correlations, (__u32)PT_REGS_PARM1(ctx));
	__sync_fetch_and_add(&sums.launches, (__u32)PT_REGS_PARM2(ctx) == 307);
	__sync_fetch_and_add(&sums.weights, (__u32)PT_REGS_PARM3(ctx));
	return 0;
}
