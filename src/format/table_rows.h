/* format/table_rows.h: what the text, JSON and CSV of a table have in common. */
#ifndef CRESSET_FORMAT_TABLE_ROWS_H
#define CRESSET_FORMAT_TABLE_ROWS_H

#include "format/table.h"

/* The rows of the top table in the order they are shown, at most top_n (0 = all): as they are, of a difference the greatest change
 * first. To be freed by the caller. */
struct top_row *table_rows(const struct table *t, uint32_t top_n, uint32_t *n);

/* Points by which the share of a function's own time grew since the older side. */
double table_change(const struct tree *t, const struct top_row *r);

/* Text is always made in UTF-8, which columns count in; this replaces what a terminal without it cannot show, column by column. */
void table_ascii(const struct buf *text, struct buf *b);

/* Whether percentages have a second base: filters left something out. */
bool table_is_filtered(const struct tree *t);

static inline const char *table_name(const struct tree *t, uint32_t func)
{
	return strtab_get(&t->strings, t->funcs.v[func].name);
}
static inline const char *table_binary(const struct tree *t, uint32_t func)
{
	return strtab_get(&t->strings, t->funcs.v[func].binary);
}
static inline const char *table_file(const struct tree *t, uint32_t func)
{
	return strtab_get(&t->strings, t->funcs.v[func].file);
}
static inline const char *table_kind(const struct tree *t, uint32_t func)
{
	return frame_kinds[t->funcs.v[func].kind].name;
}

#endif
