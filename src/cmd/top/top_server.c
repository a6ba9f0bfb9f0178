/* Data of a server: each interval a thread fetches the window, as a recording of each type, so that
 * keys are handled in the meantime. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/mem.h"
#include "cmd/top/top.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "query/source.h"
#include "tui/feed.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TYPES_MAX = 4, TYPE_NAME_MAX = 128 };
#define HISTORY_NS 60000000000ll
#define TIMEOUT_NS 20000000000ull

/* The result of one fetch. */
struct fetched {
	struct profile *profile;
	int64_t from_ns, to_ns;
};
struct server_feed {
	struct feed base;
	struct remote_opts remote;
	uint64_t interval_ns, window_ns;
	struct top_watched watched;
	struct fetched shown; /* on display */
	struct source *source;

	pthread_t thread;
	bool has_thread;
	int news; /* eventfd: a fetch succeeded, or failed */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Guarded by the lock. */
	struct fetched next; /* profile NULL: nothing new */
	char note[160];
	bool ends;
};

static struct server_feed *of(struct feed *f)
{
	return (struct server_feed *)f;
}

/* --- requests --------------------------------------------------------------------------------- */

struct types {
	char names[TYPES_MAX][TYPE_NAME_MAX];
	int n;
};

/* Reads names and aggregations of [{type, aggregation, …}]; samples only. */
static int read_type(struct json_reader *j, struct types *out, struct err *err)
{
	struct json_value key, value;
	char name[TYPE_NAME_MAX] = "";
	bool is_metric = false;
	int rc;
	while ((rc = json_key_next(j, &key, err)) > 0) {
		bool is_type = json_is(&key, "type"), is_agg = json_is(&key, "aggregation");
		if ((rc = json_scalar(j, &value, err)) <= 0)
			return rc;
		if (value.token != JSON_STRING)
			continue;
		if (is_type)
			snprintf(name, sizeof name, "%s", value.text);
		if (is_agg)
			is_metric = strcmp(value.text, "gauge") == 0 ||
				    strcmp(value.text, "counter") == 0;
	}
	if (rc == 0 && *name && !is_metric && out->n < TYPES_MAX)
		memcpy(out->names[out->n++], name, sizeof name);
	return rc;
}

static int read_types(const struct buf *answer, struct types *out, struct err *err)
{
	struct input *in;
	int rc = input_open_memory(answer->data, answer->len, &in, err);
	if (rc < 0)
		return rc;
	struct json_reader *j = json_reader_new(in);
	rc = json_enter(j, JSON_ARRAY, err);
	while (rc > 0 && (rc = json_item_next(j, err)) > 0)
		if ((rc = json_enter(j, JSON_OBJECT, err)) > 0)
			rc = read_type(j, out, err) < 0 ? -EBADMSG : 1;
	json_reader_free(j);
	input_close(in);
	return rc < 0 ? rc : 0;
}

static int ask_types(const struct server_feed *f, struct types *out, struct err *err)
{
	struct question q;
	struct buf answer = { 0 };
	question_init(&q, "api/v1/types");
	int status = remote_try(&f->remote, &q, &answer, err);
	if (status == CMD_OK && read_types(&answer, out, err) < 0)
		status = CMD_FAILED;
	buf_done(&answer);
	return status;
}

static int read_recording(const struct buf *answer, struct profile *p, struct err *err)
{
	struct input *in;
	int rc = input_open_memory(answer->data, answer->len, &in, err);
	if (rc < 0)
		return rc;
	rc = format_by_name("cresset")->read(in, profile_sink(p), err);
	input_close(in);
	return rc;
}

static void add_time(struct question *q, const char *name, int64_t ns)
{
	question_add_u64(q, name, (uint64_t)ns);
}

/* Adds all samples of a type in the range to p. */
static int ask_type(const struct server_feed *f, const char *type, const struct fetched *range,
		    struct profile *p, struct err *err)
{
	struct question q;
	struct buf answer = { 0 }, selector = { 0 };
	struct profile *part = profile_new();
	buf_addf(&selector, "\"%s\"", type);
	question_init(&q, "api/v1/flame");
	question_add(&q, "q", buf_cstr(&selector));
	question_add(&q, "fmt", "cresset");
	add_time(&q, "from", range->to_ns - HISTORY_NS);
	add_time(&q, "to", range->to_ns);
	int status = remote_try(&f->remote, &q, &answer, err);
	if (status == CMD_OK && read_recording(&answer, part, err) < 0)
		status = CMD_FAILED;
	if (status == CMD_OK)
		profile_merge(p, part);
	profile_free(part);
	buf_done(&answer);
	buf_done(&selector);
	return status;
}

