/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/gpu_memory.h: what calls of a GPU's libraries allocate and free: a row for each allocation until it is freed. */
#ifndef CRESSET_BPF_GPU_MEMORY_H
#define CRESSET_BPF_GPU_MEMORY_H

#include "bpf/gpu_call.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gpu_block_key);
	__type(value, struct gpu_block);
} gpu_blocks SEC(".maps");

static __always_inline int read_word_at(__u64 address, __u64 *out)
{
	if (!bpf_probe_read_user(out, sizeof *out, (void *)address))
		return 1;
	gpu_count(GPU_COUNT_UNREADABLE, 1);
	return 0;
}

/* False: nothing was allocated. */
static __always_inline int end_alloc(struct pt_regs *ctx, struct gpu_thread *t,
				     const struct gpu_probe_row *row, struct event_gpu *ev)
{
	struct gpu_block_key key = { .tgid = t->tgid, .flags = row->flags };
	struct gpu_block block = { .bytes = t->bytes, .context = t->context, .refs = 1 };
	__u64 pitch;

	if ((__u32)word_of(ctx, PT_AX)) {
		gpu_count(GPU_COUNT_ALLOC_FAILED, 1);
		return 0;
	}
	if (!read_word_at(t->address_at, &key.address))
		return 0;
	if (row->bytes == GPU_BYTES_PITCH) {
		if (!read_word_at(t->pitch_at, &pitch))
			return 0;
		block.bytes = pitch * t->times;
	}
	block.time_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&gpu_blocks, &key, &block, BPF_ANY))
		gpu_count(GPU_COUNT_BLOCKS_FULL, 1);
	fill_event(ev, t, row->flags, GPU_ALLOC, block.time_ns);
	ev->gpu.value = block.bytes;
	ev->gpu.address = key.address;
	return 1;
}

static __always_inline struct gpu_block_key block_key(const struct gpu_place *p, __u64 address,
						      __u32 flags)
{
	return (struct gpu_block_key){ .address = address, .tgid = p->call.tgid, .flags = flags };
}

static __always_inline void free_block(struct gpu_thread *t, struct gpu_place *p,
				       const struct gpu_block_key *key,
				       const struct gpu_block *block)
{
	fill_event(&p->ev, t, key->flags, GPU_FREE, p->call.now_ns);
	p->ev.gpu.value = block->bytes;
	p->ev.gpu.address = key->address;
	bpf_map_delete_elem(&gpu_blocks, key);
	send_gpu(&p->ev);
}

/* What is mapped somewhere, or held by another handle, stays until it is not. */
static __always_inline void release_block(struct gpu_thread *t, const struct gpu_probe_row *row,
					  struct gpu_place *p, __u64 address)
{
	struct gpu_block_key key = block_key(p, address, row->flags);
	struct gpu_block *block;

	if (!address)
		return;
	block = bpf_map_lookup_elem(&gpu_blocks, &key);
	if (!block || !block->refs) {
		gpu_count(GPU_COUNT_FREES_UNKNOWN, 1);
		return;
	}
	if (!--block->refs && !block->maps)
		free_block(t, p, &key, block);
}

/* --- memory that has a handle, and gets an address apart from it --------------------------------------------------------- */

/* address, bytes, …, handle */
static __always_inline void map_block(struct pt_regs *ctx, struct gpu_place *p)
{
	struct gpu_block_key key = block_key(p, argument(ctx, 3), GPU_ADDRESS_HANDLE);
	struct gpu_block *block = bpf_map_lookup_elem(&gpu_blocks, &key);
	struct gpu_block map = { .bytes = argument(ctx, 1), .context = key.address };

	if (!block) /* it is another process's, or of before */
		return;
	block->maps++;
	key.address = block->mapped_at = argument(ctx, 0);
	key.flags = GPU_ADDRESS_MAPPED;
	if (bpf_map_update_elem(&gpu_blocks, &key, &map, BPF_ANY)) {
		block->maps--;
		gpu_count(GPU_COUNT_BLOCKS_FULL, 1);
	}
}

/* One mapping; its bytes, 0: there is none. */
static __always_inline __u64 unmap_one(struct gpu_thread *t, struct gpu_place *p, __u64 address)
{
	struct gpu_block_key key = block_key(p, address, GPU_ADDRESS_MAPPED), of;
	struct gpu_block *map = bpf_map_lookup_elem(&gpu_blocks, &key), *block;
	__u64 bytes;

	if (!map)
		return 0;
	bytes = map->bytes;
	of = block_key(p, map->context, GPU_ADDRESS_HANDLE);
	bpf_map_delete_elem(&gpu_blocks, &key);
	block = bpf_map_lookup_elem(&gpu_blocks, &of);
	if (block && block->maps && !--block->maps && !block->refs)
		free_block(t, p, &of, block);
	return bytes;
}

/* address, bytes: there may be several mappings. */
static __always_inline void unmap_blocks(struct pt_regs *ctx, struct gpu_thread *t,
					 struct gpu_place *p)
{
	__u64 address = argument(ctx, 0), left = argument(ctx, 1);

	for (int i = 0; i < GPU_UNMAPPED_AT_ONCE && left; i++) {
		__u64 bytes = unmap_one(t, p, address);

		if (!bytes || bytes > left)
			return;
		address += bytes;
		left -= bytes;
	}
}

/* Another handle of what is mapped at an address: it has the same number. */
static __always_inline void retain_block(struct pt_regs *ctx, struct gpu_place *p)
{
	struct gpu_block_key key = block_key(p, argument(ctx, 1), GPU_ADDRESS_MAPPED);
	struct gpu_block *map = bpf_map_lookup_elem(&gpu_blocks, &key), *block;

	if (!map)
		return;
	key = block_key(p, map->context, GPU_ADDRESS_HANDLE);
	block = bpf_map_lookup_elem(&gpu_blocks, &key);
	if (block)
		block->refs++;
}

/* --- all of a context ---------------------------------------------------------------------------------------------------- */

/* User space frees what was allocated for it. */
static __always_inline void reset_context(struct gpu_thread *t, const struct gpu_probe_row *row,
					  struct gpu_place *p, __u64 context)
{
	fill_event(&p->ev, t, row->flags, GPU_RESET, p->call.now_ns);
	p->ev.gpu.context = context;
	send_gpu(&p->ev);
}

#endif
