#include "agent/sender.h"

#include "agent/halve.h"
#include "agent/http_thread.h"
#include "agent/package.h"
#include "agent/reply.h"
#include "agent/verdict.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STALL_S = 60 };
#define SUMMARY_NS   600000000000ull
#define REFUSED_NS   60000000000ull
#define SPOOL_NS     5000000000ull /* the spool itself fails */
#define CONTENT_OTLP "application/x-protobuf"

struct sender {
	struct spool *spool;
	uint64_t url_hash;
	void (*peer_heard)(void *ctx, bool is_cresset);
	void *ctx;
	struct http_thread http;
	bool has_news, is_draining; /* under its lock */

	/* The thread's own. */
	struct package_peer peer;
	uint64_t broken; /* id of the one on which the server breaks */
	uint32_t breaks;
	uint64_t down_since_ns, said_ns, refused_said_ns;
	struct spool_counts said; /* as of the last summary */
};

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
		buf_addf(&words, "%s does not take what is sent: status %ld", s->http.url,
			 reply->status);
		if (reply->body.len) {
			buf_adds(&words, ", ");
			reply_words(reply, &words);
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
		log_info("%s takes batches again, after %llu s", s->http.url,
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
	log_warn("%s refuses a batch of %llu samples, which is lost: status %ld, %s", s->http.url,
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
	uint64_t rejected = reply_rejected(reply, &words);

	if (rejected)
		log_warn("%s left out %llu of a batch: %s", s->http.url,
			 (unsigned long long)rejected, buf_cstr(&words));
	else if (words.len)
		log_warn("%s: %s", s->http.url, buf_cstr(&words));
	buf_done(&words);
}

/* --- what an answer leads to ------------------------------------------------------------------ */

static void note_peer(struct sender *s, const struct spool_entry *e, struct package *p,
		      const struct reply *reply)
{
	if (e->kind != SPOOL_PROFILES)
		return;
	if (s->peer_heard)
		s->peer_heard(s->ctx, reply->key != 0);
	package_peer_has(&s->peer, spool_id_of_number(s->spool, reply->key), e, p);
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
	package_peer_forget(&s->peer);
	log_warn("%s misses too many batches before this one, which were dropped: "
		 "numbers begin anew, with another UUID",
		 s->http.url);
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
				   .zstd_works = s->peer.zstd_works,
				   .is_first = spool_number(s->spool, e->id) == 1,
				   .breaks = s->broken == e->id ? s->breaks : 0 };

	switch (verdict_of(&a)) {
	case VERDICT_SENT:
		return has_sent(s, e, p, reply, err);
	case VERDICT_WHOLE:
		package_peer_forget(&s->peer);
		spool_want_key(s->spool);
		return 0;
	case VERDICT_GZIP:
		log_verbose("%s does not take zstd: gzip from here on", s->http.url);
		s->peer.is_gzip = true;
		return 0;
	case VERDICT_HALVE:
		return halve(s, e, reply, err);
	case VERDICT_ANEW:
		return begin_anew(s, err);
	case VERDICT_REFUSE:
		if (!s->peer.gzip_works)
			s->peer.is_gzip = false; /* it was not zstd that was wrong */
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

	pthread_mutex_lock(&s->http.lock);
	while (!atomic_load(&s->http.is_over) && !s->has_news && !s->is_draining)
		if (!cond_wait_until(&s->http.news, &s->http.lock, at_ns))
			break;
	s->has_news = false;
	pthread_mutex_unlock(&s->http.lock);
}

/* 1: one was dealt with; 0: nothing waits; -EAGAIN: it has to wait; or another -errno: of the spool. */
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

/* --- from outside ----------------------------------------------------------------------------- */

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
