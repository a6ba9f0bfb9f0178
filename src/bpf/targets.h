/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/targets.h: the processes to watch. */
#ifndef CRESSET_BPF_TARGETS_H
#define CRESSET_BPF_TARGETS_H

#include "bpf/maps.h"

const volatile __u32 filter = FILTER_ALL;
const volatile __u64 filter_cgroup_id = 0; /* of FILTER_CGROUP */

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

static __always_inline int is_target(__u32 id)
{
	struct target *t = bpf_map_lookup_elem(&targets, &id);

	return t && !t->wait_exec;
}

/* Runs the compiled glob over the thread's name: a set of positions, one bit each, advanced by
 * every byte. */
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

static __always_inline __u32 mappings_of(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return mm ? (__u32)BPF_CORE_READ(mm, map_count) : 0;
}

static __always_inline __u32 uid_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_cred, euid.val);
}

static __always_inline __u64 cgroup_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline int in_cgroup(struct task_struct *task)
{
	struct cgroup *c = task->cgroups->dfl_cgrp;

	for (int depth = 0; depth < 32 && c; depth++) {
		if (BPF_CORE_READ(c, kn, id) == filter_cgroup_id)
			return 1;
		c = (void *)BPF_CORE_READ(c, self.parent);
	}
	return 0;
}

/* wanted() for any task. */
static __always_inline int wanted_task(struct task_struct *task)
{
	char comm[EVENT_COMM_LEN];

	switch (filter) {
	case FILTER_TGID:
		return is_target(task->tgid);
	case FILTER_TID:
		return is_target(task->pid);
	case FILTER_COMM:
		bpf_probe_read_kernel(comm, sizeof comm, task->comm);
		return comm_matches(comm);
	case FILTER_CGROUP:
		return in_cgroup(task);
	}
	return 1;
}

#endif
