/* store/readers.h: parts, the catalog and names as views read them: handles of their own beside the writer's, so that neither waits for the other
 * and a dictionary does not move under a reader. What a view leaves behind the next one takes: a dictionary is read once. */
#ifndef CRESSET_STORE_READERS_H
#define CRESSET_STORE_READERS_H

#include "base/err.h"
#include "base/vec.h"
#include "store/names_db.h"
#include "store/part.h"

#include <stdbool.h>
#include <stdint.h>

struct store;
struct store_part;

/* A part, for one view at a time. */
struct part_reader {
	struct store_part *of;
	struct part *part; /* of a store that is read-only: the store's own */
	bool own;
	bool loaded;                /* its dictionary is in memory */
	uint64_t bytes;             /* of it, counted in store_readers.dict_bytes */
	struct names_applied names; /* in its dictionary */
};

/* Types, labels and series, as they were when it was made: never changed, so views share it. */
struct catalog_copy {
	struct profile *p;
	uint64_t version; /* the catalog's */
	uint32_t refs;
};

struct store_readers {
	VEC(struct part_reader *) parts;
	VEC(struct names_db *) names;
	struct catalog_copy *catalog; /* the last one; NULL: none yet */
	uint64_t dict_bytes;          /* of all dictionaries: of those that wait, and of views */
};

/* All under store.lock, but for those that open or load something: these take time and need no lock. */

/* One that waits, NULL when none does. */
struct part_reader *reader_take(struct store *s, const struct store_part *sp);
int reader_open(struct store *s, struct store_part *sp, struct part_reader **out, struct err *err);
/* From now on it has the state of now. */
int reader_snapshot(struct part_reader *r, struct err *err);
/* Its dictionary is in memory. */
int reader_load(struct part_reader *r, struct err *err);
/* The dictionary gets the stacks of the part's heads, too. Under lock. */
void reader_follow(struct part_reader *r);
/* Counts what the dictionary takes now. Under lock. */
void reader_count(struct store *s, struct part_reader *r);
/* The dictionary goes, if it can be read again. Under lock. */
void reader_unload(struct store *s, struct part_reader *r);
/* Waits for the next view, or is closed when there is one that waits. */
void reader_give(struct store *s, struct part_reader *r);
void reader_close(struct store *s, struct part_reader *r); /* NULL is fine */

/* Those that wait are closed; of one part, or with NULL, all. */
void readers_drop(struct store *s, const struct store_part *sp);
/* Memory of those that wait, and of views. */
uint64_t readers_bytes(const struct store *s);
void readers_done(struct store *s);

struct names_db *names_reader_take(struct store *s);
/* *out is NULL where there are no names yet. */
int names_reader_open(struct store *s, struct names_db **out, struct err *err);

struct catalog_copy *catalog_copy_take(struct store *s);
void catalog_copy_give(struct catalog_copy *c);

#endif
