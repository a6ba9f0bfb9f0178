/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/kernel.h: the few kernel structures that the programs read, with only the fields they use,
 * and the differences between kernels. Offsets come from the running kernel's BTF at load time
 * (CO-RE), so the build needs no headers of that kernel.
 *
 * Integers that are loaded directly are unsigned: where a kernel has a narrower field, libbpf
 * adapts only unsigned loads. For reads by BPF_CORE_READ it adapts the offset, never the size.
 * collect/kernel/kernel_types.c has a row for each field. */
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

/* The kernel's names of the registers of x86-64. */
struct pt_regs___x86_64 {
	unsigned long cx, r11, ip, flags;
};

/* A page of a process for the code of probes. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
	struct block_device *s_bdev; /* NULL: on no disk */
};

struct inode {
	unsigned short i_mode; /* umode_t */
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_generation;
};

struct file {
	struct inode *f_inode;
};

struct vm_userfaultfd_ctx {
	struct userfaultfd_ctx *ctx;
};

struct vm_area_struct {
	unsigned long vm_end;
	const struct vm_operations_struct *vm_ops; /* NULL: anonymous memory */
	struct file *vm_file;
	struct vm_userfaultfd_ctx vm_userfaultfd_ctx;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long start_stack; /* of its main thread, when its program began */
	struct file *exe_file;
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
	unsigned int sched_delayed; /* since 6.12, narrower: asleep, but still in the queue */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64: the thread pointer of user space */
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct task_struct {
	unsigned int __state; /* since 5.14 */
	void *stack;
	unsigned int flags;
	unsigned int on_cpu; /* narrower since 7.3: libbpf adapts only unsigned loads */
	unsigned int pid, tgid;
	char comm[16];
	struct mm_struct *mm;
	const struct cred *real_cred; /* cred is another user's inside some system calls */
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct sched_info sched_info;
	struct sched_entity se;
	struct thread_struct thread;
	unsigned int pagefault_disabled;
	unsigned long nvcsw; /* voluntary context switches */
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
	TASK_PF_EXITING = 0x4,        /* include/linux/sched.h, as the others */
	TASK_PF_IO_WORKER = 0x10,     /* since 5.12 */
	TASK_PF_USER_WORKER = 0x4000, /* since 6.4 */
	TASK_PF_KTHREAD = 0x200000,
	TASK_PF_NO_USER = TASK_PF_KTHREAD | TASK_PF_IO_WORKER | TASK_PF_USER_WORKER,
};

/* Helpers that the kernel has. */
const volatile __u32 has_current_task_btf = 1; /* since 5.11 */
const volatile __u32 has_task_pt_regs = 1;     /* since 5.15 */

/* To be read with BPF_CORE_READ: without the helper the verifier does not know its type. */
static __always_inline struct task_struct *current_task(void)
{
	return has_current_task_btf ? bpf_get_current_task_btf()
				    : (struct task_struct *)bpf_get_current_task();
}

enum { X86_KERNEL_STACK_BYTES = 16 << 10, X86_PT_REGS_BYTES = 21 * 8 };

/* The registers with which the task entered the kernel. Without the helper they are at the top of
 * its stack (arch/x86/include/asm/processor.h). With the helper the verifier must know the type of
 * task. */
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
