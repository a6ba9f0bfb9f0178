/* A thread with a queue of files; finished tables are passed to table_store.c. */
#include "collect/walker/table_builder.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { JOIN_NS = 300000000 };

struct job {
	uint32_t index;
	int fd;
	uint32_t samples; /* that wait for it */
};
struct table_builder {
	pthread_t thread;
	struct table_cache cache; /* the thread's */
	pthread_mutex_t lock;     /* protects all below */
	pthread_cond_t wake;
	VEC(struct job) jobs;         /* in the order in which they were added */
	VEC(struct table_built) done; /* taken up to n_taken */
	size_t n_taken;
	struct table_cache_stats cached;
	bool stop;
	int event_fd; /* readable while a finished table is not taken */

	/* Used by the caller only: it polls far more often than there are jobs. n_unread: tables
	 * that were taken, but their events are still to be read. */
	uint32_t pending, n_unread;
	bool is_trim_due;
};

/* Takes the job that most samples wait for; the oldest of those. */
static struct job take_job(struct table_builder *b)
{
	size_t most = 0;

	for (size_t i = 1; i < b->jobs.n; i++)
		if (b->jobs.v[i].samples > b->jobs.v[most].samples)
			most = i;
	struct job job = b->jobs.v[most];
	b->jobs.n--;
	memmove(&b->jobs.v[most], &b->jobs.v[most + 1], (b->jobs.n - most) * sizeof job);
	return job;
}

/* Waits for a job; returns false when it is time to stop. */
static bool next_job(struct table_builder *b, struct job *out)
{
	pthread_mutex_lock(&b->lock);
	while (!b->jobs.n && !b->stop)
		pthread_cond_wait(&b->wake, &b->lock);
	bool go_on = !b->stop;
	if (go_on)
		*out = take_job(b);
	pthread_mutex_unlock(&b->lock);
	return go_on;
}

static void *build_tables(void *arg)
{
	struct table_builder *b = arg;
	struct job job;

	while (next_job(b, &job)) {
		struct table_built built = { .index = job.index };

		uint64_t loaded = b->cache.stats.loaded;
		built.rc = table_cache_build(&b->cache, job.fd, &built.table, NULL);
		built.was_on_disk = b->cache.stats.loaded > loaded;
		close(job.fd);
		pthread_mutex_lock(&b->lock);
		vec_push(&b->done, built);
		b->cached = b->cache.stats;
		pthread_mutex_unlock(&b->lock);
		/* The reader takes over this CPU, and must not find the lock taken. */
		eventfd_write(b->event_fd, 1);
	}
	return NULL;
}

struct table_builder *table_builder_new(const char *cache_root)
{
	struct table_builder *b = xcalloc(1, sizeof *b);

	table_cache_open(&b->cache, cache_root);
	b->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, NULL);
	if (b->event_fd >= 0 && thread_start(&b->thread, build_tables, b) == 0)
		return b;
	if (b->event_fd >= 0)
		close(b->event_fd);
	table_cache_close(&b->cache);
	free(b);
	return NULL;
}

void table_builder_free(struct table_builder *b)
{
	struct table_built built;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	if (!thread_join_within(b->thread, JOIN_NS)) /* it waits for a disk */
		return;
	table_cache_close(&b->cache);
	while (table_builder_take(b, &built))
		unwind_table_done(&built.table);
	for (size_t i = 0; i < b->jobs.n; i++)
		close(b->jobs.v[i].fd);
	vec_done(&b->jobs);
	vec_done(&b->done);
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
	close(b->event_fd);
	free(b);
}

void table_builder_add(struct table_builder *b, uint32_t index, int fd)
{
	pthread_mutex_lock(&b->lock);
	vec_push(&b->jobs, (struct job){ .index = index, .fd = fd });
	b->pending++;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
}

void table_builder_want(struct table_builder *b, uint32_t index)
{
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->jobs.n; i++)
		if (b->jobs.v[i].index == index)
			b->jobs.v[i].samples++;
	pthread_mutex_unlock(&b->lock);
}

/* The event of a table may come after the table was taken. Call it when all finished ones were. */
static void read_events(struct table_builder *b)
{
	eventfd_t n;

	if (b->n_unread && eventfd_read(b->event_fd, &n) == 0)
		b->n_unread -= (uint32_t)n;
}

static void take_one(struct table_builder *b, struct table_built *out, bool *is_there)
{
	pthread_mutex_lock(&b->lock);
	*is_there = b->n_taken < b->done.n;
	if (*is_there)
		*out = b->done.v[b->n_taken++];
	bool is_empty = b->n_taken == b->done.n;
	if (is_empty) {
		vec_clear(&b->done);
		b->n_taken = 0;
	}
	b->pending -= *is_there;
	b->n_unread += *is_there;
	if (is_empty)
		read_events(b);
	pthread_mutex_unlock(&b->lock);
}

bool table_builder_take(struct table_builder *b, struct table_built *out)
{
	bool is_there = false;

	if (b->pending)
		take_one(b, out, &is_there);
	else
		read_events(b);
	/* Rows of a large library take some 10 MB. The thread does not trim: allocations of others
	 * would wait until it is done, and on a busy machine until it has a CPU again. */
	b->is_trim_due |= is_there && !out->was_on_disk;
	if (b->is_trim_due && !b->pending) {
		mem_trim();
		b->is_trim_due = false;
	}
	return is_there;
}

uint32_t table_builder_pending(const struct table_builder *b)
{
	return b->pending;
}

struct table_cache_stats table_builder_cached(struct table_builder *b)
{
	pthread_mutex_lock(&b->lock);
	struct table_cache_stats cached = b->cached;
	pthread_mutex_unlock(&b->lock);
	return cached;
}

int table_builder_fd(const struct table_builder *b)
{
	return b->event_fd;
}
