/* Units and their factors. */
#include "profile/units.h"

#include "base/buf.h"
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
	bool *is_count; /* the factor of values is the period */
	bool are_apart; /* no file has counts and times of the same */
};

static struct unified unified_new(size_t n)
{
	struct unified u = { xcalloc(n + 1, sizeof *u.type), xcalloc(n + 1, sizeof *u.value),
			     xcalloc(n + 1, sizeof *u.period), xcalloc(n + 1, sizeof *u.is_count),
			     false };
	for (size_t i = 0; i < n; i++)
		u.value[i] = u.period[i] = 1;
	return u;
}

static void unified_done(struct unified *u)
{
	free(u->type);
	free(u->value);
	free(u->period);
	free(u->is_count);
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

/* Converts the rows of types, which may be equal then. */
static void convert_types(struct profile *p, struct unified *u)
{
	for (size_t i = 0; i < p->series.types.n; i++) {
		struct type *t = &p->series.types.v[i];
		if (type_is_metric(t))
			continue;
		u->value[i] = unify_unit(p, &t->unit, value_unit_base(p, t->unit));
		u->period[i] = unify_unit(p, &t->period_unit,
					  unit_base_of(profile_str(p, t->period_unit)));
	}
}

static void intern_types(struct profile *p, struct unified *u)
{
	struct series_table *t = &p->series;
	size_t n = t->types.n;
	struct type *rows = xreallocarray(NULL, n + 1, sizeof *rows);
	if (n)
		memcpy(rows, t->types.v, n * sizeof *rows);
	vec_clear(&t->types);
	map_done(&t->type_index);
	for (size_t i = 0; i < n; i++)
		u->type[i] = type_intern(t, &rows[i]);
	free(rows);
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

static struct series unified_series(const struct series_table *t, const struct unified *u,
				    struct series s)
{
	bool is_count = u->is_count[s.type];
	s.period = sum_mul(s.period, u->period[s.type]);
	s.type = u->type[s.type];
	if (is_count && !t->types.v[s.type].period_unit)
		s.period = 0;
	return s;
}

/* --- a profile -------------------------------------------------------------------------------- */

/* Converts series and samples to the types that u has converted. Equal types become one. */
static void convert(struct profile *p, struct unified *u)
{
	struct series_table *t = &p->series;
	struct sample_columns *c = &p->samples;
	size_t n_types = t->types.n, n = t->series.n;
	intern_types(p, u);
	unify_meta(&p->meta, u, n_types);
	uint32_t *id = xcalloc(n + 1, sizeof *id);
	int64_t *factor = xcalloc(n + 1, sizeof *factor);
	struct series *old = xcalloc(n + 1, sizeof *old);
	if (n)
		memcpy(old, t->series.v, n * sizeof *old);
	vec_clear(&t->series);
	map_done(&t->series_index);
	for (size_t i = 0; i < n; i++) {
		struct series s = unified_series(t, u, old[i]);
		factor[i] = u->is_count[old[i].type] ? old[i].period : u->value[old[i].type];
		id[i] = series_intern(t, &s);
	}
	for (size_t i = 0; i < c->n; i++) {
		c->value[i] = sum_mul(c->value[i], factor[c->series[i]]);
		c->series[i] = id[c->series[i]];
	}
	free(old);
	free(factor);
	free(id);
}

void profile_unify_units(struct profile *p)
{
	if (!has_other_units(p))
		return;
	struct unified u = unified_new(p->series.types.n);
	convert_types(p, &u);
	convert(p, &u);
	unified_done(&u);
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_text(const struct profile *p, uint32_t string, const char *text)
{
	return strcmp(profile_str(p, string), text) == 0;
}

static bool has_periods(const struct profile *p, uint32_t type)
{
	for (size_t i = 0; i < p->series.series.n; i++)
		if (p->series.series.v[i].type == type && p->series.series.v[i].period <= 0)
			return false;
	return true;
}

/* Whether a counts samples of the time b. */
static bool counts_of(const struct profile *p, const struct type *a, const struct type *b)
{
	return a->name == b->name && a->aggregation == b->aggregation &&
	       is_text(p, a->unit, COUNT) && is_text(p, b->unit, NS) &&
	       profile_counts_samples(profile_str(p, a->sample_type));
}

/* Makes type i that of the time it stands for, or gives it another name. Returns whether it has
 * changed. */
static bool settle_count(struct profile *p, struct unified *u, uint32_t i, uint32_t time)
{
	struct type *t = &p->series.types.v[i];
	bool is_time = u->are_apart && t->period_type == t->name &&
		       is_text(p, t->period_unit, NS) && has_periods(p, i);
	if (is_time) {
		u->is_count[i] = true;
		*t = p->series.types.v[time];
		return true;
	}
	uint32_t name = strtab_put(&p->strings, "samples");
	bool is_new = t->name != name;
	t->name = name;
	return is_new;
}

static void add_unit(struct profile *p, struct type *t)
{
	struct buf text = { 0 };
	buf_addf(&text, "%s-%s", profile_str(p, t->sample_type), profile_str(p, t->unit));
	t->name = t->sample_type = strtab_put(&p->strings, buf_cstr(&text));
	buf_done(&text);
}

static bool settle_type(struct profile *p, struct unified *u, uint32_t i)
{
	struct series_table *t = &p->series;
	for (uint32_t k = 0; k < t->types.n; k++)
		if (counts_of(p, &t->types.v[i], &t->types.v[k]))
			return settle_count(p, u, i, k);
	for (uint32_t k = 0; k < i; k++) {
		const struct type *a = &t->types.v[k], *b = &t->types.v[i];
		if (a->name == b->name && a->sample_type == b->sample_type && a->unit != b->unit) {
			add_unit(p, &t->types.v[i]);
			return true;
		}
	}
	return false;
}

bool profile_has_counts_and_times(const struct profile *p)
{
	const struct series_table *t = &p->series;
	for (uint32_t i = 0; i < t->types.n; i++)
		for (uint32_t k = 0; k < t->types.n; k++)
			if (counts_of(p, &t->types.v[i], &t->types.v[k]))
				return true;
	return false;
}

void profile_unify_names(struct profile *p, bool are_apart)
{
	struct unified u = unified_new(p->series.types.n);
	bool has_changed = false;
	u.are_apart = are_apart;
	for (uint32_t i = 0; i < p->series.types.n; i++)
		if (!type_is_metric(&p->series.types.v[i]))
			has_changed |= settle_type(p, &u, i);
	if (has_changed)
		convert(p, &u);
	unified_done(&u);
}

/* --- large values ----------------------------------------------------------------------------- */

uint64_t profile_too_large(const struct profile *p)
{
	const struct sample_columns *c = &p->samples;
	uint64_t *sum = xcalloc(p->series.types.n + 1, sizeof *sum), n = 0;
	for (size_t i = 0; i < c->n; i++) {
		uint64_t *of = &sum[p->series.series.v[c->series[i]].type];
		int64_t v = c->value[i];
		uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
		bool is_cut = v == INT64_MAX || v == INT64_MIN;
		if (__builtin_add_overflow(*of, size, of) || *of > INT64_MAX) {
			is_cut = true;
			*of = INT64_MAX;
		}
		n += is_cut;
	}
	free(sum);
	return n;
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
	if (!has_other_units(catalog))
		return NULL;
	struct profile *p = catalog_copy(catalog);
	struct unified u = unified_new(p->series.types.n);
	size_t n = p->series.series.n;
	convert_types(p, &u);
	intern_types(p, &u);
	*factors = xcalloc(n + 1, sizeof **factors);
	for (size_t i = 0; i < n; i++) {
		struct series *s = &p->series.series.v[i];
		(*factors)[i] = u.value[s->type];
		if (series_is_free(&p->series, i))
			s->type = u.type[s->type];
		else
			*s = unified_series(&p->series, &u, *s);
	}
	unified_done(&u);
	return p;
}
