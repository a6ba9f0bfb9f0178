/* agent/keeper.h: the store process's side of the stream: batches go into the store, frames get names. */
#ifndef CRESSET_AGENT_KEEPER_H
#define CRESSET_AGENT_KEEPER_H

#include "agent/naming.h"
#include "agent/stream.h"
#include "agent/wire.h"
#include "profile/chunk_read.h"
#include "profile/profile.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct keeper {
	struct store *store; /* the caller's */
	struct stream stream;
	bool has_begun;
	struct wire_begin begin; /* of the dictionary at hand */
	struct profile *dict;    /* and the samples that came since the last batch */
	struct chunk_reader reader;
	struct buf unpacked;
	struct naming naming;
	struct wire_batch batch; /* the last one */
	bool is_full;          /* the disk has no room for it: nothing more is read until it has */
	uint64_t again_ns;     /* when that is tried again */
	uint32_t asked;        /* the mapping whose file was asked for; MAPPING_NONE: none */
	bool has_names;        /* in dict, that the store has not got */
	uint64_t names_due_ns; /* when it gets them at the latest */
	uint64_t sequence, batches, samples;
	bool is_last; /* the collector has said so, and that batch is stored */
};

void keeper_init(struct keeper *k, struct store *store, const struct name_files_opts *files);
void keeper_done(struct keeper *k);

/* A stream from a collector; what was there of another one is forgotten. */
void keeper_connect(struct keeper *k, int fd);
/* Takes what has come: call it when the stream is ready. 0; -EPIPE: the collector is gone, and the stream closed; or another -errno with words:
 * the store has failed, or what came is not what a collector says. */
int keeper_run(struct keeper *k, struct err *err);

#endif
