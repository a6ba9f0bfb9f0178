/* format/v8.h: CPU profiles as V8 makes them: a tree of call nodes and samples that refer to them. They are the whole of a
 * .cpuprofile and travel in pieces inside Chrome's traces; both readers fill a struct v8_profile and give it to the sink at the end.
 *
 * The JSON object (v8.dev's Profiler domain of the DevTools protocol, "Profile"):
 *
 *     nodes: [{ id, callFrame: { functionName, url, lineNumber }, hitCount, children: [id] | parent: id }]
 *     samples: [node id], timeDeltas: [µs since the sample before; the first: since startTime], startTime, endTime: µs
 *
 * or, before Chrome 58, head: { …, children: [{ … }] } with functionName and so on in the node itself, and timestamps for
 * timeDeltas. Lines count from 0. Without samples the hit counts are what is known.
 *
 * A sample lasts until the next one; the last until endTime. It gives one to cpu samples/count and its time to cpu/nanoseconds.
 * "(root)" is left out, "(program)", "(idle)" and "(garbage collector)" are frames like others; a function without name is
 * "(anonymous)". All but what the engine does itself, which is native, are of kind js. */
#ifndef CRESSET_FORMAT_V8_H
#define CRESSET_FORMAT_V8_H

#include "base/json_read.h"
#include "base/vec.h"
#include "profile/sink.h"

#include <stdint.h>

enum {
	V8_MAX_NODES = 1 << 23, /* edges, too; of one profile */
	V8_MAX_SAMPLES = 1 << 25,
};

struct v8_node {
	uint64_t id;
	int64_t hits;
	uint32_t frame; /* the sink's, or STACK_TREE_NO_FRAME */
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
	/* Of the object being read: columns that v8_join makes samples of. */
	VEC(uint64_t) sampled;
	VEC(int64_t) times_ns; /* differences, or moments when times_are_stamps */
	bool times_are_stamps;
	int64_t start_ns, end_ns; /* 0 unknown */
	uint64_t skipped;
};
void v8_profile_done(struct v8_profile *p);

/* A JSON value as nanoseconds of microseconds, whole or not, also when it is in quotes. False when it is no number. */
bool v8_us(const struct json_value *v, int64_t *ns);
/* Ids are numbers; text stands for its hash. False for neither. */
bool v8_id(const struct json_value *v, uint64_t *id);

/* Reads one member of a profile object when key is one. 1: done; 0: the key is another's, its value still to come. */
int v8_read_member(struct v8_profile *p, const struct json_value *key, struct json_reader *r,
		   struct sink *sink, struct err *err);
/* Makes samples of the columns read since the last call. last_ns: the time of the sample before, moved on. */
void v8_join(struct v8_profile *p, int64_t *last_ns);

/* Frame of a function; line counts from 1, 0 unknown. STACK_TREE_NO_FRAME for "(root)". */
uint32_t v8_frame(struct sink *sink, const char *name, size_t name_len, const char *url,
		  size_t url_len, uint32_t line);

/* Whose samples these are: sample.owner is an index of an array of these. labels: those of the series. */
struct v8_owner {
	uint32_t pid, tid, labels;
};
/* Gives all samples, those of each owner in order of time. Returns their number; what could not be used is added to p->skipped. */
uint64_t v8_give(struct v8_profile *p, struct sink *sink, const struct v8_owner *owners);

#endif
