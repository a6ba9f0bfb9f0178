#include "profile/add_labels.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool is_given(const struct label *given, size_t n, uint32_t key)
{
	while (n--)
		if (given[n].key == key)
			return true;
	return false;
}

static uint32_t labels_with(struct profile *p, uint32_t set, const struct label *given, size_t n)
{
	struct label_set old = p->series.sets.v[set];
	VEC(struct label) all = { 0 };

	vec_append(&all, given, n);
	for (uint32_t i = 0; i < old.n; i++) {
		struct label l = p->series.labels.v[old.first + i];
		if (!is_given(given, n, l.key))
			vec_push(&all, l);
	}
	uint32_t id = label_set_intern(&p->series, all.v, (uint32_t)all.n);
	vec_done(&all);
	return id;
}

static void label_readings(struct profile *p, const struct label *given, size_t n)
{
	struct readings old = p->readings;

	p->readings = (struct readings){ 0 };
	for (size_t i = 0; i < old.all.n; i++) {
		const struct reading_series *s = &old.all.v[i];
		struct reading_key key = s->key;
		key.labels = labels_with(p, key.labels, given, n);
		readings_put(&p->readings, &key, s->points.v, s->points.n);
	}
	readings_done(&old);
}

void profile_add_labels(struct profile *p, const char *const *texts, size_t n)
{
	size_t n_series = p->series.series.n;
	struct label *given = xcalloc(n + 1, sizeof *given);
	uint32_t *now = xcalloc(n_series + 1, sizeof *now);

	for (size_t i = 0; i < n; i++) {
		const char *value = strchr(texts[i], '=') + 1;
		given[i].key = strtab_putn(&p->strings, texts[i], (uint32_t)(value - texts[i] - 1));
		given[i].str = strtab_put(&p->strings, value);
	}
	for (size_t i = 0; i < n_series; i++) {
		struct series s = p->series.series.v[i];
		s.labels = labels_with(p, s.labels, given, n);
		now[i] = series_intern(&p->series, &s);
	}
	for (size_t i = 0; n && i < p->samples.n; i++)
		p->samples.series[i] = now[p->samples.series[i]];
	if (n)
		label_readings(p, given, n);
	free(given);
	free(now);
}
