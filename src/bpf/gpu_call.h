/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/gpu_call.h: one call of a probed function: its caller, whether another call made it, its
 * arguments, and what is sent for it. */
#ifndef CRESSET_BPF_GPU_CALL_H
#define CRESSET_BPF_GPU_CALL_H

#include "bpf/gpu_event.h"
#include "bpf/stack.h"
#include "bpf/targets.h"
#include "bpf/task_map.h"

const volatile __u64 gpu_min_wait_ns = 1000000; /* shorter waits are only counted */
/* Stacks of a thread in a window of time; beyond that only a sample of the calls gets one. */
const volatile __u32 gpu_window_stacks = 200;
#define GPU_WINDOW_NS 100000000ull
const volatile __u32 gpu_want_waits = 1; /* as separate events */
const volatile __u32 gpu_has_times = 0;  /* the times of threads are recorded */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPU_MAX_ROWS);
	__type(key, __u32);
	__type(value, struct gpu_probe_row);
} gpu_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GPU_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} gpu_counters SEC(".maps");

struct gpu_call {
	__u64 sp, ret, ip, now_ns, bytes;
	__u32 tgid, tid;
	char comm[EVENT_COMM_LEN];
};

/* An array as described in the program's memory, and its size in bytes. */
struct gpu_array {
	__u64 size[3];
	__u32 type, channels, flags, reserved;
	__u64 cell_bytes, bytes;
};
enum { GPU_MAX_LEVELS = 20 }; /* limit: counted levels of a GPU array */

/* Where a call is handled, each with a scratch of the same index for its stack. A task that handles
 * a call may be preempted by another that does: that one takes the next place. */
struct gpu_place {
	__u64 busy;
	struct gpu_call call;
	struct event_gpu ev;
	struct gpu_array array;
	struct gpu_thread none; /* for a thread that is seen for the first time */
	__u32 index, reserved;
};
enum { GPU_PLACES = 2 };
_Static_assert((int)GPU_PLACES <= (int)SCRATCHES, "each has its scratch");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GPU_PLACES);
	__type(key, __u32);
	__type(value, struct gpu_place);
} gpu_places SEC(".maps");

static __always_inline void gpu_count(__u32 which, __u64 n)
{
	__u64 *at = bpf_map_lookup_elem(&gpu_counters, &which);

	if (at) /* a task preempted here continues on the same CPU */
		__sync_fetch_and_add(at, n);
}

static __always_inline __u64 switches_now(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, nvcsw);
}

/* --- the caller ------------------------------------------------------------------------------- */

/* Returns NULL if all are taken, which is counted. Give it back with give_place. */
static __always_inline struct gpu_place *take_place(void)
{
	for (__u32 i = 0; i < GPU_PLACES; i++) {
		__u32 at = i;
		struct gpu_place *p = bpf_map_lookup_elem(&gpu_places, &at);

		if (p && __sync_val_compare_and_swap(&p->busy, 0, 1) == 0) {
			p->index = i;
			return p;
		}
	}
	gpu_count(GPU_COUNT_BUSY, 1);
	return 0;
}

static __always_inline void give_place(struct gpu_place *p)
{
	__sync_lock_test_and_set(&p->busy, 0);
}

/* A register as a whole word. In assembly, because the verifier refuses what compilers make of
 * several such loads: one load from a computed address. */
static __always_inline __u64 word_of(struct pt_regs *ctx, const int word)
{
	__u64 value;

	asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value) : "r"(ctx), "i"(word * 8));
	return value;
}

enum { PT_DI = 14, PT_SI = 13, PT_DX = 12, PT_CX = 11, PT_R8 = 9, PT_R9 = 8, PT_AX = 10 };
static __always_inline __u64 argument(struct pt_regs *ctx, __u32 n)
{
	switch (n) {
	case 0:
		return word_of(ctx, PT_DI);
	case 1:
		return word_of(ctx, PT_SI);
	case 2:
		return word_of(ctx, PT_DX);
	case 3:
		return word_of(ctx, PT_CX);
	case 4:
		return word_of(ctx, PT_R8);
	case 5:
		return word_of(ctx, PT_R9);
	}
	return 0;
}

