// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sums the arguments of the probe cresset:launch of libcresset-cuda.so, and sends each call with its stack. */
#include "launch_probe.h"

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__u64 hits, weights, correlations, launches; /* launches: of cuLaunchKernel */
} sums;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} calls SEC(".maps");

static void send(struct pt_regs *ctx)
{
	struct launch_call *call = bpf_ringbuf_reserve(&calls, sizeof *call, 0);

	if (!call)
		return;
	call->correlation = PT_REGS_PARM1(ctx);
	call->weight = PT_REGS_PARM3(ctx);
	call->bytes = bpf_get_stack(ctx, call->stack, sizeof call->stack, BPF_F_USER_STACK);
	bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
}

SEC("uprobe")
int launch(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&sums.hits, 1);
	__sync_fetch_and_add(&sums.correlations, (__u32)PT_REGS_PARM1(ctx));
	__sync_fetch_and_add(&sums.launches, (__u32)PT_REGS_PARM2(ctx) == 307);
	__sync_fetch_and_add(&sums.weights, (__u32)PT_REGS_PARM3(ctx));
	send(ctx);
	return 0;
}
