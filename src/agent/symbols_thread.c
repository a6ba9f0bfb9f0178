/* A thread that sends the symbol tables made by symbols_upload.c, and remembers which build ids
 * the server has. */
#include "agent/symbols_upload.h"

#include "agent/http_thread.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/http_get.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/process/elf_names.h"
#include "profile/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STALL_S = 30 };
#define NONE_KEPT_NS 3600000000000ull /* a server may be updated */
#define SAY_NS       600000000000ull

enum peer { PEER_UNKNOWN, PEER_CRESSET, PEER_OTHER };

struct job {
	uint8_t build_id[BUILD_ID_MAX];
	size_t len;
	int fd;
	char *path; /* NULL: no job */
};

struct symbols_thread {
	struct http_thread http;
	struct name_files files;
	struct symbols_upload upload;
	int event_fd;

	/* Protected by the lock of http. */
	struct job job; /* while it is set, the thread works on it or waits to be free again */
	enum peer peer;
	uint64_t none_until_ns; /* no table is sent to this server until then */
	bool is_said;

	/* Used only by the thread. */
	uint64_t retry_after_s, said_ns;
};

static void tell(struct symbols_thread *s)
{
	const uint64_t one = 1;

	if (write(s->event_fd, &one, sizeof one) < 0)
		return; /* it is readable already */
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns the HTTP status, or -errno with err set. */
static long ask(struct symbols_thread *s, const char *method, const uint8_t *id, size_t len,
		const struct buf *body, struct err *err)
{
	struct buf url = { 0 }, answer = { 0 };
	long status = 0;

	buf_addf(&url, "%s/api/v1/symbols/", s->http.url);
	for (size_t i = 0; i < len; i++)
		buf_addf(&url, "%02x", id[i]);
	const struct http_request r = {
		.url = buf_cstr(&url),
		.stall_s = STALL_S,
		.method = method,
		.body = body ? body->data : NULL,
		.body_len = body ? body->len : 0,
		.answer = &answer,
		.retry_after_s = &s->retry_after_s,
		.status = &status,
	};
	int rc = http_thread_ask(&s->http, &r, err);
	buf_done(&answer);
	buf_done(&url);
	return rc ? rc : status;
}

/* Call with the lock held. */
static int keeps_none(struct symbols_thread *s, const char *why, struct err *err)
{
	s->none_until_ns = clock_mono_ns() + NONE_KEPT_NS;
	if (!s->is_said)
		log_warn("%s accepts no symbol tables (%s): symbolizing on this machine",
			 s->http.url, why);
	s->is_said = true;
	return err_set(err, EPERM, "%s stores no symbol tables", s->http.url);
}

/* A refusal applies to the token of the request. If another was set in the meantime, it is tried
 * too. */
static int refused(struct symbols_thread *s, long status, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->http.lock);
	if (status != 403)
		rc = keeps_none(s, "no such route", err);
	else if (http_thread_has_new_token(&s->http))
		rc = err_set(err, EAGAIN, "%s refused the token before this one", s->http.url);
	else
		rc = keeps_none(s, "it stores none, or the token has no write scope", err);
	pthread_mutex_unlock(&s->http.lock);
	return rc;
}

