/* The parts of an open store: the list, opening and closing, and writing heads as blocks. */
#include "store/day/store_state.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"
#include "store/catalog/catalog.h"
#include "store/codec/metric_samples.h"
#include "store/day/hot.h"
#include "store/day/readers.h"
#include "store/day/store_dict.h"
#include "store/sqlite/db.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>

/* Heads become blocks at the first full hour after their first row arrived, plus this time, so that
 * slightly late rows are included. */
#define FLUSH_GRACE_NS  (30 * 1000000000ll)
#define COMPACT_SLOT_NS (4 * HEAD_SLOT_NS)

/* Shares of memory: a dictionary takes a half at most, all heads an eighth, and encoding them twice
 * that for a short time; all dictionaries and heads together three quarters. The hot tier's buffers
 * get a sixteenth of the total, names not yet in names.db a 32nd. */
enum { DICT_SHARE = 2, HOT_SHARE = 16, NAMES_SHARE = 32 };

/* --- file names ------------------------------------------------------------------------------- */

static char *part_path(const struct store *s, int64_t day_ns, uint32_t piece)
{
	time_t day_s = day_ns / 1000000000;
	char day[32], number[16] = "";
	struct tm tm;

	gmtime_r(&day_s, &tm);
	strftime(day, sizeof day, "%Y-%m-%d", &tm);
	if (piece)
		snprintf(number, sizeof number, ".%u", piece);
	return xasprintf("%s/p/%s%s.db", s->dir, day, number);
}

char *store_detail_path(const char *path)
{
	int len = (int)strlen(path) - (int)strlen(".db");

	return xasprintf("%.*s.det.db", len, path);
}

bool store_part_name(const char *name, int64_t *day_ns, uint32_t *piece)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y-%m-%d", &tm);
	uint32_t number = 0;

	if (!end || end - name != 10)
		return false;
	for (end += *end == '.'; *end >= '0' && *end <= '9' && number < 100000; end++)
		number = number * 10 + (*end - '0');
	if (number && *end == '.')
		end++;
	if (strcmp(end, "db") != 0)
		return false;
	*day_ns = (int64_t)timegm(&tm) * 1000000000;
	*piece = number;
	return true;
}

/* --- the list --------------------------------------------------------------------------------- */

static bool is_before(const struct store_part *a, int64_t day_ns, uint32_t piece)
{
	return a->day_ns != day_ns ? a->day_ns < day_ns : a->piece < piece;
}

static struct store_part *insert_part(struct store *s, int64_t day_ns, uint32_t piece)
{
	struct store_part *sp = xcalloc(1, sizeof *sp);
	size_t at = s->parts.n;

	*sp = (struct store_part){ .path = part_path(s, day_ns, piece),
				   .day_ns = day_ns,
				   .piece = piece,
				   .first_sequence = UINT64_MAX,
				   .compact_ns = INT64_MIN };
	vec_push(&s->parts, sp);
	for (; at && !is_before(s->parts.v[at - 1], day_ns, piece); at--)
		s->parts.v[at] = s->parts.v[at - 1];
	s->parts.v[at] = sp;
	return sp;
}

static struct store_part *last_of_day(const struct store *s, int64_t day_ns)
{
	for (size_t i = s->parts.n; i--;)
		if (s->parts.v[i]->day_ns == day_ns)
			return s->parts.v[i];
	return NULL;
}

void store_part_measure(struct store_part *sp)
{
	char *detail = store_detail_path(sp->path);

	sp->bytes = db_files_bytes(sp->path);
	sp->detail_bytes = db_files_bytes(detail);
	sp->has_detail = sp->detail_bytes != 0;
	sp->bad_blocks = 0;
	if (sp->part) {
		struct part_info info;
		part_get_info(sp->part, &info);
		sp->bad_blocks = info.bad_blocks;
	}
	free(detail);
}

int store_parts_scan(struct store *s, struct err *err)
{
	char *path = xasprintf("%s/p", s->dir);
	DIR *dir = opendir(path);
	struct dirent *entry;
	int64_t day_ns;
	uint32_t piece;

	if (!dir) {
		int rc = err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
		free(path);
		return rc;
	}
	while ((entry = readdir(dir)))
		if (store_part_name(entry->d_name, &day_ns, &piece)) {
			struct store_part *sp = insert_part(s, day_ns, piece);
			sp->to_verify = s->was_killed;
			store_part_measure(sp);
		}
	closedir(dir);
	free(path);
	return 0;
}

