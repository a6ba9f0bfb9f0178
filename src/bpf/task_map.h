/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/task_map.h: what is kept of every thread, where: its times, which both objects of programs have. */
#ifndef CRESSET_BPF_TASK_MAP_H
#define CRESSET_BPF_TASK_MAP_H

#include "bpf/kernel.h"
#include "bpf/thread_time.h"

const volatile __u32 use_task_storage = 1; /* since 5.11; else hash tables */

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
TASK_MAP(times, thread_time_t)

#endif
