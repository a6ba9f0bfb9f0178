/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/follow.h: processes that begin and end: what the walker knows of their address spaces, and targets. space_fork is loaded when
 * there are tables, space_exec and space_exit always, the follow programs when there are pids or tids to follow. They are raw
 * tracepoints, so that a kernel without BTF of its own has them, too (--btf). */
#ifndef CRESSET_BPF_FOLLOW_H
#define CRESSET_BPF_FOLLOW_H

#include "bpf/cpython_walk.h"
#include "bpf/targets.h"
#include "bpf/trace_read.h"

/* --- address spaces that begin and end -------------------------------------------------------------------------------- */

static __always_inline void fork_python(__u32 parent, __u32 child)
{
	struct cpython_process *p = bpf_map_lookup_elem(&cpython_processes, &parent);

	if (p)
		bpf_map_update_elem(&cpython_processes, &child, p, BPF_ANY);
}

/* What the walkers know of a program that is over. */
static __always_inline void forget_space(__u32 tgid)
{
	bpf_map_delete_elem(&processes, &tgid);
	bpf_map_delete_elem(&recipes, &tgid);
	bpf_map_delete_elem(&cpython_processes, &tgid);
}

/* A child has its parent's mappings. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(space_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	struct space_process *p;
	struct space_process copy;

	if (parent_tgid == child_tgid)
		return 0;
	p = bpf_map_lookup_elem(&processes, &parent_tgid);
	if (!p)
		return 0;
	copy = *p;
	if (copy.has_python)
		fork_python(parent_tgid, child_tgid);
	bpf_map_update_elem(&processes, &child_tgid, &copy, BPF_ANY);
	return 0;
}

/* Another program: nothing that was known about its mappings holds. To be forgotten before it maps anything: by sched_process_exec user space
 * may have told what that is. So where exec gives the thread its new name: then its memory has no code yet, other than at any other change. */
SEC("raw_tp/task_rename")
int BPF_PROG(space_exec, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);

	if (!BPF_CORE_READ(task, mm) || BPF_CORE_READ(task, mm, start_code))
		return 0;
	forget_space(tgid);
	python_forget(tid);
	return 0;
}

/* At the exit of a thread. */
static __always_inline int is_last_thread(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, live.counter) == 0;
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(space_exit, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);

	python_forget(tid);
	if (is_last_thread(task))
		forget_space(tgid);
	return 0;
}

/* --- following targets ---------------------------------------------------------------------------------------------- */

/* Runs before the child can: no sample of it is missed. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
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

SEC("raw_tp/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (t)
		t->wait_exec = 0;
	return 0;
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *task)
{
	__u32 id = filter == FILTER_TID ? BPF_CORE_READ(task, pid) : BPF_CORE_READ(task, tgid);

	if (filter == FILTER_TGID && !is_last_thread(task))
		return 0;
	bpf_map_delete_elem(&targets, &id);
	return 0;
}

#endif