/* Returns an exit status, with err set. */
static int fetch(const struct server_feed *f, struct fetched *out, struct err *err)
{
	struct types types = { 0 };
	struct fetched got = { .profile = profile_new(), .to_ns = (int64_t)clock_wall_ns() };
	got.from_ns = got.to_ns - (int64_t)f->window_ns;
	int status = ask_types(f, &types, err);
	for (int i = 0; i < types.n && status == CMD_OK; i++)
		status = ask_type(f, types.names[i], &got, got.profile, err);
	if (status == CMD_OK)
		*out = got;
	else
		profile_free(got.profile);
	return status;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Returns true when it is time to end. */
static bool sleep_until(struct server_feed *f, uint64_t due_wall_ns)
{
	struct timespec at = { (time_t)(due_wall_ns / 1000000000),
			       (long)(due_wall_ns % 1000000000) };
	pthread_mutex_lock(&f->lock);
	while (!f->ends && clock_wall_ns() < due_wall_ns)
		pthread_cond_timedwait(&f->wake, &f->lock, &at);
	bool ends = f->ends;
	pthread_mutex_unlock(&f->lock);
	return ends;
}

static void hand_over(struct server_feed *f, int status, const struct fetched *got,
		      const struct err *err)
{
	uint64_t one = 1;
	pthread_mutex_lock(&f->lock);
	if (status == CMD_OK) {
		profile_free(f->next.profile);
		f->next = *got;
	}
	snprintf(f->note, sizeof f->note, "%.150s", status == CMD_OK ? "" : err->text);
	pthread_mutex_unlock(&f->lock);
	if (write(f->news, &one, sizeof one) < 0)
		return; /* the counter is full: there is unread news */
}

static void *run(void *ctx)
{
	struct server_feed *f = ctx;
	uint64_t due_ns = clock_wall_ns() + f->interval_ns;
	while (!sleep_until(f, due_ns)) {
		struct fetched got = { 0 };
		struct err err = { 0 };
		hand_over(f, fetch(f, &got, &err), &got, &err);
		due_ns = clock_wall_ns() + f->interval_ns;
	}
	return NULL;
}

/* --- the feed --------------------------------------------------------------------------------- */

static int server_wait(struct feed *base, int timeout_ms, struct err *err)
{
	uint64_t n;
	(void)err;
	top_wait(&of(base)->watched, timeout_ms);
	if (read(of(base)->news, &n, sizeof n) < 0)
		return 0; /* nothing new */
	return 0;
}

static int server_watch(struct feed *base, int fd, struct err *err)
{
	return top_watch(&of(base)->watched, fd, err);
}

static void take_news(struct server_feed *f, char *note, size_t size)
{
	pthread_mutex_lock(&f->lock);
	struct fetched next = f->next;
	f->next.profile = NULL;
	snprintf(note, size, "%s", f->note);
	pthread_mutex_unlock(&f->lock);
	if (!next.profile)
		return;
	source_close(f->source);
	profile_free(f->shown.profile);
	f->shown = next;
	f->source = source_of_profile(next.profile);
}

static int server_take(struct feed *base, bool with_waits, struct feed_take *out, struct err *err)
{
	(void)with_waits;
	struct server_feed *f = of(base);
	(void)err;
	*out = (struct feed_take){ .lost = UINT64_MAX, .own_cpu = -1, .bpf_cpu = -1 };
	take_news(f, out->note, sizeof out->note);
	out->from_ns = f->shown.from_ns;
	out->to_ns = f->shown.to_ns;
	out->history_ns = f->shown.to_ns - HISTORY_NS;
	out->samples = f->shown.profile->samples.n;
	return 0;
}

static struct source *server_source(struct feed *base)
{
	return of(base)->source;
}

static void server_close(struct feed *base)
{
	struct server_feed *f = of(base);
	pthread_mutex_lock(&f->lock);
	f->ends = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	source_close(f->source);
	profile_free(f->shown.profile);
	profile_free(f->next.profile);
	if (f->news >= 0)
		close(f->news);
	pthread_cond_destroy(&f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static const struct feed_ops server_ops = {
	.wait = server_wait,
	.watch = server_watch,
	.take = server_take,
	.source = server_source,
	.close = server_close,
};

/* The first fetch is waited for, so that errors are reported immediately. */
static int begin(struct server_feed *f, bool goes_on)
{
	struct err err = { 0 };
	int status = fetch(f, &f->shown, &err);
	if (status != CMD_OK)
		return cmd_fail(status, &err);
	f->source = source_of_profile(f->shown.profile);
	f->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = f->news < 0 ? errno : top_watch(&f->watched, f->news, &err);
	if (rc == 0 && goes_on)
		rc = pthread_create(&f->thread, NULL, run, f);
	if (rc) {
		err_set(&err, rc, "cannot start a request: %s", strerror(rc));
		return cmd_fail(CMD_FAILED, &err);
	}
	f->has_thread = goes_on;
	return CMD_OK;
}

int top_server(const struct top_opts *o, struct feed **out)
{
	struct server_feed *f = xcalloc(1, sizeof *f);
	f->base = (struct feed){ .ops = &server_ops, .what = o->remote.server, .goes_on = true };
	f->remote = o->remote;
	f->remote.timeout_ns = TIMEOUT_NS;
	f->interval_ns = o->interval_ns;
	f->window_ns = o->window_ns;
	f->news = -1;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	int status = begin(f, !o->once);
	if (status != CMD_OK) {
		server_close(&f->base);
		return status;
	}
	*out = &f->base;
	return CMD_OK;
}
