/* store/part.h: a partition: what one UTC day holds (or a piece of it, when its dictionary would outgrow memory): its stacks, and its
 * blocks.
 *
 *     p/2026-11-21.db        dictionary (strings, mappings, frames, stacks: dense ids from 0), blocks: summary and windows
 *     p/2026-11-21.det.db    detail of the blocks; may be gone (retention), then merges have the precision of blocks
 *
 * Stacks, frames and strings are the partition's own; series are the store's. The dictionary is a struct profile without samples. Blocks are
 * added in one transaction with what is new of the dictionary and with the highest inbox sequence they contain; detail is written, and
 * synced, before. A block whose checksum is wrong is set aside: counted, and left out of every answer. */
#ifndef CRESSET_STORE_PART_H
#define CRESSET_STORE_PART_H

#include "base/err.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/metric.h"

#include <stdbool.h>
#include <stdint.h>

struct part;

struct part_opts {
	bool read_only;
	bool foreign;         /* db.h */
	uint64_t cache_bytes; /* of SQLite, both files together */
	const char *vfs;      /* NULL: the default */
};

/* path: of the .db; made when it is not there (not read_only). day_ns: Unix time of its first moment, for a new one. */
int part_open(const char *path, int64_t day_ns, const struct part_opts *opts, struct part **out,
	      struct err *err);
void part_close(struct part *p);

/* Reads the dictionary, when it has not been read yet: a question that asks for sums over all stacks needs none. -EBADMSG when it is damaged. */
int part_load(struct part *p, struct err *err);

/* The dictionary goes out of memory, until it is asked for again. Of a part that is only read. */
void part_unload(struct part *p);

/* What its stacks are; NULL when it is damaged (part_load says how). Samples are none. Interning into it is how stacks are resolved; what is new is kept by the next part_add. Names of
 * frames are set by whoever wants names (store/names_db.h). */
struct profile *part_dict(struct part *p);

struct part_info {
	int64_t from_ns;         /* first moment of its day */
	uint64_t inbox_sequence; /* all batches up to this one are in it */
	uint64_t rows, blocks;
	uint64_t points, metric_blocks; /* of metrics */
	uint64_t
		bad_blocks; /* set aside, since it was opened; a detail file that cannot be used counts as one */
	uint64_t bytes, detail_bytes; /* of the files */
	bool sealed, has_detail;
};
/* read_only: as of the last part_find or part_read_begin. */
void part_get_info(struct part *p, struct part_info *out);

/* --- writing --- */

/* What is kept of a block. */
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
	const struct block_row *rows; /* as block_encode wants them */
	size_t n;
	const struct part_encoded *
		encoded; /* what part_encode made of the rows, which are not looked at then; NULL: part_add does it */
};
/* Takes the time of part_add, and needs no part. out: as that of block_encode. */
void part_encode(struct block_coder *coder, const struct part_block *b, struct part_encoded *out);
/* Durable when it returns 0. Several blocks of one series may lie in the same slot (what came late). */
int part_add(struct part *p, const struct part_block *blocks, size_t n, uint64_t inbox_sequence,
	     struct err *err);

/* Points of a metric series: ascending, no two of one moment. */
struct part_metric {
	uint32_t series;
	const struct metric_point *points;
	size_t n; /* > 0 */
};
/* Both in one transaction. Points of a moment that the series has already take its place. */
struct part_news {
	const struct part_block *blocks;
	size_t n;
	const struct part_metric *metrics;
	size_t n_metrics;
};
int part_add_news(struct part *p, const struct part_news *news, uint64_t inbox_sequence,
		  struct err *err);
/* As part_compact_step: points of one series in one slot of slot_ns become one block. */
int part_compact_metrics(struct part *p, int64_t slot_ns, struct err *err);

/* One step of compaction: the blocks of one series in one slot of `windows` (1440: 4 h, 8640: 24 h) become one block, where they have detail and
 * are not very large; a transaction, of several such slots where they are small. 1: there is more to do, 0: nothing is left. */
int part_compact_step(struct part *p, uint32_t windows, struct err *err);
/* The dictionary is written anew, in few large pieces; row count and XOR of the checksums are kept, to be verified by part_verify. No
 * blocks are added afterwards but late ones, which unseal it. */
int part_seal(struct part *p, struct err *err);
/* Reads everything. 0, or -EBADMSG with what is wrong. */
int part_verify(struct part *p, struct err *err);
/* Closes and unlinks the detail. */
int part_drop_detail(struct part *p, struct err *err);

/* --- reading ---
 *
 * What is read between these two is of one moment, whatever another process or connection writes meanwhile. Without them each call sees the
 * latest, and a block that part_find told of may be gone: -ESTALE. Nothing is written through the same struct part in between. Keep it short:
 * the journal grows as long. */
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
/* Blocks that touch [from_ns, to_ns), of series with wanted[series] (n_wanted long; NULL: all), by series, then time. refs: to be freed with
 * free(). */
int part_find(struct part *p, const bool *wanted, uint32_t n_wanted, int64_t from_ns, int64_t to_ns,
	      struct part_ref **refs, size_t *n, struct err *err);

/* A block that is damaged: counted, and these return 0 with no stacks, no rows, zeros. Those that need detail: -ENODATA where there is none
 * (part_info.has_detail). */
int part_read_summary(struct part *p, const struct part_ref *ref, struct block_sums *out,
		      struct err *err);
int part_read_windows(struct part *p, const struct part_ref *ref, int64_t *sums, struct err *err);
/* The rows of windows [from, to) of a block, in any order. rows: kept from block to block. */
int part_read_columns(struct part *p, const struct part_ref *ref, uint32_t from, uint32_t to,
		      struct block_columns *rows, struct err *err);
/* Totals of the windows [from, to) of a block: sums as part_read_summary gave them, totals[sums->n]. */
int part_read_window_range(struct part *p, const struct part_ref *ref,
			   const struct block_sums *sums, uint32_t from, uint32_t to,
			   int64_t *totals, struct err *err);

/* marks[series] (n long) for all that have blocks or points. -EBADMSG: not all of them can be found. */
int part_mark_series(struct part *p, bool *marks, uint32_t n, struct err *err);

/* Appends what a series has in blocks that touch [from_ns, to_ns), in the order it came; the caller puts it in order
 * (metric_points_order) and cuts it. Damaged blocks are counted, and have no points. */
int part_read_points(struct part *p, uint32_t series, int64_t from_ns, int64_t to_ns,
		     struct metric_points *out, struct err *err);
/* The first and the last moment of any; untouched where there are none. */
int part_points_range(struct part *p, int64_t *first_ns, int64_t *last_ns, struct err *err);

#endif
