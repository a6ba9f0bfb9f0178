/* collect/walker/space.h: tells the walker in the kernel where objects are mapped in processes
 * (bpf/space.h), as of now.
 *
 * The resolver's tables show the moment of the current event, a quarter of a second ago; the walker
 * needs the present. So side-band records come here as soon as they are read: a process that calls
 * exec or maps a file is known from then on. An older process is read from /proc when its first
 * sample arrives, which has a stack copy (struct event_raw). So has a sample in an object whose
 * table is not loaded. */
#ifndef CRESSET_COLLECT_WALKER_SPACE_H
#define CRESSET_COLLECT_WALKER_SPACE_H

#include "unwind/walk.h"

#include <stdint.h>

struct event_stack;

/* --- python_groups.c -------------------------------------------------------------------------- */

/* Frames of Python of a sample with a stack copy: the kernel reports in which groups they are
 * (bpf/cpython.h), and the walk of the copy puts each in its place, as the walk in the kernel does
 * (bpf/cpython_walk.h). */
struct python_groups { /* zeroed = none */
	const uint64_t *words, *end;
	uint64_t mark; /* rest of a group whose frames have a call each */
};

/* Returns the groups of a stack, which stay the stack's. */
struct python_groups python_groups_of(const struct event_stack *st);

/* Returns the mark to put after the native frame whose code is at pc and whose stack is from sp to
 * cfa; 0: it runs no frame of Python. */
uint64_t python_groups_mark(struct python_groups *g, uint64_t pc, uint64_t sp, uint64_t cfa);

struct image;
struct object_table;
struct side_record;
struct space;
struct space_maps;
struct table_store_stats;

struct interpreted;

/* objects and interpreted are shared with the resolver; cache_root: as for table_builder_new.
 * Returns NULL when the thread that builds tables cannot be started. */
struct space *space_new(const struct space_maps *maps, struct object_table *objects,
			struct interpreted *interpreted, const char *cache_root);
/* Calls fn for each process that has a runtime, or may have one in a moment. */
void space_on_runtime(struct space *s, void (*fn)(void *ctx, uint32_t pid), void *ctx);
/* Sets the least time between two retries for processes and files without space. The default is
 * 5 s. */
void space_sweep_every(struct space *s, uint64_t every_ns);
void space_free(struct space *s); /* call it before the objects are freed; NULL is fine */
/* As struct space_maps. */
bool space_has_all_processes(const struct space *s);

/* Takes a record that was just read, with its object. */
void space_seen(struct space *s, const struct side_record *r);
/* Takes a record of a process that has started and ended in the meantime. */
void space_passed(struct space *s, const struct side_record *r);
/* Loads the tables of a process that will be sampled. */
void space_expect(struct space *s, uint32_t pid);
/* Loads the tables of a process with a recorded wait, if it is not known. With selected targets it
 * may not be, and its stack, taken when the wait started, does not show the missing part. */
void space_waited(struct space *s, uint32_t pid);
/* Takes a sample that met something not loaded, or whose walk is left to user space: loads that. */
void space_missed(struct space *s, const struct event_raw *raw);
/* Passes changes and newly built tables to the kernel. Call it after reading, and when the
 * descriptor is readable. */
void space_sync(struct space *s);
/* Passes changes only: the kernel takes 10 ms for each MiB of tables. From until_ns on
 * (CLOCK_MONOTONIC) no further process is sent; the next call sends the rest. */
void space_send(struct space *s, uint64_t until_ns);
int space_fd(const struct space *s);
/* Returns when space_sync has to look at something again; UINT64_MAX: never. */
uint64_t space_look_ns(const struct space *s);
/* Returns whether tables are being built. */
bool space_is_busy(struct space *s);

/* Returns the object of a frame; NULL when it is gone. */
struct object *space_object(struct space *s, uint64_t frame);

/* Whether the process has code that a runtime has made, and that a walk can step through: then a
 * stack has more words than frames. */
bool space_has_code(const struct space *s, uint32_t pid);

/* Walks a stack copy in the address space that the process had at that time, with marks for the
 * groups. max_frames: words in frames. */
struct unwind_walk space_walk(struct space *s, const struct image *image,
			      const struct event_raw *raw, struct python_groups groups,
			      uint64_t *frames, uint32_t max_frames);

void space_get_stats(const struct space *s, struct table_store_stats *out);
/* Returns the number of processes so far for whose mappings a map had no space, each once until it
 * has space; and of files without a place for their unwind table. */
uint64_t space_refused(const struct space *s);

#endif
