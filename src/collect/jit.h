/* collect/jit.h: samples with code that was made at run time, held back until its names are known.
 *
 * A frame of such code is identified by its name, so the name must be there before the frame: but
 * compilers write their perf map or jitdump while the process runs, some at its end. The files are
 * opened when the first such sample is seen, as they are gone with the process's mount namespace,
 * and read when the process ends or changes its image, at the end, or when JIT_MAX_PENDING_BYTES
 * are waiting. */
#ifndef CRESSET_COLLECT_JIT_H
#define CRESSET_COLLECT_JIT_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/object.h"
#include "collect/process.h"
#include "profile/sink.h"

#include <stdint.h>

enum {
	JIT_MAX_PENDING_BYTES = 4 << 20, /* of all processes: some 20 000 samples */
	JIT_MAX_FILES = 128,             /* descriptors of perf maps and jitdumps */
};

/* Where samples go (collect/account.h). */
struct accounts;

/* An element of a stack being held back: a frame of the sink, or with this bit a run-time
 * address. */
#define JIT_ADDRESS (1ull << 63)

struct jit {                 /* of a process */
	int map_fd, dump_fd; /* -1 = none */
	uint64_t skipped;    /* entries of both that could not be read and were counted */
	uint64_t tried_ns;   /* when they were looked for */
	struct buf pending;
};
struct jit_table {
	struct sink *sink;
	struct accounts *accounts;
	struct object_table *objects;
	struct map *leaf_samples; /* counts what is handed over */
	uint32_t unnamed_frame;   /* "[anon]", FRAME_NONE until it was needed */
	VEC(struct jit *) all;
	size_t pending_bytes;
	uint32_t n_files;
};

void jit_table_init(struct jit_table *t, struct sink *sink, struct accounts *accounts,
		    struct object_table *objects, struct map *leaf_samples);
void jit_table_done(struct jit_table *t); /* every jit was closed */
/* From here on samples go to another sink; none is held (jit_flush_all). */
void jit_table_set_sink(struct jit_table *t, struct sink *sink);

/* Holds a sample back; its stack is given by n elements, root first, part as for account_sample. */
void jit_hold(struct jit_table *t, struct process *p, const struct sample *s, uint32_t part,
	      const uint64_t *stack, uint32_t n);
/* Looks for the files of a process that still runs. */
void jit_look(struct jit_table *t, struct process *p, uint64_t now_ns);
/* Hands everything that waits to the sink, with the names there are now. */
void jit_flush_all(struct jit_table *t);
/* The same for one process, which then has none. */
void jit_close(struct jit_table *t, struct process *p);

#endif
