/* store/day/batch_rows.h: a batch with the store's stack and series ids, as it goes into the inbox
 * and then into heads.
 *
 * It is made of a profile (batch_rows.c), or of a row of the inbox (replay.c). Only files of store/
 * include it. */
#ifndef CRESSET_STORE_DAY_BATCH_ROWS_H
#define CRESSET_STORE_DAY_BATCH_ROWS_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/chunk.h"
#include "profile/profile.h"
#include "store/codec/metric_samples.h"
#include "store/names/names_db.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct store_part;
struct store_batch;
struct store_known_stacks;

/* Maximum number of days in a batch. */
enum { STORE_BATCH_DAYS = 64 };

enum { BATCH_NO_STACK = UINT32_MAX, BATCH_NO_SERIES = UINT32_MAX };

/* How a batch's times become Unix time, from the batch and its time of arrival. */
struct batch_clock {
	int64_t received_ns; /* replaces times too far in the future */
	int64_t shift_ns;    /* from the batch's clock to Unix time */
	bool has_times;
	int64_t fixed_ns; /* of all samples, if it has no times */
};
struct batch_clock batch_clock_of(const struct profile *p, int64_t received_ns);
int64_t batch_time_ns(const struct batch_clock *c, int64_t time_ns);
/* Returns the time that a sample covers, up to the limit for spreading. */
int64_t batch_covered_ns(const struct sample_columns *c, size_t row);

/* The part that takes its rows of one day. */
struct batch_part {
	struct store_part *sp;
	/* the part's ids, by row; BATCH_NO_STACK: outside the day, or its stack is lost. NULL: all
	 * rows are outside */
	uint32_t *stack;
};

struct batch_rows {
	struct batch_clock clock;
	const struct sample_columns *samples; /* series: index in `series`; stack is ignored */
	const struct trace_link *links;       /* by id - 1 */
	uint32_t *series; /* the catalog's ids; BATCH_NO_SERIES: no row has it, or lost */
	size_t n_series;
	VEC(struct batch_part) parts;
	struct metric_samples points; /* with the catalog's series */
	struct names_offer names;     /* names.p: NULL if none exists */
	/* Memory owned after replay. */
	struct sample_columns own_samples;
	VEC(struct trace_link) own_links;
	struct profile *own_names;
};
void batch_rows_done(struct batch_rows *r); /* zeroed is fine */

/* Adds stacks and series to the dictionaries of the parts and to the catalog. out already has the
 * parts of the days, which are open and have to stay open. Under lock. */
int batch_rows_resolve(struct store *s, const struct store_batch *b, int64_t received_ns,
		       struct batch_rows *out, struct err *err);

/* Marks k's ids as valid for this part in its current state. Under lock, as the next one. */
void batch_known_stamp(const struct store *s, const struct store_part *sp,
		       struct store_known_stacks *k);

/* Appends the row (batch_log.c), with those parts of the dictionaries that were not logged
 * before, and advances store_part.logging. */
int batch_rows_encode(const struct batch_rows *r, struct buf *out, struct err *err);

/* --- a decoded row, before anything in it is looked up in the store --- */

struct logged_part {
	int64_t day_ns;
	uint32_t piece;
	struct chunk_position from, to; /* the range of its dictionary that `chunks` adds */
	struct cur chunks;
	uint32_t *stack; /* as above */
};
struct logged_batch {
	struct batch_rows rows; /* without parts */
	VEC(struct logged_part) parts;
	int32_t names_day;
	struct cur names; /* chunks of a profile; empty: none */
};
/* Decodes a row; *out points into its bytes. Returns false if it is damaged; logged_batch_done has
 * to be called all the same. */
bool logged_batch_decode(struct cur c, int64_t received_ns, struct logged_batch *out);
void logged_batch_done(struct logged_batch *b);

/* Reads the next chunk of a row. Returns false at the end, and on damage (c->bad). */
bool logged_chunk_next(struct cur *c, uint8_t *type, struct cur *payload);

#endif
