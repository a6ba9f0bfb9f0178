/* query/query_parse.h: parses the options of command lines and URLs into struct query.
 *
 *     struct query_span span;
 *     query_span_of(source, file, &span);
 *     query_span_parse(&span, &words, &q, &err);         --from, --to
 *     query_parse_type(&q, &others, &err);                 the type of the selector
 *
 * Error messages use the option's name, and list valid values. */
#ifndef CRESSET_QUERY_QUERY_PARSE_H
#define CRESSET_QUERY_QUERY_PARSE_H

#include "query/time.h"

struct buf;
struct err;
struct profile;
struct query;
struct selector;
struct source;

/* The meaning of `start` and `end`, and the default range: all of a file, or the last quarter of an
 * hour of a store. */
struct query_span {
	struct time_words words;
	int64_t from_ns, to_ns;
};
/* file: the source's profile; NULL: a store, which must stay open as long as *out is used. */
void query_span_of(struct source *s, const struct profile *file, struct query_span *out);

struct query_range_words {
	const char *from, *to;           /* NULL: not given */
	const char *from_what, *to_what; /* their names for messages: "option --from" */
};
/* -EINVAL, also if the end is not after the start. */
int query_span_parse(const struct query_span *span, const struct query_range_words *words,
		     struct query *q, struct err *err);

/* Sets q->type from q->selector; others: as in query_pick_type. -EINVAL: the message lists the
 * existing types. */
int query_parse_type(struct query *q, uint32_t *others, struct err *err);

/* Parses the older side of a difference; whatever is not given, including s, is as in newer.
 * -EINVAL. */
int query_parse_older(const struct query *newer, const struct query_span *span,
		      const struct query_range_words *words, const struct selector *s,
		      struct query *older, struct err *err);

/* Return the shortest unambiguous name of a type, and list all types but one (UINT32_MAX: all);
 * metrics next to a profile are not listed. */
const char *query_type_word(const struct profile *p, uint32_t type);
void query_list_types(struct buf *b, const struct profile *p, uint32_t except);

/* Reports that no series has this label, and the most similar existing one. Returns -ENOENT. */
int query_no_label(const struct profile *catalog, const char *label, struct err *err);

#endif
