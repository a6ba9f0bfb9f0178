/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/java_sample.h: samples of HotSpot's own sampler of allocations: the size of the object, and
 * the chance of its sample. */
#ifndef CRESSET_BPF_JAVA_SAMPLE_H
#define CRESSET_BPF_JAVA_SAMPLE_H

#include "bpf/gpu_call.h"
#include "bpf/java_heap.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JAVA_HEAPS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* process */
	__type(value, struct java_heap);
} java_heaps SEC(".maps");

static __always_inline __u64 java_word(__u64 address)
{
	__u64 value = 0;

	if (bpf_probe_read_user(&value, sizeof value, (void *)address))
		gpu_count(GPU_COUNT_UNREADABLE, 1);
	return value;
}

/* --- the size of an object -------------------------------------------------------------------- */

enum {
	JAVA_OBJECT_ALIGN = 8,
	/* A class has the size of its objects in bytes; for arrays it is negative: the bytes before
	 * the first element in the third byte, the logarithm of an element's size in the first. */
	JAVA_ARRAY_HEAD_SHIFT = 16,
	JAVA_ELEMENT_MASK = 31,
};

static __always_inline __u64 java_class(const struct java_heap *j, __u64 object)
{
	if (j->header == JAVA_HEADER_WIDE)
		return java_word(object + 8);
	if (j->header == JAVA_HEADER_SHORT)
		return j->class_base +
		       ((java_word(object) >> JAVA_SHORT_SHIFT) << (j->class_shift & 63));
	return j->class_base + ((java_word(object + 8) & 0xffffffff) << (j->class_shift & 63));
}

static __always_inline __u64 java_size(const struct java_heap *j, __u64 object)
{
	const __u32 length_at = j->header == JAVA_HEADER_WIDE     ? 16
				: j->header == JAVA_HEADER_NARROW ? 12
								  : 8;
	__u32 layout = (__u32)java_word(java_class(j, object) + j->class_layout);
	__u64 bytes;

	if (!(layout >> 31))
		return layout & ~1u; /* the lowest bit: has a slow path */
	bytes = java_word(object + length_at) & 0x7fffffff;
	bytes = (bytes << (layout & JAVA_ELEMENT_MASK)) + (layout >> JAVA_ARRAY_HEAD_SHIFT & 0xff);
	return (bytes + JAVA_OBJECT_ALIGN - 1) & ~(JAVA_OBJECT_ALIGN - 1ull);
}

/* --- chance ----------------------------------------------------------------------------------- */

enum { JAVA_CHANCE_BITS = 20 }; /* 16 of them after the point */
/* e^-(2^(i - 16)), times 2^32 */
static const __u32 java_powers[JAVA_CHANCE_BITS] = { 4294901760, 4294836226, 4294705160, 4294443040,
						     4293918848, 4292870656, 4290775039, 4286586875,
						     4278222805, 4261543595, 4228380000, 4162825044,
						     4034748382, 3790295335, 3344923893, 2605029347,
						     1580030169, 581260615,  78665070,   1440801 };

/* Returns 1 with the chance that a random point, a mean interval apart, is in so many bytes. A
 * global function: verified once. The loop's product is in memory, so that the verifier treats it
 * as unknown. */
__weak int java_is_hit(__u32 place, __u64 bytes, __u32 interval)
{
	struct gpu_place *p = bpf_map_lookup_elem(&gpu_places, &place);
	__u64 x = interval ? (bytes << 16) / interval : ~0ull;

	if (!p || x >> JAVA_CHANCE_BITS)
		return 1;
	p->call.bytes = 0xffffffff;
	for (int i = 0; i < JAVA_CHANCE_BITS; i++)
		if (x >> i & 1)
			p->call.bytes = LOAD(p->call.bytes) * java_powers[i] >> 32;
	return bpf_get_prandom_u32() >= LOAD(p->call.bytes);
}

/* --- samples, to 24 --------------------------------------------------------------------------- */

/* A chosen object: a random point is in `covered` bytes, or another one in `lost` bytes, for which
 * it stands. 0: without. */
struct java_chosen {
	__u64 size, covered, lost;
};

/* HotSpot's sampler has the bytes until the next sample. It is called for each object outside of
 * TLABs, and for the object in the TLAB that reaches the next sample, or the TLAB's end. Each time
 * it counts from there on: bytes of the TLAB since the last call, which had no sample, are
 * forgotten, and are counted twice at the TLAB's end. So
 *
 *     - an object outside is chosen here, by the same chance as if nothing were before it;
 *     - after it, a part of the TLAB cannot be sampled: the next object in the TLAB that is seen
 *       stands for that;
 *     - the object at the TLAB's end has a higher chance. */
struct java_thread {
	/* The TLAB: its start; where the next object goes; bytes from there on. */
	__u64 start, top, left;
	__u64 survived; /* the next sample is not within so many bytes */
	__u64 again;    /* bytes that will be counted again */
	__u64 lost;     /* bytes of the TLAB that could not be sampled */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JAVA_THREADS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* thread */
	__type(value, struct java_thread);
} java_threads SEC(".maps");

/* A call of the sampler. */
struct java_call {
	__u64 size, since, until;
	__u32 refills; /* of the TLAB since the last garbage collection */
	__u32 interval;
	__u32 place; /* for java_is_hit */
};

