/* Allocates tables in segments of kernel memory, and evicts unused ones. */
#include "collect/walker/table_store.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/space.h"
#include "collect/walker/table_builder.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENT_BYTES = UNWIND_SEGMENT_CHUNKS * UNWIND_CHUNK };

struct stored_table {
	struct space_table kernel; /* as in the kernel, except `used` */
	uint32_t n_chunks;         /* from kernel.ref.chunk on; 0: none */
	bool taken;                /* the index is in use */
	bool asked;                /* requested, and not built yet */
	uint64_t used_ns;          /* as of the last check */
};
/* Unused chunks. */
struct free_run {
	uint32_t chunk, n;
	uint64_t since_ns;
};
struct table_store {
	struct table_store_opts opts;
	struct table_builder *builder;
	VEC(struct stored_table) tables; /* [0] is unused */
	VEC(uint32_t) free_tables;
	VEC(int) segments; /* descriptors */
	uint8_t *mapped;   /* the segment that is being written; NULL: none */
	uint32_t mapped_slot;
	VEC(void *) copies;
	struct map copied;               /* chunk → index in copies */
	VEC(struct free_run) free;       /* by chunk; adjacent rested runs are merged */
	VEC(struct table_built) waiting; /* built, but without space */
	struct table_store_stats stats;
};

/* --- life ------------------------------------------------------------------------------------- */

struct table_store *table_store_new(const struct table_store_opts *opts)
{
	struct table_store *s = xcalloc(1, sizeof *s);

	s->opts = *opts;
	if (!s->opts.rest_ns)
		s->opts.rest_ns = STORE_REST_NS;
	s->builder = table_builder_new(opts->cache_root);
	if (!s->builder) {
		free(s);
		return NULL;
	}
	vec_push(&s->tables, (struct stored_table){ .taken = true });
	return s;
}

static void unmap_segment(struct table_store *s)
{
	if (s->mapped)
		munmap(s->mapped, SEGMENT_BYTES);
	s->mapped = NULL;
}

static void drop_copies(struct table_store *s)
{
	for (size_t i = 0; i < s->copies.n; i++)
		free(s->copies.v[i]);
	vec_clear(&s->copies);
	map_clear(&s->copied);
}

void table_store_free(struct table_store *s)
{
	if (!s)
		return;
	table_builder_free(s->builder);
	drop_copies(s);
	unmap_segment(s);
	for (size_t i = 0; i < s->segments.n; i++)
		close(s->segments.v[i]);
	for (size_t i = 0; i < s->waiting.n; i++)
		unwind_table_done(&s->waiting.v[i].table);
	vec_done(&s->tables);
	vec_done(&s->free_tables);
	vec_done(&s->segments);
	vec_done(&s->copies);
	map_done(&s->copied);
	vec_done(&s->free);
	vec_done(&s->waiting);
	free(s);
}

/* --- kernel side ------------------------------------------------------------------------------ */

static void set_state(struct table_store *s, uint32_t index, enum space_table_state state)
{
	struct stored_table *t = &s->tables.v[index];

	t->kernel.state = state;
	t->kernel.used = 0;
	bpf_map_update_elem(s->opts.tables_fd, &index, &t->kernel, BPF_ANY);
}

static bool add_segment(struct table_store *s)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t slot = s->segments.n;

	if (slot >= s->opts.max_segments)
		return false;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "segment", sizeof(uint32_t), UNWIND_CHUNK,
				UNWIND_SEGMENT_CHUNKS, &opts);
	if (fd < 0)
		return false;
	if (bpf_map_update_elem(s->opts.segments_fd, &slot, &fd, BPF_ANY)) {
		close(fd);
		return false;
	}
	vec_push(&s->segments, fd);
	s->stats.segments++;
	return true;
}

/* Copied by the kernel: walks read a few chunks of each segment, and mapping a whole segment costs
 * as much as copying fifty of them. Copies stay, as walks of short-lived programs read the same
 * ones hundreds of times a second. */
