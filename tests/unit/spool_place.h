/* tests/unit/spool_place.h: a spool in its own directory, and numbered messages that go in and come out. */
#ifndef CRESSET_TESTS_SPOOL_PLACE_H
#define CRESSET_TESTS_SPOOL_PLACE_H

#include "numbered_message.h"
#include "shell.h"

#include "agent/spool.h"
#include "base/buf.h"
#include "base/err.h"

enum { ROOMY = 64 << 20 };
static const uint8_t collector[SPOOL_ID_BYTES] = "collector";

struct place {
	char dir[32];
	struct spool *spool;
};

static inline bool reopen(struct place *w, uint64_t max_bytes)
{
	const struct spool_opts opts = { .dir = w->dir, .max_bytes = max_bytes };
	struct err err = { 0 };
	bool damaged = false;

	spool_close(w->spool);
	w->spool = NULL;
	ck_assert_msg(spool_open(&opts, &w->spool, &damaged, &err) == 0, "%s", err.text);
	return damaged;
}

static inline void place_init(struct place *w, uint64_t max_bytes)
{
	*w = (struct place){ .dir = "/tmp/t_spool.XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	reopen(w, max_bytes);
}

static inline void place_done(struct place *w)
{
	spool_close(w->spool);
	shell_do("rm -rf %s", w->dir);
}

static inline int64_t time_of(uint64_t number)
{
	return NUMBERED_START_NS + (int64_t)number * 10000000000;
}

static inline int try_add(struct spool *s, uint64_t number, uint32_t samples, bool *duplicate)
{
	struct buf m = numbered_message(number, samples, time_of(number));
	struct spool_source source = { .sequence = number };
	struct err err = { 0 };

	memcpy(source.id, collector, sizeof source.id);
	const struct spool_message message = { .data = m.data,
					       .len = m.len,
					       .samples = samples,
					       .source = &source,
					       .now_ns = time_of(number) };
	int rc = spool_add(s, &message, duplicate, &err);
	buf_done(&m);
	return rc;
}

static inline void add(struct place *w, uint64_t number)
{
	bool duplicate;

	ck_assert_int_eq(try_add(w->spool, number, 5, &duplicate), 0);
	ck_assert(!duplicate);
}

/* The number of a message, from its content; checks that it is exactly what was given. */
static inline uint64_t number_in(struct spool *s, const struct spool_entry *e)
{
	struct buf plain = { 0 };
	struct err err = { 0 };
	struct profile *p = profile_new();

	ck_assert_msg(spool_unpack(s, e, &plain, &err) == 0, "%s", err.text);
	ck_assert_int_eq(otlp_decode(plain.data, plain.len, "it", profile_sink(p), NULL, NULL), 0);
	ck_assert_uint_gt(p->samples.n, 0);
	uint64_t number = (uint64_t)p->samples.value[0];
	struct buf want = numbered_message(number, p->samples.n, time_of(number));
	ck_assert(plain.len == want.len && memcmp(plain.data, want.data, want.len) == 0);
	buf_done(&want);
	buf_done(&plain);
	profile_free(p);
	return number;
}

/* Takes and acknowledges the first message; 0: there is none. */
static inline uint64_t take(struct place *w, uint64_t *id)
{
	struct spool_entry e;
	int rc = spool_first(w->spool, &e, NULL);

	ck_assert_int_ge(rc, 0);
	if (rc == 0)
		return 0;
	uint64_t number = number_in(w->spool, &e);
	*id = e.id;
	buf_done(&e.packed);
	ck_assert_int_eq(spool_sent(w->spool, e.id, NULL, NULL), 0);
	return number;
}

#endif
