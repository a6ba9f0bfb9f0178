/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/page_fault.h: sends page faults of user memory with their stacks, also those that end in a
 * signal. Interrupts are off, so no other program of this CPU is interrupted but one that reads
 * user memory. */
#ifndef CRESSET_BPF_PAGE_FAULT_H
#define CRESSET_BPF_PAGE_FAULT_H

#include "bpf/fault_event.h"
#include "bpf/wait_stack.h"

/* One fault in 2^bits is sent, and all writes to one page in 2^bits; bits change while it runs. */
volatile __u32 fault_bits = 4, resident_bits = 4;
const volatile __u32 want_faults = 1, want_resident = 0;

enum { FAULT_ERROR_WRITE = 2 }; /* X86_PF_WRITE of arch/x86/include/asm/trap_pf.h */

/* Sends the fault's event, which is put together in memory of the map: the stacks of all functions
 * below this one share 512 bytes. */
static __always_inline void send_fault(struct scratch *s, struct task_struct *task, __u64 now_ns)
{
	struct event_fault *ev = (struct event_fault *)&s->out_wait;
	__u32 n;

	begin_sample(&ev->sample, task, EVENT_FAULT, now_ns);
	ev->sample.trace = s->trace;
	ev->sample.gpu_call = s->gpu_call;
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

/* Returns bits of enum fault_flag. By chance: a program may touch the same few pages again and
 * again. By a hash: only writes get memory. */
static __always_inline __u32 choose(__u64 address, __u64 error, __u32 tgid, __u32 bits,
				    __u32 page_bits)
{
	__u32 flags = 0;

	if (want_faults && !(bpf_get_prandom_u32() & ((1u << bits) - 1)))
		flags |= FAULT_CHANCE;
	if (!want_resident || !(error & FAULT_ERROR_WRITE))
		return flags;
	if (fault_has_page(address, tgid, page_bits))
		flags |= FAULT_PAGE;
	if (fault_has_region(address, tgid, page_bits))
		flags |= FAULT_REGION;
	return flags;
}

/* Not atomic: interrupts are off, and the sampler does not change it. */
static __always_inline void count_seen(void)
{
	__u32 which = COUNT_FAULTS_SEEN;
	__u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		*n += 1;
}

static __always_inline int take_fault(__u64 address, __u64 error)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid(), now_ns;
	__u32 bits = fault_bits & 31, page_bits = resident_bits & 31, flags;
	struct task_struct *task;
	struct event_fault *ev;
	char comm[EVENT_COMM_LEN];
	struct scratch *s;

	count_seen();
	flags = choose(address, error, pid_tgid >> 32, bits, page_bits);
	if (!flags)
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
	ev = (struct event_fault *)&s->out_wait;
	__builtin_memset(&ev->fault, 0, sizeof ev->fault);
	ev->fault.bits = bits;
	ev->fault.flags = flags;
	ev->fault.address = address;
	ev->fault.page_bits = page_bits;
	ev->fault.parts = PART_FAULT;
	send_fault(s, task, now_ns);
	count_run(now_ns);
	add(COUNT_FAULTS_NS, bpf_ktime_get_ns() - now_ns);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return take_fault(address, error);
}

/* The kernel touches user memory in a system call. Whoever only tries to read it has disabled
 * faults; so does the read of this counter itself. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if ((__s64)address < 0 || BPF_CORE_READ(task, pagefault_disabled) > 1)
		return 0;
	return take_fault(address, error);
}

#endif
