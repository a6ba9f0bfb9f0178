/* collect/walker/table_store.h: unwind tables in kernel memory: one per object, shared by all
 * processes.
 *
 * The memory is segments of 1 MiB (maps, created when needed, up to the budget). The walker sees
 * them as one array of chunks; a table is a run of them. They are mapped here only where and while
 * one is written, because mapped ones count in Pss. When there is no space, the least recently used
 * tables are evicted; a sample that needs one of them requests it again. Freed chunks rest for
 * STORE_REST_NS, longer than any walk, before they are reused. */
#ifndef CRESSET_COLLECT_WALKER_TABLE_STORE_H
#define CRESSET_COLLECT_WALKER_TABLE_STORE_H

#include "unwind/table_cache.h"

#include <stdbool.h>
#include <stdint.h>

#define STORE_REST_NS 100000000ull
/* limit: 4 KiB chunks copied for walks in user space */
enum { STORE_COPIES_MAX = 128 };

struct table_store;

struct table_store_opts {
	int tables_fd,
		segments_fd; /* maps `tables` and `segments` of bpf/sample.bpf.c; the caller's */
	uint32_t max_segments;
	uint64_t rest_ns;       /* how long freed chunks rest; 0: STORE_REST_NS */
	const char *cache_root; /* as for table_builder_new */
};
struct table_store_stats {
	uint32_t tables;   /* ready */
	uint32_t segments; /* of 1 MiB */
	uint64_t bytes;    /* of tables */
	uint64_t built, evicted;
	uint64_t refused; /* larger than all table memory */
	struct table_cache_stats cached;
};

/* Returns NULL when the builder thread cannot be started. */
struct table_store *table_store_new(const struct table_store_opts *opts);
void table_store_free(struct table_store *s);

/* Adds a slot for an object's table; returns 0 when there are SPACE_MAX_TABLES. */
uint32_t table_store_add(struct table_store *s);
void table_store_remove(struct table_store *s, uint32_t index);

/* Returns whether to open the table's object for table_store_want: the table is neither there nor
 * requested. */
bool table_store_misses(const struct table_store *s, uint32_t index);
/* Builds it from the ELF file at fd, which the store takes over. */
void table_store_want(struct table_store *s, uint32_t index, int fd);
/* One more sample waits for it: what most wait for is built first. */
void table_store_wait(struct table_store *s, uint32_t index);
/* Call it if the object cannot be read. */
void table_store_give_up(struct table_store *s, uint32_t index);

/* Stores finished tables; call it when the descriptor is readable, and often. */
void table_store_poll(struct table_store *s);
int table_store_fd(const struct table_store *s);
bool table_store_is_busy(struct table_store *s); /* a requested table is not stored yet */

/* For the walk in user space: as the kernel has them. A chunk is valid until a table is stored, or
 * table_store_trim_copies is called, as after each walk. */
struct space_table *table_store_table(struct table_store *s, uint32_t index);
const void *table_store_chunk(struct table_store *s, uint32_t chunk);
void table_store_trim_copies(struct table_store *s);

void table_store_get_stats(const struct table_store *s, struct table_store_stats *out);

#endif
