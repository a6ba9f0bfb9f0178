/* agent/http_thread.h: a thread that sends requests to one server over its own connection, embedded
 * in its owner (sender.h, symbols_thread.c).
 *
 *     http_thread_init; http_thread_start(step): calls step until it is over; http_thread_end,
 *     then http_thread_done
 *
 * `lock` also protects the data that the owner shares with its thread. The owner broadcasts `news`
 * when the thread should look at them. One request is in flight at a time, and no other thread
 * waits for it, except in http_thread_wait_end. */
#ifndef CRESSET_AGENT_HTTP_THREAD_H
#define CRESSET_AGENT_HTTP_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct http_request;

enum {
	HTTP_THREAD_TOKEN_MAX = 4096,
	HTTP_THREAD_ANSWER_BYTES = 64 << 10,
};

struct http_thread_opts {
	const char *url; /* the base; copied, as is ca_file */
	const char *ca_file;
	bool holds; /* send nothing before http_thread_set_token */
};

struct http_thread {
	char *url, *ca_file; /* url: without a / at its end */

	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t news;
	bool holds, tries_now, has_ended; /* tries_now: ends http_thread_back_off */
	char token[HTTP_THREAD_TOKEN_MAX];
	uint64_t n_tokens; /* number of tokens set so far */

	atomic_bool is_over;
	struct http_client *client;
	void (*step)(void *ctx);
	void *ctx;
	pthread_t thread;
	bool is_started;
	/* Used only by the thread. */
	uint32_t failures;       /* in a row */
	uint64_t asked_n_tokens; /* n_tokens at the last request */
};

void http_thread_init(struct http_thread *t, const struct http_thread_opts *opts);
/* -ENOSYS: no libcurl. */
int http_thread_start(struct http_thread *t, void (*step)(void *ctx), void *ctx, struct err *err);

/* Called by the thread. Sends r. The caller sets url, stall_s and the request itself; timeouts,
 * limits, token and CA file are filled in here. */
int http_thread_ask(struct http_thread *t, const struct http_request *r, struct err *err);
/* Counts one more failure and waits: as long as backoff_ns says, until the thread is to end, or
 * until tries_now. */
void http_thread_back_off(struct http_thread *t, uint64_t retry_after_s);
bool http_thread_is_held(struct http_thread *t);
/* Called by the thread, with the lock held. True if a token was set after the last request had
 * copied its own: the response states nothing about the new token. */
bool http_thread_has_new_token(const struct http_thread *t);

/* Called by any thread, with the lock held. token is copied; "": none. */
void http_thread_set_token(struct http_thread *t, const char *token);
/* Called by any other thread. Waits at most within_ns; returns whether the thread has ended. */
bool http_thread_wait_end(struct http_thread *t, uint64_t within_ns);
/* Makes the thread give up its request and end. Returns false if it did not end in time: then
 * nothing it uses may be freed. */
bool http_thread_end(struct http_thread *t);
/* The thread has ended or was never started. */
void http_thread_done(struct http_thread *t);

/* --- what to do with a batch after a server's response:
 *
 *     2xx                 sent
 *     412, 400            for a batch compressed against another: the server cannot decompress
 *                         it; send it whole, now
 *     415, 400            for zstd, if this server never accepted it: send gzip, now
 *     413                 send two halves
 *     409                 the server misses too many numbers before this one (they were dropped):
 *                         start over with number 1 and a new UUID
 *     400, 411, 414, 422, 431 …   no server takes this batch: drop and count it
 *     500, 501, 505       the server fails on it: drop it after DELIVERY_MAX_BREAKS times
 *     all others          wait: no connection, an unknown token, a wrong address, too many
 *                         requests */

enum delivery {
	DELIVERY_SENT,
	DELIVERY_WHOLE,
	DELIVERY_GZIP,
	DELIVERY_SPLIT,
	DELIVERY_RESTART,
	DELIVERY_REFUSE,
	DELIVERY_WAIT,
};
enum { DELIVERY_MAX_BREAKS = 8 };

struct attempt {
	long status;     /* 0: no response */
	bool is_delta;   /* it was sent as a delta */
	bool is_zstd;    /* else gzip */
	bool zstd_works; /* this server has accepted it before */
	bool is_first;   /* its number is 1 */
	uint32_t breaks; /* how often the server failed on it before */
};

enum delivery delivery_of(const struct attempt *a);

/* Returns the time to wait. failures: number of failures in a row, from 1; random: any number. The
 * time doubles from 1 s to 60 s, minus a random part of up to half of it. After a Retry-After it
 * is that time plus up to a tenth. */
uint64_t backoff_ns(uint32_t failures, uint64_t retry_after_s, uint64_t random);

#endif
