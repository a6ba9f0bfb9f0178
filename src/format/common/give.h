/* format/common/give.h: what readers of files without times pass to a sink: frames known by name,
 * and a value for each stack. */
#ifndef CRESSET_FORMAT_COMMON_GIVE_H
#define CRESSET_FORMAT_COMMON_GIVE_H

#include "base/hash.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct sink;

struct give_text { /* need not end in NUL; zeroed = empty */
	const char *s;
	size_t len;
};

/* The texts of a type; NULL for a period that is not known. */
struct give_type {
	const char *name, *sample_type, *unit, *period_type, *period_unit;
	int64_t period;
	uint8_t aggregation; /* enum aggregation */
};
/* Adds a type after those that the file already has, and its series without labels. The first
 * type is shown unless the reader sets another. */
uint32_t give_series(struct sink *s, const struct give_type *t);
/* Same with labels of the sink. */
uint32_t give_series_of(struct sink *s, const struct give_type *t, uint32_t labels);

/* Adds a frame known by name; "[unknown]" if that is empty. kind: an enum frame_kind, or
 * GIVE_GUESS: by the name and the file. */
enum { GIVE_GUESS = UINT8_MAX };
struct give_frame {
	uint8_t kind;
	struct give_text name, file, binary;
	uint32_t line;
};
uint32_t give_frame(struct sink *s, const struct give_frame *f);

/* One sample without a time and ids. */
void give_value(struct sink *s, uint32_t series, uint32_t stack, int64_t value);

/* Values added up by (series, stack, pid, tid), for files that repeat them: memory grows with the
 * distinct ones. Zeroed = empty. */
struct give_row {
	uint32_t series, stack, pid, tid;
	int64_t value;
};
#define GIVE_ROW_NO_IDS .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID
struct give_sums {
	VEC(struct give_row) rows;
	struct id_index index;
};
void give_sums_add(struct give_sums *g, const struct give_row *row);
/* Passes all but zeros to the sink, in the order in which they came; returns their number. */
uint64_t give_sums_end(struct give_sums *g, struct sink *s);
void give_sums_done(struct give_sums *g);

#endif
