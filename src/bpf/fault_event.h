/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/fault_event.h: the event of a page fault, and which faults are sent. Shared by BPF and user
 * space.
 *
 * For `page-fault` faults are chosen by chance. For `rss` pages are, by a hash of their address: so
 * the last writer of a chosen page is known, and whether it is in memory can be looked up later. A
 * fault on a huge page maps 512 pages, and its address decides alone: so regions of that size are
 * also chosen, by another hash. */
#ifndef CRESSET_BPF_FAULT_EVENT_H
#define CRESSET_BPF_FAULT_EVENT_H

#include "bpf/event.h"

enum { FAULT_PAGE_SHIFT = 12, FAULT_HUGE_SHIFT = 21, FAULT_PAGE_BYTES = 1 << FAULT_PAGE_SHIFT };
/* limit FAULT_MAX_BITS: one page fault in 2^20 is recorded, at least */
enum { FAULT_MAX_BITS = 20 };

/* Why a fault is sent. */
enum fault_flag { FAULT_CHANCE = 1, FAULT_PAGE = 2, FAULT_REGION = 4 };

/* What an event has in place of its wait_info. */
enum { PART_FAULT = 32 }; /* next to enum wait_part */
struct fault_info {
	__u32 bits; /* FAULT_CHANCE: it stands for 2^bits faults */
	__u32 flags;
	__u64 address;
	__u32 page_bits; /* FAULT_PAGE, FAULT_REGION: it stands for 2^page_bits of them */
	__u32 unused[3];
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

static __always_inline __u64 fault_hash(__u64 number, __u64 tgid)
{
	__u64 h = (number ^ tgid << 40) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

/* Whether one in 2^bits pages, or regions, is chosen, and this is one. */
static __always_inline int fault_has_page(__u64 address, __u32 tgid, __u32 bits)
{
	return !(fault_hash(address >> FAULT_PAGE_SHIFT, tgid) & ((1u << bits) - 1));
}

static __always_inline int fault_has_region(__u64 address, __u32 tgid, __u32 bits)
{
	return !(fault_hash(~(address >> FAULT_HUGE_SHIFT), tgid) & ((1u << bits) - 1));
}

#endif
