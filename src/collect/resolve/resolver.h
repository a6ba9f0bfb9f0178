/* collect/resolve/resolver.h: the inside of the resolver, shared by its files: resolve.c
 * (processes, samples, names), resolve_stack.c (from the kernel's stacks to the sink's),
 * resolve_frames.c (from addresses to frames) and resolve_gpu.c (calls of GPU libraries). */
#ifndef CRESSET_COLLECT_RESOLVE_RESOLVER_H
#define CRESSET_COLLECT_RESOLVE_RESOLVER_H

#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/process/context_search.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/process/traced.h"
#include "collect/resolve/gpu_live.h"
#include "collect/resolve/gpu_names.h"
#include "collect/resolve/gpu_origins.h"
#include "collect/resolve/heap.h"
#include "collect/resolve/labels.h"
#include "collect/resolve/lives.h"
#include "collect/resolve/locks.h"
#include "collect/resolve/resident.h"
#include "collect/resolve/resolve_links.h"
#include "collect/resolve/resolve_opts.h"
#include "collect/resolve/series_cache.h"
#include "collect/resolve/stack_cache.h"
#include "collect/resolve/wait_reason.h"
#include "collect/walker/account.h"
#include "collect/walker/jit.h"
#include "collect/walker/kernel_space.h"

struct event_fault;
struct profile_copy;
union order_event;

/* Memory of an origin, at the last look at its process. */
struct resident_row {
	uint64_t life, bytes;
	int64_t period; /* 0: none */
	uint32_t pid, origin;
};

struct resolver {
	struct sink *sink;
	struct resolve_opts opts;
	struct sampler_opts asked;
	struct resolve_links links;
	struct object_table objects;
	struct process_table processes;
	struct kernel_space kernel;
	struct stack_cache stacks;
	struct open_waits going_on;
	bool epoch_over; /* contents of the stack cache were dropped */
	struct wait_reasons reasons;
	bool reasons_read;
	struct locks locks;
	struct accounts accounts;
	struct resolve_types types;
	struct series_cache series;
	char period[16]; /* WINDOWS_LABEL */
	struct jit_table jits;
	struct context_search search;
	struct traced traced;
	struct interpreted *interpreted; /* NULL: the walker does not know runtimes */
	struct space *space;             /* NULL: frame pointers only */
	struct lives lives;              /* of the last reading */
	struct gpu_names gpu_names;
	struct gpu_live gpu_live;       /* GPU memory in use */
	struct gpu_origins gpu_origins; /* who allocates it, and who launches work on GPUs */
	struct resident resident;
	struct gpu_origins resident_origins;
	VEC(struct resident_row) resident_rows;
	VEC(struct resident_row) resident_owners; /* one per owner in the last snapshot */
	VEC(uint32_t) gpu_owners;  /* one origin per process with memory at the last snapshot */
	struct heap heap;          /* allocations of programs' heaps */
	VEC(uint32_t) heap_owners; /* as gpu_owners, of heap.origins */
	VEC(uint32_t) gpu_befores; /* origins of [before attach] at the last snapshot */
	struct map leaf_samples;   /* frame → samples */
	struct map inside_frames;  /* → enum gpu_inside (gpu/code/probes.h) */
	struct label_table labels; /* of processes */
	VEC(uint64_t) stack;       /* stack being built, as jit_hold takes it */
	VEC(uint32_t) frames;
	uint32_t unknown_frame; /* FRAME_NONE until needed */
	uint64_t snapshot_ns, swept_ns, trimmed_ns;
	uint64_t lost_ns; /* when records were last lost */
	uint64_t next_snapshot_ns, snapshot_wait_ns;
	struct far_files *far;    /* NULL: all files are opened here */
	struct allowance scans;   /* time for rereading processes whose records were lost */
	struct allowance rescans; /* … for addresses that are in no known mapping */
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end */
	uint64_t unsymbolized;
	uint64_t below_main;      /* stacks that end in a C library without unwind rows */
	bool has_pending_names;   /* of the stack being put together */
	uint64_t python_unplaced; /* stacks with frames of Python that no native frame calls */
	struct name_failures name_failures;
};

/* A stack as referred to by samples. */
struct stack_ref {
	const struct event_sample *sample;
	const struct wait_info *wait; /* NULL: a sample on a CPU */
	const struct event_raw *raw;  /* stack copy; NULL: it was walked in the kernel */
	/* Which of a wait's stacks. ACCOUNT_NONE: that of a sample on a CPU, which may also be
	 * ACCOUNT_GPU_SPIN. They differ only in the leaf. */
	enum account_part part;
	/* leave out frames inside a call that waits for a GPU */
	bool folds_call;
	/* of a lock: without frames of the kernel, with its holder and the lock at the leaf */
	bool is_lock;
	/* reported by a library in the program: leave out the reporting frames at the
	 * leaf */
	bool is_launch;
	/* of a runtime that samples allocations: leave out all its frames at the leaf but the
	 * outermost one */
	bool is_runtime;
	/* is_launch: put this function at the leaf, in place of its frame in the library; NULL:
	 * none. It depends on those frames only. */
	const char *called;
};
/* Resolves the stack into the sink. Returns false when it has code made at run time: then it is in
 * r->stack, to be held. */
