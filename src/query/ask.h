/* query/ask.h: a question in words, as command lines and URLs have it, made into struct query.
 *
 *     struct query_span span;
 *     query_span_of(source, file, &span);
 *     query_span_parse(&span, &words, &q, &err);         --from, --to
 *     query_ask_type(&q, &others, &err);                 the type of the selector
 *
 * Who asks is told in the same words: what is wrong, and what there is. */
#ifndef CRESSET_QUERY_ASK_H
#define CRESSET_QUERY_ASK_H

#include "query/plan.h"
#include "query/time.h"

/* What `start` and `end` mean, and the range when nobody says another: all of a file, of a store the last quarter of an hour. */
struct query_span {
	struct time_words words;
	int64_t from_ns, to_ns;
};
/* file: what the source is made of; NULL: a store, which has to be there as long as *out is used. */
void query_span_of(struct source *s, const struct profile *file, struct query_span *out);

struct query_range_words {
	const char *from, *to;           /* NULL: not said */
	const char *from_what, *to_what; /* what each is called: "option --from" */
};
/* -EINVAL with words, also when the end is not behind the beginning. */
int query_span_parse(const struct query_span *span, const struct query_range_words *words,
		     struct query *q, struct err *err);

/* q->type from q->selector; others: as of query_pick_type. -EINVAL with the types there are. */
int query_ask_type(struct query *q, uint32_t *others, struct err *err);

/* The older side of a difference: what is not said, s NULL included, is as on the newer one. -EINVAL with words. */
int query_ask_older(const struct query *newer, const struct query_span *span,
		    const struct query_range_words *words, const struct selector *s,
		    struct query *older, struct err *err);

/* A type as short as it is told from others, and a list of all but one (UINT32_MAX: all); beside a profile no metrics are listed. */
const char *query_type_word(const struct profile *p, uint32_t type);
void query_list_types(struct buf *b, const struct profile *p, uint32_t except);

/* That no series has this label, and the nearest that one has. -ENOENT. */
int query_no_label(const struct profile *catalog, const char *label, struct err *err);

#endif
