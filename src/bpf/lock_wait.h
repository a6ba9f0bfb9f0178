/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/lock_wait.h: reads the lock that a thread is about to wait for, and finds whether its waker
 * unlocked it. Both are in the middle of the system call futex, and its arguments are in the
 * registers that they entered the kernel with. */
#ifndef CRESSET_BPF_LOCK_WAIT_H
#define CRESSET_BPF_LOCK_WAIT_H

#include "bpf/futex.h"
#include "bpf/wait_stack.h"

enum { PT_DX = 12, PT_SI = 13, PT_DI = 14 };

/* Reads the registers into the scratch. Returns nonzero if the current task is inside of futex. */
static __always_inline int futex_regs(struct task_struct *task, struct scratch *s)
{
	return s && user_regs(task, s->walk.regs) && regs_in_syscall(s->walk.regs) &&
	       (__u32)s->walk.regs[PT_ORIG_AX] == FUTEX_SYSCALL;
}

/* At the switch of the current task: its memory is still there. A word at the end of a mapping is
 * alone. A global function: verified once. */
__weak int read_lock(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct futex_words words = { 0 };
	const void *at;

	if (!s)
		return 0;
	at = (const void *)s->walk.regs[PT_DI];
	if (bpf_probe_read_user(&words, sizeof words, at)) {
		__builtin_memset(&words, 0, sizeof words);
		bpf_probe_read_user(&words.word, sizeof words.word, at);
	}
	s->wait.lock = lock_of_futex(s->walk.regs[PT_DI], (__u32)s->walk.regs[PT_SI],
				     (__u32)s->walk.regs[PT_DX], &words);
	return s->wait.lock.how;
}

/* A thread that was killed in the call no longer waits for the lock, and may have no pid. */
static __always_inline void note_lock(struct task_struct *task, struct thread_time *t)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);

	if (!(task->flags & TASK_PF_EXITING) && futex_regs(task, s) && read_lock(s->index))
		t->lock = s->wait.lock;
}

/* Whether the current task is inside of the call that unlocks what the other one waits for. */
static __always_inline int waker_unlocks(const struct thread_time *t)
{
	struct scratch *s = scratch_for(SCRATCH_WAKER);

	return futex_regs(current_task(), s) &&
	       futex_unlocks(s->walk.regs[PT_DI], (__u32)s->walk.regs[PT_SI], &t->lock);
}

#endif
