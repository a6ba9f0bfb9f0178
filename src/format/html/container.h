/* format/html/container.h: a profile as one compressed block of bytes, for a page that shows it
 * without a server: the data of report.html, and of a file dropped on the page.
 *
 *     gzip of  "CRC1"
 *              varint H, H bytes of JSON: the header
 *              then for each of its "types", in their order:
 *              "tree_bytes" bytes: a tree (format/common/tree_bin.h)
 *              "timeline": {"bytes"} bytes: its samples in chronological order, if they have
 *              times
 *
 *     key of the header
 *       version, made_by    1; the program and its version
 *       meta                command host kernel clock cpus start (RFC 3339) start_ms (Unix)
 *                           duration_ns own_cpu_ns own_peak_bytes lost_samples; losses: name text
 *                           remedy n is_sample of each; notes: missing parts, and why.
 *                           Unknown: null or 0
 *       origin_ns           origin of the samples' times, since the start of the recording; 0
 *                           unless clocks started long before
 *       threads             pid tid name process, null if unknown; row 0: all threads that are not
 *                           distinguished. With gpu and stream: the work of one process there
 *       shown               the row of types shown first
 *       gpu                 only with GPU data. start_ns: the start as metrics and idle times
 *                           count it (Unix, or since the start without a wall clock). part: the
 *                           command for idle times of a part, A and B in seconds after the start,
 *                           plus part_ns. metrics: each gauge as /api/v1/metrics returns it, by
 *                           host, gpu, task, clock, direction, reason, in at most
 *                           GPU_BESIDE_STEPS steps of 1 s or more; none without a timeline. idle:
 *                           the response of /api/v1/gpu-idle, GPU_BESIDE_ROWS rows, or null
 *       types               name sample_type unit scale scaled_unit period period_unit samples
 *                           total unfiltered truncated (a sum) nameless (share in code without
 *                           symbols) tree_bytes; timeline: rows bytes window_ns sampled left_out
 *                           lengths; in a difference also older (its meta) older_total older_factor
 *
 * Samples are columns: time, thread, node (index in the tree), value, and with lengths also length.
 * A column is a varint, its bytes, then a varint for each row. The first time is a zigzag number,
 * others are the step from the previous row, ns. A row with a length covers that much time: a part
 * of it counts in proportion. Beyond CONTAINER_MAX_ROWS rows, samples shorter than a window are
 * added up by thread and node (1 ms, or 4, 16 …: window_ns); a page then selects whole windows.
 *
 * web/report/container.js reads it. Memory is bounded: trees have at
 * most CONTAINER_MAX_NODES nodes, with smaller ones merged into rests; samples have at most
 * CONTAINER_MAX_ROWS rows, and beyond that are summed over time windows. The header states both. */
#ifndef CRESSET_FORMAT_HTML_CONTAINER_H
#define CRESSET_FORMAT_HTML_CONTAINER_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct format_write_opts;
struct tree;

enum {
	CONTAINER_VERSION = 1,
	CONTAINER_MAX_NODES = 1 << 20,   /* of a tree */
	CONTAINER_MAX_ROWS = 1 << 19,    /* of samples of a type */
	CONTAINER_MAX_THREADS = 1 << 16, /* further threads are merged */
	CONTAINER_MAX_TYPES = 256,
};

/* A thread, identified by its id if the source has ids, else by its name. */
struct container_thread {
	uint32_t pid, tid;
	uint32_t name, process; /* strings */
	uint32_t gpu, stream;   /* for GPU work, where tid is SAMPLE_NO_ID; else 0 */
};
/* may_go_on (NULL: always) is called before each step (a tree of a type, its samples, packing) with
 * the bytes in use plus those the step needs; a result other than 0 ends the work. The steps
 * themselves are bounded by the limits above and by the profile, which is in memory. shown (may be
 * NULL) gets the tree of the type shown first; it is valid during the call. */
struct container_watch {
	int (*may_go_on)(void *ctx, uint64_t bytes, struct err *err);
	void (*shown)(void *ctx, const struct tree *t);
	void *ctx;
};
struct container {
	const struct profile *p;
	const struct container_watch *watch; /* NULL: none */
	uint32_t shown, shown_row;           /* the type shown first, and its row in the header */
	struct buf types, parts;
	struct buf beside;  /* JSON; empty: none */
	char *const *notes; /* as in format_write_opts */
	struct json json;   /* writes to types */
	uint32_t n_types;
	VEC(struct container_thread) threads; /* 0: all without a number */
	struct map thread_index;
};

/* Writes everything at the same time: the types selected by the options, --type, or all that have
 * samples. watch may be NULL. Returns -ENOENT with a message if none exists. */
int container_write(struct profile *p, const struct format_write_opts *opts,
		    const struct container_watch *watch, struct buf *gz, struct err *err);

/* Writes step by step. shown: the type. */
void container_begin(struct container *c, const struct profile *p, uint32_t shown);
void container_done(struct container *c);

/* Adds a difference whose older side is from this profile. The tree is only sorted. */
void container_add_diff(struct container *c, uint32_t type, struct tree *t,
			const struct profile *older);

/* Compresses the result. */
int container_end(struct container *c, struct buf *gz, struct err *err);

/* --- container_tree.c ---
 *
 * Writes a tree of bounded size (format/common/tree_bin.h) and maps its nodes to the written
 * ones. */

/* Appends t, sorted by name, with about max_nodes nodes at most: the smallest are merged into
 * rests. Returns, by node of t, the written number of the node or of the rest that contains it; the
 * caller frees it. norm: for a difference, else NULL. */
uint32_t *container_put_tree(struct tree *t, size_t max_nodes, const char *norm, struct buf *b);

/* --- container_samples.c ---
 *
 * The samples of a tree in chronological order, as columns of varints.
 *
 * A row is a sample: {time since the previous row, thread, node, value, length}. A row with a
 * length covers that time. If there are too many rows, those shorter than a window are summed: all
 * rows of a thread and node in a window become one row that covers it. A row across a border is
 * divided between both windows in proportion (profile/tree/time_range.h), so sums over whole
 * windows stay exact. */

struct container_row {
	int64_t time_ns, length_ns, value; /* time: relative to the start of the profile */
	uint32_t thread, node;
};
struct container_rows {
	VEC(struct container_row) rows;
	int64_t window_ns; /* 0: rows as sampled */
};

/* Sorts the rows by time and sums them up until there are at most max rows or no larger window is
 * left: a window of all time has a row for each thread and node. */
void container_rows_finalize(struct container_rows *r, size_t max);
/* Writes the columns time, thread, node, value and, if any row has one, length: the size of each in
 * bytes, then its numbers. The first time is zigzag-encoded. Returns whether there are lengths. */
bool container_rows_put(const struct container_rows *r, struct buf *b);

#endif
