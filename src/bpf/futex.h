/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/futex.h: which waits in the system call futex are waits for a lock that names its owner. No
 * helpers and no maps: it also compiles in user space, where real mutexes test it.
 *
 *     glibc, plain   the word is 2; the owner follows it, in struct __pthread_mutex_s (sysdeps/
 *                    nptl/bits/struct_mutex.h and x86's struct_mutex.h):
 *                    { int lock; unsigned count; int owner; unsigned users; int kind; … }
 *     robust, musl   the word is the owner, with FUTEX_WAITERS (sysdeps/nptl/lowlevellock.h; musl's
 *                    src/thread/pthread_mutex_timedlock.c)
 *     PI             the same, and the kernel itself waits for that owner (futex(2))
 *
 * Conditions, semaphores, barriers, read-write locks and futexes of other libraries name no owner.
 * The words after theirs are compared with every field of a mutex, and the owner must be a thread,
 * which user space looks for in /proc (collect/resolve/locks.h). */
#ifndef CRESSET_BPF_FUTEX_H
#define CRESSET_BPF_FUTEX_H

#include <linux/types.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

enum { FUTEX_SYSCALL = 202 }; /* x86-64 */

/* linux/futex.h, which user space may have without them */
enum {
	FUTEX_OP_WAIT = 0,
	FUTEX_OP_WAKE = 1,
	FUTEX_OP_LOCK_PI = 6,
	FUTEX_OP_UNLOCK_PI = 7,
	FUTEX_OP_WAIT_BITSET = 9,
	FUTEX_OP_WAKE_BITSET = 10,
	FUTEX_OP_LOCK_PI2 = 13,
	FUTEX_OP_MASK = 0x7f, /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
	FUTEX_OP_PRIVATE = 0x80,
};
#define FUTEX_OWNER  0x3fffffffu /* FUTEX_TID_MASK */
#define FUTEX_WAITED 0x80000000u /* FUTEX_WAITERS */

/* The first words at the address that a thread waits for. */
struct futex_words {
	__u32 word, count, owner, users, kind;
};

enum lock_how {
	LOCK_NONE = 0, /* not a lock, or not one that names its owner */
	LOCK_PLAIN = 1,
	LOCK_ROBUST = 2,
	LOCK_PI = 3,
	LOCK_HOW = 3,      /* the bits of these */
	LOCK_SHARED = 4,   /* between processes */
	LOCK_UNLOCKED = 8, /* the waker is the thread that unlocked it */
	LOCK_PENDING = 16, /* the wait has not ended */
};

/* A lock that a thread waits for. */
struct lock_wait {
	__u64 address;
	__u32 owner; /* its thread id in the pid namespace of the process */
	__u32 how;   /* bits of enum lock_how */
};

/* pthread_mutexattr: type, robust, protocol, shared, elision (nptl/pthreadP.h) */
enum { MUTEX_PLAIN_KINDS = 3 | 128 | 256 | 512 };

static __always_inline __u32 lock_how_of_wait(__u32 expected, const struct futex_words *w)
{
	if (expected & FUTEX_WAITED)
		return expected & FUTEX_OWNER ? LOCK_ROBUST : LOCK_NONE;
	return expected == 2 && w->word == 2 && w->owner && w->users && w->owner <= FUTEX_OWNER &&
			       !(w->kind & ~MUTEX_PLAIN_KINDS)
		       ? LOCK_PLAIN
		       : LOCK_NONE;
}

/* address, op, expected: the arguments of the system call. w: the words there now; zeros after the
 * first word if they are unreadable. */
static __always_inline struct lock_wait lock_of_futex(__u64 address, __u32 op, __u32 expected,
						      const struct futex_words *w)
{
	struct lock_wait l = { .address = address };
	const __u32 cmd = op & FUTEX_OP_MASK;

	if (cmd == FUTEX_OP_WAIT || cmd == FUTEX_OP_WAIT_BITSET)
		l.how = lock_how_of_wait(expected, w);
	else if ((cmd == FUTEX_OP_LOCK_PI || cmd == FUTEX_OP_LOCK_PI2) && w->word & FUTEX_OWNER)
		l.how = LOCK_PI;
	if (!l.how)
		return l;
	l.owner = l.how == LOCK_PLAIN    ? w->owner
		  : l.how == LOCK_ROBUST ? expected & FUTEX_OWNER
					 : w->word & FUTEX_OWNER;
	if (!(op & FUTEX_OP_PRIVATE))
		l.how |= LOCK_SHARED;
	return l;
}

/* Whether a thread inside this call unlocks that lock. Another process may have a shared lock at
 * another address, in the same place of a page. */
static __always_inline int futex_unlocks(__u64 address, __u32 op, const struct lock_wait *l)
{
	const __u32 cmd = op & FUTEX_OP_MASK;
	const __u64 differs = address ^ l->address;

	if (cmd != FUTEX_OP_WAKE && cmd != FUTEX_OP_WAKE_BITSET && cmd != FUTEX_OP_UNLOCK_PI)
		return 0;
	return l->how & LOCK_SHARED ? !(differs & 0xfff) : !differs;
}

#endif
