/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/unwind_table.h: the unwind rules of one ELF object in the walker's format, shared by BPF and
 * user space.
 *
 * A table is an image of whole chunks of 4096 bytes, so that it fits into the values of array maps
 * wherever space is available. It holds no pointers: it is written once and shared by every process
 * that maps the object. Addresses are file offsets.
 *
 *     rules       struct unwind_rule[n_rules], the most common first; rule 0: none
 *     directory   __u32 for each page of 256 bytes of the file from first_page on:
 *                   UNWIND_DIR_RULE | rule                       the whole page has one rule
 *                   [UNWIND_DIR_WIDE |] chunk << 11 | at / 2     else: its block, at byte `at` of
 *                                                                the image's chunk
 *     blocks      { __u8 n, carry } { __u8 lo, rule } [n] rows by lo: from byte lo of the page on;
 *                 carry is the rule before the first row { __u16 n, carry } { __u16 lo, rule } [n]
 *                 where a rule's number does not fit into a byte
 *
 * Each part starts in a separate chunk. No block crosses chunks. Wide blocks lie at multiples of
 * 4. */
#ifndef CRESSET_BPF_UNWIND_TABLE_H
#define CRESSET_BPF_UNWIND_TABLE_H

#include <linux/types.h>

enum {
	UNWIND_CHUNK = 4096,
	UNWIND_PAGE_BITS = 8, /* of file offsets */
	UNWIND_RULES_PER_CHUNK = UNWIND_CHUNK / 16,
	UNWIND_DIR_PER_CHUNK = UNWIND_CHUNK / 4,
	UNWIND_MAX_RULES = 65536,
	UNWIND_MAX_CHUNKS = 1 << 19, /* 2 GiB */
	UNWIND_SEGMENT_CHUNKS = 256, /* in one map; chunks are numbered through all maps */
};
#define UNWIND_DIR_RULE    (1u << 31)
#define UNWIND_DIR_WIDE    (1u << 30)
#define UNWIND_DIR_AT_BITS 11

/* Where a value is. The CFA has NONE, REG, DEREF or PLT; the frame pointer and the return address
 * have the others. */
enum unwind_kind {
	UNWIND_NONE = 0, /* CFA: no rule. Register: untouched */
	UNWIND_REG,      /* CFA: reg + offset. Register: its value is in reg */
	UNWIND_DEREF,    /* CFA: *(reg + offset) + add. Register: *(reg + offset) */
	UNWIND_CFA,      /* *(CFA + offset) */
	/* CFA: reg + offset, 8 more where the address's low four bits are add or above */
	UNWIND_PLT,
	UNWIND_UNDEFINED, /* lost; for the return address: this is the outermost frame */
	UNWIND_OTHER,     /* what no rule can express */
	/* CFA: unknown, but the code is only a few bytes between functions that have rules */
	UNWIND_GAP,
};
enum {
	UNWIND_SIGNAL = 1,    /* the caller was interrupted: its address is exact */
	UNWIND_RA_SIGNED = 2, /* arm64: the return address has an authentication code */
	UNWIND_BX_KNOWN = 4,  /* where rbx is: untouched, or saved this many words below the CFA: */
	UNWIND_BX_SHIFT = 3,
	UNWIND_BX_MAX = 31,
};

struct unwind_rule {
	__s32 cfa_offset;
	__s32 fp_offset;
	__s16 cfa_add;
	__s16 ra_offset;
	__u8 cfa, fp, ra; /* kind << 5 | register, as DWARF numbers them */
	__u8 flags;
};
_Static_assert(sizeof(struct unwind_rule) == 16, "unwind_rule has no padding");

#define UNWIND_KIND(place)     ((place) >> 5)
#define UNWIND_REGISTER(place) ((place)&31)

/* The place of a table. */
struct unwind_table_ref {
	__u32 chunk;     /* first chunk of the image */
	__u32 dir_chunk; /* chunks of rules in front of the directory */
	__u32 first_page, n_pages;
};

#endif
