/* Splits a signed profile into two sides. */
#include "profile/change/signed.h"

#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

struct signed_part signed_part_of(const struct profile *p, uint32_t type)
{
	struct signed_part part = { 0 };
	uint32_t key = strtab_find(&p->strings, BASE_LABEL);
	for (size_t i = 0; i < p->samples.n; i++) {
		const struct series *s = &p->series.series.v[p->samples.series[i]];
		if (s->type != type || !p->samples.value[i])
			continue;
		part.n_all++;
		if (p->samples.value[i] > 0)
			continue;
		part.n++;
		part.sum = sum_add(part.sum, p->samples.value[i]);
		part.is_marked |= key != UINT32_MAX && label_find(&p->series, s->labels, key);
	}
	return part;
}

static int64_t whole_of(const struct tree *t, bool is_marked)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	return is_marked ? root->other_total : sum_add(root->total, root->other_total);
}

static int build_sides(struct profile *p, const struct tree_opts *opts, struct tree **out,
		       struct err *err)
{
	struct tree_opts above = *opts, below = *opts;
	above.sign = 1;
	below.sign = -1;
	return tree_build_diff(p, &above, p, &below, out, err);
}

int tree_build_signed(struct profile *p, const struct tree_opts *opts, struct tree **out,
		      struct err *err)
{
	struct signed_part part = signed_part_of(p, opts->type);
	if (!part.n)
		return tree_build(p, opts, out, err);
	int rc = build_sides(p, opts, out, err);
	if (rc < 0)
		return rc;
	struct tree *t = *out;
	t->n_negative = part.n;
	t->n_samples = part.n_all;
	t->other_factor = 1;
	t->is_marked = part.is_marked;
	t->whole = whole_of(t, part.is_marked);
	return 0;
}
