/* Reads records of a perf ring in place, and decodes their fields. */
#include "collect/kernel/side_band.h"

#include "base/buf.h"

#include <linux/perf_event.h>
#include <string.h>

enum { SAMPLE_ID_BYTES = 24 }; /* u32 pid, tid; u64 time; u32 cpu, reserved */

bool side_ring_next(struct side_ring *r, const uint8_t **rec, size_t *len)
{
	struct perf_event_header h;
	uint64_t left = r->head - r->tail, at = r->tail & (r->size - 1);

	if (left < sizeof h || left > r->size)
		goto drop;
	/* Records are multiples of 8 bytes, so a header of 8 bytes never wraps. */
	if (r->size - at < sizeof h)
		goto drop;
	memcpy(&h, r->data + at, sizeof h);
	if (h.size < sizeof h || h.size > left)
		goto drop;
	*rec = r->data + at;
	*len = h.size;
	if (at + h.size > r->size) {
		buf_clear(&r->wrapped);
		buf_add(&r->wrapped, r->data + at, r->size - at);
		buf_add(&r->wrapped, r->data, h.size - (r->size - at));
		*rec = (const uint8_t *)r->wrapped.data;
	}
	r->tail += h.size;
	return true;
drop:
	r->tail = r->head;
	return false;
}

void side_ring_done(struct side_ring *r)
{
	buf_done(&r->wrapped);
}

/* Returns the rest of c as a string; NULL if it is not NUL-terminated. */
static const char *take_name(struct cur *c)
{
	size_t left = cur_left(c);
	const char *name = left ? cur_take(c, left) : NULL;

	return name && memchr(name, '\0', left) ? name : NULL;
}

/* No build ids are requested: if one reader requests them, a kernel (seen: 6.18) marks the records
 * of all readers as having one, though they hold the inode; perf then ends with an error. So the
 * mark, set when another program requests them, is ignored. */
static bool decode_mmap2(struct cur *c, uint16_t misc, struct side_record *r)
{
	r->kind = SIDE_MMAP;
	r->pid = cur_u32(c);
	r->tid = cur_u32(c);
	r->start = cur_u64(c);
	r->len = cur_u64(c);
	r->pgoff = cur_u64(c);
	(void)misc;
	r->maj = cur_u32(c);
	r->min = cur_u32(c);
	r->ino = cur_u64(c);
	r->ino_generation = cur_u64(c);
	cur_take(c, 8); /* protection, flags: only executable mappings are requested */
	r->name = take_name(c);
	return r->name && r->len && r->start + r->len > r->start;
}

static bool decode_comm(struct cur *c, uint16_t misc, struct side_record *r)
{
	r->kind = SIDE_COMM;
	r->pid = cur_u32(c);
	r->tid = cur_u32(c);
	r->exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	r->name = take_name(c);
	return r->name;
}

static bool decode_task(struct cur *c, enum side_kind kind, struct side_record *r)
{
	r->kind = kind;
	r->pid = cur_u32(c);
	r->ppid = cur_u32(c);
	r->tid = cur_u32(c);
	r->ptid = cur_u32(c);
	return true;
}

static bool decode_lost(struct cur *c, struct side_record *r)
{
	r->kind = SIDE_LOST;
	cur_u64(c); /* id of the event */
	r->lost = cur_u64(c);
	return true;
}

static bool decode_body(struct cur *c, const struct perf_event_header *h, struct side_record *r)
{
	switch (h->type) {
	case PERF_RECORD_MMAP2:
		return decode_mmap2(c, h->misc, r);
	case PERF_RECORD_COMM:
		return decode_comm(c, h->misc, r);
	case PERF_RECORD_FORK:
		return decode_task(c, SIDE_FORK, r);
	case PERF_RECORD_EXIT:
		return decode_task(c, SIDE_EXIT, r);
	case PERF_RECORD_LOST:
		return decode_lost(c, r);
	default:
		return false;
	}
}

bool side_record_decode(const uint8_t *rec, size_t len, struct side_record *out)
{
	struct perf_event_header h;
	struct side_record r = { 0 };

	if (len < sizeof h + SAMPLE_ID_BYTES)
		return false;
	memcpy(&h, rec, sizeof h);
	struct cur body = cur_of(rec + sizeof h, len - sizeof h - SAMPLE_ID_BYTES);
	struct cur id = cur_of(rec + len - SAMPLE_ID_BYTES, SAMPLE_ID_BYTES);
	if (!decode_body(&body, &h, &r) || body.bad)
		return false;
	cur_take(&id, 8); /* the writing thread: for a FORK the parent */
	r.time_ns = cur_u64(&id);
	r.cpu = cur_u32(&id);
	*out = r;
	return true;
}

bool side_record_is_of_task(const uint8_t *rec, size_t len)
{
	struct perf_event_header h;

	if (len < sizeof h)
		return false;
	memcpy(&h, rec, sizeof h);
	return h.type == PERF_RECORD_FORK || h.type == PERF_RECORD_EXIT ||
	       h.type == PERF_RECORD_LOST;
}
