/* bench/store/model_real.h: the stacks of a recording, for a model whose rows are those: frames, files, names and depths as programs have
 * them, and which of them come together.
 *
 * An hour of ten nodes is made of it: each minute of a node is some stretch of the recording, of which one sample of 16 is
 * there, by chance. So popular stacks and rare ones, and processes that come and go, are real; that hours repeat what a minute had is not.
 * Processes are in 40 programs by their name; files beyond the 40 that are met most have one name together. */
#ifndef CRESSET_BENCH_STORE_MODEL_REAL_H
#define CRESSET_BENCH_STORE_MODEL_REAL_H

#include "model.h"

struct model_real;
struct model_real *model_real_new(const char *path);
void model_real_free(struct model_real *r); /* NULL is fine */

uint32_t model_real_stacks(const struct model_real *r);
uint32_t model_real_functions(const struct model_real *r);
/* Frames, root first, numbered as those of the model: at most MODEL_MAX_DEPTH, of deeper ones the last. */
uint32_t model_real_stack(const struct model_real *r, uint32_t stack, uint32_t *frames);
const char *model_real_name(const struct model_real *r, uint32_t function);
const char *model_real_file(const struct model_real *r, uint32_t function);
uint32_t model_real_binary(const struct model_real *r, uint32_t function);
const char *model_real_binary_name(const struct model_real *r, uint32_t binary);

/* What a node has in a window: pools and the recording's stacks, in any order, several rows of one stack among them. Of each row only
 * these and the value are set: series is the pool. */
void model_real_rows(const struct model_real *r, uint32_t node, uint32_t window, model_rows *out);

#endif
