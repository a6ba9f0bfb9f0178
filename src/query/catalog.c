/* Collects labels and values of matching series, up to a limit. */
#include "query/catalog.h"

#include "base/buf.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "query/selector.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void catalog_texts_done(struct catalog_texts *t)
{
	vec_done(&t->all);
	arena_done(&t->arena);
}

static int text_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *label_text(const struct profile *p, const struct label *l, struct arena *a)
{
	char number[32];
	if (!l->is_num)
		return profile_str(p, l->str);
	int len = snprintf(number, sizeof number, "%lld", (long long)l->num);
	return arena_dup(a, number, len);
}

/* Returns, by label set, whether a series that may be selected has it. */
static bool *selected_sets(const struct profile *p, const struct selector *s)
{
	struct selector_match *m = s ? selector_match_new(s, p) : NULL;
	bool *sets = xcalloc(p->series.sets.n + 1, sizeof *sets);
	for (uint32_t i = 0; i < p->series.series.n; i++)
		if (!m || selector_match_series(m, i) != SELECTS_NOTHING)
			sets[p->series.series.v[i].labels] = true;
	selector_match_free(m);
	return sets;
}

/* Collects the values of a label, or the names of all labels (label NULL). */
static void collect(const struct profile *p, const struct selector *s, const char *label,
		    struct catalog_texts *out)
{
	bool *sets = selected_sets(p, s);
	for (uint32_t set = 0; set < p->series.sets.n; set++) {
		const struct label_set *ls = &p->series.sets.v[set];
		for (uint32_t i = 0; sets[set] && i < ls->n; i++) {
			const struct label *l = &p->series.labels.v[ls->first + i];
			const char *key = profile_str(p, l->key);
			if (!label)
				vec_push(&out->all, key);
			else if (strcmp(key, label) == 0)
				vec_push(&out->all, label_text(p, l, &out->arena));
		}
	}
	free(sets);
	/* Remove duplicates. */
	size_t n = 0;
	if (out->all.n)
		qsort(out->all.v, out->all.n, sizeof *out->all.v, text_cmp);
	for (size_t i = 0; i < out->all.n; i++)
		if (!n || strcmp(out->all.v[n - 1], out->all.v[i]) != 0)
			out->all.v[n++] = out->all.v[i];
	out->all.n = n;
}

void catalog_labels(const struct profile *p, const struct selector *s, struct catalog_texts *out)
{
	collect(p, s, NULL, out);
}

void catalog_values(const struct profile *p, const struct selector *s, const char *label,
		    struct catalog_texts *out)
{
	collect(p, s, label, out);
}

bool catalog_has_label(const struct profile *p, const char *label)
{
	uint32_t key = strtab_find(&p->strings, label);
	for (size_t i = 0; i < p->series.labels.n; i++)
		if (p->series.labels.v[i].key == key)
			return true;
	return false;
}

/* --- series --- */

static bool is_plain(const char *s, const char *also)
{
	if (!*s || isdigit((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr(also, *s))
			return false;
	return true;
}

static void put_quoted(struct buf *b, const char *s)
{
	buf_addc(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addc(b, '\\');
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			buf_addf(b, "\\x%02x", (unsigned char)*s);
		else
			buf_addc(b, *s);
	}
	buf_addc(b, '"');
}

static void put_name(struct buf *b, const char *s, const char *also)
{
	if (is_plain(s, also))
		buf_adds(b, s);
	else
		put_quoted(b, s);
}

/* Returns whether the name alone identifies the type. */
static bool name_says_all(const struct profile *p, uint32_t type)
{
	for (size_t i = 0; i < p->series.types.n; i++)
		if (i != type && p->series.types.v[i].name == p->series.types.v[type].name)
			return false;
	return true;
}

void catalog_series_text(const struct profile *p, uint32_t series, struct buf *b)
{
	const struct series *s = &p->series.series.v[series];
	const struct label_set *ls = &p->series.sets.v[s->labels];
	struct arena scratch = { 0 };
	const struct type *t = &p->series.types.v[s->type];
	put_name(b, profile_str(p, t->name), "_-./");
	if (!name_says_all(p, s->type)) {
		buf_addc(b, ':');
		put_name(b, profile_str(p, t->sample_type), "_-./");
	}
	buf_addc(b, '{');
	for (uint32_t i = 0; i < ls->n; i++) {
		const struct label *l = &p->series.labels.v[ls->first + i];
		buf_adds(b, i ? "," : "");
		put_name(b, profile_str(p, l->key), "_");
		buf_addc(b, '=');
		put_quoted(b, label_text(p, l, &scratch));
	}
	buf_addc(b, '}');
	arena_done(&scratch);
}

const char *catalog_aggregation(const struct type *t)
{
	static const char *const names[] = {
		[AGG_SUM] = "sum",
		[AGG_SNAPSHOT] = "snapshot",
		[AGG_GAUGE] = "gauge",
		[AGG_COUNTER] = "counter",
	};
	return t->aggregation <= AGG_COUNTER ? names[t->aggregation] : "";
}
