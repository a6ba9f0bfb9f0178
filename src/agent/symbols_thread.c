#include "agent/symbols_thread.h"

#include "agent/verdict.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/http_get.h"
#include "base/log.h"
#include "base/mem.h"
#include "profile/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	CONNECT_MS = 10000,
	TOTAL_MS = 120000,
	STALL_S = 30,
	ANSWER_BYTES = 64 << 10,
	TOKEN_MAX = 4096,
	END_MS = 500,
};
#define NONE_KEPT_NS 3600000000000ull /* a server may be renewed */
#define SAY_NS       600000000000ull

enum peer { PEER_UNKNOWN, PEER_CRESSET, PEER_OTHER };

struct job {
	uint8_t build_id[BUILD_ID_MAX];
	size_t len;
	int fd;
	char *path; /* NULL: there is no job */
};

struct symbols_thread {
	char *url, *ca_file;
	struct http_client *client;
	struct name_files files;
	struct symbols_upload upload;
	int event_fd;
	pthread_t thread;

	pthread_mutex_t lock; /* of these */
	pthread_cond_t news;
	struct job job; /* while it is there the thread is at it, or waits to be free again */
	bool holds, tries_now, has_ended;
	enum peer peer;
	uint64_t none_until_ns; /* no table goes to this server until then */
	char token[TOKEN_MAX];
	atomic_bool is_over;

	/* The thread's own. */
	uint32_t failures;
	uint64_t retry_after_s, said_ns;
	bool is_said;
};

static void tell(struct symbols_thread *s)
{
	const uint64_t one = 1;

	if (write(s->event_fd, &one, sizeof one) < 0)
		return; /* it can be read already */
}

/* --- requests --------------------------------------------------------------------------------- */

/* The status, or -errno with words. */
static long ask(struct symbols_thread *s, const char *method, const uint8_t *id, size_t len,
		const struct buf *body, struct err *err)
{
	struct buf url = { 0 }, answer = { 0 };
	char token[TOKEN_MAX];
	long status = 0;

	buf_addf(&url, "%s/api/v1/symbols/", s->url);
	for (size_t i = 0; i < len; i++)
		buf_addf(&url, "%02x", id[i]);
	pthread_mutex_lock(&s->lock);
	memcpy(token, s->token, sizeof token);
	pthread_mutex_unlock(&s->lock);
	const struct http_request r = {
		.url = buf_cstr(&url),
		.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.stall_s = STALL_S,
		.max_bytes = ANSWER_BYTES,
		.token = *token ? token : NULL,
		.ca_file = s->ca_file,
		.method = method,
		.body = body ? body->data : NULL,
		.body_len = body ? body->len : 0,
		.stays = true,
		.give_up = &s->is_over,
		.answer = &answer,
		.retry_after_s = &s->retry_after_s,
		.status = &status,
	};
	int rc = http_get(s->client, &r, -1, err);
	explicit_bzero(token, sizeof token);
	buf_done(&answer);
	buf_done(&url);
	return rc ? rc : status;
}

static void keeps_none(struct symbols_thread *s, const char *why)
{
	pthread_mutex_lock(&s->lock);
	s->none_until_ns = clock_mono_ns() + NONE_KEPT_NS;
	bool was_said = s->is_said;
	s->is_said = true;
	pthread_mutex_unlock(&s->lock);
	if (!was_said)
		log_warn("%s takes no symbol tables (%s): names are found on this machine", s->url,
			 why);
}

/* What is neither yes nor no. */
static int judge(struct symbols_thread *s, long status, struct err *err)
{
	if (status < 0)
		return (int)status;
	if (status == 404 || status == 405 || status == 501) {
		keeps_none(s, "it knows no such address");
		return err_set(err, EPERM, "%s keeps none", s->url);
	}
	if (status == 403) {
		keeps_none(s, "it keeps none, or the token may not write");
		return err_set(err, EPERM, "%s keeps none", s->url);
	}
	if (status == 400)
		return err_set(err, EINVAL, "%s refuses it", s->url);
	return err_set(err, EAGAIN, "%s does not take symbol tables now: status %ld", s->url,
		       status);
}

static int head(void *ctx, const uint8_t *id, size_t len, struct err *err)
{
	long status = ask(ctx, "HEAD", id, len, NULL, err);

	return status == 200 ? 1 : status == 404 ? 0 : judge(ctx, status, err);
}

