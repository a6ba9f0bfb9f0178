/* collect/resolver.h: the resolver's inside, for the files it is in: resolve.c (processes, samples, names), resolve_stack.c (from
 * the stacks of the kernel to those of the sink), resolve_python.c (frames of Python among the native ones) and resolve_gpu.c (calls of a
 * GPU's libraries). */
#ifndef CRESSET_COLLECT_RESOLVER_H
#define CRESSET_COLLECT_RESOLVER_H

#include "base/allowance.h"
#include "collect/account.h"
#include "collect/context_search.h"
#include "collect/going_on.h"
#include "collect/gpu_live.h"
#include "collect/gpu_names.h"
#include "collect/gpu_origins.h"
#include "collect/interpreted.h"
#include "collect/jit.h"
#include "collect/kernel_space.h"
#include "collect/resolve.h"
#include "collect/series_cache.h"
#include "collect/stack_cache.h"
#include "collect/traced.h"
#include "collect/wait_reason.h"
#include "profile/strtab.h"

struct resolver {
	struct sink *sink;
	struct resolve_opts opts;
	struct object_table objects;
	struct process_table processes;
	struct kernel_space kernel;
	struct stack_cache stacks;
	struct going_on going_on;
	bool epoch_over; /* contents of the stack cache have gone */
	struct wait_reasons reasons;
	bool reasons_read;
	struct accounts accounts;
	struct resolve_types types;
	struct series_cache series;
	struct jit_table jits;
	struct context_search search;
	struct traced traced;
	struct interpreted *interpreted; /* NULL: the walker does not know runtimes */
	struct space *space;             /* NULL: frame pointers only */
	struct gpu_names gpu_names;
	struct gpu_live gpu_live;       /* memory of GPUs */
	struct gpu_origins gpu_origins; /* who allocates that, and launches what runs on them */
	VEC(uint32_t) gpu_owners;       /* origins of those that had memory, one of each process */
	VEC(uint32_t) gpu_befores;      /* origins of [before attach] of the last snapshot */
	struct map leaf_samples;        /* frame → samples */
	struct map inside_frames;       /* → enum gpu_inside (gpu/probes.h) */
	struct label_table labels;      /* of processes */
	VEC(uint64_t) stack;            /* the one being built, as jit_hold takes it */
	VEC(uint32_t) frames;
	uint32_t unknown_frame; /* FRAME_NONE until it was needed */
	uint64_t snapshot_ns, swept_ns, trimmed_ns;
	uint64_t lost_ns; /* records of before were lost */
	uint64_t next_snapshot_ns, snapshot_wait_ns;
	struct far_files *far;    /* NULL: all files are opened here */
	struct allowance scans;   /* of processes of which records were lost */
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end */
	uint64_t unsymbolized;
	uint64_t python_unplaced; /* stacks with frames of Python that no native frame runs */
	struct name_failures name_failures;
};

/* Reads the mappings of a process again when the table misses some, at most once a second. */
void resolver_scan_again(struct resolver *r, struct process *p, uint64_t now_ns);

/* A stack as samples refer to it. */
struct stack_ref {
	const struct event_sample *sample;
	const struct wait_info *wait; /* NULL: of a sample on a CPU */
	const struct event_raw *raw;  /* it came along; NULL: it was walked in the kernel */
	/* Which of a wait's stacks: ACCOUNT_NONE: that of a sample on a CPU, which may be ACCOUNT_GPU_SPIN, too. All but the leaf is the same. */
	enum account_part part;
	bool folds_call; /* without what a call that waits for a GPU does inside, when it is in one */
	bool is_launch; /* that a library in the program tells of: without frames of those that tell at the leaf */
};
/* The stack in the sink. False when it has code made at run time: then it is in r->stack, to be held back. */
bool resolver_stack(struct resolver *r, struct process *p, const struct stack_ref *ref,
		    struct resolved_stack *out);

/* The stack of a wait that is told again, as hash of its contents; one that has none when it is not known. */
uint64_t resolver_going_on(struct resolver *r, const struct event_wait *ev);

/* resolve_sample.c: an event of a process, in each type that it has something of. */
void resolver_event(struct resolver *r, struct process *p, const union order_event *ev,
		    const struct event_raw *raw);
/* What tells its series from others. */
struct series_key resolver_series_key(struct resolver *r, struct process *p,
				      const struct event_sample *s, uint32_t type,
				      int64_t period_ns);
uint32_t resolver_series(struct resolver *r, struct process *p, const struct event_sample *s,
			 uint32_t type, int64_t period_ns);
/* Of a thread that waits for a GPU. */
uint32_t resolver_series_how(struct resolver *r, struct process *p, const struct event_sample *s,
			     uint32_t type, int64_t period_ns, enum gpu_how how);
/* Without series, stack and value (1). */
struct sample resolver_sample(struct resolver *r, const struct event_sample *s);
/* One sample of the sink, whose stack is resolved here. Returns why that ends. */
enum walk_end resolver_put(struct resolver *r, struct process *p, struct sample *sample,
			   const struct stack_ref *ref, enum account_part held_as);

/* resolve_gpu.c; memory of before is in resolve_gpu_before.c. Returns why the stack ends. */
enum walk_end resolver_gpu(struct resolver *r, struct process *p, const struct event_gpu *ev,
			   const struct event_raw *raw);
/* Those that are referred to get new numbers; is_new_sink: labels have other numbers by now, and stacks are copied, or (NULL) gone. */
void resolver_gpu_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy);
/* What is known of a process by now, that no event of its own tells of. */
struct gpu_origin resolver_gpu_origin_of(struct resolver *r, uint32_t pid);
const char *resolver_gpu_type_name(const struct resolve_types *t, uint32_t type);

/* After a stack that is to be held back: that stack, its code made at run time without names. */
uint32_t resolver_stack_without_jit(struct resolver *r);

/* Appends a frame of the user part to r->stack; true when it is code made at run time. */
bool resolver_push_user(struct resolver *r, const struct process *p, const struct event_stack *st,
			uint32_t i);
/* The same of the whole user part, n_user words, root first, where it has frames of Python. */
void resolver_push_python(struct resolver *r, const struct process *p, const struct event_stack *st,
			  uint32_t n_user, enum walk_end end, bool *has_jit);

#endif
