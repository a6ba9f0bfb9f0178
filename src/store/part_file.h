/* store/part_file.h: the inside of a partition, for the files part*.c.
 *
 * The day's file holds, in one transaction with whatever changes them, a handful of numbers about the rest (struct part_state): a count and a sum over
 * the index tell that the index can be trusted, others that the whole can. */
#ifndef CRESSET_STORE_PART_FILE_H
#define CRESSET_STORE_PART_FILE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "store/db.h"
#include "store/part.h"

/* In the order of part_state.c's table of keys. */
struct part_state {
	int64_t day_ns;
	uint64_t inbox;      /* sequence */
	uint64_t stacks;     /* in the dictionary */
	uint64_t next_block; /* ids are never used again */
	uint64_t blocks, rows;
	uint64_t refs; /* XOR of part_ref_hash() of all blocks */
	uint64_t sums; /* XOR of part_sums_hash() of all blocks */
	uint64_t sealed;
	uint64_t metrics,
		points; /* blocks of metrics, which share the blocks' ids, and what they have */
	uint64_t metric_sums; /* XOR over them of hash_mix(id, sum) */
};

struct part {
	struct db *day, *detail; /* detail: NULL when there is none */
	char *path, *detail_path;
	struct part_opts opts;
	struct part_state state; /* as in the file */

	struct profile *dict; /* NULL: not read yet */
	struct chunk_reader reader;
	struct chunk_writer *writer;
	struct part_chunks {
		int64_t first,
			last;   /* rows of the dictionary that have been read or written; 0: none */
		uint64_t bytes; /* of their payloads, unpacked */
	} chunks;

	struct block_coder *coder;
	struct part_encoded encoded;
	struct block_sums sums;

	struct map bad;      /* blocks set aside, by id */
	uint64_t missing;    /* those that cannot be found */
	bool detail_damaged; /* the file as a whole: then detail is NULL */
	uint64_t missing_metrics;
	enum { INDEX_UNKNOWN, INDEX_GOOD, INDEX_BAD } index, metric_index;
	bool reading;                    /* between part_read_begin and part_read_end */
	int64_t seen_version;            /* of the file, when state was read */
	int64_t found_version;           /* when blocks were last looked for */
	uint64_t changes, found_changes; /* likewise, of ours */

	VEC(int64_t)
	superseded; /* blocks that are gone, whose detail goes with the next transaction on the detail */
	struct part_slot_cursor {
		uint32_t series, windows;
		int64_t from_ns;
	} compacted; /* up to there */
};

/* --- part_state.c --- */

extern const struct db_schema part_day_schema, part_detail_schema;
uint64_t part_ref_hash(const struct part_ref *ref);
uint64_t part_sums_hash(uint64_t sum, uint64_t steps_sum);
/* 1; 0, and nothing is changed, when it was made, but nothing written into it yet. */
int part_state_read(struct part *p, struct part_state *state, struct err *err);
int part_state_write(struct part *p, const struct part_state *state, struct err *err);

/* --- part.c --- */

/* Other than before when others have written the day's file. */
int part_version(struct part *p, int64_t *version, struct err *err);

/* --- part_dict.c --- */

/* What is new in the file. */
int part_dict_update(struct part *p, struct err *err);
/* What is new in memory, inside of a transaction. */
int part_dict_save(struct part *p, struct err *err);
/* The rows of the dictionary are written anew and read again, inside of a transaction. */
int part_dict_rewrite(struct part *p, struct err *err);
/* Whether the file has that many stacks, and they are those in memory. */
int part_dict_check(struct part *p, uint64_t stacks, struct err *err);
void part_dict_done(struct part *p);

/* --- part_write.c --- */

/* A transaction on both files; *next is what the state will be. */
struct part_change {
	struct part_state next;
	struct chunk_position saved; /* what to go back to */
	struct part_chunks chunks;
};
int part_change_begin(struct part *p, struct part_change *c, struct err *err);
int part_change_add(struct part *p, struct part_change *c, const struct part_block *b, int level,
		    struct err *err);
int part_change_remove(struct part *p, struct part_change *c, const struct part_ref *ref,
		       struct err *err);
/* Detail first, then the day's file. Either way the transaction is over. */
int part_change_end(struct part *p, struct part_change *c, int rc, struct err *err);
/* What the file has as checksums of a block: of its summary, of its sums by window. */
struct part_checks {
	uint64_t sum, steps_sum;
};
int part_get_checks(struct part *p, int64_t id, struct part_checks *out, struct err *err);
/* The detail of superseded blocks goes: with the next change, or now. Not with the one that superseded them, which is not done before the day's
 * file says so. */
int part_clean_detail(struct part *p, struct err *err);

/* --- part_read.c --- */

/* Counts it once. */
void part_set_aside(struct part *p, int64_t block);
bool part_is_aside(const struct part *p, int64_t block);
struct block_key part_key(const struct part_ref *ref);

/* As those of part.h without "part_get", but a damaged block is -EBADMSG. */
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
/* Reads all of them. 0, or -EBADMSG with what is wrong. */
int part_verify_metrics(struct part *p, struct err *err);

/* --- part_find.c --- */

/* Steps through an index, from one series to the next. sql: the first series from ?1 on. */
int part_mark_by(struct part *p, const char *sql, bool *marks, uint32_t n, struct err *err);

typedef int (*part_ref_fn)(void *ctx, const struct part_ref *ref);
/* Blocks by series, then time, from there on, until fn returns other than 0, which is returned. None when the index is damaged. */
int part_each_ref(struct part *p, uint32_t series, int64_t from_ns, part_ref_fn fn, void *ctx,
		  struct err *err);

#endif
