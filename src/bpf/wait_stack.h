/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/wait_stack.h: the stack of a wait, and sending the wait with it. */
#ifndef CRESSET_BPF_WAIT_STACK_H
#define CRESSET_BPF_WAIT_STACK_H

#include "bpf/task_times.h"
#include "bpf/trace_read.h"

/* Takes the kernel part. */
static __always_inline void begin_stack(struct task_struct *task, struct scratch *s)
{
	long bytes = bpf_get_task_stack(task, s->addr, WALK_MAX_KERNEL * 8, 0);

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	s->trace = (struct event_trace){ 0 };
	no_call(s);
	if (bytes > 0)
		s->head.n_kernel = ((__u64)bytes / 8) & 127;
}

/* SYSCALL leaves the return address in rcx and the flags in r11; an interrupt or fault does not. */
enum { PT_R11 = 6, PT_CX = 11, PT_ORIG_AX = 15, PT_FLAGS = 18 };
static __always_inline int regs_in_syscall(const __u64 *regs)
{
	return regs[PT_CX] == regs[PT_IP] && regs[PT_R11] == regs[PT_FLAGS];
}

static __always_inline int in_syscall(struct task_struct *task)
{
	struct pt_regs___x86_64 *regs = entry_regs(task);
	struct scratch *s;

	if (has_task_pt_regs)
		return regs->cx == regs->ip && regs->r11 == regs->flags;
	s = scratch_for(SCRATCH_WAIT);
	return s && !bpf_probe_read_kernel(s->walk.regs, PT_REGS_WORDS * 8, regs) &&
	       regs_in_syscall(s->walk.regs);
}

/* Reads the registers with which the task entered the kernel, even when its memory is already
 * released. */
static __always_inline int user_regs(struct task_struct *task, __u64 *regs)
{
	if ((BPF_CORE_READ(task, flags) & TASK_PF_NO_USER) ||
	    bpf_probe_read_kernel(regs, PT_REGS_WORDS * 8, entry_regs(task)))
		return 0;
	return regs[PT_IP] != 0;
}

static __always_inline void note_syscall(struct scratch *s)
{
	if (regs_in_syscall(s->walk.regs))
		s->head.syscall = (__u32)s->walk.regs[PT_ORIG_AX] + 1;
}

/* A global function: verified once, whatever precedes it. */
__weak int walk_of_wait(__u32 index, __u32 tgid, __u64 now_ns)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	if (s)
		walk_by_rules(s, tgid, now_ns, WALK_BY_PARTS);
	return 0;
}

/* Adds the user part of the current task after the kernel part, and its span. */
static __always_inline void end_stack(struct task_struct *task, struct scratch *s, __u64 now_ns)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), end;

	if (!user_regs(task, s->walk.regs))
		return;
	note_syscall(s);
	end = end_without_memory(task);
	if (end) {
		s->head.walk_end = end;
		return;
	}
	take_trace(s, tgid);
	patch_return(s, BPF_CORE_READ(task, pid));
	if (want_user)
		walk_of_wait(s->index, tgid, now_ns);
}

static __always_inline void send_wait(const struct event_wait *ev)
{
	if (bpf_ringbuf_output(&ring, (void *)ev, sizeof *ev, wake_flags(FROM_OTHERS, 1)))
		count(COUNT_WAITS_LOST);
}

static __always_inline void send_hashed(struct event_wait *ev, struct scratch *s, __u32 n)
{
	if (n) {
		ev->sample.stack_hash = s->head.stack_hash;
		send_stack(s, n, FROM_OTHERS);
	}
	send_wait(ev);
}

/* Sends the wait with the stack and the span in s. */
static __always_inline void send_wait_with(struct task_struct *task, struct scratch *s,
					   __u64 now_ns)
{
	struct event_wait *ev = begin_wait_event(s, task, now_ns);

	ev->sample.trace = s->trace;
	ev->sample.gpu_call = s->gpu_call;
	if (s->head.walk_end == WALK_NOT_LOADED && sample_raw(s, FROM_OTHERS, WALK_BY_PARTS))
		return;
	send_hashed(ev, s, hash_stack(s, WALK_MAX_KERNEL));
}

/* Notes whether this CPU runs a task that nothing is known about: the switch at which it hands over
 * the CPU may not be seen either. */
static __always_inline void set_blind(struct scratch *s, __u32 is_blind)
{
	if (!at_sys_exit || !s || s->is_blind == is_blind)
		return;
	s->is_blind = is_blind;
	add_holder(is_blind ? 1 : -1);
}

#endif
