/* format/firefox_rows.h: the tables of a profile being written, filled from the samples' stacks. Strings and libraries are those of the
 * whole file; stacks, frames, functions and resources are numbered from 0 in each thread. Only the writer uses it. */
#ifndef CRESSET_FORMAT_FIREFOX_ROWS_H
#define CRESSET_FORMAT_FIREFOX_ROWS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { FX_NULL = UINT32_MAX }; /* no row */

struct fx_out_frame {
	uint32_t func, line;
	uint8_t kind, inline_depth;
};
struct fx_out_func {
	uint32_t name, file, resource; /* strings of the profile; resource: row or FX_NULL */
	bool is_js;
};
struct fx_out_stack {
	uint32_t prefix, frame;
};

struct fx_out_tables { /* zeroed but for p = empty */
	struct profile *p;
	/* Strings of the profile → rows of stringArray, all threads. */
	struct map string_rows;
	VEC(uint32_t) strings;
	struct map lib_rows; /* string → row of libs */
	VEC(uint32_t) libs;
	/* Of the thread at hand. Frames: a frame of the profile → its first row; its inlined lines are the rows behind. */
	struct map stack_rows, frame_rows, func_rows, resource_rows;
	VEC(struct fx_out_stack) stacks;
	VEC(struct fx_out_frame) frames;
	VEC(struct fx_out_func) funcs;
	VEC(uint32_t) resources; /* strings of the profile */
};

/* The row of a string or library of the profile, added when new. */
uint32_t fx_put_string(struct fx_out_tables *t, uint32_t string);
uint32_t fx_put_lib(struct fx_out_tables *t, uint32_t string);
/* The row of a stack of the profile, FX_NULL for the one without frames. A prefix comes before what is on it. */
uint32_t fx_put_stack(struct fx_out_tables *t, uint32_t id);

void fx_out_tables_clear(struct fx_out_tables *t); /* for the next thread */
void fx_out_tables_done(struct fx_out_tables *t);

#endif
