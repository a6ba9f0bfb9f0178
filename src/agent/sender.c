/* Sends the oldest spool entry, and applies the delivery policy to the response. Retries with
 * growing delays. */
#include "agent/sender.h"

#include "agent/http_thread.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/http_get.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/pb.h"
#include "base/thread.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_metrics.h"
#include "format/otlp/otlp_pack.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STALL_S = 60 };
#define SUMMARY_NS   600000000000ull
#define REFUSED_NS   60000000000ull
#define SPOOL_NS     5000000000ull /* pause after an error of the spool itself */
#define CONTENT_OTLP "application/x-protobuf"

/* --- a batch as a server gets it -------------------------------------------------------------- */

/* A batch as it is sent to a server, and what is known about that server's compression.
 *
 * A Cresset server retains one of our batches, its key. Entries that the spool compressed against
 * it are sent unchanged. Others are decompressed, then compressed against the key if its plain
 * bytes are known, else alone. */
struct package {
	struct buf body, plain; /* plain: the uncompressed message, if it had to be decompressed */
	bool is_gzip;
	uint64_t base; /* id; 0: whole */
};

struct package_peer {
	uint64_t key;     /* id of the batch that the server retains; 0: none */
	struct buf plain; /* that batch decompressed, if the spool has another key */
	size_t key_bytes; /* of the key compressed alone */
	bool is_gzip;     /* the server does not accept zstd */
	bool zstd_works, gzip_works;
};

static struct otlp_bytes bytes_of(const struct buf *b)
{
	return (struct otlp_bytes){ b->data, b->len };
}

static void package_done(struct package *p)
{
	buf_done(&p->body);
	buf_done(&p->plain);
	*p = (struct package){ 0 };
}

/* Compresses against the server's key, if that is worth it. */
static bool repack(const struct package_peer *peer, struct package *p)
{
	if (!peer->key || !peer->plain.len ||
	    otlp_pack(bytes_of(&p->plain), bytes_of(&peer->plain), &p->body, NULL))
		return false;
	p->base = peer->key;
	if (!otlp_key_is_stale(p->body.len, peer->key_bytes))
		return true;
	p->base = 0;
	buf_clear(&p->body);
	return false;
}

/* Whether the server can decode the entry as it is in the spool. */
static bool goes_as_it_is(const struct package_peer *peer, const struct spool_entry *e)
{
	return !peer->is_gzip && (!e->base || e->base == peer->key);
}

/* Free p with package_done. -EBADMSG, -E2BIG: the entry is damaged. */
static int package_make(struct spool *spool, const struct package_peer *peer,
			const struct spool_entry *e, struct package *p, struct err *err)
{
	const struct otlp_bytes none = { 0 };

	*p = (struct package){ .is_gzip = peer->is_gzip };
	if (goes_as_it_is(peer, e)) {
		buf_add(&p->body, e->packed.data, e->packed.len);
		p->base = e->base;
		return 0;
	}
	int rc = spool_unpack(spool, e, &p->plain, err);
	if (rc)
		return rc;
	if (peer->is_gzip)
		return fs_gzip_fast(p->plain.data, p->plain.len, &p->body)
			       ? err_set(err, ENOMEM, "cannot compress")
			       : 0;
	return repack(peer, p) ? 0 : otlp_pack(bytes_of(&p->plain), none, &p->body, err);
}

/* Records that the server, after accepting e as p, retains the batch `key`. */
static void package_peer_set_key(struct package_peer *peer, uint64_t key,
				 const struct spool_entry *e, struct package *p)
{
	uint64_t had = peer->key;

	peer->key = key;
	if (key == had)
		return;
	buf_done(&peer->plain);
	if (key != e->id || !e->base)
		return;
	/* e became the key although it is a delta in the spool: others must be compressed against
	 * it again. */
	peer->plain = p->plain;
	peer->key_bytes = p->body.len;
	p->plain = (struct buf){ 0 };
}

/* The server has no key. */
static void package_peer_forget(struct package_peer *peer)
{
	peer->key = 0;
	buf_done(&peer->plain);
}

/* --- the sender ------------------------------------------------------------------------------- */

struct sender {
	struct spool *spool;
	uint64_t url_hash;
	void (*peer_heard)(void *ctx, bool is_cresset);
	void *ctx;
	struct http_thread http;
	bool has_news, is_draining; /* under its lock */

