/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/threads.h: the iterators over threads: one for the threads that exist when recording starts,
 * and one that reports, at its end or on request, their times and pending waits. */
#ifndef CRESSET_BPF_THREADS_H
#define CRESSET_BPF_THREADS_H

#include "bpf/off_cpu.h"
#include "bpf/task_copy.h"

/* Where there are very many pending waits, a report has those of one thread in report_turns. What
 * it sends covers all time since the last report, or weighs report_weight times as much. Set before
 * a report. */
volatile __u32 report_turns = 1, report_turn, report_weight = 1;
volatile __u64 pending_waits; /* seen by the last report; before the first one: number of threads */

SEC("iter/task")
int threads_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_time *t;
	__u32 is;

	if (!task || !task->pid)
		return 0;
	t = keep_thread(task);
	if (!t || t->first_ns)
		return 0;
	t->run_delay = task->sched_info.run_delay;
	t->arrival = task->sched_info.last_arrival;
	t->window = window.number;
	t->last_ns = bpf_ktime_get_ns();
	is = task->on_cpu ? THREAD_RUNS : thread_state(0, state_of(task));
	if (t->is == THREAD_UNKNOWN) /* else it was switched in the meantime */
		t->is = is;
	t->first_ns = t->last_ns;
	pending_waits++;
	return 0;
}

/* Threads whose copied stacks could not be walked to the end: they are copied again, as there may
 * be a table for them by now. */
/* limit: last pending waits copied again after a truncated walk */
enum { COPIED_AGAIN_MAX = 1024 };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COPIED_AGAIN_MAX);
	__type(key, __u32); /* tid */
	__type(value, __u8);
} copied_again SEC(".maps");

static __always_inline __u32 open_waits_key(const struct thread_time *t)
{
	return (__u32)(t->last_ns >> 8) | 1;
}

/* It has not run since its stack was copied, and user space still has the copy. */
static __always_inline int is_copied(const struct task_struct *task, const struct thread_time *t)
{
	__u32 tid = task->pid;

	return t->reported_ns > t->last_ns && t->copied_epoch == seen_epoch && !t->in_call &&
	       !bpf_map_lookup_elem(&copied_again, &tid);
}

/* Reads the memory of another task; fails in programs that may not sleep. */
static __always_inline int copy_from(struct task_struct *task, void *to, __u32 size, __u64 from,
				     int sleepable)
{
	return sleepable ? task_copy(task, to, size, from) : -1;
}

/* Copies a page to its place in the copy: in one read, or the part that is readable. Returns false
 * if it ends there, as stacks have no holes. */
static __always_inline int copy_page(struct task_struct *task, struct event_raw *raw,
				     const __u32 at, __u64 from, int sleepable)
{
	if (!copy_from(task, raw->stack + at, RAW_PAGE, from, sleepable)) {
		raw->stack_bytes = at + RAW_PAGE;
		return 1;
	}
	for (__u32 i = 0; i < RAW_PAGE / RAW_PART; i++) {
		if (copy_from(task, raw->stack + at + i * RAW_PART, RAW_PART, from + i * RAW_PART,
			      sleepable))
			break;
		raw->stack_bytes = at + (i + 1) * RAW_PART;
	}
	return 0;
}

static __always_inline int send_open(struct task_struct *task, struct scratch *s, __u64 now_ns,
				     const __u32 room, int sleepable)
{
	struct event_raw *raw = bpf_ringbuf_reserve(&ring, sizeof *raw + room, 0);
	__u64 sp = s->walk.regs[PT_SP];

	if (!raw)
		return 0;
	begin_sample(&raw->ev.sample, task, EVENT_RAW, now_ns);
	raw->ev.sample.stack_hash = s->head.stack_hash;
	raw->ev.sample.trace = s->trace;
	raw->ev.wait = s->wait;
	raw->table = RAW_NOT_WALKED;
	raw->call_sp = s->call_sp;
	raw->ev.sample.gpu_call = s->gpu_call;
	__builtin_memcpy(raw->regs, s->walk.regs, sizeof raw->regs);
	raw->stack_bytes = 0;
	for (__u32 i = 0; i < room / RAW_PAGE; i++)
		if (!copy_page(task, raw, i * RAW_PAGE, sp + i * RAW_PAGE, sleepable))
			break;
	patch_copies(raw, s, sp, room);
	bpf_ringbuf_submit(raw, BPF_RB_NO_WAKEUP); /* the reader requested the report */
	return 1;
}

/* Whether the thread ran since the copy was made: nothing stops it. */
static __always_inline int ran_since(const struct task_struct *task, const struct thread_time *t,
				     const struct thread_time *copy)
{
	return task->on_cpu || *(volatile __u64 *)&t->last_ns != copy->last_ns;
}

/* Takes the span of a waiting thread, unless the thread ran meanwhile. */
static __always_inline void take_trace_of(struct task_struct *task, const struct thread_time *t,
					  const struct thread_time *copy, struct scratch *s,
					  int sleepable)
{
	if (!traced || !sleepable)
		return;
	trace_of(task, task->tgid, s, sleepable);
	if (ran_since(task, t, copy))
		s->trace = (struct event_trace){ 0 };
}

/* Takes its Python frames, unless the thread ran in the meantime. */
static __always_inline void take_python_of(struct task_struct *task, const struct thread_time *t,
					   const struct thread_time *copy, struct scratch *s,
					   __u64 now_ns, int sleepable)
{
	if (!sleepable)
		return;
	python_collect_of(task, s, now_ns);
	if (ran_since(task, t, copy)) {
		s->head.n_user = s->head.n_python = 0;
		s->head.flags = 0;
	}
}

