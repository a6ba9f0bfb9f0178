// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* bpf/sample.bpf.c: one sample per timer tick of a CPU, and the table of processes to sample.
 *
 * sample_walk and sample_plain are the same sampler with another walk of the user stack: our own (bpf/unwind.h), or the kernel's
 * helper (frame pointers, at most kernel.perf_event_max_stack frames) where bpf_loop is missing. The follow programs are loaded when
 * there are pids or tids to follow, the space programs when there are tables. Everything that goes wrong is counted in
 * `counters`. */
#include "bpf/kernel.h"

#include "bpf/event.h"
#include "bpf/unwind.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 filter = FILTER_ALL;
const volatile __u32 max_user = WALK_MAX_USER;
const volatile __u32 want_kernel = 1, want_user = 1, use_tables = 1;
const volatile __u64 wake_bytes =
	1 << 19; /* the reader is woken when this much of the ring is full */

/* Mixed into the marks of the seen-cache: a new value makes every CPU send the contents of stacks again. */
volatile __u64 seen_epoch = 1;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* A power of two above WALK_MAX_KERNEL + WALK_MAX_USER, so that an index can be bounded by a mask. */
enum { SCRATCH_ADDRS = 1024 };
/* A read of user memory takes about as long for so many bytes as for a word: the next frames' words are there, too. */
enum { WINDOW = 256 };

struct scratch {
	struct event_stack head;
	__u64 addr[SCRATCH_ADDRS];
	struct walk walk;
	__u64 window_at, has_window; /* of the stack that is being walked */
	__u64 window[WINDOW / 8];
	__u64 user_hash;
	__u64 raw_since_ns;
	__u32 raw_sent;
	__u32 index; /* its own */
	/* Of bpf/off_cpu.h. */
	struct wait_info wait;
	__u64 task; /* whose wait it is, until its user part was taken; 0: none */
};
/* Samples interrupt waits, which come between the wait of one task and the waking of another. */
enum { SCRATCH_SAMPLE = 0, SCRATCH_WAIT, SCRATCH_WAKER, SCRATCHES };
/* What callbacks of loops get: the verifier follows a pointer through the stack, not through a map. */
struct scratch_ref {
	struct scratch *s;
};
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

enum { SEEN_SLOTS = 4096 };
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid or tid */
	__type(value, struct target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct glob_program);
} comm_glob SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroup SEC(".maps");

static __always_inline struct scratch *scratch_for(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	if (s)
		s->index = index;
	return s;
}

/* --- what user space tells about address spaces (bpf/space.h) ------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct space_process);
} processes SEC(".maps");

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

static __always_inline void add(__u32 which, __u64 more)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		*n += more;
}

static __always_inline void count(__u32 which)
{
	add(which, 1);
}

/* --- what the walk needs -------------------------------------------------------------------------------------------- */

static __always_inline struct scratch *scratch_of(struct walk *w)
{
	return (void *)w - offsetof(struct scratch, walk);
}

static __always_inline int walk_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	(void)w;
	return bpf_probe_read_user(to, size, (const void *)address) != 0;
}

/* A word of the stack. */
static __always_inline int walk_word(struct walk *w, __u64 address, __u64 *out)
{
	struct scratch *s = scratch_of(w);
	__u64 at = address - s->window_at;

	if (at > WINDOW - 8 || !s->has_window) {
		s->has_window = !bpf_probe_read_user(s->window, WINDOW, (const void *)address);
		if (!s->has_window)
			return 1;
		s->window_at = address;
		at = 0;
	}
	*out = *(__u64 *)((void *)s->window + at);
	return 0;
}

static __always_inline int walk_find(struct walk *w, __u64 address)
{
	struct space_block_key key = { .image = w->image };
	const struct space_mapping *m;
	struct space_block *b;

	if (!w->n_maps)
		return 1;
	if (w->n_maps > SPACE_BLOCK_MAPS) {
		key.block = SPACE_INDEX;
		b = bpf_map_lookup_elem(&blocks, &key);
		if (!b)
			return 1;
		key.block = search_index(w, b, address);
	}
	b = bpf_map_lookup_elem(&blocks, &key);
	if (!b)
		return 1;
	m = search_maps(w, b, address);
	if (address < m->start || address >= m->end)
		return 1;
	w->map = *m;
	return 0;
}