/* Turns the status of any other response into an error. */
static int judge(struct symbols_thread *s, long status, struct err *err)
{
	if (status < 0)
		return (int)status;
	if (status == 403 || status == 404 || status == 405 || status == 501)
		return refused(s, status, err);
	if (status == 400)
		return err_set(err, EINVAL, "%s refuses it", s->http.url);
	return err_set(err, EAGAIN, "%s does not accept symbol tables now: status %ld", s->http.url,
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
		return err_set(err, EEXIST, "it has another table");
	if (status == 413)
		return err_set(err, EFBIG, "the table is too large");
	return judge(ctx, status, err);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void back_off(struct symbols_thread *s, const struct err *err)
{
	uint64_t now_ns = clock_mono_ns();

	if (atomic_load(&s->http.is_over))
		return;
	if (!s->said_ns || now_ns >= s->said_ns + SAY_NS) {
		log_warn("sending a symbol table later: %s", err->text);
		s->said_ns = now_ns;
	}
	http_thread_back_off(&s->http, s->retry_after_s);
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
		s->http.failures = 0;
	if (s->upload.tables > had)
		log_verbose("the symbol table of %s was sent", j->path);
}

static void job_done(struct symbols_thread *s)
{
	pthread_mutex_lock(&s->http.lock);
	free(s->job.path);
	s->job.path = NULL;
	pthread_mutex_unlock(&s->http.lock);
	tell(s);
}

static void step(void *ctx)
{
	struct symbols_thread *s = ctx;

	pthread_mutex_lock(&s->http.lock);
	while (!s->job.path && !atomic_load(&s->http.is_over))
		pthread_cond_wait(&s->http.news, &s->http.lock);
	struct job j = s->job;
	pthread_mutex_unlock(&s->http.lock);
	if (j.path) {
		work(s, &j);
		job_done(s);
	}
}

/* --- public functions ------------------------------------------------------------------------- */

static void thread_free(struct symbols_thread *s)
{
	http_thread_done(&s->http);
	if (s->job.path) /* not handled before the thread ended */
		close(s->job.fd);
	free(s->job.path);
	symbols_upload_done(&s->upload);
	name_files_close(&s->files);
	if (s->event_fd >= 0)
		close(s->event_fd);
	free(s);
}

int symbols_thread_start(const struct symbols_thread_opts *opts, struct symbols_thread **out,
			 struct err *err)
{
	struct symbols_thread *s = xcalloc(1, sizeof *s);
	const struct symbols_target target = { .head = head, .put = put, .ctx = s };

	http_thread_init(&s->http,
			 &(struct http_thread_opts){ opts->url, opts->ca_file, opts->holds });
	name_files_open(&s->files, &(struct name_files_opts){ 0 });
	symbols_upload_init(&s->upload, &target, &s->files);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = s->event_fd < 0 ? err_set(err, errno, "no eventfd: %s", strerror(errno))
				 : http_thread_start(&s->http, step, s, err);
	if (rc)
		thread_free(s);
	else
		*out = s;
	return rc;
}

void symbols_thread_set_token(struct symbols_thread *s, const char *token)
{
	pthread_mutex_lock(&s->http.lock);
	s->none_until_ns = 0; /* the new token may allow writing */
	s->http.tries_now = s->job.path != NULL;
	http_thread_set_token(&s->http, token);
	pthread_mutex_unlock(&s->http.lock);
	tell(s);
}

void symbols_thread_set_peer(struct symbols_thread *s, bool is_cresset)
{
	enum peer peer = is_cresset ? PEER_CRESSET : PEER_OTHER;

	pthread_mutex_lock(&s->http.lock);
	/* A Cresset server replaced by another is noticed later: it returns 404 to the next
	 * table. */
	bool changed = s->peer != peer && s->peer != PEER_CRESSET;
	bool says = changed && !is_cresset && !s->is_said;
	s->peer = changed ? peer : s->peer;
	s->is_said |= says;
	pthread_mutex_unlock(&s->http.lock);
	if (says)
		log_warn("%s is not a Cresset server: symbolizing on this machine", s->http.url);
	if (changed)
		tell(s);
}

enum symbols_state symbols_thread_state(struct symbols_thread *s, const uint8_t *build_id,
					size_t len)
{
	enum symbols_state state = symbols_upload_state(&s->upload, build_id, len);

	pthread_mutex_lock(&s->http.lock);
	bool takes_none = s->peer == PEER_OTHER || (state == SYMBOLS_UNKNOWN && s->none_until_ns &&
						    clock_mono_ns() < s->none_until_ns);
	pthread_mutex_unlock(&s->http.lock);
	return takes_none ? SYMBOLS_NONE : state;
}

bool symbols_thread_is_free(struct symbols_thread *s)
{
	pthread_mutex_lock(&s->http.lock);
	bool is_free = !s->job.path && !s->http.holds && s->peer == PEER_CRESSET;
	pthread_mutex_unlock(&s->http.lock);
	return is_free;
}

bool symbols_thread_give(struct symbols_thread *s, const uint8_t *build_id, size_t len, int fd,
			 const char *path)
{
	int own = -1;

	if (!len || len > BUILD_ID_MAX || !symbols_thread_is_free(s) ||
	    (own = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		return false;
	pthread_mutex_lock(&s->http.lock);
	s->job = (struct job){ .len = len, .fd = own, .path = xstrdup(path) };
	memcpy(s->job.build_id, build_id, len);
	pthread_cond_broadcast(&s->http.news);
	pthread_mutex_unlock(&s->http.lock);
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
		return; /* another thread read it first */
}

void symbols_thread_stop(struct symbols_thread *s)
{
	if (s && http_thread_end(&s->http))
		thread_free(s);
}
