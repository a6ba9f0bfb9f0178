/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/walk.h: the user part of a stack, from registers to return addresses.
 *
 * walk_user() is the seam between the sampler and the ways of walking: it appends addresses, leaf first, at out->addr[base…] and says why
 * it ended. Here: the chain of frame pointers, one bpf_loop (kernel 5.17) of up to WALK_MAX_USER frames. */
#ifndef CRESSET_BPF_WALK_H
#define CRESSET_BPF_WALK_H

#include "bpf/event.h"
#include "bpf/kernel.h"

/* User registers of the interrupted task, filled from the interrupt or from the task's saved registers. */
struct walk_regs {
	__u64 ip, sp, bp, cs;
};

/* A power of two above WALK_MAX_KERNEL + WALK_MAX_USER, so that an index can be bounded by a mask. */
enum { SCRATCH_ADDRS = 1024 };

struct scratch {
	struct event_stack head;
	__u64 addr[SCRATCH_ADDRS];
};

struct walk {
	struct scratch *out;
	__u64 fp, sp; /* the next frame record; everything below sp is gone */
	__u32 base;   /* index of the first user address */
	__u32 n, max; /* user addresses so far */
	__u32 end;    /* enum walk_end */
};

static const __u64 USER_MAX = 1ull << 47; /* one past the highest user address */
static const __u64 NEAR_STACK =
	8ull << 20; /* a frame pointer that far above the last is still a stack address */

static long walk_step(__u32 i, void *ctx)
{
	struct walk *w = ctx;
	struct {
		__u64 fp, ra;
	} rec;

	(void)i;
	w->end = WALK_COMPLETE;
	if (w->fp == 0)
		return 1;
	w->end = WALK_NO_FP;
	if (w->fp < w->sp || (w->fp & 7) || w->fp >= USER_MAX)
		return 1;
	if (bpf_probe_read_user(&rec, sizeof rec, (const void *)w->fp)) {
		if (w->fp - w->sp < NEAR_STACK)
			w->end = WALK_UNREADABLE;
		return 1;
	}
	if (rec.ra == 0) {
		w->end = WALK_COMPLETE;
		return 1;
	}
	if (rec.ra < 4096 || rec.ra >= USER_MAX)
		return 1;
	w->end = WALK_DEPTH;
	if (w->n >= w->max)
		return 1;
	w->out->addr[(w->base + w->n) & (SCRATCH_ADDRS - 1)] = rec.ra;
	w->n++;
	w->sp = w->fp + sizeof rec;
	w->fp = rec.fp;
	return 0;
}

static __always_inline void walk_user(struct walk *w, const struct walk_regs *regs)
{
	w->out->addr[w->base & (SCRATCH_ADDRS - 1)] = regs->ip;
	w->n = 1;
	w->fp = regs->bp;
	w->sp = regs->sp;
	if (regs->cs == X86_USER32_CS) {
		w->end = WALK_32BIT;
		return;
	}
	bpf_loop(WALK_MAX_USER + 1, walk_step, w, 0);
}

#endif
