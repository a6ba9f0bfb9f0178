/* Code heaps of a process, and the blobs in them. */
#include "runtime/hotspot_parts.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

enum { FREE_SEGMENT = 255, MIN_LOG2 = 4, MAX_LOG2 = 16 };

/* HotSpot reserves at most 2 GB for code. */
static const uint64_t max_heap_bytes = 2ull << 30;

/* --- heaps ------------------------------------------------------------------------------------ */

/* Sets heaps[] to the addresses of the CodeHeaps, *n to their number: 0 before they exist. */
static int find_heaps(const struct hotspot_offsets *o, const struct runtime_memory *m,
		      uint64_t heaps[HOTSPOT_MAX_RANGES], uint32_t *n)
{
	uint64_t array, length, data;
	int rc;

	*n = 0;
	if (!o->heaps_at) {
		rc = m->read(m->ctx, o->heap_at, heaps, sizeof *heaps);
		*n = rc == 0 && heaps[0];
		return rc;
	}
	rc = m->read(m->ctx, o->heaps_at, &array, sizeof array);
	if (rc < 0 || !array)
		return rc;
	if ((rc = hotspot_read(m, array, o->array_length, &length)) < 0 ||
	    (rc = hotspot_read(m, array, o->array_data, &data)) < 0)
		return rc;
	if (length > HOTSPOT_MAX_RANGES)
		return -ENOTSUP;
	rc = length ? m->read(m->ctx, data, heaps, length * sizeof *heaps) : 0;
	*n = rc == 0 ? length : 0;
	return rc;
}

/* Returns -EAGAIN if the heap has no memory yet. */
static int read_range(const struct hotspot_offsets *o, const struct runtime_memory *m,
		      uint64_t heap, struct hotspot_range *out)
{
	uint64_t memory = heap + o->heap_memory.at, segmap = heap + o->heap_segmap.at, log2;
	uint64_t start, end, map;
	int rc;

	if ((rc = hotspot_read(m, memory, o->space_low_boundary, &start)) < 0 ||
	    (rc = hotspot_read(m, memory, o->space_high_boundary, &end)) < 0 ||
	    (rc = hotspot_read(m, segmap, o->space_low_boundary, &map)) < 0 ||
	    (rc = hotspot_read(m, heap, o->heap_log2_segment, &log2)) < 0)
		return rc;
	if (!start || !map)
		return -EAGAIN;
	if (end <= start || end - start > max_heap_bytes || end >= RUNTIME_ADDRESS ||
	    map >= RUNTIME_ADDRESS || log2 < MIN_LOG2 || log2 > MAX_LOG2)
		return -ENOTSUP;
	*out = (struct hotspot_range){
		.start = start, .end = end, .segmap = map, .log2_segment = log2
	};
	return 0;
}

/* --- blobs ------------------------------------------------------------------------------------ */

static const struct hotspot_range *range_of(const struct hotspot_process *p, uint64_t addr)
{
	for (uint32_t i = 0; i < p->n_ranges; i++)
		if (addr >= p->ranges[i].start && addr < p->ranges[i].end)
			return &p->ranges[i];
	return NULL;
}

int hotspot_blob_find(const struct hotspot_offsets *o, const struct hotspot_process *p,
		      const struct runtime_memory *m, uint64_t addr, uint64_t *blob)
{
	const struct hotspot_range *r = range_of(p, addr);
	uint8_t hop;

	if (!r)
		return -ENOENT;
	uint64_t segment = (addr - r->start) >> r->log2_segment;
	for (int i = 0; i < HOTSPOT_MAX_HOPS; i++) {
		int rc = m->read(m->ctx, r->segmap + segment, &hop, sizeof hop);

		if (rc < 0)
			return rc;
		if (hop == FREE_SEGMENT || hop > segment)
			return -ENOENT;
		if (!hop) {
			*blob = r->start + (segment << r->log2_segment) + o->block_bytes;
			return addr < *blob ? -ENOENT : 0;
		}
		segment -= hop;
	}
	return -ENOENT;
}

/* A blob that is smaller than an nmethod may be the last before unmapped memory. */
static int read_bytes(const struct runtime_memory *m, uint64_t addr, uint8_t *out, size_t len)
{
	enum { PAGE = 4096 };
	size_t in_page = PAGE - addr % PAGE;
	int rc = m->read(m->ctx, addr, out, len);

	if (rc != -EFAULT || in_page >= len)
		return rc;
	memset(out, 0, len);
	return m->read(m->ctx, addr, out, in_page);
}

int hotspot_blob_read(const struct hotspot_offsets *o, const struct runtime_memory *m,
		      uint64_t addr, struct hotspot_blob *out)
{
	uint8_t bytes[HOTSPOT_MAX_HEADER + HOTSPOT_BLOB_BYTES] = { 0 };
	struct hotspot_field used = o->block_used;

	if (addr < o->block_bytes)
		return -EBADMSG;
	used.at += o->block_header.at;
	int rc = read_bytes(m, addr - o->block_bytes, bytes, o->block_bytes + o->nmethod_bytes);
	if (rc < 0)
		return rc;
	if (hotspot_get(bytes, used) != 1)
		return -ESTALE;
	*out = (struct hotspot_blob){ .addr = addr };
	memcpy(out->bytes, bytes + o->block_bytes, o->nmethod_bytes);
	out->name = hotspot_get(out->bytes, o->blob_name);
	out->size = hotspot_get(out->bytes, o->blob_size);
	out->code = o->blob_code_begin.size
			    ? hotspot_get(out->bytes, o->blob_code_begin)
			    : addr + (uint32_t)hotspot_get(out->bytes, o->blob_code_offset);
	if (!out->size || out->size > max_heap_bytes || out->code < addr ||
	    out->code - addr > out->size)
		return -EBADMSG;
	return 0;
}

