/* collect/table_store.h: unwind tables in kernel memory: one per object, shared by all processes.
 *
 * The memory is segments of 1 MiB (maps, created as they are needed up to the budget), which the walker sees as one array of
 * chunks; a table is a run of them. They are mapped here only where and while one is written: mapped
 * ones count in Pss. When there is no room, the tables that were not used for longest go; a sample that needs one of them asks
 * for it again. Chunks that were freed rest for STORE_REST_NS, longer than any walk, before they are written again. */
#ifndef CRESSET_COLLECT_TABLE_STORE_H
#define CRESSET_COLLECT_TABLE_STORE_H

#include "bpf/space.h"

#include <stdbool.h>
#include <stdint.h>

#define STORE_REST_NS 100000000ull

struct table_store;

struct table_store_opts {
	int tables_fd,
		segments_fd; /* maps `tables` and `segments` of bpf/sample.bpf.c; the caller's */
	uint32_t max_segments;
	uint64_t rest_ns; /* how long freed chunks rest; 0: STORE_REST_NS */
};
struct table_store_stats {
	uint32_t tables;   /* ready */
	uint32_t segments; /* of 1 MiB */
	uint64_t bytes;    /* of tables */
	uint64_t built, evicted;
	uint64_t refused; /* larger than all the memory there is */
};

/* NULL when there can be no thread that builds. */
struct table_store *table_store_new(const struct table_store_opts *opts);
void table_store_free(struct table_store *s);

/* A place for one more object's table; 0 when there are SPACE_MAX_TABLES. */
uint32_t table_store_add(struct table_store *s);
void table_store_remove(struct table_store *s, uint32_t index);

/* Whether the table's object is to be opened for table_store_want: it is not there, and not asked for. */
bool table_store_misses(const struct table_store *s, uint32_t index);
/* Has it built from the ELF file at fd, which becomes the store's. */
void table_store_want(struct table_store *s, uint32_t index, int fd);
/* A sample waits for it: it is built next. */
void table_store_hurry(struct table_store *s, uint32_t index);
/* The object cannot be read. */
void table_store_give_up(struct table_store *s, uint32_t index);

/* Puts what was built into place; call it when the descriptor is readable, and often. */
void table_store_poll(struct table_store *s);
int table_store_fd(const struct table_store *s);
bool table_store_is_busy(struct table_store *s); /* something that is wanted is not in place yet */

/* For the walker's twin: as the kernel has them. A chunk is valid until table_store_drop_copies. */
struct space_table *table_store_table(struct table_store *s, uint32_t index);
const void *table_store_chunk(struct table_store *s, uint32_t chunk);
void table_store_drop_copies(struct table_store *s);

void table_store_get_stats(const struct table_store *s, struct table_store_stats *out);

#endif
