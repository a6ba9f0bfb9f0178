/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/off_cpu.h: where threads are when they are not on a CPU.
 *
 * At every switch two stamps are taken: the thread that leaves adds its time on the CPU, the one that comes adds the time that it was
 * away, blocked or ready to run. These sums are exact. Only a wait that passes the filter gets a stack, and only once its length is
 * known: its kernel part at the switch (where the thread stands there is where it waited), its user part a moment later in the thread's
 * own context, where user memory can be read:
 *
 *     sched_switch → sched_exit_tp       kernels that have it (6.16); nothing is added to system calls
 *     sched_switch → sys_exit            others; waits outside of system calls get their stack when they begin
 */
#ifndef CRESSET_BPF_OFF_CPU_H
#define CRESSET_BPF_OFF_CPU_H

#include "bpf/stack.h"
#include "bpf/targets.h"
#include "bpf/thread_time.h"

const volatile __u32 want_waits = 0;         /* bits of enum wait_part */
const volatile __u64 min_block_ns = 1000000; /* shorter waits get no stack */
const volatile __u64 max_block_ns = 3600000000000ull;
const volatile __u32 want_kernel_threads = 0, want_wakers = 0, want_waker_stacks = 0;
const volatile __u32 at_sys_exit = 0;         /* the second way */
const volatile __u32 use_loop = 1;            /* bpf_loop, as the walker needs it */
const volatile __u32 use_task_storage = 1;    /* since 5.11; else hash tables */
const volatile __u64 waits_per_window = 2000; /* stacks in RATE_WINDOW_NS; more waits are sampled */

#define RATE_WINDOW_NS 100000000ull

/* --- what is kept of a thread ----------------------------------------------------------------------------------------- */

/* Waits of a system call that is not over (at_sys_exit). */
enum { HELD_WAITS = 4 };
struct held_waits {
	__u64 mm, ip;     /* whose memory the stack is in, and where the system call was made */
	__u64 stack_hash; /* of a wait outside of system calls */
	__u32 n;
	__u32 reserved;
	struct wait_info waits[HELD_WAITS];
};

