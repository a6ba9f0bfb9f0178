/* agent/batch_receiver.h: the unprivileged side of the stream: receives batches and names frames.
 * The target decides where both go. */
#ifndef CRESSET_AGENT_BATCH_RECEIVER_H
#define CRESSET_AGENT_BATCH_RECEIVER_H

#include "agent/name_queue.h"
#include "agent/wire.h"
#include "base/buf.h"
#include "base/stream.h"
#include "profile/chunk_read.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct name_files_opts;

/* dict: the current dictionary, which only grows until `end`, with all names known so far.
 * Functions return 0, or -errno with err set; any error but -ENOSPC stops the receiver. */
struct received_batch {
	const uint8_t *sender; /* [STORE_SENDER_BYTES] */
	uint64_t sequence;     /* the same when an unacknowledged batch is sent again */
	const void *metrics;   /* of the host: one ExportMetricsServiceRequest, uncompressed */
	size_t metrics_bytes;  /* 0: none */
};
struct batch_target {
	/* Stores a batch: the samples in dict and the metrics; dict's meta has its time. Returns 0
	 * once it is synced, or -ENOSPC when the disk is full: the batch is passed again later. */
	int (*batch)(void *ctx, struct profile *dict, const struct received_batch *b,
		     struct err *err);
	/* More frames of dict have names. */
	int (*names)(void *ctx, struct profile *dict, struct err *err);
	/* The dictionary is about to be freed. */
	void (*end)(void *ctx);
	/* A batch is passed once the files that are new in it were read, or after this time at the
	 * latest; 0: immediately. */
	uint64_t names_wait_ns;
	void *ctx;
};

struct batch_receiver {
	struct batch_target target;
	struct stream stream;
	bool has_begun;
	struct wire_begin begin; /* of the current dictionary */
	struct profile *dict;    /* and the samples received since the last batch */
	struct chunk_reader reader;
	struct buf unpacked;
	struct buf metrics; /* received since the last batch */
	struct name_queue naming;
	struct wire_batch batch; /* the last one */
	uint64_t held_until_ns;  /* it waits for names until then; 0: it does not */
	bool is_full;            /* the disk is full: nothing is read until space is available */
	uint64_t again_ns;       /* when storing is tried again */
	uint32_t asked;          /* mapping of the requested file; MAPPING_NONE: none */
	bool has_names;          /* dict has names that the target has not seen */
	uint64_t names_due_ns;   /* deadline for passing them */
	uint64_t sequence;
	bool is_last; /* the collector's last batch is stored */
};

void batch_receiver_init(struct batch_receiver *k, const struct batch_target *target,
			 const struct name_files_opts *files);
void batch_receiver_done(struct batch_receiver *k);

/* Starts reading a stream from a collector; drops the state of a previous one. */
void batch_receiver_connect(struct batch_receiver *k, int fd);
/* Processes received messages; call it when the stream is ready. Returns 0; -EPIPE when the
 * collector is gone and the stream closed; or another -errno with err set when the target failed
 * or a message is invalid. */
int batch_receiver_run(struct batch_receiver *k, struct err *err);
/* Call when more files may be wanted than before. Returns 0, or -errno with err set, as
 * batch_receiver_run. */
int batch_receiver_name(struct batch_receiver *k, struct err *err);

/* --- ingest_loop.c: the main loop of the unprivileged process: listens to its parent, receives the
 * collector's stream, and maintains the target. */

struct ingest_ops {
	/* Receives a token file, open for reading; the callee owns the descriptor. NULL: tokens are
	 * ignored. */
	void (*token)(void *ctx, int fd);
	/* The collector connected for the first time. May be NULL. */
	void (*joined)(void *ctx);
	/* names_fd is readable. Pending names are checked again after this. */
	void (*names)(void *ctx);
	/* Called after each round. Returns 0, or -errno with err set, which ends the loop. May be
	 * NULL. */
	int (*tend)(void *ctx, struct err *err);
	void *ctx;
};
struct ingest_loop {
	int control;
	struct batch_receiver keeper; /* the caller initializes and frees it */
	struct ingest_ops ops;
	int names_fd; /* another source of names; -1: none */
	bool is_joined, is_over;
};

/* Runs until the parent says stop or is gone, then receives the collector's last messages. Returns
 * 0, or -errno with err set. */
int ingest_loop_run(struct ingest_loop *t, struct err *err);

/* --- keep_store.c: writes received batches to a store. */

struct keep_store {
	struct store *store;      /* the caller's */
	struct store_dict *known; /* entries of the dictionary that the store has; NULL: none yet */
	bool is_expired;          /* the last batch was older than the retention; this was logged */
};

/* Returns a target for batch_receiver_init. k is the caller's, and must outlive the receiver. */
struct batch_target keep_in_store(struct keep_store *k);

#endif
