#include "agent/sender.h"

#include "agent/halve.h"
#include "agent/verdict.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/http_get.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/str.h"
#include "format/otlp_pack.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

enum {
	CONNECT_MS = 10000,
	TOTAL_MS = 120000,
	STALL_S = 60,
	ANSWER_BYTES = 64 << 10,
	TOKEN_MAX = 4096,
	END_MS = 500, /* libcurl looks up once a second, mostly sooner */
};
#define SUMMARY_NS   600000000000ull
#define REFUSED_NS   60000000000ull
#define SPOOL_NS     5000000000ull /* the spool itself fails */
#define CONTENT_OTLP "application/x-protobuf"

struct sender {
	struct spool *spool;
	char *url, *ca_file;
	uint64_t url_hash;
	void (*peer)(void *ctx, bool is_cresset);
	void *ctx;
	struct http_client *client;
	pthread_t thread;

	pthread_mutex_t lock; /* of these */
	pthread_cond_t news;
	bool has_news, holds, tries_now, is_draining, has_ended;
	char token[TOKEN_MAX];
	atomic_bool is_over;

	/* The thread's own. */
	uint64_t peer_key; /* id of the batch that the server has; 0: none, or it is no cresset */
	struct buf peer_plain; /* that one unpacked, where the spool's key is another one */
	size_t peer_bytes;     /* packed alone */
	bool is_gzip, zstd_works, gzip_works;
	uint32_t failures;
	uint64_t broken; /* id of the one on which the server breaks */
	uint32_t breaks;
	uint64_t down_since_ns, said_ns, refused_said_ns;
	struct spool_counts said; /* as of the last summary */
};

/* A batch, as it is sent. */
struct package {
	struct buf body, plain; /* plain: what it was made of, where it had to be unpacked */
	bool is_gzip;
	uint64_t base; /* id; 0: whole */
};

/* --- packing ---------------------------------------------------------------------------------- */

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

/* Against what the server has, if that is worth it. */
static bool repack(const struct sender *s, struct package *p)
{
	if (!s->peer_key || !s->peer_plain.len ||
	    otlp_pack(bytes_of(&p->plain), bytes_of(&s->peer_plain), &p->body, NULL))
		return false;
	p->base = s->peer_key;
	if (!otlp_key_is_stale(p->body.len, s->peer_bytes))
		return true;
	p->base = 0;
	buf_clear(&p->body);
	return false;
}

/* What lies in the spool is what the server can read as it is. */
static bool goes_as_it_is(const struct sender *s, const struct spool_entry *e)
{
	return !s->is_gzip && (!e->base || e->base == s->peer_key);
}

static int package(struct sender *s, const struct spool_entry *e, struct package *p,
		   struct err *err)
{
	const struct otlp_bytes none = { 0 };

	*p = (struct package){ .is_gzip = s->is_gzip };
	if (goes_as_it_is(s, e)) {
		buf_add(&p->body, e->packed.data, e->packed.len);
		p->base = e->base;
		return 0;
	}
	int rc = spool_unpack(s->spool, e, &p->plain, err);
	if (rc)
		return rc;
	if (s->is_gzip)
		return fs_gzip_fast(p->plain.data, p->plain.len, &p->body)
			       ? err_set(err, ENOMEM, "cannot compress")
			       : 0;
	return repack(s, p) ? 0 : otlp_pack(bytes_of(&p->plain), none, &p->body, err);
}

/* --- one request ------------------------------------------------------------------------------ */

