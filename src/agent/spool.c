#include "agent/spool_state.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

const char *const spool_paths[SPOOL_KINDS] = {
	[SPOOL_PROFILES] = "/v1development/profiles",
	[SPOOL_METRICS] = "/v1/metrics",
};

/* Of the spool's size: for the journal, and what the table itself takes. */
enum { RESERVE_SHARE = 16, RESERVE_MIN_BYTES = 128 << 10, PAGE_BYTES = 4096 };

/* --- opening ---------------------------------------------------------------------------------- */

static struct otlp_bytes bytes_of(const struct buf *b)
{
	return (struct otlp_bytes){ b->data, b->len };
}

/* Later messages are packed against it, too. One that is damaged is none. */
static int load_key(struct spool *s, struct err *err)
{
	struct spool_entry e = { 0 };
	struct buf plain = { 0 };
	int rc = spool_db_last_key(s, &e, err);

	if (rc > 0 && e.packed.len &&
	    otlp_unpack(bytes_of(&e.packed), (struct otlp_bytes){ 0 }, SPOOL_MAX_MESSAGE, &plain,
			NULL) == 0)
		delta_key_set(&s->key, e.id, bytes_of(&plain), e.packed.len, e.made_ns);
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

/* What is wrong with it is to be looked at later; only the last one stays. */
static int set_aside(struct spool *s, struct err *err)
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
		rc = set_aside(s, err);
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

/* --- transactions ----------------------------------------------------------------------------- */

/* What a transaction changes beside the file. */
struct change {
	struct spool_row row;
	uint64_t waiting, waiting_bytes;
};

static int begin(struct spool *s, struct change *before, struct err *err)
{
	*before = (struct change){ s->row, s->waiting, s->waiting_bytes };
	return db_begin(s->db, err);
}

/* All of it, or nothing. */
static int end(struct spool *s, const struct change *before, int rc, struct err *err)
{
	if (!rc)
		rc = spool_db_save(s, err);
	if (!rc)
		rc = db_commit(s->db, err);
	if (rc) {
		db_rollback(s->db);
		s->row = before->row;
		s->waiting = before->waiting;
		s->waiting_bytes = before->waiting_bytes;
	}
	return rc;
}

/* --- room ------------------------------------------------------------------------------------- */

static uint64_t budget(const struct spool *s)
{
	uint64_t reserve = s->opts.max_bytes / RESERVE_SHARE;

	if (reserve < RESERVE_MIN_BYTES)
		reserve = RESERVE_MIN_BYTES;
	return s->opts.max_bytes > reserve ? s->opts.max_bytes - reserve : 0;
}

static bool fits(struct spool *s, size_t bytes)
{
	return spool_db_used(s) + bytes + bytes / (PAGE_BYTES / 8) + 4 * PAGE_BYTES <= budget(s);
}

static bool may_be_key(enum spool_kind kind, uint64_t base)
{
	return kind == SPOOL_PROFILES && base == 0;
}

/* 1: one was dropped; 0: there is none. A transaction of its own: what it frees is free for the next. */
static int drop_oldest(struct spool *s, struct err *err)
{
	struct spool_head h;
	struct change before;
	int rc = spool_db_oldest(s, s->in_flight, &h, err);

	if (rc <= 0)
		return rc;
	rc = begin(s, &before, err);
	s->row.counts.dropped++;
	s->row.counts.dropped_samples += h.samples;
	s->waiting--;
	s->waiting_bytes -= h.bytes;
	if (!rc)
		rc = spool_db_end(s, h.id, may_be_key(h.kind, h.base), err);
	rc = end(s, &before, rc, err);
	return rc ? rc : 1;
}

static int make_room(struct spool *s, size_t bytes, struct err *err)
{
	int rc = 1;

	while (rc > 0 && !fits(s, bytes))
		rc = drop_oldest(s, err);
	return rc < 0 ? rc : fits(s, bytes) ? 0 : -E2BIG;
}

/* --- adding ----------------------------------------------------------------------------------- */

static bool is_known(const struct spool *s, const struct spool_source *source)
{
	return source && memcmp(source->id, s->row.source.id, SPOOL_ID_BYTES) == 0 &&
	       source->sequence <= s->row.source.sequence;
}

static int pack(struct spool *s, const struct spool_message *m, struct spool_entry *e,
		struct err *err)
{
	static const struct delta_key none;
	const struct delta_key *key = m->kind == SPOOL_PROFILES && !s->wants_key ? &s->key : &none;

	e->packed.len = 0;
	return delta_pack(key, (struct otlp_bytes){ m->data, m->len }, m->now_ns, &e->packed,
			  &e->base, err);
}

/* Packed, with room for it. Where the key is what takes the room, it goes. */
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
	struct change before;
	int rc = begin(s, &before, err);

	s->row.counts.dropped++;
	s->row.counts.dropped_samples += m->samples;
	s->row.next++; /* a gap */
	if (m->source)
		s->row.source = *m->source;
	rc = end(s, &before, rc, err);
	return rc ? rc
		  : err_set(err, E2BIG, "a batch of %zu bytes does not fit into the spool", m->len);
}

