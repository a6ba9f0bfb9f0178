/* collect/space.h: tells the walker in the kernel which object lies where in which process (bpf/space.h), as of now.
 *
 * The resolver's tables show the moment of the event at hand, a quarter of a second ago; the walker needs the present. So side-band
 * records come here as soon as they are read: a process that calls exec or maps a file is known from then on. One that was there
 * before is read from /proc when its first sample arrives, which brings its stack along (struct event_raw); so does a sample of an
 * object whose table is not there. */
#ifndef CRESSET_COLLECT_SPACE_H
#define CRESSET_COLLECT_SPACE_H

#include "bpf/event.h"
#include "collect/process.h"
#include "collect/python_groups.h"
#include "collect/side_band.h"
#include "collect/table_store.h"
#include "unwind/walk.h"

struct space;

struct interpreted;

/* Maps of bpf/sample.bpf.c; they stay the caller's. */
struct space_maps {
	int processes, blocks, tables, segments;
	uint32_t max_segments;
	/* Set while there are processes without a place in the first: they are walked by frame pointers. NULL: nobody looks. */
	volatile uint32_t *processes_full;
	/* Processes are known from the moment they begin; else from their first sample on, and their children. */
	bool all_processes;
};

/* objects and interpreted are shared with the resolver. NULL when there can be no thread that builds tables. */
struct space *space_new(const struct space_maps *maps, struct object_table *objects,
			struct interpreted *interpreted);
void space_free(struct space *s); /* before the objects; NULL is fine */
/* As struct space_maps. */
bool space_has_all_processes(const struct space *s);

/* One record, just read, whose file is open (object_of_record). */
void space_seen(struct space *s, const struct side_record *r);
/* A process that is going to be sampled: has its tables loaded. */
void space_expect(struct space *s, uint32_t pid);
/* A process that a wait was recorded of. Where targets are chosen it may not be known yet, and its stack, taken when the wait began, says of none of
 * what was missing. */
void space_waited(struct space *s, uint32_t pid);
/* A sample that met something that is not loaded, or whose walk is left to user space: has it loaded. */
void space_missed(struct space *s, const struct event_raw *raw);
/* What changed goes to the kernel, tables that were built too. Call it after reading, and when the descriptor is readable. */
void space_sync(struct space *s);
int space_fd(const struct space *s);
/* When space_sync has something to look at again; UINT64_MAX: never. */
uint64_t space_look_ns(const struct space *s);
/* Tables are being built. */
bool space_is_busy(struct space *s);

/* The object of a frame; NULL when it is gone. */
struct object *space_object(struct space *s, uint64_t frame);

/* Walks the copy of a stack in the address space that the process had at that time, with marks for the groups. max_frames words in frames. */
struct unwind_walk space_walk(struct space *s, const struct image *image,
			      const struct event_raw *raw, struct python_groups groups,
			      uint64_t *frames, uint32_t max_frames);

void space_get_stats(const struct space *s, struct table_store_stats *out);
/* Processes for whose mappings a map had no room, so far; each counts once until it has some. */
uint64_t space_refused(const struct space *s);

#endif
