/* collect/interpreted.h: processes that run a language of which src/runtime knows the frames: found by the objects that they map,
 * announced to the walker in the kernel, and asked for the names of the frames that it sends.
 *
 * Names are in the memory of the process, which may end any moment, so they are read as soon as a stack is seen, a quarter of a second before
 * its samples are resolved; they are kept by what the kernel sent, so that they outlive the process. */
#ifndef CRESSET_COLLECT_INTERPRETED_H
#define CRESSET_COLLECT_INTERPRETED_H

#include "bpf/event.h"
#include "collect/process.h"
#include "runtime/runtime.h"

#include <stdbool.h>
#include <stdint.h>

struct interpreted;

enum { INTERPRETED_MAX = 4096 }; /* processes at once */

/* maps are the caller's, as are what they point to. */
struct interpreted *interpreted_new(const struct runtime_maps *maps, struct object_table *objects);
void interpreted_free(struct interpreted *in); /* before the objects; NULL is fine */

/* A process that has mapped something, as it is now. True when the walker knows of a runtime in it; *waits: it may in a moment. */
bool interpreted_look(struct interpreted *in, const struct process *p, bool *waits);
/* Whether a runtime is likely to be there, by the names of what is mapped: costs next to nothing. */
bool interpreted_is_likely(const struct interpreted *in, const struct image *image);
/* One that calls exec, or has ended. */
void interpreted_forget(struct interpreted *in, uint32_t pid);

/* Reads the names of a stack's frames. */
void interpreted_seen(struct interpreted *in, const struct event_stack *st);

/* A frame of a stack by its two words. */
struct interpreted_frame {
	enum runtime_named named;
	uint8_t kind;            /* enum frame_kind */
	const char *name, *file; /* until the next call of anything */
	uint32_t line;
};
void interpreted_frame(struct interpreted *in, uint32_t pid, const uint64_t words[2],
		       struct interpreted_frame *out);

/* Whether the object has a runtime in it: whether its code is the interpreter's. */
bool interpreted_is_runtime(const struct object *o);

struct interpreted_stats {
	uint64_t refused; /* processes: there were too many */
	uint64_t unnamed; /* frames whose names could not be read */
};
void interpreted_get_stats(const struct interpreted *in, struct interpreted_stats *out);

#endif