static __always_inline struct space_table *walk_table(struct walk *w, __u32 index)
{
	(void)w;
	return bpf_map_lookup_elem(&tables, &index);
}

static __always_inline const void *walk_chunk(struct walk *w, __u32 chunk)
{
	__u32 segment = chunk / UNWIND_SEGMENT_CHUNKS, at = chunk % UNWIND_SEGMENT_CHUNKS;
	void *inner = bpf_map_lookup_elem(&segments, &segment);

	(void)w;
	return inner ? bpf_map_lookup_elem(inner, &at) : 0;
}

static __always_inline struct known_frame *walk_known(struct walk *w, __u32 i)
{
	__u32 which = scratch_of(w)->index != SCRATCH_SAMPLE; /* what interrupts has its own */
	struct known_frames *k = bpf_map_lookup_elem(&known, &which);

	return k ? &k->frames[i & (KNOWN_FRAMES - 1)] : 0;
}

#define HASH_SEED 0xc2b2ae3d27d4eb4full
static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static __always_inline void walk_put(struct walk *w, __u64 frame)
{
	struct scratch *s = scratch_of(w);

	s->addr[(s->head.n_kernel + w->n) & (SCRATCH_ADDRS - 1)] = frame;
	s->user_hash = mix(s->user_hash, frame);
	w->n++;
}

/* A global function: the verifier looks at it once, not in every state that the short way ends in. */
__weak int walk_any_frame(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s ? walk_frame(&s->walk) : 1;
}

static long walk_step(__u32 i, void *ctx)
{
	struct scratch_ref *ref = ctx;

	(void)i;
	return walk_known_frame(&ref->s->walk) && walk_any_frame(ref->s->index);
}

/* --- whom to sample ------------------------------------------------------------------------------------------------- */

static __always_inline int is_target(__u32 id)
{
	struct target *t = bpf_map_lookup_elem(&targets, &id);

	return t && !t->wait_exec;
}

/* Runs the compiled glob over the thread's name: a set of positions, one bit each, moved by every byte. */
static __always_inline int comm_matches(const char *comm)
{
	__u32 zero = 0;
	struct glob_program *g = bpf_map_lookup_elem(&comm_glob, &zero);
	__u64 at;

	if (!g)
		return 0;
	at = 1 | (g->star & 1) << 1;
	for (int i = 0; i < EVENT_COMM_LEN; i++) {
		__u8 c = comm[i];

		if (c == 0)
			break;
		at = ((at & g->match[c]) << 1) | (at & g->star);
		at |= (at & g->star) << 1;
	}
	return (at & g->accept) != 0;
}

static __always_inline int wanted(__u32 tgid, __u32 tid, const char *comm)
{
	switch (filter) {
	case FILTER_TGID:
		return is_target(tgid);
	case FILTER_TID:
		return is_target(tid);
	case FILTER_COMM:
		return comm_matches(comm);
	case FILTER_CGROUP:
		return bpf_current_task_under_cgroup(&cgroup, 0) == 1;
	}
	return 1;
}

/* --- one sample ------------------------------------------------------------------------------------------------------ */

/* Registers are read as whole words through volatile: narrowed or merged context loads are refused by the verifier. */
#define TAKE(word, field) regs[word] = *(volatile __u64 *)&ctx->regs.field

static __always_inline void regs_of_interrupt(struct bpf_perf_event_data *ctx, __u64 *regs)
{
	TAKE(0, r15), TAKE(1, r14), TAKE(2, r13), TAKE(3, r12), TAKE(4, rbp), TAKE(5, rbx);
	TAKE(6, r11), TAKE(7, r10), TAKE(8, r9), TAKE(9, r8), TAKE(10, rax), TAKE(11, rcx);
	TAKE(12, rdx), TAKE(13, rsi), TAKE(14, rdi), TAKE(16, rip), TAKE(17, cs), TAKE(19, rsp);
}

