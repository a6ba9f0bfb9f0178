/* Units and their factors. */
#include "profile/units.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/sum.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS        "nanoseconds"
#define BYTES     "bytes"
#define COUNT     "count"
#define SECOND_NS INT64_C(1000000000)

/* Sizes are powers of 1024, as in pprof. */
static const struct {
	const char *name; /* in any case; an s at the end may be missing */
	const char *base;
	int64_t scale;
} unit_names[] = {
	{ "nanoseconds", NS, 1 },
	{ "nsecs", NS, 1 },
	{ "ns", NS, 1 },
	{ "microseconds", NS, 1000 },
	{ "usecs", NS, 1000 },
	{ "us", NS, 1000 },
	{ "\xc2\xb5s", NS, 1000 },
	{ "\xce\xbcs", NS, 1000 },
	{ "milliseconds", NS, 1000000 },
	{ "msecs", NS, 1000000 },
	{ "ms", NS, 1000000 },
	{ "seconds", NS, SECOND_NS },
	{ "secs", NS, SECOND_NS },
	{ "s", NS, SECOND_NS },
	{ "minutes", NS, 60 * SECOND_NS },
	{ "mins", NS, 60 * SECOND_NS },
	{ "hours", NS, 3600 * SECOND_NS },
	{ "hrs", NS, 3600 * SECOND_NS },
	{ "days", NS, 86400 * SECOND_NS },
	{ "weeks", NS, 7 * 86400 * SECOND_NS },
	{ "wks", NS, 7 * 86400 * SECOND_NS },
	{ "bytes", BYTES, 1 },
	{ "b", BYTES, 1 },
	{ "by", BYTES, 1 },
	{ "kilobytes", BYTES, INT64_C(1) << 10 },
	{ "kibibytes", BYTES, INT64_C(1) << 10 },
	{ "kb", BYTES, INT64_C(1) << 10 },
	{ "kib", BYTES, INT64_C(1) << 10 },
	{ "kbytes", BYTES, INT64_C(1) << 10 },
	{ "megabytes", BYTES, INT64_C(1) << 20 },
	{ "mebibytes", BYTES, INT64_C(1) << 20 },
	{ "mb", BYTES, INT64_C(1) << 20 },
	{ "mib", BYTES, INT64_C(1) << 20 },
	{ "mbytes", BYTES, INT64_C(1) << 20 },
	{ "gigabytes", BYTES, INT64_C(1) << 30 },
	{ "gibibytes", BYTES, INT64_C(1) << 30 },
	{ "gb", BYTES, INT64_C(1) << 30 },
	{ "gib", BYTES, INT64_C(1) << 30 },
	{ "gbytes", BYTES, INT64_C(1) << 30 },
	{ "terabytes", BYTES, INT64_C(1) << 40 },
	{ "tebibytes", BYTES, INT64_C(1) << 40 },
	{ "tb", BYTES, INT64_C(1) << 40 },
	{ "tib", BYTES, INT64_C(1) << 40 },
	{ "tbytes", BYTES, INT64_C(1) << 40 },
	{ "petabytes", BYTES, INT64_C(1) << 50 },
	{ "pebibytes", BYTES, INT64_C(1) << 50 },
	{ "pb", BYTES, INT64_C(1) << 50 },
	{ "pib", BYTES, INT64_C(1) << 50 },
	{ "count", COUNT, 1 },
	{ "counts", COUNT, 1 },
	{ "1", COUNT, 1 }, /* UCUM's, as in OTLP */
};

static bool is_unit(const char *unit, const char *name)
{
	size_t len = strlen(name);
	if (strcasecmp(unit, name) == 0)
		return true;
	return len > 2 && name[len - 1] == 's' && strlen(unit) == len - 1 &&
	       strncasecmp(unit, name, len - 1) == 0;
}

struct unit_base unit_base_of(const char *unit)
{
	for (size_t i = 0; i < sizeof unit_names / sizeof *unit_names; i++)
		if (is_unit(unit, unit_names[i].name))
			return (struct unit_base){ unit_names[i].base, unit_names[i].scale };
	return (struct unit_base){ NULL, 1 };
}

struct unit_base unit_base_of_n(const char *unit, size_t len)
{
	char text[32] = "";
	if (len >= sizeof text)
		return (struct unit_base){ NULL, 1 };
	memcpy(text, unit, len);
	return unit_base_of(text);
}

/* --- types ------------------------------------------------------------------------------------ */

/* By type: its id after unifying, and the factors of values and periods. */
struct unified {
	uint32_t *type;
	int64_t *value, *period;
};

static void unified_done(struct unified *u)
{
	free(u->type);
	free(u->value);
	free(u->period);
}

/* Values without a unit are counts. */
static struct unit_base value_unit_base(const struct profile *p, uint32_t unit)
{
	const char *text = profile_str(p, unit);
	return unit_base_of(*text ? text : COUNT);
}

static bool is_other_unit(const struct profile *p, uint32_t unit, const char *base)
{
	return base && strcmp(profile_str(p, unit), base) != 0;
}