/* --- opening and closing ---------------------------------------------------------------------- */

int store_part_use(struct store *s, struct store_part *sp, struct err *err)
{
	struct part_opts opts = { .read_only = s->opts.read_only,
				  .cache_bytes = s->opts.memory_bytes / 64,
				  .vfs = s->opts.vfs };
	struct part_info info;

	sp->used = ++s->uses;
	if (sp->part)
		return 0;
	int rc = part_open(sp->path, sp->day_ns, &opts, &sp->part, err);
	sp->is_bad = rc == -EBADMSG;
	if (rc)
		return rc;
	/* Batches replayed into heads must not also appear as blocks. */
	rc = s->opts.read_only ? part_read_begin(sp->part, err) : 0;
	if (rc) {
		store_part_close(sp);
		return rc;
	}
	part_get_info(sp->part, &info);
	sp->inbox_sequence = info.inbox_sequence;
	sp->finished = info.sealed;
	sp->is_known = true;
	store_part_measure(sp);
	return 0;
}

int store_part_load(struct store *s, struct store_part *sp, struct err *err)
{
	int rc = store_part_use(s, sp, err);

	if (rc || sp->has_dict)
		return rc;
	rc = part_load(sp->part, err);
	sp->has_dict = rc == 0;
	sp->is_bad = rc == -EBADMSG;
	if (rc)
		return rc;
	sp->dict_id = ++s->dict_ids;
	sp->logged = chunk_position_of(part_dict(sp->part));
	return 0;
}

void store_part_replayed(struct store_part *sp)
{
	if (sp->replay)
		chunk_reader_done(sp->replay);
	free(sp->replay);
	sp->replay = NULL;
}

void store_part_close(struct store_part *sp)
{
	store_part_replayed(sp);
	part_close(sp->part);
	sp->part = NULL;
	sp->has_dict = false;
	heads_done(&sp->heads);
	store_ahead_done(sp);
	sp->first_sequence = UINT64_MAX;
}

void store_part_idle(struct store_part *sp)
{
	if (!sp->pins && sp->first_sequence == UINT64_MAX)
		store_part_close(sp);
}

static void part_forget(struct store *s, struct store_part *sp)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->parts.n; i++)
		if (s->parts.v[i] != sp)
			s->parts.v[kept++] = s->parts.v[i];
	s->parts.n = kept;
	free(sp->path);
	free(sp);
}

int store_part_unlink(struct store *s, struct store_part *sp, struct err *err)
{
	char *detail = store_detail_path(sp->path);
	int rc;

	readers_drop(s, sp);
	store_part_close(sp);
	rc = db_files_unlink(sp->path, err);
	if (!rc)
		rc = db_files_unlink(detail, err);
	free(detail);
	if (!rc)
		part_forget(s, sp);
	return rc;
}

static uint64_t dict_bytes(const struct store_part *sp)
{
	struct profile *dict = sp->has_dict ? part_dict(sp->part) : NULL;

	return dict ? dict->sink.ops->kept_bytes(&dict->sink) : 0;
}

/* Starts another piece of a day whose dictionary has used its share of memory. The heads of the
 * previous piece are empty then: see store_state.h. */
static int next_piece(struct store *s, struct store_part **sp, struct err *err)
{
	struct store_part *full = *sp;
	int rc = store_part_flush(s, full, err);

	if (rc)
		return rc;
	*sp = insert_part(s, full->day_ns, full->piece + 1);
	store_part_idle(full);
	return 0;
}

static struct store_part *find_piece(const struct store *s, int64_t day_ns, uint32_t piece)
{
	for (size_t i = s->parts.n; i--;)
		if (s->parts.v[i]->day_ns == day_ns && s->parts.v[i]->piece == piece)
			return s->parts.v[i];
	return NULL;
}

int store_part_piece(struct store *s, int64_t day_ns, uint32_t piece, struct store_part **out,
		     struct err *err)
{
	struct store_part *sp = find_piece(s, day_ns, piece), *last = last_of_day(s, day_ns);

	if (last && last->piece > piece) /* all its heads were written as blocks before */
		return err_set(err, EBADMSG, "%s: its data in memory is lost", last->path);
	if (!sp)
		sp = insert_part(s, day_ns, piece);
	*out = sp;
	return store_part_load(s, sp, err);
}

