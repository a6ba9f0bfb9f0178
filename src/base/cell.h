/* base/cell.h: one value of a table whose columns are not known in advance, such as the result of a
 * SQL statement. */
#ifndef CRESSET_BASE_CELL_H
#define CRESSET_BASE_CELL_H

#include <stddef.h>
#include <stdint.h>

enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

struct cell {
	enum cell_kind kind;
	int64_t integer;
	double real;
	const char *data; /* of text and blobs: len bytes, any */
	size_t len;
};

#endif
