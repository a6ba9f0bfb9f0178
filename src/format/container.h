/* format/container.h: a profile as one packed block of bytes, for a page that shows it without asking anybody: what report.html
 * carries, and what the page gets of a file that is dropped on it.
 *
 *     gzip of  "CRC1"
 *              varint H, H bytes of JSON: the header
 *              then for each of its "types", in their order:
 *              "tree_bytes" bytes: a tree (format/container_tree.h)
 *              "sample_bytes" bytes: its samples in order of time, where they have times
 *
 * docs/formats.md describes it, web/report/container.js reads it. Memory is bounded: trees have at most CONTAINER_MAX_NODES nodes, what is
 * smaller is in rests; samples at most CONTAINER_MAX_ROWS rows, more are added up over windows of time. The header says both. */
#ifndef CRESSET_FORMAT_CONTAINER_H
#define CRESSET_FORMAT_CONTAINER_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "format/format.h"

enum {
	CONTAINER_VERSION = 1,
	CONTAINER_MAX_NODES = 1 << 20,   /* of a tree */
	CONTAINER_MAX_ROWS = 1 << 19,    /* of samples, of a type */
	CONTAINER_MAX_THREADS = 1 << 16, /* the rest is one */
	CONTAINER_MAX_TYPES = 256,
};

/* A thread: by its id where the source has ids, else by its name. */
struct container_thread {
	uint32_t pid, tid;
	uint32_t name, process; /* strings */
	uint32_t gpu, stream;   /* of what ran on a GPU, for which tid is SAMPLE_NO_ID; else 0 */
};
/* may_go_on (NULL: always) is asked before each step, a tree of a type, its samples, packing, with what is held and what the step takes:
 * anything but 0 is the end of it. Steps themselves are bounded by the limits above and by the profile, which is in memory.
 * shown (may be NULL) gets the tree of the type that is seen first, which is there during the call. */
struct container_watch {
	int (*may_go_on)(void *ctx, uint64_t bytes, struct err *err);
	void (*shown)(void *ctx, const struct tree *t);
	void *ctx;
};
struct container {
	const struct profile *p;
	const struct container_watch *watch; /* NULL: none */
	uint32_t shown,
		shown_row; /* the type that is seen first, and which row of the header it is */
	struct buf types, parts;
	struct buf beside;  /* JSON; empty: nothing */
	char *const *notes; /* as of format_write_opts */
	struct json json;   /* to types */
	uint32_t n_types;
	VEC(struct container_thread) threads; /* 0: all that have no place */
	struct map thread_index;
};

/* All of it at once: the types that a writer with these options takes, --type, or all that have samples. watch may be NULL.
 * -ENOENT with words. */
int container_write(struct profile *p, const struct format_write_opts *opts,
		    const struct container_watch *watch, struct buf *gz, struct err *err);

/* By hand. shown: the type. */
void container_begin(struct container *c, const struct profile *p, uint32_t shown);
void container_done(struct container *c);

/* Adds a difference, whose older side is of this profile. The tree is sorted, nothing else. */
void container_add_diff(struct container *c, uint32_t type, struct tree *t,
			const struct profile *older);

/* Packs it all. */
int container_end(struct container *c, struct buf *gz, struct err *err);

#endif
