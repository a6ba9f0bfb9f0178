/* Opens the store of each tenant. */
#include "server/tenant.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "query/source.h"
#include "server/ingest/ingest.h"
#include "server/server.h"
#include "server/symbols.h"
#include "store/codec/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* CPU time of each step: a store that always has work to do takes a tenth of a CPU. */
enum { MAINTAIN_NS = 5000000, PAUSE_BUSY_MS = 50, PAUSE_IDLE_MS = 1000 };

enum { LEAST_BYTES = 4 << 20 }; /* of a store's memory */
/* The share of a store's disk for whole batches of senders. */
enum { KEYS_SHARE = 32 };
/* The share of a store's disk and memory for symbol tables. The defaults are those of
 * store/codec/store.h. */
enum { SYMBOLS_SHARE = 16 };
#define TRIM_EVERY_NS UINT64_C(60000000000)
#define FULL_AGAIN_NS UINT64_C(5000000000)
#define DISK_BYTES    (UINT64_C(10) << 30)
#define RETENTION_NS  (INT64_C(14) * 86400 * 1000000000)
/* The share of a server's memory for the known stacks of senders. */
enum { STACKS_SHARE = 16 };

struct tenants {
	pthread_mutex_t lock; /* for the list, which only grows, and ends */
	pthread_cond_t changed;
	pthread_t keeper;
	bool runs, ends;
	uint32_t n, share;
	const struct server_opts *opts;
	struct tenant *first;
};

/* --- data sources ----------------------------------------------------------------------------- */

int data_source_acquire(struct data_source *d, struct source **out, struct err *err)
{
	struct store *store = d->store;

	if (store)
		return source_of_store(store, out, err);
	if (!d->file)
		return source_open_store(d->path, out, err);
	pthread_mutex_lock(&d->turn);
	*out = d->source;
	return 0;
}

void data_source_release(struct data_source *d, struct source *s)
{
	if (!s)
		return;
	if (d->file)
		pthread_mutex_unlock(&d->turn);
	else
		source_close(s);
}

/* path, file and store stay the caller's. Tests that a lease can be taken. */
static int data_source_open(struct data_source *d, const char *path, struct profile *file,
			    struct store *store, struct err *err)
{
	struct source *s = NULL;
	*d = (struct data_source){ .is_open = true, .path = path, .file = file, .store = store };
	if (file)
		d->source = source_of_profile(file);
	pthread_mutex_init(&d->turn, NULL);
	pthread_mutex_init(&d->sql_turn, NULL);
	int rc = data_source_acquire(d, &s, err);
	data_source_release(d, s);
	return rc;
}

static void data_source_close(struct data_source *d)
{
	if (!d->is_open)
		return;
	source_close(d->source);
	pthread_mutex_destroy(&d->turn);
	pthread_mutex_destroy(&d->sql_turn);
	*d = (struct data_source){ 0 };
}

/* --- maintenance ------------------------------------------------------------------------------ */

/* Returns true if there is more to do. A failure is logged once, until it works again. */
static bool maintain(struct tenant *t)
{
	struct err err = { 0 }, news = { 0 };
	int rc = t->own ? store_maintain(t->own, MAINTAIN_NS, &err) : 0;
	while (t->own && store_news(t->own, &news))
		log_warning(&news);
	if (rc >= 0 && t->symbols && symbols_maintain(t->symbols, t->own, &err) < 0)
		rc = -EIO;
	if (rc < 0 && !t->is_failing)
		log_warn("%s: maintenance fails: %s", t->dir, err.text);
	t->is_failing = rc < 0;
	return rc > 0;
}

static int open_own(const struct tenants *t, struct tenant *one, struct err *err);
static int start_ingest(struct tenant *one, struct err *err);

/* Opens the store if space is available by now. Readers keep what they have; new ones get the store
 * itself. */