const void *table_store_chunk(struct table_store *s, uint32_t chunk)
{
	uint32_t slot = chunk / UNWIND_SEGMENT_CHUNKS, at = chunk % UNWIND_SEGMENT_CHUNKS;
	const uint32_t *known = map_get(&s->copied, chunk);

	if (known)
		return s->copies.v[*known];
	if (slot >= s->segments.n)
		return NULL;
	void *copy = xmalloc(UNWIND_CHUNK);
	if (bpf_map_lookup_elem(s->segments.v[slot], &at, copy)) {
		free(copy);
		return NULL;
	}
	map_put(&s->copied, chunk, s->copies.n);
	vec_push(&s->copies, copy);
	return copy;
}

void table_store_trim_copies(struct table_store *s)
{
	if (s->copies.n > STORE_COPIES_MAX)
		drop_copies(s);
}

/* These chunks are about to be written. */
static void forget_copies(struct table_store *s, uint32_t chunk, size_t n)
{
	for (size_t i = 0; i < n && s->copied.n; i++) {
		const uint32_t *at = map_get(&s->copied, chunk + i);

		if (!at)
			continue;
		free(s->copies.v[*at]);
		s->copies.v[*at] = NULL;
		map_del(&s->copied, chunk + i);
	}
}

/* Maps a whole segment for writing. It stays mapped while tables are pending: one mapping per table
 * is one flush of the TLBs of all threads per table. */
static uint8_t *map_segment(struct table_store *s, uint32_t slot)
{
	if (s->mapped && s->mapped_slot == slot)
		return s->mapped;
	unmap_segment(s);
	void *to = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			s->segments.v[slot], 0);

	if (to == MAP_FAILED)
		return NULL;
	s->mapped = to;
	s->mapped_slot = slot;
	return to;
}

static bool write_chunks(struct table_store *s, uint32_t chunk, const char *data, size_t size)
{
	uint8_t *to = map_segment(s, chunk / UNWIND_SEGMENT_CHUNKS);

	if (to)
		memcpy(to + (size_t)(chunk % UNWIND_SEGMENT_CHUNKS) * UNWIND_CHUNK, data, size);
	return to;
}

static bool write_image(struct table_store *s, uint32_t chunk, const struct buf *image)
{
	size_t done = 0;

	forget_copies(s, chunk, image->len / UNWIND_CHUNK);
	while (done < image->len) {
		uint32_t at = chunk % UNWIND_SEGMENT_CHUNKS;
		size_t room = SEGMENT_BYTES - (size_t)at * UNWIND_CHUNK, left = image->len - done;
		size_t size = left < room ? left : room;

		if (!write_chunks(s, chunk, image->data + done, size))
			return false;
		done += size;
		chunk += size / UNWIND_CHUNK;
	}
	return true;
}

/* --- room ------------------------------------------------------------------------------------- */

/* Inserts a free run in order of chunks; join_rested merges runs. */
static void free_chunks(struct table_store *s, uint32_t chunk, uint32_t n, uint64_t since_ns)
{
	size_t i = 0;

	while (i < s->free.n && s->free.v[i].chunk < chunk)
		i++;
	vec_push(&s->free, (struct free_run){ 0 });
	memmove(&s->free.v[i + 1], &s->free.v[i], (s->free.n - 1 - i) * sizeof *s->free.v);
	s->free.v[i] = (struct free_run){ chunk, n, since_ns };
}

static bool has_rested(const struct free_run *r, uint64_t now_ns, uint64_t rest_ns)
{
	return !r->since_ns || now_ns - r->since_ns >= rest_ns;
}

