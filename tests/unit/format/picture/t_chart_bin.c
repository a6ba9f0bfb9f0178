// tier: test
/* A flame chart as bytes, compared with the spans it is made from: every frame at every moment. */
#include "rand.h"
#include "unit.h"
#include "waits_profile.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/picture/flame_chart.h"
#include "profile/tree/tree.h"

#include <errno.h>

static int64_t read_varint(const uint8_t **at)
{
	int64_t v = 0;
	for (int shift = 0;; shift += 7) {
		uint8_t byte = *(*at)++;
		v |= (int64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

/* The columns depth, frame, self, start at the end of the bytes. */
struct columns {
	int64_t n, depth[4096], self[4096], start[4096];
};

static int64_t header_number(const char *header, const char *key)
{
	const char *at = strstr(header, key);
	ck_assert_ptr_nonnull(at);
	return strtoll(at + strlen(key), NULL, 10);
}

static void read_column(const uint8_t **at, int64_t n, int64_t *out)
{
	const uint8_t *end = *at + read_varint(at);
	(void)end;
	for (int64_t i = 0; i < n; i++)
		out[i] = read_varint(at);
}

static void read_tree(const struct buf *b, struct columns *c)
{
	static char header[4096];
	static int64_t skipped[4096];
	const uint8_t *at = (const uint8_t *)b->data + 4;
	int64_t len = read_varint(&at), strings, frames, bytes = 0;
	ck_assert_mem_eq(b->data, "CRT1", 4);
	memcpy(header, at, len);
	header[len] = '\0';
	at += len;
	c->n = header_number(header, "\"nodes\":");
	strings = header_number(header, "\"strings\":");
	frames = header_number(header, "\"frames\":");
	ck_assert_ptr_nonnull(strstr(header, "[\"depth\",\"frame\",\"self\",\"start\"]"));
	for (int64_t i = 0; i < strings; i++)
		bytes += read_varint(&at);
	at += bytes;
	for (int64_t i = 0; i < 6 * frames; i++)
		read_varint(&at);
	read_column(&at, c->n, c->depth);
	read_column(&at, c->n, skipped);
	read_column(&at, c->n, c->self);
	read_column(&at, c->n, c->start);
	for (int64_t i = 1; i < c->n; i++) {
		c->depth[i] = c->depth[i - 1] + 1 - c->depth[i];
		c->start[i] += c->start[i - 1];
	}
	ck_assert_ptr_eq(at, b->data + b->len);
}

static int write_bin(struct profile *p, uint32_t px, struct buf *out, struct err *err)
{
	struct tree_opts tree = { 0 };
	struct chart_bin_opts opts = { &tree, WAITS_START_NS, WAITS_START_NS + 10000 * WAITS_MS,
				       px };
	return chart_bin_write(p, &opts, out, err);
}

/* One thread with known waits: waits_profile.h lists its stacks over time. */
static struct profile *one_thread(void)
{
	struct waits_maker m = { .p = profile_new(), .with = WAITS_WALL };
	waits_types(&m);
	waits_thread(&m, 101, "worker", 10000, 6000, 3000, 1000);
	waits_on(&m, 5, 100, "start;work;parse");
	waits_off(&m, WAITS_OFF_CPU, 1000, 500, "start;work;read;[blocked: disk I/O]");
	waits_on(&m, 1505, 50, "start;work;parse");
	waits_on(&m, 5005, 100, "start;work;parse");
	m.p->meta.start_mono_ns = WAITS_START_NS;
	return m.p;
}

START_TEST(frames_have_their_times)
{
	struct profile *p = one_thread();
	struct columns *c = calloc(1, sizeof *c);
	struct buf b = { 0 };
	struct err err = { 0 };
	/* depth, start and self in ms; in pre-order */
	static const int64_t want[][3] = { { 0, 0, 7000 },   { 1, 0, 0 },    { 2, 0, 0 },
					   { 3, 0, 1000 },   { 3, 1000, 0 }, { 4, 1000, 500 },
					   { 3, 1500, 500 }, { 1, 5000, 0 }, { 2, 5000, 0 },
					   { 3, 5000, 1000 } };
	ck_assert_msg(write_bin(p, 1000, &b, &err) == 0, "%s", err.text);
	read_tree(&b, c);
	ck_assert_int_eq(c->n, (int64_t)(sizeof want / sizeof *want));
	for (int i = 0; i < c->n; i++) {
		ck_assert_int_eq(c->depth[i], want[i][0]);
		ck_assert_int_eq(c->start[i], want[i][1] * WAITS_MS);
		ck_assert_int_eq(c->self[i], want[i][2] * WAITS_MS);
	}
	free(c);
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* At any width: the root is the whole axis, and only the visible part is sent. */
START_TEST(narrow_graphs_are_small_and_add_up)
{
	size_t before = SIZE_MAX;
	for (uint32_t px = 4096; px; px /= 4) {
		struct profile *p = one_thread();
		struct columns *c = calloc(1, sizeof *c);
		struct buf b = { 0 };
		struct err err = { 0 };
		int64_t sum = 0;
		ck_assert_msg(write_bin(p, px, &b, &err) == 0, "%s", err.text);
		read_tree(&b, c);
		for (int i = 0; i < c->n; i++) {
			sum += c->self[i];
			ck_assert_int_ge(c->self[i], 0);
		}
		ck_assert_int_eq(sum, 10000 * WAITS_MS);
		ck_assert_uint_le(b.len, before);
		before = b.len + 32; /* words of rests */
		free(c);
		buf_done(&b);
		profile_free(p);
	}
}
END_TEST

START_TEST(several_threads_are_refused)
{
	struct profile *p = waits_profile(WAITS_WALL);
	struct buf b = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(write_bin(p, 100, &b, &err), -EINVAL);
	ck_assert_str_eq(err.text, "a chart in this format has one thread, but there are 4");
	ck_assert_uint_eq(b.len, 0);
	profile_free(p);
}
END_TEST

UNIT_MAIN("chart_bin", frames_have_their_times, narrow_graphs_are_small_and_add_up,
	  several_threads_are_refused)