static void open_again(const struct tenants *t, struct tenant *one)
{
	uint64_t now_ns = clock_mono_ns();
	struct err err = { 0 };
	if (!one->is_full || now_ns < one->again_ns)
		return;
	one->again_ns = now_ns + FULL_AGAIN_NS;
	int rc = open_own(t, one, &err);
	if (rc == -ENOSPC)
		return;
	one->is_full = false;
	one->data.store = one->own;
	if (rc == 0)
		rc = start_ingest(one, &err);
	if (rc < 0)
		log_warn("%s; nothing can be added until it is started again", err.text);
	else
		log_info("%s: space is available again", one->dir);
}

static void pause_ms(struct tenants *t, int ms)
{
	cond_wait_until(&t->changed, &t->lock, clock_mono_ns() + (uint64_t)ms * 1000000);
}

/* Tenants stay in place until this thread has ended, so the lock is not held while one is
 * maintained. */
static void *keep(void *ctx)
{
	struct tenants *t = ctx;
	uint64_t trim_ns = 0;
	pthread_mutex_lock(&t->lock);
	while (!t->ends) {
		bool more = false;
		uint64_t now_ns = clock_mono_ns();
		if (now_ns >= trim_ns) {
			mem_trim();
			trim_ns = now_ns + TRIM_EVERY_NS;
		}
		for (struct tenant *one = t->first; one && !t->ends; one = one->next) {
			pthread_mutex_unlock(&t->lock);
			open_again(t, one);
			more |= maintain(one);
			pthread_mutex_lock(&t->lock);
		}
		if (!t->ends)
			pause_ms(t, more ? PAUSE_BUSY_MS : PAUSE_IDLE_MS);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int start_keeper(struct tenants *t, struct err *err)
{
	int rc = pthread_create(&t->keeper, NULL, keep, t);
	if (rc)
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	t->runs = true;
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void free_tenant(struct tenant *one)
{
	struct err err = { 0 };
	ingest_stop(one->ingest);
	symbols_close(one->symbols);
	data_source_close(&one->data);
	senders_done(&one->senders);
	if (store_close(one->own, &err) < 0)
		log_error(&err);
	free(one->name);
	free(one->dir);
	free(one);
}

/* Opens the store, and the files next to it. */
static int open_files(struct tenant *one, const struct store_opts *how,
		      const struct symbols_opts *symbols, struct err *err)
{
	struct symbols *tables = NULL;
	struct store *own = NULL;
	int keys = -1, rc = store_open(one->dir, how, &own, err);
	if (rc == 0)
		rc = keys = keys_open(one->dir, err);
	if (rc >= 0)
		rc = symbols_open(one->dir, symbols, &tables, err);
	if (rc < 0) {
		store_close(own, &(struct err){ 0 });
		if (keys >= 0)
			close(keys);
		return rc;
	}
	pthread_mutex_lock(&one->senders.lock);
	one->senders.keys = keys;
	pthread_mutex_unlock(&one->senders.lock);
	one->symbols = tables;
	one->own = own;
	return 0;
}

static int open_own(const struct tenants *t, struct tenant *one, struct err *err)
{
	struct store_opts how = *t->opts->keep;
	how.memory_bytes /= t->share;
	how.memory_bytes = how.memory_bytes < LEAST_BYTES ? LEAST_BYTES : how.memory_bytes;
	uint64_t disk_bytes = how.disk_bytes ? how.disk_bytes : DISK_BYTES;
	const struct symbols_opts symbols = {
		.disk_bytes = disk_bytes / SYMBOLS_SHARE,
		.cache_bytes = how.memory_bytes / SYMBOLS_SHARE,
		.retention_ns = how.retention_ns ? how.retention_ns : RETENTION_NS,
	};
	one->senders.max_key_bytes = disk_bytes / KEYS_SHARE;
	how.disk_bytes = disk_bytes - symbols.disk_bytes - one->senders.max_key_bytes;
	return open_files(one, &how, &symbols, err);
}

/* If another process writes the store, or the disk is full, the store is only shown. */
static int open_own_if_it_can(const struct tenants *t, struct tenant *one, struct err *err)
{
	int rc = open_own(t, one, err);
	if (rc != -EBUSY && rc != -ENOSPC)
		return rc;
	one->wants_own = true;
	one->is_full = rc == -ENOSPC;
	one->again_ns = clock_mono_ns() + FULL_AGAIN_NS;
	log_warn("%s; it is read-only %s", err->text,
		 one->is_full ? "until space is available" : "in this process");
	*err = (struct err){ 0 };
	return 0;
}

static int start_ingest(struct tenant *one, struct err *err)
{
	struct ingest *ingest = NULL;
	int rc = ingest_start(tenant_store(one), &ingest, err);
	one->ingest = ingest;
	return rc;
}

static int open_tenant(struct tenants *t, const char *name, struct err *err)
{
	const struct server_opts *o = t->opts;
	struct tenant *one = xcalloc(1, sizeof *one), **last = &t->first;
	int rc = 0;
	one->name = xstrdup(name);
	senders_init(&one->senders, -1, 0, o->memory_bytes / STACKS_SHARE / t->share);
	if (!o->file && !o->store)
		one->dir = *name ? xasprintf("%s/tenants/%s", o->path, name) : xstrdup(o->path);
	if (one->dir && o->keep)
		rc = open_own_if_it_can(t, one, err);
	if (rc == 0)
		rc = data_source_open(&one->data, one->dir, o->file, one->own ? one->own : o->store,
				      err);
	if (rc == 0 && tenant_store(one))
		rc = start_ingest(one, err);
	if (rc < 0) {
		free_tenant(one);
		return rc;
	}
	pthread_mutex_lock(&t->lock);
	while (*last)
		last = &(*last)->next;
	*last = one;
	t->n++;
	pthread_mutex_unlock(&t->lock);
	return 0;
}

struct tenant *tenants_find(struct tenants *t, const char *name)
{
	pthread_mutex_lock(&t->lock);
	struct tenant *one = t->first;
	while (one && strcmp(one->name, name) != 0)
		one = one->next;
	pthread_mutex_unlock(&t->lock);
	return one;
}

static int make_directory(const struct tenants *t, struct err *err)
{
	char *path = xasprintf("%s/tenants", t->opts->path);
	int rc = 0;
	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		rc = err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	free(path);
	return rc;
}

int tenants_add(struct tenants *t, const char *name, struct err *err)
{
	if (tenants_find(t, name))
		return 0;
	if (!t->first->dir)
		return err_set(err, EINVAL, "a token has tenant %s, but this server has no tenants",
			       name);
	if (t->n == TENANTS_MAX)
		return err_set(err, E2BIG, "more than %d tenants", TENANTS_MAX);
	int rc = t->opts->keep ? make_directory(t, err) : 0;
	return rc ? rc : open_tenant(t, name, err);
}

int tenants_open(const struct server_opts *opts, uint32_t share, struct tenants **out,
		 struct err *err)
{
	struct tenants *t = xcalloc(1, sizeof *t);
	pthread_mutex_init(&t->lock, NULL);
	cond_init(&t->changed);
	t->opts = opts;
	t->share = share;
	int rc = open_tenant(t, "", err);
	if (rc == 0 && (t->first->own || t->first->is_full))
		rc = start_keeper(t, err);
	if (rc < 0) {
		tenants_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

void tenants_close(struct tenants *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ends = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (t->runs)
		pthread_join(t->keeper, NULL);
	for (struct tenant *one; (one = t->first);) {
		t->first = one->next;
		free_tenant(one);
	}
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
	free(t);
}

void tenants_stop_ingest(struct tenants *t)
{
	for (struct tenant *one = t ? t->first : NULL; one; one = one->next) {
		ingest_stop(one->ingest);
		one->ingest = NULL;
	}
}

struct tenant *tenants_first(struct tenants *t)
{
	return t->first;
}
