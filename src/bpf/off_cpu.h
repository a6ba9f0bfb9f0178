/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/off_cpu.h: where threads spend their time off the CPU.
 *
 * Each switch updates two threads: the one that leaves adds its time on the CPU, the one that comes
 * adds the time it was away, blocked or ready to run. These sums are exact. Only a wait that passes
 * the filter gets a stack, and only once its length is known: its kernel part at the switch (where
 * the thread stands then is where it waited), its user part a moment later in the thread's own
 * context, where user memory can be read:
 *
 *     sched_switch → sched_exit_tp       kernels that have it (6.16); nothing is added to system
 *                                        calls
 *     sched_switch → sys_exit            others; waits outside of system calls get their stack when
 *                                        they start */
#ifndef CRESSET_BPF_OFF_CPU_H
#define CRESSET_BPF_OFF_CPU_H

#include "bpf/lock_wait.h"
#include "bpf/wait_stack.h"

/* --- waits of a system call ------------------------------------------------------------------- */

/* Kept until the system call is over: without sched_exit_tp its exit is the first point where the
 * user stack can be read. Waits outside of system calls get their user stack when they start. */

/* Why the user part of the held waits can no longer be read; WALK_COMPLETE: it can. */
static __always_inline __u32 held_end(struct task_struct *task, const struct held_waits *h,
				      const __u64 *regs)
{
	__u64 mm = (__u64)BPF_CORE_READ(task, mm);

	if (!mm)
		return WALK_UNREADABLE; /* it is exiting */
	if (h->mm != mm)
		return WALK_EXEC;
	/* It waited after the exit of its system call, or the exit fell into a pause between
	 * windows: this may be another system call. */
	return regs[PT_IP] != h->ip || h->window != window.number ? WALK_CUT : WALK_COMPLETE;
}

/* Sends the user part of the current task's stack, with or without held waits. */
static __always_inline void send_user_part(struct task_struct *task, struct scratch *s,
					   const struct held_waits *h, __u64 now_ns)
{
	__u32 end = WALK_COMPLETE;

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	s->trace = (struct event_trace){ 0 };
	no_call(s);
	if (h && h->n && user_regs(task, s->walk.regs))
		end = held_end(task, h, s->walk.regs);
	if (end == WALK_COMPLETE)
		end_stack(task, s, now_ns);
	else
		s->head.walk_end = end;
	send_stack(s, hash_stack(s, WALK_MAX_KERNEL), FROM_OTHERS);
}

/* Sends the held waits, with the user part in s. */
static __always_inline void send_held(struct task_struct *task, struct scratch *s,
				      struct held_waits *h, __u64 now_ns)
{
	struct event_wait *ev = begin_wait_event(s, task, now_ns);

	ev->sample.stack_hash = s->head.stack_hash;
	ev->sample.trace = s->trace;
	ev->sample.gpu_call = s->gpu_call;
	for (__u32 i = 0; i < HELD_WAITS; i++) {
		if (i >= h->n)
			break;
		ev->wait = h->waits[i];
		if (s->head.walk_end != WALK_NOT_LOADED || !send_other_raw(s->index))
			send_wait(ev);
	}
	h->n = 0;
	add_holder(-1);
}

/* At switch-in: sends the kernel part and returns its hash. */
static __always_inline __u64 kernel_part(struct task_struct *task, struct scratch *s)
{
	__u32 n;

	if (user_regs(task, s->walk.regs))
		note_syscall(s);
	n = hash_stack(s, WALK_MAX_KERNEL);
	send_stack(s, n, FROM_OTHERS);
	return s->head.stack_hash;
}

/* Retains a wait until its system call is over, or sends it if its user part was taken when it
 * started. */
static __always_inline void hold(struct task_struct *task, struct thread_time *t, struct scratch *s,
				 __u64 now_ns)
{
	struct event_wait *ev = begin_wait_event(s, task, now_ns);
	struct held_waits *h = held_of(task);
	__u32 i;

	ev->wait.kernel_hash = kernel_part(task, s);
	if (h && h->stack_hash) {
		ev->sample.stack_hash = h->stack_hash;
		ev->sample.trace = h->trace;
		ev->sample.gpu_call = h->gpu_call;
		send_wait(ev);
		return;
	}
	if (!h || h->n >= HELD_WAITS) {
		count(COUNT_WAITS_LOST);
		return;
	}
	if (!h->n)
		add_holder(1);
	i = h->n & (HELD_WAITS - 1);
	h->waits[i] = ev->wait;
	h->mm = (__u64)task->mm;
	h->ip = s->walk.regs[PT_IP];
	h->window = window.number;
	h->n = i + 1;
	t->holds = 1;
}

