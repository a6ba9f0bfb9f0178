/* A recording, any other readable file, or the directory of a store, as it is now. */
#include "base/err.h"
#include "base/mem.h"
#include "cmd/query/remote.h"
#include "cmd/top/top.h"
#include "profile/profile.h"
#include "query/query_parse.h"
#include "query/source.h"
#include "tui/feed.h"

#include <errno.h>
#include <poll.h>

struct file_feed {
	struct feed base;
	struct profile *file; /* NULL: a store */
	struct source *source;
	struct top_watched watched;
	struct query_span span;
};

int top_watch(struct top_watched *w, int fd, struct err *err)
{
	if (w->n >= TOP_WATCHED_MAX)
		return err_set(err, EMFILE, "too much to wait for");
	w->fds[w->n++] = fd;
	return 0;
}

int top_wait(const struct top_watched *w, int timeout_ms)
{
	struct pollfd fds[TOP_WATCHED_MAX];
	for (int i = 0; i < w->n; i++)
		fds[i] = (struct pollfd){ .fd = w->fds[i], .events = POLLIN };
	poll(fds, (nfds_t)w->n, timeout_ms);
	return 0;
}

static struct file_feed *of(struct feed *f)
{
	return (struct file_feed *)f;
}

static int file_wait(struct feed *f, int timeout_ms, struct err *err)
{
	(void)err;
	return top_wait(&of(f)->watched, timeout_ms);
}

static int file_watch(struct feed *f, int fd, struct err *err)
{
	return top_watch(&of(f)->watched, fd, err);
}

static int file_take(struct feed *base, bool with_waits, struct feed_take *out, struct err *err)
{
	(void)with_waits;
	struct file_feed *f = of(base);
	(void)err;
	*out = (struct feed_take){ .from_ns = f->span.from_ns,
				   .to_ns = f->span.to_ns,
				   .history_ns = f->span.from_ns,
				   .samples = f->file ? f->file->samples.n : 0,
				   .lost = f->file ? profile_lost_samples(f->file) : UINT64_MAX,
				   .own_cpu = -1,
				   .bpf_cpu = -1 };
	return 0;
}

static struct source *file_source(struct feed *f)
{
	return of(f)->source;
}

static void file_close(struct feed *base)
{
	struct file_feed *f = of(base);
	source_close(f->source);
	profile_free(f->file);
	free(f);
}

static const struct feed_ops file_ops = {
	.wait = file_wait,
	.watch = file_watch,
	.take = file_take,
	.source = file_source,
	.close = file_close,
};

int top_file(const struct cmd_line *line, const char *path, struct feed **out)
{
	struct file_feed *f = xcalloc(1, sizeof *f);
	f->base = (struct feed){ .ops = &file_ops, .what = path };
	int status = data_open(line, path, &f->file, &f->source);
	if (status != CMD_OK) {
		free(f);
		return status;
	}
	query_span_of(f->source, f->file, &f->span);
	*out = &f->base;
	return CMD_OK;
}
