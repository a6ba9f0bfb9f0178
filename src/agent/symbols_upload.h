/* agent/symbols_upload.h: uploads symbol tables to a server that names frames itself
 * (--symbols=server), each build id once.
 *
 * The sending process requests a mapping's file as for names (agent/name_queue.h), and passes it
 * here instead of to name_queue_file. The sender handles transport and retries: a failed request
 * leaves no state, and the file must be passed again. */
#ifndef CRESSET_AGENT_SYMBOLS_UPLOAD_H
#define CRESSET_AGENT_SYMBOLS_UPLOAD_H

#include "base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum {
	SYMBOLS_UPLOAD_MAX_KNOWN = 65536
}; /* build ids; beyond this all are forgotten and requested again */
/* Time limit for reading one file's debug information. */
#define SYMBOLS_UPLOAD_LINES_NS UINT64_C(2000000000)

struct symbols_target {
	/* Returns 1 if the server has it, 0 if not, or -errno with err set. */
	int (*head)(void *ctx, const uint8_t *build_id, size_t len, struct err *err);
	/* Returns 0 if the server stored it, -EEXIST if it already has another one, -EFBIG, -EPERM
	 * or -EINVAL if it never will store it, another -errno if not now. */
	int (*put)(void *ctx, const uint8_t *build_id, size_t len, const struct buf *table,
		   struct err *err);
	void *ctx;
};

enum symbols_state {
	SYMBOLS_UNKNOWN, /* the file is needed */
	SYMBOLS_THERE,   /* the server names its frames */
	SYMBOLS_NONE,    /* the server does not: the process that has the file names them */
};

struct symbols_upload {
	struct symbols_target target;
	struct name_files *files; /* finds debug files */
	pthread_mutex_t lock;     /* protects known: another thread may read a state */
	struct map known;         /* hash of a build id → enum symbols_state */
	uint64_t tables, bytes;   /* sent so far */
};

/* files stays the caller's and must outlive u. */
void symbols_upload_init(struct symbols_upload *u, const struct symbols_target *target,
			 struct name_files *files);
void symbols_upload_done(struct symbols_upload *u);

/* Returns the state of a mapping. One without a build id is SYMBOLS_NONE. */
enum symbols_state symbols_upload_state(struct symbols_upload *u, const uint8_t *build_id,
					size_t len);
/* Uploads the table of a mapping's file. fd: the file, which stays the caller's, or -1 if there is
 * none; path: as the process saw it. A file with another build id is not used. Returns 0 if the
 * state is known now, or -errno with err set if not yet. */
int symbols_upload_file(struct symbols_upload *u, const uint8_t *build_id, size_t len, int fd,
			const char *path, struct err *err);

/* --- symbols_thread.c: a thread that uploads symbol tables, one at a time, over its own
 * connection, so neither receiving nor sending batches waits for it.
 *
 * It starts once the server is known to be a Cresset server. If it is another server, or keeps no
 * tables, all frames are named here; this is logged once, and checked again after an hour. */

struct symbols_thread_opts {
	const char *url; /* the base; copied, as is ca_file */
	const char *ca_file;
	bool holds; /* nothing is sent before symbols_thread_set_token */
};

struct symbols_thread;
/* -ENOSYS: no libcurl. */
int symbols_thread_start(const struct symbols_thread_opts *opts, struct symbols_thread **out,
			 struct err *err);
/* Any thread may call these four. The token is copied; "": none. */
void symbols_thread_set_token(struct symbols_thread *s, const char *token);
void symbols_thread_set_peer(struct symbols_thread *s, bool is_cresset);
enum symbols_state symbols_thread_state(struct symbols_thread *s, const uint8_t *build_id,
					size_t len);
bool symbols_thread_is_free(struct symbols_thread *s); /* to take a file */
/* Passes a file, which stays the caller's; path: as the process saw it. Returns false if it cannot
 * take one now. */
bool symbols_thread_give(struct symbols_thread *s, const uint8_t *build_id, size_t len, int fd,
			 const char *path);
/* Returns a descriptor that is readable when the thread is free again or a state has changed; then
 * call symbols_thread_heard. */
int symbols_thread_fd(const struct symbols_thread *s);
void symbols_thread_heard(struct symbols_thread *s);
/* Makes the thread give up its work. If it is still busy with a file, nothing is freed. NULL is
 * fine. */
void symbols_thread_stop(struct symbols_thread *s);

#endif
