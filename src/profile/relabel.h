/* profile/relabel.h: rules that change the labels of series, or drop series, like Prometheus'
 * relabel_configs:
 * https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config
 *
 *     struct relabel *r = relabel_new();
 *     relabel_add(r, &(struct relabel_rule){ .action = RELABEL_DROP, .source_labels = …,
 *                                            .regex = "sh|bash" }, err);
 *     if (relabel_labels(r, sink, labels, n, &set)) …the series is retained, and has this label set
 *
 * Rules are applied in the order they were added, each to the result of the previous one. A label
 * with an empty value counts as missing. Labels whose names start with "__" pass data between
 * rules, and are removed after the last one. Expressions are those of base/pattern.h. */
#ifndef CRESSET_PROFILE_RELABEL_H
#define CRESSET_PROFILE_RELABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sink;

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
	RELABEL_MAX_RULES = 256, /* limit: rules for labels */
	RELABEL_MAX_SOURCES = 32,
	RELABEL_MAX_LABELS = 64, /* limit: labels of a series; rules add no further one */
	/* limit: bytes a rule matches, and of a value it makes; more is cut */
	RELABEL_MAX_BYTES = 4096,
};

/* A rule as configured. NULL: the default, given in the comment. Strings are copied. */
struct relabel_rule {
	enum relabel_action action;
	const char *const *source_labels; /* regex must match their values, joined */
	size_t n_sources;
	const char *separator;    /* ";" */
	const char *regex;        /* "(.*)" */
	const char *target_label; /* $1 and ${name} are replaced by captures, here and in … */
	const char *replacement;  /* "$1"; empty: the label is removed */
};

struct relabel;
struct relabel *relabel_new(void);
void relabel_free(struct relabel *r); /* NULL is fine */

/* Returns 0, -E2BIG or -EINVAL with err set. */
int relabel_add(struct relabel *r, const struct relabel_rule *rule, struct err *err);
size_t relabel_count(const struct relabel *r); /* NULL: 0 */

/* A label as text, NUL-terminated. */
struct label_text {
	const char *key, *value;
};

/* Applies the rules (NULL: none) to these labels and sets *set to the sink's label set of the
 * result. Returns false, with *set untouched, if the series is dropped. Uses at most
 * RELABEL_MAX_LABELS labels. */
bool relabel_labels(const struct relabel *r, struct sink *sink, const struct label_text *labels,
		    size_t n, uint32_t *set);

/* Adds labels to all samples and readings of a profile. texts: "KEY=VALUE". A given label replaces
 * a series' label of the same name. */
struct profile;
void profile_add_labels(struct profile *p, const char *const *texts, size_t n);

#endif
