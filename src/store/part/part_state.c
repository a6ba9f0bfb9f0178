/* The state row of a partition and its seal. */
#include "base/err.h"
#include "base/hash.h"
#include "store/part/part_file.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

static const char *const day_objects[] = {
	"CREATE TABLE dict(id INTEGER PRIMARY KEY, type INT, flags INT, sum INT, data BLOB)",
	/* The columns that narrow queries read are first: of a row larger than a page, SQLite
	 * reads no more than needed. */
	"CREATE TABLE block(id INTEGER PRIMARY KEY, series INT, start INT, windows INT, rows INT, "
	"total INT, weighted INT, sum INT, steps_sum INT, steps BLOB, summary BLOB)",
	"CREATE INDEX block_slot ON block(series, start, windows, rows, total)",
	"CREATE TABLE metric(id INTEGER PRIMARY KEY, series INT, first INT, last INT, points INT, "
	"sum INT, data BLOB)",
	"CREATE INDEX metric_slot ON metric(series, first, last, points, sum)",
	"CREATE TABLE state(key TEXT PRIMARY KEY, value)",
	NULL,
};
const struct db_schema part_day_schema = { .kind = DB_KIND_PART,
					   .version = 1,
					   .objects = day_objects };

static const char *const detail_objects[] = {
	"CREATE TABLE detail(block INTEGER PRIMARY KEY, data BLOB, sum INT)",
	NULL,
};
const struct db_schema part_detail_schema = { .kind = DB_KIND_DETAIL,
					      .version = 1,
					      .objects = detail_objects };

static uint64_t hash_words(const uint64_t *words, size_t n)
{
	uint64_t little[16];

	assert(n <= 16);
	for (size_t i = 0; i < n; i++)
		little[i] = htole64(words[i]);
	return hash_bytes(little, n * sizeof *little);
}

uint64_t part_ref_hash(const struct part_ref *ref)
{
	const uint64_t words[] = {
		(uint64_t)ref->id,      ref->series,          ref->windows,
		(uint64_t)ref->from_ns, (uint64_t)ref->total, ref->rows,
	};

	return hash_words(words, sizeof words / sizeof *words);
}

/* Differs if two blobs are swapped. */
uint64_t part_sums_hash(uint64_t sum, uint64_t steps_sum)
{
	return hash_mix(sum, steps_sum);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Keys, in the order of the members of struct part_state. */
static const char *const keys[] = {
	"day",  "inbox", "stacks", "next",    "blocks", "rows",
	"refs", "sums",  "sealed", "metrics", "points", "metric_sums",
};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(KEYS * sizeof(uint64_t) == sizeof(struct part_state), "a key for each member");

static const char check_key[] = "check";

static int find_key(const char *key)
{
	int i = 0;

	while (i < KEYS && strcmp(keys[i], key) != 0)
		i++;
	return i;
}

int part_state_read(struct part *p, struct part_state *state, struct err *err)
{
	uint64_t words[KEYS + 1] = { 0 };
	size_t found = 0;
	int rc;

	sqlite3_stmt *s = db_prepare(p->day, "SELECT key, value FROM state", err);
	if (!s)
		return -err->code;
	for (; (rc = db_step(p->day, s, err)) > 0; found++) {
		const char *key = (const char *)sqlite3_column_text(s, 0);
		words[find_key(key ? key : "")] = sqlite3_column_int64(s, 1);
	}
	if (rc || found == 0)
		return rc;
	if (found != KEYS + 1 || words[KEYS] != hash_words(words, KEYS))
		return err_set(err, EBADMSG, "%s: its state is damaged", p->path);
	memcpy(state, words, sizeof *state);
	return 1;
}

static int put_word(struct part *p, const char *key, uint64_t value, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, "INSERT OR REPLACE INTO state VALUES(?1, ?2)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (int64_t)value);
	return db_step(p->day, s, err);
}

int part_state_write(struct part *p, const struct part_state *state, struct err *err)
{
	uint64_t words[KEYS];
	int rc = 0;

	memcpy(words, state, sizeof words);
	for (int i = 0; rc == 0 && i < KEYS; i++)
		rc = put_word(p, keys[i], words[i], err);
	return rc ? rc : put_word(p, check_key, hash_words(words, KEYS), err);
}
