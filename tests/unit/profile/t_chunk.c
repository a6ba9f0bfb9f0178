// tier: test
#include "random_profile.h"
#include "unit.h"

#include "base/buf.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"

/* Chunks as handed over. */
struct kept_chunk {
	uint32_t type, flags;
	struct buf payload;
};
struct kept {
	VEC(struct kept_chunk) v;
};

static int keep(void *ctx, enum chunk_type type, uint32_t flags, const void *payload, size_t len,
		struct err *err)
{
	struct kept *k = ctx;
	struct kept_chunk c = { type, flags, { 0 } };

	(void)err;
	buf_add(&c.payload, payload, len);
	vec_push(&k->v, c);
	return 0;
}

static void kept_done(struct kept *k)
{
	for (size_t i = 0; i < k->v.n; i++)
		buf_done(&k->v.v[i].payload);
	vec_done(&k->v);
}

static void write_dictionary(struct chunk_writer *w, const struct profile *p, struct kept *k)
{
	const struct chunk_out out = { .put = keep, .ctx = k };

	ck_assert_int_eq(chunk_write(w, p, CHUNK_DICTIONARY, &out, NULL), 0);
}

static bool apply(struct chunk_reader *r, const struct kept *k)
{
	struct buf raw = { 0 };
	bool ok = true;

	for (size_t i = 0; ok && i < k->v.n; i++) {
		const struct kept_chunk *c = &k->v.v[i];
		struct cur payload;
		ok = chunk_unpack(c->flags, c->payload.data, c->payload.len, &raw, &payload) &&
		     chunk_apply(r, c->type, payload);
	}
	buf_done(&raw);
	return ok;
}

static bool restore(struct profile *p, const struct kept *k)
{
	struct chunk_reader r;

	chunk_reader_restore(&r, p);
	bool ok = apply(&r, k);
	chunk_reader_done(&r);
	return ok;
}

static void same_tables(const struct profile *a, const struct profile *b)
{
	ck_assert_uint_eq(a->strings.all.n, b->strings.all.n);
	for (uint32_t i = 0; i < a->strings.all.n; i++)
		ck_assert_str_eq(profile_str(a, i), profile_str(b, i));
	ck_assert_uint_eq(a->frames.mappings.n, b->frames.mappings.n);
	ck_assert_uint_eq(a->frames.frames.n, b->frames.frames.n);
	for (uint32_t i = 0; i < a->frames.frames.n; i++) {
		const struct frame *x = &a->frames.frames.v[i], *y = &b->frames.frames.v[i];
		ck_assert(x->kind == y->kind && x->mapping == y->mapping &&
			  x->offset == y->offset && x->line == y->line && x->binary == y->binary);
	}
	ck_assert_uint_eq(a->stacks.stacks.n, b->stacks.stacks.n);
	ck_assert_mem_eq(a->stacks.stacks.v, b->stacks.stacks.v,
			 a->stacks.stacks.n * sizeof(struct stack));
	ck_assert_uint_eq(a->stacks.own.n, b->stacks.own.n);
	ck_assert_mem_eq(a->stacks.own.v, b->stacks.own.v, a->stacks.own.n * sizeof(uint32_t));
}

static struct profile *random_dictionary(uint64_t seed, uint32_t n_stacks)
{
	return random_profile(seed, (struct random_shape){ .n_stacks = n_stacks }).p;
}

/* Whether both give the same ids to stacks, known and new ones. */
static void same_from_here(struct profile *a, struct profile *b)
{
	struct rng rng = { 99 };

	ck_assert(stack_table_index(&b->stacks));
	for (int i = 0; i < 2000; i++) {
		uint32_t frames[12], n = (uint32_t)rng_below(&rng, 12);
		for (uint32_t k = 0; k < n; k++)
			frames[k] = (uint32_t)rng_below(&rng, a->frames.frames.n);
		ck_assert_uint_eq(stack_intern(&a->stacks, frames, n),
				  stack_intern(&b->stacks, frames, n));
	}
	for (uint32_t i = 0; i < a->stacks.stacks.n; i++) {
		uint32_t frames[64];
		stack_frames(&a->stacks, i, frames);
		ck_assert_uint_eq(stack_intern(&b->stacks, frames, stack_depth(&a->stacks, i)), i);
	}
}

START_TEST(a_dictionary_survives_a_round_trip)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct profile *p = random_dictionary(seed, 10 + 40 * seed), *q = profile_new();
		struct chunk_writer *w = chunk_writer_new();
		struct kept k = { 0 };
		chunk_writer_size(w, 1 + 100 * seed, 1);
		write_dictionary(w, p, &k);
		ck_assert(restore(q, &k));
		same_tables(p, q);
		ck_assert(restore(q, &k)); /* everything is there */
		same_tables(p, q);
		same_from_here(p, q);
		kept_done(&k);
		chunk_writer_free(w);
		profile_free(p);
		profile_free(q);
	}
}
END_TEST

