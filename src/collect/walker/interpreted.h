/* collect/walker/interpreted.h: processes that run a language whose frames src/runtime knows. They
 * are found by the objects that they map, and announced to the walker in the kernel; names of the
 * frames that it sends are read from them.
 *
 * Names are in the memory of the process, which may end at any moment. So they are read as soon as
 * a stack is seen, a quarter of a second before its samples are resolved. They are stored under
 * the words that the kernel sent, so that they outlive the process.
 *
 * A process is found a few ms after it maps the files; an interpreter that describes itself only
 * once started is examined again after 5, 10, 20 … ms. A fork gets its parent's rows. Contents of
 * stacks wake the reader at most every 20 ms. */
#ifndef CRESSET_COLLECT_WALKER_INTERPRETED_H
#define CRESSET_COLLECT_WALKER_INTERPRETED_H

#include "runtime/runtime.h"

#include <stdbool.h>
#include <stdint.h>

struct event_function;
struct event_stack;
struct image;
struct interpreted;
struct object;
struct object_table;
struct process;

/* limit: processes with an interpreter; a user but root: half, with others a quarter */
enum { INTERPRETED_MAX = 4096 };

/* maps, and what they point to, stay the caller's. */
struct interpreted *interpreted_new(const struct runtime_maps *maps, struct object_table *objects);
void interpreted_free(struct interpreted *in); /* before the objects are freed; NULL is fine */

/* Looks at a process that has mapped something. Returns the runtimes in it that the walker knows
 * of, a bit for each number (bpf/runtime_frame.h); *waits: there may be another in a moment. */
uint32_t interpreted_look(struct interpreted *in, const struct process *p, bool *waits);
/* Returns whether a runtime is likely, by the names of mapped files: costs next to nothing. */
bool interpreted_is_likely(const struct interpreted *in, const struct image *image);
bool interpreted_is_likely_file(const char *name);
/* Forgets a process that calls exec, or has ended. */
void interpreted_forget(struct interpreted *in, uint32_t pid);

/* Whether the walker knows of that runtime in the process. */
bool interpreted_has(const struct interpreted *in, uint32_t pid, uint32_t runtime);

/* Retains the name of a function that the walker has sent. Returns whether the walker has to send
 * all functions again: some were dropped to make space. */
bool interpreted_told(struct interpreted *in, const struct event_function *f);
/* Reads the names of a stack's frames. */
void interpreted_seen(struct interpreted *in, const struct event_stack *st);

/* What two words of a stack stand for: a function, and those inlined into it, innermost first. */
struct interpreted_frames {
	enum runtime_named named;
	uint8_t kind; /* enum frame_kind */
	uint32_t n;   /* 0 unless named is RUNTIME_NAMED or RUNTIME_OWN */
	/* The process did not respond in time: the same words may have a name in a moment. */
	bool is_pending;
	struct interpreted_frame {
		const char *name, *file; /* valid until the next call */
		uint32_t line;
	} v[RUNTIME_MAX_INLINED];
};
void interpreted_frames(struct interpreted *in, uint32_t pid, const uint64_t words[2],
			struct interpreted_frames *out);

/* Returns the number of the runtime that the object contains, whose own code it is then; < 0:
 * none. */
int interpreted_runtime_of(const struct object *o);
/* Does the same for anonymous memory of a process: copies of the object's code. */
int interpreted_runtime_at(const struct interpreted *in, uint32_t pid, uint64_t addr);

/* Names the first program whose interpreter cannot be walked, and says why; NULL: there was
 * none. */
const char *interpreted_refused(const struct interpreted *in);

struct interpreted_stats {
	uint64_t refused; /* processes beyond the limit */
	uint64_t unnamed; /* frames whose names could not be read */
};
void interpreted_get_stats(const struct interpreted *in, struct interpreted_stats *out);

#endif
