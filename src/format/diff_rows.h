/* format/diff_rows.h: what the text, JSON and CSV of a difference have in common. */
#ifndef CRESSET_FORMAT_DIFF_ROWS_H
#define CRESSET_FORMAT_DIFF_ROWS_H

#include "format/diff_table.h"
#include "format/table_rows.h"

/* Runs over the rows to show, at most opts->top_n (0 = all): NULL behind the last. Begin with *next = 0. */
const struct diff_row *diff_rows_next(const struct diff_table *t, const struct table_opts *opts,
				      size_t *next, uint32_t *shown);

extern const char *const diff_certainty_names[]; /* "unknown", "chance", "likely", "sure" */

#endif
