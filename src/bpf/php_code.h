/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/php_code.h: PHP's loop and the code of its JIT on a native stack (bpf/php.h). Compiled for
 * BPF and for user space (unwind/walk.c), with the needs of bpf/unwind.h. */
#ifndef CRESSET_BPF_PHP_CODE_H
#define CRESSET_BPF_PHP_CODE_H

#include "bpf/php.h"
#include "bpf/unwind.h"

static __always_inline int php_is_loop(const struct php_process *p, __u64 pc)
{
	for (int i = 0; i < LOOP_PARTS_MAX; i++)
		if (pc >= p->loop[i].start && pc < p->loop[i].end)
			return 1;
	return 0;
}

/* Code of a mapping without a table, on the stack frame of the loop's call: the return address of
 * the call is above it, in the file that has the loop. */
static __always_inline int php_is_jit(struct walk *w, const struct php_process *p, __u64 pc)
{
	__u64 ra, base = p->is_by_fp ? w->fp : w->sp;
	__u32 object;

	if (!p->body || walk_find(w, pc) || w->map.table ||
	    walk_read(w, &ra, sizeof ra, base + p->body_cfa - 8) || !is_return_address(w, ra))
		return 0;
	object = w->map.object;
	return object && !walk_find(w, p->body) && w->map.object == object;
}

/* Continues where the code of the JIT was entered from. */
static __always_inline void php_leave_jit(struct walk *w, const struct php_process *p)
{
	w->exact = 0;
	w->ip = p->body + 1;
}

#endif