/* The user registers saved when the task entered the kernel. False for tasks without a user side. */
static __always_inline int regs_of_task(__u64 *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!task->mm || (task->flags & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER)))
		return 0;
	if (bpf_probe_read_kernel(regs, PT_REGS_WORDS * 8, (void *)bpf_task_pt_regs(task)))
		return 0;
	return regs[PT_IP] != 0;
}

static __always_inline int has_user_side(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm) && !(BPF_CORE_READ(task, flags) & TASK_PF_KTHREAD);
}

/* User addresses by the kernel's helper, which cannot say why it ended. */
static __always_inline void walk_by_helper(struct bpf_perf_event_data *ctx, struct scratch *s)
{
	long bytes = bpf_get_stack(ctx, &s->addr[s->head.n_kernel & 255], WALK_MAX_KERNEL * 8,
				   BPF_F_USER_STACK);

	if (bytes <= 0)
		return;
	s->head.n_user = ((__u64)bytes / 8) & 255;
	s->head.walk_end = s->head.n_user >= max_user ? WALK_DEPTH : WALK_COMPLETE;
}

/* By our own walk. */
static __always_inline void walk_by_rules(struct scratch *s, __u32 tgid, __u64 now_ns)
{
	struct walk *w = &s->walk;
	struct space_process *p = use_tables ? bpf_map_lookup_elem(&processes, &tgid) : 0;
	struct scratch_ref ref = { s };

	w->use_tables = use_tables;
	w->max = max_user;
	w->image = p ? p->image : 0;
	w->n_maps = p ? p->n_maps : 0;
	s->has_window = 0;
	s->user_hash = HASH_SEED;
	w->settled = p && now_ns - p->sent_ns > SPACE_SETTLED_NS;
	walk_begin(w);
	if (w->regs[PT_CS] == X86_USER32_CS) {
		append(w, FRAME_ADDRESS | w->ip);
		w->end = WALK_32BIT;
	} else {
		bpf_loop(WALK_MAX_USER + 1, walk_step, &ref, 0);
	}
	add(COUNT_BY_TABLE, w->by_table);
	add(COUNT_BY_FP, w->by_fp);
	s->head.n_user = w->n;
	s->head.walk_end = w->end;
	s->head.flags = STACK_FRAMES | (w->has_address ? 0 : STACK_PORTABLE);
}

/* Fills s with the stack. */
static __always_inline void take_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
				       __u32 tgid, __u64 now_ns, int plain)
{
	__u64 *regs = s->walk.regs;
	int in_user;

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	regs_of_interrupt(ctx, regs);
	in_user = (LOAD(regs[PT_CS]) & 3) == 3;
	if (!in_user && want_kernel) {
		long bytes = bpf_get_stack(ctx, s->addr, WALK_MAX_KERNEL * 8, 0);

		if (bytes > 0)
			s->head.n_kernel = ((__u64)bytes / 8) & 127;
	}
	if (!want_user)
		return;
	if (plain) {
		if (in_user || has_user_side())
			walk_by_helper(ctx, s);
	} else if (in_user || regs_of_task(regs)) {
		walk_by_rules(s, tgid, now_ns);
	}
}

/* Returns the number of its addresses. Our walk has hashed its own user part; most: of how many addresses that is left: those of the kernel
 * (WALK_MAX_KERNEL), or those of both sides (twice that). */
static __always_inline __u32 hash_stack(struct scratch *s, const __u32 most)
{
	__u64 shape = (__u64)s->head.n_kernel << 48 | (__u64)s->head.n_user << 32 |
		      s->head.walk_end << 16 | s->head.syscall << 4 | s->head.flags;
	const int both = most > WALK_MAX_KERNEL;
	__u64 hash = mix(shape, both || !s->head.n_user ? HASH_SEED : s->user_hash);

	/* Read anew each time: the verifier must not conclude from a loop that ended how many there are. */
	for (__u32 i = 0; i < most; i++) {
		if (i >= LOAD(s->head.n_kernel) + (both ? LOAD(s->head.n_user) : 0))
			break;
		hash = mix(hash, s->addr[i]);
	}
	s->head.stack_hash = hash ? hash : 1;
	return (__u32)LOAD(s->head.n_kernel) + LOAD(s->head.n_user);
}

