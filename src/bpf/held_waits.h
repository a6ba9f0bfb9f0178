/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/held_waits.h: waits of a system call, kept until it is over: only then their user stack can be read where the kernel has no
 * sched_exit_tp. Waits outside of system calls get theirs when they begin. */
#ifndef CRESSET_BPF_HELD_WAITS_H
#define CRESSET_BPF_HELD_WAITS_H

#include "bpf/wait_stack.h"

/* Why the user part of the waits that are held cannot be had any more; WALK_COMPLETE: it can. */
static __always_inline __u32 held_end(struct task_struct *task, const struct held_waits *h,
				      const __u64 *regs)
{
	__u64 mm = (__u64)BPF_CORE_READ(task, mm);

	if (!mm)
		return WALK_UNREADABLE; /* it exits */
	if (h->mm != mm)
		return WALK_EXEC;
	/* It waited behind the exit of its system call: this is another one. */
	return regs[PT_IP] != h->ip ? WALK_CUT : WALK_COMPLETE;
}

/* Sends the user part of the current task, with or without held waits. */
static __always_inline void send_user_part(struct task_struct *task, struct scratch *s,
					   const struct held_waits *h, __u64 now_ns)
{
	__u32 end = WALK_COMPLETE;

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	s->trace = (struct event_trace){ 0 };
	no_call(s);
	if (h && h->n && user_regs(task, s->walk.regs))
		end = held_end(task, h, s->walk.regs);
	if (end == WALK_COMPLETE)
		end_stack(task, s, now_ns);
	else
		s->head.walk_end = end;
	send_stack(s, hash_stack(s, WALK_MAX_KERNEL), FROM_OTHERS);
}

/* The waits that are held, with the user part in s. */
static __always_inline void send_held(struct task_struct *task, struct scratch *s,
				      struct held_waits *h, __u64 now_ns)
{
	struct event_wait *ev = begin_wait_event(s, task, now_ns);

	ev->sample.stack_hash = s->head.stack_hash;
	ev->sample.trace = s->trace;
	ev->sample.gpu_call = s->gpu_call;
	for (__u32 i = 0; i < HELD_WAITS; i++) {
		if (i >= h->n)
			break;
		ev->wait = h->waits[i];
		if (s->head.walk_end != WALK_NOT_LOADED ||
		    !send_with_stack(&ev->sample, &ev->wait, s, FROM_OTHERS))
			send_wait(ev);
	}
	h->n = 0;
	add_holder(-1);
}

/* At switch-in: sends the kernel part and returns its hash. */
static __always_inline __u64 kernel_part(struct task_struct *task, struct scratch *s)
{
	__u32 n;

	if (user_regs(task, s->walk.regs))
		note_syscall(s);
	n = hash_stack(s, WALK_MAX_KERNEL);
	send_stack(s, n, FROM_OTHERS);
	return s->head.stack_hash;
}

/* Keeps a wait until its system call is over, or sends it when its user part was taken at its beginning. */
static __always_inline void hold(struct task_struct *task, struct thread_time *t, struct scratch *s,
				 __u64 now_ns)
{
	struct event_wait *ev = begin_wait_event(s, task, now_ns);
	struct held_waits *h = held_of(task);
	__u32 i;

	ev->wait.kernel_hash = kernel_part(task, s);
	if (h && h->stack_hash) {
		ev->sample.stack_hash = h->stack_hash;
		ev->sample.trace = h->trace;
		ev->sample.gpu_call = h->gpu_call;
		send_wait(ev);
		return;
	}
	if (!h || h->n >= HELD_WAITS) {
		count(COUNT_WAITS_LOST);
		return;
	}
	if (!h->n)
		add_holder(1);
	i = h->n & (HELD_WAITS - 1);
	h->waits[i] = ev->wait;
	h->mm = (__u64)task->mm;
	h->ip = s->walk.regs[PT_IP];
	h->n = i + 1;
	t->holds = 1;
}

/* At switch-out, in the task's context: room is made for the next wait of a system call; and where the wait does not pass sys_exit, as
 * it is outside of system calls or behind that on the way back, its user part is taken at once. */
static __always_inline void leave_for_sys_exit(struct task_struct *task, struct thread_time *t,
					       __u64 now_ns)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	struct held_waits *h = held_of(task);
	int full = h && h->n >= (t->is == THREAD_DEAD ? 1 : HELD_WAITS), early;

	early = t->is != THREAD_DEAD && !(t->is == THREAD_BLOCKED && in_syscall(task)) &&
		is_wanted(task, t);
	if (!s || !h)
		return;
	h->stack_hash = 0;
	if (full || early)
		send_user_part(task, s, h, now_ns);
	if (full)
		send_held(task, s, h, now_ns);
	if (early) {
		h->stack_hash = s->head.stack_hash;
		h->trace = s->trace;
		h->gpu_call = s->gpu_call;
	}
	t->holds = h->n || early;
}

#endif