bool resolver_stack(struct resolver *r, struct process *p, const struct stack_ref *ref,
		    struct resolved_stack *out);

/* Returns the hash of the stack of a wait that is reported again; a hash without contents if it is
 * unknown. */
uint64_t resolver_open_wait(struct resolver *r, const struct event_wait *ev);

/* resolve_sample.c: puts an event of a process into the sink, in each type that it has a value for;
 * not that of a GPU library. */
void resolver_event(struct resolver *r, struct process *p, const union order_event *ev,
		    const struct event_raw *raw);
const char *resolver_type_name(const struct resolve_types *t, uint32_t type);
/* Returns the key of its series. */
struct series_key resolver_series_key(struct resolver *r, struct process *p,
				      const struct event_sample *s, uint32_t type,
				      int64_t period_ns);
uint32_t resolver_series(struct resolver *r, struct process *p, const struct event_sample *s,
			 uint32_t type, int64_t period_ns);
/* Of a thread that waits for a GPU. */
uint32_t resolver_series_how(struct resolver *r, struct process *p, const struct event_sample *s,
			     uint32_t type, int64_t period_ns, uint32_t how);
/* Without series and stack; the value is 1. */
struct sample resolver_sample(struct resolver *r, const struct event_sample *s);
/* Resolves the stack of a sample and puts it into the sink. Returns why the stack ends. */
enum walk_end resolver_put(struct resolver *r, struct process *p, struct sample *sample,
			   const struct stack_ref *ref, enum account_part held_as);

/* resolve_resident.c: resident memory. */
void resolver_resident_init(struct resolver *r);
void resolver_resident_done(struct resolver *r);
/* Notes the page of a fault. Returns why the stack ends. */
enum walk_end resolver_resident(struct resolver *r, struct process *p, const struct event_fault *ev,
				const struct event_raw *raw);
/* As resolver_gpu_renumber. */
void resolver_resident_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy);

/* resolve_stack.c: returns the stack now, with code made at run time left unnamed. */
uint32_t resolver_stack_now(struct resolver *r, struct process *p, const struct stack_ref *ref,
			    enum walk_end *end);

/* resolve_gpu.c; memory from before attach is in resolve_gpu_before.c. Returns why the stack
 * ends. */
enum walk_end resolver_gpu(struct resolver *r, struct process *p, const struct event_gpu *ev,
			   const struct event_raw *raw);
/* resolve_heap.c: an allocation that a library in the program reports. */
enum walk_end resolver_heap(struct resolver *r, struct process *p, const struct event_gpu *ev,
			    const struct event_raw *raw);
void resolver_heap_init(struct resolver *r);
void resolver_heap_done(struct resolver *r);
/* As resolver_gpu_renumber. */
void resolver_heap_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy);
void resolver_gpu_done(struct resolver *r);
/* Gives new numbers to origins in use. is_new_sink: labels have new numbers, and stacks are copied,
 * or (copy NULL) dropped. */
void resolver_gpu_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy);
/* The same for a table of origins: until origin_moves_end, origin_moved (a gpu_origin_move)
 * returns the new number of each one that is still used. Others are forgotten. */
struct origin_moves {
	struct resolver *r;
	struct gpu_origins old, *now;
	uint32_t *to; /* plus 1 */
	bool is_new_sink;
	struct profile_copy *copy;
};
void origin_moves_begin(struct origin_moves *m, struct resolver *r, struct gpu_origins *origins,
			bool is_new_sink, struct profile_copy *copy);
uint32_t origin_moved(void *moves, uint32_t id);
void origin_moves_end(struct origin_moves *m);
void resolver_gpu_done(struct resolver *r);
/* Returns an origin from what is known of a process now; no event of its own is needed. */
struct gpu_origin resolver_gpu_origin_of(struct resolver *r, uint32_t pid);

/* resolve_frames.c: appends a stack to r->stack, root first. Returns why the stack ends there.
 * *has_jit: set if it has addresses of code made at run time. */
enum walk_end resolver_push_stack(struct resolver *r, const struct process *p,
				  const struct event_stack *st, uint64_t now_ns, bool *has_jit);
void resolver_push_marker(struct resolver *r, const char *name);
/* Pushes the frame at an address of the process. */
void resolver_push_address(struct resolver *r, struct process *p, uint64_t addr);
/* Returns a stack of only the marker. */
uint32_t resolver_marker_stack(struct resolver *r, const char *name);
void resolver_push_function(struct resolver *r, const char *name);
/* Leaves code made at run time unnamed, from that element of r->stack on. */
void resolver_forget_jit(struct resolver *r, size_t from);
/* An instruction pointer is always in an executable mapping: if it is not, the table lacks one
 * (mremap, lost records), and the mappings are reread. */
void resolver_check_leaf(struct resolver *r, struct process *p, const struct event_stack *st,
			 uint64_t now_ns);

/* Call it after resolver_stack returned false: returns that stack, with code made at run time left
 * unnamed. */
uint32_t resolver_stack_without_jit(struct resolver *r);

#endif