/* Returns false if the task is not a target. */
static __always_inline int begin_call(struct pt_regs *ctx, struct gpu_call *call)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	call->tid = (__u32)pid_tgid;
	call->tgid = pid_tgid >> 32;
	bpf_get_current_comm(call->comm, sizeof call->comm);
	if (!wanted(call->tgid, call->tid, call->comm))
		return 0;
	call->sp = word_of(ctx, PT_SP);
	call->ip = word_of(ctx, PT_IP);
	if (bpf_probe_read_user(&call->ret, sizeof call->ret, (void *)call->sp)) {
		gpu_count(GPU_COUNT_UNREADABLE, 1);
		return 0;
	}
	call->now_ns = bpf_ktime_get_ns();
	return 1;
}

static __always_inline struct gpu_thread *thread_of(struct gpu_place *p)
{
	__u32 tid = p->call.tid;
	struct gpu_thread *t = bpf_map_lookup_elem(&gpu_threads, &tid);

	if (t)
		return t;
	p->none.tgid = p->call.tgid; /* the rest is always zeros */
	bpf_map_update_elem(&gpu_threads, &tid, &p->none, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&gpu_threads, &tid);
	if (!t)
		gpu_count(GPU_COUNT_THREADS_FULL, 1);
	return t;
}

/* Whether another probed call made this one: its caller is in that call's library, and that call's
 * frame is further up the stack and still has its return address (or that of the probe at its
 * return). */
static __always_inline int is_nested(const struct gpu_thread *t, const struct gpu_probe_row *row,
				     const struct gpu_call *call)
{
	__u64 ret = call->ret;
	int is_inside = (ret >= t->from && ret < t->to) ||
			(ret >= call->ip - row->below && ret < call->ip + row->beyond);

	if (!is_inside || call->sp >= t->sp)
		return 0;
	if (bpf_probe_read_user(&ret, sizeof ret, (void *)t->sp) || ret != LOAD(t->ret)) {
		const struct gpu_probe_row *outer;
		__u32 at = t->row;

		outer = bpf_map_lookup_elem(&gpu_rows, &at);
		if (!outer || !(outer->what & GPU_AT_RETURN))
			return 0;
	}
	gpu_count(GPU_COUNT_NESTED, 1);
	return 1;
}

/* --- stacks ----------------------------------------------------------------------------------- */

#define TAKE_WORD(word) regs[word] = word_of(ctx, word)
static __always_inline void copy_regs(struct pt_regs *ctx, __u64 *regs)
{
	TAKE_WORD(0), TAKE_WORD(1), TAKE_WORD(2), TAKE_WORD(3), TAKE_WORD(4), TAKE_WORD(5);
	TAKE_WORD(6), TAKE_WORD(7), TAKE_WORD(8), TAKE_WORD(9), TAKE_WORD(10), TAKE_WORD(11);
	TAKE_WORD(12), TAKE_WORD(13), TAKE_WORD(14), TAKE_WORD(16), TAKE_WORD(17), TAKE_WORD(19);
}

/* A global function: verified once. */
__weak int gpu_walk(__u32 index, __u32 tgid, __u64 now_ns)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	if (s)
		walk_by_rules(s, tgid, now_ns, WALK_BY_PARTS);
	return 0;
}

/* t: for a call that returns: takes the stack as it was at the call's entry. */
static __always_inline void take_gpu_stack(struct pt_regs *ctx, struct scratch *s,
					   const struct gpu_thread *t, __u32 tgid, __u64 now_ns)
{
	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	s->patched_at = s->inner_at = s->back_at = 0;
	no_call(s);
	copy_regs(ctx, s->walk.regs);
	if (t) {
		s->walk.regs[PT_IP] = t->ip;
		s->walk.regs[PT_SP] = t->sp;
		s->patched_at = t->sp;
		s->patched_word = t->ret;
	}
	if (want_user)
		gpu_walk(s->index, tgid, now_ns);
}

static __always_inline void send_gpu(struct event_gpu *ev)
{
	if (!bpf_ringbuf_output(&ring, ev, sizeof *ev, wake_flags(FROM_OTHERS, 1)))
		return;
	gpu_count(ev->gpu.what == GPU_HEAP ? GPU_COUNT_HEAP_LOST : GPU_COUNT_LOST, 1);
	if (ev->gpu.what == GPU_LAUNCH)
		gpu_count(GPU_COUNT_LOST_LAUNCHES, ev->gpu.weight);
}

