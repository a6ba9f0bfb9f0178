/* A thread with a request loop over one connection. The owner wakes it; a change of token or a
 * stop is noticed between requests. */
#include "agent/http_thread.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/http_get.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
	CONNECT_MS = 10000,
	TOTAL_MS = 120000,
	END_MS = 500, /* libcurl looks up once a second, mostly sooner */
};

void http_thread_init(struct http_thread *t, const struct http_thread_opts *opts)
{
	size_t len = strlen(opts->url);

	while (len && opts->url[len - 1] == '/')
		len--;
	*t = (struct http_thread){ .url = xstrndup(opts->url, len),
				   .ca_file = opts->ca_file ? xstrdup(opts->ca_file) : NULL,
				   .holds = opts->holds };
	pthread_mutex_init(&t->lock, NULL);
	cond_init(&t->news);
}

static void *run(void *ctx)
{
	struct http_thread *t = ctx;

	while (!atomic_load(&t->is_over))
		t->step(t->ctx);
	pthread_mutex_lock(&t->lock);
	t->has_ended = true;
	pthread_cond_broadcast(&t->news);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int http_thread_start(struct http_thread *t, void (*step)(void *ctx), void *ctx, struct err *err)
{
	int rc = http_client_new(&t->client, err);

	if (rc)
		return rc;
	t->step = step;
	t->ctx = ctx;
	if ((rc = pthread_create(&t->thread, NULL, run, t)))
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	t->is_started = true;
	return 0;
}

int http_thread_ask(struct http_thread *t, const struct http_request *r, struct err *err)
{
	char token[HTTP_THREAD_TOKEN_MAX];
	struct http_request whole = *r;

	/* A copy: another token may be set during the request. */
	pthread_mutex_lock(&t->lock);
	memcpy(token, t->token, sizeof token);
	t->asked_n_tokens = t->n_tokens;
	pthread_mutex_unlock(&t->lock);
	whole.connect_ms = CONNECT_MS;
	whole.total_ms = TOTAL_MS;
	whole.max_bytes = HTTP_THREAD_ANSWER_BYTES;
	whole.token = *token ? token : NULL;
	whole.ca_file = t->ca_file;
	whole.stays = true;
	whole.give_up = &t->is_over;
	int rc = http_get(t->client, &whole, -1, err);
	explicit_bzero(token, sizeof token);
	return rc;
}

void http_thread_back_off(struct http_thread *t, uint64_t retry_after_s)
{
	uint64_t random = 0;

	t->failures++;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = 0;
	uint64_t end_ns = clock_mono_ns() + backoff_ns(t->failures, retry_after_s, random);
	pthread_mutex_lock(&t->lock);
	while (!atomic_load(&t->is_over) && !t->tries_now && clock_mono_ns() < end_ns)
		cond_wait_until(&t->news, &t->lock, end_ns);
	t->tries_now = false;
	pthread_mutex_unlock(&t->lock);
}

bool http_thread_is_held(struct http_thread *t)
{
	pthread_mutex_lock(&t->lock);
	bool held = t->holds;
	pthread_mutex_unlock(&t->lock);
	return held;
}

bool http_thread_has_new_token(const struct http_thread *t)
{
	return t->n_tokens != t->asked_n_tokens;
}

void http_thread_set_token(struct http_thread *t, const char *token)
{
	t->n_tokens += strcmp(t->token, token) != 0;
	snprintf(t->token, sizeof t->token, "%s", token);
	t->holds = false;
	pthread_cond_broadcast(&t->news);
}

bool http_thread_wait_end(struct http_thread *t, uint64_t within_ns)
{
	uint64_t at_ns = clock_mono_ns() + within_ns;

	pthread_mutex_lock(&t->lock);
	while (!t->has_ended && cond_wait_until(&t->news, &t->lock, at_ns))
		continue;
	bool ended = t->has_ended;
	pthread_mutex_unlock(&t->lock);
	return ended;
}

bool http_thread_end(struct http_thread *t)
{
	/* With the lock held: otherwise the thread could miss it between its check and its wait. */
	pthread_mutex_lock(&t->lock);
	atomic_store(&t->is_over, true);
	pthread_cond_broadcast(&t->news);
	pthread_mutex_unlock(&t->lock);
	return http_thread_wait_end(t, END_MS * 1000000ull);
}

void http_thread_done(struct http_thread *t)
{
	if (t->is_started)
		pthread_join(t->thread, NULL);
	http_client_free(t->client);
	pthread_cond_destroy(&t->news);
	pthread_mutex_destroy(&t->lock);
	explicit_bzero(t->token, sizeof t->token);
	free(t->url);
	free(t->ca_file);
	*t = (struct http_thread){ 0 };
}

/* --- the meaning of a response --------------------------------------------------------------- */

#define SECOND_NS         1000000000ull
#define BACKOFF_MAX_NS    (60 * SECOND_NS)
#define RETRY_AFTER_MAX_S 600

static bool is_ours_to_wait(long status)
{
	switch (status) {
	case 401: /* a token can be renewed, an address corrected */
	case 403:
	case 404:
	case 405:
	case 407:
	case 408:
	case 421:
	case 425:
	case 429:
		return true;
	}
	return false;
}

static bool is_broken(long status)
{
	return status == 500 || status == 501 || status == 505;
}

enum delivery delivery_of(const struct attempt *a)
{
	if (a->status >= 200 && a->status < 300)
		return DELIVERY_SENT;
	if (a->is_delta && (a->status == 412 || a->status == 400))
		return DELIVERY_WHOLE;
	if (a->is_zstd && (a->status == 415 || (a->status == 400 && !a->zstd_works)))
		return DELIVERY_GZIP;
	if (a->status == 413)
		return DELIVERY_SPLIT;
	if (a->status == 409 && !a->is_first)
		return DELIVERY_RESTART;
	if (is_broken(a->status))
		return a->breaks < DELIVERY_MAX_BREAKS ? DELIVERY_WAIT : DELIVERY_REFUSE;
	if (a->status < 400 || a->status >= 500 || is_ours_to_wait(a->status))
		return DELIVERY_WAIT;
	return DELIVERY_REFUSE;
}

uint64_t backoff_ns(uint32_t failures, uint64_t retry_after_s, uint64_t random)
{
	uint32_t doublings = failures > 7 ? 6 : failures ? failures - 1 : 0;
	uint64_t wait_ns = SECOND_NS << doublings;

	if (retry_after_s) {
		wait_ns = (retry_after_s < RETRY_AFTER_MAX_S ? retry_after_s : RETRY_AFTER_MAX_S) *
			  SECOND_NS;
		return wait_ns + random % (wait_ns / 10);
	}
	if (wait_ns > BACKOFF_MAX_NS)
		wait_ns = BACKOFF_MAX_NS;
	return wait_ns - random % (wait_ns / 2);
}
