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

struct task_struct {
	unsigned int flags;
	int pid, tgid;
	struct mm_struct *mm;
	struct signal_struct *signal;
};

#pragma clang attribute pop

enum {
	TASK_PF_IO_WORKER = 0x10, /* include/linux/sched.h, since 5.12 */
	TASK_PF_KTHREAD = 0x200000,
};

enum {
	X86_USER_CS = 0x33,   /* 64-bit user code segment */
	X86_USER32_CS = 0x23, /* 32-bit */
};

#endif