int store_part_for(struct store *s, int64_t day_ns, struct store_part **out, struct err *err)
{
	struct store_part *sp = last_of_day(s, day_ns);
	int rc;

	if (!sp)
		sp = insert_part(s, day_ns, 0);
	rc = store_part_load(s, sp, err);
	if (rc == -EBADMSG) { /* its content is lost; continue the day in another piece */
		sp = insert_part(s, day_ns, sp->piece + 1);
		rc = store_part_load(s, sp, err);
	}
	*out = sp;
	return rc;
}

int store_part_with_room(struct store *s, int64_t day_ns, struct store_part **out, struct err *err)
{
	int rc = store_part_for(s, day_ns, out, err);

	if (rc || (dict_bytes(*out) <= s->opts.memory_bytes / DICT_SHARE && !(*out)->is_torn))
		return rc;
	rc = next_piece(s, out, err);
	return rc ? rc : store_part_load(s, *out, err);
}

static void note(struct store *s, struct store_part *sp, uint64_t seq, uint64_t rows)
{
	sp->heads.rows += rows;
	if (sp->first_sequence != UINT64_MAX)
		return;
	sp->first_sequence = seq;
	sp->due_ns = (store_now_ns(s) / HEAD_SLOT_NS + 1) * HEAD_SLOT_NS + FLUSH_GRACE_NS;
}

void store_part_note(struct store *s, struct store_part *sp, uint64_t seq, uint64_t rows)
{
	s->stats.rows += rows;
	note(s, sp, seq, rows);
}

void store_part_note_points(struct store *s, struct store_part *sp, uint64_t seq, uint64_t points)
{
	s->stats.points += points;
	note(s, sp, seq, points);
}

int store_day_sequence(struct store *s, int64_t day_ns, uint64_t *out, struct err *err)
{
	uint64_t sequence = 0;

	for (size_t i = s->parts.n; i-- && sequence == 0;) {
		struct store_part *sp = s->parts.v[i];
		if (sp->day_ns != day_ns)
			continue;
		int rc = sp->is_known ? 0 : store_part_use(s, sp, err);
		if (rc && rc != -EBADMSG)
			return rc;
		sequence = sp->inbox_sequence;
	}
	*out = sequence;
	return 0;
}

/* --- writing heads as blocks ------------------------------------------------------------------ */

/* Returns blocks of all heads with rows; the rows must be freed. */
static struct part_block *make_blocks(const struct store_part *sp, size_t *n)
{
	const struct heads *heads = &sp->heads;
	struct part_block *blocks = xcalloc(heads->all.n + 1, sizeof *blocks);

	*n = 0;
	for (size_t i = 0; i < heads->all.n; i++) {
		const struct head *h = &heads->all.v[i];
		struct part_block block = { .series = h->series,
					    .from_ns = h->from_ns,
					    .windows = HEAD_WINDOWS,
					    .weighted = h->weighted,
					    .encoded = store_ahead_of(sp, i) };
		struct block_row *rows = NULL;
		if (!block.encoded)
			block.n = head_sort(h, &rows);
		block.rows = rows;
		if (block.n || block.encoded)
			blocks[(*n)++] = block;
		else
			free(rows);
	}
	return blocks;
}

static void free_blocks(struct part_block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)blocks[i].rows);
	free(blocks);
}

/* Returns sorted copies of the heads' points. Copies, because views read the heads by their number
 * of points, in order of arrival. */
static struct part_metric *make_metrics(const struct metric_heads *heads, size_t *n)
{
	struct part_metric *metrics = xcalloc(heads->all.n + 1, sizeof *metrics);

	*n = heads->all.n;
	for (size_t i = 0; i < heads->all.n; i++) {
		struct metric_points points = { 0 };
		vec_append(&points, heads->all.v[i].points.v, heads->all.v[i].points.n);
		metric_points_order(&points);
		metrics[i] = (struct part_metric){ heads->all.v[i].series, points.v, points.n };
	}
	return metrics;
}

static void free_metrics(struct part_metric *metrics, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)metrics[i].points);
	free(metrics);
}

/* Without lock, as no thread adds to heads in the meantime. */
static int add_heads(struct store *s, struct store_part *sp, struct err *err)
{
	struct part_news news;
	struct part_block *blocks = make_blocks(sp, &news.n);
	struct part_metric *metrics = make_metrics(&sp->heads.metrics, &news.n_metrics);

	news.blocks = blocks;
	news.metrics = metrics;
	int rc = part_add_news(sp->part, &news, s->applied, err);
	free_blocks(blocks, news.n);
	free_metrics(metrics, news.n_metrics);
	return rc;
}

