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

#include "bpf/held_waits.h"

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
	if (t->is != THREAD_RUNS)
		lose_wait(task, t, now_ns);
	thread_leaves(t, now_ns, task->sched_info.run_delay, thread_state(preempted, prev_state));
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
		send_wait_with(task, s, now_ns);
	else if (at_sys_exit)
		hold(task, t, s, now_ns);
	else
		s->task = (__u64)task;
}

static __always_inline void come(struct task_struct *task, __u64 now_ns)
{
	struct thread_time *t = task->pid ? times_of(task) : 0;
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

static __always_inline int switched(int preempted, struct task_struct *prev,
				    struct task_struct *next, __u32 prev_state)
{
	struct scratch *s = scratch_for(SCRATCH_WAIT);
	__u64 now_ns = bpf_ktime_get_ns();

	if (want_wakers)
		no_interrupt();
	if (s)
		s->next = (__u64)next;
	set_blind(s, 0);
	leave(prev, preempted, prev_state, now_ns);
	come(next, now_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch, int preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return switched(preempt, prev, next, prev_state);
}

/* Before 5.18 the tracepoint does not tell the state. */
SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch_before_5_18, int preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	return switched(preempt, prev, next, state_of(prev));
}

/* Since 6.12 a thread that begins to sleep may stay in the queue of its CPU for a while. When it is then moved to that of another the scheduler
 * takes it for one that is ready (sched_info.last_queued), until it runs again. */
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

/* The switch to this task was not seen, but what comes after it is. */
static __always_inline void come_late(struct task_struct *task, struct scratch *s)
{
	struct thread_time *t = task->pid ? times_of(task) : 0;

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
	end_stack(task, s, now_ns);
	send_wait_with(task, s, now_ns);
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
	if (has_current_task_btf && s->is_blind) {
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
	return 0;
}

/* --- threads that begin and end --------------------------------------------------------------------------------------- */

/* All that is kept of a thread is made here, where the kernel may allocate: never at a switch, where the run queue is locked. */
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
		thread_begins(t, bpf_ktime_get_ns(), THREAD_FORKED);
	return 0;
}

/* A command that was waited for begins here; and a thread that was not the first one of its process takes over its id. Comes before
 * the program that opens the target. */
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
	if (filter == FILTER_TGID && target && target->wait_exec) {
		thread_begins(t, now_ns, THREAD_RUNS);
	} else if (old_pid != task->pid) {
		if (t->is != THREAD_RUNS)
			came_unseen(task, t, now_ns);
		t->on_ns += now_ns - t->last_ns;
		if (wanted_task(task))
			send_thread(&ev, task, t, now_ns, old_pid, 1);
		thread_begins(t, now_ns, THREAD_RUNS);
	}
	return 0;
}

/* Comes before the program that forgets the target. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(off_exit, struct task_struct *task)
{
	struct thread_time *t = times_of(task);

	if (t)
		t->wanted = (is_user_task(task) || want_kernel_threads) && wanted_task(task);
	return 0;
}

#endif
