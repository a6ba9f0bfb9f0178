/* cmd/match.h: --match SELECTOR: what it selects, and why that may be nothing. */
#ifndef CRESSET_CMD_MATCH_H
#define CRESSET_CMD_MATCH_H

#include "query/selector.h"

/* *out (selector_free) stays NULL when text is NULL. CMD_OK, or CMD_USAGE with the error printed. */
int match_parse(const char *text, struct selector **out);

/* Takes away what s does not select; NULL selects everything. Says why nothing is left where a label is unknown. */
void match_apply(const struct selector *s, struct profile *p);

/* Says that no series has this label, and which ones they have. */
void match_explain(const char *unknown, const struct profile *p);

#endif
