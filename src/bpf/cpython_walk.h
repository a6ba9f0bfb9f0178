/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/cpython_walk.h: the CPython frames on a thread's stack (bpf/cpython.h).
 *
 * Python frames are collected before the native frames are walked: from the thread's state (found
 * by its id in the lists of the interpreters, and remembered for a while) along the chain of
 * frames. They are first in the user part, two words each, innermost first, and form groups: the
 * frames run by one call of the interpreter's loop. While the native frames are walked, a native
 * frame whose stack contains the address that a group was entered with is followed by a mark that
 * names the group (up to 3.10: each native frame whose code is that of the loop).
 *
 *     user part = { code, place } n_python words … , then native frames and marks, as they are
 *     walked
 *
 * All data come from the process and cannot be trusted: the steps are bounded, and unreadable
 * memory is counted. */
#ifndef CRESSET_BPF_CPYTHON_WALK_H
#define CRESSET_BPF_CPYTHON_WALK_H

#include "bpf/cpython.h"
#include "bpf/maps.h"
#include "bpf/task_copy.h"
#include "bpf/unwind.h"

enum {
	PYTHON_STATES = 4, /* limit: interpreters with a state of one thread */
	/* limit: calls of Python's loop placed by address; others have no place */
	PYTHON_GROUPS = 512,
	PYTHON_THREADS = 2048, /* limit: threads of a process searched for one */
	PYTHON_STEPS = PYTHON_THREADS + 2 * PYTHON_MAX_FRAMES,
};
/* How long a result is remembered. A search through many threads takes long, so its result is
 * retained longer. */
#define PYTHON_KEEP_NS     100000000ull
#define PYTHON_NONE_NS     2000000ull /* a thread without a state may get one any moment */
#define PYTHON_PER_STEP_NS 100000ull

/* --- written by user space -------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PYTHON_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct cpython_process);
} cpython_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPYTHON_MAX_LAYOUTS);
	__type(key, __u32);
	__type(value, struct cpython_layout);
} cpython_layouts SEC(".maps");

/* --- what is remembered ----------------------------------------------------------------------- */

struct python_state {
	__u64 at;
	__u32 runtime; /* of its process */
	__u32 reserved;
};
struct python_thread {
	__u64 until_ns;
	__u32 n; /* 0: it runs no Python code */
	__u32 tid;
	struct python_state states[PYTHON_STATES];
	__u64 proof; /* python_proof of the rest */
};
/* The sampler writes here, and may interrupt anything on its CPU. So there is no lock, and the
 * table has fixed places. A thread hashes to a set of a few places, and a new one replaces the one
 * that expires first. If several CPUs write a place at one time, its proof does not match, and the
 * thread's states are searched again. */
enum { PYTHON_PLACES = 4, PYTHON_SETS_BITS = 11, PYTHON_SETS = 1 << PYTHON_SETS_BITS };
struct python_set {
	struct python_thread places[PYTHON_PLACES];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_SETS);
	__type(key, __u32);
	__type(value, struct python_set);
} python_threads SEC(".maps");

static __always_inline struct python_set *python_set_of(__u32 tid)
{
	__u32 at = tid * 0x9e3779b1u >> (32 - PYTHON_SETS_BITS);

	return bpf_map_lookup_elem(&python_threads, &at);
}

static __always_inline __u64 python_proof(const struct python_thread *t)
{
	__u64 h = mix(mix(HASH_SEED, t->until_ns), (__u64)t->n << 32 | t->tid);

	for (int i = 0; i < PYTHON_STATES; i++)
		h = mix(mix(h, t->states[i].at), t->states[i].runtime);
	return h;
}

/* Copies what is remembered of a thread. Returns false if there is nothing, or nothing valid
 * now. */
static __always_inline int python_recall(struct python_thread *out, __u32 tid, __u64 now_ns)
{
	struct python_set *set = python_set_of(tid);

	for (int i = 0; set && i < PYTHON_PLACES; i++) {
		if (set->places[i].tid != tid)
			continue;
		*out = set->places[i];
		return now_ns < out->until_ns && out->tid == tid && out->proof == python_proof(out);
	}
	return 0;
}

