/* format/table_binaries.h: where the names of each binary come from, beside the tables of table.h. */
#ifndef CRESSET_FORMAT_TABLE_BINARIES_H
#define CRESSET_FORMAT_TABLE_BINARIES_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "format/table.h"

/* Lines below a table: frames, binary, origins; and what would help. */
void binaries_text(const struct table_binaries *all, const struct table_opts *opts, struct buf *b);

/* The member "binaries". */
void binaries_json(struct json *j, const struct table_binaries *all);

/* CSV: the columns' names, and those of a row whose function is this binary (of several with one name the first). */
void binaries_csv_head(struct buf *b);
void binaries_csv(struct buf *b, const struct table_binaries *all, const struct map *index,
		  const char *name);
struct map binaries_index(const struct table_binaries *all); /* by name */

#endif