/* Random frames from existing ones, so that tables grow. */
static void grow(struct profile *p, struct rng *rng, int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		uint32_t frames[8];
		snprintf(name, sizeof name, "grown%d", (int)rng_below(rng, 1000));
		struct frame f = { .mapping = MAPPING_NONE,
				   .function = sink_string(profile_sink(p), name) };
		frames[0] = profile_sink(p)->ops->frame(profile_sink(p), &f);
		for (int k = 1; k < 8; k++)
			frames[k] = (uint32_t)rng_below(rng, p->frames.frames.n);
		profile_sink(p)->ops->stack(profile_sink(p), frames, 1 + rng_below(rng, 8));
	}
}

START_TEST(it_is_written_piece_by_piece)
{
	struct profile *p = random_dictionary(5, 100), *q = profile_new();
	struct chunk_writer *w = chunk_writer_new();
	struct rng rng = { 7 };
	struct chunk_reader r;

	chunk_reader_restore(&r, q);
	for (int i = 0; i < 10; i++) {
		struct kept k = { 0 }, lost = { 0 }, nothing = { 0 };
		struct chunk_position at = chunk_writer_tell(w);
		write_dictionary(w, p, &lost); /* then the disk is full */
		chunk_writer_seek(w, &at);
		write_dictionary(w, p, &k);
		write_dictionary(w, p, &nothing);
		ck_assert_uint_eq(nothing.v.n, 0);
		ck_assert(apply(&r, &k));
		same_tables(p, q);
		kept_done(&k);
		kept_done(&lost);
		/* Another writer continues. */
		chunk_writer_free(w);
		w = chunk_writer_new();
		at = chunk_position_of(p);
		chunk_writer_seek(w, &at);
		grow(p, &rng, 50);
	}
	chunk_reader_done(&r);
	chunk_writer_free(w);
	profile_free(p);
	profile_free(q);
}
END_TEST

START_TEST(foreign_text_is_harmless)
{
	struct profile *p = random_dictionary(6, 300), *q = profile_new();
	struct chunk_writer *w = chunk_writer_new();
	struct kept k = { 0 };

	sink_string(profile_sink(q), "somebody's");
	write_dictionary(w, p, &k);
	ck_assert(restore(q, &k));
	ck_assert_uint_eq(p->stacks.stacks.n, q->stacks.stacks.n);
	for (uint32_t i = 0; i < p->frames.frames.n; i++) {
		const struct frame *a = &p->frames.frames.v[i], *b = &q->frames.frames.v[i];
		if (a->mapping == MAPPING_NONE)
			ck_assert_str_eq(profile_str(p, a->function), profile_str(q, b->function));
	}
	kept_done(&k);
	chunk_writer_free(w);
	profile_free(p);
	profile_free(q);
}
END_TEST

/* Whatever byte changes: it is refused, or the tables keep their invariants. */
START_TEST(damaged_stacks_obey_the_rules)
{
	struct profile *p = random_dictionary(8, 200);
	struct chunk_writer *w = chunk_writer_new();
	struct rng rng = { 17 };
	int taken = 0;

	struct kept k = { 0 };
	write_dictionary(w, p, &k);
	struct kept_chunk *c = &k.v.v[k.v.n - 1];
	ck_assert_uint_eq(c->type, CHUNK_STACKS);
	struct buf raw = { 0 };
	struct cur plain;
	ck_assert(chunk_unpack(c->flags, c->payload.data, c->payload.len, &raw, &plain));
	struct buf payload = { 0 };
	buf_add(&payload, plain.p, cur_left(&plain));
	buf_done(&c->payload);
	c->payload = payload;
	c->flags = 0;
	for (int i = 0; i < 3000; i++) {
		struct profile *q = profile_new();
		char *at = &payload.data[rng_below(&rng, payload.len)], was = *at;
		*at = (char)rng_below(&rng, 256);
		if (restore(q, &k) && stack_table_index(&q->stacks)) {
			uint32_t frames[1024];
			for (uint32_t s = 0; s < q->stacks.stacks.n; s++) {
				ck_assert_uint_le(stack_depth(&q->stacks, s), 1024);
				stack_frames(&q->stacks, s, frames);
				ck_assert_uint_eq(stack_intern(&q->stacks, frames,
							       stack_depth(&q->stacks, s)),
						  s);
			}
			taken++;
		}
		*at = was;
		profile_free(q);
	}
	ck_assert(taken > 0 && taken < 3000);
	buf_done(&raw);
	kept_done(&k);
	chunk_writer_free(w);
	profile_free(p);
}
END_TEST

START_TEST(a_table_that_repeats_itself_is_refused)
{
	struct profile *p = random_dictionary(9, 50), *q = profile_new();
	struct chunk_writer *w = chunk_writer_new();
	struct chunk_reader r;
	struct kept k = { 0 };

	write_dictionary(w, p, &k);
	chunk_reader_restore(&r, q);
	ck_assert(apply(&r, &k));
	ck_assert(!apply(&r, &k));
	same_tables(p, q);
	chunk_reader_done(&r);
	kept_done(&k);
	chunk_writer_free(w);
	profile_free(p);
	profile_free(q);
}
END_TEST

UNIT_MAIN("chunk", a_dictionary_survives_a_round_trip, it_is_written_piece_by_piece,
	  foreign_text_is_harmless, damaged_stacks_obey_the_rules,
	  a_table_that_repeats_itself_is_refused)