/* Sends the contents unless this CPU has sent them. A refused stack stays unmarked and is tried again with its next sample. */
static __always_inline void send_stack(struct scratch *s, __u32 n)
{
	__u32 slot = s->head.stack_hash & (SEEN_SLOTS - 1);
	__u64 *mark = bpf_map_lookup_elem(&seen, &slot);
	__u64 want = s->head.stack_hash ^ (seen_epoch << 48);
	__u64 bytes = sizeof s->head + (__u64)(n & (SCRATCH_ADDRS - 1)) * 8;

	if (!mark || *mark == want)
		return;
	if (bpf_ringbuf_output(&ring, s, bytes, BPF_RB_NO_WAKEUP)) {
		count(COUNT_STACK_RING_FULL);
		return;
	}
	*mark = want;
	count(COUNT_STACKS);
}

/* of: which part of wake_bytes is enough. */
static __always_inline __u64 wake_flags(__u32 of)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes / of ? BPF_RB_FORCE_WAKEUP
									      : BPF_RB_NO_WAKEUP;
}

static __always_inline void send_sample(struct event_sample *ev)
{
	count(bpf_ringbuf_output(&ring, ev, sizeof *ev, wake_flags(1)) ? COUNT_RING_FULL
								       : COUNT_SAMPLES);
}

/* --- a sample with its stack ----------------------------------------------------------------------------------------- */

/* No more of these a second and CPU are sent, and none when half of the ring is full: other samples need the room. */
enum { RAW_PER_SECOND = 500 };
enum { RAW_PIECE = 512, RAW_SMALL = 2 << 10, RAW_MIDDLE = 8 << 10 };

static __always_inline int raw_allowed(struct scratch *s, __u64 now_ns)
{
	if (now_ns - s->raw_since_ns > 1000000000) {
		s->raw_since_ns = now_ns;
		s->raw_sent = 0;
	}
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes)
		return 0;
	return s->raw_sent++ < RAW_PER_SECOND;
}

/* Whether a stack of more than this many bytes can be read. */
static __always_inline int is_deeper(const struct walk *w, __u32 bytes)
{
	__u64 word;

	return !bpf_probe_read_user(&word, sizeof word, (void *)(w->regs[PT_SP] + bytes));
}

/* room is a constant, as the ring demands. A piece that is not there is zeros: a page that was never touched. */
static __always_inline int send_raw(const struct event_sample *ev, const struct wait_info *wait,
				    struct walk *w, const __u32 room)
{
	struct event_raw *raw = bpf_ringbuf_reserve(&ring, sizeof *raw + room, 0);
	__u64 sp = w->regs[PT_SP];

	if (!raw)
		return 0;
	raw->ev.sample = *ev;
	raw->ev.sample.kind = EVENT_RAW;
	if (wait)
		raw->ev.wait = *wait;
	else
		raw->ev.wait = (struct wait_info){ 0 };
	raw->table = w->missing;
	__builtin_memcpy(raw->regs, w->regs, sizeof raw->regs);
	raw->stack_bytes = 0;
	for (__u32 i = 0; i < room / RAW_PIECE; i++)
		if (!bpf_probe_read_user(raw->stack + i * RAW_PIECE, RAW_PIECE,
					 (void *)(sp + i * RAW_PIECE)))
			raw->stack_bytes = (i + 1) * RAW_PIECE;
	bpf_ringbuf_submit(raw, wake_flags(4));
	count(COUNT_SAMPLES);
	count(COUNT_RAW);
	return 1;
}

