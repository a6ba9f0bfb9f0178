/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/wakers.h: who ended a wait, and from where. */
#ifndef CRESSET_BPF_WAKERS_H
#define CRESSET_BPF_WAKERS_H

#include "bpf/off_cpu.h"

#define INTERRUPT(name) \
	SEC("tp_btf/" #name "_entry") \
	int name##_begins(void *ctx) \
	{ \
		__u32 *depth = interrupt_depth(); \
\
		if (depth) \
			++*depth; \
		return 0; \
	} \
	SEC("tp_btf/" #name "_exit") \
	int name##_ends(void *ctx) \
	{ \
		__u32 *depth = interrupt_depth(); \
\
		if (depth && *depth) \
			--*depth; \
		return 0; \
	}

INTERRUPT(irq_handler)
INTERRUPT(softirq)
INTERRUPT(local_timer)
INTERRUPT(call_function_single)
INTERRUPT(irq_work)

static __always_inline int in_interrupt(void)
{
	__u32 *depth = interrupt_depth();

	return depth && *depth;
}

/* This program, and what calls it: in the flags of bpf_get_stack the number of frames to leave out. */
enum { OWN_FRAMES = 2 };

static __always_inline __u64 waker_stack(void *ctx, struct task_struct *task, __u64 now_ns)
{
	struct scratch *s = scratch_for(SCRATCH_WAKER);
	long bytes;

	if (!s)
		return 0;
	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	bytes = bpf_get_stack(ctx, s->addr, WALK_MAX_KERNEL * 8, OWN_FRAMES);
	if (bytes > 0)
		s->head.n_kernel = ((__u64)bytes / 8) & 127;
	end_stack(task, s, now_ns);
	send_stack(s, hash_stack(s, WALK_MAX_KERNEL), FROM_OTHERS);
	return s->head.stack_hash;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(off_waking, struct task_struct *task)
{
	struct thread_time *t = times_of(task);
	__u64 waker = bpf_get_current_pid_tgid(), now_ns = bpf_ktime_get_ns();

	if (!t || t->is != THREAD_BLOCKED || 2 * (now_ns - t->last_ns) < min_block_ns ||
	    !(want_kernel_threads || is_user_task(task)) || !is_wanted(task, t))
		return 0;
	t->waker_hash = 0;
	t->waker_tid = t->waker_tgid = 0;
	if (in_interrupt() || !(__u32)waker) {
		__builtin_memcpy(t->waker_comm, "interrupt", 10);
		return 0;
	}
	t->waker_tgid = waker >> 32;
	t->waker_tid = (__u32)waker;
	bpf_get_current_comm(t->waker_comm, sizeof t->waker_comm);
	if (want_waker_stacks)
		t->waker_hash = waker_stack(ctx, current_task(), now_ns);
	return 0;
}

#endif
