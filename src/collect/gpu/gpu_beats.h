/* collect/gpu/gpu_beats.h: a thread that beats for the rings of GPU programs (ring_beat). Their
 * libraries close the window when no agent has beaten for RING_AGENT_GONE_MS. A thread that does
 * nothing else beats in time on a busy machine as well, where the collector's own work of 0.1 s can
 * take seconds. It ends with the process, as the beats have to. */
#ifndef CRESSET_COLLECT_GPU_GPU_BEATS_H
#define CRESSET_COLLECT_GPU_GPU_BEATS_H

struct gpu_beats;
struct ring_reader;

/* Returns NULL if no thread can be made. */
struct gpu_beats *gpu_beats_new(void);
void gpu_beats_free(struct gpu_beats *b); /* NULL is fine, here and below */

/* The ring stays the caller's: remove it before it is closed. */
void gpu_beats_add(struct gpu_beats *b, struct ring_reader *ring);
void gpu_beats_remove(struct gpu_beats *b, const struct ring_reader *ring);

#endif
