/* Stores messages as compressed entries in SQLite, drops the oldest beyond the size limit, and
 * numbers them for the server. */
#include "agent/spool_state.h"

#include "agent/spool.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Part of the spool's size reserved for the journal and the table's overhead. */
enum { RESERVE_SHARE = 16, RESERVE_MIN_BYTES = 128 << 10, PAGE_BYTES = 4096 };

/* --- opening ---------------------------------------------------------------------------------- */

/* Loads the key for later messages. A damaged key is ignored. */
static int load_key(struct spool *s, struct err *err)
{
	struct spool_entry e = { 0 };
	struct buf plain = { 0 };
	int rc = spool_db_last_key(s, &e, err);

	if (rc > 0 && e.packed.len &&
	    otlp_unpack(spool_bytes(&e.packed), (struct otlp_bytes){ 0 }, SPOOL_MAX_MESSAGE, &plain,
			NULL) == 0)
		delta_key_set(&s->key, e.id, spool_bytes(&plain), e.packed.len, e.made_ns);
	buf_done(&plain);
	buf_done(&e.packed);
	return rc < 0 ? rc : 0;
}

static int open_file(struct spool *s, struct err *err)
{
	int rc = spool_db_open(s, err);

	if (!rc)
		rc = spool_db_count(s, err);
	return rc ? rc : load_key(s, err);
}

/* The damaged file is retained for inspection. */
int spool_set_aside(struct spool *s, struct err *err)
{
	char *to = xasprintf("%s.damaged", s->path), *journal = xasprintf("%s-journal", s->path);
	int rc = 0;

	db_close(s->db);
	s->db = NULL;
	delta_key_done(&s->key);
	s->waiting = s->waiting_bytes = s->in_flight = 0;
	if (rename(s->path, to))
		rc = err_set(err, errno, "cannot set %s aside: %s", s->path, strerror(errno));
	unlink(journal);
	free(journal);
	free(to);
	return rc ? rc : open_file(s, err);
}

static int take_lock(struct spool *s, struct err *err)
{
	char *path = xasprintf("%s/lock", s->dir);
	int rc = 0;

	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		rc = err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	else if (flock(s->lock_fd, LOCK_EX | LOCK_NB))
		rc = err_set(err, EBUSY, "another process uses the spool in %s", s->dir);
	free(path);
	return rc;
}

int spool_open(const struct spool_opts *opts, struct spool **out, bool *damaged, struct err *err)
{
	struct spool *s = xcalloc(1, sizeof *s);
	struct err local;

	err = err ? err : &local;
	s->opts = *opts;
	s->dir = xstrdup(opts->dir);
	s->path = xasprintf("%s/spool.db", opts->dir);
	pthread_mutex_init(&s->lock, NULL);
	int rc = take_lock(s, err);
	if (!rc)
		rc = open_file(s, err);
	if (damaged)
		*damaged = rc == -EBADMSG;
	if (rc == -EBADMSG)
		rc = spool_set_aside(s, err);
	if (rc)
		spool_close(s);
	else
		*out = s;
	return rc;
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	db_close(s->db);
	delta_key_done(&s->key);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_mutex_destroy(&s->lock);
	free(s->path);
	free(s->dir);
	free(s);
}

/* --- room ------------------------------------------------------------------------------------- */

static uint64_t budget(const struct spool *s)
{
	uint64_t reserve = s->opts.max_bytes / RESERVE_SHARE;

	if (reserve < RESERVE_MIN_BYTES)
		reserve = RESERVE_MIN_BYTES;
	return s->opts.max_bytes > reserve ? s->opts.max_bytes - reserve : 0;
}

/* Includes the table's overhead. */
static uint64_t room_of(size_t bytes)
{
	return bytes + bytes / (PAGE_BYTES / 8) + 4 * PAGE_BYTES;
}

static bool fits(struct spool *s, size_t bytes)
{
	return spool_db_used(s) + room_of(bytes) <= budget(s);
}

/* Returns 1 if an entry was dropped, 0 if none exists. Commits, so that the next transaction can
 * use the freed space. */
static int drop_oldest(struct spool *s, struct err *err)
{
	struct spool_head h;
	struct spool_change before;
	int rc = spool_db_oldest(s, s->in_flight, &h, err);

	if (rc <= 0)
		return rc;
	rc = spool_begin(s, &before, err);
	s->row.counts.dropped++;
	s->row.counts.dropped_samples += h.samples;
	s->waiting--;
	s->waiting_bytes -= h.bytes;
	if (!rc)
		rc = spool_db_end(s, h.id, spool_may_be_key(h.kind, h.base), err);
	rc = spool_end(s, &before, rc, err);
	return rc ? rc : 1;
}

static int make_room(struct spool *s, size_t bytes, struct err *err)
{
	int rc = 1;

	if (room_of(bytes) > budget(s))
		return -E2BIG; /* it would not fit even in an empty spool */
	while (rc > 0 && !fits(s, bytes))
		rc = drop_oldest(s, err);
	return rc < 0 ? rc : fits(s, bytes) ? 0 : -E2BIG;
}

