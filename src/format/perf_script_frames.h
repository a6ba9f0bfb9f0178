/* format/perf_script_frames.h: from the frame lines of one sample to a stack.
 *
 * What stands behind the address is looked up as it is; only new lines are taken apart. As callers
 * are mostly the same as last time, most lines cost one comparison. */
#ifndef CRESSET_FORMAT_PERF_SCRIPT_FRAMES_H
#define CRESSET_FORMAT_PERF_SCRIPT_FRAMES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_script_line.h"
#include "profile/sink.h"

/* A distinct line, without its address. */
struct perf_token {
	const char *text;
	uint32_t len;
	bool is_high, is_inlined;
	struct frame frame;
	uint32_t id;   /* of frame in the sink, where it is not inlined */
	uint32_t next; /* the token that followed last time */
};
struct perf_frame_ref {
	uint32_t token;
	uint32_t file, line; /* where a source line followed, else 0 */
	uint8_t kind;        /* by the source file; FRAME_NATIVE when it does not tell */
};
struct perf_frames { /* zeroed but for sink = empty */
	struct sink *sink;
	struct arena texts;
	VEC(struct perf_token) tokens;
	struct map token_index;
	VEC(struct perf_frame_ref) refs; /* of the current sample, leaf first */
	VEC(uint32_t) ids;
};

void perf_frames_done(struct perf_frames *f);

/* The next frame of the sample, nearer to the root. Beyond PERF_SCRIPT_MAX_FRAMES they are
 * dropped. */
void perf_frames_add(struct perf_frames *f, struct perf_text text, bool is_high);

/* The source line of the frame added last. */
void perf_frames_source(struct perf_frames *f, struct perf_text file, uint32_t line);

/* The stack of what was added; the next sample begins. */
uint32_t perf_frames_stack(struct perf_frames *f);

#endif
