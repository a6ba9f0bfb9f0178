/* format/grid.h: rows of columns that are not known before, as text for people, CSV or JSON.
 *
 * JSON:
 *     {"format":"cresset.sql","version":1,"columns":["name", …],"rows":[[1,"text",null, …], …]}
 *
 * Numbers are as they are, blobs hexadecimal digits. NULL is `NULL` in text, nothing in CSV, null in JSON. CSV and JSON are written while rows
 * come; the columns of text are as wide as they have to be, so all rows are kept until the end. */
#ifndef CRESSET_FORMAT_GRID_H
#define CRESSET_FORMAT_GRID_H

#include "base/cell.h"
#include "base/err.h"
#include "base/fs.h"

#include <stdbool.h>
#include <stdint.h>

enum grid_format { GRID_TEXT, GRID_CSV, GRID_JSON };
enum { GRID_MAX_BYTES = 256 << 20 }; /* of all rows of text */

struct grid_opts {
	enum grid_format format;
	uint32_t
		width; /* of the terminal: columns of text are cut so that lines fit; 0: there is none */
	bool utf8, color;
};
struct grid;

/* out stays the caller's. */
struct grid *grid_new(const struct grid_opts *opts, struct out *out);
void grid_free(struct grid *g); /* NULL is fine */

/* Once, then the rows, then the end. -E2BIG: too much for text; else what writing failed with. */
int grid_columns(struct grid *g, const char *const *names, size_t n, struct err *err);
int grid_row(struct grid *g, const struct cell *cells, size_t n, struct err *err);
int grid_finish(struct grid *g, struct err *err);

#endif
