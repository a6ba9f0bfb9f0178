/* bench/unwind_lookup.h: what the programs of bench/bpf/unwind_lookup.bpf.c and their loader share: four shapes of unwind tables that
 * say the same. */
#ifndef CRESSET_BENCH_UNWIND_LOOKUP_H
#define CRESSET_BENCH_UNWIND_LOOKUP_H

#include "bpf/unwind_table.h"

#include <linux/types.h>

enum {
	LOOKUP_PCS = 1 << 16,
	LOOKUP_PAGE_BITS = 16,       /* of the shapes with an index of pages */
	LOOKUP_SEGMENT_CHUNKS = 256, /* of ours */
	LOOKUP_SEGMENTS = 64,
	LOOKUP_MAX_RULES = 16384,
	LOOKUP_SHARD_ROWS = 65535,
	LOOKUP_MAX_SHARDS = 1024,
};

/* What is asked of a rule, and all that a row of 8 bytes can say. */
struct lookup_answer {
	__u8 cfa, fp;
	__u16 cfa_offset;
	__s16 fp_offset;
};

struct lookup_page_key {
	__u64 object, page;
};
/* 4-byte rows: in array maps inside hash maps, by file; an index of pages of 64 KiB; the rules in an array of their own. */
struct rows4_page {
	__u32 first;
	__u16 n, map;
};
struct row4 {
	__u16 lo, rule;
};
struct rows4_rule {
	__u8 cfa, fp, pad[2];
	__s32 cfa_offset, fp_offset;
};
/* 8-byte rows: the rule is in them; arrays of any length inside one hash map. */
struct rows8_page {
	__u32 first, end;
};
struct row8 {
	__u16 lo;
	__u8 cfa, fp;
	__u16 cfa_offset;
	__s16 fp_offset;
};
/* 16-byte rows with whole addresses, 65 535 to a shard of 1 MiB, found by a list of shards. */
struct row16 {
	__u64 pc;
	__u8 cfa, fp;
	__u16 cfa_offset;
	__s16 fp_offset;
	__u16 pad;
};
struct rows16_shard {
	struct row16 rows[LOOKUP_SHARD_ROWS + 1]; /* the pc of the last: how many there are */
};
struct rows16_list {
	__u64 n;
	struct {
		__u64 pc, shard;
	} v[LOOKUP_MAX_SHARDS];
};

struct lookup_run {
	__u64 ns, sum;
	__u32 n, mask; /* how many lookups, of which PCs */
	struct unwind_table_ref ref;
};

#endif
