/* Of meta.db: from when on a store keeps something, and ranges that stay beyond that. */
#include "store/catalog_state.h"

#include <errno.h>

/* --- from when on ----------------------------------------------------------------------------- */

int catalog_read_kept(struct catalog *c, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "SELECT max(from_ns) FROM kept WHERE id = 1", err);
	int rc = s ? db_step(c->db, s, err) : -err->code;

	if (rc > 0) {
		bool is_set = sqlite3_column_type(s, 0) == SQLITE_INTEGER;
		c->kept_from_ns = is_set ? sqlite3_column_int64(s, 0) : INT64_MIN;
		sqlite3_reset(s);
	}
	return rc < 0 ? rc : 0;
}

int64_t catalog_kept_from(const struct catalog *c)
{
	return c->kept_from_ns;
}

int catalog_keep_from(struct catalog *c, int64_t from_ns, struct err *err)
{
	struct err local;
	sqlite3_stmt *s;
	int rc;

	err = err ? err : &local;
	if (from_ns <= c->kept_from_ns)
		return 0;
	s = db_prepare(c->db, "INSERT OR REPLACE INTO kept(id, from_ns) VALUES(1, ?)", err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, from_ns);
	rc = db_step(c->db, s, err);
	if (!rc)
		c->kept_from_ns = from_ns;
	return rc;
}

int catalog_hot_from(struct catalog *c, int64_t *out_ns, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "SELECT from_ns FROM kept WHERE id = 2", err);
	int rc = s ? db_step(c->db, s, err) : -err->code;

	if (rc < 0)
		return rc;
	*out_ns = rc ? sqlite3_column_int64(s, 0) : INT64_MIN;
	sqlite3_reset(s);
	return rc;
}

int catalog_hot_keep_from(struct catalog *c, int64_t from_ns, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db,
				     "INSERT INTO kept(id, from_ns) VALUES(2, ?1) ON CONFLICT(id) "
				     "DO UPDATE SET from_ns = max(from_ns, ?1)",
				     err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, from_ns);
	return db_step(c->db, s, err);
}

/* --- ranges that stay ------------------------------------------------------------------------- */

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
		return err_set(err, ENOENT, "there is no such pinned range");
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
