/* format/table/grid.h: rows of columns known only at run time, as text, CSV or JSON.
 *
 * JSON:
 *
 *     {"format":"cresset.sql","version":1,"columns":["name", …],"rows":[[1,"text",null, …], …]}
 *
 * Numbers are printed unchanged, blobs as hexadecimal digits. NULL is `NULL` in text, empty in CSV,
 * null in JSON. CSV and JSON are written row by row. Text columns are as wide as their content, so
 * text retains all rows until the end. */
#ifndef CRESSET_FORMAT_TABLE_GRID_H
#define CRESSET_FORMAT_TABLE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct out;

/* A value of a row, such as of the result of a SQL statement. */
enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

struct cell {
	enum cell_kind kind;
	int64_t integer;
	double real;
	const char *data; /* of text and blobs: len bytes, any */
	size_t len;
};

enum grid_format { GRID_TEXT, GRID_CSV, GRID_JSON };
enum { GRID_MAX_BYTES = 256 << 20 }; /* limit: rows of a response as a table of text */

struct grid_opts {
	enum grid_format format;
	/* of the terminal: text columns are truncated to fit lines into it; 0: no terminal */
	uint32_t width;
	bool utf8, color;
};
struct grid;

/* The caller keeps ownership of out. */
struct grid *grid_new(const struct grid_opts *opts, struct out *out);
void grid_free(struct grid *g); /* NULL is fine */

/* Call once for the columns, then for each row, then for the end. Returns -E2BIG if text has too
 * many rows, else the error of the write. */
int grid_columns(struct grid *g, const char *const *names, size_t n, struct err *err);
int grid_row(struct grid *g, const struct cell *cells, size_t n, struct err *err);
int grid_finish(struct grid *g, struct err *err);

#endif