/* Reports a pending wait again, without its stack. */
static __always_inline void send_again(struct task_struct *task, const struct thread_time *t,
				       const struct thread_time *copy, struct scratch *s,
				       __u64 now_ns, int sleepable)
{
	struct event_wait *ev = bpf_ringbuf_reserve(&ring, sizeof *ev, 0);

	if (!ev) {
		count(COUNT_WAITS_LOST);
		return;
	}
	s->trace = (struct event_trace){ 0 };
	take_trace_of(task, t, copy, s, sleepable);
	begin_sample(&ev->sample, task, EVENT_WAIT, now_ns);
	ev->sample.trace = s->trace;
	ev->wait = s->wait;
	bpf_ringbuf_submit(ev, BPF_RB_NO_WAKEUP);
}

/* copy: of t, including the wait until now. */
static __always_inline void report_open(struct task_struct *task, struct scratch *s,
					struct thread_time *t, struct thread_time *copy,
					const struct wait_filter *filter, const struct away *a,
					__u64 now_ns, int sleepable)
{
	int copied = is_copied(task, t);
	__u64 word;
	int sent;

	if (!wait_choose(filter, copy, a, &s->wait))
		return;
	wait_in_window(&s->wait, &window);
	if (!s->wait.weight_ns)
		return;
	s->wait.weight_ns *= report_weight;
	t->reported_ns = now_ns;
	s->wait.waker_tid = 0;
	s->wait.waker_hash = 0;
	s->wait.waker_comm[0] = 0;
	s->wait.lock = copy->lock;
	s->wait.lock.how = copy->lock.how ? (copy->lock.how & ~LOCK_UNLOCKED) | LOCK_PENDING : 0;
	if (copied) {
		s->wait.going_on = open_waits_key(t);
		send_again(task, t, copy, s, now_ns, sleepable);
		return;
	}
	t->copied_epoch = 0;
	begin_stack(task, s);
	if (!user_regs(task, s->walk.regs) || !use_tables) {
		struct event_wait *ev = begin_wait_event(s, task, now_ns);

		ev->sample.trace = s->trace;
		send_hashed(ev, s, hash_words(s));
		return;
	}
	note_syscall(s);
	patch_return(s, task->pid);
	take_trace_of(task, t, copy, s, sleepable);
	take_python_of(task, t, copy, s, now_ns, sleepable);
	send_stack(s, hash_words(s), FROM_OTHERS);
	s->wait.going_on = open_waits_key(t);
	if (!copy_from(task, &word, sizeof word, s->walk.regs[PT_SP] + RAW_MIDDLE, sleepable))
		sent = send_open(task, s, now_ns, RAW_MAX_STACK, sleepable);
	else
		sent = send_open(task, s, now_ns, RAW_MIDDLE, sleepable);
	if (sent) /* nothing may have been copied: copied_again bounds the retries */
		t->copied_epoch = seen_epoch;
	else
		count(COUNT_WAITS_LOST);
}

/* For a thread that was not switched in this window. */
static __always_inline void enter_unseen(struct task_struct *task, struct thread_time *t)
{
	if (!has_windows || t->window == window.number)
		return;
	enter_window(task, t, 0);
	if (t->last_ns == window.open_ns)
		t->is = thread_state(0, state_of(task));
}

static __always_inline int is_its_turn(const struct task_struct *task)
{
	__u32 turns = report_turns;

	return turns < 2 || (__u32)task->pid % turns == report_turn;
}

static __always_inline int report(struct bpf_iter__task *ctx, int sleepable)
{
	static const char pace[64];
	__u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&open_scratch, &zero);
	struct task_struct *task = ctx->task;
	struct thread_time *t = task && task->pid ? times_of(task) : 0;
	struct wait_filter filter;
	struct thread_time copy;
	struct away a = { 0 };
	__u64 now_ns = bpf_ktime_get_ns();
	int open;

	if (!s || !t || !t->first_ns || t->is == THREAD_DEAD || !wanted_task(task) ||
	    !(want_kernel_threads || is_user_task(task)))
		return 0;
	if (!task->on_cpu)
		enter_unseen(task, t);
	copy = *t;
	filter = shown_waits(&copy);
	enter_window(task, &copy, 1);
	if (copy.is != THREAD_RUNS && task->on_cpu)
		came_unseen(task, &copy, now_ns);
	if (copy.is == THREAD_RUNS) {
		copy.on_ns += now_ns - copy.last_ns;
	} else {
		a = thread_off_cpu(&copy, now_ns, 0);
		thread_adds(&copy, &a);
	}
	open = away_passes(&filter, &a);
	pending_waits += open;
	if (open && !is_its_turn(task))
		open = 0;
	if (open)
		report_open(task, s, t, &copy, &filter, &a, now_ns, sleepable);
	send_thread(&s->out_thread, task, &copy, now_ns, task->pid, 0);
	/* Returns to the reader after every stack, and after 64 threads. */
	bpf_seq_write(ctx->meta->seq, pace, open ? sizeof pace : 1);
	return 0;
}

SEC("iter.s/task")
int threads_report(struct bpf_iter__task *ctx)
{
	return report(ctx, 1);
}

/* Without the user part of pending waits. */
SEC("iter/task")
int threads_report_before_5_18(struct bpf_iter__task *ctx)
{
	return report(ctx, 0);
}

#endif
