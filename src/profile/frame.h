/* profile/frame.h: what a frame is, apart from what it is called.
 *
 * A frame is an identity that never changes. Where there is an address in a file it is {kind,
 * mapping, file offset}; elsewhere (JIT code, interpreters, formats without addresses) it is {kind,
 * function name, file, line, binary}: never a run-time address, which would differ between processes. The
 * address of a caller is its return address - 1, so that every frame's address lies inside the
 * instruction that was executing.
 *
 * A mapping is a file (or an image like the kernel) that frames point into: one per build id,
 * whoever mapped it wherever. Where the source has run-time addresses only (pprof), start, limit
 * and offset tell how they were turned into file offsets. */
#ifndef CRESSET_PROFILE_FRAME_H
#define CRESSET_PROFILE_FRAME_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum frame_kind {
	FRAME_NATIVE = 0,
	FRAME_KERNEL,
	FRAME_JIT,
	FRAME_PYTHON,
	FRAME_JAVA,
	FRAME_GO,
	FRAME_JS,
	FRAME_RUBY,
	FRAME_PHP,
	FRAME_LUA,
	FRAME_PERL,
	FRAME_ERLANG,
	FRAME_GPU_SOURCE,
	FRAME_GPU_KERNEL,
	FRAME_GPU_FUNCTION,
	FRAME_GPU_INSTRUCTION,
	FRAME_GPU_STALL,
	/* A bytecode-interpreted frame of a runtime that is not known closer. */
	FRAME_INTERPRETED,
	/* Says something about the stack: "[truncated: …]", "-"; also the root frames of
	 * tree_opts.by. */
	FRAME_MARKER,
	/* Stands for what was pruned. */
	FRAME_REST,
	FRAME_KINDS
};

/* One row per kind: its name in tables and JSON, and the folded suffix ("_[k]", "" where there is
 * none). */
struct frame_kind_info {
	const char *name, *suffix;
};
extern const struct frame_kind_info frame_kinds[FRAME_KINDS];

enum { MAPPING_NONE = UINT32_MAX, BUILD_ID_MAX = 32 };

/* HAS: what pprof says of a mapping: these names are complete, ask no symbolizer. */
enum {
	MAPPING_HAS_FUNCTIONS = 1,
	MAPPING_HAS_FILENAMES = 2,
	MAPPING_HAS_LINES = 4,
	MAPPING_HAS_INLINES = 8,
	MAPPING_AS_GIVEN = 16, /* the range and these flags are the source's: a writer keeps them */
};

struct mapping {
	uint32_t name;        /* string: path as the process saw it, "[kernel]", "[vdso]" */
	uint8_t flags;        /* MAPPING_* */
	uint8_t build_id_len; /* 0 = unknown */
	uint8_t build_id[BUILD_ID_MAX];
	/* String, for build ids that are not hex or too long (pprof has any text), else 0. */
	uint32_t build_id_text;
	/* Without build id: a hash that tells files apart (content or dev, inode and mtime). */
	uint64_t identity;
	/* Run-time addresses of one mapping and its file offset, 0 where unknown. */
	uint64_t start, limit, offset;
};

struct frame {
	uint8_t kind;     /* enum frame_kind */
	uint32_t mapping; /* MAPPING_NONE: identified by name */
	union {
		uint64_t offset; /* file offset (kernel: address) when mapping != MAPPING_NONE */
		struct {
			uint32_t function, file; /* strings */
		};
	};
	/* By name only. binary: string, the file or library the function is in, as shown; 0 unknown. */
	uint32_t line, binary;
};

struct frame_table { /* zeroed = empty */
	VEC(struct mapping) mappings;
	VEC(struct frame) frames;
	struct map mapping_index, frame_index;
};

void frame_table_done(struct frame_table *t);

/* The id of an equal mapping or frame, added when new. Mappings are equal by build id, else by
 * (name, identity, start, offset); of equal ones the first stays as it is. */
uint32_t mapping_intern(struct frame_table *t, const struct mapping *m);
uint32_t frame_intern(struct frame_table *t, const struct frame *f);

/* The same of n frames at once, at most FRAME_BATCH, in less time than one by one. */
enum { FRAME_BATCH = 64 };
void frame_intern_all(struct frame_table *t, const struct frame *frames, uint32_t n, uint32_t *ids);

#endif
