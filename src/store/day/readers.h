/* store/day/readers.h: parts, the catalog and names for views: handles apart from the writer's, so
 * that neither waits for the other and a dictionary does not move under a reader. A view leaves its
 * dictionaries to the next one, so each is read once. */
#ifndef CRESSET_STORE_DAY_READERS_H
#define CRESSET_STORE_DAY_READERS_H

#include "store/names/names_db.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct store_part;

/* A handle of a part, for one view at a time. */
struct part_reader {
	struct store_part *of;
	struct part *part; /* in a read-only store: the store's own */
	bool own;
	bool loaded;                /* its dictionary is in memory */
	uint64_t bytes;             /* of the dictionary, counted in store_readers.dict_bytes */
	struct names_applied names; /* names set in its dictionary */
};

/* A snapshot of types, labels and series; never changed, so views share it. */
struct catalog_copy {
	struct profile *p;
	uint32_t n_series; /* p's */
	uint64_t version;  /* the catalog's */
	uint32_t refs;
};

/* All need store.lock, except the ones that open or load something, which take time. */

/* Returns an idle reader, or NULL. */
struct part_reader *reader_take(struct store *s, const struct store_part *sp);
int reader_open(struct store *s, struct store_part *sp, struct part_reader **out, struct err *err);
/* Takes a snapshot of the current state. */
int reader_snapshot(struct part_reader *r, struct err *err);
/* Reads its dictionary into memory. */
int reader_load(struct part_reader *r, struct err *err);
/* Adds the stacks of the part's heads to the dictionary. Under lock. */
void reader_follow(struct part_reader *r);
/* Updates the count of the dictionary's memory. Under lock. */
void reader_count(struct store *s, struct part_reader *r);
/* Frees the dictionary if it can be read again. Under lock. */
void reader_unload(struct store *s, struct part_reader *r);
/* Retains the reader for the next view, or closes it if another one is idle. */
void reader_give(struct store *s, struct part_reader *r);
void reader_close(struct store *s, struct part_reader *r); /* NULL is fine */

/* Closes idle readers of one part; NULL: of all. */
void readers_drop(struct store *s, const struct store_part *sp);
/* Memory of idle readers and of views. */
uint64_t readers_bytes(const struct store *s);
void readers_done(struct store *s);

struct names_db *names_reader_take(struct store *s);
/* *out is NULL if no names exist yet. */
int names_reader_open(struct store *s, struct names_db **out, struct err *err);

struct catalog_copy *catalog_copy_take(struct store *s);
void catalog_copy_give(struct catalog_copy *c);

#endif
