/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/unwind_find.h: the lookup in an unwind table (bpf/unwind_table.h), for BPF and for user
 * space. Files that include this have a struct walk with
 *
 *     __u32 pos, len                     of a search
 *
 * and define the access to a chunk; NULL if none exists:
 *
 *     const void *walk_chunk(struct walk *w, __u32 chunk)
 *
 * The positions of a search are retained in *w, which is map memory: the verifier treats values
 * loaded from there as unknown, so it does not follow the search value by value. */
#ifndef CRESSET_BPF_UNWIND_FIND_H
#define CRESSET_BPF_UNWIND_FIND_H

#include "bpf/unwind_table.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static const void *walk_chunk(struct walk *w, __u32 chunk);

#define LOAD(x)     (*(volatile const __typeof__(x) *)&(x))
#define STORE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

/* --- searches: w->pos: how many of len sorted keys are not above a value ---------------------- */

static __always_inline void search_begin(struct walk *w, __u32 len)
{
	STORE(w->pos, 0);
	STORE(w->len, len);
}

/* The key to look at next; -1 when the search is over. */
static __always_inline int search_at(struct walk *w)
{
	__u32 len = LOAD(w->len);

	return len ? (int)(LOAD(w->pos) + len / 2) : -1;
}

static __always_inline void search_move(struct walk *w, int is_above)
{
	__u32 len = LOAD(w->len), half = len / 2;

	if (is_above) {
		STORE(w->len, half);
	} else {
		STORE(w->pos, LOAD(w->pos) + half + 1);
		STORE(w->len, len - half - 1);
	}
}

/* --- tables ----------------------------------------------------------------------------------- */

static __always_inline __u32 chunk_u16(const __u8 *chunk, __u32 at)
{
	return *(const __u16 *)(chunk + (at & (UNWIND_CHUNK - 2)));
}

/* A row of a block: its place in the page in the low half, its rule in the high half. Row 0: the
 * number of rows that follow, and the rule before them. */
static __always_inline __u32 block_row(const __u8 *chunk, __u32 at, __u32 i, int wide)
{
	__u32 v;

	if (wide)
		return chunk_u16(chunk, at + i * 4) | chunk_u16(chunk, at + i * 4 + 2) << 16;
	v = chunk_u16(chunk, at + i * 2);
	return (v & 255) | (v >> 8) << 16;
}

static __always_inline __u32 search_block(struct walk *w, const __u8 *chunk, __u32 entry,
					  __u32 page_offset)
{
	__u32 at = (entry & ((1u << UNWIND_DIR_AT_BITS) - 1)) * 2;
	int wide = (entry & UNWIND_DIR_WIDE) != 0;

	search_begin(w, block_row(chunk, at, 0, wide) & 0xffff);
	for (int i = 0; i < 9; i++) {
		int row = search_at(w);

		if (row < 0)
			break;
		search_move(w, (block_row(chunk, at, row + 1, wide) & 0xffff) > page_offset);
	}
	return block_row(chunk, at, LOAD(w->pos), wide) >> 16;
}

/* Returns the rule at a file offset, NULL if none exists. */
static __always_inline const struct unwind_rule *find_rule(struct walk *w,
							   const struct unwind_table_ref *t,
							   __u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_BITS) - t->first_page;
	const __u32 *dir;
	const __u8 *block;
	const struct unwind_rule *rules;
	__u32 entry, rule;

	if (page >= t->n_pages)
		return 0;
	dir = walk_chunk(w, t->chunk + t->dir_chunk + page / UNWIND_DIR_PER_CHUNK);
	if (!dir)
		return 0;
	entry = dir[page % UNWIND_DIR_PER_CHUNK];
	rule = entry & (UNWIND_MAX_RULES - 1);
	if (!(entry & UNWIND_DIR_RULE)) {
		block = walk_chunk(w,
				   t->chunk + ((entry & ~UNWIND_DIR_WIDE) >> UNWIND_DIR_AT_BITS));
		if (!block)
			return 0;
		rule = search_block(w, block, entry, offset & ((1 << UNWIND_PAGE_BITS) - 1));
	}
	if (!rule)
		return 0;
	rules = walk_chunk(w, t->chunk + rule / UNWIND_RULES_PER_CHUNK);
	return rules ? &rules[rule % UNWIND_RULES_PER_CHUNK] : 0;
}

#endif