int store_part_flush(struct store *s, struct store_part *sp, struct err *err)
{
	int rc;

	if (sp->first_sequence == UINT64_MAX)
		return 0;
	rc = store_views_hold(s, sp, err);
	if (rc)
		return rc;
	rc = store_hot_flush(s, sp, err);
	if (rc)
		return rc;
	sp->flushes++; /* discards what is being encoded ahead */
	pthread_mutex_unlock(&s->lock);
	rc = catalog_sync(s->catalog, err);
	if (rc == 0)
		rc = add_heads(s, sp, err);
	pthread_mutex_lock(&s->lock);
	if (rc)
		return rc;
	store_views_take_heads(s, sp);
	store_ahead_done(sp);
	sp->inbox_sequence = s->applied;
	sp->first_sequence = UINT64_MAX;
	sp->finished = false;
	/* Due at the end of the current four hours, which then merit a separate block. */
	if (sp->compact_ns == INT64_MAX)
		sp->compact_ns = (store_now_ns(s) / COMPACT_SLOT_NS + 1) * COMPACT_SLOT_NS +
				 2 * FLUSH_GRACE_NS;
	store_part_measure(sp);
	return 0;
}

/* --- memory ----------------------------------------------------------------------------------- */

uint64_t store_memory_bytes(const struct store *s)
{
	uint64_t bytes = catalog_size_bytes(s->catalog) + names_db_memory_bytes(s->names) +
			 readers_bytes(s) + store_hot_buffer_bytes(s) + store_dicts_bytes(s);

	for (size_t i = 0; i < s->parts.n; i++) {
		const struct store_part *sp = s->parts.v[i];
		bytes += dict_bytes(sp) + heads_size_bytes(&sp->heads) + sp->ahead_bytes;
	}
	return bytes;
}

static uint64_t all_heads_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->parts.n; i++)
		bytes += heads_size_bytes(&s->parts.v[i]->heads);
	return bytes;
}

static struct store_part *largest_heads(const struct store *s)
{
	struct store_part *largest = NULL;

	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		if (sp->heads.rows && (!largest || sp->heads.rows > largest->heads.rows))
			largest = sp;
	}
	return largest;
}

static struct store_part *least_used(const struct store *s)
{
	struct store_part *least = NULL;
	size_t open = 0;

	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		open += sp->part != NULL;
		if (sp->part && !sp->pins && (!least || sp->used < least->used))
			least = sp;
	}
	return open > 1 ? least : NULL;
}

static int flush_hot(struct store *s, struct err *err)
{
	int rc = 0;

	if (store_hot_buffer_bytes(s) <= s->opts.memory_bytes / HOT_SHARE)
		return 0;
	for (size_t i = 0; rc == 0 && i < s->parts.n; i++)
		if (s->parts.v[i]->part && s->parts.v[i]->heads.rows)
			rc = store_hot_flush(s, s->parts.v[i], err);
	return rc;
}

static int write_names(struct store *s, struct err *err)
{
	pthread_mutex_unlock(&s->lock);
	int rc = names_db_write(s->names, err);
	pthread_mutex_lock(&s->lock);
	return rc;
}

/* Sorting heads for part_add takes twice their memory. */
int store_free_memory(struct store *s, struct err *err)
{
	struct store_part *sp;
	int rc = flush_hot(s, err);

	if (rc == 0 && names_db_gathered_bytes(s->names) > s->opts.memory_bytes / NAMES_SHARE)
		rc = write_names(s, err);
	while (rc == 0 && all_heads_bytes(s) > s->opts.memory_bytes / STORE_HEADS_SHARE &&
	       (sp = largest_heads(s)))
		rc = store_part_flush(s, sp, err);
	if (store_memory_bytes(s) > s->opts.memory_bytes / 4 * 3)
		readers_drop(s, NULL);
	if (store_memory_bytes(s) > s->opts.memory_bytes / 4 * 3)
		store_dicts_drop(s);
	while (rc == 0 && store_memory_bytes(s) > s->opts.memory_bytes / 4 * 3 &&
	       (sp = least_used(s))) {
		rc = store_part_flush(s, sp, err);
		if (rc == 0) /* unless a view was opened in the meantime */
			store_part_idle(sp);
	}
	return rc;
}
