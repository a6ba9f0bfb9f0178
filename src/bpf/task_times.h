/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/task_times.h: the state of every thread, its exact times, and the choice of waits that get a
 * stack. */
#ifndef CRESSET_BPF_TASK_TIMES_H
#define CRESSET_BPF_TASK_TIMES_H

#include "bpf/stack.h"
#include "bpf/targets.h"
#include "bpf/task_map.h"

const volatile __u32 want_waits = 0;         /* bits of enum wait_part */
const volatile __u64 min_block_ns = 1000000; /* shorter waits get no stack */
const volatile __u64 max_block_ns = 3600000000000ull;
const volatile __u32 want_kernel_threads = 0, want_wakers = 0, want_waker_stacks = 0;
const volatile __u32 want_locks = 0;  /* blocked time at locks is shown, besides want_waits */
const volatile __u32 at_sys_exit = 0; /* the second way: sched_switch → sys_exit */
const volatile __u32 has_windows = 0; /* there may be more than one window */

/* --- the state of a thread -------------------------------------------------------------------- */

/* Waits of a system call that has not ended (at_sys_exit). */
enum { HELD_WAITS = 4 }; /* limit: waits kept until their system call ends */
struct held_waits {
	__u64 mm, ip;     /* the memory of the stack, and the address of the system call */
	__u64 stack_hash; /* of a wait outside of system calls, with its span */
	struct event_trace trace;
	__u32 n;
	__u32 gpu_call;         /* of such a wait */
	__u32 window, reserved; /* window: of the waits */
	struct wait_info waits[HELD_WAITS];
};

typedef struct held_waits held_waits_t;
TASK_MAP(held, held_waits_t)

/* For the iterator, which may sleep and then continue on another CPU; only one runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} open_scratch SEC(".maps");

/* --- which threads ---------------------------------------------------------------------------- */

static __always_inline int is_user_task(struct task_struct *task)
{
	return !(task->flags & TASK_PF_NO_USER);
}

/* An exiting thread still has waits after its target was forgotten: then t->wanted counts. */
static __always_inline int is_wanted(struct task_struct *task, const struct thread_time *t)
{
	return t->wanted || wanted_task(task);
}

static __always_inline void begin_sample(struct event_sample *ev, struct task_struct *task,
					 __u32 kind, __u64 now_ns)
{
	*ev = (struct event_sample){ .kind = kind, .time_ns = now_ns };
	ev->cpu = bpf_get_smp_processor_id();
	ev->tgid = BPF_CORE_READ(task, tgid);
	ev->tid = BPF_CORE_READ(task, pid);
	ev->uid = uid_of(task);
	ev->cgroup_id = cgroup_of(task);
	ev->mappings = mappings_of(task);
	bpf_probe_read_kernel(ev->comm, sizeof ev->comm, task->comm);
}

/* Builds the event of the wait in s, inside s. */
static __always_inline struct event_wait *begin_wait_event(struct scratch *s,
							   struct task_struct *task, __u64 now_ns)
{
	struct event_wait *ev = &s->out_wait;

