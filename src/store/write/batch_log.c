/* Encodes a batch as a row of the inbox, and decodes it. Numbers are as in profile/chunk.h; the
 * columns marked * are optional, with a bit each in `columns`:
 *
 *     2                          LOG_VERSION
 *     flags                      LOG_TIMES
 *     shift, fixed               signed ns: added to a sample's time gives Unix time; the time of
 *                                all samples without times
 *     n, columns
 *     n × time                   signed differences, the first from 0
 *     k, k × series + 1          the catalog's; 0: none
 *     n × series                 an index into these
 *     n × value *, n × length *  signed; without them 1, 0 ns
 *     n × pid + 1 *, n × tid + 1 *, n × cpu + 1 *     0, and without it: unknown
 *     k, k × 24 bytes, n × span *     trace id of 16 bytes, span id of 8; 0: none, else index + 1
 *     parts                      at most STORE_BATCH_DAYS; for each of them:
 *       day, piece               days since 1970; piece 0 is DAY.db
 *       4 numbers, 4 numbers     strings, mappings, frames and stacks of its dictionary before and
 *                                after the next line
 *       bytes, chunks            new in it: { u8 type  u8 0  u32 length  payload } of types 1, 2,
 *                                3 and 9
 *       1, n × stack + 1         the part's; 0: the sample is not of this day. Or 0 alone: none is
 *     bytes, points              per series: its number, bytes, a block (store/codec/metric.h)
 *     day, bytes, chunks         new names, and mappings not used that day: types 1 to 5
 *
 * A dictionary's file may already have what rows add to it, but never less than the state before
 * the first row that a reader needs: rows are removed once the part has everything in them. Entries
 * that the dictionary has are skipped. A row's samples count only for parts with an `inbox` below
 * its seq.
 *
 * A damaged row is left out and counted. If it added to a dictionary, later entries of that part
 * have no valid place and are left out as well: samples with older stacks remain, others are
 * counted. The part becomes blocks before anything is added, and the day continues in another
 * piece. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk_write.h"
#include "profile/copy.h"
#include "store/day/batch_rows.h"
#include "store/day/inbox.h"
#include "store/day/store_state.h"

#include <errno.h>
#include <string.h>

enum {
	LOG_VERSION = 2,
	LOG_TIMES = 1, /* the batch's clock: samples have times */
};
/* Columns that are present; in comments the value of rows without them. */
enum {
	LOG_VALUES = 1,  /* 1 */
	LOG_LENGTHS = 2, /* 0 */
	LOG_PIDS = 4,    /* SAMPLE_NO_ID, as of the next two */
	LOG_TIDS = 8,
	LOG_CPUS = 16,
	LOG_LINKS = 32, /* 0 */
	LOG_COLUMNS = 63,
};
enum {
	LOG_NAMES = 1 << CHUNK_STRINGS | 1 << CHUNK_MAPPINGS | 1 << CHUNK_FRAMES |
		    1 << CHUNK_FUNCTIONS | 1 << CHUNK_NAMES
};

/* --- writing: numbers ------------------------------------------------------------------------- */

static void put(struct buf *b, uint64_t v)
{
	if (b->cap - b->len < VARINT_MAX_BYTES)
		buf_reserve(b, VARINT_MAX_BYTES);
	b->len += varint_write(b->data + b->len, v);
}

static void put_deltas(struct buf *b, const int64_t *v, size_t n)
{
	int64_t before = 0;

	buf_reserve(b, n * VARINT_MAX_BYTES);
	for (size_t i = 0; i < n; i++) {
		b->len += varint_write(b->data + b->len,
				       zigzag((int64_t)((uint64_t)v[i] - (uint64_t)before)));
		before = v[i];
	}
}

static void put_signed(struct buf *b, const int64_t *v, size_t n)
{
	buf_reserve(b, n * VARINT_MAX_BYTES);
	for (size_t i = 0; i < n; i++)
		b->len += varint_write(b->data + b->len, zigzag(v[i]));
}

