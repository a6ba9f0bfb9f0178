/* collect/gpu_probes.h: the programs of bpf/gpu.bpf.c, and where they are attached: in every file of a GPU's library that some process has mapped.
 *
 * Nothing is loaded before the first such file is seen, so that a host without a GPU pays nothing. A file is known by its inode: one that many containers
 * have from the same layer is probed once. */
#ifndef CRESSET_COLLECT_GPU_PROBES_H
#define CRESSET_COLLECT_GPU_PROBES_H

#include "base/err.h"
#include "bpf/gpu_event.h"
#include "collect/collect.h"
#include "collect/sampler.h"

#include <stdbool.h>

struct gpu_probes;

enum { GPU_MAX_FILES = 128 }; /* probed at once; further ones are counted */

/* events: as struct collect_opts. The sampler outlives it. */
struct gpu_probes *gpu_probes_new(struct sampler *s, const struct collect_opts *opts);
void gpu_probes_free(struct gpu_probes *g); /* NULL is fine */

/* Why the kernel takes no probes; NULL: it takes them, or none was needed so far. */
const char *gpu_probes_refused(const struct gpu_probes *g);

/* Whether a file of this path is to be handed over. */
bool gpu_probes_want(const char *path);
/* The file open at fd, which stays the caller's, is probed from now on, unless it is already. */
void gpu_probes_add(struct gpu_probes *g, const char *path, int fd);
/* A process has mapped a file. */
void gpu_probes_mapped(struct gpu_probes *g, uint32_t pid, const char *path, uint64_t start,
		       uint64_t len);
/* The files that a program which is started from here would find. */
void gpu_probes_expect(struct gpu_probes *g);
/* No call is seen any more. */
void gpu_probes_detach(struct gpu_probes *g);

/* Launches that no stack has stood for so far, of all threads: put into the ring's order by the caller. Each is given once. */
void gpu_probes_rest(struct gpu_probes *g,
		     void (*fn)(void *ctx, uint32_t tid, const struct gpu_thread *t), void *ctx);
/* Whether the kernel has that allocation. */
bool gpu_probes_has_block(struct gpu_probes *g, const struct gpu_block_key *key,
			  struct gpu_block *out);
void gpu_probes_drop_block(struct gpu_probes *g, const struct gpu_block_key *key);
/* As sampler_new_epoch. */
void gpu_probes_new_epoch(struct gpu_probes *g);

void gpu_probes_get_stats(struct gpu_probes *g, struct gpu_probes_stats *out);

#endif
