/* agent/keeper.h: the unprivileged side of the stream: batches are taken, frames get names. Where both go is the target's business. */
#ifndef CRESSET_AGENT_KEEPER_H
#define CRESSET_AGENT_KEEPER_H

#include "agent/naming.h"
#include "agent/wire.h"
#include "base/stream.h"
#include "profile/chunk_read.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* dict: the dictionary at hand, which only grows until `end`, with all names that are known by now. 0, or -errno with words, which ends the
 * keeper's work but for -ENOSPC. */
struct keeper_batch {
	const uint8_t *sender; /* [STORE_SENDER_BYTES] */
	uint64_t sequence;     /* a batch that was not acknowledged comes again with the same one */
	const void *metrics;   /* of the host: one ExportMetricsServiceRequest, not packed */
	size_t metrics_bytes;  /* 0: there is none */
};
struct keeper_target {
	/* The samples in dict and the metrics are a batch, its meta says of when; 0: it is synced. -ENOSPC: there is no room now; it is given again. */
	int (*batch)(void *ctx, struct profile *dict, const struct keeper_batch *b,
		     struct err *err);
	/* More frames of it have names. */
	int (*names)(void *ctx, struct profile *dict, struct err *err);
	/* It goes. */
	void (*end)(void *ctx);
	/* A batch is given when the files that are new in it were looked at, or so much later; 0: at once. */
	uint64_t names_wait_ns;
	void *ctx;
};

struct keeper {
	struct keeper_target target;
	struct stream stream;
	bool has_begun;
	struct wire_begin begin; /* of the dictionary at hand */
	struct profile *dict;    /* and the samples that came since the last batch */
	struct chunk_reader reader;
	struct buf unpacked;
	struct buf metrics; /* that came since the last batch */
	struct naming naming;
	struct wire_batch batch; /* the last one */
	uint64_t held_until_ns;  /* it waits for names; 0: it does not */
	bool is_full;          /* the disk has no room for it: nothing more is read until it has */
	uint64_t again_ns;     /* when that is tried again */
	uint32_t asked;        /* the mapping whose file was asked for; MAPPING_NONE: none */
	bool has_names;        /* in dict, that the target has not got */
	uint64_t names_due_ns; /* when it gets them at the latest */
	uint64_t sequence;
	bool is_last; /* the collector has said so, and that batch is taken */
};

void keeper_init(struct keeper *k, const struct keeper_target *target,
		 const struct name_files_opts *files);
void keeper_done(struct keeper *k);

/* A stream from a collector; what was there of another one is forgotten. */
void keeper_connect(struct keeper *k, int fd);
/* Takes what has come: call it when the stream is ready. 0; -EPIPE: the collector is gone, and the stream closed; or another -errno with words:
 * the target has failed, or what came is not what a collector says. */
int keeper_run(struct keeper *k, struct err *err);
/* Files may be wanted now that were not before. 0, or -errno with words, as keeper_run. */
int keeper_name(struct keeper *k, struct err *err);

#endif