static __always_inline int send_with_stack(const struct event_sample *ev,
					   const struct wait_info *wait, struct scratch *s)
{
	struct walk *w = &s->walk;

	if (!raw_allowed(s, ev->time_ns))
		return 0;
	if (is_deeper(w, RAW_MIDDLE) || is_deeper(w, RAW_MAX_STACK / 2))
		return send_raw(ev, wait, w, RAW_MAX_STACK);
	if (is_deeper(w, RAW_SMALL))
		return send_raw(ev, wait, w, RAW_MIDDLE);
	return send_raw(ev, wait, w, RAW_SMALL);
}

/* The kernel part goes its ordinary way. wait is NULL for samples of a CPU. */
static __always_inline int sample_raw(struct event_sample *ev, const struct wait_info *wait,
				      struct scratch *s)
{
	__u16 n_user = s->head.n_user;
	__u32 n;

	s->head.n_user = 0;
	s->head.walk_end = WALK_NO_USER;
	n = hash_stack(s, WALK_MAX_KERNEL);
	ev->stack_hash = n ? s->head.stack_hash : 0;
	if (send_with_stack(ev, wait, s)) {
		if (n)
			send_stack(s, n);
		return 1;
	}
	count(COUNT_RAW_REFUSED);
	s->head.n_user = n_user;
	s->head.walk_end = WALK_NOT_LOADED;
	return 0;
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, int plain)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct event_sample ev = { .kind = EVENT_SAMPLE };
	struct scratch *s;
	__u32 n;

	ev.tid = (__u32)pid_tgid;
	ev.tgid = pid_tgid >> 32;
	if (ev.tid == 0)
		return 0; /* idle */
	bpf_get_current_comm(ev.comm, sizeof ev.comm);
	if (!wanted(ev.tgid, ev.tid, ev.comm))
		return 0;
	s = scratch_for(SCRATCH_SAMPLE);
	if (!s)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	ev.cpu = bpf_get_smp_processor_id();
	ev.cgroup_id = bpf_get_current_cgroup_id();
	take_stack(ctx, s, ev.tgid, ev.time_ns, plain);
	if (!plain && s->head.walk_end == WALK_NOT_LOADED && sample_raw(&ev, 0, s))
		return 0;
	n = hash_stack(s, (plain ? 2 : 1) * WALK_MAX_KERNEL);
	if (n) {
		ev.stack_hash = s->head.stack_hash;
		send_stack(s, n);
	}
	send_sample(&ev);
	return 0;
}

SEC("perf_event")
int sample_walk(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 0);
}

SEC("perf_event")
int sample_plain(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 1);
}

/* --- address spaces that begin and end -------------------------------------------------------------------------------- */

/* A child has its parent's mappings. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(space_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, child_tgid = child->tgid;
	struct space_process *p;
	struct space_process copy;

	if (parent_tgid == child_tgid)
		return 0;
	p = bpf_map_lookup_elem(&processes, &parent_tgid);
	if (!p)
		return 0;
	copy = *p;
	bpf_map_update_elem(&processes, &child_tgid, &copy, BPF_ANY);
	return 0;
}

/* Another program: nothing that was known about its mappings holds. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(space_exec, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	bpf_map_delete_elem(&processes, &tgid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(space_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (task->signal->live.counter == 0)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}

/* --- following targets ---------------------------------------------------------------------------------------------- */

/* Runs before the child can: no sample of it is missed. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, child_tgid = child->tgid;
	struct target *t;
	struct target copy;

	if (filter != FILTER_TGID || parent_tgid == child_tgid)
		return 0;
	t = bpf_map_lookup_elem(&targets, &parent_tgid);
	if (!t)
		return 0;
	copy = *t;
	if (bpf_map_update_elem(&targets, &child_tgid, &copy, BPF_ANY))
		count(COUNT_TARGETS_FULL);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (t)
		t->wait_exec = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *task)
{
	__u32 id = filter == FILTER_TID ? task->pid : task->tgid;

	if (filter == FILTER_TGID && task->signal->live.counter > 0)
		return 0;
	bpf_map_delete_elem(&targets, &id);
	return 0;
}

#include "bpf/off_cpu.h"
