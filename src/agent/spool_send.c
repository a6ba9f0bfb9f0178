/* Sending the entries of a spool, and the numbers that a server sees. */
#include "agent/spool.h"
#include "agent/spool_state.h"
#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

const char *const spool_paths[SPOOL_KINDS] = {
	[SPOOL_PROFILES] = "/v1development/profiles",
	[SPOOL_METRICS] = "/v1/metrics",
};

/* --- sending ---------------------------------------------------------------------------------- */

enum ending { ENDED_SENT, ENDED_REFUSED };

/* Ends the entry that is in flight. */
static int finish(struct spool *s, uint64_t id, enum ending how, const struct spool_peer *peer,
		  struct err *err)
{
	struct spool_entry e = { 0 };
	struct spool_change before;

	if (s->in_flight != id)
		return 0; /* its file was set aside in the meantime */
	int rc = spool_db_get(s, id, &e, err);
	if (rc == 0)
		rc = err_set(err, EBADMSG, "%s: a batch has gone", s->path);
	if (rc < 0)
		return rc;
	rc = spool_begin(s, &before, err);
	struct spool_counts *c = &s->row.counts;
	*(how == ENDED_SENT ? &c->sent : &c->refused) += 1;
	*(how == ENDED_SENT ? &c->sent_samples : &c->refused_samples) += e.samples;
	s->waiting--;
	s->waiting_bytes -= e.packed.len;
	if (peer)
		s->row.peer = *peer;
	if (!rc)
		rc = spool_db_end(s, id, spool_may_be_key(e.kind, e.base), err);
	rc = spool_end(s, &before, rc, err);
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
		rc = spool_set_aside(s, err);
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
		rc = spool_set_aside(s, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int unpack_base(struct spool *s, uint64_t base, struct buf *out, struct err *err)
{
	struct spool_entry e = { 0 };
	const struct otlp_bytes none = { 0 };
	int rc = spool_db_get(s, base, &e, err);

	if (rc > 0)
		rc = otlp_unpack(spool_bytes(&e.packed), none, SPOOL_MAX_MESSAGE, out, err);
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
		key = spool_bytes(&base);
	}
	if (!rc)
		rc = otlp_unpack(spool_bytes(&e->packed), key, SPOOL_MAX_MESSAGE, out, err);
	buf_done(&base);
	return rc;
}

/* Adds it whole, so that it depends on no other entry. */
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
	struct spool_change before;

	if (s->in_flight != e->id)
		return 0; /* as in finish: the id may belong to another entry by now */
	int rc = spool_begin(s, &before, err);
	s->waiting--;
	s->waiting_bytes -= e->packed.len;
	for (int i = 0; !rc && i < 2; i++)
		rc = put_half(s, &halves[i], err);
	if (!rc)
		rc = spool_db_end(s, e->id, spool_may_be_key(e->kind, e->base), err);
	s->row.counts.added++;
	rc = spool_end(s, &before, rc, err);
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

/* --- identity --------------------------------------------------------------------------------- */

static int begin_anew(struct spool *s, struct err *err)
{
	struct spool_entry first = { 0 };
	struct spool_change before;
	int rc = spool_db_first(s, &first, err);

	buf_done(&first.packed);
	if (rc < 0)
		return rc;
	uint64_t from = rc > 0 ? first.id : s->row.next;
	rc = spool_begin(s, &before, err);
	if (!rc)
		rc = spool_db_new_agent(s, err);
	s->row.shift = from - 1;
	s->row.peer.key = 0;
	return spool_end(s, &before, rc, err);
}

int spool_start_over(struct spool *s, struct err *err)
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
