/* Fetches a debug file, and verifies its build id. */
#include "symbol/debuginfod.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/http_get.h"
#include "base/mem.h"
#include "base/str.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOUND ".debug"
#define NONE  ".none"
enum { DEBUGINFOD_MIN_BUILD_ID = 8 }; /* bytes; shorter ids are not unique */

struct server {
	char *url;
	bool failed;
};

struct debuginfod {
	struct debuginfod_opts opts;
	char *urls;
	struct server servers[DEBUGINFOD_MAX_SERVERS];
	int n;
	struct http_client *client; /* made when first needed */
	int64_t left_ms;            /* of total_s */
	struct debuginfod_stats stats;
};

struct debuginfod *debuginfod_new(const struct debuginfod_opts *opts)
{
	struct debuginfod *d = xcalloc(1, sizeof *d);
	char *save, *words = xstrdup(opts->urls ? opts->urls : "");
	d->opts = *opts;
	d->opts.stall_s = opts->stall_s ? opts->stall_s : DEBUGINFOD_STALL_S;
	d->opts.total_s = opts->total_s ? opts->total_s : DEBUGINFOD_TOTAL_S;
	d->opts.max_bytes = opts->max_bytes ? opts->max_bytes : DEBUGINFOD_MAX_BYTES;
	d->left_ms = d->opts.total_s * 1000ll;
	for (char *w = strtok_r(words, " \t\n", &save); w && d->n < DEBUGINFOD_MAX_SERVERS;
	     w = strtok_r(NULL, " \t\n", &save))
		d->servers[d->n++].url = xstrdup(w);
	free(words);
	d->urls = xstrdup(opts->urls ? opts->urls : "");
	if (d->n)
		return d;
	debuginfod_free(d);
	return NULL;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	for (int i = 0; i < d->n; i++)
		free(d->servers[i].url);
	http_client_free(d->client);
	free(d->urls);
	free(d);
}

const struct debuginfod_stats *debuginfod_stats(const struct debuginfod *d)
{
	return &d->stats;
}

/* --- the cache -------------------------------------------------------------------------------- */

bool debuginfod_has_none(struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	struct buf asked = { 0 };
	struct stat st;
	int fd = cache_file_open(d->opts.cache_dir, build_id, len, NONE);
	if (fd < 0)
		return false;
	bool known = fstat(fd, &st) == 0 && time(NULL) - st.st_mtime < DEBUGINFOD_NONE_S &&
		     fs_read_fd(fd, strlen(d->urls) + 1, &asked, NULL) == 0 &&
		     strcmp(buf_cstr(&asked), d->urls) == 0;
	buf_done(&asked);
	close(fd);
	return known;
}

static void remember_none(struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	struct cache_file f;
	ssize_t n = strlen(d->urls);
	if (cache_file_create(d->opts.cache_dir, build_id, len, NONE, &f) < 0)
		return;
	if (write(f.fd, d->urls, n) == n)
		cache_file_commit(&f, false);
	else
		cache_file_abort(&f);
}

/* --- queries ---------------------------------------------------------------------------------- */

static int fetch(struct debuginfod *d, const struct server *s, const uint8_t *build_id, size_t len,
		 int fd, struct err *err)
{
	struct buf url = { 0 };
	uint64_t start_ns = clock_mono_ns();
	struct http_request r = {
		.connect_ms =
			d->left_ms < DEBUGINFOD_CONNECT_MS ? d->left_ms : DEBUGINFOD_CONNECT_MS,
		.total_ms = d->left_ms,
		.stall_s = d->opts.stall_s,
		.max_bytes = d->opts.max_bytes,
	};
	buf_adds(&url, s->url);
	buf_addf(&url, "%sbuildid/", str_ends(s->url, "/") ? "" : "/");
	for (size_t i = 0; i < len; i++)
		buf_addf(&url, "%02x", build_id[i]);
	buf_adds(&url, "/debuginfo");
	r.url = buf_cstr(&url);
	int rc = http_get(d->client, &r, fd, err);
	d->left_ms -= (clock_mono_ns() - start_ns) / 1000000;
	buf_done(&url);
	return rc;
}

static bool fits(int fd, const uint8_t *build_id, size_t len)
{
	uint8_t id[CACHE_MAX_KEY];
	return elf_build_id(fd, id, sizeof id) == (int)len && memcmp(id, build_id, len) == 0;
}

/* Downloads a file to the cache. Returns 0, -ENOENT, or another -errno, which counts as a failure
 * of the server. */
static int download(struct debuginfod *d, const struct server *s, const uint8_t *build_id,
		    size_t len, struct err *err)
{
	struct cache_file f;
	int rc = cache_file_create(d->opts.cache_dir, build_id, len, FOUND, &f);
	if (rc < 0)
		return err_set(err, -rc, "cannot store a debug file: %s", strerror(-rc));
	rc = fetch(d, s, build_id, len, f.fd, err);
	if (rc == 0 && !fits(f.fd, build_id, len))
		rc = err_set(err, EBADMSG, "%s: the response is not the requested file", s->url);
	if (rc) {
		cache_file_abort(&f);
		return rc;
	}
	d->stats.downloaded++;
	rc = cache_file_commit(&f, true);
	return rc ? err_set(err, -rc, "cannot store a debug file: %s", strerror(-rc)) : 0;
}

static void note_failure(struct debuginfod *d, struct server *s, const struct err *err)
{
	s->failed = true;
	if (!d->stats.first.code)
		d->stats.first = *err;
}

/* Returns true if a server had the file. */
static bool ask_servers(struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	bool all_said_no = true;
	for (int i = 0; i < d->n; i++) {
		struct server *s = &d->servers[i];
		struct err err = { 0 };
		int rc = s->failed || d->left_ms <= 0 ? -ECANCELED
						      : download(d, s, build_id, len, &err);
		if (rc == 0)
			return true;
		if (rc != -ENOENT && rc != -ECANCELED)
			note_failure(d, s, &err);
		all_said_no &= rc == -ENOENT;
	}
	if (all_said_no)
		remember_none(d, build_id, len);
	else
		d->stats.failed++;
	return false;
}

static bool has_client(struct debuginfod *d)
{
	struct err err = { 0 };
	if (d->client || http_client_new(&d->client, &err) == 0)
		return true;
	for (int i = 0; i < d->n; i++)
		note_failure(d, &d->servers[i], &err);
	return false;
}

int debuginfod_kept(struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	int fd = cache_file_open(d->opts.cache_dir, build_id, len, FOUND);
	if (fd < 0 || fits(fd, build_id, len))
		return fd < 0 ? -1 : fd;
	close(fd);
	return -1;
}

uint64_t debuginfod_urls_hash(const struct debuginfod *d)
{
	return hash_bytes(d->urls, strlen(d->urls));
}

int debuginfod_find(struct debuginfod *d, const uint8_t *build_id, size_t len)
{
	if (len < DEBUGINFOD_MIN_BUILD_ID || len > CACHE_MAX_KEY)
		return -1;
	int fd = debuginfod_kept(d, build_id, len);
	if (fd >= 0 || debuginfod_has_none(d, build_id, len))
		return fd;
	if (!has_client(d)) {
		d->stats.failed++;
		return -1;
	}
	return ask_servers(d, build_id, len) ? debuginfod_kept(d, build_id, len) : -1;
}
