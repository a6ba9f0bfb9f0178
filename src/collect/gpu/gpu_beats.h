/* collect/gpu/gpu_beats.h: a thread that beats for the memory shared with programs (ring_beat,
 * live_beat). Their libraries stop when no agent has beaten for 2 s. A thread that does
 * nothing else beats in time on a busy machine as well, where the collector's own work of 0.1 s can
 * take seconds. It ends with the process, as the beats have to. */
#ifndef CRESSET_COLLECT_GPU_GPU_BEATS_H
#define CRESSET_COLLECT_GPU_GPU_BEATS_H

#include <stdint.h>

struct gpu_beats;

/* Returns NULL if no thread can be made. */
struct gpu_beats *gpu_beats_new(void);
void gpu_beats_free(struct gpu_beats *b); /* NULL is fine, here and below */

/* Calls fn with it. It stays the caller's: remove it before it is closed. */
typedef void gpu_beat_fn(void *of, uint64_t now_ns);
void gpu_beats_add(struct gpu_beats *b, gpu_beat_fn *fn, void *of);
void gpu_beats_remove(struct gpu_beats *b, const void *of);

#endif