static int put(void *ctx, const uint8_t *id, size_t len, const struct buf *table, struct err *err)
{
	long status = ask(ctx, "PUT", id, len, table, err);

	if (status == 200 || status == 201)
		return 0;
	if (status == 409)
		return err_set(err, EEXIST, "another table is there");
	if (status == 413)
		return err_set(err, EFBIG, "the table is too large");
	return judge(ctx, status, err);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void back_off(struct symbols_thread *s, const struct err *err)
{
	uint64_t random = 0, now_ns = clock_mono_ns();

	s->failures++;
	if (atomic_load(&s->is_over))
		return;
	if (!s->said_ns || now_ns >= s->said_ns + SAY_NS) {
		log_warn("a symbol table is sent later: %s", err->text);
		s->said_ns = now_ns;
	}
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = 0;
	uint64_t end_ns = now_ns + backoff_ns(s->failures, s->retry_after_s, random);
	pthread_mutex_lock(&s->lock);
	while (!atomic_load(&s->is_over) && !s->tries_now && clock_mono_ns() < end_ns)
		cond_wait_until(&s->news, &s->lock, end_ns);
	s->tries_now = false;
	pthread_mutex_unlock(&s->lock);
}

static void work(struct symbols_thread *s, struct job *j)
{
	struct err err = { 0 };
	uint64_t had = s->upload.tables;
	int rc = symbols_upload_file(&s->upload, j->build_id, j->len, j->fd, j->path, &err);

	close(j->fd);
	if (rc)
		back_off(s, &err);
	else
		s->failures = 0;
	if (s->upload.tables > had)
		log_verbose("the symbol table of %s was sent", j->path);
}

static void job_done(struct symbols_thread *s)
{
	pthread_mutex_lock(&s->lock);
	free(s->job.path);
	s->job.path = NULL;
	pthread_mutex_unlock(&s->lock);
	tell(s);
}

static void *run(void *ctx)
{
	struct symbols_thread *s = ctx;

	while (!atomic_load(&s->is_over)) {
		pthread_mutex_lock(&s->lock);
		while (!s->job.path && !atomic_load(&s->is_over))
			pthread_cond_wait(&s->news, &s->lock);
		struct job j = s->job;
		pthread_mutex_unlock(&s->lock);
		if (j.path) {
			work(s, &j);
			job_done(s);
		}
	}
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- from outside ----------------------------------------------------------------------------- */

static void thread_free(struct symbols_thread *s)
{
	if (s->job.path) /* it came too late */
		close(s->job.fd);
	free(s->job.path);
	symbols_upload_done(&s->upload);
	name_files_close(&s->files);
	http_client_free(s->client);
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s->token, sizeof s->token);
	if (s->event_fd >= 0)
		close(s->event_fd);
	free(s->url);
	free(s->ca_file);
	free(s);
}

int symbols_thread_start(const struct symbols_thread_opts *opts, struct symbols_thread **out,
			 struct err *err)
{
	struct symbols_thread *s = xcalloc(1, sizeof *s);
	const struct symbols_target target = { .head = head, .put = put, .ctx = s };
	size_t n = strlen(opts->url);

	while (n && opts->url[n - 1] == '/')
		n--;
	s->url = xstrndup(opts->url, n);
	s->ca_file = opts->ca_file ? xstrdup(opts->ca_file) : NULL;
	s->holds = opts->holds;
	pthread_mutex_init(&s->lock, NULL);
	cond_init(&s->news);
	name_files_open(&s->files, &(struct name_files_opts){ 0 });
	symbols_upload_init(&s->upload, &target, &s->files);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = s->event_fd < 0 ? err_set(err, errno, "no eventfd: %s", strerror(errno))
				 : http_client_new(&s->client, err);
	if (!rc && (rc = pthread_create(&s->thread, NULL, run, s)))
		rc = err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	if (rc)
		thread_free(s);
	else
		*out = s;
	return rc;
}

void symbols_thread_set_token(struct symbols_thread *s, const char *token)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->token, sizeof s->token, "%s", token);
	s->holds = false;
	s->none_until_ns = 0; /* this one may write, perhaps */
	s->tries_now = s->job.path != NULL;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	tell(s);
}

void symbols_thread_set_peer(struct symbols_thread *s, bool is_cresset)
{
	enum peer peer = is_cresset ? PEER_CRESSET : PEER_OTHER;

	pthread_mutex_lock(&s->lock);
	/* One that has become another answers 404 to the next table. */
	bool changed = s->peer != peer && s->peer != PEER_CRESSET;
	bool says = changed && !is_cresset && !s->is_said;
	s->peer = changed ? peer : s->peer;
	s->is_said |= says;
	pthread_mutex_unlock(&s->lock);
	if (says)
		log_warn("%s is no cresset: names are found on this machine", s->url);
	if (changed)
		tell(s);
}

enum symbols_state symbols_thread_state(struct symbols_thread *s, const uint8_t *build_id,
					size_t len)
{
	enum symbols_state state = symbols_upload_state(&s->upload, build_id, len);

	pthread_mutex_lock(&s->lock);
	bool takes_none = s->peer == PEER_OTHER || (state == SYMBOLS_UNKNOWN && s->none_until_ns &&
						    clock_mono_ns() < s->none_until_ns);
	pthread_mutex_unlock(&s->lock);
	return takes_none ? SYMBOLS_NONE : state;
}

bool symbols_thread_is_free(struct symbols_thread *s)
{
	pthread_mutex_lock(&s->lock);
	bool is_free = !s->job.path && !s->holds && s->peer == PEER_CRESSET;
	pthread_mutex_unlock(&s->lock);
	return is_free;
}

bool symbols_thread_give(struct symbols_thread *s, const uint8_t *build_id, size_t len, int fd,
			 const char *path)
{
	int own = -1;

	if (!len || len > BUILD_ID_MAX || !symbols_thread_is_free(s) ||
	    (own = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		return false;
	pthread_mutex_lock(&s->lock);
	s->job = (struct job){ .len = len, .fd = own, .path = xstrdup(path) };
	memcpy(s->job.build_id, build_id, len);
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	return true;
}

int symbols_thread_fd(const struct symbols_thread *s)
{
	return s->event_fd;
}

void symbols_thread_heard(struct symbols_thread *s)
{
	uint64_t n;

	if (read(s->event_fd, &n, sizeof n) < 0)
		return; /* somebody was before */
}

void symbols_thread_stop(struct symbols_thread *s)
{
	if (!s)
		return;
	uint64_t end_ns = clock_mono_ns() + END_MS * 1000000ull;
	atomic_store(&s->is_over, true);
	pthread_mutex_lock(&s->lock);
	pthread_cond_broadcast(&s->news);
	while (!s->has_ended && clock_mono_ns() < end_ns)
		cond_wait_until(&s->news, &s->lock, end_ns);
	bool ended = s->has_ended;
	pthread_mutex_unlock(&s->lock);
	if (!ended)
		return;
	pthread_join(s->thread, NULL);
	thread_free(s);
}
