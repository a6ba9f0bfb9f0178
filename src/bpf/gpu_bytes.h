/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/gpu_bytes.h: how many bytes a call is about, by its arguments. */
#ifndef CRESSET_BPF_GPU_BYTES_H
#define CRESSET_BPF_GPU_BYTES_H

#include "bpf/gpu_call.h"

static __always_inline __u64 product_at(__u64 address, const int n)
{
	__u64 words[3] = { 1, 1, 1 };

	if (bpf_probe_read_user(words, n * 8, (void *)address)) {
		gpu_count(GPU_COUNT_UNREADABLE, 1);
		return 0;
	}
	return words[0] * words[1] * (n == 3 ? words[2] : 1);
}

/* Two or three sizes, and what is behind them. Of two sizes there are no flags. */
static __always_inline int read_array(struct gpu_array *d, const struct gpu_probe_row *row,
				      __u64 at)
{
	d->size[2] = d->flags = 0;
	if (row->b == 2)
		return !bpf_probe_read_user(d->size, 16, (void *)at) &&
		       !bpf_probe_read_user(&d->type, 8, (void *)(at + 16));
	return !bpf_probe_read_user(d->size, 24, (void *)at) &&
	       !bpf_probe_read_user(&d->type, 12, (void *)(at + 24));
}

/* Bytes of one channel of this type; 0: not known. */
static __always_inline __u64 channel_bytes(const struct gpu_probe_row *row, __u32 type)
{
	for (__u32 i = 0; i < GPU_TYPES; i += 2)
		if (row->type_bytes[i] == type && row->type_bytes[i + 1])
			return row->type_bytes[i + 1];
	return 0;
}

static __always_inline __u64 at_least_1(__u64 n)
{
	return n + !n;
}

/* With all its levels, each half as large as the one before, layers apart: into the place's array. A global function: verified once; what the
 * loop changes is in memory, so that it is any number. */
__weak int gpu_measure_array(__u32 place, __u32 row_at, __u64 at, __u32 levels)
{
	struct gpu_place *p = bpf_map_lookup_elem(&gpu_places, &place);
	const struct gpu_probe_row *row = bpf_map_lookup_elem(&gpu_rows, &row_at);
	struct gpu_array *d;

	if (!p || !row)
		return 0;
	d = &p->array;
	d->bytes = 0;
	if (!read_array(d, row, at)) {
		gpu_count(GPU_COUNT_UNREADABLE, 1);
		return 0;
	}
	if (d->flags & row->void_flags)
		return 0;
	d->cell_bytes = channel_bytes(row, d->type) * at_least_1(d->channels);
	if (!LOAD(d->cell_bytes))
		gpu_count(GPU_COUNT_UNREADABLE, 1);
	for (__u32 i = 0; i < GPU_MAX_LEVELS && i < levels; i++) {
		d->bytes += at_least_1(LOAD(d->size[0])) * at_least_1(LOAD(d->size[1])) *
			    at_least_1(LOAD(d->size[2])) * LOAD(d->cell_bytes);
		d->size[0] = LOAD(d->size[0]) >> 1;
		d->size[1] = LOAD(d->size[1]) >> 1;
		if (!(d->flags & row->layer_flags))
			d->size[2] = LOAD(d->size[2]) >> 1;
	}
	return 0;
}

static __always_inline __u64 array_bytes(struct pt_regs *ctx, struct gpu_place *p,
					 const struct gpu_probe_row *row, __u32 row_at, __u64 at)
{
	__u32 levels = row->levels == GPU_NO_ARG ? 1 : (__u32)argument(ctx, row->levels);

	gpu_measure_array(p->index, row_at, at, levels);
	return p->array.bytes;
}

/* GPU_BYTES_PITCH is known on return. */
static __always_inline __u64 bytes_of(struct pt_regs *ctx, struct gpu_place *p,
				      const struct gpu_probe_row *row, __u32 row_at)
{
	__u64 a, b = row->b;

	if (row->bytes == GPU_BYTES_NONE)
		return 0;
	a = argument(ctx, row->a);
	switch (row->bytes) {
	case GPU_BYTES_ARG:
		return a;
	case GPU_BYTES_PRODUCT:
		return a * argument(ctx, row->b);
	case GPU_BYTES_TYPED:
		b = (__u32)argument(ctx, row->b);
		return b < GPU_TYPES ? a * row->type_bytes[b & (GPU_TYPES - 1)] : 0;
	case GPU_BYTES_PLANE:
		return product_at(a + b, 2);
	case GPU_BYTES_VOLUME:
		return product_at(a + b, 3);
	case GPU_BYTES_ARRAY:
		return array_bytes(ctx, p, row, row_at, a);
	}
	return 0;
}

#endif
