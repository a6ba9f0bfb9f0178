/* agent/name_requests.h: requests from queries for names of frames. Naming (name_queue.h) adds the
 * frames that are pending. A thread that runs a query requests those it is about to show, and
 * may wait a moment for their names.
 *
 * All functions but new and free may be called by any thread. */
#ifndef CRESSET_AGENT_NAME_REQUESTS_H
#define CRESSET_AGENT_NAME_REQUESTS_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct name_requests;
struct profile;

int name_requests_new(struct name_requests **out, struct err *err);
void name_requests_free(struct name_requests *a); /* NULL is fine */

/* --- for naming --- */

/* Returns a descriptor that is readable when a query requests names. */
int name_requests_fd(const struct name_requests *a);
struct name_keys {
	VEC(uint64_t) v;
};
/* Returns a key for a mapping's file, the same in every dictionary. */
uint64_t name_mapping_key(const struct profile *dict, uint32_t mapping);
static inline uint64_t name_frame_key(uint64_t mapping_key, uint64_t offset)
{
	return hash_mix(mapping_key, offset);
}
/* Appends the mappings (name_mapping_key) requested since the last call. */
void name_requests_take(struct name_requests *a, struct name_keys *out);
/* Marks a frame as pending. frame: hash of its mapping and offset (name_frame_key). */
void name_requests_add(struct name_requests *a, uint64_t frame);
/* The names of these frames are visible to queries now, or will not be found. */
void name_requests_finish(struct name_requests *a, const uint64_t *frames, size_t n);
/* No frame is pending any more. */
void name_requests_finish_all(struct name_requests *a);

/* --- for queries --- */

bool name_requests_has(struct name_requests *a);
/* Moves the pending ones of these frames of dict to the front of the queue. Returns when none of
 * them is pending, or after max_ns; true if any was. */
bool name_requests_wait(struct name_requests *a, const struct profile *dict, const uint32_t *frames,
			size_t n, uint64_t max_ns);

#endif
