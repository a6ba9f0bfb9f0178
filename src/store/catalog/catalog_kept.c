/* Parts of meta.db: since when a store retains data, the clocks' last look, and pinned ranges. */
#include "store/catalog/catalog_state.h"

#include "base/err.h"
#include "base/vec.h"
#include "store/catalog/catalog.h"
#include "store/codec/clock_watch.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>

/* --- times ------------------------------------------------------------------------------------ */

/* Rows of `kept`, by id. 1: nothing before it is retained. 2: hours of exact samples before it take
 * no samples unless the hour exists. 3, 4: Unix time and CLOCK_BOOTTIME at the writer's last check,
 * at most 10 minutes ago. 5: for how many ns of uptime it deletes nothing by age. 6: the value of 2
 * when it lay in the future; it counts again once the clock reaches it. 7: the time at the last
 * check if the clock had never been set; 0: it was not set. */
enum { KEPT_FROM = 1, KEPT_HOT_FROM, KEPT_WALL, KEPT_BOOT, KEPT_HOLD, KEPT_HOT_WAITS, KEPT_UNSET };

/* Returns 1 with *out_ns, or 0 if it was never set. */
static int read_moment(struct catalog *c, int id, int64_t *out_ns, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "SELECT from_ns FROM kept WHERE id = ?", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int(s, 1, id);
	int rc = db_step(c->db, s, err);
	if (rc <= 0)
		return rc;
	rc = sqlite3_column_type(s, 0) == SQLITE_INTEGER;
	if (rc)
		*out_ns = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return rc;
}

static int write_moment(struct catalog *c, int id, int64_t ns, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(c->db, "INSERT OR REPLACE INTO kept(id, from_ns) VALUES(?, ?)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int(s, 1, id);
	sqlite3_bind_int64(s, 2, ns);
	return db_step(c->db, s, err);
}

/* --- the start of what is kept ---------------------------------------------------------------- */

int catalog_read_kept(struct catalog *c, struct err *err)
{
	c->kept_from_ns = INT64_MIN;
	int rc = read_moment(c, KEPT_FROM, &c->kept_from_ns, err);

	return rc < 0 ? rc : 0;
}

int64_t catalog_kept_from(const struct catalog *c)
{
	return c->kept_from_ns;
}

int catalog_keep_again(struct catalog *c, int64_t from_ns, struct err *err)
{
	struct err local;
	int rc = write_moment(c, KEPT_FROM, from_ns, err ? err : &local);

	if (!rc)
		c->kept_from_ns = from_ns;
	return rc;
}

int catalog_keep_from(struct catalog *c, int64_t from_ns, struct err *err)
{
	return from_ns <= c->kept_from_ns ? 0 : catalog_keep_again(c, from_ns, err);
}

int catalog_hot_from(struct catalog *c, int64_t *out_ns, struct err *err)
{
	int64_t from_ns = INT64_MIN;
	int rc = read_moment(c, KEPT_HOT_FROM, &from_ns, err);

	if (rc >= 0)
		*out_ns = from_ns;
	return rc;
}

int catalog_hot_waiting(struct catalog *c, int64_t *out_ns, struct err *err)
{
	int64_t ns = INT64_MIN;
	int rc = read_moment(c, KEPT_HOT_WAITS, &ns, err);

	if (rc >= 0)
		*out_ns = ns;
	return rc < 0 ? rc : 0;
}

int catalog_hot_keep_again(struct catalog *c, int64_t from_ns, struct err *err)
{
	int64_t now_ns, waiting_ns;
	int rc = catalog_hot_from(c, &now_ns, err);

	if (rc >= 0)
		rc = catalog_hot_waiting(c, &waiting_ns, err);
	if (rc >= 0 && now_ns > waiting_ns)
		rc = write_moment(c, KEPT_HOT_WAITS, now_ns, err);
	return rc < 0 ? rc : write_moment(c, KEPT_HOT_FROM, from_ns, err);
}

int catalog_hot_keep_from(struct catalog *c, int64_t from_ns, struct err *err)
{
	int64_t now_ns;
	int rc = catalog_hot_from(c, &now_ns, err);

	if (rc < 0 || (rc && from_ns <= now_ns))
		return rc < 0 ? rc : 0;
	return write_moment(c, KEPT_HOT_FROM, from_ns, err);
}

/* --- the clocks ------------------------------------------------------------------------------- */

static const struct {
	int id;
	size_t member; /* of struct clock_watch */
} clock_rows[] = {
	{ KEPT_WALL, offsetof(struct clock_watch, wall_ns) },
	{ KEPT_BOOT, offsetof(struct clock_watch, boot_ns) },
	{ KEPT_HOLD, offsetof(struct clock_watch, hold_ns) },
	{ KEPT_UNSET, offsetof(struct clock_watch, unset_ns) },
};
enum { CLOCK_ROWS = sizeof clock_rows / sizeof *clock_rows };

int catalog_clock(struct catalog *c, struct clock_watch *out, struct err *err)
{
	struct clock_watch w = { 0 };
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < CLOCK_ROWS; i++)
		rc = read_moment(c, clock_rows[i].id,
				 (int64_t *)((char *)&w + clock_rows[i].member), err);
	if (rc < 0)
		return rc;
	*out = w;
	return 0;
}

