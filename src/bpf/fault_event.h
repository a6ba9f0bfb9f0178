/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/fault_event.h: the event of a page fault, shared by BPF and user space. */
#ifndef CRESSET_BPF_FAULT_EVENT_H
#define CRESSET_BPF_FAULT_EVENT_H

#include "bpf/event.h"

enum { FAULT_PAGE_BYTES = 4096 };
/* limit FAULT_MAX_BITS: one page fault in 2^20 is recorded, at least */
enum { FAULT_MAX_BITS = 20 };

/* What an event has in place of its wait_info. */
enum { PART_FAULT = 32 }; /* next to enum wait_part */
struct fault_info {
	__u64 bits; /* the fault stands for 2^bits of them */
	__u64 unused[3];
	__u64 none;  /* 0: in the place of a wait's kernel part */
	__u32 parts; /* PART_FAULT */
	__u32 no_waker;
	__u64 reserved[6];
};
_Static_assert(sizeof(struct fault_info) == sizeof(struct wait_info),
	       "one takes the other's place");
_Static_assert(__builtin_offsetof(struct fault_info, parts) ==
			       __builtin_offsetof(struct wait_info, parts) &&
		       __builtin_offsetof(struct fault_info, no_waker) ==
			       __builtin_offsetof(struct wait_info, waker_tgid),
	       "parts differs");

struct event_fault {
	struct event_sample sample; /* kind is EVENT_FAULT, or EVENT_RAW in an event_raw */
	struct fault_info fault;
};

#endif
