/* profile/relabel.h: rules that change the labels of series, or drop series, as Prometheus' relabel_configs do:
 * https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config
 *
 *     struct relabel *r = relabel_new();
 *     relabel_add(r, &(struct relabel_rule){ .action = RELABEL_DROP, .source_labels = …, .regex = "sh|bash" }, err);
 *     if (relabel_labels(r, sink, labels, n, &set)) …the series is kept, and has this label set
 *
 * Rules are taken in the order they were added; each sees what the one before left. A label whose value is
 * empty is no label. Labels whose names begin with "__" are for rules to talk to each other, and are gone after the
 * last one. Expressions are those of base/pattern.h. */
#ifndef CRESSET_PROFILE_RELABEL_H
#define CRESSET_PROFILE_RELABEL_H

#include "base/err.h"
#include "profile/sink.h"

enum relabel_action {
	RELABEL_REPLACE = 0, /* target_label = replacement, when regex matches */
	RELABEL_KEEP,        /* drops the series when regex does not match */
	RELABEL_DROP,        /* drops the series when it does */
	RELABEL_LABELMAP,    /* labels whose names match are copied to the name in replacement */
	RELABEL_LABELDROP,   /* labels whose names match are removed */
	RELABEL_LABELKEEP,   /* labels whose names do not match are removed */
	RELABEL_ACTIONS
};
extern const char *const relabel_actions[RELABEL_ACTIONS + 1]; /* by number; ends with NULL */

enum {
	RELABEL_MAX_RULES = 256,
	RELABEL_MAX_SOURCES = 32,
	RELABEL_MAX_LABELS = 64,  /* of a series; a rule adds no further one */
	RELABEL_MAX_BYTES = 4096, /* of what is matched and of a value; more is cut */
};

/* As written. NULL: the default, which is said behind it. Texts are copied. */
struct relabel_rule {
	enum relabel_action action;
	const char *const *source_labels; /* their values, joined, are what regex has to match */
	size_t n_sources;
	const char *separator;    /* ";" */
	const char *regex;        /* "(.*)" */
	const char *target_label; /* $1 and ${name} are what regex captured, here and … */
	const char *replacement;  /* "$1"; empty: the label is removed */
};

struct relabel;
struct relabel *relabel_new(void);
void relabel_free(struct relabel *r); /* NULL is fine */

/* 0, -E2BIG or -EINVAL with words. */
int relabel_add(struct relabel *r, const struct relabel_rule *rule, struct err *err);
size_t relabel_count(const struct relabel *r); /* NULL: 0 */

/* A label as text, NUL-terminated. */
struct label_text {
	const char *key, *value;
};

/* The label set in the sink of what the rules (NULL: none) make of these labels. False: the series is dropped, and *set is
 * untouched. At most RELABEL_MAX_LABELS labels are looked at. */
bool relabel_labels(const struct relabel *r, struct sink *sink, const struct label_text *labels,
		    size_t n, uint32_t *set);

#endif
