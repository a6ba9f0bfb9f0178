/* format/table/table_rows.h: code shared by the text, JSON and CSV of tables, differences and
 * binaries. */
#ifndef CRESSET_FORMAT_TABLE_TABLE_ROWS_H
#define CRESSET_FORMAT_TABLE_TABLE_ROWS_H

#include "base/hash.h"
#include "profile/frame.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

struct buf;
struct diff_table;
struct json;
struct table;
struct table_binaries;
struct table_opts;

/* Returns the rows of the top table in display order, at most top_n (0 = all): unchanged, or in a
 * difference the greatest change first. The caller frees them. */
struct top_row *table_rows(const struct table *t, uint32_t top_n, uint32_t *n);

/* Returns the change of a function's self share since the older side, in points. */
double table_change(const struct tree *t, const struct top_row *r);

/* Text is always built in UTF-8, which column counts rely on. This replaces characters that a
 * terminal without UTF-8 cannot show, column by column. */
void table_ascii(const struct buf *text, struct buf *b);

/* Whether percentages have a second base: filters dropped something. */
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

/* Iterates over the rows to show, at most opts->top_n (0 = all). Returns NULL after the last. Start
 * with *next = 0. */
const struct diff_row *diff_rows_next(const struct diff_table *t, const struct table_opts *opts,
				      size_t *next, uint32_t *shown);

extern const char *const diff_certainty_names[]; /* "unknown", "chance", "likely", "sure" */

/* Appends lines below a table: frames, binary, origins, and remedies. */
void binaries_text(const struct table_binaries *all, const struct table_opts *opts, struct buf *b);

/* Adds the member "binaries". */
void binaries_json(struct json *j, const struct table_binaries *all);

/* CSV: the names of the columns, and the columns of a row whose function is this binary (the first
 * one of that name). */
void binaries_csv_head(struct buf *b);
void binaries_csv(struct buf *b, const struct table_binaries *all, const struct map *index,
		  const char *name);
struct map binaries_index(const struct table_binaries *all); /* by name */

#endif
