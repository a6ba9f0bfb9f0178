/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/kernel.h: the few kernel structures the programs look into, with only the fields used. Offsets come from the running
 * kernel's BTF at load time (CO-RE), so no header of that kernel is needed to build. */
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
	int counter;
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
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct thread_struct {
	unsigned long fsbase; /* x86-64: the thread pointer of user space */
};

struct task_struct {
	unsigned int __state; /* since 5.14 */
	unsigned int flags;
	unsigned int on_cpu; /* a narrower one since 7.3: libbpf adapts unsigned loads only */
	int pid, tgid;
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
};

enum {
	X86_USER_CS = 0x33,   /* 64-bit user code segment */
	X86_USER32_CS = 0x23, /* 32-bit */
};

#endif
