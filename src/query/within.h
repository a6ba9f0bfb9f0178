/* query/within.h: several parts of a query's range at once: what ran while something else was so.
 *
 *     1763717400000..1763717410000,now-5m..now-4m          moments as in query/time.h; ascending, none over another */
#ifndef CRESSET_QUERY_WITHIN_H
#define CRESSET_QUERY_WITHIN_H

#include "query/plan.h"
#include "query/time.h"

/* Into out, which has QUERY_MAX_WITHIN. what: whose it is, for the words ("parameter within"). Returns how many, or -EINVAL with words. */
int query_within_parse(const char *text, const struct time_words *words, const char *what,
		       struct query_piece *out, struct err *err);

/* The parts of the range that are asked: the range itself where nobody says others. A part that is outside of the range is empty: from = to. */
uint32_t query_pieces(const struct query *q);
struct query_piece query_piece_at(const struct query *q, uint32_t i);

#endif
