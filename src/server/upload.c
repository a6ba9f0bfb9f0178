/* Headers of an upload, and the response after its commit. */
#include "server/upload.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "server/http.h"
#include "server/request.h"
#include "server/symbols.h"
#include "server/tenant.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

enum { DISK_FULL_RETRY_S = 60, BROKEN_RETRY_S = 30 };

/* --- the sender ------------------------------------------------------------------------------- */

static void id_of_address(struct upload *a)
{
	XXH128_canonical_t id;
	XXH128_canonicalFromHash(&id, XXH3_128bits(a->address, strlen(a->address)));
	memcpy(a->id, &id, sizeof a->id);
}

static int take_sender(struct upload *a, struct err *err)
{
	const struct request_heads *h = &a->r->heads;
	if (!h->agent != !h->sequence)
		return err_set(err, EINVAL, "X-Cresset-Agent and X-Cresset-Seq go together");
	if (h->base && !h->agent)
		return err_set(err, EINVAL, "X-Cresset-Base without X-Cresset-Agent");
	if (!h->agent) {
		id_of_address(a);
		return 0;
	}
	if (!sender_id_parse(h->agent, a->id)) {
		id_of_address(a);
		return err_set(err, EINVAL, "X-Cresset-Agent '%.60s' is not a UUID", h->agent);
	}
	a->news.is_agent = true;
	if (parse_u64(h->sequence, &a->news.sequence) < 0 || !a->news.sequence ||
	    a->news.sequence > INT64_MAX)
		return err_set(err, EINVAL, "X-Cresset-Seq '%.60s' is not an integer of at least 1",
			       h->sequence);
	a->in.batch.sender = a->id;
	a->in.batch.sequence = a->news.sequence;
	return 0;
}

/* --- responses -------------------------------------------------------------------------------- */

static void keep_key(struct upload *a)
{
	struct request *r = a->r;
	if (a->may_be_key && a->news.sequence && !r->heads.base && r->body.packed.len)
		senders_keep_key(&r->tenant->senders, a->id, a->news.sequence, &r->body.packed);
	if (a->may_be_key && a->news.sequence)
		r->reply.key_sequence = senders_key_sequence(&r->tenant->senders, a->id);
}

static void keep_stacks(struct upload *a)
{
	struct sender_stacks k;
	if (a->in.batch.known && !a->news.duplicate && sender_stacks_use_result(&a->known, &k))
		senders_keep_stacks(&a->r->tenant->senders, a->id, &k);
}

static void done(struct upload *a)
{
	struct request *r = a->r;
	a->news.status = r->reply.status;
	senders_note(&r->tenant->senders, &a->news);
	if (a->news.status < 400) { /* before the response: the next batch may use it as its base */
		keep_key(a);
		keep_stacks(a);
	}
	sender_stacks_use_done(&a->known);
	profile_free(a->in.batch.p);
	vec_done(&a->points);
	buf_done(&a->why);
	request_ready(r); /* a is freed with it */
}

void upload_refuse(struct upload *a, unsigned status, const struct err *err)
{
	reply_error(a->r, status, err);
	a->news.why = err->text;
	done(a);
}

static unsigned status_of(int rc)
{
	switch (rc) {
	case -EINVAL:
	case -EBADMSG:
		return 400;
	case -ERANGE:
		return 409; /* a number too far beyond what is missing */
	case -E2BIG:
	case -EFBIG:
		return 413;
	}
	return 503; /* the sender may retry: it is not at fault */
}

static const char *host_of(const struct profile *p)
{
	uint32_t key = strtab_find(&p->strings, "host");
	for (uint32_t i = 0; key != UINT32_MAX && i < p->series.series.n; i++) {
		const struct label *l = label_find(&p->series, p->series.series.v[i].labels, key);
		if (l && !l->is_num)
			return profile_str(p, l->str);
	}
	return "";
}

