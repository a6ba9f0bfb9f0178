/* format/v8/v8.h: CPU profiles of V8: a tree of call nodes and samples that refer to them. A
 * .cpuprofile file is one; in Chrome's traces they arrive in pieces. Both readers fill a struct
 * v8_profile and pass it to the sink at the end.
 *
 * The JSON object (v8.dev's Profiler domain of the DevTools protocol, "Profile"):
 *
 *     nodes: [{ id, callFrame: { functionName, url, lineNumber }, hitCount,
 *               children: [id] | parent: id }]
 *     samples: [node id], timeDeltas: [µs since the previous sample; the first: since startTime],
 *     startTime, endTime: µs
 *
 * or, before Chrome 58, head: { …, children: [{ … }] } with functionName and so on in the node
 * itself, and timestamps instead of timeDeltas. Lines count from 0. Without samples the hit counts
 * are used.
 *
 * A sample lasts until the next one; the last until endTime. It adds one to cpu samples/count and
 * its time to cpu/nanoseconds. "(root)" is dropped; "(program)", "(idle)" and "(garbage collector)"
 * are ordinary frames; a function without a name is "(anonymous)". Frames are of kind js, except
 * the engine's own work, which is native. */
#ifndef CRESSET_FORMAT_V8_V8_H
#define CRESSET_FORMAT_V8_V8_H

#include "base/vec.h"
#include "format/common/format.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_reader;
struct json_value;
struct sink;

enum {
	V8_MAX_NODES = 1 << 23, /* limit: nodes, and edges, of a CPU profile; others are skipped */
	V8_MAX_SAMPLES = 1 << 25, /* limit: samples of it; others are skipped */
};

struct v8_node {
	uint64_t id;
	int64_t hits;   /* or bytes, of a heap profile */
	uint32_t frame; /* in the sink, or STACK_TREE_NO_FRAME */
};
struct v8_edge {
	uint64_t parent, child;
};
struct v8_sample {
	int64_t time_ns;
	uint64_t node;
	uint32_t weight, owner;
};
struct v8_profile { /* zeroed = empty */
	VEC(struct v8_node) nodes;
	VEC(struct v8_edge) edges;
	VEC(struct v8_sample) samples;
	/* Of the object being read: columns that v8_join turns into samples. */
	VEC(uint64_t) sampled;
	VEC(int64_t) times_ns; /* differences, or times if times_are_stamps */
	bool times_are_stamps;
	bool is_heap;             /* nodes have a selfSize instead of hits */
	int64_t start_ns, end_ns; /* 0: unknown */
	uint64_t skipped;
};
void v8_profile_done(struct v8_profile *p);

/* Converts a JSON value in microseconds to nanoseconds, exactly: times since 1970 with decimals are
 * more than a double holds. It may be quoted. Returns false if it is not a number. */
bool v8_us(const struct json_value *v, int64_t *ns);
/* Ids are numbers; text is replaced by its hash. Returns false for other values. */
bool v8_id(const struct json_value *v, uint64_t *id);

/* Reads a member of a profile object if key is one. Returns 1, or 0 if it is not; its value is then
 * still unread. */
int v8_read_member(struct v8_profile *p, const struct json_value *key, struct json_reader *r,
		   struct sink *sink, struct err *err);
/* Creates samples from the columns read since the last call. last_ns: in: the time of the previous
 * sample; out: of the last one. */
void v8_join(struct v8_profile *p, int64_t *last_ns);

/* Returns the frame of a function; line counts from 1, 0 unknown. STACK_TREE_NO_FRAME for
 * "(root)". */
uint32_t v8_frame(struct sink *sink, const char *name, size_t name_len, const char *url,
		  size_t url_len, uint32_t line);

/* The owner of samples: sample.owner is an index in an array of these. labels: those of the
 * series. */
struct v8_owner {
	uint32_t pid, tid, labels;
};
/* Gives the hits of all nodes to a series; returns how many nodes have any. */
uint64_t v8_give_nodes(struct v8_profile *p, struct sink *sink, uint32_t series);
/* Gives all samples, each owner's in chronological order. Returns their number; adds unusable ones
 * to p->skipped. */
uint64_t v8_give(struct v8_profile *p, struct sink *sink, const struct v8_owner *owners);

/* --- cpuprofile.c ---
 *
 * .cpuprofile files: CPU profiles of V8 written by Node.js (--cpu-prof), Chrome and others. One
 * JSON object, described in format/v8/v8.h. Times are on V8's clock, starting at startTime. */

struct input;

extern const struct format format_cpuprofile;

bool cpuprofile_detect(const char *head, size_t len);
int cpuprofile_read(struct input *in, struct sink *sink, struct err *err);

/* --- heapprofile.c ---
 *
 * .heapprofile files: the sampling heap profiler of V8 (node --heap-prof, Chrome's "allocation
 * sampling"): the profile's older form, whose nodes have a selfSize: bytes that were allocated
 * there and still live. V8 scales them from its samples; an empty profile is valid. */

extern const struct format format_heapprofile;

bool heapprofile_detect(const char *head, size_t len);
int heapprofile_read(struct input *in, struct sink *sink, struct err *err);

#endif
