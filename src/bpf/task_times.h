/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/task_times.h: what is kept of every thread, its exact times, and which of its waits are worth a stack. */
#ifndef CRESSET_BPF_TASK_TIMES_H
#define CRESSET_BPF_TASK_TIMES_H

#include "bpf/stack.h"
#include "bpf/targets.h"
#include "bpf/task_map.h"

const volatile __u32 want_waits = 0;         /* bits of enum wait_part */
const volatile __u64 min_block_ns = 1000000; /* shorter waits get no stack */
const volatile __u64 max_block_ns = 3600000000000ull;
const volatile __u32 want_kernel_threads = 0, want_wakers = 0, want_waker_stacks = 0;
const volatile __u32 at_sys_exit = 0; /* the second way */

/* --- what is kept of a thread ----------------------------------------------------------------------------------------- */

/* Waits of a system call that is not over (at_sys_exit). */
enum { HELD_WAITS = 4 };
struct held_waits {
	__u64 mm, ip;     /* whose memory the stack is in, and where the system call was made */
	__u64 stack_hash; /* of a wait outside of system calls, and its span */
	struct event_trace trace;
	__u32 n;
	__u32 gpu_call; /* of such a wait */
	struct wait_info waits[HELD_WAITS];
};

typedef struct held_waits held_waits_t;
TASK_MAP(held, held_waits_t)

/* The iterator may sleep and so change its CPU; only one runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} open_scratch SEC(".maps");

/* --- whose ------------------------------------------------------------------------------------------------------------ */

static __always_inline int is_user_task(struct task_struct *task)
{
	return !(task->flags & TASK_PF_NO_USER);
}

/* Its exit makes a target be forgotten, and has waits of its own. */
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
	ev->cgroup_id = cgroup_of(task);
	ev->mappings = mappings_of(task);
	bpf_probe_read_kernel(ev->comm, sizeof ev->comm, task->comm);
}

/* The wait of s, in s. */
static __always_inline struct event_wait *begin_wait_event(struct scratch *s,
							   struct task_struct *task, __u64 now_ns)
{
	struct event_wait *ev = &s->out_wait;

	begin_sample(&ev->sample, task, EVENT_WAIT, now_ns);
	ev->wait = s->wait;
	return ev;
}

/* --- exact times ------------------------------------------------------------------------------------------------------ */

/* ev: the place that it is sent from. */
static __always_inline void send_thread(struct event_thread *ev, struct task_struct *task,
					const struct thread_time *t, __u64 now_ns, __u32 tid,
					__u64 ended)
{
	const struct call_times now = { t->on_ns, t->off_ns, t->long_off_ns };
	struct call_times calls;

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

/* How long it has been waiting in the queue of a CPU since it left one: what is accounted, and what is not yet. */
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
	return thread_away(t, now_ns, t->is == THREAD_READY ? 0 : queued_ns(task, t));
}

/* A thread that runs, by the scheduler's clock: how long it has. */
static __always_inline __u64 ran_ns(struct task_struct *task)
{
	__u64 clock, since = task->sched_info.last_arrival;

	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	clock = task->se.cfs_rq->rq->clock;
	return clock > since ? clock - since : 0;
}

/* For one that runs, though it was not seen to come. */
static __always_inline struct away came_unseen(struct task_struct *task, struct thread_time *t,
					       __u64 now_ns)
{
	return thread_came(t, now_ns, ran_ns(task), task->sched_info.run_delay - t->run_delay);
}

/* --- which waits are shown -------------------------------------------------------------------------------------------- */

/* Of each CPU, in a cache line of its own: it is written at each wait that passes, where the run queue is locked. User space adds them up
 * (collect/wait_pace.h) and tells all CPUs what they may take together. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_rate);
} wait_rates SEC(".maps");

volatile __u64 quantum_ns; /* shorter waits are sampled (struct quanta); 0: all are taken */
volatile __u64 cpu_waits =
	1; /* stacks in a window, beyond which a CPU does not wait for user space to say so */
volatile __u32 may_hold; /* a thread may hold waits, or a CPU may be blind */

static __always_inline struct wait_rate *wait_rate(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wait_rates, &zero);
}

/* More by one or less: threads that hold waits, blind CPUs. Only the sum over all CPUs says how many there are. Where there are none, the exit of a
 * system call costs nothing but a look at may_hold. */
static __always_inline void add_holder(__s64 more)
{
	struct wait_rate *r = wait_rate();

	if (r)
		__sync_fetch_and_add(&r->held, more);
	if (more > 0 && !may_hold)
		may_hold = 1;
}

/* By what this CPU alone sees: in its last window, or in this one, which has more than the last. */
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

/* What a wait of this length stands for; 0: it is not taken. */
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

static __always_inline struct wait_filter shown_waits(void)
{
	return (struct wait_filter){ min_block_ns, max_block_ns, want_waits };
}

static __always_inline void take_waker(struct thread_time *t, struct wait_info *w)
{
	w->waker_tgid = t->waker_tgid;
	w->waker_tid = t->waker_tid;
	w->waker_hash = t->waker_hash;
	__builtin_memcpy(w->waker_comm, t->waker_comm, sizeof w->waker_comm);
	t->waker_tgid = t->waker_tid = 0;
	t->waker_hash = 0;
	t->waker_comm[0] = 0;
}

#endif