static __always_inline void python_remember(struct python_thread *t)
{
	struct python_set *set = python_set_of(t->tid);
	__u64 first_ns = ~0ull;
	__u32 at = 0;

	if (!set)
		return;
	for (__u32 i = 0; i < PYTHON_PLACES; i++) {
		__u64 until_ns = set->places[i].tid == t->tid ? 0 : set->places[i].until_ns;

		if (until_ns < first_ns) {
			first_ns = until_ns;
			at = i;
		}
	}
	t->proof = python_proof(t);
	set->places[at & (PYTHON_PLACES - 1)] = *t;
}

/* For the end of a thread or of its program. */
static __always_inline void python_forget(__u32 tid)
{
	struct python_set *set = python_set_of(tid);

	for (int i = 0; set && i < PYTHON_PLACES; i++)
		if (set->places[i].tid == tid)
			set->places[i].until_ns = 0;
}

/* --- a walk ----------------------------------------------------------------------------------- */

struct python_group {
	__u64 entry;    /* the address that the loop's call has on its stack */
	__u32 first, n; /* frames */
};
/* The groups of one state that have no place yet, by index; or, where each frame is a group,
 * frames. */
struct python_cursor {
	__u32 first, next, end;
	__u32 runtime;
	__u32 by_loop;
};
enum python_turns { PYTHON_FIND = 0, PYTHON_BEGIN, PYTHON_CHAIN };
struct python_walk {
	struct cpython_process process;
	struct cpython_layout layout; /* of the current runtime */
	__u32 turn;                   /* enum python_turns */
	__u32 tid;
	__u64 thread_pointer;
	struct python_thread thread;
	/* PYTHON_FIND */
	__u64 interp, state;
	__u32 runtime, n_runtimes; /* n_runtimes: those started */
	__u32 steps, was_searched;
	/* PYTHON_BEGIN, PYTHON_CHAIN */
	__u32 n_states;              /* those started */
	__u32 n_frames, first_frame; /* first_frame: of the current group */
	__u32 n_groups;
	__u32 n_group_words, n_written; /* n_group_words: of groups without a place */
	__u64 words_hash, groups_hash;  /* words_hash: of the frames */
	__u64 frame, cframe;
	__u64 stamp[CPYTHON_MAX_STAMP];
	__u8 bytes[CPYTHON_MAX_FRAME];
	__u32 n_cursors, is_cut; /* is_cut: there are more frames */
	struct python_cursor cursors[PYTHON_STATES];
	struct python_group groups[PYTHON_GROUPS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

struct python_ref {
	struct scratch *s;
	struct python_walk *p;
	struct task_struct *task; /* not the current task; NULL: the current one */
};

/* Reads memory of the current task, or, in sleepable programs, of the given one. */
static __always_inline int python_read(struct task_struct *task, void *to, __u32 size,
				       __u64 address)
{
	if (task)
		return task_copy(task, to, size, address) != 0;
	return bpf_probe_read_user(to, size, (const void *)address) != 0;
}

static __always_inline int python_word(struct task_struct *task, __u64 *out, __u64 address)
{
	return python_read(task, out, sizeof *out, address);
}

static __always_inline void python_use_runtime(struct python_walk *p, __u32 runtime)
{
	__u32 at = LOAD(p->process.runtimes[runtime & (CPYTHON_MAX_RUNTIMES - 1)].layout);
	struct cpython_layout *layout = bpf_map_lookup_elem(&cpython_layouts, &at);

	p->runtime = runtime;
	if (layout)
		p->layout = *layout;
}

/* --- the states of a thread ------------------------------------------------------------------- */

static __always_inline void python_found(struct python_walk *p, __u64 at)
{
	__u32 n = LOAD(p->thread.n);

	if (n >= PYTHON_STATES)
		return;
	p->thread.states[n & (PYTHON_STATES - 1)] =
		(struct python_state){ .at = at, .runtime = p->runtime };
	p->thread.n = n + 1;
}

static __always_inline void python_keep(struct python_walk *p)
{
	__u64 long_ns = p->steps * PYTHON_PER_STEP_NS;
	__u64 least_ns = p->thread.n ? PYTHON_KEEP_NS : PYTHON_NONE_NS;

	p->thread.until_ns = bpf_ktime_get_ns() + (long_ns > least_ns ? long_ns : least_ns);
	p->thread.tid = p->tid;
	p->turn = PYTHON_BEGIN;
}

static __always_inline void python_next_runtime(struct task_struct *task, struct python_walk *p)
{
	__u32 i = LOAD(p->n_runtimes);

	if (i >= CPYTHON_MAX_RUNTIMES || i >= p->process.n || p->steps > PYTHON_THREADS) {
		python_keep(p);
		return;
	}
	p->n_runtimes = i + 1;
	python_use_runtime(p, i);
	if (python_word(task, &p->interp,
			p->process.runtimes[i & (CPYTHON_MAX_RUNTIMES - 1)].head_at))
		p->interp = 0;
}

/* Takes one step: a thread, an interpreter or a runtime. */
static __always_inline void python_find(struct task_struct *task, struct python_walk *p)
{
	__u64 id, at = p->state, interp = p->interp;

	p->steps++;
	if (at && p->steps <= PYTHON_THREADS) {
		if (python_word(task, &id, at + p->layout.thread_id) ||
		    python_word(task, &p->state, at + p->layout.thread_next))
			p->state = 0;
		else if (id == p->thread_pointer)
			python_found(p, at);
	} else if (interp && p->steps <= PYTHON_THREADS) {
		if (python_word(task, &p->state, interp + p->layout.interp_threads) ||
		    python_word(task, &p->interp, interp + p->layout.interp_next))
			p->state = p->interp = 0;
	} else {
		python_next_runtime(task, p);
	}
}

/* --- the frames of a state -------------------------------------------------------------------- */

static __always_inline int python_unread(struct python_walk *p)
{
	p->is_cut = 1;
	count(COUNT_PYTHON_UNREAD);
	return 1;
}

static __always_inline void python_end_group(struct python_walk *p, __u64 entry)
{
	__u32 i = LOAD(p->n_groups);

	p->groups_hash = mix(p->groups_hash, entry);

	if (i < PYTHON_GROUPS) {
		p->groups[i & (PYTHON_GROUPS - 1)] = (struct python_group){
			.entry = entry, .first = p->first_frame, .n = p->n_frames - p->first_frame
		};
		p->n_groups = i + 1;
	}
	p->first_frame = p->n_frames;
}

/* The current state has no more frames. */
static __always_inline void python_end_state(struct python_walk *p)
{
	__u32 i = (LOAD(p->n_cursors) - 1) & (PYTHON_STATES - 1);

	p->cursors[i].end = p->cursors[i].by_loop ? p->n_frames : p->n_groups;
	p->n_group_words += p->cursors[i].by_loop ? CPYTHON_LOOP_GROUP_WORDS : 0;
	p->turn = PYTHON_BEGIN;
}

static __always_inline int python_first_frame(struct task_struct *task, struct python_walk *p,
					      __u64 state)
{
	__u64 at;

	p->cframe = 0;
	if (python_word(task, &at, state + p->layout.thread_frame))
		return 1;
	if (!(p->layout.flags & CPYTHON_CFRAME)) {
		p->frame = at;
		return 0;
	}
	p->cframe = at;
	return python_word(task, &p->frame, at + p->layout.cframe_frame);
}

/* Starts the next state. Returns nonzero if none exists. */
static __always_inline int python_begin(struct task_struct *task, struct python_walk *p)
{
	__u32 i = LOAD(p->n_states), by_loop;
	__u64 id, at;

	if (i >= PYTHON_STATES || i >= p->thread.n)
		return 1;
	at = p->thread.states[i & (PYTHON_STATES - 1)].at;
	python_use_runtime(p, p->thread.states[i & (PYTHON_STATES - 1)].runtime);
	if (python_word(task, &id, at + p->layout.thread_id) || id != p->thread_pointer) {
		if (p->was_searched || p->n_frames)
			return 1;
		p->was_searched = 1;
		p->thread.n = 0;
		p->turn = PYTHON_FIND;
		return 0;
	}
	p->n_states = i + 1;
	if (python_first_frame(task, p, at))
		return python_unread(p);
	by_loop = p->layout.flags & CPYTHON_FRAME_OBJECTS;
	p->first_frame = p->n_frames;
	p->cursors[i & (PYTHON_STATES - 1)] =
		(struct python_cursor){ .first = by_loop ? p->n_frames : p->n_groups,
					.next = by_loop ? p->n_frames : p->n_groups,
					.runtime = p->runtime,
					.by_loop = by_loop };
	p->n_cursors = i + 1;
	p->turn = PYTHON_CHAIN;
	return 0;
}

static __always_inline __u64 python_frame_word(const struct python_walk *p, __u32 offset)
{
	return *(const __u64 *)(p->bytes + (offset & (CPYTHON_MAX_FRAME - 8)));
}

static __always_inline __u32 python_frame_int(const struct python_walk *p, __u32 offset)
{
	return *(const __u32 *)(p->bytes + (offset & (CPYTHON_MAX_FRAME - 4)));
}

/* The offset in bytes from the code's first instruction. */
static __always_inline __u32 python_offset(const struct python_walk *p, __u64 code)
{
	const struct cpython_layout *l = &p->layout;
	__u32 offset;

	if (!(l->flags & CPYTHON_FRAME_OBJECTS))
		return python_frame_word(p, l->frame_instr) - code - l->code_instr;
	offset = python_frame_int(p, l->frame_instr);
	return l->flags & CPYTHON_UNITS && (__s32)offset >= 0 ? offset * 2 : offset;
}

static __always_inline int python_put(struct scratch *s, __u64 word)
{
	__u32 at = s->head.n_kernel + s->head.n_python;

	asm volatile("" : "+r"(at));
	if (at >= SCRATCH_ADDRS)
		return 1;
	s->addr[at] = word;
	s->user_hash = mix(s->user_hash, word);
	s->head.n_python++;
	return 0;
}

/* Appends the frame in p->bytes. */
static __always_inline int python_append(struct task_struct *task, struct scratch *s,
					 struct python_walk *p)
{
	__u64 code = python_frame_word(p, p->layout.frame_code);
	__u32 words = LOAD(p->layout.stamp_words);

	if (p->layout.flags & CPYTHON_TAGGED)
		code &= ~CPYTHON_TAG;
	/* Beyond the limit frames are not added, but the walk continues to the end of the group,
	 * which is needed to place the frames before it. */
	if (p->n_frames >= (max_user < WALK_MAX_USER ? max_user : PYTHON_MAX_FRAMES)) {
		p->is_cut = 1;
		return p->layout.flags & CPYTHON_FRAME_OBJECTS;
	}
	if (words > CPYTHON_MAX_STAMP ||
	    python_read(task, p->stamp, words * 8, code + p->layout.stamp_at))
		return python_unread(p);
	p->n_frames++;
	return python_put(s, cpython_frame_code(code)) ||
	       python_put(s, cpython_frame_place(cpython_stamp(p->stamp, words),
						 python_offset(p, code)));
}

/* 3.9: while an exception is thrown into a generator that delegates to another, the chain ends with
 * the first one's frame, which no call runs: its callers cannot be found. */
static __always_inline int python_ends_early(const struct python_walk *p)
{
	__u32 at = p->layout.frame_executing;

	return at && !p->frame && !p->bytes[at & (CPYTHON_MAX_FRAME - 1)];
}

/* Takes one frame. Returns nonzero if neither this chain nor those of other states can be
 * followed. */
static __always_inline int python_chain(struct task_struct *task, struct scratch *s,
					struct python_walk *p)
{
	const __u32 flags = p->layout.flags;
	__u32 bytes = LOAD(p->layout.frame_bytes);
	__u64 at = p->frame;
	int is_entry;

	if (!at) {
		python_end_state(p);
		return 0;
	}
	if (bytes > CPYTHON_MAX_FRAME || python_read(task, p->bytes, bytes, at))
		return python_unread(p);
	p->frame = python_frame_word(p, p->layout.frame_previous);
	if (python_ends_early(p))
		return python_unread(p);
	is_entry =
		!(flags & CPYTHON_FRAME_OBJECTS) &&
		p->bytes[p->layout.frame_entry & (CPYTHON_MAX_FRAME - 1)] >= p->layout.entry_from;
	if (is_entry && !(flags & CPYTHON_ENTRY_IS_FRAME)) {
		/* From 3.15 on each chain ends in a frame of the thread state: of no call. */
		if (p->frame || p->n_frames != p->first_frame)
			python_end_group(p, at);
		return 0;
	}
	if (python_append(task, s, p))
		return 1;
	if (!is_entry)
		return 0;
	python_end_group(p, p->cframe);
	return python_word(task, &p->cframe, p->cframe + p->layout.cframe_previous) && p->frame
		       ? python_unread(p)
		       : 0;
}

static __always_inline int python_turn(struct task_struct *task, struct python_ref *ref)
{
	struct python_walk *p = ref->p;

	if (p->turn == PYTHON_CHAIN)
		return python_chain(task, ref->s, p) != 0;
	if (p->turn == PYTHON_BEGIN)
		return python_begin(task, p) != 0;
	python_find(task, p);
	return 0;
}

/* Takes this many turns at a time, like bpf/stack.h with frames. Returns nonzero when the walk is
 * over. A global function: verified once. */
enum { PYTHON_TURNS_AT_ONCE = 8 };
__weak int python_some_turns(__u32 index)
{
	struct python_ref ref = { bpf_map_lookup_elem(&scratches, &index),
				  bpf_map_lookup_elem(&python_walks, &index), 0 };

	if (!use_runtimes || !ref.s || !ref.p)
		return 1;
	for (int i = 0; i < PYTHON_TURNS_AT_ONCE; i++)
		if (python_turn(0, &ref))
			return 1;
	return 0;
}

/* A global function: verified once, not in each round of the loop. */
__weak int python_is_late(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct python_walk *p = bpf_map_lookup_elem(&python_walks, &index);

	return s && p && bpf_ktime_get_ns() > s->walk_until_ns && python_unread(p);
}

static __always_inline void python_turns(__u32 index)
{
	for (int i = 1; i <= PYTHON_STEPS / PYTHON_TURNS_AT_ONCE; i++)
		if (python_some_turns(index) || (i % 8 == 0 && python_is_late(index)))
			break;
}

/* For bpf_loop. */
static long python_turn_of(__u32 i, void *ctx)
{
	struct python_ref *ref = ctx;

	if (python_turn(0, ref))
		return 1;
	return i % 64 == 63 && python_is_late(ref->s->index);
}

/* The same for another task; all kernels with sleepable iterators have bpf_loop. */
static long python_step_of(__u32 i, void *ctx)
{
	struct python_ref *ref = ctx;

	(void)i;
	return python_turn(ref->task, ref);
}

static __always_inline void python_start(struct python_walk *p, struct task_struct *task,
					 __u64 now_ns)
{
	__u32 tid = BPF_CORE_READ(task, pid);

	p->tid = tid;
	p->thread_pointer = BPF_CORE_READ(task, thread.fsbase);
	p->interp = p->state = 0;
	p->runtime = p->n_runtimes = p->steps = 0;
	p->n_states = p->n_frames = p->first_frame = p->n_groups = 0;
	p->n_cursors = p->is_cut = p->n_group_words = 0;
	p->groups_hash = HASH_SEED;
	p->was_searched = !python_recall(&p->thread, tid, now_ns);
	p->turn = p->was_searched ? PYTHON_FIND : PYTHON_BEGIN;
	if (p->was_searched)
		p->thread.n = 0;
}

static __always_inline int python_end(struct scratch *s, struct python_walk *p)
{
	if (p->turn == PYTHON_CHAIN)
		python_end_state(p);
	if (p->was_searched && p->turn != PYTHON_FIND) /* python_keep */
		python_remember(&p->thread);
	s->python = p->n_cursors;
	p->words_hash = s->user_hash;
	p->n_group_words += p->n_groups * CPYTHON_GROUP_WORDS;
	return p->is_cut;
}

static __always_inline int python_collect_with(__u32 index, __u32 tgid, __u64 now_ns,
					       const int by_loop)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct python_walk *p = bpf_map_lookup_elem(&python_walks, &index);
	struct cpython_process *process = bpf_map_lookup_elem(&cpython_processes, &tgid);

	struct python_ref ref = { s, p, 0 };

	if (!use_runtimes || !s || !p || !process)
		return 0;
	p->process = *process;
	python_start(p, (struct task_struct *)bpf_get_current_task(), now_ns);
	if (!p->thread_pointer)
		return 0;
	if (by_loop)
		bpf_loop(PYTHON_STEPS, python_turn_of, &ref, 0);
	else
		python_turns(index);
	return python_end(s, p);
}

/* Collect the Python frames of the current thread into the scratch of that index. Global functions:
 * verified once. */
__weak int python_collect(__u32 index, __u32 tgid, __u64 now_ns)
{
	return python_collect_with(index, tgid, now_ns, 0);
}

__weak int python_collect_by_loop(__u32 index, __u32 tgid, __u64 now_ns)
{
	return python_collect_with(index, tgid, now_ns, 1);
}

#endif
