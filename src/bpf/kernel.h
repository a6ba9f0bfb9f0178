/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/kernel.h: the few kernel structures the programs look into, with only the fields used, and what differs between kernels.
 * Offsets come from the running kernel's BTF at load time (CO-RE), so no header of that kernel is needed to build.
 *
 * Integers that are loaded directly are unsigned: where a kernel has a narrower one, libbpf adapts unsigned loads only. Reads by
 * BPF_CORE_READ are adapted in their place, never in their size. collect/kernel_types.c has a row for each field. */
#ifndef CRESSET_BPF_KERNEL_H
#define CRESSET_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	unsigned int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads not yet exiting */
};

/* As the kernel calls the registers of x86-64. */
struct pt_regs___x86_64 {
	unsigned long cx, r11, ip, flags;
};

/* A page of a process for code of probes. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	unsigned long start_code;
	int map_count;
	struct uprobes_state uprobes_state;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup;
struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self; /* its first member */
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct sched_info {
	unsigned long long run_delay, last_arrival, last_queued;
};

struct rq {
	unsigned long long clock;
	unsigned long long rq_cpu_time; /* of tasks that have left the CPU: CONFIG_SCHEDSTATS */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	unsigned int sched_delayed; /* since 6.12, narrower: it sleeps, and is still in the queue */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64: the thread pointer of user space */
};

struct task_struct {
	unsigned int __state; /* since 5.14 */
	void *stack;
	unsigned int flags;
	unsigned int on_cpu; /* a narrower one since 7.3: libbpf adapts unsigned loads only */
	unsigned int pid, tgid;
	char comm[16];
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct sched_info sched_info;
	struct sched_entity se;
	struct thread_struct thread;
	unsigned long nvcsw; /* times that it gave up the CPU of its own will */
};

struct task_struct___before_5_14 {
	long state;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

enum {
	TASK_PF_IO_WORKER = 0x10,     /* include/linux/sched.h, since 5.12 */
	TASK_PF_USER_WORKER = 0x4000, /* since 6.4 */
	TASK_PF_KTHREAD = 0x200000,
	TASK_PF_NO_USER = TASK_PF_KTHREAD | TASK_PF_IO_WORKER | TASK_PF_USER_WORKER,
};

/* What helpers the kernel has. */
const volatile __u32 has_current_task_btf = 1; /* since 5.11 */
const volatile __u32 has_task_pt_regs = 1;     /* since 5.15 */

/* To be read by BPF_CORE_READ: without the helper the verifier knows no type of it. */
static __always_inline struct task_struct *current_task(void)
{
	return has_current_task_btf ? bpf_get_current_task_btf()
				    : (struct task_struct *)bpf_get_current_task();
}

enum { X86_KERNEL_STACK_BYTES = 16 << 10, X86_PT_REGS_BYTES = 21 * 8 };

/* The registers that the task came into the kernel with. Without the helper: at the top of its stack (arch/x86/include/asm/processor.h).
 * task: with a type that the verifier knows where there is the helper. */
static __always_inline void *entry_regs(struct task_struct *task)
{
	if (has_task_pt_regs)
		return (void *)bpf_task_pt_regs(task);
	return BPF_CORE_READ(task, stack) + X86_KERNEL_STACK_BYTES - X86_PT_REGS_BYTES;
}

/* It was `state` before 5.14. */
static __always_inline __u32 state_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->__state)
		       ? task->__state
		       : (__u32)((struct task_struct___before_5_14 *)task)->state;
}

enum {
	X86_USER_CS = 0x33,   /* 64-bit user code segment */
	X86_USER32_CS = 0x23, /* 32-bit */
};

#endif