/* What the thread has got of its TLAB since then. It gives one up that has no space left. After a
 * garbage collection, before the first refill, it is without one as well: about half, then. */
static __always_inline __u64 java_used(const struct java_thread *before,
				       const struct java_thread *now, __u32 refills)
{
	if (before->start == now->start)
		return now->top > before->top ? now->top - before->top : 0;
	if (now->start)
		return 0;
	return refills ? before->left : before->left / 2;
}

static __always_inline __u64 java_least(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline void java_outside(const struct java_thread *before, struct java_thread *now,
					 const struct java_call *q, struct java_chosen *c)
{
	__u64 survived = before->survived, used = java_used(before, now, q->refills);

	now->lost = before->lost + java_least(survived, used);
	survived = used > survived ? used : survived;
	if (q->size < q->until && q->size < survived)
		now->survived = survived - q->size;
	if (java_is_hit(q->place, q->size, q->interval))
		c->covered = q->size;
}

/* The first TLAB after a garbage collection counts all of the previous one, used or not: without
 * chance. */
static __always_inline void java_in_tlab(const struct java_thread *before, struct java_thread *now,
					 const struct java_call *q, struct java_chosen *c)
{
	__u64 reach = q->since > before->again ? q->since - before->again : 0;
	__u64 lost = before->lost + java_least(before->survived, reach);
	__u64 counted = q->since + q->size;

	if (lost && java_is_hit(q->place, lost, q->interval))
		c->lost = lost;
	if (counted < q->until) {
		now->survived = before->survived > counted ? before->survived - counted : 0;
		return;
	}
	if (q->refills == 1 && before->start && before->start != now->start)
		return;
	c->covered = q->size;
	if (reach != q->until) /* at its end */
		c->covered += before->again;
}

/* A sampler has 0 bytes until its first sample. */
static __always_inline struct java_chosen java_checked(struct pt_regs *ctx,
						       const struct java_heap *j,
						       const struct gpu_place *p)
{
	static const struct java_thread unknown;
	const __u64 sampler = argument(ctx, 0), tlab = sampler - j->tlab_below;
	const struct java_call q = {
		.size = argument(ctx, 2),
		.since = argument(ctx, 3),
		.until = java_word(sampler),
		.refills = (__u32)java_word(tlab + j->tlab_since + 8),
		.interval = j->interval,
		.place = p->index,
	};
	__u32 tid = p->call.tid;
	const struct java_thread *before = bpf_map_lookup_elem(&java_threads, &tid);
	struct java_thread now = { .start = java_word(tlab + j->tlab_start),
				   .top = java_word(tlab + j->tlab_top) };
	struct java_chosen c = { .size = q.size };

	now.left = java_word(tlab + j->tlab_end) - now.top;
	if (!before)
		before = &unknown;
	if (q.since) {
		java_in_tlab(before, &now, &q, &c);
	} else {
		java_outside(before, &now, &q, &c);
		now.again = java_word(tlab + j->tlab_since);
	}
	bpf_map_update_elem(&java_threads, &tid, &now, BPF_ANY);
	if (!q.until && q.since)
		c.covered = 0;
	return c;
}

/* --- samples, from 25 on ---------------------------------------------------------------------- */

/* In its TLAB it is the last object. */
static __always_inline struct java_chosen java_chosen(struct pt_regs *ctx,
						      const struct java_heap *j)
{
	__u64 tlab = argument(ctx, 0) - j->tlab_below, object = argument(ctx, 1);
	__u64 top = argument(ctx, 2), size;

	if (object < top && object >= java_word(tlab + j->tlab_start))
		size = top - object;
	else
		size = java_size(j, object);
	return (struct java_chosen){ size, size, 0 };
}

/* --- both ------------------------------------------------------------------------------------- */

/* An agent may have a shorter interval than HotSpot's own, or sample each object; and a program may
 * allocate very fast: then a part is sent. Returns whether this one is. */
static __always_inline int java_is_sent(const struct java_heap *j, const struct gpu_place *p,
					struct java_chosen *c)
{
	if (!c->covered && !c->lost)
		return 0;
	if (!j->interval) {
		if (!java_is_hit(p->index, c->size, JAVA_INTERVAL))
			return 0;
		c->covered = c->size;
		c->lost = 0;
	}
	return !(bpf_get_prandom_u32() & ((1u << (j->thinned & 31)) - 1));
}

static __always_inline void java_sample(struct pt_regs *ctx, const struct gpu_probe_row *row,
					struct gpu_place *p)
{
	__u32 tgid = p->call.tgid;
	const struct java_heap *j = bpf_map_lookup_elem(&java_heaps, &tgid);
	struct java_chosen chosen;

	if (!j)
		return;
	chosen = row->what & GPU_JAVA_CHECK ? java_checked(ctx, j, p) : java_chosen(ctx, j);
	if (!java_is_sent(j, p, &chosen))
		return;
	fill_event(&p->ev, &p->none, GPU_HEAP_JAVA, GPU_HEAP, p->call.now_ns);
	p->ev.gpu.correlation = p->call.now_ns;
	p->ev.gpu.value = chosen.size;
	p->ev.gpu.weight = chosen.covered;
	p->ev.gpu.address = chosen.lost;
	p->ev.gpu.context = j->interval ? j->interval : JAVA_INTERVAL;
	p->ev.gpu.how = j->thinned & 31;
	send_with(ctx, p, 0);
}

#endif