static void join_rested(struct table_store *s, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < s->free.n; i++) {
		struct free_run *r = &s->free.v[i], *last = n ? &s->free.v[n - 1] : NULL;

		if (has_rested(r, now_ns, s->opts.rest_ns))
			r->since_ns = 0;
		if (last && !last->since_ns && !r->since_ns && last->chunk + last->n == r->chunk)
			last->n += r->n;
		else
			s->free.v[n++] = *r;
	}
	s->free.n = n;
}

/* Takes from the first run that is large enough. */
static bool take_run(struct table_store *s, uint32_t n, uint32_t *chunk)
{
	for (size_t i = 0; i < s->free.n; i++) {
		struct free_run *r = &s->free.v[i];

		if (r->since_ns || r->n < n)
			continue;
		*chunk = r->chunk;
		r->chunk += n;
		r->n -= n;
		return true;
	}
	return false;
}

static bool find_room(struct table_store *s, uint32_t n, uint32_t *chunk)
{
	join_rested(s, clock_mono_ns());
	while (!take_run(s, n, chunk)) {
		uint32_t first = s->segments.n * UNWIND_SEGMENT_CHUNKS;

		if (!add_segment(s))
			return false;
		free_chunks(s, first, UNWIND_SEGMENT_CHUNKS, 0);
		join_rested(s, clock_mono_ns());
	}
	return true;
}

static void release(struct table_store *s, struct stored_table *t, uint64_t now_ns)
{
	if (!t->n_chunks)
		return;
	free_chunks(s, t->kernel.ref.chunk, t->n_chunks, now_ns);
	s->stats.bytes -= (uint64_t)t->n_chunks * UNWIND_CHUNK;
	s->stats.tables--;
	t->n_chunks = 0;
}

/* --- eviction --------------------------------------------------------------------------------- */

/* Finds out which tables the walker has used since the last check. */
static void look_at_use(struct table_store *s, uint64_t now_ns)
{
	for (uint32_t i = 1; i < s->tables.n; i++) {
		struct stored_table *t = &s->tables.v[i];
		struct space_table now;

		if (!t->n_chunks || bpf_map_lookup_elem(s->opts.tables_fd, &i, &now) || !now.used)
			continue;
		t->used_ns = now_ns;
		set_state(s, i, TABLE_READY);
	}
}

static uint32_t least_used(const struct table_store *s)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < s->tables.n; i++) {
		const struct stored_table *t = &s->tables.v[i];

		if (t->n_chunks && (!oldest || t->used_ns < s->tables.v[oldest].used_ns))
			oldest = i;
	}
	return oldest;
}

static bool is_any_resting(const struct table_store *s)
{
	for (size_t i = 0; i < s->free.n; i++)
		if (s->free.v[i].since_ns)
			return true;
	return false;
}

static uint32_t free_total(const struct table_store *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->free.n; i++)
		n += s->free.v[i].n;
	return n;
}

/* Makes space for n chunks. If enough are free but scattered, evicts one more table. Waits while
 * evicted chunks still rest. */
static void evict(struct table_store *s, uint32_t n)
{
	uint64_t now_ns = clock_mono_ns();

	if (is_any_resting(s))
		return;
	look_at_use(s, now_ns);
	do {
		uint32_t i = least_used(s);

		if (!i)
			break;
		release(s, &s->tables.v[i], now_ns);
		set_state(s, i, TABLE_WANTED);
		s->stats.evicted++;
	} while (free_total(s) < n);
}

/* --- tables ----------------------------------------------------------------------------------- */

uint32_t table_store_add(struct table_store *s)
{
	uint32_t index = s->free_tables.n ? s->free_tables.v[--s->free_tables.n] : s->tables.n;

	if (index >= SPACE_MAX_TABLES)
		return 0;
	if (index == s->tables.n)
		vec_push(&s->tables, (struct stored_table){ 0 });
	s->tables.v[index] = (struct stored_table){ .taken = true };
	set_state(s, index, TABLE_WANTED);
	return index;
}

