// tier: test
/* The size of batches compressed against the last whole one. */
#include "rand.h"
#include "unit.h"

#include "agent/spool_state.h"
#include "format/otlp/otlp.h"
#include "profile/profile.h"

/* --- the reference batch: 2000 stacks of 30 frames, with names and build ids, 2500 samples ----- */

#define START_NS INT64_C(1800000000000000000)
enum { FRAMES = 6000, MAPPINGS = 40, STACKS = 2000, DEPTH = 30, SAMPLES = 2500, THREADS = 60 };

static void fill_dictionary(struct profile *p, struct rng *rng, uint32_t stacks[STACKS])
{
	struct sink *s = profile_sink(p);
	uint32_t mappings[MAPPINGS], frames[FRAMES], path[DEPTH] = { 0 };
	char name[96];

	for (uint32_t i = 0; i < MAPPINGS; i++) {
		snprintf(name, sizeof name, "/usr/lib/x86_64-linux-gnu/libsomething%u.so.%u", i,
			 i % 7);
		struct mapping m = { .name = sink_string(s, name), .build_id_len = 20 };
		for (int k = 0; k < 20; k++)
			m.build_id[k] = rng_next(rng);
		mappings[i] = s->ops->mapping(s, &m);
	}
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct frame f = { .kind = FRAME_NATIVE,
				   .mapping = mappings[i % MAPPINGS],
				   .offset = rng_below(rng, 4 << 20) };
		snprintf(name, sizeof name, "%s::Class%u::method_%llx(int, char const*)",
			 i % 2 ? "some::space" : "other::name", i % 97,
			 (unsigned long long)rng_below(rng, 1 << 20));
		struct function fn = { .name = sink_string(s, name) };
		struct line line = { .function = s->ops->function(s, &fn),
				     .line = rng_below(rng, 3000) };
		frames[i] = s->ops->frame(s, &f);
		s->ops->names(s, frames[i], &line, 1);
	}
	/* Each continues from some place in the previous one, as stacks of programs do. */
	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint64_t k = i ? rng_below(rng, DEPTH) : 0; k < DEPTH; k++)
			path[k] = frames[rng_below(rng, FRAMES)];
		stacks[i] = s->ops->stack(s, path, DEPTH);
	}
}

static void fill_samples(struct profile *p, struct rng *rng, const uint32_t *stacks,
			 const uint32_t *series, int64_t at_ns)
{
	struct sink *s = profile_sink(p);

	p->samples.n = 0;
	p->meta.start_mono_ns = at_ns;
	p->meta.start_wall_ns = START_NS + at_ns;
	for (int64_t i = 0; i < SAMPLES; i++) {
		uint64_t thread = rng_below(rng, THREADS);
		struct sample sample = { .time_ns = at_ns + i * (10000000000 / SAMPLES) +
						    rng_below(rng, 1 << 20),
					 .value = 1,
					 .series = series[thread % 20],
					 .stack = stacks[rng_below(rng, STACKS)],
					 .pid = 1000 + thread / 3,
					 .tid = 1000 + thread,
					 .cpu = rng_below(rng, 8) };
		s->ops->sample(s, &sample);
	}
}

static void make_series(struct profile *p, uint32_t series[20])
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	uint32_t cpu = s->ops->type(s, &type);
	char comm[16];

	for (uint32_t i = 0; i < 20; i++) {
		snprintf(comm, sizeof comm, "program%u", i);
		struct label labels[2] = {
			{ .key = sink_string(s, "comm"), .str = sink_string(s, comm) },
			{ .key = sink_string(s, "host"), .str = sink_string(s, "db7") }
		};
		struct series one = { .type = cpu, .labels = s->ops->labels(s, labels, 2) };
		series[i] = s->ops->series(s, &one);
	}
}

START_TEST(a_steady_batch_is_small)
{
	struct otlp_encode_opts opts = { .whole_tables = true };
	struct profile *p = profile_new();
	struct rng rng = { 31 };
	struct delta_key key = { 0 };
	uint32_t stacks[STACKS], series[20];
	size_t whole = 0, most = 0, plain = 0;

	fill_dictionary(p, &rng, stacks);
	make_series(p, series);
	for (int64_t i = 0; i < 20; i++) {
		struct buf m = { 0 }, out = { 0 };
		uint64_t base;

		fill_samples(p, &rng, stacks, series, 1 + i * 10000000000);
		ck_assert_int_eq(otlp_encode(p, &opts, &m, NULL), 0);
		struct otlp_bytes bytes = { m.data, m.len };
		ck_assert_int_eq(delta_pack(&key, bytes, i, &out, &base, NULL), 0);
		ck_assert_uint_eq(base, i ? 1 : 0);
		plain = m.len;
		if (i == 0) {
			whole = out.len;
			delta_key_set(&key, 1, bytes, out.len, 0);
		} else if (out.len > most) {
			most = out.len;
		}
		buf_done(&m), buf_done(&out);
	}
	printf("plain %zu, whole %zu, most of a delta %zu bytes\n", plain, whole, most);
	ck_assert_uint_le(most, 40 << 10);
	/* With one whole batch per hour. */
	ck_assert_uint_le(most * 8640 + whole * 24, 400000000);
	delta_key_done(&key);
	profile_free(p);
}
END_TEST

UNIT_MAIN("delta", a_steady_batch_is_small)
