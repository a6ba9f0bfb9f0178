/* format/pprof_samples.h: the samples of a pprof file, on their way from the file to a sink. They go
 * there in the file's order, some at a time. */
#ifndef CRESSET_FORMAT_PPROF_SAMPLES_H
#define CRESSET_FORMAT_PPROF_SAMPLES_H

#include "format/pprof_meta.h"
#include "format/pprof_tables.h"

struct pprof_samples;

/* Sink, tables, columns and the file's bytes stay the caller's, and stay as they are meanwhile. n_samples
 * is how many are to come, about. */
struct pprof_samples *pprof_samples_new(struct sink *sink, struct pprof_tables *tables,
					const struct pprof_column *columns, size_t n_columns,
					uint64_t n_samples);

/* Labels `state` and `reason` that are text are left out. */
void pprof_samples_drop_states(struct pprof_samples *s);
void pprof_samples_drop_stack_ids(struct pprof_samples *s);

/* Takes a sample's message; one that cannot be used counts in the tables' `skipped`. False when
 * there are more than PPROF_MAX_SAMPLES values. */
bool pprof_samples_add(struct pprof_samples *s, struct cur message);

/* Gives the sink what it did not get yet. Returns how many samples it got in all. */
uint64_t pprof_samples_free(struct pprof_samples *s);

#endif
