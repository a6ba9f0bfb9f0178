/* store/part/part_file.h: internals of a partition, for part*.c only.
 *
 * The day's file has a few numbers about the rest (struct part_state), updated in the same
 * transaction as any change. A count and a sum over the index show that the index can be trusted;
 * others, that the whole file can.
 *
 *     dict      chunks of types 1, 2, 3 and 9 (profile/chunk.h), in the order of their ids. Sealing
 *               rewrites them under higher ids, in fewer and larger pieces. At most 512 MiB when
 *               decompressed
 *     block     ids are never used again. start: the slot's first moment, Unix ns; total: the sum
 *               of all values modulo 2^64; steps: the blob of windows. sum: block_checksum without
 *               windows, steps_sum: the same without a summary, so either is read without the
 *               other. A block with a wrong sum or total is set aside
 *     detail    sum: that of detail, XOR the block's sum. Committed before its block, removed after
 *               it: detail without a block is left over from a crash and has no meaning
 *     metric    a block of points; ids are shared with block, a greater one is newer. first, last:
 *               times of its points, Unix ns. sum: XXH3-64 of series, first, last, points, XXH3-64
 *               of data. Blocks of a series may overlap if points arrived late: the point of the
 *               newest block counts. Blocks of four hours, and finally all blocks of the day, are
 *               merged. A damaged block is set aside
 *     state     day             the first moment, Unix ns
 *               inbox           all batches of the inbox up to this sequence are in it
 *               stacks          in dict, the empty one included
 *               next            the next block's id
 *               blocks, rows    how many there are
 *               refs            XOR over blocks of XXH3-64 of id, series, windows, start, total,
 *                               rows. A reader that finds another value in the index does not use
 *                               the index
 *               sums            XOR over blocks of mix(mix(sum + 0x9e3779b97f4a7c15) XOR
 *                               steps_sum), mix being the finalizer of MurmurHash3
 *               sealed          1: dict was rewritten, and later blocks only come from merges
 *               metrics, points numbers of metric blocks and of their points
 *               metric_sums     XOR over them of mix(mix(id + 0x9e3779b97f4a7c15) XOR sum); as refs
 *               check           XXH3-64 of the values above in this order
 *
 * Hashed numbers have 8 bytes each. */
#ifndef CRESSET_STORE_PART_PART_FILE_H
#define CRESSET_STORE_PART_PART_FILE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/chunk.h"
#include "profile/chunk_read.h"
#include "store/part/part.h"
#include "store/sqlite/db.h"

struct err;

/* In the order of keys[] in part_state.c. */
struct part_state {
	int64_t day_ns;
	uint64_t inbox;      /* sequence */
	uint64_t stacks;     /* in the dictionary */
	uint64_t next_block; /* ids are never reused */
	uint64_t blocks, rows;
	uint64_t refs; /* XOR of part_ref_hash() of all blocks */
	uint64_t sums; /* XOR of part_sums_hash() of all blocks */
	uint64_t sealed;
	/* blocks of points, with ids from the same sequence as blocks; points in them */
	uint64_t metrics, points;
	uint64_t metric_sums; /* XOR of hash_mix(id, sum) over them */
};

struct part {
	struct db *day, *detail; /* detail: NULL if none exists */
	char *path, *detail_path;
	struct part_opts opts;
	struct part_state state; /* as in the file */

	struct profile *dict; /* NULL: not read yet */
	struct chunk_reader reader;
	struct chunk_writer *writer;
	struct part_chunks {
		int64_t first, last; /* rows of the dictionary read or written; 0: none */
		uint64_t bytes;      /* of their payloads, decompressed */
	} chunks;

	struct block_coder *coder;
	struct part_encoded encoded;
	struct block_sums sums;

	struct map bad;      /* blocks set aside, by id */
	uint64_t missing;    /* number of blocks that cannot be found */
	bool detail_damaged; /* the whole file; detail is then NULL */
	uint64_t missing_metrics;
	enum { INDEX_UNKNOWN, INDEX_GOOD, INDEX_BAD } index, metric_index;
	bool reading;                    /* between part_read_begin and part_read_end */
	int64_t seen_version;            /* of the file when state was read */
	int64_t found_version;           /* of the file at the last search for blocks */
	uint64_t changes, found_changes; /* the same for changes through this struct */

