/* query/gpu_beside.h: what a page in one file (format/container.h) has of GPUs beside its samples: readings of their drivers over time, and why they were idle. */
#ifndef CRESSET_QUERY_GPU_BESIDE_H
#define CRESSET_QUERY_GPU_BESIDE_H

#include "format/format.h"

enum {
	GPU_BESIDE_STEPS = 2000, /* of each metric, at most */
	GPU_BESIDE_ROWS = 100,   /* of each table of idle times */
};

/* As format_write_opts.beside. Nothing is appended of a profile that says nothing of GPUs, else one object:
 *
 *     start_ns   Unix time of the recording's start, in which the others count; 0: they count from there
 *     part       a command that tells idle times of a part, with A and B for its ends, in seconds: part_ns plus what they are
 *     part_ns    behind the start
 *     metrics    [cresset.metric (query/answer_json.h)]: each gauge of a GPU, by host and all its labels
 *     idle       cresset.gpu-idle (query/gpu_idle.h); null: nothing says when they were busy */
int query_gpu_beside(struct profile *p, const struct format_write_opts *opts, struct buf *json,
		     struct err *err);
/* The same of an answer of a source, which has not all that tells idle times: opts->beside_of is a struct buf with them, or an empty one. */
int query_gpu_beside_answer(struct profile *p, const struct format_write_opts *opts,
			    struct buf *json, struct err *err);

#endif