/* At switch-out, in the task's context. Makes space for the next wait of a system call. Takes the
 * user part immediately if the wait does not pass sys_exit: it is outside of system calls, or on
 * the way back after sys_exit. */
static __always_inline void leave_for_sys_exit(struct task_struct *task, struct thread_time *t,
					       __u64 now_ns)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	struct held_waits *h = held_of(task);
	int full = h && h->n >= (t->is == THREAD_DEAD ? 1 : HELD_WAITS), early;

	early = t->is != THREAD_DEAD && !(t->is == THREAD_BLOCKED && in_syscall(task)) &&
		is_wanted(task, t);
	if (!s || !h)
		return;
	h->stack_hash = 0;
	if (full || early)
		send_user_part(task, s, h, now_ns);
	if (full)
		send_held(task, s, h, now_ns);
	if (early) {
		h->stack_hash = s->head.stack_hash;
		h->trace = s->trace;
		h->gpu_call = s->gpu_call;
	}
	t->holds = h->n || early;
}

/* --- interrupts ------------------------------------------------------------------------------- */

/* In an interrupt the current task is not the waker. The kernel's own count is a per-CPU variable
 * whose address is not available on every kernel. So these programs count entries and exits of the
 * interrupts that wake threads (each is attached where the kernel has it). */
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

/* No switch happens in an interrupt, so a count left by a missed exit is reset here. */
static __always_inline void no_interrupt(void)
{
	__u32 *depth = interrupt_depth();

	if (depth)
		*depth = 0;
}

/* --- switches --------------------------------------------------------------------------------- */

/* The switch-in was not seen, so the wait gets no stack. */
static __always_inline void lose_wait(struct task_struct *task, struct thread_time *t, __u64 now_ns)
{
	const struct wait_filter filter = shown_waits(t);
	struct away a = came_unseen(task, t, now_ns);

	if (away_passes(&filter, &a) && (is_user_task(task) || want_kernel_threads) &&
	    is_wanted(task, t))
		count(COUNT_WAITS_UNSEEN);
}

static __always_inline void tell_end(struct task_struct *task, const struct thread_time *t,
				     __u64 now_ns)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);

	if (s)
		send_thread(&s->out_thread, task, t, now_ns, task->pid, 1);
}

static __always_inline void leave(struct task_struct *task, int preempted, __u32 prev_state,
				  __u64 now_ns)
{
	struct thread_time *t = task->pid ? times_of(task) : 0;

	if (!t || !t->first_ns)
		return;
	enter_window(task, t, 1);
	if (t->is != THREAD_RUNS)
		lose_wait(task, t, now_ns);
	t->arrival = task->sched_info.last_arrival;
	thread_leaves(t, now_ns, task->sched_info.run_delay, thread_state(preempted, prev_state));
	if (want_locks && t->is == THREAD_BLOCKED && is_user_task(task))
		note_lock(task, t);
	if (at_sys_exit && is_user_task(task) &&
	    (t->holds || t->is != THREAD_BLOCKED || !in_syscall(task)))
		leave_for_sys_exit(task, t, now_ns);
	if (t->is != THREAD_DEAD)
		return;
	if (t->wanted)
		tell_end(task, t, now_ns);
	times_forget(task);
	if (at_sys_exit)
		held_forget(task);
}

/* Takes the kernel part of the stack now; the user part follows where it can be taken, if
 * anywhere. */
static __always_inline void begin_wait(struct task_struct *task, struct thread_time *t,
				       struct scratch *s, int has_user, __u64 now_ns)
{
	__u64 weight;

	if (has_windows)
		clip_to_window(s->index);
	if (!s->wait.weight_ns)
		return;
	weight = weight_of(&s->quanta, s->wait.weight_ns, now_ns);
	if (!weight)
		return;
	s->wait.weight_ns = weight;
	begin_stack(task, s);
	if (s->is_late)
		s->head.n_kernel = 0; /* the thread has moved on */
	if (!has_user)
		send_wait_with(task, s, now_ns);
	else if (at_sys_exit)
		hold(task, t, s, now_ns);
	else
		s->task = (__u64)task;
}

static __always_inline void come(struct task_struct *task, __u64 now_ns)
{
	struct thread_time *t = task->pid ? times_of(task) : 0;
	struct wait_filter filter;
	struct scratch *s;
	struct away a;
	int is_user, is_new;

	if (!t && task->pid)
		set_blind(scratch_for(SCRATCH_WAIT), 1);
	if (!t || !t->first_ns)
		return;
	enter_window(task, t, 0);
	filter = shown_waits(t);
	a = time_away(task, t, now_ns);
	thread_adds(t, &a);
	is_user = is_user_task(task);
	is_new = t->is == THREAD_FORKED; /* it was not switched out before */
	if (away_passes(&filter, &a) && (is_user || want_kernel_threads) && is_wanted(task, t)) {
		s = scratch_for(SCRATCH_WAIT);
		if (s && wait_choose(&filter, t, &a, &s->wait)) {
			take_waker(t, &s->wait);
			begin_wait(task, t, s, is_user && !is_new, now_ns);
		}
	}
	thread_comes(t, now_ns);
}