/* Stores ids plus one, so that UINT32_MAX is 0. */
static void put_ids(struct buf *b, const uint32_t *v, size_t n)
{
	buf_reserve(b, n * VARINT_MAX_BYTES);
	for (size_t i = 0; i < n; i++)
		b->len += varint_write(b->data + b->len, (uint32_t)(v[i] + 1));
}

/* --- writing: samples ------------------------------------------------------------------------- */

static bool all_signed(const int64_t *v, size_t n, int64_t as)
{
	for (size_t i = 0; v && i < n; i++)
		if (v[i] != as)
			return false;
	return true;
}

static bool all_ids(const uint32_t *v, size_t n, uint32_t as)
{
	for (size_t i = 0; v && i < n; i++)
		if (v[i] != as)
			return false;
	return true;
}

static uint32_t columns_of(const struct sample_columns *c)
{
	return (all_signed(c->value, c->n, 1) ? 0 : LOG_VALUES) |
	       (all_signed(c->length_ns, c->n, 0) ? 0 : LOG_LENGTHS) |
	       (all_ids(c->pid, c->n, SAMPLE_NO_ID) ? 0 : LOG_PIDS) |
	       (all_ids(c->tid, c->n, SAMPLE_NO_ID) ? 0 : LOG_TIDS) |
	       (all_ids(c->cpu, c->n, SAMPLE_NO_ID) ? 0 : LOG_CPUS) |
	       (all_ids(c->link, c->n, 0) ? 0 : LOG_LINKS);
}

/* Writes the series with rows, in the order of their first rows, and each row's index among
 * them. */
static void put_series(struct buf *b, const struct batch_rows *r)
{
	uint32_t *place = xcalloc(r->n_series + 1, sizeof *place), n = 0;
	size_t rows = r->samples->n;
	uint32_t *column = xreallocarray(NULL, rows + 1, sizeof *column);
	struct buf ids = { 0 };

	for (size_t i = 0; i < rows; i++) {
		uint32_t id = r->samples->series[i];
		if (!place[id]) {
			place[id] = ++n;
			put(&ids, r->series[id]);
		}
		column[i] = place[id] - 2; /* the first one is 0 */
	}
	put(b, n);
	buf_add(b, ids.data, ids.len);
	put_ids(b, column, rows);
	buf_done(&ids);
	free(column);
	free(place);
}

/* Writes the links with rows, as bytes, and each row's index among them, from 1. */
static void put_links(struct buf *b, const struct batch_rows *r)
{
	struct link_table used = { 0 };
	size_t n = r->samples->n;
	uint32_t *column = xreallocarray(NULL, n + 1, sizeof *column);

	for (size_t i = 0; i < n; i++) {
		uint32_t id = sample_link(r->samples, i);
		column[i] = (id ? link_intern(&used, &r->links[id - 1]) : 0) - 1;
	}
	put(b, used.all.n);
	if (used.all.n)
		buf_add(b, used.all.v, used.all.n * sizeof *used.all.v);
	put_ids(b, column, n);
	link_table_done(&used);
	free(column);
}

static void put_samples(struct buf *b, const struct batch_rows *r)
{
	const struct sample_columns *c = r->samples;
	uint32_t columns = columns_of(c);

	put(b, c->n);
	put(b, columns);
	put_deltas(b, c->time_ns, c->n);
	put_series(b, r);
	if (columns & LOG_VALUES)
		put_signed(b, c->value, c->n);
	if (columns & LOG_LENGTHS)
		put_signed(b, c->length_ns, c->n);
	if (columns & LOG_PIDS)
		put_ids(b, c->pid, c->n);
	if (columns & LOG_TIDS)
		put_ids(b, c->tid, c->n);
	if (columns & LOG_CPUS)
		put_ids(b, c->cpu, c->n);
	if (columns & LOG_LINKS)
		put_links(b, r);
}