	/* Removed blocks, whose detail is deleted in the next transaction on the detail. */
	VEC(int64_t) superseded;
	struct part_slot_cursor {
		uint32_t series, windows;
		int64_t from_ns;
	} compacted; /* compaction has got here */
};

/* --- part_state.c --- */

extern const struct db_schema part_day_schema, part_detail_schema;
uint64_t part_ref_hash(const struct part_ref *ref);
uint64_t part_sums_hash(uint64_t sum, uint64_t steps_sum);
/* Returns 1; 0, with *state unchanged, if nothing has been written to the file since its
 * creation. */
int part_state_read(struct part *p, struct part_state *state, struct err *err);
int part_state_write(struct part *p, const struct part_state *state, struct err *err);

/* --- part_file.c --- */

/* Returns a value that changes when others write the day's file. */
int part_version(struct part *p, int64_t *version, struct err *err);

/* A transaction on both files; next: the state after it. */
struct part_change {
	struct part_state next;
	struct chunk_position saved; /* to be restored by a rollback */
	struct part_chunks chunks;
};
int part_change_begin(struct part *p, struct part_change *c, struct err *err);
/* Commits the detail, then the day's file; rolls back if rc is not 0. The transaction is over in
 * any case. */
int part_change_end(struct part *p, struct part_change *c, int rc, struct err *err);
/* Deletes the detail of superseded blocks, now or with the next change. Not with the change that
 * supersedes them, which is complete only once the day's file is committed. */
int part_clean_detail(struct part *p, struct err *err);

/* --- part_dict.c --- */

/* Reads new entries of the file. */
int part_dict_update(struct part *p, struct err *err);
/* Writes new entries of memory, inside a transaction. */
int part_dict_save(struct part *p, struct err *err);
/* Rewrites the rows of the dictionary and reads them back, inside a transaction. */
int part_dict_rewrite(struct part *p, struct err *err);
/* Checks that the file has this number of stacks, equal to those in memory. */
int part_dict_check(struct part *p, uint64_t stacks, struct err *err);
void part_dict_done(struct part *p);

/* --- part_write.c --- */

int part_change_add(struct part *p, struct part_change *c, const struct part_block *b, int level,
		    struct err *err);
int part_change_remove(struct part *p, struct part_change *c, const struct part_ref *ref,
		       struct err *err);
/* The stored checksums of a block: of its summary, of its sums by window. */
struct part_checks {
	uint64_t sum, steps_sum;
};
int part_get_checks(struct part *p, int64_t id, struct part_checks *out, struct err *err);

/* --- part_read.c --- */

/* Counts a block as damaged, once. */
void part_mark_damaged(struct part *p, int64_t block);
bool part_is_damaged(const struct part *p, int64_t block);
struct block_key part_key(const struct part_ref *ref);

/* Like part_read_… of part.h, but return -EBADMSG for a damaged block. */
int part_get_summary(struct part *p, const struct part_ref *ref, struct block_sums *out,
		     struct err *err);
int part_get_windows(struct part *p, const struct part_ref *ref, int64_t *sums, struct err *err);
int part_get_detail(struct part *p, const struct part_ref *ref, const struct block_sums *sums,
		    struct block_row **rows, size_t *n, struct err *err);

/* --- part_metric.c --- */

/* A row of the table of metrics. */
struct part_metric_ref {
	int64_t id;
	uint32_t series, points;
	int64_t first_ns, last_ns; /* of its points */
	uint64_t sum;
};
int part_change_add_metric(struct part *p, struct part_change *c, const struct part_metric *m,
			   struct err *err);
int part_mark_metric_series(struct part *p, bool *marks, uint32_t n, struct err *err);
int part_change_remove_metric(struct part *p, struct part_change *c,
			      const struct part_metric_ref *r, struct err *err);
/* Reads and checks all of them. Returns 0 or -EBADMSG. */
int part_verify_metrics(struct part *p, struct err *err);

/* --- part_find.c --- */

/* Marks series by stepping through an index from one to the next. sql: selects the first series
 * from ?1 on. */
int part_mark_by(struct part *p, const char *sql, bool *marks, uint32_t n, struct err *err);

typedef int (*part_ref_fn)(void *ctx, const struct part_ref *ref);
/* Calls fn for blocks by series, then time, from this position on. Stops when fn returns nonzero,
 * and returns that value. Calls none if the index is damaged. */
int part_each_ref(struct part *p, uint32_t series, int64_t from_ns, part_ref_fn fn, void *ctx,
		  struct err *err);

#endif
