/* profile/frame.h: the identity of frames, apart from their names.
 *
 * A frame is an identity that never changes. With an address in a file it is {kind, mapping, file
 * offset}; otherwise (JIT code, interpreters, formats without addresses) it is {kind, function
 * name, file, line, binary}. It is never a run-time address, which would differ between processes.
 * The address of a caller is its return address - 1, so that every frame's address lies inside the
 * instruction that was executing.
 *
 * A mapping is a file (or an image like the kernel) that frames point into: one per build id, for
 * all processes that map it. If the source has only run-time addresses (pprof), start, limit and
 * offset are those used to convert them to file offsets. */
#ifndef CRESSET_PROFILE_FRAME_H
#define CRESSET_PROFILE_FRAME_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
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
	/* An interpreted frame of an unknown runtime. */
	FRAME_INTERPRETED,
	/* Not a function but a note on the stack: "[truncated: …]", "-"; also the root frames of
	 * tree_opts.by. */
	FRAME_MARKER,
	/* Stands for pruned frames. */
	FRAME_REST,
	FRAME_KINDS
};

/* One row per kind: its name in tables and JSON, and its suffix in folded stacks ("_[k]", "" for
 * none). */
struct frame_kind_info {
	const char *name, *suffix;
};
extern const struct frame_kind_info frame_kinds[FRAME_KINDS];

enum { MAPPING_NONE = UINT32_MAX, BUILD_ID_MAX = 32 };

/* Linkers write 8 to 20 bytes. Shorter ids and zeros are placeholders that many files have. */
enum { BUILD_ID_MIN = 8 };
static inline bool build_id_is_valid(const uint8_t *id, size_t len)
{
	size_t zeros = 0;
	while (zeros < len && id[zeros] == 0)
		zeros++;
	return len >= BUILD_ID_MIN && zeros < len;
}

/* HAS: pprof's flags: these names are complete and need no symbolizer. */
enum {
	MAPPING_HAS_FUNCTIONS = 1,
	MAPPING_HAS_FILENAMES = 2,
	MAPPING_HAS_LINES = 4,
	MAPPING_HAS_INLINES = 8,
	MAPPING_AS_GIVEN = 16,     /* range and flags come from the source: a writer retains them */
	MAPPING_ID_IS_SHARED = 32, /* other files have its build id (merge_files.h) */
	MAPPING_IS_NAMELESS = 64,  /* may be any file with its build id (merge_files.h) */
};

struct mapping {
	uint32_t name;        /* string: path as the process saw it, "[kernel]", "[vdso]" */
	uint8_t flags;        /* MAPPING_* */
	uint8_t build_id_len; /* 0 = unknown */
	uint8_t build_id[BUILD_ID_MAX];
	/* String, for build ids that are not hex or too long (pprof allows any text), else 0. */
	uint32_t build_id_text;
	/* A hash that distinguishes files (dev, inode and mtime); with a build id: of the code,
	 * 0 if unknown. Files of one build id that both have one, but not the same, are two. */
	uint64_t identity;
	/* Run-time addresses of one mapping and its file offset, 0 if unknown. */
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
	/* For frames by name. binary: string, the function's file or library, as shown; 0
	 * unknown. */
	uint32_t line, binary;
};

struct frame_table { /* zeroed = empty */
	VEC(struct mapping) mappings;
	VEC(struct frame) frames;
	struct map mapping_index;
	struct id_index frame_index;
};

void frame_table_done(struct frame_table *t);

/* Return the id of an equal mapping or frame, added when new. Mappings are equal by build id, else
 * by (name, identity, start, offset), as those whose build id is not valid; those with
 * MAPPING_IS_NAMELESS by build id and name. Of equal ones the first is retained unchanged. */
uint32_t mapping_intern(struct frame_table *t, const struct mapping *m);
/* Call it after changes of mappings. */
void mapping_index_again(struct frame_table *t);
uint32_t frame_intern(struct frame_table *t, const struct frame *f);
/* Sets *id to the id of an equal frame. Returns false if it is missing. */
bool frame_find(const struct frame_table *t, const struct frame *f, uint32_t *id);

/* Does the same for n frames at the same time, at most FRAME_BATCH; faster than one by one. */
enum { FRAME_BATCH = 64 };
void frame_intern_all(struct frame_table *t, const struct frame *frames, uint32_t n, uint32_t *ids);

#endif
