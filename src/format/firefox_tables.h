/* format/firefox_tables.h: the tables of a thread as they stand in the file, in columns of integers. Only the reader uses it. */
#ifndef CRESSET_FORMAT_FIREFOX_TABLES_H
#define CRESSET_FORMAT_FIREFOX_TABLES_H

#include "base/json_read.h"
#include "base/vec.h"
#include "profile/strtab.h"

#include <stdint.h>

/* Columns of indexes and small numbers; what is null, no number or out of range is -1. Gecko's frames have a location (a string)
 * where processed ones have a func. */
enum fx_column {
	FX_STACK_PREFIX,
	FX_STACK_FRAME,
	FX_FRAME_FUNC,
	FX_FRAME_LOCATION,
	FX_FRAME_ADDRESS,
	FX_FRAME_CATEGORY,
	FX_FRAME_LINE,
	FX_FUNC_NAME,
	FX_FUNC_IS_JS,
	FX_FUNC_RESOURCE,
	FX_FUNC_FILE,
	FX_FUNC_SOURCE,
	FX_FUNC_LINE,
	FX_RESOURCE_NAME,
	FX_RESOURCE_LIB,
	FX_SOURCE_FILE,
	FX_SAMPLE_STACK,
	FX_COLUMNS
};
/* Columns of the samples that have fractions. */
enum fx_measure { FX_TIME, FX_TIME_DELTA, FX_WEIGHT, FX_MEASURES };

enum fx_weight { FX_SAMPLES, FX_TRACING_MS, FX_BYTES };

enum { FX_TABLES = 6 };

struct fx_tables { /* zeroed = empty */
	VEC(int32_t) columns[FX_COLUMNS];
	VEC(double) measures[FX_MEASURES];
	VEC(uint32_t) strings; /* in the reader's strtab */
	enum fx_weight weight_type;
	uint8_t seen; /* bit per table of fx_table_names */
	bool has_strings;
};
void fx_tables_done(struct fx_tables *t);

/* How much may still be kept, and what was not. */
struct fx_budget {
	uint64_t cells_left, skipped;
};

/* Reads a member of a thread (or of shared) when key is a table. 1: done; 0: it is none, its value still to come. */
int fx_read_table(struct fx_tables *t, const struct json_value *key, struct json_reader *r,
		  struct strtab *texts, struct fx_budget *budget, struct err *err);

static inline int32_t fx_cell(const struct fx_tables *t, enum fx_column column, int32_t row)
{
	return row >= 0 && (size_t)row < t->columns[column].n ? t->columns[column].v[row] : -1;
}

/* The table that a column is in: bit of fx_tables.seen. */
enum fx_table {
	FX_SAMPLES_TABLE,
	FX_STACK_TABLE,
	FX_FRAME_TABLE,
	FX_FUNC_TABLE,
	FX_RESOURCE_TABLE,
	FX_SOURCE_TABLE
};

#endif
