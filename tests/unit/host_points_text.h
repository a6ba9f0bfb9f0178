/* tests/unit/host_points_text.h: points of a host as text, one per line. */
#ifndef CRESSET_TESTS_HOST_POINTS_TEXT_H
#define CRESSET_TESTS_HOST_POINTS_TEXT_H

#include "unit.h"

#include "base/buf.h"
#include "collect/host/host_points.h"
#include "profile/profile.h"
#include "profile/series.h"

static inline struct cur text_of(const char *text)
{
	return cur_of(text, strlen(text));
}

/* "name{value,…} number" of each point, by line; with its time if it is not 0. */
static inline char *spelled(const struct host_points *w)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < w->m.points.n; i++) {
		const struct otlp_point *p = &w->m.points.v[i];
		const struct otlp_series *s = &w->m.series.v[p->series];
		const struct series_table *t = &w->p->series;
		struct label_set set = s->labels ? t->sets.v[s->labels] : (struct label_set){ 0 };
		buf_addf(&b, "%s{", profile_str(w->p, s->name));
		for (uint32_t k = 0; k < set.n; k++)
			buf_addf(&b, "%s%s", k ? "," : "",
				 profile_str(w->p, t->labels.v[set.first + k].str));
		buf_addf(&b, "} %.10g", p->value);
		if (p->time_ns)
			buf_addf(&b, " @%lld", (long long)p->time_ns);
		buf_addc(&b, '\n');
	}
	return buf_steal(&b);
}

/* Checks that the points put are `want`, and clears them. */
static inline void puts_these(struct host_points *w, const char *want)
{
	char *text = spelled(w);
	const char *host = w->host;
	ck_assert_str_eq(text, want);
	free(text);
	host_points_done(w);
	host_points_init(w, host);
}

#endif