/* --- writing: dictionaries and names ---------------------------------------------------------- */

static int too_large(struct err *err)
{
	return err_set(err, EFBIG, "a batch of more than %d MiB", INBOX_MAX_BATCH_BYTES >> 20);
}

static int put_chunk(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		     size_t len, struct err *err)
{
	uint32_t len_le = htole32(len);
	struct buf *b = ctx;

	if (b->len + len > INBOX_MAX_BATCH_BYTES)
		return too_large(err);
	buf_addc(b, type);
	buf_addc(b, flags);
	buf_add(b, &len_le, sizeof len_le);
	buf_add(b, payload, len);
	return 0;
}

static void put_position(struct buf *b, const struct chunk_position *at)
{
	put(b, at->strings);
	put(b, at->mappings);
	put(b, at->frames);
	put(b, at->stacks);
}

/* Writes new entries of a profile, preceded by their length. */
static int put_chunks(struct buf *b, struct chunk_writer *w, const struct profile *p,
		      uint32_t types, struct err *err)
{
	const struct chunk_out out = { .put = put_chunk, .ctx = b, .plain = true };
	size_t before = b->len;
	char bytes[VARINT_MAX_BYTES];

	buf_reserve(b, VARINT_MAX_BYTES);
	b->len += VARINT_MAX_BYTES;
	int rc = chunk_write(w, p, types, &out, err);
	size_t len = b->len - before - VARINT_MAX_BYTES, n = varint_write(bytes, len);
	memcpy(b->data + before, bytes, n);
	memmove(b->data + before + n, b->data + before + VARINT_MAX_BYTES, len);
	b->len = before + n + len;
	return rc;
}

static int put_part(struct buf *b, const struct batch_rows *r, const struct batch_part *part,
		    struct err *err)
{
	struct store_part *sp = part->sp;
	const struct profile *dict = part_dict(sp->part);
	struct chunk_position to = chunk_position_of(dict);
	struct chunk_writer *w = chunk_writer_new();

	put(b, sp->day_ns / STORE_DAY_NS);
	put(b, sp->piece);
	put_position(b, &sp->logging);
	put_position(b, &to);
	chunk_writer_seek(w, &sp->logging);
	int rc = put_chunks(b, w, dict, CHUNK_DICTIONARY, err);
	chunk_writer_free(w);
	sp->logging = to;
	put(b, part->stack != NULL);
	if (part->stack)
		put_ids(b, part->stack, r->samples->n);
	return rc;
}

/* Returns a profile of new entries only: used mappings, frames with names. */
static struct profile *copy_names(const struct names_offer *o)
{
	struct profile *p = profile_new();
	struct profile_copy copy;
	bool is_new;

	profile_copy_init(&copy, o->p, p);
	for (size_t i = 0; i < o->used.n; i++)
		profile_copy_mapping(&copy, o->used.v[i]);
	for (size_t i = 0; i < o->fresh.n; i++) {
		uint32_t frame = o->fresh.v[i].frame;
		profile_copy_names(&copy, frame, profile_copy_frame(&copy, frame, &is_new));
	}
	profile_copy_done(&copy);
	return p;
}

static int put_profile_names(struct buf *b, const struct profile *p, struct err *err)
{
	struct chunk_writer *w = chunk_writer_new();
	int rc = put_chunks(b, w, p, LOG_NAMES, err);

	chunk_writer_free(w);
	if (rc == 0 && b->len > INBOX_MAX_BATCH_BYTES)
		rc = too_large(err);
	return rc;
}