struct reply {
	long status;
	uint64_t retry_after_s, key; /* key: X-Cresset-Key */
	struct buf body;
};

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
	char who[80], number[64], base[64], key[32], token[TOKEN_MAX];
	const char *headers[] = { p->is_gzip ? "Content-Encoding: gzip" : "Content-Encoding: zstd",
				  who, number, p->base ? base : NULL, NULL };
	char *url = xasprintf("%s%s", s->url, spool_paths[e->kind]);

	spool_agent(s->spool, agent);
	id_text(agent, &id);
	snprintf(who, sizeof who, "X-Cresset-Agent: %s", buf_cstr(&id));
	snprintf(number, sizeof number, "X-Cresset-Seq: %llu",
		 (unsigned long long)spool_number(s->spool, e->id));
	snprintf(base, sizeof base, "X-Cresset-Base: %llu",
		 (unsigned long long)spool_number(s->spool, p->base));
	pthread_mutex_lock(&s->lock);
	memcpy(token, s->token, sizeof token);
	pthread_mutex_unlock(&s->lock);
	const struct http_request r = {
		.url = url,
		.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.stall_s = STALL_S,
		.max_bytes = ANSWER_BYTES,
		.token = *token ? token : NULL,
		.ca_file = s->ca_file,
		.body = p->body.data,
		.body_len = p->body.len,
		.content_type = CONTENT_OTLP,
		.headers = headers,
		.stays = true,
		.give_up = &s->is_over,
		.answer = &reply->body,
		.want_header = "X-Cresset-Key",
		.header_value = key,
		.header_size = sizeof key,
		.retry_after_s = &reply->retry_after_s,
		.status = &reply->status,
	};
	int rc = http_get(s->client, &r, -1, err);
	explicit_bzero(token, sizeof token);
	if (rc || parse_u64(key, &reply->key))
		reply->key = 0;
	if (rc)
		reply->status = 0;
	buf_done(&id);
	free(url);
	return rc;
}

/* The words of google.rpc.Status { 2 message }, or of partial_success { 1 { 1 rejected, 2 message } }. */
static void words_of(const struct reply *reply, bool is_partial, struct buf *out,
		     uint64_t *rejected)
{
	struct cur c = cur_of(reply->body.data, reply->body.len);
	struct pb_field f;

	if (is_partial) {
		if (!pb_next(&c, &f) || f.num != 1 || f.wire != PB_LEN)
			return;
		c = f.len;
	}
	while (pb_next(&c, &f)) {
		if (f.num == 1 && f.wire == PB_VARINT && rejected)
			*rejected = f.u;
		if (f.num == 2 && f.wire == PB_LEN && cur_left(&f.len))
			buf_addf(out, "%.*s",
				 (int)(cur_left(&f.len) < 200 ? cur_left(&f.len) : 200),
				 (const char *)f.len.p);
	}
}

/* --- what is said ----------------------------------------------------------------------------- */

static void say_waiting(struct sender *s, const char *what)
{
	struct spool_status now;

	spool_status(s->spool, &now);
	log_warn(
		"%s; %llu batches wait in the spool (%llu KiB), %llu were dropped for want of room",
		what, (unsigned long long)now.waiting, (unsigned long long)now.waiting_bytes >> 10,
		(unsigned long long)now.counts.dropped);
}

static void say_down(struct sender *s, const struct reply *reply, const struct err *err)
{
	uint64_t now_ns = clock_mono_ns();
	struct buf words = { 0 };

	if (s->down_since_ns && now_ns < s->said_ns + SUMMARY_NS)
		return;
	if (!s->down_since_ns)
		s->down_since_ns = now_ns;
	s->said_ns = now_ns;
	if (reply->status) {
		buf_addf(&words, "%s does not take what is sent: status %ld", s->url,
			 reply->status);
		if (reply->body.len) {
			buf_adds(&words, ", ");
			words_of(reply, false, &words, NULL);
		}
	} else {
		buf_adds(&words, err->text);
	}
	say_waiting(s, buf_cstr(&words));
	buf_done(&words);
}