int hotspot_blob_name(const struct runtime_memory *m, uint64_t name,
		      char text[HOTSPOT_MAX_BLOB_NAME])
{
	enum { PIECE = 32 };
	size_t n = 0;

	/* Pieces do not cross pages: the text may be at the end of mapped memory. */
	while (n < HOTSPOT_MAX_BLOB_NAME - 1) {
		size_t len = PIECE - (name + n) % PIECE;

		len = len < HOTSPOT_MAX_BLOB_NAME - 1 - n ? len : HOTSPOT_MAX_BLOB_NAME - 1 - n;
		int rc = m->read(m->ctx, name + n, text + n, len);
		if (rc < 0)
			return rc;
		if (memchr(text + n, '\0', len))
			return 0;
		n += len;
	}
	text[n] = '\0';
	return 0;
}

/* --- all blobs -------------------------------------------------------------------------------- */

struct blob_list {
	const struct hotspot_offsets *offsets;
	const struct runtime_memory *memory;
	uint64_t *v;
	size_t n, max, left; /* left: blocks that may still be read */
};

/* Adds the blobs of a piece of a segment map: segments from first on. */
static void list_piece(struct blob_list *l, const struct hotspot_range *r, uint64_t first,
		       const uint8_t *map, size_t n)
{
	struct hotspot_blob blob;

	for (size_t i = 0; i < n && l->n < l->max && l->left; i++) {
		uint64_t addr =
			r->start + ((first + i) << r->log2_segment) + l->offsets->block_bytes;

		if (map[i])
			continue;
		l->left--;
		if (hotspot_blob_read(l->offsets, l->memory, addr, &blob) == 0)
			l->v[l->n++] = addr;
	}
}

/* A segment map is in memory up to the end of the heap's present size. */
size_t hotspot_blobs_list(const struct hotspot_offsets *o, const struct hotspot_process *p,
			  const struct runtime_memory *m, uint64_t *blobs, size_t max)
{
	enum { PIECE = 4096 };
	struct blob_list l = { o, m, blobs, 0, max, HOTSPOT_MAX_LOOKED };
	uint8_t map[PIECE];

	for (uint32_t i = 0; i < p->n_ranges; i++) {
		const struct hotspot_range *r = &p->ranges[i];
		uint64_t segments = (r->end - r->start) >> r->log2_segment;

		for (uint64_t at = 0, len; at < segments; at += len) {
			len = PIECE - (r->segmap + at) % PIECE;
			len = len < segments - at ? len : segments - at;
			if (m->read(m->ctx, r->segmap + at, map, len) < 0)
				break;
			list_piece(&l, r, at, map, len);
		}
	}
	return l.n;
}

/* --- the interpreter -------------------------------------------------------------------------- */

/* Its code is a queue of stubs in a blob. */
static int find_interpreter(const struct hotspot_offsets *o, const struct runtime_memory *m,
			    struct hotspot_process *p)
{
	uint64_t queue, buffer, limit, addr;
	struct hotspot_blob blob;
	int rc = m->read(m->ctx, o->interpreter_at, &queue, sizeof queue);

	if (rc < 0)
		return rc;
	if (!queue)
		return -EAGAIN;
	if ((rc = hotspot_read(m, queue, o->stubs_buffer, &buffer)) < 0 ||
	    (rc = hotspot_read(m, queue, o->stubs_limit, &limit)) < 0)
		return rc;
	rc = hotspot_blob_find(o, p, m, buffer, &addr);
	if (rc == 0)
		rc = hotspot_blob_read(o, m, addr, &blob);
	if (rc < 0)
		return rc == -ENOENT || rc == -EBADMSG ? -ENOTSUP : rc;
	if (blob.code > buffer || limit > blob.size)
		return -ENOTSUP;
	p->interpreter = addr;
	p->interpreter_start = buffer;
	p->interpreter_end = buffer + limit;
	return 0;
}

/* The first thread is added after everything else was made. */
static bool has_thread(const struct hotspot_offsets *o, const struct runtime_memory *m)
{
	int32_t n = 0;

	return !o->n_threads_at || (m->read(m->ctx, o->n_threads_at, &n, sizeof n) == 0 && n > 0);
}

int hotspot_heaps_read(const struct hotspot_offsets *o, const struct runtime_memory *m,
		       struct hotspot_process *out, struct err *err)
{
	struct hotspot_process p = { .layout = out->layout };
	uint64_t heaps[HOTSPOT_MAX_RANGES] = { 0 };
	uint32_t n;
	int rc = find_heaps(o, m, heaps, &n);

	if (rc == 0 && (!n || !has_thread(o, m)))
		rc = -EAGAIN;
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = read_range(o, m, heaps[i], &p.ranges[i]);
		p.n_ranges += rc == 0;
	}
	if (rc == 0)
		rc = find_interpreter(o, m, &p);
	if (rc == -EAGAIN)
		return err_set(err, EAGAIN, "HotSpot has not started yet");
	if (rc == -ENOTSUP)
		return err_set(err, ENOTSUP, "HotSpot's code heaps are inconsistent");
	if (rc < 0)
		return err_set(err, -rc, "HotSpot's code heaps cannot be read: %s", strerror(-rc));
	*out = p;
	return 0;
}