static __always_inline void fill_event(struct event_gpu *ev, const struct gpu_thread *t,
				       __u32 flags, __u32 what, __u64 now_ns)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	__builtin_memset(ev, 0, sizeof *ev);
	ev->sample.kind = EVENT_GPU;
	ev->sample.tid = (__u32)pid_tgid;
	ev->sample.tgid = pid_tgid >> 32;
	bpf_get_current_comm(ev->sample.comm, sizeof ev->sample.comm);
	ev->sample.cpu = bpf_get_smp_processor_id();
	ev->sample.uid = uid_of((struct task_struct *)bpf_get_current_task());
	ev->sample.cgroup_id = bpf_get_current_cgroup_id();
	ev->sample.time_ns = ev->gpu.start_ns = now_ns;
	ev->gpu.parts = PART_GPU;
	ev->gpu.what = what;
	ev->gpu.weight = 1;
	ev->gpu.context = t->context;
	ev->gpu.flags = flags;
}

/* Sends the place's event with the call's stack. Returns its hash; 0: none in the kernel. */
static __always_inline __u64 send_with(struct pt_regs *ctx, struct gpu_place *p,
				       const struct gpu_thread *at_return)
{
	struct scratch *s = scratch_for(p->index);
	struct event_gpu *ev = &p->ev;
	__u32 n;

	if (!s)
		return 0;
	ev->sample.mappings = mappings_of((struct task_struct *)bpf_get_current_task());
	take_gpu_stack(ctx, s, at_return, ev->sample.tgid, ev->sample.time_ns);
	if (s->head.walk_end == WALK_NOT_LOADED) {
		s->out_wait.sample = ev->sample;
		s->out_wait.wait = *(const struct wait_info *)&ev->gpu;
		if (sample_raw(s, FROM_OTHERS, WALK_BY_PARTS))
			return 0;
	}
	ev->sample.kind = EVENT_GPU;
	n = hash_stack(s, WALK_MAX_KERNEL);
	ev->sample.stack_hash = n ? s->head.stack_hash : 0;
	if (n)
		send_stack(s, n, FROM_OTHERS);
	send_gpu(ev);
	return ev->sample.stack_hash;
}

/* --- samples of a heap ------------------------------------------------------------------------ */

/* The library has chosen them: each is sent. Threads need no row. */
static __always_inline void heap_sample(struct pt_regs *ctx, const struct gpu_probe_row *row,
					struct gpu_place *p)
{
	fill_event(&p->ev, &p->none, row->flags, GPU_HEAP, p->call.now_ns);
	p->ev.gpu.correlation = argument(ctx, 0);
	p->ev.gpu.value = argument(ctx, 1);
	p->ev.gpu.weight = argument(ctx, 2);
	send_with(ctx, p, 0);
}

/* --- frequent calls: launches and copies ------------------------------------------------------ */

/* Up to gpu_window_stacks stacks are taken of all calls, then of one call in 2, 4, 8 …; in the
 * next window of one call in as many as this window would have needed. */
static __always_inline void next_window(struct gpu_rate *r, __u64 now_ns)
{
	if (now_ns - r->window_ns < GPU_WINDOW_NS)
		return;
	r->one_of = now_ns - r->window_ns < 2 * GPU_WINDOW_NS && gpu_window_stacks
			    ? r->seen / gpu_window_stacks
			    : 0;
	r->window_ns = now_ns;
	r->seen = r->taken = 0;
}

/* Whether this call gets a stack. Chosen by chance, so that no loop of calls is in step with it. */
static __always_inline int takes_stack(struct gpu_rate *r, __u64 now_ns)
{
	next_window(r, now_ns);
	r->skipped++;
	r->seen++;
	if (r->one_of > 1 && bpf_get_prandom_u32() % r->one_of)
		return 0;
	if (++r->taken % (gpu_window_stacks ? gpu_window_stacks : 1) == 0)
		r->one_of = r->one_of ? 2 * r->one_of : 2;
	return 1;
}

static __always_inline void count_call(__u32 calls, __u32 sum, __u64 bytes)
{
	gpu_count(calls, 1);
	gpu_count(sum, bytes);
}