/* Writes the whole profile if most of it is new; if that is too large, only the new entries. */
static int put_names(struct buf *b, const struct names_offer *o, struct err *err)
{
	int rc = -EFBIG;

	if (!o->fresh.n && !o->used.n) {
		put(b, 0);
		put(b, 0);
		return 0;
	}
	put(b, o->day);
	size_t before = b->len;
	if (names_offer_is_all(o))
		rc = put_profile_names(b, o->p, err);
	if (rc != -EFBIG)
		return rc;
	b->len = before;
	struct profile *copy = copy_names(o);
	rc = put_profile_names(b, copy, err);
	profile_free(copy);
	return rc;
}

static void put_points(struct buf *b, const struct metric_samples *points)
{
	struct buf bytes = { 0 };

	if (points->n)
		metric_samples_encode(points, &bytes);
	put(b, bytes.len);
	buf_add(b, bytes.data, bytes.len);
	buf_done(&bytes);
}

int batch_rows_encode(const struct batch_rows *r, struct buf *out, struct err *err)
{
	int rc = 0;

	buf_addc(out, LOG_VERSION);
	put(out, r->clock.has_times ? LOG_TIMES : 0);
	put(out, zigzag(r->clock.shift_ns));
	put(out, zigzag(r->clock.fixed_ns));
	put_samples(out, r);
	put(out, r->parts.n);
	for (size_t i = 0; rc == 0 && i < r->parts.n; i++)
		rc = put_part(out, r, &r->parts.v[i], err);
	put_points(out, &r->points);
	if (rc == 0)
		rc = put_names(out, &r->names, err);
	if (rc == 0 && out->len > INBOX_MAX_BATCH_BYTES)
		rc = too_large(err);
	return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads a number of rows that take at least a byte each. */
static size_t get_count(struct cur *c)
{
	uint64_t n = cur_varint(c);

	if (n > cur_left(c))
		cur_fail(c);
	return c->bad ? 0 : n;
}

static uint32_t get_u32(struct cur *c)
{
	uint64_t v = cur_varint(c);

	if (v > UINT32_MAX)
		cur_fail(c);
	return v;
}

static int64_t *get_signed(struct cur *c, size_t n, bool deltas)
{
	int64_t *v = xreallocarray(NULL, n + 1, sizeof *v), before = 0;

	for (size_t i = 0; i < n; i++) {
		v[i] = (int64_t)((uint64_t)before + (uint64_t)unzigzag(cur_varint(c)));
		before = deltas ? v[i] : 0;
	}
	return v;
}

static uint32_t *get_ids(struct cur *c, size_t n)
{
	uint32_t *v = xreallocarray(NULL, n + 1, sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = get_u32(c) - 1;
	return v;
}

static int64_t *same_signed(size_t n, int64_t as)
{
	int64_t *v = xreallocarray(NULL, n + 1, sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = as;
	return v;
}

static uint32_t *same_ids(size_t n, uint32_t as)
{
	uint32_t *v = xreallocarray(NULL, n + 1, sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = as;
	return v;
}

static void get_series(struct cur *c, struct batch_rows *r)
{
	struct sample_columns *to = &r->own_samples;

	r->n_series = get_count(c);
	r->series = xreallocarray(NULL, r->n_series + 1, sizeof *r->series);
	for (size_t i = 0; i < r->n_series; i++)
		r->series[i] = get_u32(c);
	to->series = get_ids(c, to->n);
	for (size_t i = 0; i < to->n; i++)
		if (++to->series[i] >= r->n_series) /* of put_series */
			cur_fail(c);
}

static void get_links(struct cur *c, struct batch_rows *r)
{
	struct sample_columns *to = &r->own_samples;
	size_t n = get_count(c);

	for (size_t i = 0; i < n && !c->bad; i++) {
		struct trace_link link;
		const void *bytes = cur_take(c, sizeof link);
		if (bytes)
			vec_push(&r->own_links,
				 *(struct trace_link *)memcpy(&link, bytes, sizeof link));
	}
	to->link = get_ids(c, to->n);
	for (size_t i = 0; i < to->n; i++)
		if (++to->link[i] > n)
			cur_fail(c);
	r->links = r->own_links.v;
}

static void get_samples(struct cur *c, struct batch_rows *r)
{
	struct sample_columns *to = &r->own_samples;

	to->n = get_count(c);
	uint32_t columns = get_u32(c);
	if (columns > LOG_COLUMNS)
		cur_fail(c);
	r->samples = to;
	to->time_ns = get_signed(c, to->n, true);
	get_series(c, r);
	to->value = columns & LOG_VALUES ? get_signed(c, to->n, false) : same_signed(to->n, 1);
	to->length_ns = columns & LOG_LENGTHS ? get_signed(c, to->n, false) : NULL;
	to->pid = columns & LOG_PIDS ? get_ids(c, to->n) : same_ids(to->n, SAMPLE_NO_ID);
	to->tid = columns & LOG_TIDS ? get_ids(c, to->n) : same_ids(to->n, SAMPLE_NO_ID);
	to->cpu = columns & LOG_CPUS ? get_ids(c, to->n) : same_ids(to->n, SAMPLE_NO_ID);
	if (columns & LOG_LINKS)
		get_links(c, r);
}

static struct chunk_position get_position(struct cur *c)
{
	struct chunk_position at = { .strings = get_u32(c) };

	at.mappings = get_u32(c);
	at.frames = get_u32(c);
	at.stacks = get_u32(c);
	return at;
}

static struct cur get_bytes(struct cur *c)
{
	size_t len = get_count(c);
	const void *bytes = cur_take(c, len);

	return cur_of(bytes, bytes ? len : 0);
}

static void get_part(struct cur *c, struct logged_batch *b)
{
	struct logged_part part = { 0 };
	uint64_t day = cur_varint(c);

	if (day > (uint64_t)(INT64_MAX / STORE_DAY_NS))
		cur_fail(c);
	part.day_ns = c->bad ? 0 : (int64_t)day * STORE_DAY_NS;
	part.piece = get_u32(c);
	part.from = get_position(c);
	part.to = get_position(c);
	part.chunks = get_bytes(c);
	if (get_u32(c))
		part.stack = get_ids(c, b->rows.samples->n);
	vec_push(&b->parts, part);
}

bool logged_batch_decode(struct cur c, int64_t received_ns, struct logged_batch *out)
{
	struct batch_rows *r = &out->rows;

	*out = (struct logged_batch){ 0 };
	if (cur_u8(&c) != LOG_VERSION)
		cur_fail(&c);
	r->clock.received_ns = received_ns;
	r->clock.has_times = get_u32(&c) & LOG_TIMES;
	r->clock.shift_ns = unzigzag(cur_varint(&c));
	r->clock.fixed_ns = unzigzag(cur_varint(&c));
	get_samples(&c, r);
	size_t n = get_u32(&c);
	if (n > STORE_BATCH_DAYS)
		cur_fail(&c);
	for (size_t i = 0; i < n && !c.bad; i++)
		get_part(&c, out);
	struct cur points = get_bytes(&c);
	bool ok = metric_samples_decode(points, &r->points);
	out->names_day = (int32_t)get_u32(&c);
	out->names = get_bytes(&c);
	return ok && !c.bad && cur_left(&c) == 0 && out->names_day >= 0;
}

void logged_batch_done(struct logged_batch *b)
{
	for (size_t i = 0; i < b->parts.n; i++)
		free(b->parts.v[i].stack);
	vec_done(&b->parts);
	batch_rows_done(&b->rows);
}

bool logged_chunk_next(struct cur *c, uint8_t *type, struct cur *payload)
{
	if (c->bad || !cur_left(c))
		return false;
	*type = cur_u8(c);
	uint8_t flags = cur_u8(c);
	uint32_t len = cur_u32(c);
	const void *bytes = cur_take(c, len);
	if (flags)
		cur_fail(c);
	*payload = cur_of(bytes, bytes ? len : 0);
	return !c->bad;
}
