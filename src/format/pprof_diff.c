#include "format/pprof_diff.h"

#include "format/pprof.h"
#include "profile/sum.h"

/* profile_merge reads the series only, so their index may be out of date. */
static void label_series(struct profile *p, const struct label *base)
{
	VEC(struct label) labels = { 0 };
	for (size_t i = 0; i < p->series.series.n; i++) {
		struct label_set set = p->series.sets.v[p->series.series.v[i].labels];
		vec_clear(&labels);
		vec_append(&labels, p->series.labels.v + set.first, set.n);
		vec_push(&labels, *base);
		uint32_t with_base = label_set_intern(&p->series, labels.v, labels.n);
		p->series.series.v[i].labels = with_base;
	}
	vec_done(&labels);
}

int pprof_write_diff(struct profile *newer, struct profile *older, struct out *out, struct err *err)
{
	struct label base = { .key = strtab_put(&older->strings, "pprof::base"),
			      .str = strtab_put(&older->strings, "true") };
	label_series(older, &base);
	for (size_t i = 0; i < older->samples.n; i++)
		older->samples.value[i] = sum_sub(0, older->samples.value[i]);
	profile_merge(newer, older);
	return pprof_write(newer, &(struct format_write_opts){ 0 }, out, err);
}