	begin_sample(&ev->sample, task, EVENT_WAIT, now_ns);
	ev->wait = s->wait;
	return ev;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* User space writes is_paused last when a window starts, and first when it ends. */
volatile struct switch_window window = { .close_ns = ~0ull,
					 .weight = WINDOW_WEIGHT_ONE,
					 .number = 1 };

static __always_inline void begin_thread(struct thread_time *t, __u64 now_ns, __u32 is)
{
	thread_begins(t, now_ns, is);
	t->window = window.is_paused ? 0 : window.number;
}

/* At a switch, before t is read. */
static __always_inline void enter_window(struct task_struct *task, struct thread_time *t, int runs)
{
	if (has_windows)
		thread_enters(t, &window, runs, task->sched_info.last_arrival,
			      task->sched_info.run_delay);
}

/* A global function: verified once. */
__weak int clip_to_window(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	if (s)
		wait_in_window(&s->wait, &window);
	return 0;
}

/* --- exact times ------------------------------------------------------------------------------ */

/* Not needed where waits are always recorded and wall time is not. */
const volatile __u32 want_thread_times = 1;

/* ev: memory for the event. */
static __always_inline void send_thread(struct event_thread *ev, struct task_struct *task,
					const struct thread_time *t, __u64 now_ns, __u32 tid,
					__u64 ended)
{
	const struct call_times now = { t->on_ns, t->off_ns, t->long_off_ns };
	struct call_times calls;

	if (!want_thread_times)
		return;
	begin_sample(&ev->sample, task, EVENT_THREAD, now_ns);
	ev->sample.tid = tid;
	ev->first_ns = t->first_ns;
	ev->on_ns = t->on_ns;
	ev->off_ns = t->off_ns;
	ev->run_ns = t->run_ns;
	ev->stopped_ns = t->stopped_ns;
	ev->long_off_ns = t->long_off_ns;
	ev->long_run_ns = t->long_run_ns;
	ev->long_stopped_ns = t->long_stopped_ns;
	calls = thread_in_calls(t, &now);
	ev->gpu_on_ns = calls.on_ns;
	ev->gpu_off_ns = calls.off_ns;
	ev->long_gpu_off_ns = calls.long_off_ns;
	ev->ended = ended;
	if (bpf_ringbuf_output(&ring, ev, sizeof *ev, wake_flags(FROM_OTHERS, 1)))
		count(COUNT_RING_FULL);
}

/* How long the thread has waited in a CPU's queue since it left its CPU: the accounted time, and
 * the time not accounted yet. */
static __always_inline __u64 queued_ns(struct task_struct *task, const struct thread_time *t)
{
	__u64 ns = task->sched_info.run_delay - t->run_delay;
	__u64 since = task->sched_info.last_queued;

	if (since && bpf_core_field_exists(task->se.cfs_rq)) {
		__u64 clock = task->se.cfs_rq->rq->clock;

		if (clock > since)
			ns += clock - since;
	}
	return ns;
}

static __always_inline struct away time_away(struct task_struct *task, const struct thread_time *t,
					     __u64 now_ns)
{
	return thread_off_cpu(t, now_ns, t->is == THREAD_READY ? 0 : queued_ns(task, t));
}

/* How long a running thread has been running, by the scheduler's clock. */
static __always_inline __u64 ran_ns(struct task_struct *task)
{
	__u64 clock, since = task->sched_info.last_arrival;

	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	clock = task->se.cfs_rq->rq->clock;
	return clock > since ? clock - since : 0;
}

/* For a running thread whose switch-in was not seen. */
static __always_inline struct away came_unseen(struct task_struct *task, struct thread_time *t,
					       __u64 now_ns)
{
	return thread_came(t, now_ns, ran_ns(task), task->sched_info.run_delay - t->run_delay);
}

/* --- which waits are shown -------------------------------------------------------------------- */

/* Per CPU, in a cache line of its own: it is written at each wait that passes the filter, while the
 * run queue is locked. User space sums them (collect/kernel/wait_pace.h) and sets what all CPUs
 * together may take. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_rate);
} wait_rates SEC(".maps");

volatile __u64 quantum_ns; /* shorter waits are sampled (struct quanta); 0: all are taken */
volatile __u64 cpu_waits =
	1; /* stacks per window; beyond it a CPU samples without waiting for user space */
volatile __u32 may_hold; /* a thread may hold waits, or a CPU may be blind */

static __always_inline struct wait_rate *wait_rate(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wait_rates, &zero);
}

/* Adds 1 or -1 to the number of threads that hold waits and blind CPUs. Only the sum over all CPUs
 * is meaningful. While it is 0, the exit of a system call costs only a look at may_hold. */
static __always_inline void add_holder(__s64 more)
{
	struct wait_rate *r = wait_rate();

	if (r)
		__sync_fetch_and_add(&r->held, more);
	if (more > 0 && !may_hold)
		may_hold = 1;
}

/* The quantum by what this CPU alone sees: from its last window, or from this one if it has more
 * waits. */
static __always_inline __u64 own_quantum(struct wait_rate *r, __u64 ns, __u64 now_ns)
{
	const __u64 most = cpu_waits ? cpu_waits : 1;

	if (now_ns - r->window_ns > RATE_WINDOW_NS) {
		r->quantum_ns = r->seen > most ? r->seen_ns / most : 0;
		r->window_ns = now_ns;
		r->seen = r->seen_ns = r->sent = 0;
	}
	r->seen++;
	r->seen_ns += ns;
	r->all_seen++;
	r->all_seen_ns += ns;
	if (r->sent > most && !r->quantum_ns)
		r->quantum_ns = 2 * (r->seen_ns / most);
	return r->quantum_ns;
}

/* Returns what a wait of this length stands for; 0: it is not taken. */
static __always_inline __u64 weight_of(struct quanta *q, __u64 ns, __u64 now_ns)
{
	struct wait_rate *r = wait_rate();
	__u64 quantum = quantum_ns, own;

	if (!r)
		return 0;
	own = own_quantum(r, ns, now_ns);
	if (quantum < own)
		quantum = own;
	if (ns < quantum) {
		ns = quanta_weigh(q, quantum, ns, bpf_get_prandom_u32());
		if (!ns) {
			count(COUNT_WAITS_SAMPLED);
			return 0;
		}
	}
	r->sent++;
	return ns;
}

static __always_inline struct wait_filter shown_waits(const struct thread_time *t)
{
	const __u32 locked = want_locks && t->lock.how ? WAIT_OFF_CPU : 0;

	return (struct wait_filter){ min_block_ns, max_block_ns, want_waits | locked };
}

/* Sets who ended the wait, and the lock that it was for. */
static __always_inline void take_waker(struct thread_time *t, struct wait_info *w)
{
	w->waker_tgid = t->waker_tgid;
	w->waker_tid = t->waker_tid;
	w->waker_hash = t->waker_hash;
	__builtin_memcpy(w->waker_comm, t->waker_comm, sizeof w->waker_comm);
	w->lock = t->lock;
	t->waker_tgid = t->waker_tid = 0;
	t->waker_hash = 0;
	t->waker_comm[0] = 0;
}

#endif
