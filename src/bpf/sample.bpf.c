// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* bpf/sample.bpf.c: all there is in the kernel: one sample per timer tick of a CPU here, waits in off_cpu.h, processes that begin and end
 * in follow.h.
 *
 * sample_walk and sample_plain are the same sampler with another walk of the user stack: our own (bpf/unwind.h), or the kernel's
 * helper (frame pointers, at most kernel.perf_event_max_stack frames) where the verifier refuses ours. Everything that goes wrong is
 * counted in `counters`. */
#include "bpf/follow.h"
#include "bpf/off_cpu.h"
#include "bpf/stack.h"
#include "bpf/targets.h"
#include "bpf/threads.h"
#include "bpf/trace_read.h"
#include "bpf/wakers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Registers are read as whole words through volatile: narrowed or merged context loads are refused by the verifier. */
#define TAKE(word, field) regs[word] = *(volatile __u64 *)&ctx->regs.field

static __always_inline void regs_of_interrupt(struct bpf_perf_event_data *ctx, __u64 *regs)
{
	TAKE(0, r15), TAKE(1, r14), TAKE(2, r13), TAKE(3, r12), TAKE(4, rbp), TAKE(5, rbx);
	TAKE(6, r11), TAKE(7, r10), TAKE(8, r9), TAKE(9, r8), TAKE(10, rax), TAKE(11, rcx);
	TAKE(12, rdx), TAKE(13, rsi), TAKE(14, rdi), TAKE(16, rip), TAKE(17, cs), TAKE(19, rsp);
}

/* The user registers saved when the task entered the kernel. False for tasks without a user side. */
static __always_inline int regs_of_task(__u64 *regs)
{
	struct task_struct *task = current_task();

	if (!BPF_CORE_READ(task, mm) ||
	    (BPF_CORE_READ(task, flags) & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER)))
		return 0;
	if (bpf_probe_read_kernel(regs, PT_REGS_WORDS * 8, entry_regs(task)))
		return 0;
	return regs[PT_IP] != 0;
}

static __always_inline int has_user_side(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm) && !(BPF_CORE_READ(task, flags) & TASK_PF_KTHREAD);
}

/* Fills s with the stack. */
static __always_inline void take_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
				       __u32 tgid, __u64 now_ns, int plain)
{
	__u64 *regs = s->walk.regs;
	int in_user;

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	regs_of_interrupt(ctx, regs);
	in_user = (LOAD(regs[PT_CS]) & 3) == 3;
	if (!in_user && want_kernel) {
		long bytes = bpf_get_stack(ctx, s->addr, WALK_MAX_KERNEL * 8, 0);

		if (bytes > 0)
			s->head.n_kernel = ((__u64)bytes / 8) & 127;
	}
	if (!want_user)
		return;
	if (plain) {
		if (in_user || has_user_side())
			walk_by_helper(ctx, s);
	} else if (in_user || regs_of_task(regs)) {
		walk_by_rules(s, tgid, now_ns);
	}
}

static __always_inline void send_sample(struct event_sample *ev)
{
	count(bpf_ringbuf_output(&ring, ev, sizeof *ev, wake_flags(1)) ? COUNT_RING_FULL
								       : COUNT_SAMPLES);
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, int plain)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct event_sample ev = { .kind = EVENT_SAMPLE };
	struct scratch *s;
	__u32 n;

	ev.tid = (__u32)pid_tgid;
	ev.tgid = pid_tgid >> 32;
	if (ev.tid == 0)
		return 0; /* idle */
	bpf_get_current_comm(ev.comm, sizeof ev.comm);
	if (!wanted(ev.tgid, ev.tid, ev.comm))
		return 0;
	s = scratch_for(SCRATCH_SAMPLE);
	if (!s)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	ev.cpu = bpf_get_smp_processor_id();
	ev.cgroup_id = bpf_get_current_cgroup_id();
	ev.mappings = mappings_of((struct task_struct *)bpf_get_current_task());
	take_trace(s, ev.tgid);
	ev.trace = s->trace;
	patch_return(s, ev.tid);
	take_stack(ctx, s, ev.tgid, ev.time_ns, plain);
	ev.gpu_call = s->gpu_call;
	if (!plain && s->head.walk_end == WALK_NOT_LOADED && sample_raw(&ev, 0, s))
		return 0;
	n = hash_stack(s, (plain ? 2 : 1) * WALK_MAX_KERNEL);
	if (n) {
		ev.stack_hash = s->head.stack_hash;
		send_stack(s, n);
	}
	send_sample(&ev);
	return 0;
}

SEC("perf_event")
int sample_walk(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 0);
}

SEC("perf_event")
int sample_plain(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 1);
}
