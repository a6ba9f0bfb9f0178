// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lookups in unwind tables of four shapes, in the kernel: each program looks up run.n addresses and adds up the answers. */
#include "../unwind_lookup.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct walk {
	__u32 pos, len;
};
#include "bpf/unwind_find.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct lookup_run run;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOOKUP_PCS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} pcs SEC(".maps");

static __always_inline __u64 answer_number(struct lookup_answer a)
{
	return (__u64)a.cfa << 48 | (__u64)a.fp << 40 | (__u64)a.cfa_offset << 16 |
	       (__u16)a.fp_offset;
}

static __always_inline __u64 pc_at(__u32 i)
{
	__u32 k = i & run.mask;
	__u64 *pc = bpf_map_lookup_elem(&pcs, &k);

	return pc ? *pc : 0;
}

#define MEASURED(name, lookup) \
	static long name##_one(__u32 i, void *ctx) \
	{ \
		*(__u64 *)ctx += lookup(pc_at(i)); \
		return 0; \
	} \
	SEC("raw_tp") int name(void *ctx) \
	{ \
		__u64 sum = 0, start = bpf_ktime_get_ns(); \
		bpf_loop(run.n, name##_one, &sum, 0); \
		run.ns = bpf_ktime_get_ns() - start; \
		run.sum = sum; \
		return 0; \
	}

/* --- nothing: what the loop costs ------------------------------------------------------------------ */

static __always_inline __u64 look_nowhere(__u64 pc)
{
	return pc;
}
MEASURED(nothing, look_nowhere)

/* --- ours ---------------------------------------------------------------------------------------- */

struct segment {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOOKUP_SEGMENT_CHUNKS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, 4);
	__uint(value_size, UNWIND_CHUNK);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LOOKUP_SEGMENTS);
	__type(key, __u32);
	__array(values, struct segment);
} segments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline const void *walk_chunk(struct walk *w, __u32 chunk)
{
	__u32 segment = chunk / LOOKUP_SEGMENT_CHUNKS, index = chunk % LOOKUP_SEGMENT_CHUNKS;
	void *map = bpf_map_lookup_elem(&segments, &segment);

	return map ? bpf_map_lookup_elem(map, &index) : 0;
}

static __always_inline __u64 look_dir256(__u64 pc)
{
	__u32 zero = 0;
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);
	struct unwind_table_ref ref = run.ref;
	const struct unwind_rule *r = w ? find_rule(w, &ref, pc) : 0;
	struct lookup_answer a = { 0 };

	if (r) {
		a.cfa = r->cfa;
		a.fp = r->fp;
		a.cfa_offset = r->cfa_offset;
		a.fp_offset = r->fp_offset;
	}
	return answer_number(a);
}
MEASURED(dir256, look_dir256)

