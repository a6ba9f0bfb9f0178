/* tests/unit/ingest_world.h: a store, and the witness's hashes of its input. */
#ifndef CRESSET_TESTS_INGEST_WORLD_H
#define CRESSET_TESTS_INGEST_WORLD_H

#include "base/err.h"
#include "random_profile.h"
#include "store_witness.h"
#include "store_world.h"
#include "unit.h"

struct world {
	struct store_world base;
	struct tally want;
};

static inline void world_init(struct world *w, struct store_opts opts)
{
	w->want = (struct tally){ 0 };
	store_world_init(&w->base, opts);
}

static inline void world_done(struct world *w)
{
	tally_done(&w->want);
	store_world_done(&w->base);
}

static inline void world_check(struct world *w)
{
	struct tally have = { 0 };

	tally_store(&have, w->base.s);
	ck_assert_uint_eq(tally_diff(&w->want, &have), 0);
	ck_assert_int_eq(tally_total(&w->want), tally_total(&have));
	tally_done(&have);
}

static inline void world_maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->base.s, w->base.now_ns % 2 ? INT64_MAX : SECOND_NS, &err)) >
	       0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* Samples of a random profile, spread over span_ns from from_ns on. */
static inline struct profile *batch_at(uint64_t seed, int64_t from_ns, int64_t span_ns, bool waits)
{
	struct random_profile r = random_profile(
		seed, (struct random_shape){ .n_stacks = 40, .n_samples = 200, .waits = waits });
	struct sample_columns *c = &r.p->samples;

	for (size_t i = 0; i < c->n; i++) {
		c->time_ns[i] = from_ns + (int64_t)rng_below(&r.rng, span_ns);
		if (c->length_ns && c->length_ns[i])
			c->length_ns[i] = rng_below(&r.rng, 100 * SECOND_NS);
	}
	r.p->meta.start_mono_ns = 0;
	return r.p;
}

static inline int world_ingest(struct world *w, struct profile *p, const uint8_t *sender,
			       uint64_t number, struct err *err)
{
	struct store_batch b = { .p = p, .sender = sender, .sequence = number };
	bool duplicate = false;
	int rc = store_ingest(w->base.s, &b, 1, &duplicate, err);

	if (rc == 0 && !duplicate)
		tally_batch(&w->want, p, 0);
	return rc ? rc : duplicate;
}

#endif
