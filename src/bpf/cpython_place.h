/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/cpython_place.h: places the collected CPython frames (bpf/cpython_walk.h) among the native
 * ones: by marks while those are walked; or as groups for user space, which walks the copy of a
 * stack. */
#ifndef CRESSET_BPF_CPYTHON_PLACE_H
#define CRESSET_BPF_CPYTHON_PLACE_H

#include "bpf/cpython_walk.h"

/* --- groups without a place, for a sample with a copy of its stack ---------------------------- */

static __always_inline void python_write(struct python_ref *ref, __u64 word)
{
	__u32 at = ref->s->head.n_kernel + ref->s->head.n_python + ref->p->n_written;

	asm volatile("" : "+r"(at));
	if (at < SCRATCH_ADDRS)
		ref->s->addr[at] = word;
	ref->p->n_written++;
}

static __always_inline void python_write_group(struct python_ref *ref, __u32 i)
{
	struct python_group *g = &ref->p->groups[i & (PYTHON_GROUPS - 1)];

	python_write(ref, CPYTHON_MARK(g->first, g->n));
	python_write(ref, g->entry);
}

/* Writes this many groups at a time, as bpf/cpython_walk.h takes turns. Returns nonzero when there
 * are no more. */
enum { PYTHON_GROUPS_AT_ONCE = 16 };
__weak int python_write_some_groups(__u32 index, __u32 first)
{
	struct python_ref ref = { bpf_map_lookup_elem(&scratches, &index),
				  bpf_map_lookup_elem(&python_walks, &index), 0 };

	if (!use_runtimes || !ref.s || !ref.p)
		return 1;
	for (__u32 i = 0; i < PYTHON_GROUPS_AT_ONCE; i++) {
		if (first + i >= LOAD(ref.p->n_groups))
			return 1;
		python_write_group(&ref, first + i);
	}
	return 0;
}

static long python_write_group_of(__u32 i, void *ctx)
{
	struct python_ref *ref = ctx;

	if (i >= ref->p->n_groups)
		return 1;
	python_write_group(ref, i);
	return 0;
}

static __always_inline void python_write_loops(struct python_ref *ref,
					       const struct python_cursor *c)
{
	const struct cpython_runtime *r =
		&ref->p->process.runtimes[c->runtime & (CPYTHON_MAX_RUNTIMES - 1)];

	python_write(ref, CPYTHON_MARK(c->first, c->end - c->first));
	python_write(ref, 0);
	for (int i = 0; i < LOOP_PARTS_MAX; i++) {
		python_write(ref, r->loops[i].start);
		python_write(ref, r->loops[i].end);
	}
}

/* Writes the groups of frames whose calls are recognized by the loop's code. */
static __always_inline void python_add_loops(struct python_ref *ref)
{
	struct python_walk *p = ref->p;

	for (__u32 i = 0; i < PYTHON_STATES; i++)
		if (i < p->n_cursors && p->cursors[i].by_loop)
			python_write_loops(ref, &p->cursors[i]);
}

static __always_inline void python_write_groups_with(__u32 index, const int by_loop)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct python_walk *p = bpf_map_lookup_elem(&python_walks, &index);
	struct python_ref ref = { s, p, 0 };

	if (!use_runtimes || !s || !p)
		return;
	p->n_written = 0;
	if (by_loop)
		bpf_loop(PYTHON_GROUPS, python_write_group_of, &ref, 0);
	else
		for (__u32 i = 0; i < PYTHON_GROUPS; i += PYTHON_GROUPS_AT_ONCE)
			if (python_write_some_groups(index, i))
				break;
	python_add_loops(&ref);
}

/* Write the groups after the frames, in place of native frames. Global functions: verified once. */
__weak int python_write_groups(__u32 index)
{
	python_write_groups_with(index, 0);
	return 0;
}

__weak int python_write_groups_by_loop(__u32 index)
{
	python_write_groups_with(index, 1);
	return 0;
}

