/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/task_map.h: a value for every thread, as a macro, and the map of thread times, which both BPF
 * objects have.
 *
 *     NAME_make(task)        where the kernel may allocate: at fork, in the iterator over tasks;
 *                            never at a switch: before Linux 6.4 it may allocate there
 *     NAME_of(task)          NULL: the thread has no value
 *     NAME_of_current()      the same for the current task
 *     NAME_forget(task)      at its end */
#ifndef CRESSET_BPF_TASK_MAP_H
#define CRESSET_BPF_TASK_MAP_H

#include "bpf/kernel.h"
#include "bpf/thread_time.h"

const volatile __u32 use_task_storage = 1; /* for these programs since 5.12; else hash tables */

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
	static __always_inline value_t *name##_of(struct task_struct *task) \
	{ \
		__u32 tid; \
\
		if (use_task_storage) \
			return bpf_task_storage_get(&name##_storage, task, 0, 0); \
		tid = task->pid; \
		return bpf_map_lookup_elem(&name##_hash, &tid); \
	} \
	static __always_inline value_t *name##_of_current(void) \
	{ \
		__u32 tid = (__u32)bpf_get_current_pid_tgid(); \
\
		return use_task_storage ? name##_of(bpf_get_current_task_btf()) \
					: bpf_map_lookup_elem(&name##_hash, &tid); \
	} \
	static __always_inline value_t *name##_make(struct task_struct *task) \
	{ \
		__u32 tid; \
\
		if (use_task_storage) \
			return bpf_task_storage_get(&name##_storage, task, 0, \
						    BPF_LOCAL_STORAGE_GET_F_CREATE); \
		tid = task->pid; \
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
