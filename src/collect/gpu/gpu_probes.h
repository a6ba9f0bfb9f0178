/* collect/gpu/gpu_probes.h: attaches the programs of bpf/gpu.bpf.c to every file of a GPU library
 * that a process has mapped, of the library that samples allocations, and of HotSpot.
 *
 * Nothing is loaded before the first such file is seen, so a host without a GPU pays nothing. A
 * file is identified by its inode: a file that many containers share from one layer is probed
 * once. */
#ifndef CRESSET_COLLECT_GPU_GPU_PROBES_H
#define CRESSET_COLLECT_GPU_GPU_PROBES_H

#include "bpf/gpu_event.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/sampler_opts.h"

#include <stdbool.h>

struct gpu_probes;

/* limit: GPU libraries with probes, a share per user; others are counted */
enum { GPU_MAX_FILES = 128 };

struct helper;

/* The sampler and the helper must outlive it. */
struct gpu_probes *gpu_probes_new(struct sampler *s, const struct sampler_opts *opts,
				  struct helper *helper);
void gpu_probes_free(struct gpu_probes *g); /* NULL is fine */

/* Returns why the kernel refuses probes; NULL: it accepts them, or none was needed so far. */
const char *gpu_probes_refused(const struct gpu_probes *g);

/* Returns whether to hand over a file with this path. */
bool gpu_probes_want(const char *path);
/* Requests probes of the file open at fd, which a process has mapped (0: none), unless it is
 * already probed; fd stays the caller's.
 * Another process places them (collect/worker/probe_placer.h): nobody waits. */
void gpu_probes_add(struct gpu_probes *g, uint32_t pid, const char *path, int fd);
/* The same for a libjvm (bpf/java_heap.h). Samples of a process are sent from when it is put until
 * it is dropped. Adding returns 0 once the probes are placed, -EAGAIN until then, or -errno if they
 * are refused; putting 0, -ENODEV without any probes, or -errno. */
struct java_heap;
int gpu_probes_add_java(struct gpu_probes *g, uint32_t pid, const char *path, int fd);
int gpu_probes_put_java(struct gpu_probes *g, uint32_t pid, const struct java_heap *heap);
void gpu_probes_drop_java(struct gpu_probes *g, uint32_t pid);
/* Takes what was placed. Call it some times a second. Returns true when all probes are gone, with
 * the process that placed them: the caller adds all files again. */
bool gpu_probes_run(struct gpu_probes *g);
/* Waits until all requested probes are placed, at most that long. */
void gpu_probes_wait(struct gpu_probes *g, uint64_t max_ns);
/* Probes the files that a program started from here would load. */
void gpu_probes_expect(struct gpu_probes *g);
/* Detaches all probes, and waits for that at most that long. */
void gpu_probes_detach(struct gpu_probes *g, uint64_t max_ns);

/* Passes launches that no stack stands for yet to fn, for all threads; the caller puts them into
 * the ring's order. Each is passed once. */
void gpu_probes_rest(struct gpu_probes *g,
		     void (*fn)(void *ctx, uint32_t tid, const struct gpu_thread *t), void *ctx);
/* Returns whether the kernel has that allocation. */
bool gpu_probes_has_block(struct gpu_probes *g, const struct gpu_block_key *key,
			  struct gpu_block *out);
void gpu_probes_drop_block(struct gpu_probes *g, const struct gpu_block_key *key);
/* As sampler_new_epoch. */
void gpu_probes_new_epoch(struct gpu_probes *g);

void gpu_probes_get_stats(struct gpu_probes *g, struct gpu_probes_stats *out);

#endif