	/* Used only by the thread. */
	struct package_peer peer;
	uint64_t broken; /* id of the batch on which the server fails */
	uint32_t breaks;
	uint64_t down_since_ns, said_ns, refused_said_ns;
	struct spool_counts said; /* as of the last summary */
};

/* --- what a server returned ------------------------------------------------------------------- */

/* The response is not trusted. */
struct reply {
	long status;                 /* 0: no response */
	uint64_t retry_after_s, key; /* key: X-Cresset-Key */
	struct buf body;
};

enum { WORDS_MAX = 200 };

/* Both kinds of message have their text in field 2. Returns the number of rejected items. */
static uint64_t read_words(struct cur c, struct buf *out)
{
	struct pb_field f;
	uint64_t rejected = 0;

	while (pb_next(&c, &f)) {
		if (f.num == 1 && f.wire == PB_VARINT)
			rejected = f.u;
		if (f.num == 2 && f.wire == PB_LEN && cur_left(&f.len))
			buf_addf(out, "%.*s",
				 (int)(cur_left(&f.len) < WORDS_MAX ? cur_left(&f.len) : WORDS_MAX),
				 (const char *)f.len.p);
	}
	return rejected;
}

/* Appends why the batch was refused: the message of google.rpc.Status, truncated. */
static void reply_words(const struct reply *reply, struct buf *out)
{
	read_words(cur_of(reply->body.data, reply->body.len), out);
}

/* Returns how many items of an accepted batch were rejected, and appends why: partial_success { 1 {
 * 1 rejected, 2 message } } */
static uint64_t reply_rejected(const struct reply *reply, struct buf *out)
{
	struct cur c = cur_of(reply->body.data, reply->body.len);
	struct pb_field f;

	if (!pb_next(&c, &f) || f.num != 1 || f.wire != PB_LEN)
		return 0;
	return read_words(f.len, out);
}

/* --- one request ------------------------------------------------------------------------------ */

