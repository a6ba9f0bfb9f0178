/* agent/symbols_thread.h: a thread that uploads symbol tables (agent/symbols_upload.h), one at a time, over a connection of its own: neither
 * batches that come nor those that are sent wait for one.
 *
 * It begins when the server is known to be a cresset. Where it is none, or keeps no tables, all is named here; that is said once, and looked at
 * again after an hour. */
#ifndef CRESSET_AGENT_SYMBOLS_THREAD_H
#define CRESSET_AGENT_SYMBOLS_THREAD_H

#include "agent/symbols_upload.h"

struct symbols_thread_opts {
	const char *url; /* the base; copied, as ca_file */
	const char *ca_file;
	bool holds; /* nothing is sent before symbols_thread_set_token */
};

struct symbols_thread;
/* -ENOSYS: no libcurl. */
int symbols_thread_start(const struct symbols_thread_opts *opts, struct symbols_thread **out,
			 struct err *err);
/* These four may be called by any thread. The token is copied; "": none. */
void symbols_thread_set_token(struct symbols_thread *s, const char *token);
void symbols_thread_set_peer(struct symbols_thread *s, bool is_cresset);
enum symbols_state symbols_thread_state(struct symbols_thread *s, const uint8_t *build_id,
					size_t len);
bool symbols_thread_is_free(struct symbols_thread *s); /* for a file */
/* A file, which stays the caller's; path: as the process saw it. False: not now. */
bool symbols_thread_give(struct symbols_thread *s, const uint8_t *build_id, size_t len, int fd,
			 const char *path);
/* A descriptor that can be read when it is free again, or a state has changed; and what to call then. */
int symbols_thread_fd(const struct symbols_thread *s);
void symbols_thread_heard(struct symbols_thread *s);
/* Gives up what it is at. It may be amid a file then, and nothing of it is freed. NULL is fine. */
void symbols_thread_stop(struct symbols_thread *s);

#endif
