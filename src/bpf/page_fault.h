/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/page_fault.h: sends page faults of user memory with their stacks. Interrupts are off, so no
 * other program of this CPU is interrupted but one that reads user memory. */
#ifndef CRESSET_BPF_PAGE_FAULT_H
#define CRESSET_BPF_PAGE_FAULT_H

#include "bpf/fault_event.h"
#include "bpf/wait_stack.h"

volatile __u32 fault_bits = 4; /* one fault in 2^bits is sent; changes while it runs */

static __always_inline void send_fault(struct scratch *s, struct task_struct *task, __u32 bits,
				       __u64 now_ns)
{
	struct event_fault *ev = (struct event_fault *)&s->out_wait;
	__u32 n;

	begin_sample(&ev->sample, task, EVENT_FAULT, now_ns);
	ev->sample.trace = s->trace;
	ev->sample.gpu_call = s->gpu_call;
	__builtin_memset(&ev->fault, 0, sizeof ev->fault);
	ev->fault.bits = bits;
	ev->fault.parts = PART_FAULT;
	if (s->head.walk_end == WALK_NOT_LOADED && sample_raw(s, FROM_OTHERS, WALK_BY_PARTS))
		return;
	n = hash_stack(s, WALK_MAX_KERNEL);
	if (n) {
		ev->sample.stack_hash = s->head.stack_hash;
		send_stack(s, n, FROM_OTHERS);
	}
	if (bpf_ringbuf_output(&ring, ev, sizeof *ev, wake_flags(FROM_OTHERS, 1)))
		count(COUNT_FAULTS_LOST);
}

/* Chosen by chance: a program may touch the same few pages again and again. */
static __always_inline int take_fault(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid(), now_ns;
	__u32 bits = fault_bits & 31;
	struct task_struct *task;
	char comm[EVENT_COMM_LEN];
	struct scratch *s;

	if (bpf_get_prandom_u32() & ((1u << bits) - 1))
		return 0;
	bpf_get_current_comm(comm, sizeof comm);
	if (!wanted(pid_tgid >> 32, (__u32)pid_tgid, comm))
		return 0;
	s = scratch_for(SCRATCH_WAIT);
	if (!s)
		return 0;
	now_ns = bpf_ktime_get_ns();
	task = current_task();
	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	s->trace = (struct event_trace){ 0 };
	no_call(s);
	end_stack(task, s, now_ns);
	s->head.syscall = 0; /* only waits have it */
	send_fault(s, task, bits, now_ns);
	count_run(now_ns);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user)
{
	return take_fault();
}

/* The kernel touches user memory in a system call. Whoever only tries to read it has disabled
 * faults; so does the read of this counter itself. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel, unsigned long address)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if ((__s64)address < 0 || BPF_CORE_READ(task, pagefault_disabled) > 1)
		return 0;
	return take_fault();
}

#endif
