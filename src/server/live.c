/* A list of streams, and their events. */
#include "server/live.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/thread.h"
#include "profile/sum.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/query_parse.h"
#include "query/selector.h"
#include "query/source.h"
#include "server/connections.h"
#include "server/request.h"
#include "server/server_state.h"
#include "server/tenant.h"
#include "store/codec/store.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum {
	TICK_S = 1,
	HEARTBEAT_S = 15,
	TAKE_S = 30, /* time a client has to take what was sent */
	STEP_S = 10,
	STEPS = 6,
	EVENT_MAX = 4096,
	QUERY_S = 2,
};

struct live_client {
	struct live *live;
	struct request *r;
	struct live_client *next, **link;
	char *selector;
	uint64_t address;
	uint64_t version;   /* of the last event sent */
	uint64_t spoken_ns; /* when something was sent last */
	struct buf pending; /* to be sent */
	bool is_suspended, has_version;
};
struct live {
	struct server *s;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool ends;
	struct live_client *first;
	uint32_t n;
};

/* --- under lock ------------------------------------------------------------------------------- */

static void wake(struct live_client *c)
{
	if (!c->is_suspended)
		return;
	c->is_suspended = false;
	c->live->s->mhd.resume_connection(c->r->mhd);
}

static void say(struct live_client *c, const char *text, size_t len)
{
	if (c->pending.len) /* the client has not taken the last event: it is cut when it is late */
		return;
	buf_add(&c->pending, text, len);
	c->spoken_ns = clock_mono_ns();
	wake(c);
}

/* --- events ----------------------------------------------------------------------------------- */

/* Changes whenever data arrive. Data written by another process are checked at intervals. */
static uint64_t version_of(const struct tenant *t)
{
	struct store *store = tenant_store(t);
	struct store_stats stats;
	if (!store)
		return t->data.file ? 0 : clock_mono_ns() / (STEP_S * SECOND);
	store_get_stats(store, &stats);
	return stats.batches;
}

static void totals_json(const struct query_range *range, struct buf *b)
{
	struct json j = json_to(b);
	int64_t total = 0;
	json_obj(&j);
	json_key_i64(&j, "from_ns", range->from_ns);
	json_key_i64(&j, "step_ns", range->step_ns);
	json_key(&j, "totals");
	json_arr(&j);
	for (size_t i = 0; i < range->steps; i++) {
		int64_t sum = range->groups ? range->sums[i] : 0;
		json_i64(&j, sum);
		total = sum_add(total, sum);
	}
	json_end(&j);
	json_key_i64(&j, "total", total);
	json_key_str(&j, "unit", range->unit);
	json_end(&j);
}

static bool has_ended(void *ctx)
{
	return ((struct server *)ctx)->ends;
}

static int ask_totals(struct server *s, struct source *source, const struct selector *selector,
		      struct buf *b, struct err *err)
{
	struct query q = { .source = source,
			   .selector = selector,
			   .limits = { .time_ns = QUERY_S * SECOND,
				       .memory_bytes = s->opts.memory_bytes / 8,
				       .stop = has_ended,
				       .ctx = s } };
	struct query_range range;
	uint32_t others;
	int rc = query_parse_type(&q, &others, err);
	q.to_ns = (int64_t)(clock_wall_ns() / (STEP_S * SECOND) + 1) * (int64_t)(STEP_S * SECOND);
	q.from_ns = q.to_ns - (int64_t)(STEPS * STEP_S * SECOND);
	if (rc == 0)
		rc = query_range(&q, STEP_S * SECOND, &range, err);
	if (rc == 0) {
		totals_json(&range, b);
		query_range_done(&range);
	}
	return rc;
}

/* If the query cannot be answered now, say because its type is not there yet, the event has no
 * totals. */
static void make_event(struct server *s, struct tenant *t, const char *text, struct buf *event)
{
	struct selector *selector = NULL;
	struct source *source = NULL;
	struct buf totals = { 0 };
	struct err err = { 0 };
	int rc = selector_parse(text, &selector, &err);
	if (rc == 0)
		rc = data_source_acquire(&t->data, &source, &err);
	if (rc == 0)
		rc = source->is_block ? -EINVAL : ask_totals(s, source, selector, &totals, &err);
	data_source_release(&t->data, source);
	selector_free(selector);
	if (rc < 0 || totals.len > EVENT_MAX) {
		buf_clear(&totals);
		buf_adds(&totals, "{}");
	}
	buf_addf(event, "event: totals\ndata: %s\n\n", buf_cstr(&totals));
	buf_done(&totals);
}

/* Returns a client that an event is due for. */
static struct live_client *find_due(struct live *l, uint64_t *version)
{
	const struct tenant *t = NULL;
	for (struct live_client *c = l->first; c; c = c->next) {
		if (c->r->tenant != t)
			*version = version_of(c->r->tenant);
		t = c->r->tenant;
		if (!c->pending.len && (!c->has_version || c->version != *version))
			return c;
	}
	return NULL;
}

