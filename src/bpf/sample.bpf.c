// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* bpf/sample.bpf.c: one sample per timer tick of a CPU, and the table of processes to sample.
 *
 * sample_walk and sample_plain are the same sampler with another walk of the user stack: our own loop, or the kernel's helper
 * (at most kernel.perf_event_max_stack frames) where bpf_loop is missing. The follow programs are loaded when there are pids or
 * tids to follow. Everything that goes wrong is counted in `counters`. */
#include "bpf/kernel.h"

#include "bpf/event.h"
#include "bpf/walk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 filter = FILTER_ALL;
const volatile __u32 max_user = WALK_MAX_USER;
const volatile __u32 want_kernel = 1, want_user = 1;
const volatile __u64 wake_bytes =
	1 << 19; /* the reader is woken when this much of the ring is full */

/* Mixed into the marks of the seen-cache: a new value makes every CPU send the contents of stacks again. */
volatile __u64 seen_epoch = 1;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

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

static __always_inline void count(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		*n += 1;
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

struct hash_state {
	struct scratch *in;
	__u64 hash;
	__u32 n;
};

static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static long hash_step(__u32 i, void *ctx)
{
	struct hash_state *h = ctx;

	if (i >= h->n)
		return 1;
	h->hash = mix(h->hash, h->in->addr[i & (SCRATCH_ADDRS - 1)]);
	return 0;
}

/* Registers are read as whole words through volatile: narrowed or merged context loads are refused by the verifier. */
static __always_inline void regs_of_interrupt(struct bpf_perf_event_data *ctx, struct walk_regs *r)
{
	r->ip = *(volatile __u64 *)&ctx->regs.rip;
	r->sp = *(volatile __u64 *)&ctx->regs.rsp;
	r->bp = *(volatile __u64 *)&ctx->regs.rbp;
	r->cs = *(volatile __u64 *)&ctx->regs.cs;
}

/* The user registers saved when the task entered the kernel. False for tasks without a user side. */
static __always_inline int regs_of_task(struct walk_regs *r)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs___x86 *saved;

	if (!task->mm || (task->flags & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER)))
		return 0;
	saved = (struct pt_regs___x86 *)bpf_task_pt_regs(task);
	r->ip = BPF_CORE_READ(saved, ip);
	r->sp = BPF_CORE_READ(saved, sp);
	r->bp = BPF_CORE_READ(saved, bp);
	r->cs = BPF_CORE_READ(saved, cs);
	return r->ip != 0;
}

static __always_inline int has_user_side(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm) && !(BPF_CORE_READ(task, flags) & TASK_PF_KTHREAD);
}

/* User addresses by the kernel's helper, which cannot say why it ended. */
static __always_inline void walk_by_helper(struct bpf_perf_event_data *ctx, struct walk *w)
{
	long bytes = bpf_get_stack(ctx, &w->out->addr[w->base & 255], WALK_MAX_KERNEL * 8,
				   BPF_F_USER_STACK);

	w->end = WALK_NO_USER;
	if (bytes <= 0)
		return;
	w->n = ((__u64)bytes / 8) & 255;
	w->end = WALK_COMPLETE;
	if (w->n >= w->max)
		w->end = WALK_DEPTH;
}

/* Fills s with the stack and its hash; returns the number of addresses. */
static __always_inline __u32 take_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
					int plain)
{
	struct walk_regs regs;
	struct walk w = { .out = s, .end = WALK_NO_USER };
	struct hash_state h = { .in = s };
	int in_user;

	regs_of_interrupt(ctx, &regs);
	in_user = (regs.cs & 3) == 3;
	if (!in_user && want_kernel) {
		long bytes = bpf_get_stack(ctx, s->addr, WALK_MAX_KERNEL * 8, 0);

		if (bytes > 0)
			w.base = ((__u64)bytes / 8) & 127;
	}
	w.max = max_user;
	if (want_user && plain) {
		if (in_user || has_user_side())
			walk_by_helper(ctx, &w);
	} else if (want_user) {
		if (in_user || regs_of_task(&regs))
			walk_user(&w, &regs);
	}
	s->head.kind = EVENT_STACK;
	s->head.n_kernel = w.base;
	s->head.n_user = w.n;
	s->head.walk_end = w.end;
	s->head.reserved = 0;
	h.n = w.base + w.n;
	h.hash = mix(((__u64)w.base << 32 | w.end << 16 | w.n), 0xc2b2ae3d27d4eb4full);
	if (plain) {
		for (__u32 i = 0; i < 2 * WALK_MAX_KERNEL; i++)
			if (hash_step(i, &h))
				break;
	} else {
		bpf_loop(WALK_MAX_KERNEL + WALK_MAX_USER, hash_step, &h, 0);
	}
	s->head.stack_hash = h.hash ? h.hash : 1;
	return h.n;
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

static __always_inline void send_sample(struct event_sample *ev)
{
	__u64 flags = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes
			      ? BPF_RB_FORCE_WAKEUP
			      : BPF_RB_NO_WAKEUP;

	count(bpf_ringbuf_output(&ring, ev, sizeof *ev, flags) ? COUNT_RING_FULL : COUNT_SAMPLES);
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, int plain)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct event_sample ev = { .kind = EVENT_SAMPLE };
	struct scratch *s;
	__u32 zero = 0, n;

	ev.tid = (__u32)pid_tgid;
	ev.tgid = pid_tgid >> 32;
	if (ev.tid == 0)
		return 0; /* idle */
	bpf_get_current_comm(ev.comm, sizeof ev.comm);
	if (!wanted(ev.tgid, ev.tid, ev.comm))
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	ev.time_ns = bpf_ktime_get_ns();
	ev.cpu = bpf_get_smp_processor_id();
	ev.cgroup_id = bpf_get_current_cgroup_id();
	n = take_stack(ctx, s, plain);
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
