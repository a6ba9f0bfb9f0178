// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* bpf/gpu.bpf.c: probes on the libraries through which programs use a GPU: at the start of calls,
 * and at the end of the ones that wait or allocate; on the library that samples allocations, and on
 * HotSpot's own sampler.
 *
 * Loaded next to sample.bpf.c when a process has such a library. It shares the maps of the same
 * name, except the scratches that stacks are built in: a task in a probe may be preempted, and
 * another task may reach a probe on the same CPU. All probes of a kind are one program; the cookie
 * is the number of the row that describes the function's arguments. */
#include "bpf/gpu_call.h"
#include "bpf/java_sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* --- the number of bytes of a call, from its arguments ---------------------------------------- */

static __always_inline __u64 product_at(__u64 address, const int n)
{
	__u64 words[3] = { 1, 1, 1 };

	if (bpf_probe_read_user(words, n * 8, (void *)address)) {
		gpu_count(GPU_COUNT_UNREADABLE, 1);
		return 0;
	}
	return words[0] * words[1] * (n == 3 ? words[2] : 1);
}

/* Reads two or three sizes and the fields after them. With two sizes there are no flags. */
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

/* Returns the bytes of one channel of this type; 0: unknown. */
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

/* Measures an array with all its levels, each half as large as the previous one, except for layers,
 * into the place's array. A global function: verified once. The values that the loop changes are in
 * memory, so that the verifier treats them as unknown. */
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

/* The value of GPU_BYTES_PITCH is only known on return. */
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

/* --- memory: a row for each allocation until it is freed -------------------------------------- */

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

/* Returns false if nothing was allocated. */
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

/* A block that is still mapped, or that another handle holds, is retained. */
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

/* --- memory that has a handle, and gets an address apart from it ------------------------------ */

/* Arguments: address, bytes, …, handle. */
static __always_inline void map_block(struct pt_regs *ctx, struct gpu_place *p)
{
	struct gpu_block_key key = block_key(p, argument(ctx, 3), GPU_ADDRESS_HANDLE);
	struct gpu_block *block = bpf_map_lookup_elem(&gpu_blocks, &key);
	struct gpu_block map = { .bytes = argument(ctx, 1), .context = key.address };

	if (!block) /* of another process, or from before recording */
		return;
	block->maps++;
	key.address = block->mapped_at = argument(ctx, 0);
	key.flags = GPU_ADDRESS_MAPPED;
	if (bpf_map_update_elem(&gpu_blocks, &key, &map, BPF_ANY)) {
		block->maps--;
		gpu_count(GPU_COUNT_BLOCKS_FULL, 1);
	}
}

/* Removes one mapping. Returns its bytes; 0: none. */
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

/* Arguments: address, bytes. The range may have several mappings. */
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

/* Adds a handle to what is mapped at an address: it has the same number as the first. */
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

/* --- reset of a context ----------------------------------------------------------------------- */

