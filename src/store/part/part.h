/* store/part/part.h: a partition: the stacks and blocks of one UTC day, or of a piece of a day
 * whose dictionary would outgrow memory.
 *
 *     p/2026-11-21.db        dictionary (strings, mappings, frames, stacks: dense ids from 0),
 *                            blocks: summary and windows
 *     p/2026-11-21.det.db    detail of the blocks; without it (retention), merges have the
 *                            precision of blocks
 *
 * Stacks, frames and strings belong to the partition; series belong to the store. The dictionary is
 * a struct profile without samples. Blocks are added in one transaction with new dictionary entries
 * and the highest inbox sequence they contain; detail is written and synced before. A block with a
 * wrong checksum is set aside: it is counted, and left out of every result. */
#ifndef CRESSET_STORE_PART_PART_H
#define CRESSET_STORE_PART_PART_H

#include "store/codec/block.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct metric_points;
struct part;
struct store_wanted;

struct part_opts {
	bool read_only;
	bool foreign;         /* db.h */
	uint64_t cache_bytes; /* SQLite's, both files together */
	const char *vfs;      /* NULL: the default */
};

/* path: of the .db, created if missing (not read_only). day_ns: for a new file, the start of the
 * day, Unix time. */
int part_open(const char *path, int64_t day_ns, const struct part_opts *opts, struct part **out,
	      struct err *err);
void part_close(struct part *p);

/* Reads the dictionary if not yet done; queries for sums over all stacks do not need it. -EBADMSG:
 * damaged. */
int part_load(struct part *p, struct err *err);

/* Frees the dictionary until it is needed again. Only for a read-only part. */
void part_unload(struct part *p);

/* Returns the dictionary, or NULL if it is damaged (part_load states how). It has no samples.
 * Stacks are resolved by interning into it; the next part_add stores new entries. Names of frames
 * are set by callers that need them (store/names/names_db.h). */
struct profile *part_dict(struct part *p);

struct part_info {
	int64_t from_ns;         /* start of its day */
	uint64_t inbox_sequence; /* it has all batches up to this one */
	uint64_t rows, blocks;
	uint64_t points, metric_blocks; /* of metrics */
	/* blocks set aside since it was opened; an unusable detail file counts as one */
	uint64_t bad_blocks;
	uint64_t bytes, detail_bytes; /* of the files */
	bool sealed, has_detail;
};
/* read_only: state at the last part_find or part_read_begin. */
void part_get_info(struct part *p, struct part_info *out);

/* --- writing --- */

/* What is stored of a block. */
struct part_encoded {
	struct block_blobs blobs;
	uint64_t rows;
	int64_t total;
};
struct part_block {
	uint32_t series;
	int64_t from_ns;  /* of the slot, a multiple of BLOCK_WINDOW_NS */
	uint32_t windows; /* 360: an hour */
	bool weighted;
	const struct block_row *rows; /* as block_encode takes them */
	size_t n;
	/* the output of part_encode, rows is then ignored; NULL: part_add encodes rows */
	const struct part_encoded *encoded;
};
/* Does the slow part of part_add, without a part. out: as in block_encode. */
void part_encode(struct block_coder *coder, const struct part_block *b, struct part_encoded *out);
/* Adds blocks; durable when it returns 0. A series may have several blocks in one slot (late
 * rows). */
int part_add(struct part *p, const struct part_block *blocks, size_t n, uint64_t inbox_sequence,
	     struct err *err);

/* Points of a metric series, ascending by time, no duplicates. */
struct part_metric {
	uint32_t series;
	const struct metric_point *points;
	size_t n; /* > 0 */
};
/* Adds both in one transaction. A point replaces an existing one of the same series and time. */
struct part_news {
	const struct part_block *blocks;
	size_t n;
	const struct part_metric *metrics;
	size_t n_metrics;
};
int part_add_news(struct part *p, const struct part_news *news, uint64_t inbox_sequence,
		  struct err *err);
/* Like part_compact_step, for points: those of one series in one slot of slot_ns become one
 * block. */
int part_compact_metrics(struct part *p, int64_t slot_ns, struct err *err);

/* Does one step of compaction, in one transaction: merges the blocks of one series in one slot of
 * `windows` (1440: 4 h, 8640: 24 h) into one, if they have detail and are not very large; several
 * slots if they are small. Returns 1 if there is more to do, 0 if not. */
int part_compact_step(struct part *p, uint32_t windows, struct err *err);
/* Rewrites the dictionary in few large pieces, and stores the row count and the XOR of the
 * checksums for part_verify. Only late blocks are added afterwards, and they unseal it. */
int part_seal(struct part *p, struct err *err);
/* Reads and checks everything. Returns 0 or -EBADMSG. */
int part_verify(struct part *p, struct err *err);
/* Closes and unlinks the detail file. */
int part_drop_detail(struct part *p, struct err *err);

/* --- reading ---
 *
 * Reads between these two see a snapshot, whatever another process or connection writes meanwhile.
 * Without them each call sees the latest state, and a block found by part_find may be gone:
 * -ESTALE. Nothing may be written through the same struct part in between. Keep it short: the
 * journal grows meanwhile. */
int part_read_begin(struct part *p, struct err *err);
void part_read_end(struct part *p);

struct part_ref {
	int64_t id;
	uint32_t series;
	uint32_t windows;
	int64_t from_ns;
	int64_t total;
	uint64_t rows;
};
/* Finds the blocks that overlap [from_ns, to_ns), of series with wanted[series] (n_wanted long;
 * NULL: all), by series, then time. refs: to be freed with free(). */
int part_find(struct part *p, const bool *wanted, uint32_t n_wanted, int64_t from_ns, int64_t to_ns,
	      struct part_ref **refs, size_t *n, struct err *err);

/* For a damaged block these count it and return 0 with no stacks, no rows, zeros. The ones that
 * need detail return -ENODATA without it (part_info.has_detail). */
int part_read_summary(struct part *p, const struct part_ref *ref, struct block_sums *out,
		      struct err *err);
int part_read_windows(struct part *p, const struct part_ref *ref, int64_t *sums, struct err *err);
/* Reads the rows of windows [from, to) of a block, in any order. rows: reused from block to
 * block. */
int part_read_columns(struct part *p, const struct part_ref *ref, uint32_t from, uint32_t to,
		      struct block_columns *rows, struct err *err);
/* Sums windows [from, to) of a block by stack into totals[sums->n]. sums: from
 * part_read_summary. */
int part_read_window_range(struct part *p, const struct part_ref *ref,
			   const struct block_sums *sums, uint32_t from, uint32_t to,
			   int64_t *totals, struct err *err);

/* Sets marks[series] (n long) for all series with blocks or points. -EBADMSG: some cannot be
 * found. */
int part_mark_series(struct part *p, bool *marks, uint32_t n, struct err *err);

/* Appends the points of a series in blocks that overlap [from_ns, to_ns), in order of arrival; the
 * caller sorts (metric_points_order) and clips them. Damaged blocks are counted, and have no
 * points. */
int part_read_points(struct part *p, uint32_t series, int64_t from_ns, int64_t to_ns,
		     struct metric_points *out, struct err *err);
/* The first and the last time of any point; unchanged if none exists. */
int part_points_range(struct part *p, int64_t *first_ns, int64_t *last_ns, struct err *err);

/* part_delete.c: deletes blocks of these series, with their detail, and metrics. Adds the number of
 * deleted rows and points to *rows. */
int part_delete(struct part *p, const struct store_wanted *w, uint64_t *rows, struct err *err);

#endif
