/* Imports files and directories into a store, each file once, and reports files that cannot be
 * read. */
#include "cmd/files/load.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sandbox/privileges.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/data_dir.h"
#include "profile/profile.h"
#include "profile/relabel.h"
#include "profile/tree/time_range.h"
#include "query/time.h"
#include "store/codec/metric_samples.h"
#include "store/codec/store.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum {
	BATCH_ROWS = 1 << 20, /* samples of one batch */
	MAX_DEPTH = 64,       /* of nested directories */
	READ_BYTES = 1 << 18,
};
/* Sample times from 2000 on are Unix time; other clocks start with the machine or program. */
#define UNIX_TIMES_NS   INT64_C(946684800000000000)
#define MAINTAIN_NS     INT64_C(1000000000)
/* Nothing is deleted for its age or size: the owner of the store decides that. */
#define KEEP_FOREVER_NS INT64_MAX

struct import {
	struct cmd_line *line;
	const struct import_opts *opts;
	const struct format *as;
	struct store *store;
	int64_t at_ns; /* from opts->at */
	struct str_list files;
	uint64_t imported, known, bad, samples, points;
	int status; /* CMD_OK, or the error that ends the import */
};

/* --- which files ------------------------------------------------------------------------------ */

static int entry_cmp(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void note_bad(struct import *im, const struct err *err)
{
	log_error(err);
	im->bad++;
}

static void add_path(struct import *im, const char *path, int depth);

static void add_directory(struct import *im, const char *path, int depth)
{
	struct dirent **entries;
	struct err err = { 0 };
	int n = depth < MAX_DEPTH ? scandir(path, &entries, is_shown, entry_cmp) : -1;

	if (n < 0) {
		err_set(&err, errno, "cannot read the directory %s: %s", path,
			depth < MAX_DEPTH ? strerror(errno) : "too deep");
		note_bad(im, &err);
		return;
	}
	for (int i = 0; i < n; i++) {
		struct buf name = { 0 };
		buf_addf(&name, "%s/%s", path, entries[i]->d_name);
		add_path(im, arena_dup(&im->line->arena, name.data, name.len), depth + 1);
		buf_done(&name);
		free(entries[i]);
	}
	free(entries);
}

/* Inside directories, links to directories are not followed: they could form a loop. */
static void add_path(struct import *im, const char *path, int depth)
{
	struct stat st;

	if ((depth ? lstat(path, &st) : stat(path, &st)) == 0 && S_ISDIR(st.st_mode))
		add_directory(im, path, depth);
	else
		str_list_add(&im->files, &im->line->arena, path);
}

/* --- the id of a file ------------------------------------------------------------------------- */

static int hash_content(XXH3_state_t *h, const char *path, struct err *err)
{
	FILE *f = fopen(path, "re");
	char *room = xmalloc(READ_BYTES);
	size_t n;
	int rc = 0;

	while (f && (n = fread(room, 1, READ_BYTES, f)) > 0)
		XXH3_128bits_update(h, room, n);
	if (!f || ferror(f))
		rc = err_set(err, EBADMSG, "cannot read %s: %s", path, strerror(errno));
	if (f)
		fclose(f);
	free(room);
	return rc;
}

/* Hashes the content, and what else makes different samples: the time and the labels. */
static int identify(const struct import *im, const char *path, const struct profile *p,
		    uint8_t sender[STORE_SENDER_BYTES], struct err *err)
{
	XXH3_state_t *h = XXH3_createState();
	XXH128_canonical_t id;

	XXH3_128bits_reset(h);
	int rc = hash_content(h, path, err);
	XXH3_128bits_update(h, &p->meta.start_wall_ns, sizeof p->meta.start_wall_ns);
	for (size_t i = 0; i < im->opts->labels.n; i++)
		XXH3_128bits_update(h, im->opts->labels.v[i], strlen(im->opts->labels.v[i]) + 1);
	XXH128_canonicalFromHash(&id, XXH3_128bits_digest(h));
	XXH3_freeState(h);
	_Static_assert(sizeof id == STORE_SENDER_BYTES, "a hash is a sender");
	memcpy(sender, &id, sizeof id);
	return rc;
}

/* --- times ------------------------------------------------------------------------------------ */

/* The file's own time, else that in its name, else --at. */
static int settle_time(const struct import *im, const char *path, struct profile *p,
		       struct err *err)
{
	int64_t first_ns = profile_first_ns(p), ns = im->at_ns;

	if (p->meta.start_wall_ns || first_ns >= UNIX_TIMES_NS)
		return 0;
	if (!name_time(path, &ns) && !im->opts->at) {
		err_set(err, ENODATA, "%s: no timestamp in the file or its name", path);
		return err_hint(err, "give its time with --at 2026-11-21T10:15:00Z");
	}
	p->meta.start_wall_ns = ns;
	p->meta.start_mono_ns = first_ns;
	return 0;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* A file is sent in numbered pieces, so that an interrupted import continues where it stopped. */
struct sending {
	struct import *im;
	struct profile *p;
	struct store_batch batch;
	uint64_t samples, points; /* new ones */
	bool is_fresh;            /* any piece is new */
};

static int send_piece(struct sending *s, struct err *err)
{
	bool duplicate;

	s->batch.sequence++;
	int rc = store_ingest(s->im->store, &s->batch, 1, &duplicate, err);
	if (rc || duplicate)
		return rc;
	s->is_fresh = true;
	s->samples += s->p->samples.n;
	s->points += s->batch.metrics ? s->batch.metrics->n : 0;
	return 0;
}

static int send_samples(struct sending *s, struct err *err)
{
	struct sample_columns all = s->p->samples;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < all.n; at += BATCH_ROWS) {
		size_t left = all.n - at;
		s->p->samples = sample_rows(&all, at, left < BATCH_ROWS ? left : BATCH_ROWS);
		rc = send_piece(s, err);
	}
	s->p->samples = all;
	return rc;
}

/* Sent after the samples. For a file that was imported before Cresset kept readings, only these are
 * new. */
static int send_readings(struct sending *s, struct err *err)
{
	struct sample_columns all = s->p->samples;
	struct metric_samples points = { 0 };
	struct reading_place at = { 0 };
	int rc = 0;

	s->p->samples = (struct sample_columns){ 0 };
	s->batch.metrics = &points;
	while (rc == 0) {
		vec_clear(&points);
		metric_samples_add_readings(s->p, &at, &points);
		if (!points.n)
			break;
		rc = send_piece(s, err);
	}
	s->p->samples = all;
	s->batch.metrics = NULL;
	vec_done(&points);
	return rc;
}

static int own_files(const struct import *im, const char *path, struct profile **p, struct err *err)
{
	uint64_t before = (*p)->meta.loss[LOSS_BUILD_ID_SHARED];
	int rc = store_own_files(im->store, p, err);
	uint64_t n = (*p)->meta.loss[LOSS_BUILD_ID_SHARED] - before;

	if (n)
		log_warn("%s: %" PRIu64
			 " %s the build id of another file in %s: identified by path only",
			 path, n, n == 1 ? "binary has" : "binaries have", im->opts->data);
	return rc;
}

/* *p may be replaced. */
static int send_profile(struct import *im, const char *path, struct profile **p, struct err *err)
{
	uint8_t sender[STORE_SENDER_BYTES];
	struct sending s = { .im = im, .batch = { .sender = sender } };
	int rc = settle_time(im, path, *p, err);

	if (rc == 0)
		rc = identify(im, path, *p, sender, err);
	if (rc == 0)
		rc = own_files(im, path, p, err);
	if (rc)
		return rc;
	s.p = s.batch.p = *p;
	profile_add_labels(*p, im->opts->labels.v, im->opts->labels.n);
	rc = send_samples(&s, err);
	if (rc == 0)
		rc = send_readings(&s, err);
	if (rc) {
		err_prefix(err, "%s", path);
		return rc;
	}
	bool is_known = s.batch.sequence && !s.is_fresh;
	im->imported += !is_known;
	im->known += is_known;
	im->samples += s.samples;
	im->points += s.points;
	return 0;
}

static bool is_of_store(int rc)
{
	return rc == -ENOSPC || rc == -EIO || rc == -EROFS;
}

static void import_file(struct import *im, const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = load_file(path, im->as, p, &err);
	bool is_loaded = rc == 0;

	if (is_loaded) {
		load_prune(path, p);
		load_say_losses(path, p);
	}
	if (is_loaded)
		rc = send_profile(im, path, &p, &err);
	profile_free(p);
	if (is_loaded && is_of_store(rc))
		im->status = cmd_fail(CMD_NO_OUTPUT, &err);
	else if (rc)
		note_bad(im, &err);
}

/* --- all together ----------------------------------------------------------------------------- */

static int settle(struct import *im)
{
	const struct import_opts *o = im->opts;
	struct time_words words = { .now_ns = (int64_t)clock_wall_ns() };
	struct err err = { 0 };

	for (size_t i = 0; i < o->labels.n; i++)
		if (!strchr(o->labels.v[i], '=') || o->labels.v[i][0] == '=')
			return cmd_usage(im->line, "option --label: '%s' is not KEY=VALUE",
					 o->labels.v[i]);
	if (o->at && time_parse(o->at, &words, "option --at", &im->at_ns, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	if (o->from && !(im->as = format_asked(o->from, FORMAT_READS, &err)))
		return cmd_fail(CMD_USAGE, &err);
	for (size_t i = 0; i < im->line->args.n; i++) {
		if (strcmp(im->line->args.v[i], "-") == 0)
			return cmd_usage(im->line, "--data takes files, not standard input");
		add_path(im, im->line->args.v[i], 0);
	}
	return CMD_OK;
}

/* Converts past days to their final form now: there may be no process to maintain this directory
 * later. */
static int finish(struct import *im)
{
	struct err err = { 0 };
	int rc, closed;

	while ((rc = store_maintain(im->store, MAINTAIN_NS, &err)) > 0)
		continue;
	closed = store_close(im->store, rc ? NULL : &err);
	im->store = NULL;
	return rc || closed ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}

static void say(const struct import *im, uint64_t expired)
{
	struct buf points = { 0 };

	if (im->points)
		buf_addf(&points, " and %" PRIu64 " readings", im->points);
	log_info("%s: %" PRIu64 " %s with %" PRIu64 " samples%s imported", im->opts->data,
		 im->imported, im->imported == 1 ? "file" : "files", im->samples,
		 buf_cstr(&points));
	buf_done(&points);
	if (im->known)
		log_info("%" PRIu64 " file%s skipped: imported before", im->known,
			 im->known == 1 ? "" : "s");
	if (expired)
		log_warn("%" PRIu64
			 " samples and readings skipped: older than the retention of the store",
			 expired);
	if (im->bad)
		log_warn("%" PRIu64 " file%s skipped because of errors", im->bad,
			 im->bad == 1 ? "" : "s");
}

static int import_all(struct import *im)
{
	const struct store_opts how = { .retention_ns = KEEP_FOREVER_NS,
					.disk_bytes = UINT64_MAX / 2,
					.is_guest = true };
	const struct data_dir_rule rule = { im->opts->data_force, "data-force" };
	struct store_stats stats;
	struct err err = { 0 };

	if (data_dir_check(im->opts->data, &rule, &err))
		return cmd_fail(CMD_NO_OUTPUT, &err);
	if (privileges_become_owner(im->opts->data, PRIVILEGES_READ_ALL, &err) < 0)
		return cmd_fail(CMD_PERMISSION, &err);
	if (store_open(im->opts->data, &how, &im->store, &err) < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	for (size_t i = 0; i < im->files.n && im->status == CMD_OK; i++)
		import_file(im, im->files.v[i]);
	store_get_stats(im->store, &stats);
	int status = finish(im);
	say(im, stats.expired_rows);
	if (im->status != CMD_OK || status != CMD_OK)
		return im->status != CMD_OK ? im->status : status;
	return im->bad ? CMD_BAD_INPUT : CMD_OK;
}

int import_files(struct cmd_line *line, const struct import_opts *opts)
{
	struct import im = { .line = line, .opts = opts };
	int status = settle(&im);

	return status == CMD_OK ? import_all(&im) : status;
}