/* Prepares the head and hash for hash_stack, for a stack without native frames. */
static __always_inline void python_use_groups(struct scratch *s, struct python_walk *p)
{
	s->head.n_user = s->head.n_python + p->n_group_words;
	s->head.flags |= STACK_PYTHON_GROUPS;
	s->user_hash = mix(p->words_hash, p->groups_hash);
}

/* --- of another thread ------------------------------------------------------------------------ */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} open_python SEC(".maps");

/* Collects the Python frames of a waiting thread into s, in groups. */
static __always_inline void python_collect_of(struct task_struct *task, struct scratch *s,
					      __u64 now_ns)
{
	__u32 zero = 0, tgid = task->tgid;
	struct python_walk *p = bpf_map_lookup_elem(&open_python, &zero);
	struct cpython_process *process = bpf_map_lookup_elem(&cpython_processes, &tgid);
	struct python_ref ref = { s, p, task };

	if (!use_runtimes || !p || !process)
		return;
	s->user_hash = HASH_SEED;
	s->head.n_python = 0;
	p->process = *process;
	python_start(p, task, now_ns);
	bpf_loop(PYTHON_STEPS, python_step_of, &ref, 0);
	if (python_end(s, p))
		s->head.flags |= STACK_PYTHON_CUT;
	if (!s->head.n_python)
		return;
	s->head.tgid = tgid;
	python_use_groups(s, p);
	p->n_written = 0;
	bpf_loop(PYTHON_GROUPS, python_write_group_of, &ref, 0);
	python_add_loops(&ref);
}

/* --- their places ----------------------------------------------------------------------------- */

static __always_inline int python_is_loop(const struct python_walk *p, __u32 runtime, __u64 pc)
{
	const struct cpython_runtime *r =
		&p->process.runtimes[runtime & (CPYTHON_MAX_RUNTIMES - 1)];

	for (int i = 0; i < LOOP_PARTS_MAX; i++)
		if (pc >= r->loops[i].start && pc < r->loops[i].end)
			return 1;
	return 0;
}

/* Returns the mark of the frames run by the native frame whose stack is from sp to cfa; 0: none. */
static __always_inline __u64 python_mark(struct python_walk *p, __u32 i, __u64 pc, __u64 sp,
					 __u64 cfa)
{
	struct python_cursor *c = &p->cursors[i & (PYTHON_STATES - 1)];
	struct python_group *g;
	__u32 next = LOAD(c->next);

	if (next >= c->end)
		return 0;
	if (c->by_loop) {
		if (!python_is_loop(p, c->runtime, pc))
			return 0;
		c->next = next + 1;
		return CPYTHON_ORDER_MARK(next, 1);
	}
	g = &p->groups[next & (PYTHON_GROUPS - 1)];
	if (g->entry - sp >= cfa - sp)
		return 0;
	c->next = next + 1;
	return CPYTHON_MARK(g->first, g->n);
}

/* Returns the mark for a call of the loop with no frame left for it: user space sees that the
 * numbers differ (collect/resolve/python_order.c). */
static __always_inline __u64 python_mark_beyond(const struct python_walk *p, __u32 i, __u64 pc)
{
	const struct python_cursor *c = &p->cursors[i & (PYTHON_STATES - 1)];

	if (!c->by_loop || c->first >= c->end || !python_is_loop(p, c->runtime, pc))
		return 0;
	return CPYTHON_ORDER_MARK(0, 0);
}

/* After a native frame: adds the mark if it runs Python frames. */
__weak int python_place(__u32 index, __u64 pc, __u64 sp)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct python_walk *p = bpf_map_lookup_elem(&python_walks, &index);
	__u64 mark = 0;

	if (!use_runtimes || !s || !p)
		return 0;
	for (__u32 i = 0; i < PYTHON_STATES && !mark; i++)
		if (i < p->n_cursors)
			mark = python_mark(p, i, pc, sp, s->walk.sp);
	for (__u32 i = 0; i < PYTHON_STATES && !mark; i++)
		if (i < p->n_cursors)
			mark = python_mark_beyond(p, i, pc);
	if (mark && s->walk.n < s->walk.max)
		walk_put(&s->walk, mark);
	return 0;
}

#endif
