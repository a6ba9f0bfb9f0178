/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/follow.h: processes that begin and end: what the walker knows of their address spaces, and targets. space_fork is loaded when
 * there are tables, space_exec and space_exit always, the follow programs when there are pids or tids to follow. */
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
	if (copy.has_python)
		fork_python(parent_tgid, child_tgid);
	bpf_map_update_elem(&processes, &child_tgid, &copy, BPF_ANY);
	return 0;
}

/* Another program: nothing that was known about its mappings holds. To be forgotten before it maps anything: by sched_process_exec user space
 * may have told what that is. So where exec gives the thread its new name: then its memory has no code yet, other than at any other change. */
SEC("tp_btf/task_rename")
int BPF_PROG(space_exec, struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;

	if (!BPF_CORE_READ(task, mm) || BPF_CORE_READ(task, mm, start_code))
		return 0;
	forget_space(tgid);
	bpf_map_delete_elem(&python_threads, &tid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(space_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;

	bpf_map_delete_elem(&python_threads, &tid);
	if (task->signal->live.counter == 0)
		forget_space(tgid);
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

#endif