static void id_text(const uint8_t *id, struct buf *b)
{
	for (int i = 0; i < SPOOL_ID_BYTES; i++)
		buf_addf(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

static int ask(struct sender *s, const struct spool_entry *e, const struct package *p,
	       struct reply *reply, struct err *err)
{
	uint8_t agent[SPOOL_ID_BYTES];
	struct buf id = { 0 };
	char who[80], number[64], base[64], key[32];
	const char *headers[] = { p->is_gzip ? "Content-Encoding: gzip" : "Content-Encoding: zstd",
				  who, number, p->base ? base : NULL, NULL };
	char *url = xasprintf("%s%s", s->http.url, spool_paths[e->kind]);

	spool_agent(s->spool, agent);
	id_text(agent, &id);
	snprintf(who, sizeof who, "X-Cresset-Agent: %s", buf_cstr(&id));
	snprintf(number, sizeof number, "X-Cresset-Seq: %llu",
		 (unsigned long long)spool_number(s->spool, e->id));
	snprintf(base, sizeof base, "X-Cresset-Base: %llu",
		 (unsigned long long)spool_number(s->spool, p->base));
	const struct http_request r = {
		.url = url,
		.stall_s = STALL_S,
		.body = p->body.data,
		.body_len = p->body.len,
		.content_type = CONTENT_OTLP,
		.headers = headers,
		.answer = &reply->body,
		.want_header = "X-Cresset-Key",
		.header_value = key,
		.header_size = sizeof key,
		.retry_after_s = &reply->retry_after_s,
		.status = &reply->status,
	};
	int rc = http_thread_ask(&s->http, &r, err);
	if (rc || parse_u64(key, &reply->key))
		reply->key = 0;
	if (rc)
		reply->status = 0;
	buf_done(&id);
	free(url);
	return rc;
}

/* --- logging ---------------------------------------------------------------------------------- */

static void say_down(struct sender *s, const struct reply *reply, const struct err *err)
{
	uint64_t now_ns = clock_mono_ns();
	struct spool_status now;
	struct buf words = { 0 };

	if (s->down_since_ns && now_ns < s->said_ns + SUMMARY_NS)
		return;
	if (!s->down_since_ns)
		s->down_since_ns = now_ns;
	s->said_ns = now_ns;
	if (reply->status) {
		buf_addf(&words, "%s rejects uploads: status %ld", s->http.url, reply->status);
		if (reply->body.len) {
			buf_adds(&words, ", ");
			reply_words(reply, &words);
		}
	} else {
		buf_adds(&words, err->text);
	}
	spool_status(s->spool, &now);
	log_warn("%s; %llu batches in the spool (%llu KiB), %llu dropped because it was full",
		 buf_cstr(&words), (unsigned long long)now.waiting,
		 (unsigned long long)now.waiting_bytes >> 10,
		 (unsigned long long)now.counts.dropped);
	buf_done(&words);
}

static void say_up(struct sender *s)
{
	uint64_t now_ns = clock_mono_ns();

	if (s->down_since_ns)
		log_info("%s accepts batches again, after %llu s", s->http.url,
			 (unsigned long long)((now_ns - s->down_since_ns) / 1000000000));
	s->down_since_ns = 0;
}

static void say_refused(struct sender *s, const struct reply *reply, uint64_t samples,
			const char *why)
{
	uint64_t now_ns = clock_mono_ns();
	struct buf words = { 0 };

	if (s->refused_said_ns && now_ns < s->refused_said_ns + REFUSED_NS)
		return;
	s->refused_said_ns = now_ns;
	if (!why)
		reply_words(reply, &words);
	log_warn("%s rejects a batch of %llu samples, now lost: status %ld, %s", s->http.url,
		 (unsigned long long)samples, reply->status, why ? why : buf_cstr(&words));
	buf_done(&words);
}

static void say_dropped(struct sender *s)
{
	struct spool_status now;
	uint64_t now_ns = clock_mono_ns();

	spool_status(s->spool, &now);
	if (now.counts.dropped == s->said.dropped || now_ns < s->said_ns + REFUSED_NS)
		return;
	log_warn("%llu batches with %llu samples dropped: the spool is full",
		 (unsigned long long)(now.counts.dropped - s->said.dropped),
		 (unsigned long long)(now.counts.dropped_samples - s->said.dropped_samples));
	s->said = now.counts;
	s->said_ns = now_ns;
}

static void say_partial(const struct sender *s, const struct reply *reply)
{
	struct buf words = { 0 };
	uint64_t rejected = reply_rejected(reply, &words);

	if (rejected)
		log_warn("%s dropped %llu of a batch: %s", s->http.url,
			 (unsigned long long)rejected, buf_cstr(&words));
	else if (words.len)
		log_warn("%s: %s", s->http.url, buf_cstr(&words));
	buf_done(&words);
}

/* --- handling a response --------------------------------------------------------------------- */

static void note_peer(struct sender *s, const struct spool_entry *e, struct package *p,
		      const struct reply *reply)
{
	if (e->kind != SPOOL_PROFILES)
		return;
	if (s->peer_heard)
		s->peer_heard(s->ctx, reply->key != 0);
	package_peer_set_key(&s->peer, spool_id_of_number(s->spool, reply->key), e, p);
}

static int has_sent(struct sender *s, const struct spool_entry *e, struct package *p,
		    const struct reply *reply, struct err *err)
{
	note_peer(s, e, p, reply);
	*(p->is_gzip ? &s->peer.gzip_works : &s->peer.zstd_works) = true;
	s->http.failures = s->breaks = 0;
	say_partial(s, reply);
	say_up(s);
	say_dropped(s);
	const struct spool_peer peer = { s->url_hash, s->peer.key };
	return spool_sent(s->spool, e->id, &peer, err);
}

static int refuse(struct sender *s, const struct spool_entry *e, const struct reply *reply,
		  const char *why, struct err *err)
{
	say_refused(s, reply, e->samples, why);
	s->breaks = 0;
	return spool_refuse(s->spool, e->id, err);
}

static int halve(struct sender *s, const struct spool_entry *e, const struct reply *reply,
		 struct err *err)
{
	struct buf plain = { 0 };
	struct half halves[2] = { 0 };
	int rc = spool_unpack(s->spool, e, &plain, err);

	if (!rc && e->kind == SPOOL_METRICS)
		rc = otlp_split_metrics(plain.data, plain.len, halves, err);
	else if (!rc)
		rc = otlp_split(plain.data, plain.len, halves, err);
	if (!rc) {
		struct spool_message m[2];

		for (int i = 0; i < 2; i++)
			m[i] = (struct spool_message){ .kind = e->kind,
						       .data = halves[i].message.data,
						       .len = halves[i].message.len,
						       .samples = halves[i].samples,
						       .now_ns = e->made_ns };
		rc = spool_split(s->spool, e, m, err);
	} else {
		rc = refuse(s, e, reply, "it is too large", err);
	}
	buf_done(&plain);
	for (int i = 0; i < 2; i++)
		buf_done(&halves[i].message);
	return rc;
}

static int begin_anew(struct sender *s, struct err *err)
{
	package_peer_forget(&s->peer);
	log_warn("%s: gap in the batch sequence after drops; restarting under a new UUID",
		 s->http.url);
	return spool_start_over(s->spool, err);
}

/* -EAGAIN: the batch has to wait. */
static int settle(struct sender *s, const struct spool_entry *e, struct package *p,
		  const struct reply *reply, struct err *err)
{
	const struct attempt a = { .status = reply->status,
				   .is_delta = p->base != 0,
				   .is_zstd = !p->is_gzip,
				   .zstd_works = s->peer.zstd_works,
				   .is_first = spool_number(s->spool, e->id) == 1,
				   .breaks = s->broken == e->id ? s->breaks : 0 };

	switch (delivery_of(&a)) {
	case DELIVERY_SENT:
		return has_sent(s, e, p, reply, err);
	case DELIVERY_WHOLE:
		package_peer_forget(&s->peer);
		spool_want_key(s->spool);
		return 0;
	case DELIVERY_GZIP:
		log_verbose("%s does not accept zstd: using gzip", s->http.url);
		s->peer.is_gzip = true;
		return 0;
	case DELIVERY_SPLIT:
		return halve(s, e, reply, err);
	case DELIVERY_RESTART:
		return begin_anew(s, err);
	case DELIVERY_REFUSE:
		if (!s->peer.gzip_works)
			s->peer.is_gzip = false; /* zstd was not the problem */
		return refuse(s, e, reply, NULL, err);
	case DELIVERY_WAIT:
		break;
	}
	if (reply->status >= 500) {
		if (s->broken != e->id)
			s->breaks = 0;
		s->broken = e->id;
		s->breaks++;
	}
	return -EAGAIN;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void wait_ns(struct sender *s, uint64_t ns)
{
	uint64_t at_ns = clock_mono_ns() + ns;

	pthread_mutex_lock(&s->http.lock);
	while (!atomic_load(&s->http.is_over) && !s->has_news && !s->is_draining)
		if (!cond_wait_until(&s->http.news, &s->http.lock, at_ns))
			break;
	s->has_news = false;
	pthread_mutex_unlock(&s->http.lock);
}

/* Returns 1 after one entry was handled, 0 if the spool is empty, -EAGAIN if the entry has to wait,
 * or another -errno from the spool. */
static int send_one(struct sender *s, struct reply *reply, struct err *err)
{
	struct spool_entry e;
	struct package p = { 0 };
	int rc = spool_first(s->spool, &e, err);

	if (rc <= 0)
		return rc;
	rc = package_make(s->spool, &s->peer, &e, &p, err);
	if (rc == -EBADMSG || rc == -E2BIG)
		rc = refuse(s, &e, reply, err->text, err);
	else if (!rc)
		rc = ask(s, &e, &p, reply, err) == -ECANCELED ? -EAGAIN
							      : settle(s, &e, &p, reply, err);
	if (rc == -EAGAIN && !atomic_load(&s->http.is_over))
		say_down(s, reply, err);
	package_done(&p);
	buf_done(&e.packed);
	return rc ? rc : 1;
}

static bool is_drained(struct sender *s, int rc)
{
	pthread_mutex_lock(&s->http.lock);
	bool drained = s->is_draining && rc <= 0;
	pthread_mutex_unlock(&s->http.lock);
	return drained;
}

static void step(void *ctx)
{
	struct sender *s = ctx;
	struct reply reply = { 0 };
	struct err err = { 0 };
	int rc = http_thread_is_held(&s->http) ? 0 : send_one(s, &reply, &err);

	if (is_drained(s, rc))
		atomic_store(&s->http.is_over, true);
	else if (rc == 0)
		wait_ns(s, SUMMARY_NS);
	else if (rc == -EAGAIN)
		http_thread_back_off(&s->http, reply.retry_after_s);
	else if (rc < 0) {
		log_warn("%s", err.text);
		wait_ns(s, SPOOL_NS);
	}
	buf_done(&reply.body);
}

/* --- public functions ------------------------------------------------------------------------- */

static void sender_free(struct sender *s)
{
	http_thread_done(&s->http);
	package_peer_forget(&s->peer);
	free(s);
}

int sender_start(struct spool *spool, const struct sender_opts *opts, struct sender **out,
		 struct err *err)
{
	struct sender *s = xcalloc(1, sizeof *s);
	struct spool_status status;

	s->spool = spool;
	http_thread_init(&s->http,
			 &(struct http_thread_opts){ opts->url, opts->ca_file, opts->holds });
	s->url_hash = hash_bytes(s->http.url, strlen(s->http.url));
	s->peer_heard = opts->peer;
	s->ctx = opts->ctx;
	spool_status(spool, &status);
	s->said = status.counts;
	struct spool_peer peer = spool_peer(spool);
	if (peer.url_hash == s->url_hash)
		s->peer.key = peer.key;
	int rc = http_thread_start(&s->http, step, s, err);
	if (rc)
		sender_free(s);
	else
		*out = s;
	return rc;
}

void sender_wake(struct sender *s)
{
	pthread_mutex_lock(&s->http.lock);
	s->has_news = true;
	pthread_cond_broadcast(&s->http.news);
	pthread_mutex_unlock(&s->http.lock);
}

void sender_set_token(struct sender *s, const char *token)
{
	pthread_mutex_lock(&s->http.lock);
	s->has_news = s->http.tries_now = true;
	http_thread_set_token(&s->http, token);
	pthread_mutex_unlock(&s->http.lock);
}

bool sender_stop(struct sender *s, uint64_t within_ns)
{
	pthread_mutex_lock(&s->http.lock);
	s->is_draining = s->http.tries_now = true;
	pthread_cond_broadcast(&s->http.news);
	pthread_mutex_unlock(&s->http.lock);
	if (!http_thread_wait_end(&s->http, within_ns) && !http_thread_end(&s->http))
		return false;
	sender_free(s);
	return true;
}

/* --- a message in two halves ------------------------------------------------------------------ */

static int encode_part(struct profile *p, size_t first, size_t n, struct half *out, struct err *err)
{
	const struct otlp_encode_opts opts = { 0 };
	struct sample_columns all = p->samples;

	p->samples = sample_rows(&all, first, n);
	out->samples = n;
	int rc = otlp_encode(p, &opts, &out->message, err);
	p->samples = all;
	return rc;
}

int otlp_split(const void *data, size_t len, struct half out[2], struct err *err)
{
	struct profile *p = profile_new();
	int rc = otlp_decode(data, len, "a batch", profile_sink(p), NULL, err);
	size_t n = p->samples.n, half = n / 2;

	if (!rc && n < 2)
		rc = err_set(err, E2BIG, "%zu samples cannot be halved", n);
	if (!rc)
		rc = encode_part(p, 0, half, &out[0], err);
	if (!rc)
		rc = encode_part(p, half, n - half, &out[1], err);
	profile_free(p);
	return rc;
}

/* --- metrics ---------------------------------------------------------------------------------- */

static void encode_points(const struct otlp_metrics *all, struct profile *p, size_t first, size_t n,
			  struct half *out)
{
	struct otlp_metrics part = { 0 };

	for (size_t i = first; i < first + n; i++) {
		struct otlp_point point = all->points.v[i];

		point.series = otlp_series_intern(&part, &all->series.v[point.series]);
		vec_push(&part.points, point);
	}
	out->samples = n;
	otlp_metrics_encode(&part, p, &out->message);
	otlp_metrics_done(&part);
}

int otlp_split_metrics(const void *data, size_t len, struct half out[2], struct err *err)
{
	struct profile *p = profile_new();
	struct otlp_metrics m = { 0 };
	int rc = otlp_metrics_decode(data, len, p, &m, err);
	size_t n = m.points.n, half = n / 2;

	if (!rc && n < 2)
		rc = err_set(err, E2BIG, "%zu points cannot be halved", n);
	if (!rc) {
		encode_points(&m, p, 0, half, &out[0]);
		encode_points(&m, p, half, n - half, &out[1]);
	}
	otlp_metrics_done(&m);
	profile_free(p);
	return rc;
}
