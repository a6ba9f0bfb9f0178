#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "base/vec.h"
#include "format/common/give.h"
#include "format/python/python.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

enum {
	TACH_HEADER = 64,
	TACH_TRAILER = 48, /* "TACHSTAT" and its counts */
	TACH_PIECE = 1 << 16,
	TACH_NS_PER_US = 1000,
};

/* --- records as a stream of bytes, decompressed ----------------------------------------------- */

struct tach_source {
	struct unpack *unpack; /* NULL: not compressed */
	struct cur in;
	struct cur piece;
	uint8_t *bytes; /* of the piece */
	uint64_t total; /* decompressed */
	bool big, bad;
};

static bool tach_refill(struct tach_source *s)
{
	size_t got = 0;
	if (!s->unpack || s->bad)
		return false;
	int rc = unpack_step(s->unpack, &s->in, true, s->bytes, TACH_PIECE, &got, NULL);
	s->total += got;
	s->bad = rc < 0 || s->total > INPUT_MAX_BYTES;
	s->piece = cur_of(s->bytes, got);
	return got > 0;
}

static bool tach_end(struct tach_source *s)
{
	return !cur_left(&s->piece) && !tach_refill(s);
}

/* Returns 0 after the end, with bad set. */
static uint8_t tach_u8(struct tach_source *s)
{
	if (tach_end(s)) {
		s->bad = true;
		return 0;
	}
	return *s->piece.p++;
}

static uint64_t tach_int(struct tach_source *s, int bytes)
{
	uint64_t v = 0;
	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)tach_u8(s) << 8 * (s->big ? bytes - 1 - i : i);
	return v;
}