/* Returns false if the call gets no stack. */
static __always_inline int begin_event(struct pt_regs *ctx, struct gpu_thread *t,
				       const struct gpu_probe_row *row, struct gpu_place *p)
{
	const struct gpu_call *call = &p->call;
	__u32 what = GPU_LAUNCH;
	struct gpu_rate *r = &t->rates[GPU_RATE_LAUNCH];

	if (row->what & GPU_STACK) {
		fill_event(&p->ev, t, row->flags, GPU_STACK, call->now_ns);
		p->ev.gpu.correlation = (__u32)argument(ctx, 0);
		p->ev.gpu.value = (__u32)argument(ctx, 1);
		p->ev.gpu.weight = (__u32)argument(ctx, 2);
		return 1;
	}
	if (row->what & GPU_COPY) {
		what = GPU_COPY;
		r = &t->rates[GPU_RATE_COPY];
		count_call(GPU_COUNT_COPIES, GPU_COUNT_COPY_BYTES, call->bytes);
	} else if (row->what & GPU_NCCL) {
		what = GPU_NCCL;
		r = &t->rates[GPU_RATE_NCCL];
		count_call(GPU_COUNT_NCCL, GPU_COUNT_NCCL_BYTES, call->bytes);
	} else {
		gpu_count(GPU_COUNT_LAUNCHES, 1);
	}
	if (!takes_stack(r, call->now_ns))
		return 0;
	fill_event(&p->ev, t, row->flags, what, call->now_ns);
	p->ev.gpu.weight = r->skipped;
	p->ev.gpu.value = call->bytes;
	r->skipped = 0;
	return 1;
}

static __always_inline void counted_call(struct pt_regs *ctx, struct gpu_thread *t,
					 const struct gpu_probe_row *row, struct gpu_place *p)
{
	__u64 hash;

	if (!begin_event(ctx, t, row, p))
		return;
	hash = send_with(ctx, p, 0);
	if (row->what & GPU_LAUNCH)
		t->last_hash = hash;
}

/* Sends the launches of a thread that ends. */
static __always_inline void send_rest(const struct gpu_thread *t)
{
	struct event_gpu ev;

	fill_event(&ev, t, 0, GPU_LAUNCH, bpf_ktime_get_ns());
	ev.gpu.weight = t->rates[GPU_RATE_LAUNCH].skipped;
	ev.sample.stack_hash = t->last_hash;
	send_gpu(&ev);
}

/* --- the times of the thread ------------------------------------------------------------------ */

/* Returns this task's times now. Reads them again if the task was switched in the meantime. */
static __always_inline struct call_times own_times(const struct thread_time *t)
{
	struct call_times c = { 0 };

	for (int i = 0; i < 4; i++) {
		__u64 last_ns = *(const volatile __u64 *)&t->last_ns;

		c = thread_times_now(t, bpf_ktime_get_ns());
		if (*(const volatile __u64 *)&t->last_ns == last_ns)
			break;
	}
	return c;
}

/* The thread enters a call that waits, or leaves it. */
static __always_inline void note_wait(struct gpu_thread *g, __u64 waits_sp)
{
	struct thread_time *t = gpu_has_times ? times_of_current() : 0;
	struct call_times now;

	g->waits_sp = waits_sp;
	if (!t || !t->first_ns)
		return;
	now = own_times(t);
	if (waits_sp)
		thread_calls(t, &now);
	else
		thread_returns(t, &now);
}

/* --- waits ------------------------------------------------------------------------------------ */

static __always_inline void keep_until_return(struct pt_regs *ctx, struct gpu_thread *t,
					      const struct gpu_probe_row *row,
					      const struct gpu_call *call)
{
	t->start_ns = call->now_ns;
	t->bytes = call->bytes;
	t->return_at = call->sp;
	if (row->what & GPU_ALLOC)
		t->address_at = argument(ctx, row->address);
	if (row->bytes == GPU_BYTES_PITCH) {
		t->pitch_at = argument(ctx, row->a);
		t->times = argument(ctx, row->b);
	}
	if (row->what & GPU_WAIT) {
		t->switches = switches_now();
		note_wait(t, call->sp + 8);
	}
}

/* Returns false if the wait is too short. */
static __always_inline int end_wait(struct gpu_thread *t, const struct gpu_probe_row *row,
				    struct event_gpu *ev)
{
	__u64 now_ns = bpf_ktime_get_ns(), length_ns = now_ns - t->start_ns;

	note_wait(t, 0);
	if (!gpu_want_waits)
		return 0;
	if (length_ns < gpu_min_wait_ns) {
		gpu_count(GPU_COUNT_SHORT_WAITS, 1);
		gpu_count(GPU_COUNT_SHORT_NS, length_ns);
		return 0;
	}
	fill_event(ev, t, row->flags, GPU_WAIT, now_ns);
	ev->gpu.start_ns = t->start_ns;
	ev->gpu.value = length_ns;
	ev->gpu.how = switches_now() == t->switches ? GPU_HOW_SPIN : GPU_HOW_SLEEP;
	return 1;
}

#endif