static void say_up(struct sender *s)
{
	uint64_t now_ns = clock_mono_ns();

	if (s->down_since_ns)
		log_info("%s takes batches again, after %llu s", s->url,
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
		words_of(reply, false, &words, NULL);
	log_warn("%s refuses a batch of %llu samples, which is lost: status %ld, %s", s->url,
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
	log_warn("%llu batches with %llu samples were dropped: there was no room in the spool",
		 (unsigned long long)(now.counts.dropped - s->said.dropped),
		 (unsigned long long)(now.counts.dropped_samples - s->said.dropped_samples));
	s->said = now.counts;
	s->said_ns = now_ns;
}

static void say_partial(const struct sender *s, const struct reply *reply)
{
	struct buf words = { 0 };
	uint64_t rejected = 0;

	words_of(reply, true, &words, &rejected);
	if (rejected)
		log_warn("%s left out %llu of a batch: %s", s->url, (unsigned long long)rejected,
			 buf_cstr(&words));
	buf_done(&words);
}

/* --- what an answer leads to ------------------------------------------------------------------ */

static void note_peer(struct sender *s, const struct spool_entry *e, struct package *p,
		      const struct reply *reply)
{
	uint64_t had = s->peer_key;

	if (e->kind != SPOOL_PROFILES)
		return;
	if (s->peer)
		s->peer(s->ctx, reply->key != 0);
	s->peer_key = spool_id_of_number(s->spool, reply->key);
	if (s->peer_key == had)
		return;
	buf_done(&s->peer_plain);
	if (s->peer_key != e->id || !e->base)
		return;
	/* It became one although the spool has it as a delta: others have to be packed against it anew. */
	s->peer_plain = p->plain;
	s->peer_bytes = p->body.len;
	p->plain = (struct buf){ 0 };
}

static int has_sent(struct sender *s, const struct spool_entry *e, struct package *p,
		    const struct reply *reply, struct err *err)
{
	note_peer(s, e, p, reply);
	*(p->is_gzip ? &s->gzip_works : &s->zstd_works) = true;
	s->failures = s->breaks = 0;
	say_partial(s, reply);
	say_up(s);
	say_dropped(s);
	const struct spool_peer peer = { s->url_hash, s->peer_key };
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
		rc = otlp_halve_metrics(plain.data, plain.len, halves, err);
	else if (!rc)
		rc = otlp_halve(plain.data, plain.len, halves, err);
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
	s->peer_key = 0;
	buf_done(&s->peer_plain);
	log_warn("%s misses too many batches before this one, which were dropped: "
		 "numbers begin anew, with another UUID",
		 s->url);
	return spool_begin_anew(s->spool, err);
}

static void note_break(struct sender *s, const struct spool_entry *e)
{
	if (s->broken != e->id)
		s->breaks = 0;
	s->broken = e->id;
	s->breaks++;
}

/* -EAGAIN: it waits. */
static int settle(struct sender *s, const struct spool_entry *e, struct package *p,
		  const struct reply *reply, struct err *err)
{
	const struct attempt a = { .status = reply->status,
				   .is_delta = p->base != 0,
				   .is_zstd = !p->is_gzip,
				   .zstd_works = s->zstd_works,
				   .is_first = spool_number(s->spool, e->id) == 1,
				   .breaks = s->broken == e->id ? s->breaks : 0 };

	switch (verdict_of(&a)) {
	case VERDICT_SENT:
		return has_sent(s, e, p, reply, err);
	case VERDICT_WHOLE:
		s->peer_key = 0;
		buf_done(&s->peer_plain);
		spool_want_key(s->spool);
		return 0;
	case VERDICT_GZIP:
		log_verbose("%s does not take zstd: gzip from here on", s->url);
		s->is_gzip = true;
		return 0;
	case VERDICT_HALVE:
		return halve(s, e, reply, err);
	case VERDICT_ANEW:
		return begin_anew(s, err);
	case VERDICT_REFUSE:
		s->is_gzip = s->is_gzip && s->gzip_works; /* else it was not zstd that was wrong */
		return refuse(s, e, reply, NULL, err);
	case VERDICT_WAIT:
		break;
	}
	if (reply->status >= 500)
		note_break(s, e);
	return -EAGAIN;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void wait_ns(struct sender *s, uint64_t ns)
{
	uint64_t at_ns = clock_mono_ns() + ns;

	pthread_mutex_lock(&s->lock);
	while (!atomic_load(&s->is_over) && !s->has_news && !s->is_draining)
		if (!cond_wait_until(&s->news, &s->lock, at_ns))
			break;
	s->has_news = false;
	pthread_mutex_unlock(&s->lock);
}

static void back_off(struct sender *s, const struct reply *reply)
{
	uint64_t random = 0;

	s->failures++;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = 0;
	uint64_t end_ns = clock_mono_ns() + backoff_ns(s->failures, reply->retry_after_s, random);
	for (uint64_t now_ns; (now_ns = clock_mono_ns()) < end_ns;) {
		pthread_mutex_lock(&s->lock);
		bool ends = s->is_draining || s->tries_now;
		s->tries_now = false;
		pthread_mutex_unlock(&s->lock);
		if (ends || atomic_load(&s->is_over))
			return;
		wait_ns(s, end_ns - now_ns);
	}
}

/* 1: one was dealt with; 0: nothing waits; -EAGAIN: it has to wait; or another -errno: of the spool. */
static int send_one(struct sender *s, struct reply *reply, struct err *err)
{
	struct spool_entry e;
	struct package p = { 0 };
	int rc = spool_first(s->spool, &e, err);

	if (rc <= 0)
		return rc;
	rc = package(s, &e, &p, err);
	if (rc == -EBADMSG || rc == -E2BIG)
		rc = refuse(s, &e, reply, err->text, err);
	else if (!rc)
		rc = ask(s, &e, &p, reply, err) == -ECANCELED ? -EAGAIN
							      : settle(s, &e, &p, reply, err);
	if (rc == -EAGAIN && !atomic_load(&s->is_over))
		say_down(s, reply, err);
	package_done(&p);
	buf_done(&e.packed);
	return rc ? rc : 1;
}

static bool is_drained(struct sender *s, int rc)
{
	pthread_mutex_lock(&s->lock);
	bool drained = s->is_draining && rc <= 0;
	pthread_mutex_unlock(&s->lock);
	return drained;
}

static bool is_held(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	bool held = s->holds;
	pthread_mutex_unlock(&s->lock);
	return held;
}

static void step(struct sender *s)
{
	struct reply reply = { 0 };
	struct err err = { 0 };
	int rc = is_held(s) ? 0 : send_one(s, &reply, &err);

	if (is_drained(s, rc))
		atomic_store(&s->is_over, true);
	else if (rc == 0)
		wait_ns(s, SUMMARY_NS);
	else if (rc == -EAGAIN)
		back_off(s, &reply);
	else if (rc < 0) {
		log_warn("%s", err.text);
		wait_ns(s, SPOOL_NS);
	}
	buf_done(&reply.body);
}

static void *run(void *ctx)
{
	struct sender *s = ctx;

	while (!atomic_load(&s->is_over))
		step(s);
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- from outside ----------------------------------------------------------------------------- */

static void sender_free(struct sender *s)
{
	http_client_free(s->client);
	buf_done(&s->peer_plain);
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s->token, sizeof s->token);
	free(s->url);
	free(s->ca_file);
	free(s);
}

static char *base_of(const char *url)
{
	size_t n = strlen(url);

	while (n && url[n - 1] == '/')
		n--;
	return xstrndup(url, n);
}

int sender_start(struct spool *spool, const struct sender_opts *opts, struct sender **out,
		 struct err *err)
{
	struct sender *s = xcalloc(1, sizeof *s);
	struct spool_status status;

	s->spool = spool;
	s->url = base_of(opts->url);
	s->ca_file = opts->ca_file ? xstrdup(opts->ca_file) : NULL;
	s->url_hash = hash_bytes(s->url, strlen(s->url));
	s->holds = opts->holds;
	s->peer = opts->peer;
	s->ctx = opts->ctx;
	pthread_mutex_init(&s->lock, NULL);
	cond_init(&s->news);
	spool_status(spool, &status);
	s->said = status.counts;
	struct spool_peer peer = spool_peer(spool);
	if (peer.url_hash == s->url_hash)
		s->peer_key = peer.key;
	int rc = http_client_new(&s->client, err);
	if (!rc && (rc = pthread_create(&s->thread, NULL, run, s)))
		rc = err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	if (rc)
		sender_free(s);
	else
		*out = s;
	return rc;
}

void sender_wake(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->has_news = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
}

void sender_set_token(struct sender *s, const char *token)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->token, sizeof s->token, "%s", token);
	s->holds = false;
	s->has_news = s->tries_now = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
}

static bool wait_for_end(struct sender *s, uint64_t within_ns)
{
	uint64_t at_ns = clock_mono_ns() + within_ns;

	pthread_mutex_lock(&s->lock);
	while (!s->has_ended && cond_wait_until(&s->news, &s->lock, at_ns))
		continue;
	bool ended = s->has_ended;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

bool sender_stop(struct sender *s, uint64_t within_ns)
{
	pthread_mutex_lock(&s->lock);
	s->is_draining = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	if (!wait_for_end(s, within_ns)) {
		atomic_store(&s->is_over, true);
		sender_wake(s);
		if (!wait_for_end(s, END_MS * 1000000ull))
			return false;
	}
	pthread_join(s->thread, NULL);
	sender_free(s);
	return true;
}