/* The time of one switch in ONE_IS_TIMED is measured on each CPU. A host that takes the CPU away
 * in the meantime is not a cost, so the time is capped. */
enum { ONE_IS_TIMED = 64, TIMED_MAX_NS = 20000 };
static __always_inline void count_switch(__u64 since_ns)
{
	struct wait_rate *r = wait_rate();
	__u64 ns;

	if (!r || ++r->switches % ONE_IS_TIMED)
		return;
	ns = bpf_ktime_get_ns() - since_ns;
	r->timed++;
	r->timed_ns += ns < TIMED_MAX_NS ? ns : TIMED_MAX_NS;
}

static __always_inline int switched(int preempted, struct task_struct *prev,
				    struct task_struct *next, __u32 prev_state)
{
	__u64 now_ns = bpf_ktime_get_ns(); /* first, as the time is measured from here */
	struct scratch *s;

	if (has_windows && window.is_paused)
		return 0;
	s = scratch_for(SCRATCH_WAIT);
	if (want_wakers)
		no_interrupt();
	if (s) {
		s->next = (__u64)next;
		s->of_window = window.number;
	}
	set_blind(s, 0);
	leave(prev, preempted, prev_state, now_ns);
	come(next, now_ns);
	count_switch(now_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch, int preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return switched(preempt, prev, next, prev_state);
}

/* Before 5.18 the tracepoint does not pass the state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch_before_5_18, int preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	return switched(preempt, prev, next, state_of(prev));
}

/* Since 6.12 a thread that goes to sleep may stay in its CPU's queue for a while. If it is then
 * moved to the queue of another CPU, the scheduler takes it for ready (sched_info.last_queued)
 * until it runs again. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(off_migrate, struct task_struct *task)
{
	struct thread_time *t;

	if (!bpf_core_field_exists(task->se.sched_delayed) || !task->se.sched_delayed)
		return 0;
	t = times_of(task);
	if (t)
		t->moved_asleep = !thread_is_ready(t);
	return 0;
}

/* The switch to this task was not seen, but a later event in it is. */
static __always_inline void come_late(struct task_struct *task, struct scratch *s)
{
	struct thread_time *t = task->pid ? times_of(task) : 0;

	s->next = (__u64)task;
	if (t && t->is != THREAD_RUNS)
		come(task, bpf_ktime_get_ns());
}

/* What this CPU did in an earlier window is no longer valid. */
static __always_inline int is_of_other_window(struct scratch *s)
{
	if (!window.is_paused && s->of_window == window.number)
		return 0;
	s->task = s->next = 0;
	return 1;
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(off_switched, int is_switch)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	struct task_struct *task;
	__u64 now_ns;

	if (!s || (has_windows && is_of_other_window(s)))
		return 0;
	task = bpf_get_current_task_btf();
	if (s->next != (__u64)task)
		come_late(task, s);
	if (s->task != (__u64)task)
		return 0;
	s->task = 0;
	now_ns = bpf_ktime_get_ns();
	end_stack(task, s, now_ns);
	send_wait_with(task, s, now_ns);
	count_run(now_ns);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(off_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task;
	struct held_waits *h;
	struct scratch *s;
	__u64 now_ns;

	if (!may_hold)
		return 0;
	task = current_task();
	s = scratch_for(SCRATCH_WAIT);
	if (!s)
		return 0;
	if (has_current_task_btf && s->is_blind && !(has_windows && window.is_paused)) {
		set_blind(s, 0);
		s->is_late = 1;
		come_late(task, s);
		s->is_late = 0;
	}
	h = held_of_current();
	if (!h || !h->n)
		return 0;
	now_ns = bpf_ktime_get_ns();
	send_user_part(task, s, h, now_ns);
	send_held(task, s, h, now_ns);
	count_run(now_ns);
	return 0;
}

/* --- threads that begin and end --------------------------------------------------------------- */

/* All state of a thread is allocated here, where the kernel may allocate, never at a switch, where
 * the run queue is locked. */
static __always_inline struct thread_time *keep_thread(struct task_struct *task)
{
	struct thread_time *t = times_make(task);

	if (!t || (at_sys_exit && !held_make(task)))
		count(COUNT_TASKS_UNKNOWN);
	return t;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(off_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_time *t = keep_thread(child);

	if (t)
		begin_thread(t, bpf_ktime_get_ns(), THREAD_FORKED);
	return 0;
}

/* A command that was waited for starts here. Also, a thread that was not its process's first takes
 * over the first one's id. Runs before the program that opens the target. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(off_exec, struct task_struct *task, unsigned int old_pid)
{
	struct thread_time *t = times_of(task);
	__u64 now_ns = bpf_ktime_get_ns();
	struct event_thread ev;
	__u32 tgid = task->tgid;
	struct target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (!t)
		return 0;
	if (!window.is_paused)
		enter_window(task, t, 1);
	if (filter == FILTER_TGID && target && target->wait_exec) {
		begin_thread(t, now_ns, THREAD_RUNS);
	} else if (old_pid != task->pid) {
		if (t->is != THREAD_RUNS)
			came_unseen(task, t, now_ns);
		t->on_ns += now_ns - t->last_ns;
		if (wanted_task(task))
			send_thread(&ev, task, t, now_ns, old_pid, 1);
		begin_thread(t, now_ns, THREAD_RUNS);
	}
	return 0;
}

/* Runs before the program that forgets the target. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(off_exit, struct task_struct *task)
{
	struct thread_time *t = times_of(task);

	if (t)
		t->wanted = (is_user_task(task) || want_kernel_threads) && wanted_task(task);
	if (window.is_paused) { /* its last switch will not be seen */
		times_forget(task);
		if (at_sys_exit)
			held_forget(task);
	}
	return 0;
}

/* --- who ended a wait, and from where --------------------------------------------------------- */

#define INTERRUPT(name) \
	SEC("tp_btf/" #name "_entry") \
	int name##_begins(void *ctx) \
	{ \
		__u32 *depth = interrupt_depth(); \
\
		if (depth) \
			++*depth; \
		return 0; \
	} \
	SEC("tp_btf/" #name "_exit") \
	int name##_ends(void *ctx) \
	{ \
		__u32 *depth = interrupt_depth(); \
\
		if (depth && *depth) \
			--*depth; \
		return 0; \
	}

INTERRUPT(irq_handler)
INTERRUPT(softirq)
INTERRUPT(local_timer)
INTERRUPT(call_function_single)
INTERRUPT(irq_work)

static __always_inline int in_interrupt(void)
{
	__u32 *depth = interrupt_depth();

	return depth && *depth;
}

/* This program and its caller: in the flags of bpf_get_stack the number of frames to skip. */
enum { OWN_FRAMES = 2 };

static __always_inline __u64 waker_stack(void *ctx, struct task_struct *task, __u64 now_ns)
{
	struct scratch *s = scratch_for(SCRATCH_WAKER);
	long bytes;

	if (!s)
		return 0;
	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	bytes = bpf_get_stack(ctx, s->addr, WALK_MAX_KERNEL * 8, OWN_FRAMES);
	if (bytes > 0)
		s->head.n_kernel = ((__u64)bytes / 8) & 127;
	end_stack(task, s, now_ns);
	send_stack(s, hash_stack(s, WALK_MAX_KERNEL), FROM_OTHERS);
	return s->head.stack_hash;
}

/* In the context of the waker. Returns whether the wait has one to show. */
static __always_inline int note_waker(void *ctx, struct thread_time *t, __u64 now_ns)
{
	const int unlocks = want_locks && t->lock.how && waker_unlocks(t);
	__u64 waker = bpf_get_current_pid_tgid();

	t->waker_hash = 0;
	t->waker_tid = t->waker_tgid = 0;
	t->waker_comm[0] = 0;
	if (!want_wakers && !unlocks)
		return 0;
	if (!unlocks && (in_interrupt() || !(__u32)waker)) {
		__builtin_memcpy(t->waker_comm, "interrupt", 10);
		return 0;
	}
	if (unlocks)
		t->lock.how |= LOCK_UNLOCKED;
	t->waker_tgid = waker >> 32;
	t->waker_tid = (__u32)waker;
	bpf_get_current_comm(t->waker_comm, sizeof t->waker_comm);
	if (want_waker_stacks || unlocks)
		t->waker_hash = waker_stack(ctx, current_task(), now_ns);
	return 1;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(off_waking, struct task_struct *task)
{
	struct thread_time *t = times_of(task);
	__u64 now_ns = bpf_ktime_get_ns();

	if (has_windows && window.is_paused)
		return 0;
	if (t && t->first_ns)
		enter_window(task, t, 0);
	if (!t || t->is != THREAD_BLOCKED || !(want_wakers || t->lock.how) ||
	    2 * (now_ns - t->last_ns) < min_block_ns ||
	    !(want_kernel_threads || is_user_task(task)) || !is_wanted(task, t))
		return 0;
	if (note_waker(ctx, t, now_ns))
		count_run(now_ns);
	return 0;
}

#endif