/* User space frees what was allocated for the context. */
static __always_inline void reset_context(struct gpu_thread *t, const struct gpu_probe_row *row,
					  struct gpu_place *p, __u64 context)
{
	fill_event(&p->ev, t, row->flags, GPU_RESET, p->call.now_ns);
	p->ev.gpu.context = context;
	send_gpu(&p->ev);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The actions that do not wait for the end of the call. A function has at most one of these. */
static __always_inline void at_entry(struct pt_regs *ctx, struct gpu_thread *t,
				     const struct gpu_probe_row *row, struct gpu_place *p)
{
	__u32 what = row->what;

	if (what & (GPU_LAUNCH | GPU_COPY | GPU_NCCL | GPU_STACK))
		counted_call(ctx, t, row, p);
	if (what & GPU_FREE)
		release_block(t, row, p, argument(ctx, row->address));
	if (what & GPU_MAP)
		map_block(ctx, p);
	if (what & GPU_UNMAP)
		unmap_blocks(ctx, t, p);
	if (what & GPU_RETAIN)
		retain_block(ctx, p);
	if (what & GPU_USE)
		t->context = argument(ctx, row->address);
	if (what & GPU_RESET)
		reset_context(t, row, p,
			      row->address == GPU_NO_ARG ? t->context
							 : argument(ctx, row->address));
}

static __always_inline void keep_call(struct gpu_thread *t, const struct gpu_probe_row *row,
				      const struct gpu_call *call, __u32 at)
{
	if (t->waits_sp) /* its end was not seen */
		note_wait(t, 0);
	t->return_at = t->inner_at = 0;
	t->sp = call->sp;
	t->ret = call->ret;
	t->ip = call->ip;
	t->from = call->ip - row->below;
	t->to = call->ip + row->beyond;
	t->row = at;
}

static __always_inline void enter(struct pt_regs *ctx, struct gpu_place *p)
{
	__u32 at = (__u32)bpf_get_attach_cookie(ctx);
	const struct gpu_probe_row *row = bpf_map_lookup_elem(&gpu_rows, &at);
	struct gpu_call *call = &p->call;
	struct gpu_thread *t;

	if (!row || !begin_call(ctx, call))
		return;
	if (row->what & GPU_HEAP) {
		heap_sample(ctx, row, p);
		return;
	}
	if (row->what & (GPU_JAVA_CHECK | GPU_JAVA_SAMPLE)) {
		java_sample(ctx, row, p);
		return;
	}
	t = thread_of(p);
	if (!t)
		return;
	if (!(row->what & GPU_STACK)) { /* these probes are in the middle of a call */
		if (is_nested(t, row, call)) {
			if (row->what & GPU_AT_RETURN) {
				t->inner_at = call->sp;
				t->inner_ret = call->ret;
			}
			return;
		}
		keep_call(t, row, call, at);
		call->bytes = bytes_of(ctx, p, row, at);
	}
	at_entry(ctx, t, row, p);
	if (row->what & GPU_AT_RETURN)
		keep_until_return(ctx, t, row, call);
}

SEC("uprobe")
int gpu_enter(struct pt_regs *ctx)
{
	struct gpu_place *p = take_place();

	if (!p)
		return 0;
	enter(ctx, p);
	give_place(p);
	return 0;
}

/* Notes the address that a thread returns to. Returns 0: the return is no longer probed. */
static __always_inline __u64 returned(struct gpu_thread *t, __u64 at, __u64 to)
{
	if (at) {
		t->back_at = at;
		t->back_to = to;
	}
	return 0;
}

static __always_inline void leave(struct pt_regs *ctx, struct gpu_place *p)
{
	__u32 at = (__u32)bpf_get_attach_cookie(ctx), tid = (__u32)bpf_get_current_pid_tgid();
	const struct gpu_probe_row *row = bpf_map_lookup_elem(&gpu_rows, &at);
	struct gpu_thread *t = bpf_map_lookup_elem(&gpu_threads, &tid);

	if (!row || !t)
		return;
	if (t->inner_at && t->inner_at + 8 == word_of(ctx, PT_SP))
		t->inner_at = returned(t, t->inner_at, t->inner_ret);
	if (t->row != at || t->sp + 8 != word_of(ctx, PT_SP))
		return;
	if (row->what & GPU_WAIT ? end_wait(t, row, &p->ev) : end_alloc(ctx, t, row, &p->ev))
		send_with(ctx, p, t);
	t->return_at = returned(t, t->return_at, t->ret);
	t->sp = 0;
}

SEC("uretprobe")
int gpu_return(struct pt_regs *ctx)
{
	struct gpu_place *p = take_place();

	if (!p)
		return 0;
	leave(ctx, p);
	give_place(p);
	return 0;
}

/* When a thread ends, the launches since its last stack would be lost with it, so they are sent
 * first. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(gpu_exit, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct gpu_thread *t = bpf_map_lookup_elem(&gpu_threads, &tid);

	bpf_map_delete_elem(&java_threads, &tid);
	if (!t)
		return 0;
	if (t->rates[GPU_RATE_LAUNCH].skipped)
		send_rest(t);
	bpf_map_delete_elem(&gpu_threads, &tid);
	return 0;
}
