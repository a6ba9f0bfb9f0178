/* Applies rules in order to a set of labels. */
#include "profile/relabel.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/readings.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const relabel_actions[RELABEL_ACTIONS + 1] = {
	"replace", "keep", "drop", "labelmap", "labeldrop", "labelkeep", NULL,
};

struct rule {
	struct relabel_rule as; /* strings in the arena, defaults filled in */
	regex_t regex;
	struct pattern_groups groups;
};
struct relabel {
	struct arena arena;
	VEC(struct rule *) rules;
};

/* --- rules ------------------------------------------------------------------------------------ */

struct relabel *relabel_new(void)
{
	return xcalloc(1, sizeof(struct relabel));
}

void relabel_free(struct relabel *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->rules.n; i++)
		regfree(&r->rules.v[i]->regex);
	vec_done(&r->rules);
	arena_done(&r->arena);
	free(r);
}

size_t relabel_count(const struct relabel *r)
{
	return r ? r->rules.n : 0;
}

static const char *keep_text(struct arena *a, const char *text, const char *absent)
{
	text = text ? text : absent;
	return text ? arena_dup(a, text, strlen(text)) : NULL;
}

/* Rejects options that have no effect with the rule's action. */
static int check_rule(const struct relabel_rule *rule, struct err *err)
{
	const char *action = relabel_actions[rule->action];
	bool replaces = rule->action == RELABEL_REPLACE;
	bool is_by_name = rule->action == RELABEL_LABELMAP || rule->action == RELABEL_LABELDROP ||
			  rule->action == RELABEL_LABELKEEP;

	if (replaces && (!rule->target_label || !*rule->target_label))
		return err_set(err, EINVAL, "action replace needs a target_label");
	if (!replaces && rule->target_label)
		return err_set(err, EINVAL, "action %s takes no target_label", action);
	if (!replaces && rule->action != RELABEL_LABELMAP && rule->replacement)
		return err_set(err, EINVAL, "action %s takes no replacement", action);
	if (is_by_name && (rule->n_sources || rule->separator))
		return err_set(err, EINVAL,
			       "action %s takes no source_labels: its regex is matched against "
			       "label names",
			       action);
	if ((rule->action == RELABEL_KEEP || rule->action == RELABEL_DROP) && !rule->n_sources)
		return err_set(err, EINVAL, "action %s needs source_labels", action);
	if (rule->n_sources > RELABEL_MAX_SOURCES)
		return err_set(err, E2BIG, "more than %d source_labels", RELABEL_MAX_SOURCES);
	return 0;
}

static void fill_in(struct relabel *r, struct rule *to, const struct relabel_rule *from)
{
	const char **sources = arena_zalloc(&r->arena, (from->n_sources + 1) * sizeof *sources);

	for (size_t i = 0; i < from->n_sources; i++)
		sources[i] = keep_text(&r->arena, from->source_labels[i], "");
	to->as = (struct relabel_rule){
		.action = from->action,
		.source_labels = sources,
		.n_sources = from->n_sources,
		.separator = keep_text(&r->arena, from->separator, ";"),
		.regex = keep_text(&r->arena, from->regex, "(.*)"),
		.target_label = keep_text(&r->arena, from->target_label, NULL),
		.replacement = keep_text(&r->arena, from->replacement, "$1"),
	};
}

int relabel_add(struct relabel *r, const struct relabel_rule *rule, struct err *err)
{
	if (r->rules.n == RELABEL_MAX_RULES)
		return err_set(err, E2BIG, "more than %d rules", RELABEL_MAX_RULES);
	int rc = check_rule(rule, err);
	if (rc)
		return rc;
	struct rule *new = arena_zalloc(&r->arena, sizeof *new);
	fill_in(r, new, rule);
	rc = pattern_compile_groups(new->as.regex, &new->regex, &new->groups, err);
	if (rc) {
		err_prefix(err, "regex: ");
		return rc;
	}
	vec_push(&r->rules, new);
	return 0;
}

/* --- applying rules to labels ----------------------------------------------------------------- */

struct relabeling {
	struct arena arena;
	struct label_text labels[RELABEL_MAX_LABELS];
	size_t n;
	const struct rule *rule;
	const char *text;                      /* the text that the regex was matched against */
	regmatch_t found[PATTERN_MAX_LEN + 2]; /* one per (, our own, and the whole */
};

static struct label_text *find(struct relabeling *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->labels[i].key, name) == 0)
			return &w->labels[i];
	return NULL;
}

static void set_label(struct relabeling *w, const char *name, const char *value)
{
	struct label_text *l = find(w, name);

	if (l && !*value)
		*l = w->labels[--w->n];
	else if (l)
		l->value = value;
	else if (*value && w->n < RELABEL_MAX_LABELS)
		w->labels[w->n++] = (struct label_text){ name, value };
}

/* Moves text to the arena; truncates it between characters if it is too long. */
static const char *settle_text(struct relabeling *w, struct buf *b)
{
	size_t len = b->len;

	if (len > RELABEL_MAX_BYTES) {
		len = RELABEL_MAX_BYTES;
		while (len && (b->data[len] & 0xc0) == 0x80)
			len--;
	}
	const char *text = arena_dup(&w->arena, b->data, len);
	buf_done(b);
	return text;
}