/* --- adding ----------------------------------------------------------------------------------- */

static int pack(struct spool *s, const struct spool_message *m, struct spool_entry *e,
		struct err *err)
{
	static const struct delta_key none;
	const struct delta_key *key = m->kind == SPOOL_PROFILES && !s->wants_key ? &s->key : &none;

	e->packed.len = 0;
	return delta_pack(key, (struct otlp_bytes){ m->data, m->len }, m->now_ns, &e->packed,
			  &e->base, err);
}

/* Packs the message and makes space for it. If the key takes up the space, the key is dropped. */
static int prepare(struct spool *s, const struct spool_message *m, struct spool_entry *e,
		   struct err *err)
{
	int rc = pack(s, m, e, err);

	if (!rc)
		rc = make_room(s, e->packed.len, err);
	if (rc != -E2BIG || !s->key.id)
		return rc;
	delta_key_done(&s->key);
	rc = pack(s, m, e, err);
	return rc ? rc : make_room(s, e->packed.len, err);
}

static int count_dropped(struct spool *s, const struct spool_message *m, struct err *err)
{
	struct spool_change before;
	int rc = spool_begin(s, &before, err);

	s->row.counts.dropped++;
	s->row.counts.dropped_samples += m->samples;
	s->row.next++; /* a gap */
	if (m->source)
		s->row.source = *m->source;
	rc = spool_end(s, &before, rc, err);
	return rc ? rc
		  : err_set(err, E2BIG, "a batch of %zu bytes does not fit into the spool", m->len);
}

static int put(struct spool *s, const struct spool_message *m, struct spool_entry *e,
	       struct err *err)
{
	struct spool_change before;
	int rc = spool_begin(s, &before, err);

	e->id = s->row.next++;
	s->row.counts.added++;
	s->row.counts.added_samples += m->samples;
	s->waiting++;
	s->waiting_bytes += e->packed.len;
	if (m->source)
		s->row.source = *m->source;
	if (!rc)
		rc = spool_db_put(s, e, err);
	return spool_end(s, &before, rc, err);
}

static int add(struct spool *s, const struct spool_message *m, struct err *err)
{
	struct spool_entry e = { .kind = m->kind, .made_ns = m->now_ns, .samples = m->samples };
	int rc = prepare(s, m, &e, err);

	if (rc == -E2BIG)
		rc = count_dropped(s, m, err);
	else if (!rc)
		rc = put(s, m, &e, err);
	if (!rc && spool_may_be_key(e.kind, e.base)) {
		delta_key_set(&s->key, e.id, (struct otlp_bytes){ m->data, m->len }, e.packed.len,
			      m->now_ns);
		s->wants_key = false;
	}
	buf_done(&e.packed);
	return rc;
}

int spool_add(struct spool *s, const struct spool_message *m, bool *duplicate, struct err *err)
{
	struct err local;
	int rc = 0;

	err = err ? err : &local;
	pthread_mutex_lock(&s->lock);
	bool known = m->source && memcmp(m->source->id, s->row.source.id, SPOOL_ID_BYTES) == 0 &&
		     m->source->sequence <= s->row.source.sequence;
	if (!known)
		rc = add(s, m, err);
	if (rc == -EBADMSG && !(rc = spool_set_aside(s, err)))
		rc = add(s, m, err);
	pthread_mutex_unlock(&s->lock);
	if (duplicate)
		*duplicate = known;
	return rc;
}

void spool_want_key(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->wants_key = true;
	pthread_mutex_unlock(&s->lock);
}

/* --- keys ------------------------------------------------------------------------------------- */

void delta_key_done(struct delta_key *k)
{
	buf_done(&k->plain);
	*k = (struct delta_key){ 0 };
}

void delta_key_set(struct delta_key *k, uint64_t id, struct otlp_bytes plain, size_t packed_bytes,
		   int64_t made_ns)
{
	buf_clear(&k->plain);
	buf_add(&k->plain, plain.data, plain.len);
	k->id = id;
	k->packed_bytes = packed_bytes;
	k->made_ns = made_ns;
}

/* Setting the clock back does not make a key last longer. */
static bool is_usable(const struct delta_key *k, int64_t now_ns)
{
	int64_t age_ns = now_ns - k->made_ns;

	return k->id && age_ns >= 0 && age_ns < DELTA_KEY_AGE_NS;
}

int delta_pack(const struct delta_key *k, struct otlp_bytes message, int64_t now_ns,
	       struct buf *out, uint64_t *base, struct err *err)
{
	const struct otlp_bytes none = { 0 }, key = { k->plain.data, k->plain.len };
	size_t before = out->len;

	if (is_usable(k, now_ns) && otlp_pack(message, key, out, NULL) == 0 &&
	    !otlp_key_is_stale(out->len - before, k->packed_bytes)) {
		*base = k->id;
		return 0;
	}
	out->len = before;
	int rc = otlp_pack(message, none, out, err);
	if (rc == 0)
		*base = 0;
	return rc;
}
