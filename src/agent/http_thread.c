#include "agent/http_thread.h"

#include "agent/verdict.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/mem.h"

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

static char *base_of(const char *url)
{
	size_t n = strlen(url);

	while (n && url[n - 1] == '/')
		n--;
	return xstrndup(url, n);
}

void http_thread_init(struct http_thread *t, const struct http_thread_opts *opts)
{
	*t = (struct http_thread){ .url = base_of(opts->url),
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

	/* A copy: another one may be set while this one is on its way. */
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
	/* With the lock held: else it falls between the thread's look and its wait. */
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