#define TASK_MAP(name, value_t) \
	struct { \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE); \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__type(key, int); \
		__type(value, value_t); \
	} name##_storage SEC(".maps"); \
	struct { \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, 65536); \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__type(key, __u32); \
		__type(value, value_t); \
	} name##_hash SEC(".maps"); \
	static const value_t name##_zero; \
	static __always_inline value_t *name##_of(struct task_struct *task, int create) \
	{ \
		__u32 tid; \
		value_t *t; \
\
		if (use_task_storage) \
			return bpf_task_storage_get(&name##_storage, task, 0, \
						    create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0); \
		tid = task->pid; \
		t = bpf_map_lookup_elem(&name##_hash, &tid); \
		if (t || !create) \
			return t; \
		bpf_map_update_elem(&name##_hash, &tid, &name##_zero, BPF_NOEXIST); \
		return bpf_map_lookup_elem(&name##_hash, &tid); \
	} \
	static __always_inline void name##_forget(struct task_struct *task) \
	{ \
		__u32 tid; \
\
		if (use_task_storage) \
			return; /* goes with the task */ \
		tid = task->pid; \
		bpf_map_delete_elem(&name##_hash, &tid); \
	}

typedef struct thread_time thread_time_t;
typedef struct held_waits held_waits_t;
TASK_MAP(times, thread_time_t)
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
	return !(task->flags & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER | TASK_PF_USER_WORKER));
}

/* Its exit makes a target be forgotten, and has waits of its own. */
static __always_inline int is_wanted(struct task_struct *task, const struct thread_time *t)
{
	return t->wanted || wanted_task(task);
}

static __always_inline struct event_sample sample_of(struct task_struct *task, __u32 kind,
						     __u64 now_ns)
{
	struct event_sample ev = { .kind = kind, .time_ns = now_ns };

	ev.cpu = bpf_get_smp_processor_id();
	ev.tgid = task->tgid;
	ev.tid = task->pid;
	ev.cgroup_id = cgroup_of(task);
	bpf_probe_read_kernel(ev.comm, sizeof ev.comm, task->comm);
	return ev;
}

/* --- exact times ------------------------------------------------------------------------------------------------------ */

static __always_inline void send_thread(struct task_struct *task, const struct thread_time *t,
					__u64 now_ns, __u32 tid, __u64 ended)
{
	struct event_thread ev = { .sample = sample_of(task, EVENT_THREAD, now_ns) };

	ev.sample.tid = tid;
	ev.first_ns = t->first_ns;
	ev.on_ns = t->on_ns;
	ev.off_ns = t->off_ns;
	ev.run_ns = t->run_ns;
	ev.stopped_ns = t->stopped_ns;
	ev.long_off_ns = t->long_off_ns;
	ev.long_run_ns = t->long_run_ns;
	ev.long_stopped_ns = t->long_stopped_ns;
	ev.ended = ended;
	if (bpf_ringbuf_output(&ring, &ev, sizeof ev, wake_flags(1)))
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

struct {
	__u64 window_ns;     /* when it began */
	__u64 seen, seen_ns; /* waits in it that pass the filter */
	__u64 sent;
	__u64 quantum_ns; /* shorter waits are sampled (struct quanta); 0: all are taken */
} rate;

/* What a wait of this length stands for; 0: it is not taken. */
static __always_inline __u64 weight_of(struct quanta *q, __u64 ns, __u64 now_ns)
{
	__u64 quantum;

	if (now_ns - rate.window_ns > RATE_WINDOW_NS) {
		rate.quantum_ns =
			rate.seen > waits_per_window ? rate.seen_ns / waits_per_window : 0;
		rate.window_ns = now_ns;
		rate.seen = rate.seen_ns = rate.sent = 0;
	}
	__sync_fetch_and_add(&rate.seen, 1);
	__sync_fetch_and_add(&rate.seen_ns, ns);
	if (rate.sent > waits_per_window && !rate.quantum_ns) /* more than last time */
		rate.quantum_ns = 2 * (rate.seen_ns / waits_per_window);
	quantum = rate.quantum_ns;
	if (ns < quantum) {
		ns = quanta_weigh(q, quantum, ns, bpf_get_prandom_u32());
		if (!ns) {
			count(COUNT_WAITS_SAMPLED);
			return 0;
		}
	}
	__sync_fetch_and_add(&rate.sent, 1);
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

/* --- stacks of waits -------------------------------------------------------------------------------------------------- */

/* The kernel part. */
static __always_inline void begin_stack(struct task_struct *task, struct scratch *s)
{
	long bytes = bpf_get_task_stack(task, s->addr, WALK_MAX_KERNEL * 8, 0);

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	if (bytes > 0)
		s->head.n_kernel = ((__u64)bytes / 8) & 127;
}

/* SYSCALL leaves the return address in rcx and the flags in r11; an interrupt or fault does not. */
static __always_inline int in_syscall(struct task_struct *task)
{
	struct pt_regs___x86_64 *regs = (void *)bpf_task_pt_regs(task);

	return regs->cx == regs->ip && regs->r11 == regs->flags;
}

enum { PT_ORIG_AX = 15 };

/* The registers that the task came into the kernel with, also where its memory is going or gone. */
static __always_inline int user_regs(struct task_struct *task, __u64 *regs)
{
	if (!is_user_task(task) ||
	    bpf_probe_read_kernel(regs, PT_REGS_WORDS * 8, (void *)bpf_task_pt_regs(task)))
		return 0;
	return regs[PT_IP] != 0;
}

/* An exec that has given up the old memory, but does not run the new program yet. */
static __always_inline int is_in_exec(struct task_struct *task)
{
	return task->mm && !task->mm->start_code;
}

static __always_inline void note_syscall(struct task_struct *task, struct scratch *s)
{
	if (in_syscall(task))
		s->head.syscall = (__u32)s->walk.regs[PT_ORIG_AX] + 1;
}

static __always_inline void walk_user(void *ctx, struct scratch *s, __u32 tgid, __u64 now_ns)
{
	if (use_loop)
		walk_by_rules(s, tgid, now_ns);
	else
		walk_by_helper(ctx, s);
}

/* The user part of the current task, behind the kernel part. */
static __always_inline void end_stack(void *ctx, struct task_struct *task, struct scratch *s,
				      __u64 now_ns)
{
	if (!user_regs(task, s->walk.regs))
		return;
	note_syscall(task, s);
	if (is_in_exec(task))
		s->head.walk_end = WALK_EXEC;
	else if (want_user)
		walk_user(ctx, s, task->tgid, now_ns);
}

static __always_inline void send_wait(const struct event_wait *ev)
{
	if (bpf_ringbuf_output(&ring, (void *)ev, sizeof *ev, wake_flags(1)))
		count(COUNT_WAITS_LOST);
}

/* What is left to hash_stack. */
#define WHOLE_STACK ((use_loop ? 1 : 2) * WALK_MAX_KERNEL)
#define KERNEL_PART WALK_MAX_KERNEL

/* The stack in s and all that is known of the wait. */
static __always_inline void send_wait_with(struct task_struct *task, struct scratch *s,
					   const struct wait_info *w, const __u32 most,
					   __u64 now_ns)
{
	struct event_wait ev = { .sample = sample_of(task, EVENT_WAIT, now_ns), .wait = *w };
	__u32 n;

	if (use_loop && s->head.walk_end == WALK_NOT_LOADED && sample_raw(&ev.sample, &ev.wait, s))
		return;
	n = hash_stack(s, most);
	if (n) {
		ev.sample.stack_hash = s->head.stack_hash;
		send_stack(s, n);
	}
	send_wait(&ev);
}

/* How many threads hold waits, or are blind CPUs: where there is none, the exit of a system call costs nothing but this look. */
volatile __u64 holders;

/* Of what a task does that nothing is known of, the switch by which it hands the CPU on may not be seen either. */
static __always_inline void set_blind(struct scratch *s, __u32 is_blind)
{
	if (!at_sys_exit || !s || s->is_blind == is_blind)
		return;
	s->is_blind = is_blind;
	__sync_fetch_and_add(&holders, is_blind ? 1 : -1);
}

/* --- the way over sys_exit -------------------------------------------------------------------------------------------- */

/* Why the user part of the waits that are held cannot be had any more; WALK_COMPLETE: it can. */
static __always_inline __u32 held_end(struct task_struct *task, const struct held_waits *h,
				      const __u64 *regs)
{
	if (!task->mm)
		return WALK_UNREADABLE; /* it exits */
	if (h->mm != (__u64)task->mm)
		return WALK_EXEC;
	/* It waited behind the exit of its system call: this is another one. */
	return regs[PT_IP] != h->ip ? WALK_CUT : WALK_COMPLETE;
}

/* Sends the user part of the current task, with or without held waits. */
static __always_inline void send_user_part(void *ctx, struct task_struct *task, struct scratch *s,
					   const struct held_waits *h, __u64 now_ns)
{
	__u32 end = WALK_COMPLETE;

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	if (h && h->n && user_regs(task, s->walk.regs))
		end = held_end(task, h, s->walk.regs);
	if (end == WALK_COMPLETE)
		end_stack(ctx, task, s, now_ns);
	else
		s->head.walk_end = end;
	send_stack(s, hash_stack(s, WHOLE_STACK));
}

/* The waits that are held, with the user part in s. */
static __always_inline void send_held(struct task_struct *task, struct scratch *s,
				      struct held_waits *h, __u64 now_ns)
{
	struct event_wait ev = { .sample = sample_of(task, EVENT_WAIT, now_ns) };

	ev.sample.stack_hash = s->head.stack_hash;
	for (__u32 i = 0; i < HELD_WAITS; i++) {
		if (i >= h->n)
			break;
		ev.wait = h->waits[i];
		if (!use_loop || s->head.walk_end != WALK_NOT_LOADED ||
		    !send_with_stack(&ev.sample, &ev.wait, s))
			send_wait(&ev);
	}
	h->n = 0;
	__sync_fetch_and_add(&holders, -1);
}

/* At switch-in: sends the kernel part and returns its hash. */
static __always_inline __u64 kernel_part(struct task_struct *task, struct scratch *s)
{
	__u32 n;

	if (user_regs(task, s->walk.regs))
		note_syscall(task, s);
	n = hash_stack(s, KERNEL_PART);
	send_stack(s, n);
	return s->head.stack_hash;
}

/* Keeps a wait until its system call is over, or sends it when its user part was taken at its beginning. */
static __always_inline void hold(struct task_struct *task, struct thread_time *t, struct scratch *s,
				 __u64 now_ns)
{
	struct event_wait ev = { .sample = sample_of(task, EVENT_WAIT, now_ns), .wait = s->wait };
	struct held_waits *h = held_of(task, 1);
	__u32 i;

	ev.wait.kernel_hash = kernel_part(task, s);
	if (h && h->stack_hash) {
		ev.sample.stack_hash = h->stack_hash;
		send_wait(&ev);
		return;
	}
	if (!h || h->n >= HELD_WAITS) {
		count(COUNT_WAITS_LOST);
		return;
	}
	if (!h->n)
		__sync_fetch_and_add(&holders, 1);
	i = h->n & (HELD_WAITS - 1);
	h->waits[i] = ev.wait;
	h->mm = (__u64)task->mm;
	h->ip = s->walk.regs[PT_IP];
	h->n = i + 1;
	t->holds = 1;
}

/* At switch-out, in the task's context: room is made for the next wait of a system call; and where the wait does not pass sys_exit, as
 * it is outside of system calls or behind that on the way back, its user part is taken at once. */
static __always_inline void leave_for_sys_exit(void *ctx, struct task_struct *task,
					       struct thread_time *t, __u64 now_ns)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	struct held_waits *h = held_of(task, 0);
	int full = h && h->n >= (t->is == THREAD_DEAD ? 1 : HELD_WAITS), early;

	early = t->is != THREAD_DEAD && !(t->is == THREAD_BLOCKED && in_syscall(task)) &&
		is_wanted(task, t);
	if (h)
		h->stack_hash = 0;
	else if (early)
		h = held_of(task, 1);
	if (!s || !h)
		return;
	if (full || early)
		send_user_part(ctx, task, s, h, now_ns);
	if (full)
		send_held(task, s, h, now_ns);
	if (early)
		h->stack_hash = s->head.stack_hash;
	t->holds = h->n || early;
}

/* --- interrupts ------------------------------------------------------------------------------------------------------- */

/* In an interrupt the current task is not the one that wakes. The kernel's own count is a per-CPU variable whose address not every
 * kernel tells, so entries and exits are counted: by those that wake (each is attached where the kernel has it). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} interrupts SEC(".maps");

static __always_inline __u32 *interrupt_depth(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&interrupts, &zero);
}

/* There are no switches in interrupts: an exit that was missed counts no longer. */
static __always_inline void no_interrupt(void)
{
	__u32 *depth = interrupt_depth();

	if (depth)
		*depth = 0;
}

/* --- switches --------------------------------------------------------------------------------------------------------- */

/* Its switch-in was not seen, so its wait gets no stack. */
static __always_inline void lose_wait(struct task_struct *task, struct thread_time *t, __u64 now_ns)
{
	const struct wait_filter filter = shown_waits();
	struct away a = came_unseen(task, t, now_ns);

	if (away_passes(&filter, &a) && (is_user_task(task) || want_kernel_threads) &&
	    is_wanted(task, t))
		count(COUNT_WAITS_UNSEEN);
}

static __always_inline void leave(void *ctx, struct task_struct *task, int preempted,
				  __u32 prev_state, __u64 now_ns)
{
	struct thread_time *t = task->pid ? times_of(task, 0) : 0;

	if (!t || !t->first_ns)
		return;
	if (t->is != THREAD_RUNS)
		lose_wait(task, t, now_ns);
	thread_leaves(t, now_ns, task->sched_info.run_delay, thread_state(preempted, prev_state));
	if (at_sys_exit && is_user_task(task) &&
	    (t->holds || t->is != THREAD_BLOCKED || !in_syscall(task)))
		leave_for_sys_exit(ctx, task, t, now_ns);
	if (t->is != THREAD_DEAD)
		return;
	if (t->wanted)
		send_thread(task, t, now_ns, task->pid, 1);
	times_forget(task);
	if (at_sys_exit)
		held_forget(task);
}

/* The kernel part of its stack now; the user part where that can be taken, if anywhere. */
static __always_inline void begin_wait(struct task_struct *task, struct thread_time *t,
				       struct scratch *s, int has_user, __u64 now_ns)
{
	__u64 weight = weight_of(&s->quanta, s->wait.weight_ns, now_ns);

	if (!weight)
		return;
	s->wait.weight_ns = weight;
	begin_stack(task, s);
	if (s->is_late)
		s->head.n_kernel = 0; /* it does not stand there any more */
	if (!has_user)
		send_wait_with(task, s, &s->wait, KERNEL_PART, now_ns);
	else if (at_sys_exit)
		hold(task, t, s, now_ns);
	else
		s->task = (__u64)task;
}

static __always_inline void come(struct task_struct *task, __u64 now_ns)
{
	struct thread_time *t = task->pid ? times_of(task, 0) : 0;
	const struct wait_filter filter = shown_waits();
	struct scratch *s;
	struct away a;
	int is_user, is_new;

	if (!t && task->pid)
		set_blind(scratch_for(SCRATCH_WAIT), 1);
	if (!t || !t->first_ns)
		return;
	a = time_away(task, t, now_ns);
	thread_adds(t, &a);
	is_user = is_user_task(task);
	is_new = t->is == THREAD_FORKED; /* it does not come from a switch of its own */
	if (away_passes(&filter, &a) && (is_user || want_kernel_threads) && is_wanted(task, t)) {
		s = scratch_for(SCRATCH_WAIT);
		if (s && wait_choose(&filter, t, &a, &s->wait)) {
			take_waker(t, &s->wait);
			begin_wait(task, t, s, is_user && !is_new, now_ns);
		}
	}
	thread_comes(t, now_ns);
}

static __always_inline int switched(void *ctx, int preempted, struct task_struct *prev,
				    struct task_struct *next, __u32 prev_state)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	__u64 now_ns = bpf_ktime_get_ns();

	if (want_wakers)
		no_interrupt();
	if (s)
		s->next = (__u64)next;
	set_blind(s, 0);
	leave(ctx, prev, preempted, prev_state, now_ns);
	come(next, now_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch, int preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return switched(ctx, preempt, prev, next, prev_state);
}

/* Before 5.18 the tracepoint does not tell the state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch_before_5_18, int preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	__u32 state = bpf_core_field_exists(prev->__state)
			      ? prev->__state
			      : ((struct task_struct___before_5_14 *)prev)->state;

	return switched(ctx, preempt, prev, next, state);
}

/* The switch to this task was not seen, but what comes after it is. */
static __always_inline void come_late(struct task_struct *task, struct scratch *s)
{
	struct thread_time *t = task->pid ? times_of(task, 0) : 0;

	s->next = (__u64)task;
	if (t && t->is != THREAD_RUNS)
		come(task, bpf_ktime_get_ns());
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(off_switched, int is_switch)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	struct task_struct *task;
	__u64 now_ns;

	if (!s)
		return 0;
	task = bpf_get_current_task_btf();
	if (s->next != (__u64)task)
		come_late(task, s);
	if (s->task != (__u64)task)
		return 0;
	s->task = 0;
	now_ns = bpf_ktime_get_ns();
	end_stack(ctx, task, s, now_ns);
	send_wait_with(task, s, &s->wait, WHOLE_STACK, now_ns);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(off_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task;
	struct held_waits *h;
	struct scratch *s;
	__u64 now_ns;

	if (!holders)
		return 0;
	task = bpf_get_current_task_btf();
	s = scratch_for(SCRATCH_WAIT);
	if (!s)
		return 0;
	if (s->is_blind) {
		set_blind(s, 0);
		s->is_late = 1;
		come_late(task, s);
		s->is_late = 0;
	}
	h = held_of(task, 0);
	if (!h || !h->n)
		return 0;
	now_ns = bpf_ktime_get_ns();
	send_user_part(ctx, task, s, h, now_ns);
	send_held(task, s, h, now_ns);
	return 0;
}

/* --- threads that begin and end --------------------------------------------------------------------------------------- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(off_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_time *t = times_of(child, 1);

	if (!t) {
		count(COUNT_TASKS_UNKNOWN);
		return 0;
	}
	thread_begins(t, bpf_ktime_get_ns(), THREAD_FORKED);
	return 0;
}

/* A command that was waited for begins here; and a thread that was not the first one of its process takes over its id. Comes before
 * the program that opens the target. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(off_exec, struct task_struct *task, int old_pid)
{
	struct thread_time *t = times_of(task, 0);
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 tgid = task->tgid;
	struct target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (!t)
		return 0;
	if (filter == FILTER_TGID && target && target->wait_exec) {
		thread_begins(t, now_ns, THREAD_RUNS);
	} else if (old_pid != task->pid) {
		if (t->is != THREAD_RUNS)
			came_unseen(task, t, now_ns);
		t->on_ns += now_ns - t->last_ns;
		if (wanted_task(task))
			send_thread(task, t, now_ns, old_pid, 1);
		thread_begins(t, now_ns, THREAD_RUNS);
	}
	return 0;
}

/* Comes before the program that forgets the target. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(off_exit, struct task_struct *task)
{
	struct thread_time *t = times_of(task, 0);

	if (t)
		t->wanted = (is_user_task(task) || want_kernel_threads) && wanted_task(task);
	return 0;
}

#endif