static void on_committed(struct ingest_batch *in)
{
	struct upload *a = (struct upload *)in;
	if (in->rc == -ESTALE && a->again) {
		a->again(a);
		return;
	}
	if (in->rc) {
		unsigned status = status_of(in->rc);
		reply_error(a->r, status, &in->err);
		if (status == 503)
			a->r->reply.retry_after_s =
				in->rc == -ENOSPC ? DISK_FULL_RETRY_S : BROKEN_RETRY_S;
		a->news.why = in->err.text;
	} else {
		a->news.duplicate = in->duplicate;
		a->news.host = host_of(in->batch.p);
		/* The batch was accepted, but not all of it is kept: the answer says so. */
		a->expired = in->expired;
		a->news.rejected += a->expired;
		if (a->expired)
			buf_addf(&a->why, "%s%llu samples and points are older than the retention",
				 a->why.len ? "; " : "", (unsigned long long)a->expired);
		a->news.why = a->why.len ? buf_cstr(&a->why) : NULL;
		a->reply(a);
	}
	done(a);
}

/* --- the steps -------------------------------------------------------------------------------- */

static unsigned check_store(const struct tenant *t, struct err *err)
{
	if (t->ingest)
		return 0;
	if (t->data.file) {
		err_set(err, EPERM, "this server serves a file: nothing can be added");
		return 403;
	}
	err_set(err, EBUSY, "%s: nothing can be added",
		t->is_full ? "the disk is full" : "the store is read-only in this process");
	return t->wants_own ? 503 : 403;
}

struct upload *upload_new(struct request *r)
{
	struct upload *a = arena_zalloc(&r->arena, sizeof *a);
	struct err err = { 0 };
	struct buf address = { 0 };
	a->r = r;
	a->in.done = on_committed;
	a->may_be_key = true;
	request_address(r, &address);
	snprintf(a->address, sizeof a->address, "%s", buf_cstr(&address));
	buf_done(&address);
	a->news = (struct sender_news){ .id = a->id,
					.address = a->address,
					.host = "",
					.bytes = r->body.received_bytes,
					.now_ns = (int64_t)clock_wall_ns() };
	int rc = take_sender(a, &err);
	unsigned status = rc ? 400 : check_store(r->tenant, &err);
	if (!status)
		return a;
	upload_refuse(a, status, &err);
	return NULL;
}

bool upload_unpack(struct upload *a)
{
	struct request *r = a->r;
	struct buf key = { 0 };
	struct err err = { 0 };
	uint64_t base;
	unsigned status = 0;
	if (!r->heads.base)
		return true;
	if (parse_u64(r->heads.base, &base) < 0) {
		err_set(&err, EINVAL, "X-Cresset-Base '%.60s' is not a number", r->heads.base);
		status = 400;
	} else if (!senders_key(&r->tenant->senders, a->id, base, &key)) {
		err_set(&err, ENOENT, "base batch %llu is gone: resend in full",
			(unsigned long long)base);
		status = 412;
	} else {
		status = body_unpack_against(r, &key, &err);
	}
	buf_done(&key);
	if (status)
		upload_refuse(a, status, &err);
	return !status;
}

struct profile *upload_profile(struct upload *a)
{
	a->in.batch.p = profile_new();
	return a->in.batch.p;
}

static void note_newest(struct upload *a)
{
	const struct profile *p = a->in.batch.p;
	const struct sample_columns *c = &p->samples;
	int64_t shift_ns = p->meta.start_wall_ns - p->meta.start_mono_ns;
	for (size_t i = 0; i < c->n; i++) {
		int64_t ns = c->time_ns[i] + (p->meta.start_wall_ns ? shift_ns : 0);
		a->news.newest_ns = ns > a->news.newest_ns ? ns : a->news.newest_ns;
	}
	for (size_t i = 0; i < a->points.n; i++)
		if (a->points.v[i].time_ns > a->news.newest_ns)
			a->news.newest_ns = a->points.v[i].time_ns;
}

void upload_commit(struct upload *a)
{
	if (a->r->tenant->symbols)
		symbols_name(a->r->tenant->symbols, a->in.batch.p);
	note_newest(a);
	a->news.samples = a->in.batch.p->samples.n;
	a->news.points = a->points.n;
	a->in.batch.metrics = a->points.n ? &a->points : NULL;
	ingest_put(a->r->tenant->ingest, &a->in);
}
