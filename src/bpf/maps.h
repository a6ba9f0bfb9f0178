/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/maps.h: maps and state shared by all programs of sample.bpf.c: the rings, scratch space to
 * build stacks in, counters, and address spaces as user space describes them. */
#ifndef CRESSET_BPF_MAPS_H
#define CRESSET_BPF_MAPS_H

#include "bpf/event.h"
#include "bpf/gpu_event.h"
#include "bpf/kernel.h"
#include "bpf/thread_time.h"
#include "bpf/trace.h"
#include "bpf/walk.h"

const volatile __u32 max_user = WALK_MAX_USER;
/* Limit for the walk of one stack: interrupts are off during it. Checked every 64 frames. */
const volatile __u64 max_walk_ns = 2000000;
const volatile __u32 want_kernel = 1, want_user = 1, use_tables = 1;
/* The walk of frames of language runtimes. When it is off, each of its global functions returns
 * immediately, so the verifier checks none of them. */
const volatile __u32 use_runtimes = 1;
/* The reader is woken when a ring holds this much, set to half of it. Else it reads four times a
 * second (collect/collect.c). */
const volatile __u64 wake_bytes = 1 << 18, sample_wake_bytes = 1 << 18;

/* Mixed into the marks of the seen-cache: a new value makes every CPU send all stack contents
 * again. */
volatile __u64 seen_epoch = 1;

/* When it counts cycles, the sampler runs in an NMI and can interrupt any other program. So it
 * shares no map with them that has a lock and is written by both (tests/unit/bpf/t_bpf_locks.c
 * checks all programs), and has its own ring. */
enum sender { FROM_OTHERS = 0, FROM_SAMPLER };
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 19);
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 19);
} sample_ring SEC(".maps");

static __always_inline void *ring_of(const enum sender from)
{
	return from == FROM_SAMPLER ? (void *)&sample_ring : (void *)&ring;
}

static __always_inline __u64 wake_bytes_of(const enum sender from)
{
	return from == FROM_SAMPLER ? sample_wake_bytes : wake_bytes;
}

/* A Python frame takes two words, and native frames lie between them. The limit leaves space for
 * the rest of struct scratch in the largest value of a per-CPU map, 32 KiB. */
/* limit SCRATCH_ADDRS: words of a stack with Python frames, the kernel's included */
enum { SCRATCH_ADDRS = 3584, SCRATCH_USER = SCRATCH_ADDRS - WALK_MAX_KERNEL };
/* Reading this many bytes of user memory takes about as long as reading one word, and they include
 * the words of the next frames. */
enum { WINDOW = 256 };

struct scratch {
	struct event_stack head;
	__u64 addr[SCRATCH_ADDRS];
	struct walk walk;
	__u64 window_at, has_window; /* of the stack being walked */
	__u64 window[WINDOW / 8];
	/* Return addresses on the stack that probes at the return of calls have replaced: where,
	 * and the original words. 0: none. */
	__u64 patched_at, patched_word, inner_at, inner_word;
	__u64 back_at, back_word; /* the same for a return that was just reported */
	__u64 step_pc, step_sp;   /* of the frame that a step leaves */
	__u64 call_sp; /* of the caller of the call that waits for a GPU; 0: in no such call */
	__u64 user_hash;
	__u64 python; /* nonzero: Python frames still need their places */
	__u64 python_woke_ns;
	__u64 raw_since_ns, raw_spent_ns, raw_woke_ns;
	__u64 walk_until_ns;
	__u32 index; /* of this scratch */
	__u32 raw_bytes, raw_tgid;
	__u32 no_copy; /* why the last copy was not sent: WALK_NO_COPY_… */
	/* For waits. */
	struct wait_info wait;
	struct quanta quanta;
	__u64 task; /* whose wait it is, until its user part is taken; 0: none */
	/* The task of the last switch seen on this CPU, and whether nothing is known about it. */
	__u64 next;
	__u32 is_blind, is_late; /* is_late: the switch of this wait was not seen */
	__u32 of_window;         /* the window of that switch */
	/* The span that the thread works for. */
	struct event_trace trace;
	struct thread_record record;
	/* The event being sent: programs have little stack space. */
	union {
		struct event_wait out_wait;
		struct event_thread out_thread;
	};
	__u32 gpu_call; /* as in struct event_sample */
};
_Static_assert(sizeof(struct scratch) <= 32 << 10, "the most that a per-CPU map takes");
/* A sample can interrupt the handling of a wait, which comes between a task's wait and the wakeup
 * of another task. */
enum { SCRATCH_SAMPLE = 0, SCRATCH_WAIT, SCRATCH_WAKER, SCRATCHES };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct known_frames {
	struct known_frame frames[KNOWN_FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct known_frames);
} known SEC(".maps");

/* Stacks whose contents were sent. The sampler has one half and the other programs the other, so
 * that contents go through the same ring as the events that refer to them. */
/* limit SEEN_SLOTS: sent stacks a CPU remembers */
enum { SEEN_SLOTS = 4096, SEEN_OF_ONE = SEEN_SLOTS / 2 };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SEEN_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

#define HASH_SEED 0xc2b2ae3d27d4eb4full
static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static __always_inline struct scratch *scratch_for(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	if (s)
		s->index = index;
	return s;
}

/* --- address spaces, written by user space (bpf/space.h) -------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct space_process);
} processes SEC(".maps");

/* No space for more processes: those without an entry are walked by frame pointers. */
volatile __u32 processes_full;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct space_block_key);
	__type(value, struct space_block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SPACE_MAX_TABLES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct space_table);
} tables SEC(".maps");

struct segment {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_SEGMENT_CHUNKS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, 4);
	__uint(value_size, UNWIND_CHUNK);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct segment);
} segments SEC(".maps");

/* --- calls of a GPU's libraries (bpf/gpu_call.h) ---------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tid */
	__type(value, struct gpu_thread);
} gpu_threads SEC(".maps");
const volatile __u32 has_gpu = 0; /* such probes may exist */

/* Fetches the original return addresses of the thread's probed calls, and whether its call
 * waits. */
static __always_inline void patch_return(struct scratch *s, __u32 tid)
{
	const struct gpu_thread *t = has_gpu ? bpf_map_lookup_elem(&gpu_threads, &tid) : 0;

	s->patched_at = t ? t->return_at : 0;
	s->patched_word = t ? t->ret : 0;
	s->inner_at = t ? t->inner_at : 0;
	s->inner_word = t ? t->inner_ret : 0;
	s->back_at = t ? t->back_at : 0;
	s->back_word = t ? t->back_to : 0;
	s->call_sp = t ? t->waits_sp : 0;
	s->gpu_call = s->call_sp != 0;
}

static __always_inline void no_call(struct scratch *s)
{
	s->call_sp = s->gpu_call = 0;
}

static __always_inline __u64 patched(const struct scratch *s, __u64 address, __u64 word)
{
	return address == s->patched_at ? s->patched_word
	       : address == s->inner_at ? s->inner_word
					: word;
}

/* Atomic: the sampler may interrupt. */
static __always_inline void add(__u32 which, __u64 more)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		__sync_fetch_and_add(n, more);
}

static __always_inline void count(__u32 which)
{
	add(which, 1);
}

/* The time of a program's run. */
static __always_inline void count_run(__u64 since_ns)
{
	add(COUNT_RUN_NS, bpf_ktime_get_ns() - since_ns);
}

#endif
