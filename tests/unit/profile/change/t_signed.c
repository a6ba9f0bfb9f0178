// tier: test
/* Profiles that are a difference already: their values below zero are the older side of a tree. */
#include "unit.h"

#include "base/err.h"
#include "profile/change/signed.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/tree/tree.h"

static struct profile *make(uint32_t *type)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	*type = s->ops->type(s, &(struct type){ .name = sink_string(s, "cpu"),
						.sample_type = sink_string(s, "samples"),
						.unit = sink_string(s, "count") });
	return p;
}

/* A sample "main;NAME". */
static void add(struct profile *p, uint32_t type, const char *name, int64_t value, bool is_base)
{
	struct sink *s = profile_sink(p);
	uint32_t frames[2];
	const char *const names[] = { "main", name };
	for (int i = 0; i < 2; i++)
		frames[i] =
			s->ops->frame(s, &(struct frame){ .mapping = MAPPING_NONE,
							  .function = sink_string(s, names[i]) });
	struct label base = { .key = sink_string(s, BASE_LABEL), .str = sink_string(s, "true") };
	struct series series = { .type = type };
	if (is_base)
		series.labels = s->ops->labels(s, &base, 1);
	struct sample sample = { .value = value,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, 2),
				 .pid = SAMPLE_NO_ID,
				 .tid = SAMPLE_NO_ID,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

static struct tree *tree_of(struct profile *p, uint32_t type)
{
	struct tree *t = NULL;
	ck_assert_int_eq(tree_build_signed(p, &(struct tree_opts){ .type = type }, &t, NULL), 0);
	return t;
}

START_TEST(without_values_below_zero_it_is_a_plain_tree)
{
	uint32_t type;
	struct profile *p = make(&type);
	add(p, type, "f", 5, true);
	add(p, type, "g", 0, false);
	struct tree *t = tree_of(p, type);
	ck_assert(!t->is_diff && !t->n_negative && !t->whole);
	ck_assert_int_eq(tree_whole(t, false), 5);
	ck_assert_uint_eq(signed_part_of(p, type).n, 0);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(negative_values_are_the_older_side)
{
	for (int marked = 0; marked < 2; marked++) {
		uint32_t type;
		struct profile *p = make(&type);
		add(p, type, "f", 60, false);
		add(p, type, "g", 90, false);
		add(p, type, "f", -150, marked);
		struct tree *t = tree_of(p, type);
		struct signed_part part = signed_part_of(p, type);
		ck_assert(t->is_diff && part.is_marked == marked && t->is_marked == marked);
		ck_assert_uint_eq(part.n, 1);
		ck_assert_uint_eq(part.n_all, 3);
		ck_assert_int_eq(part.sum, -150);
		ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, 150);
		ck_assert_int_eq(t->nodes.v[TREE_ROOT].other_total, 150);
		ck_assert_int_eq(tree_whole(t, false), marked ? 150 : 300);
		ck_assert_int_eq(tree_whole(t, true), marked ? 150 : 300);
		tree_free(t);
		profile_free(p);
	}
}
END_TEST

START_TEST(other_types_do_not_count)
{
	uint32_t type;
	struct profile *p = make(&type);
	struct sink *s = profile_sink(p);
	uint32_t other = s->ops->type(s, &(struct type){ .name = sink_string(s, "space"),
							 .sample_type = sink_string(s, "space"),
							 .unit = sink_string(s, "bytes") });
	add(p, type, "f", 60, false);
	add(p, other, "f", -60, true);
	ck_assert_uint_eq(signed_part_of(p, type).n, 0);
	ck_assert_uint_eq(signed_part_of(p, other).n, 1);
	struct tree *t = tree_of(p, other);
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].total, 0);
	ck_assert_int_eq(t->nodes.v[TREE_ROOT].other_total, 60);
	tree_free(t);
	profile_free(p);
}
END_TEST

UNIT_MAIN("signed", without_values_below_zero_it_is_a_plain_tree,
	  negative_values_are_the_older_side, other_types_do_not_count)