/* Runs a query once for all clients that have it. Clients come and go in the meantime. */
static void tell(struct live *l, struct live_client *due, uint64_t version)
{
	struct tenant *t = due->r->tenant;
	char *selector = xstrdup(due->selector);
	struct buf event = { 0 };
	pthread_mutex_unlock(&l->lock);
	make_event(l->s, t, selector, &event);
	pthread_mutex_lock(&l->lock);
	for (struct live_client *c = l->first; c; c = c->next) {
		if (c->r->tenant != t || strcmp(c->selector, selector) != 0 || c->pending.len)
			continue;
		c->version = version;
		c->has_version = true;
		say(c, event.data ? (const char *)event.data : "", event.len);
	}
	buf_done(&event);
	free(selector);
}

/* Sends heartbeats to clients that have nothing new or whose connection is gone. */
static void tend(struct live *l)
{
	static const char heartbeat[] = ": \n\n";
	uint64_t now_ns = clock_mono_ns();
	for (struct live_client *c = l->first; c; c = c->next) {
		bool is_quiet = now_ns - c->spoken_ns >= HEARTBEAT_S * SECOND;
		if (c->is_suspended && (is_quiet || !connection_is_there(c->r->from)))
			say(c, heartbeat, sizeof heartbeat - 1);
	}
}

static void pause_s(struct live *l, int s)
{
	uint64_t at_ns = clock_mono_ns() + (uint64_t)s * SECOND;
	if (!l->first) {
		pthread_cond_wait(&l->changed, &l->lock);
		return;
	}
	while (!l->ends && cond_wait_until(&l->changed, &l->lock, at_ns))
		continue;
}

static void *run(void *ctx)
{
	struct live *l = ctx;
	struct live_client *due;
	uint64_t version = 0;
	pthread_mutex_lock(&l->lock);
	while (!l->ends) {
		for (uint32_t i = 0; i < LIVE_CLIENTS && !l->ends && (due = find_due(l, &version));
		     i++)
			tell(l, due, version);
		tend(l);
		if (!l->ends)
			pause_s(l, TICK_S);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* --- clients ---------------------------------------------------------------------------------- */

static uint64_t address_of(const struct request *r)
{
	const union MHD_ConnectionInfo *info =
		r->server->mhd.get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;
	uint64_t half = 0;
	if (a && a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr;
	if (a && a->sa_family == AF_INET6)
		memcpy(&half, &((const struct sockaddr_in6 *)a)->sin6_addr, sizeof half);
	return half;
}

bool live_add(struct live *l, struct request *r, const char *selector)
{
	uint64_t address = address_of(r);
	uint32_t same = 0;
	pthread_mutex_lock(&l->lock);
	for (const struct live_client *c = l->first; c; c = c->next)
		same += c->address == address;
	bool room = l->n < LIVE_CLIENTS && same < LIVE_OF_ADDRESS && !l->ends;
	if (room) {
		struct live_client *c = xcalloc(1, sizeof *c);
		*c = (struct live_client){ .live = l,
					   .r = r,
					   .selector = xstrdup(selector),
					   .address = address,
					   .spoken_ns = clock_mono_ns() };
		buf_adds(&c->pending, "retry: 5000\n\n");
		r->reply.stream = c;
		c->next = l->first;
		c->link = &l->first;
		if (c->next)
			c->next->link = &c->next;
		l->first = c;
		l->n++;
		pthread_cond_signal(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return room;
}

void live_remove(struct live_client *c)
{
	struct live *l = c->live;
	pthread_mutex_lock(&l->lock);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	l->n--;
	pthread_mutex_unlock(&l->lock);
	buf_done(&c->pending);
	free(c->selector);
	free(c);
}

static void set_deadline(struct live_client *c, uint64_t deadline_ns)
{
	connections_set_deadline(&c->live->s->connections, c->r->from, deadline_ns);
}

/* Called by the library when it can send. With nothing pending, the connection sleeps until there
 * is something to say. */
ssize_t live_read(void *client, uint64_t pos, char *to, size_t max)
{
	struct live_client *c = client;
	struct live *l = c->live;
	(void)pos;
	pthread_mutex_lock(&l->lock);
	size_t n = c->pending.len < max ? c->pending.len : max;
	if (n) {
		memcpy(to, c->pending.data, n);
		memmove(c->pending.data, c->pending.data + n, c->pending.len - n);
		c->pending.len -= n;
		set_deadline(c, clock_mono_ns() + TAKE_S * SECOND);
	} else if (!l->ends) {
		set_deadline(c, UINT64_MAX);
		c->is_suspended = true;
		l->s->mhd.suspend_connection(c->r->mhd);
	}
	bool ends = l->ends;
	pthread_mutex_unlock(&l->lock);
	return n ? (ssize_t)n : ends ? MHD_CONTENT_READER_END_OF_STREAM : 0;
}

uint32_t live_count(struct live *l)
{
	pthread_mutex_lock(&l->lock);
	uint32_t n = l->n;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* --- start and end ---------------------------------------------------------------------------- */

int live_start(struct server *s, struct err *err)
{
	struct live *l = xcalloc(1, sizeof *l);
	l->s = s;
	pthread_mutex_init(&l->lock, NULL);
	cond_init(&l->changed);
	int rc = pthread_create(&l->thread, NULL, run, l);
	if (rc) {
		pthread_mutex_destroy(&l->lock);
		pthread_cond_destroy(&l->changed);
		free(l);
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	}
	s->live = l;
	return 0;
}

void live_end(struct live *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->ends = true;
	for (struct live_client *c = l->first; c; c = c->next)
		wake(c);
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
}
