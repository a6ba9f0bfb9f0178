/* collect/resolve/order.h: pending samples and side-band records, until they can be handed out in
 * time order.
 *
 * Rings of different CPUs are read one after the other, so their records are in order only within a
 * ring. Everything that is read is added here. order_take hands out, sorted by time, what is no
 * newer than a barrier: a moment before which every ring has been read. Records of brief lives
 * (lives.h) are handed out separately. */
#ifndef CRESSET_COLLECT_RESOLVE_ORDER_H
#define CRESSET_COLLECT_RESOLVE_ORDER_H

#include "base/buf.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "bpf/fault_event.h"
#include "bpf/gpu_event.h"
#include "collect/kernel/side_band.h"
#include "collect/resolve/lives.h"

struct order_entry {
	uint64_t time_ns;
	uint64_t seq; /* order of arrival, for equal times */
	uint32_t index;
	uint32_t is_side;
};
/* An event from the kernel; sample.kind shows which. */
union order_event {
	struct event_sample sample;
	struct event_wait wait;
	struct event_thread thread;
	struct event_gpu gpu;
	struct event_fault fault;
};
struct order_sample {
	union order_event ev;
	struct event_raw *raw; /* stack copy, on the heap; NULL: none */
};
struct order_side {
	struct side_record rec; /* its name is not valid here … */
	size_t name;            /* … but starts there in names; SIZE_MAX = none */
};
struct order {                                /* zeroed = empty */
	VEC(struct order_entry) entries, due; /* due: of order_take */
	struct lives lives;                   /* … in due */
	VEC(struct order_sample) samples;
	VEC(struct order_side) sides;
	struct buf names;
	uint64_t seq;
	uint64_t taken_ns;  /* the last barrier */
	uint64_t oldest_ns; /* no entry is older; undefined without entries */
	size_t gone;        /* entries of samples and sides that were handed out */
	uint64_t raw_bytes; /* of stacks */
	size_t n_raw;
	uint64_t late; /* entries added that were older than taken_ns */
};

struct order_ops {
	/* raw is mostly NULL; valid during the call. */
	void (*sample)(void *ctx, const union order_event *ev, const struct event_raw *raw);
	void (*side)(void *ctx, const struct side_record *r);
	/* The same for a record of a brief life, which no event needs. */
	void (*brief)(void *ctx, const struct side_record *r);
};

void order_add_sample(struct order *o, const struct event_sample *s);
void order_add_wait(struct order *o, const struct event_wait *w);
void order_add_gpu(struct order *o, const struct event_gpu *g);
void order_add_fault(struct order *o, const struct event_fault *f);
void order_add_thread(struct order *o, const struct event_thread *t);
void order_add_raw(struct order *o, const struct event_raw *raw);  /* copies it */
void order_add_side(struct order *o, const struct side_record *r); /* copies the name */
/* Calls fn for each process that the sample with the number i refers to. */
void order_needs(const struct order *o, size_t i, void (*fn)(void *ctx, uint32_t pid), void *ctx);
/* Returns the time of the oldest pending sample with a stack copy; UINT64_MAX: none. */
uint64_t order_oldest_raw_ns(const struct order *o);
void order_take(struct order *o, uint64_t barrier_ns, const struct order_ops *ops, void *ctx);
void order_done(struct order *o);

#endif