/* --- 4-byte rows ----------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 40000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lookup_page_key);
	__type(value, struct rows4_page);
} rows4_pages SEC(".maps");
struct rows4_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct row4));
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 4096);
	__uint(key_size, 8);
	__uint(value_size, 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__array(values, struct rows4_map);
} rows4 SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOOKUP_MAX_RULES);
	__type(key, __u32);
	__type(value, struct rows4_rule);
} rows4_rules SEC(".maps");

static __always_inline __u64 look_rows4(__u64 pc)
{
	struct lookup_page_key key = { .object = 1, .page = pc >> LOOKUP_PAGE_BITS };
	struct rows4_page *page = bpf_map_lookup_elem(&rows4_pages, &key);
	struct lookup_answer a = { 0 };
	struct rows4_rule *rule;
	struct row4 *row;
	__u64 object = 1;
	__u32 lo, hi, index;
	void *rows;

	rows = page ? bpf_map_lookup_elem(&rows4, &object) : 0;
	if (!rows)
		return 0;
	lo = page->first;
	hi = lo + page->n;
	for (int i = 0; i < 16; i++) {
		__u32 mid = (lo + hi) >> 1;

		if (lo >= hi)
			break;
		row = bpf_map_lookup_elem(rows, &mid);
		if (!row)
			return 0;
		if (row->lo <= (__u16)pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	lo--;
	row = bpf_map_lookup_elem(rows, &lo);
	if (!row)
		return 0;
	index = row->rule;
	rule = bpf_map_lookup_elem(&rows4_rules, &index);
	if (!rule)
		return 0;
	a.cfa = rule->cfa;
	a.fp = rule->fp;
	a.cfa_offset = rule->cfa_offset;
	a.fp_offset = rule->fp_offset;
	return answer_number(a);
}
MEASURED(rows4_in_hash_of_maps, look_rows4)

/* --- 8-byte rows ----------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 500000);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lookup_page_key);
	__type(value, struct rows8_page);
} rows8_pages SEC(".maps");
struct rows8_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct row8));
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 3000);
	__uint(key_size, 8);
	__uint(value_size, 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__array(values, struct rows8_map);
} rows8 SEC(".maps");

static __always_inline __u64 look_rows8(__u64 pc)
{
	struct lookup_page_key key = { .object = 1, .page = pc >> LOOKUP_PAGE_BITS };
	struct rows8_page *page = bpf_map_lookup_elem(&rows8_pages, &key);
	struct lookup_answer a = { 0 };
	struct row8 *row;
	__u64 object = 1;
	__u32 lo, hi;
	void *rows;

	rows = page ? bpf_map_lookup_elem(&rows8, &object) : 0;
	if (!rows)
		return 0;
	lo = page->first;
	hi = page->end;
	for (int i = 0; i < 17; i++) {
		__u32 mid = (lo + hi) >> 1;

		if (lo >= hi)
			break;
		row = bpf_map_lookup_elem(rows, &mid);
		if (!row)
			return 0;
		if (row->lo <= (__u16)pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	lo--;
	row = bpf_map_lookup_elem(rows, &lo);
	if (!row)
		return 0;
	a.cfa = row->cfa;
	a.fp = row->fp;
	a.cfa_offset = row->cfa_offset;
	a.fp_offset = row->fp_offset;
	return answer_number(a);
}
MEASURED(rows8_in_inner_maps, look_rows8)

/* --- 16-byte rows ---------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct rows16_list);
} rows16_lists SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct rows16_shard);
} rows16 SEC(".maps");

static __always_inline __u64 look_rows16(__u64 pc)
{
	__u32 one = 1, lo = 0, hi, id;
	struct rows16_list *list = bpf_map_lookup_elem(&rows16_lists, &one);
	struct lookup_answer a = { 0 };
	struct rows16_shard *shard;
	const struct row16 *row;

	if (!list)
		return 0;
	hi = list->n;
	lo = list->v[LOOKUP_MAX_SHARDS - 1].shard; /* 0, as a number that is not known */
	for (int i = 0; i < 10; i++) {
		__u32 mid = (lo + hi) >> 1;

		if (lo >= hi)
			break;
		if (list->v[mid & (LOOKUP_MAX_SHARDS - 1)].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	id = list->v[(lo - 1) & (LOOKUP_MAX_SHARDS - 1)].shard;
	shard = bpf_map_lookup_elem(&rows16, &id);
	if (!shard)
		return 0;
	lo = shard->rows[LOOKUP_SHARD_ROWS].cfa; /* 0, as above */
	hi = shard->rows[LOOKUP_SHARD_ROWS].pc;
	for (int i = 0; i < 17; i++) {
		__u64 mid = (lo + hi) >> 1;

		if (lo >= hi)
			break;
		asm volatile("%0 &= 0xffff" : "+r"(mid));
		if (shard->rows[mid].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	row = &shard->rows[(lo - 1) & LOOKUP_SHARD_ROWS];
	a.cfa = row->cfa;
	a.fp = row->fp;
	a.cfa_offset = row->cfa_offset;
	a.fp_offset = row->fp_offset;
	return answer_number(a);
}
MEASURED(rows16_in_hash_values, look_rows16)