int catalog_set_clock(struct catalog *c, const struct clock_watch *w, struct err *err)
{
	int rc = db_begin(c->db, err);

	if (rc)
		return rc;
	for (size_t i = 0; rc == 0 && i < CLOCK_ROWS; i++)
		rc = write_moment(c, clock_rows[i].id,
				  *(const int64_t *)((const char *)w + clock_rows[i].member), err);
	if (rc == 0)
		return db_commit(c->db, err);
	db_rollback(c->db);
	return rc;
}

/* --- pinned ranges ---------------------------------------------------------------------------- */

int catalog_read_pins(struct catalog *c, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "SELECT from_ns, to_ns FROM pin ORDER BY 1, 2", err);
	int rc = s ? 0 : -err->code;

	while (rc == 0 && (rc = db_step(c->db, s, err)) > 0) {
		vec_push(&c->pins, (struct store_pin){ sqlite3_column_int64(s, 0),
						       sqlite3_column_int64(s, 1) });
		rc = 0;
	}
	return rc;
}

static int change_pin(struct catalog *c, const char *sql, const struct store_pin *pin,
		      struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, sql, err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, pin->from_ns);
	sqlite3_bind_int64(s, 2, pin->to_ns);
	return db_step(c->db, s, err);
}

static bool find_pin(const struct catalog *c, const struct store_pin *pin, size_t *at)
{
	for (*at = 0; *at < c->pins.n; ++*at)
		if (c->pins.v[*at].from_ns == pin->from_ns && c->pins.v[*at].to_ns == pin->to_ns)
			return true;
	return false;
}

int catalog_pin(struct catalog *c, const struct store_pin *pin, struct err *err)
{
	size_t at;

	if (find_pin(c, pin, &at))
		return 0;
	if (c->pins.n == STORE_MAX_PINS)
		return err_set(err, E2BIG, "there are %d pinned ranges already", STORE_MAX_PINS);
	int rc = change_pin(c, "INSERT INTO pin(from_ns, to_ns) VALUES(?, ?)", pin, err);
	if (rc == 0)
		vec_push(&c->pins, *pin);
	return rc;
}

int catalog_unpin(struct catalog *c, const struct store_pin *pin, struct err *err)
{
	size_t at;

	if (!find_pin(c, pin, &at))
		return err_set(err, ENOENT, "no such pinned range");
	int rc = change_pin(c, "DELETE FROM pin WHERE from_ns = ? AND to_ns = ?", pin, err);
	if (rc == 0)
		c->pins.v[at] = c->pins.v[--c->pins.n];
	return rc;
}

bool catalog_is_pinned(const struct catalog *c, int64_t from_ns, int64_t to_ns)
{
	for (size_t i = 0; i < c->pins.n; i++)
		if (c->pins.v[i].from_ns < to_ns && c->pins.v[i].to_ns > from_ns)
			return true;
	return false;
}

size_t catalog_pins(const struct catalog *c, const struct store_pin **out)
{
	*out = c->pins.v;
	return c->pins.n;
}

void catalog_kept_of(const struct catalog *c, int64_t now_ns, struct store_kept *out)
{
	*out = (struct store_kept){ .asked = *catalog_asked(c), .from_ns = catalog_kept_from(c) };
	/* Retention deletes whole days. */
	int64_t by_age_ns = now_ns - out->asked.retention_ns;
	out->is_short = out->asked.retention_ns > 0 && out->from_ns > by_age_ns;
}
