/* agent/http_thread.h: a thread that asks one server over a connection of its own, embedded in what it works for (sender.h, symbols_thread.h).
 *
 *     http_thread_init; http_thread_start(step): step is called until it is over; http_thread_end, then http_thread_done
 *
 * The owner keeps what it shares with its thread under `lock` too, and broadcasts `news` when the thread should look at it. */
#ifndef CRESSET_AGENT_HTTP_THREAD_H
#define CRESSET_AGENT_HTTP_THREAD_H

#include "base/err.h"
#include "base/http_get.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	HTTP_THREAD_TOKEN_MAX = 4096,
	HTTP_THREAD_ANSWER_BYTES = 64 << 10,
};

struct http_thread_opts {
	const char *url; /* the base; copied, as ca_file */
	const char *ca_file;
	bool holds; /* nothing is to be sent before http_thread_set_token */
};

struct http_thread {
	char *url, *ca_file; /* url: without a / at its end */

	pthread_mutex_t lock; /* of these */
	pthread_cond_t news;
	bool holds, tries_now, has_ended; /* tries_now: http_thread_back_off is over */
	char token[HTTP_THREAD_TOKEN_MAX];
	uint64_t n_tokens; /* that were set */

	atomic_bool is_over;
	struct http_client *client;
	void (*step)(void *ctx);
	void *ctx;
	pthread_t thread;
	bool is_started;
	/* The thread's own. */
	uint32_t failures;       /* in a row */
	uint64_t asked_n_tokens; /* n_tokens of the last request */
};

void http_thread_init(struct http_thread *t, const struct http_thread_opts *opts);
/* -ENOSYS: no libcurl. */
int http_thread_start(struct http_thread *t, void (*step)(void *ctx), void *ctx, struct err *err);

/* By the thread. Times, bounds, token and CA are filled in; url, stall_s and what is asked are r's. */
int http_thread_ask(struct http_thread *t, const struct http_request *r, struct err *err);
/* One more failure: waits as verdict.h has it, or until it is over or tries_now. */
void http_thread_back_off(struct http_thread *t, uint64_t retry_after_s);
bool http_thread_is_held(struct http_thread *t);
/* By the thread, with the lock held: another token was set after the last request had taken its own. Its answer says nothing of that one. */
bool http_thread_has_new_token(const struct http_thread *t);

/* By any thread, with the lock held. Copied; "": none. */
void http_thread_set_token(struct http_thread *t, const char *token);
/* By any thread but this one: whether it has ended. */
bool http_thread_wait_end(struct http_thread *t, uint64_t within_ns);
/* It gives up what it is at. False: it could not be ended in time: nothing of it may be freed. */
bool http_thread_end(struct http_thread *t);
/* Has ended, or was never started. */
void http_thread_done(struct http_thread *t);

#endif
