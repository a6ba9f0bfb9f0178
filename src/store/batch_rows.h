/* store/batch_rows.h: a batch whose stacks and series are those of the store: what goes into the inbox, and then into heads.
 *
 * It is made of a profile (batch_rows.c), or of a row of the inbox (replay.c). Only files of store/ include it. */
#ifndef CRESSET_STORE_BATCH_ROWS_H
#define CRESSET_STORE_BATCH_ROWS_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/chunk.h"
#include "profile/profile.h"
#include "store/metric_samples.h"
#include "store/names_db.h"

#include <stdbool.h>
#include <stdint.h>

struct store;
struct store_part;
struct store_batch;
struct store_known_stacks;

enum { BATCH_NO_STACK = UINT32_MAX, BATCH_NO_SERIES = UINT32_MAX };

/* What a batch's times are: told by the batch, and by when it came. */
struct batch_clock {
	int64_t received_ns; /* of samples from too far ahead */
	int64_t shift_ns;    /* from the batch's clock to Unix time */
	bool has_times;
	int64_t fixed_ns; /* of all samples, when it has none */
};
struct batch_clock batch_clock_of(const struct profile *p, int64_t received_ns);
int64_t batch_time_ns(const struct batch_clock *c, int64_t time_ns);
/* What a sample covers, as much as is spread. */
int64_t batch_covered_ns(const struct sample_columns *c, size_t row);

/* Where its rows of one day go. */
struct batch_part {
	struct store_part *sp;
	uint32_t *
		stack; /* of the part, by row; BATCH_NO_STACK: it does not touch the day, or its stack is lost. NULL: no row does */
};

struct batch_rows {
	struct batch_clock clock;
	const struct sample_columns *samples; /* series: in `series`; stack is not looked at */
	const struct trace_link *links;       /* by id - 1 */
	uint32_t *series; /* of the catalog; BATCH_NO_SERIES: of no row, or lost */
	size_t n_series;
	VEC(struct batch_part) parts;
	struct metric_samples points; /* series of the catalog */
	struct names_offer names;     /* names.p: NULL where there are none */
	/* What replay keeps for it. */
	struct sample_columns own_samples;
	VEC(struct trace_link) own_links;
	struct profile *own_names;
};
void batch_rows_done(struct batch_rows *r); /* zeroed is fine */

/* Stacks and series come into the dictionaries of the parts, and into the catalog. Parts of the days are in out already: open, and to stay so. Under
 * lock. */
int batch_rows_resolve(struct store *s, const struct store_batch *b, int64_t received_ns,
		       struct batch_rows *out, struct err *err);

/* Fills in of what k's ids are: of this part, now. Under lock, as the next one. */
void batch_known_stamp(const struct store *s, const struct store_part *sp,
		       struct store_known_stacks *k);

/* Appends the row (docs/formats.md): with what of the parts' dictionaries was not logged before it. Those move on: store_part.logging. */
int batch_rows_encode(const struct batch_rows *r, struct buf *out, struct err *err);

/* --- a row as it is read: nothing in it was looked for in the store yet --- */

struct logged_part {
	int64_t day_ns;
	uint32_t piece;
	struct chunk_position from, to; /* of its dictionary: what `chunks` adds */
	struct cur chunks;
	uint32_t *stack; /* as above */
};
struct logged_batch {
	struct batch_rows rows; /* without parts */
	VEC(struct logged_part) parts;
	int32_t names_day;
	struct cur names; /* chunks of a profile; empty: none */
};
/* What was read points into the bytes. False: it is damaged; to be given to logged_batch_done all the same. */
bool logged_batch_decode(struct cur c, int64_t received_ns, struct logged_batch *out);
void logged_batch_done(struct logged_batch *b);

/* The chunks of a row, one after the other. False at the end, and where it is damaged (c->bad). */
bool logged_chunk_next(struct cur *c, uint8_t *type, struct cur *payload);

#endif