static bool has_other_unit(const struct profile *p, const struct type *t)
{
	return is_other_unit(p, t->unit, value_unit_base(p, t->unit).base) ||
	       is_other_unit(p, t->period_unit, unit_base_of(profile_str(p, t->period_unit)).base);
}

static bool has_other_units(const struct profile *p)
{
	for (size_t i = 0; i < p->series.types.n; i++) {
		const struct type *t = &p->series.types.v[i];
		if (!type_is_metric(t) && has_other_unit(p, t))
			return true;
	}
	return false;
}

/* Returns the factor. */
static int64_t unify_unit(struct profile *p, uint32_t *unit, struct unit_base u)
{
	if (u.base)
		*unit = strtab_put(&p->strings, u.base);
	return u.scale;
}

static void unify_types(struct profile *p, struct unified *u)
{
	struct series_table *t = &p->series;
	size_t n = t->types.n;
	struct type *old = xreallocarray(NULL, n, sizeof *old);
	memcpy(old, t->types.v, n * sizeof *old);
	*u = (struct unified){ xcalloc(n, sizeof *u->type), xcalloc(n, sizeof *u->value),
			       xcalloc(n, sizeof *u->period) };
	vec_clear(&t->types);
	map_done(&t->type_index);
	for (size_t i = 0; i < n; i++) {
		u->value[i] = u->period[i] = 1;
		if (!type_is_metric(&old[i])) {
			struct unit_base period = unit_base_of(profile_str(p, old[i].period_unit));
			u->value[i] = unify_unit(p, &old[i].unit, value_unit_base(p, old[i].unit));
			u->period[i] = unify_unit(p, &old[i].period_unit, period);
		}
		u->type[i] = type_intern(t, &old[i]);
	}
	free(old);
}

static void unify_meta(struct profile_meta *m, const struct unified *u, size_t n_types)
{
	size_t kept = 0;
	m->default_type = m->default_type < n_types ? u->type[m->default_type] : 0;
	for (size_t i = 0; i < m->sample_types.n; i++) {
		uint32_t type = u->type[m->sample_types.v[i]];
		size_t k = 0;
		while (k < kept && m->sample_types.v[k] != type)
			k++;
		if (k == kept)
			m->sample_types.v[kept++] = type;
	}
	m->sample_types.n = kept;
}

static struct series unified_series(const struct unified *u, struct series s)
{
	s.period = sum_mul(s.period, u->period[s.type]);
	s.type = u->type[s.type];
	return s;
}

/* --- a profile -------------------------------------------------------------------------------- */

void profile_unify_units(struct profile *p)
{
	struct series_table *t = &p->series;
	struct sample_columns *c = &p->samples;
	struct unified u;
	if (!has_other_units(p))
		return;
	size_t n_types = t->types.n, n = t->series.n;
	unify_types(p, &u);
	unify_meta(&p->meta, &u, n_types);
	uint32_t *id = xcalloc(n + 1, sizeof *id);
	int64_t *factor = xcalloc(n + 1, sizeof *factor);
	struct series *old = xcalloc(n + 1, sizeof *old);
	if (n)
		memcpy(old, t->series.v, n * sizeof *old);
	vec_clear(&t->series);
	map_done(&t->series_index);
	for (size_t i = 0; i < n; i++) {
		struct series s = unified_series(&u, old[i]);
		factor[i] = u.value[old[i].type];
		id[i] = series_intern(t, &s);
	}
	for (size_t i = 0; i < c->n; i++) {
		c->value[i] = sum_mul(c->value[i], factor[c->series[i]]);
		c->series[i] = id[c->series[i]];
	}
	free(old);
	free(factor);
	free(id);
	unified_done(&u);
}

/* --- a catalog -------------------------------------------------------------------------------- */

static struct profile *catalog_copy(const struct profile *from)
{
	struct profile *p = profile_new();
	const struct series_table *t = &from->series;
	for (uint32_t i = 0; i < from->strings.all.n; i++) {
		const struct strtab_entry *s = &from->strings.all.v[i];
		uint32_t id = strtab_putn(&p->strings, s->s, s->len);
		assert(id == i);
		(void)id;
	}
	vec_append(&p->series.types, t->types.v, t->types.n);
	vec_append(&p->series.labels, t->labels.v, t->labels.n);
	vec_clear(&p->series.sets);
	vec_append(&p->series.sets, t->sets.v, t->sets.n);
	vec_append(&p->series.series, t->series.v, t->series.n);
	return p;
}

struct profile *catalog_unify_units(const struct profile *catalog, int64_t **factors)
{
	struct unified u;
	if (!has_other_units(catalog))
		return NULL;
	struct profile *p = catalog_copy(catalog);
	size_t n = p->series.series.n;
	unify_types(p, &u);
	*factors = xcalloc(n + 1, sizeof **factors);
	for (size_t i = 0; i < n; i++) {
		struct series *s = &p->series.series.v[i];
		(*factors)[i] = u.value[s->type];
		if (series_is_free(&p->series, i))
			s->type = u.type[s->type];
		else
			*s = unified_series(&u, *s);
	}
	unified_done(&u);
	return p;
}
