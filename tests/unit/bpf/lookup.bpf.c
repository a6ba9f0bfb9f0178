// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Looks up the rules of many offsets in a table in kernel memory, as the walker does (bpf/unwind_find.h). */
#include "lookup.h"

#include "bpf/space.h"

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
	__uint(max_entries, LOOKUP_BATCH);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lookup);
} lookups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SPACE_MAX_TABLES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct space_table);
} tables SEC(".maps");

struct segment {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_SEGMENT_CHUNKS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, 4);
	__uint(value_size, UNWIND_CHUNK);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 64);
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
	__u32 segment = chunk / UNWIND_SEGMENT_CHUNKS, at = chunk % UNWIND_SEGMENT_CHUNKS;
	void *inner = bpf_map_lookup_elem(&segments, &segment);

	return inner ? bpf_map_lookup_elem(inner, &at) : 0;
}

static long look(__u32 i, void *ctx)
{
	__u32 zero = 0, index = run.table;
	struct lookup *l = bpf_map_lookup_elem(&lookups, &i);
	struct space_table *t = bpf_map_lookup_elem(&tables, &index);
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);
	const struct unwind_rule *r;

	if (!l || !t || !w)
		return 1;
	r = find_rule(w, &t->ref, l->offset);
	l->found = r != 0;
	if (r)
		l->rule = *r;
	return 0;
}

SEC("raw_tp")
int look_all(void *ctx)
{
	bpf_loop(run.n, look, 0, 0);
	return 0;
}
