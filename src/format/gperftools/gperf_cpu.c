#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/common/address_map.h"
#include "format/common/give.h"
#include "format/gperftools/gperftools.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <errno.h>
#include <string.h>

enum {
	GPERF_HEADER = 5,
	GPERF_NS_PER_US = 1000,
	GPERF_MAX_PERIOD_US = 3600u * 1000 * 1000,
	GPERF_PIECE = 1 << 18 /* bytes given back together */
};

/* The words of a file. */
struct gperf_words {
	uint8_t size; /* of a word; 0: not a CPU profile */
	bool is_big;
};

static uint64_t gperf_word(struct cur *c, struct gperf_words w)
{
	if (!w.is_big)
		return cur_int(c, w.size);
	const void *p = cur_take(c, w.size);
	uint32_t narrow = 0;
	uint64_t wide = 0;
	if (p && w.size == sizeof wide)
		memcpy(&wide, p, sizeof wide);
	else if (p)
		memcpy(&narrow, p, sizeof narrow);
	return w.size == sizeof wide ? be64toh(wide) : be32toh(narrow);
}

/* Reads the header, and finds by it how wide words are and in which order their bytes. */
static bool gperf_header(struct cur *c, struct gperf_words *out, uint64_t *period_us)
{
	static const struct gperf_words forms[] = {
		{ 8, false }, { 4, false }, { 8, true }, { 4, true }
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct cur at = *c;
		uint64_t word[GPERF_HEADER];
		for (int k = 0; k < GPERF_HEADER; k++)
			word[k] = gperf_word(&at, forms[i]);
		if (at.bad || word[0] || word[1] != 3 || word[2] || !word[3] || word[4] ||
		    word[3] > GPERF_MAX_PERIOD_US)
			continue;
		*c = at;
		*out = forms[i];
		*period_us = word[3];
		return true;
	}
	return false;
}

struct gperf_reader {
	struct sink *sink;
	struct gperf_words words;
	struct address_map map;
	VEC(uint32_t) frames; /* of the current record, root first */
	struct give_sums sums;
	uint32_t series;
	uint64_t skipped;
	struct buf bytes; /* of the file; those before `read` were given back */
	size_t read;
};

/* The program counters of a record. */
struct gperf_record {
	uint64_t count, depth;
	struct cur pcs;
};

/* Returns false at the end of the records. */
static bool gperf_next(struct gperf_reader *r, struct cur *c, struct gperf_record *out)
{
	out->count = gperf_word(c, r->words);
	out->depth = gperf_word(c, r->words);
	if (c->bad || out->depth > cur_left(c) / r->words.size) {
		r->skipped++; /* cut */
		cur_fail(c);
		return false;
	}
	size_t len = out->depth * r->words.size;
	out->pcs = cur_of(cur_take(c, len), len);
	struct cur first = out->pcs;
	return out->count || out->depth != 1 || gperf_word(&first, r->words);
}

static void gperf_add(struct gperf_reader *r, struct gperf_record *one)
{
	/* One more than a stack may have: the sink marks it as truncated. */
	uint64_t most = STACK_MAX_DEPTH + 1, keep = one->depth < most ? one->depth : most;
	vec_clear(&r->frames);
	vec_reserve(&r->frames, keep);
	r->frames.n = keep;
	for (uint64_t i = 0; i < keep; i++) {
		uint64_t pc = gperf_word(&one->pcs, r->words);
		r->frames.v[keep - 1 - i] = address_map_frame(&r->map, pc - (i && pc));
	}
	int64_t count = one->count < INT64_MAX ? one->count : INT64_MAX;
	struct give_row row = { .series = r->series, GIVE_ROW_NO_IDS, .value = count };
	row.stack = r->sink->ops->stack(r->sink, r->frames.v, keep);
	give_sums_add(&r->sums, &row);
}

static void gperf_discard(struct gperf_reader *r, const struct cur *c)
{
	size_t at = (const char *)c->p - r->bytes.data;
	if (at - r->read < GPERF_PIECE)
		return;
	mem_discard(r->bytes.data + r->read, at - r->read);
	r->read = at;
}

static int gperf_read_records(struct gperf_reader *r, struct cur c, const char *name,
			      struct err *err)
{
	struct gperf_record one;
	struct cur at = c;
	bool more = true;
	while (cur_left(&at) && gperf_next(r, &at, &one))
		;
	r->skipped = 0;
	address_map_add_text(&r->map, (const char *)at.p, cur_left(&at));
	while (cur_left(&c) && (more = gperf_next(r, &c, &one))) {
		gperf_add(r, &one);
		gperf_discard(r, &c);
	}
	r->skipped += more; /* cut between two records */
	buf_done(&r->bytes);
	if (give_sums_end(&r->sums, r->sink) == 0 && r->skipped)
		return err_set(err, EBADMSG, "%s: CPU profile of gperftools: truncated header",
			       name);
	if (r->skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
	return 0;
}

static int gperf_cpu_read_bytes(struct gperf_reader *r, struct cur c, const char *name,
				struct err *err)
{
	struct give_type type = { .name = "cpu",
				  .sample_type = "samples",
				  .unit = "count",
				  .period_type = "cpu",
				  .period_unit = "nanoseconds" };
	uint64_t period_us;
	if (!gperf_header(&c, &r->words, &period_us))
		return err_set(err, EBADMSG, "%s: not a CPU profile of gperftools", name);
	type.period = period_us * GPERF_NS_PER_US;
	r->series = give_series(r->sink, &type);
	return gperf_read_records(r, c, name, err);
}

static int gperf_cpu_read(struct input *in, struct sink *sink, struct err *err)
{
	struct gperf_reader r = { .sink = sink, .map = { .sink = sink } };
	struct buf *bytes = &r.bytes;
	int rc = input_all(in, GPERF_MAX_BYTES, bytes, err);
	if (rc == 0)
		rc = gperf_cpu_read_bytes(&r, cur_of(bytes->data ? bytes->data : "", bytes->len),
					  input_name(in), err);
	address_map_done(&r.map);
	give_sums_done(&r.sums);
	vec_done(&r.frames);
	buf_done(&r.bytes);
	return rc;
}

static int gperf_cpu_read_here(struct input *in, struct sink *sink, const struct format_here *here,
			       struct err *err)
{
	(void)here;
	return gperf_cpu_read(in, sink, err);
}

static bool gperf_cpu_detect(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	struct gperf_words words;
	uint64_t period_us;
	return gperf_header(&c, &words, &period_us);
}

const struct format format_gperf_cpu = {
	.name = "gperftools-cpu",
	.summary = "CPU profiles of gperftools (CPUPROFILE)",
	.detect = gperf_cpu_detect,
	.read = gperf_cpu_read,
	.read_here = gperf_cpu_read_here,
};
