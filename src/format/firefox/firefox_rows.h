/* format/firefox/firefox_rows.h: the tables of a profile being written, filled from the samples'
 * stacks. Strings and libraries belong to the whole file; stacks, frames, functions and resources
 * are numbered from 0 in each thread. Used only by the writer. */
#ifndef CRESSET_FORMAT_FIREFOX_FIREFOX_ROWS_H
#define CRESSET_FORMAT_FIREFOX_FIREFOX_ROWS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct fx_markers {
	struct json *json;
	struct fx_out_tables *tables;
	void (*flush)(void *ctx); /* called from time to time; may empty json's buffer */
	void *ctx;
	VEC(size_t) samples; /* of the thread, those with a duration */
};

/* Writes "markerSchema", the description of the markers in meta. */
void fx_write_marker_schema(struct json *json);
/* Writes "markers" for m->samples. */
void fx_write_markers(struct fx_markers *m);

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

struct fx_out_tables { /* zeroed, except for p = empty */
	struct profile *p;
	/* Strings of the profile → rows of stringArray, for all threads. */
	struct map string_rows;
	VEC(uint32_t) strings;
	struct map lib_rows; /* string → row of libs */
	VEC(uint32_t) libs;
	/* Of the current thread. frame_rows: a frame of the profile → its first row; its inlined
	 * lines are the rows after it. */
	struct map stack_rows, frame_rows, func_rows, resource_rows;
	VEC(struct fx_out_stack) stacks;
	VEC(struct fx_out_frame) frames;
	VEC(struct fx_out_func) funcs;
	VEC(uint32_t) resources; /* strings of the profile */
};

/* Return the row of a string or library of the profile, adding it if new. */
uint32_t fx_put_string(struct fx_out_tables *t, uint32_t string);
uint32_t fx_put_lib(struct fx_out_tables *t, uint32_t string);
/* Returns the row of a stack of the profile, or FX_NULL for the empty one. A prefix precedes the
 * stacks on it. */
uint32_t fx_put_stack(struct fx_out_tables *t, uint32_t id);

void fx_out_tables_clear(struct fx_out_tables *t); /* for the next thread */
void fx_out_tables_done(struct fx_out_tables *t);

#endif
