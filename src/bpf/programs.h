/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/programs.h: wakes the reader of the side band at an exec of a program not known to it.
 *
 * It wakes the reader for files not seen to start within 4 s, and for programs with an interpreter
 * or GPU library; the reader reads again after 2, 6, 18 and 54 ms, while libraries load. */
#ifndef CRESSET_BPF_PROGRAMS_H
#define CRESSET_BPF_PROGRAMS_H

#include "bpf/program_file.h"
#include "bpf/targets.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROGRAMS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct program_file);
	__type(value, struct program_known);
} programs SEC(".maps");

/* When it is full, the reader has been woken already. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} program_ring SEC(".maps");

/* Returns whether the program had an exec in the last PROGRAM_KNOWN_NS, and notes this one. */
static __always_inline int is_known_program(const struct program_file *file, __u64 now_ns)
{
	struct program_known *known = bpf_map_lookup_elem(&programs, file);
	__u64 last_ns;

	if (!known)
		return 0;
	last_ns = known->last_ns;
	known->last_ns = now_ns;
	return !known->is_urgent && now_ns - last_ns < PROGRAM_KNOWN_NS;
}

/* Threads chosen by tid run already. */
static __always_inline int may_be_sampled(__u32 tgid)
{
	return filter != FILTER_TID &&
	       (filter != FILTER_TGID || bpf_map_lookup_elem(&targets, &tgid));
}

static __always_inline void tell_program(struct task_struct *task, __u64 now_ns)
{
	struct program_begun ev = { .pid = BPF_CORE_READ(task, tgid) };
	struct inode *inode;

	if (!may_be_sampled(ev.pid))
		return;
	inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
	if (inode) {
		ev.file.ino = BPF_CORE_READ(inode, i_ino);
		ev.file.generation = BPF_CORE_READ(inode, i_generation);
		ev.file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	}
	if (!is_known_program(&ev.file, now_ns))
		bpf_ringbuf_output(&program_ring, &ev, sizeof ev, BPF_RB_FORCE_WAKEUP);
}

/* Its file and its interpreter's are mapped by now. */
SEC("raw_tp/sched_process_exec")
int BPF_PROG(program_begins, struct task_struct *task)
{
	__u64 now_ns = bpf_ktime_get_ns();

	tell_program(task, now_ns);
	count_run(now_ns);
	return 0;
}

#endif