/* A table that is being built is removed when it is finished. */
void table_store_remove(struct table_store *s, uint32_t index)
{
	struct stored_table *t = &s->tables.v[index];

	release(s, t, clock_mono_ns());
	set_state(s, index, TABLE_NONE);
	t->taken = false;
	if (!t->asked)
		vec_push(&s->free_tables, index);
}

bool table_store_misses(const struct table_store *s, uint32_t index)
{
	const struct stored_table *t = &s->tables.v[index];

	return t->taken && t->kernel.state == TABLE_WANTED && !t->asked;
}

void table_store_want(struct table_store *s, uint32_t index, int fd)
{
	s->tables.v[index].asked = true;
	table_builder_add(s->builder, index, fd);
}

void table_store_wait(struct table_store *s, uint32_t index)
{
	struct stored_table *t = index < s->tables.n ? &s->tables.v[index] : NULL;

	if (t && t->asked)
		table_builder_want(s->builder, index);
}

void table_store_give_up(struct table_store *s, uint32_t index)
{
	set_state(s, index, TABLE_NONE);
}

static void settle(struct table_store *s, struct table_built *built)
{
	s->tables.v[built->index].asked = false;
	unwind_table_done(&built->table);
}

static void no_table(struct table_store *s, struct table_built *built)
{
	if (s->tables.v[built->index].taken)
		set_state(s, built->index, TABLE_NONE);
	settle(s, built);
}

static bool put_table(struct table_store *s, struct table_built *built)
{
	struct stored_table *t = &s->tables.v[built->index];
	uint32_t n = built->table.image.len / UNWIND_CHUNK, chunk;

	if (!find_room(s, n, &chunk))
		return false;
	t->kernel.ref = built->table.ref;
	t->kernel.ref.chunk = chunk;
	t->n_chunks = n;
	t->used_ns = clock_mono_ns();
	s->stats.tables++;
	s->stats.built++;
	s->stats.bytes += (uint64_t)n * UNWIND_CHUNK;
	if (write_image(s, chunk, &built->table.image)) {
		set_state(s, built->index, TABLE_READY);
	} else {
		release(s, t, clock_mono_ns());
		set_state(s, built->index, TABLE_NONE);
	}
	settle(s, built);
	return true;
}

/* Returns true when a table is finished, stored or not. */
static bool place(struct table_store *s, struct table_built *built)
{
	uint32_t n = built->table.image.len / UNWIND_CHUNK;

	if (!s->tables.v[built->index].taken) {
		settle(s, built);
		vec_push(&s->free_tables, built->index);
		return true;
	}
	if (built->rc == 0 && n > s->opts.max_segments * UNWIND_SEGMENT_CHUNKS) {
		s->stats.refused++;
		built->rc = -E2BIG;
	}
	if (built->rc) {
		no_table(s, built);
		return true;
	}
	if (put_table(s, built))
		return true;
	evict(s, n);
	return false;
}

void table_store_poll(struct table_store *s)
{
	struct table_built built;
	size_t n = 0;

	for (size_t i = 0; i < s->waiting.n; i++) {
		built = s->waiting.v[i];
		if (!place(s, &built))
			s->waiting.v[n++] = built;
	}
	s->waiting.n = n;
	while (table_builder_take(s->builder, &built))
		if (!place(s, &built))
			vec_push(&s->waiting, built);
	if (!table_builder_pending(s->builder))
		unmap_segment(s);
}

int table_store_fd(const struct table_store *s)
{
	return table_builder_fd(s->builder);
}

bool table_store_is_busy(struct table_store *s)
{
	return s->waiting.n || table_builder_pending(s->builder);
}

struct space_table *table_store_table(struct table_store *s, uint32_t index)
{
	return index && index < s->tables.n ? &s->tables.v[index].kernel : NULL;
}

void table_store_get_stats(const struct table_store *s, struct table_store_stats *out)
{
	*out = s->stats;
	out->cached = table_builder_cached(s->builder);
}