static int put(struct spool *s, const struct spool_message *m, struct spool_entry *e,
	       struct err *err)
{
	struct change before;
	int rc = begin(s, &before, err);

	e->id = s->row.next++;
	s->row.counts.added++;
	s->row.counts.added_samples += m->samples;
	s->waiting++;
	s->waiting_bytes += e->packed.len;
	if (m->source)
		s->row.source = *m->source;
	if (!rc)
		rc = spool_db_put(s, e, err);
	return end(s, &before, rc, err);
}

static int add(struct spool *s, const struct spool_message *m, struct err *err)
{
	struct spool_entry e = { .kind = m->kind, .made_ns = m->now_ns, .samples = m->samples };
	int rc = prepare(s, m, &e, err);

	if (rc == -E2BIG)
		rc = count_dropped(s, m, err);
	else if (!rc)
		rc = put(s, m, &e, err);
	if (!rc && may_be_key(e.kind, e.base)) {
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
	bool known = is_known(s, m->source);
	if (!known)
		rc = add(s, m, err);
	if (rc == -EBADMSG && !(rc = set_aside(s, err)))
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

/* --- sending ---------------------------------------------------------------------------------- */

enum ending { ENDED_SENT, ENDED_REFUSED };

/* Of the one that is on its way. */
static int finish(struct spool *s, uint64_t id, enum ending how, const struct spool_peer *peer,
		  struct err *err)
{
	struct spool_entry e = { 0 };
	struct change before;

	if (s->in_flight != id)
		return 0; /* it was in a file that was set aside meanwhile */
	int rc = spool_db_get(s, id, &e, err);
	if (rc == 0)
		rc = err_set(err, EBADMSG, "%s: a batch has gone", s->path);
	if (rc < 0)
		return rc;
	rc = begin(s, &before, err);
	struct spool_counts *c = &s->row.counts;
	*(how == ENDED_SENT ? &c->sent : &c->refused) += 1;
	*(how == ENDED_SENT ? &c->sent_samples : &c->refused_samples) += e.samples;
	s->waiting--;
	s->waiting_bytes -= e.packed.len;
	if (peer)
		s->row.peer = *peer;
	if (!rc)
		rc = spool_db_end(s, id, may_be_key(e.kind, e.base), err);
	rc = end(s, &before, rc, err);
	buf_done(&e.packed);
	if (!rc)
		s->in_flight = 0;
	return rc;
}

static int finish_locked(struct spool *s, uint64_t id, enum ending how,
			 const struct spool_peer *peer, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	pthread_mutex_lock(&s->lock);
	int rc = finish(s, id, how, peer, err);
	if (rc == -EBADMSG)
		rc = set_aside(s, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int spool_sent(struct spool *s, uint64_t id, const struct spool_peer *peer, struct err *err)
{
	return finish_locked(s, id, ENDED_SENT, peer, err);
}

int spool_refuse(struct spool *s, uint64_t id, struct err *err)
{
	return finish_locked(s, id, ENDED_REFUSED, NULL, err);
}

static int first_sound(struct spool *s, struct spool_entry *out, struct err *err)
{
	int rc;

	while ((rc = spool_db_first(s, out, err)) > 0 && !out->packed.len) {
		s->in_flight = out->id;
		rc = finish(s, out->id, ENDED_REFUSED, NULL, err);
		if (rc)
			return rc;
	}
	s->in_flight = rc > 0 ? out->id : 0;
	return rc;
}

int spool_first(struct spool *s, struct spool_entry *out, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	*out = (struct spool_entry){ 0 };
	pthread_mutex_lock(&s->lock);
	int rc = first_sound(s, out, err);
	if (rc == -EBADMSG)
		rc = set_aside(s, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int unpack_base(struct spool *s, uint64_t base, struct buf *out, struct err *err)
{
	struct spool_entry e = { 0 };
	const struct otlp_bytes none = { 0 };
	int rc = spool_db_get(s, base, &e, err);

	if (rc > 0)
		rc = otlp_unpack(bytes_of(&e.packed), none, SPOOL_MAX_MESSAGE, out, err);
	else if (rc == 0)
		rc = err_set(err, EBADMSG, "%s: a batch's key is not there", s->path);
	buf_done(&e.packed);
	return rc;
}

int spool_unpack(struct spool *s, const struct spool_entry *e, struct buf *out, struct err *err)
{
	struct buf base = { 0 };
	struct otlp_bytes key = { 0 };
	struct err local;
	int rc = 0;

	err = err ? err : &local;
	if (e->base) {
		pthread_mutex_lock(&s->lock);
		if (s->key.id == e->base)
			buf_add(&base, s->key.plain.data, s->key.plain.len);
		else
			rc = unpack_base(s, e->base, &base, err);
		pthread_mutex_unlock(&s->lock);
		key = bytes_of(&base);
	}
	if (!rc)
		rc = otlp_unpack(bytes_of(&e->packed), key, SPOOL_MAX_MESSAGE, out, err);
	buf_done(&base);
	return rc;
}

/* Whole, so that it depends on nothing. */
static int put_half(struct spool *s, const struct spool_message *m, struct err *err)
{
	static const struct delta_key none;
	struct spool_entry e = {
		.id = s->row.next++, .kind = m->kind, .made_ns = m->now_ns, .samples = m->samples
	};
	int rc = delta_pack(&none, (struct otlp_bytes){ m->data, m->len }, m->now_ns, &e.packed,
			    &e.base, err);

	if (!rc)
		rc = spool_db_put(s, &e, err);
	s->waiting++;
	s->waiting_bytes += e.packed.len;
	buf_done(&e.packed);
	return rc;
}

static int split(struct spool *s, const struct spool_entry *e, const struct spool_message halves[2],
		 struct err *err)
{
	struct change before;
	int rc = begin(s, &before, err);

	s->waiting--;
	s->waiting_bytes -= e->packed.len;
	for (int i = 0; !rc && i < 2; i++)
		rc = put_half(s, &halves[i], err);
	if (!rc)
		rc = spool_db_end(s, e->id, may_be_key(e->kind, e->base), err);
	s->row.counts.added++;
	rc = end(s, &before, rc, err);
	if (!rc)
		s->in_flight = 0;
	return rc;
}

int spool_split(struct spool *s, const struct spool_entry *e, const struct spool_message halves[2],
		struct err *err)
{
	struct err local;

	err = err ? err : &local;
	pthread_mutex_lock(&s->lock);
	int rc = split(s, e, halves, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* --- who we are ------------------------------------------------------------------------------- */

static int begin_anew(struct spool *s, struct err *err)
{
	struct spool_entry first = { 0 };
	struct change before;
	int rc = spool_db_first(s, &first, err);

	buf_done(&first.packed);
	if (rc < 0)
		return rc;
	uint64_t from = rc > 0 ? first.id : s->row.next;
	rc = begin(s, &before, err);
	if (!rc)
		rc = spool_db_new_agent(s, err);
	s->row.shift = from - 1;
	s->row.peer.key = 0;
	return end(s, &before, rc, err);
}

int spool_begin_anew(struct spool *s, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	pthread_mutex_lock(&s->lock);
	int rc = begin_anew(s, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void spool_agent(struct spool *s, uint8_t id[SPOOL_ID_BYTES])
{
	pthread_mutex_lock(&s->lock);
	memcpy(id, s->row.agent, SPOOL_ID_BYTES);
	pthread_mutex_unlock(&s->lock);
}

uint64_t spool_number(struct spool *s, uint64_t id)
{
	pthread_mutex_lock(&s->lock);
	uint64_t number = id > s->row.shift ? id - s->row.shift : 0;
	pthread_mutex_unlock(&s->lock);
	return number;
}

uint64_t spool_id_of_number(struct spool *s, uint64_t number)
{
	pthread_mutex_lock(&s->lock);
	uint64_t id = number && number < s->row.next ? number + s->row.shift : 0;
	pthread_mutex_unlock(&s->lock);
	return id;
}

struct spool_peer spool_peer(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	struct spool_peer peer = s->row.peer;
	pthread_mutex_unlock(&s->lock);
	return peer;
}

void spool_status(struct spool *s, struct spool_status *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct spool_status){ .waiting = s->waiting,
				      .waiting_bytes = s->waiting_bytes,
				      .counts = s->row.counts };
	pthread_mutex_unlock(&s->lock);
}