static const char *join_sources(struct relabeling *w)
{
	const struct relabel_rule *rule = &w->rule->as;
	struct buf b = { 0 };

	for (size_t i = 0; i < rule->n_sources; i++) {
		const struct label_text *l = find(w, rule->source_labels[i]);

		if (i)
			buf_adds(&b, rule->separator);
		if (l)
			buf_adds(&b, l->value);
	}
	return settle_text(w, &b);
}

static bool matches(struct relabeling *w, const char *text)
{
	w->text = text;
	return regexec(&w->rule->regex, text, w->rule->groups.most_at + 1, w->found, 0) == 0;
}

/* --- $1 and ${name} --------------------------------------------------------------------------- */

static void add_captured(const struct relabeling *w, struct buf *b, const char *name, size_t len)
{
	const struct pattern_groups *groups = &w->rule->groups;
	size_t digits = 0;
	uint64_t number = 0;

	for (; digits < len && isdigit((unsigned char)name[digits]); digits++)
		number = number > groups->n ? number : number * 10 + (name[digits] - '0');
	for (size_t i = 0; i < groups->n; i++) {
		const struct pattern_group *g = &groups->v[i];
		const regmatch_t *m = &w->found[g->at];
		bool is_it = digits == len ? i == number
					   : g->name && g->name_len == len &&
						     memcmp(g->name, name, len) == 0;

		if (is_it && m->rm_so >= 0)
			buf_add(b, w->text + m->rm_so, (size_t)(m->rm_eo - m->rm_so));
	}
}

static size_t word_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

/* Works like Go's Regexp.Expand, which Prometheus uses: $1x is ${1x}, which captures nothing; $$ is
 * a $; and a $ that starts no reference stands for itself. */
static const char *expand(struct relabeling *w, const char *template)
{
	struct buf b = { 0 };

	while (*template && b.len <= RELABEL_MAX_BYTES) {
		bool has_brace = template[0] == '$' && template[1] == '{';
		const char *name = template + 1 + has_brace;
		size_t len = template[0] == '$' ? word_len(name) : 0;

		if (len && (!has_brace || name[len] == '}')) {
			add_captured(w, &b, name, len);
			template = name + len + has_brace;
		} else {
			buf_addc(&b, *template);
			template += template[0] == '$' && template[1] == '$' ? 2 : 1;
		}
	}
	return settle_text(w, &b);
}

/* Label names may be any text, as in selectors, which quote names that are not words. */
static void replace(struct relabeling *w)
{
	if (!matches(w, join_sources(w)))
		return;
	const char *target = expand(w, w->rule->as.target_label);
	if (*target)
		set_label(w, target, expand(w, w->rule->as.replacement));
}

/* Each label is matched against the labels before the rule. */
static void map_labels(struct relabeling *w)
{
	size_t n = w->n;
	struct label_text *before = arena_alloc(&w->arena, sizeof w->labels);

	memcpy(before, w->labels, n * sizeof *before);
	for (size_t i = 0; i < n; i++) {
		if (!matches(w, before[i].key))
			continue;
		const char *name = expand(w, w->rule->as.replacement);
		if (*name)
			set_label(w, name, before[i].value);
	}
}

static void filter_labels(struct relabeling *w, bool keeps)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (matches(w, w->labels[i].key) == keeps)
			w->labels[n++] = w->labels[i];
	w->n = n;
}

/* Returns false if the series is dropped. */
static bool apply(struct relabeling *w)
{
	switch (w->rule->as.action) {
	case RELABEL_KEEP:
		return matches(w, join_sources(w));
	case RELABEL_DROP:
		return !matches(w, join_sources(w));
	case RELABEL_LABELMAP:
		map_labels(w);
		return true;
	case RELABEL_LABELDROP:
	case RELABEL_LABELKEEP:
		filter_labels(w, w->rule->as.action == RELABEL_LABELKEEP);
		return true;
	default:
		replace(w);
		return true;
	}
}

/* --- sets ------------------------------------------------------------------------------------- */

static uint32_t put(struct sink *sink, const struct label_text *from, size_t n)
{
	struct label labels[RELABEL_MAX_LABELS];
	uint32_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (strncmp(from[i].key, "__", 2) != 0)
			labels[kept++] = (struct label){ .key = sink_string(sink, from[i].key),
							 .str = sink_string(sink, from[i].value) };
	return sink->ops->labels(sink, labels, kept);
}

bool relabel_labels(const struct relabel *r, struct sink *sink, const struct label_text *labels,
		    size_t n, uint32_t *set)
{
	n = n < RELABEL_MAX_LABELS ? n : RELABEL_MAX_LABELS;
	if (!relabel_count(r)) {
		*set = put(sink, labels, n);
		return true;
	}
	struct relabeling *w = xcalloc(1, sizeof *w);
	for (size_t i = 0; i < n; i++)
		set_label(w, labels[i].key, labels[i].value);
	bool is_kept = true;
	for (size_t i = 0; is_kept && i < r->rules.n; i++) {
		w->rule = r->rules.v[i];
		is_kept = apply(w);
	}
	if (is_kept)
		*set = put(sink, w->labels, w->n);
	arena_done(&w->arena);
	free(w);
	return is_kept;
}

/* --- the same labels for all ------------------------------------------------------------------ */

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
		readings_add(&p->readings, &key, s->points.v, s->points.n);
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