static uint64_t tach_varint(struct tach_source *s)
{
	uint64_t v = 0;
	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = tach_u8(s);
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	s->bad = true;
	return 0;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* The stack of a thread's last sample, leaf first. */
struct tach_thread {
	uint32_t tid, stack;
	VEC(uint32_t) frames;
	bool any;
};

struct tach_reader {
	struct sink *sink;
	struct cur file;
	VEC(uint32_t) strings, frames; /* of the sink */
	struct tach_source source;
	struct map by_id;
	VEC(struct tach_thread) threads;
	size_t kept;    /* frames of all threads */
	uint64_t steps; /* frames of the stacks of all records */
	VEC(uint32_t) root_first, fresh;
	struct give_sums sums;
	uint32_t series;
	uint64_t skipped;
};

static struct tach_thread *tach_thread_of(struct tach_reader *r, uint64_t id, uint32_t interpreter)
{
	uint32_t fresh = r->threads.n;
	if (fresh >= PYTHON_MAX_THREADS && !map_get(&r->by_id, hash_mix(id, interpreter)))
		return NULL;
	uint32_t row = map_intern(&r->by_id, hash_mix(id, interpreter), fresh, NULL, NULL);
	if (row == fresh)
		vec_push(&r->threads,
			 (struct tach_thread){ .tid = id < SAMPLE_NO_ID ? (uint32_t)id
									: SAMPLE_NO_ID });
	return &r->threads.v[row];
}

static void tach_add(struct tach_reader *r, const struct tach_thread *t, int64_t n)
{
	struct give_row row = { .series = r->series,
				.stack = t->stack,
				.pid = SAMPLE_NO_ID,
				.tid = t->tid,
				.value = n };
	give_sums_add(&r->sums, &row);
}

static uint32_t tach_frame(struct tach_reader *r, uint64_t number)
{
	static const struct give_frame unknown = { .kind = FRAME_PYTHON };
	if (number < r->frames.n)
		return r->frames.v[number];
	r->skipped++;
	return give_frame(r->sink, &unknown);
}

/* Replaces all but the last `stay` frames of the thread's stack by n that come. Returns false if
 * there is no room, or they are missing. */
static bool tach_replace(struct tach_reader *r, struct tach_thread *t, uint64_t stay, uint64_t n)
{
	if (stay > t->frames.n || n > PYTHON_MAX_KEPT_FRAMES ||
	    r->kept - t->frames.n + stay + n > PYTHON_MAX_KEPT_FRAMES ||
	    r->steps > PYTHON_MAX_STEPS)
		return false;
	r->steps += stay + n;
	vec_clear(&r->fresh);
	for (uint64_t i = 0; i < n && !r->source.bad; i++)
		vec_push(&r->fresh, tach_frame(r, tach_varint(&r->source)));
	if (r->source.bad)
		return false;
	size_t gone = t->frames.n - stay;
	r->kept += n - gone;
	vec_reserve(&t->frames, stay + n);
	if (stay)
		memmove(t->frames.v + n, t->frames.v + gone, stay * sizeof *t->frames.v);
	t->frames.n = stay + n;
	if (n)
		memcpy(t->frames.v, r->fresh.v, n * sizeof *t->frames.v);
	vec_clear(&r->root_first);
	for (size_t i = t->frames.n; i-- > 0;)
		vec_push(&r->root_first, t->frames.v[i]);
	t->stack = r->sink->ops->stack(r->sink, r->root_first.v, r->root_first.n);
	t->any = true;
	return !r->source.bad;
}

static bool tach_repeat(struct tach_reader *r, struct tach_thread *t)
{
	uint64_t n = tach_varint(&r->source), done = 0;
	for (; done < n && !r->source.bad; done++) {
		tach_varint(&r->source); /* time */
		tach_u8(&r->source);     /* status */
	}
	done -= done && r->source.bad;
	if (t->any && done)
		tach_add(r, t, (int64_t)done);
	else
		r->skipped += done;
	return !r->source.bad;
}

enum tach_how { TACH_REPEAT, TACH_WHOLE, TACH_STAY, TACH_GO };

static bool tach_record(struct tach_reader *r)
{
	struct tach_source *s = &r->source;
	uint64_t id = tach_int(s, 8), stay = 0;
	uint32_t interpreter = tach_int(s, 4);
	uint8_t how = tach_u8(s);
	struct tach_thread *t = s->bad || how > TACH_GO ? NULL : tach_thread_of(r, id, interpreter);
	if (!t)
		return false;
	if (how == TACH_REPEAT)
		return tach_repeat(r, t);
	tach_varint(s); /* time */
	tach_u8(s);     /* status */
	if (how == TACH_STAY)
		stay = tach_varint(s);
	if (how == TACH_GO) {
		uint64_t go = tach_varint(s);
		stay = go <= t->frames.n ? t->frames.n - go : UINT64_MAX;
	}
	uint64_t n = tach_varint(s);
	if (s->bad || !tach_replace(r, t, stay, n))
		return false;
	tach_add(r, t, 1);
	return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void tach_read_strings(struct tach_reader *r, struct cur c)
{
	while (cur_left(&c)) {
		size_t len = cur_varint(&c);
		const char *text = cur_take(&c, len);
		if (text)
			vec_push(&r->strings, r->sink->ops->string(r->sink, text, len));
	}
}

static uint32_t tach_string(const struct tach_reader *r, uint64_t number)
{
	return number < r->strings.n ? r->strings.v[number] : 0;
}

static void tach_read_frames(struct tach_reader *r, struct cur c, uint32_t n)
{
	uint32_t native = sink_string(r->sink, PYTHON_NATIVE);
	for (uint32_t i = 0; i < n && cur_left(&c); i++) {
		uint64_t file = cur_varint(&c), function = cur_varint(&c);
		int64_t line = unzigzag(cur_varint(&c));
		cur_varint(&c); /* its end */
		cur_varint(&c); /* columns */
		cur_varint(&c);
		cur_u8(&c); /* opcode */
		struct frame f = { .kind = FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = tach_string(r, function),
				   .file = tach_string(r, file),
				   .line = line > 0 && line <= INT32_MAX ? line : 0 };
		if (!f.function)
			f.function = sink_string(r->sink, "[unknown]");
		if (f.function == native)
			f.kind = FRAME_NATIVE;
		if (!c.bad)
			vec_push(&r->frames, r->sink->ops->frame(r->sink, &f));
	}
}

/* The machine's own order of bytes, as in the magic number. */
static bool tach_is_big(struct cur file)
{
	return cur_starts(file, "TACH");
}

static uint32_t tach_u32(struct cur *c, bool big)
{
	uint32_t v = cur_u32(c);
	return big ? be32toh(htole32(v)) : v;
}

static uint64_t tach_u64(struct cur *c, bool big)
{
	uint64_t v = cur_u64(c);
	return big ? be64toh(htole64(v)) : v;
}

struct tach_header {
	uint64_t interval_us, strings, frames;
	uint32_t compression, n_frames;
	bool big;
};

/* The number of frames is at the end only: a file that was cut has none. Without a sample it is
 * zero. */
static bool tach_frame_count(struct cur file, struct tach_header *h)
{
	static const char stat[] = "TACHSTAT";
	struct cur end = cur_of(file.end - TACH_TRAILER, TACH_TRAILER);
	if (!cur_starts(end, stat))
		return false;
	cur_take(&end, strlen(stat) + 4 + 4 + 4);
	h->n_frames = tach_u32(&end, h->big);
	return true;
}

static bool tach_read_header(struct cur file, struct tach_header *h)
{
	struct cur c = file;
	size_t len = cur_left(&file);
	h->big = tach_is_big(file);
	if (len < TACH_HEADER + TACH_TRAILER)
		return false;
	cur_take(&c, 4 + 4 + 4 + 8);
	h->interval_us = tach_u64(&c, h->big);
	cur_take(&c, 4 + 4 + 4);
	h->strings = tach_u64(&c, h->big);
	h->frames = tach_u64(&c, h->big);
	h->compression = tach_u32(&c, h->big);
	return tach_frame_count(file, h) && h->strings >= TACH_HEADER && h->strings <= h->frames &&
	       h->frames <= len - TACH_TRAILER;
}

static void tach_read_records(struct tach_reader *r, const struct tach_header *h)
{
	struct tach_source *s = &r->source;
	struct cur records = cur_of(r->file.p + TACH_HEADER, h->strings - TACH_HEADER);
	s->big = h->big;
	if (h->compression) {
		s->unpack = unpack_new(UNPACK_ZSTD);
		s->bytes = xmalloc(TACH_PIECE);
		s->in = records;
	} else {
		s->piece = records;
	}
	while (!tach_end(s))
		if (!tach_record(r))
			break;
	r->skipped += s->bad || cur_left(&s->piece);
}

static int tach_read_file(struct tach_reader *r, const char *name, struct err *err)
{
	struct give_type type = { .name = "wall",
				  .sample_type = "samples",
				  .unit = "count",
				  .period_type = "wall",
				  .period_unit = "nanoseconds" };
	struct tach_header h = { 0 };
	if (!tach_read_header(r->file, &h))
		return err_set(err, EBADMSG, "%s: a file of Python's sampler, cut or damaged",
			       name);
	if (h.compression > 1)
		return err_set(err, EBADMSG, "%s: compression %u of Python's sampler is unknown",
			       name, h.compression);
	type.period = sum_mul(h.interval_us < INT64_MAX ? (int64_t)h.interval_us : INT64_MAX,
			      TACH_NS_PER_US);
	r->series = give_series(r->sink, &type);
	tach_read_strings(r, cur_of(r->file.p + h.strings, h.frames - h.strings));
	tach_read_frames(r,
			 cur_of(r->file.p + h.frames, cur_left(&r->file) - h.frames - TACH_TRAILER),
			 h.n_frames);
	tach_read_records(r, &h);
	give_sums_end(&r->sums, r->sink);
	if (r->skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
	return 0;
}

static int python_binary_read(struct input *in, struct sink *sink, struct err *err)
{
	struct tach_reader r = { .sink = sink };
	struct buf bytes = { 0 };
	int rc = input_all(in, PYTHON_MAX_BYTES, &bytes, err);
	r.file = cur_of(bytes.data ? bytes.data : "", bytes.len);
	if (rc == 0)
		rc = tach_read_file(&r, input_name(in), err);
	for (size_t i = 0; i < r.threads.n; i++)
		vec_done(&r.threads.v[i].frames);
	unpack_free(r.source.unpack);
	free(r.source.bytes);
	vec_done(&r.strings);
	vec_done(&r.frames);
	vec_done(&r.threads);
	vec_done(&r.root_first);
	vec_done(&r.fresh);
	map_done(&r.by_id);
	give_sums_done(&r.sums);
	buf_done(&bytes);
	return rc;
}

static bool python_binary_detect(const char *head, size_t len)
{
	return cur_starts(cur_of(head, len), "HCAT\1") ||
	       (len >= 8 && memcmp(head, "TACH\0\0\0\1", 8) == 0);
}

const struct format format_python_binary = {
	.name = "python-binary",
	.summary = "profiling.sampling --binary of Python 3.15",
	.detect = python_binary_detect,
	.read = python_binary_read,
};
