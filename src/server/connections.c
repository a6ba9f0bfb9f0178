/* A thread closes connections that are past their deadline. */
#include "server/connections.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { LOOK_EVERY_NS = 200000000 };

static void cut(struct connections *c, struct connection *one)
{
	one->deadline_ns = UINT64_MAX;
	one->is_cut = true;
	shutdown(one->fd, SHUT_RDWR); /* the library sees the end of the stream and closes it */
	atomic_fetch_add(&c->cut, 1);
}

/* Sleeps without a timeout while there is no connection. */
static void wait_a_while(struct connections *c)
{
	if (!c->first) {
		pthread_cond_wait(&c->changed, &c->lock);
		return;
	}
	cond_wait_until(&c->changed, &c->lock, clock_mono_ns() + LOOK_EVERY_NS);
}

static void *reap(void *ctx)
{
	struct connections *c = ctx;
	pthread_mutex_lock(&c->lock);
	while (!c->ends) {
		wait_a_while(c);
		uint64_t now_ns = clock_mono_ns();
		for (struct connection *one = c->first; one; one = one->next)
			if (one->deadline_ns <= now_ns)
				cut(c, one);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int connections_start(struct connections *c, struct err *err)
{
	memset(c, 0, sizeof *c);
	pthread_mutex_init(&c->lock, NULL);
	cond_init(&c->changed);
	cond_init(&c->entered);
	int rc = pthread_create(&c->reaper, NULL, reap, c);
	c->runs = rc == 0;
	return rc ? err_set(err, rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

void connections_stop(struct connections *c)
{
	if (!c->runs)
		return;
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->reaper, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_cond_destroy(&c->entered);
	pthread_mutex_destroy(&c->lock);
	c->runs = false;
}

/* --- room ------------------------------------------------------------------------------------- */

static uint64_t network_of_ipv4(uint32_t address)
{
	enum { LOOPBACK_NET = 127 };
	return ntohl(address) >> 24 == LOOPBACK_NET ? 0 : (1ull << 32 | address);
}

uint64_t connections_network(const struct sockaddr *from)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	uint64_t net;
	uint32_t end;
	if (from && from->sa_family == AF_INET) {
		memcpy(&v4, from, sizeof v4);
		return network_of_ipv4(v4.sin_addr.s_addr);
	}
	if (!from || from->sa_family != AF_INET6)
		return 0;
	memcpy(&v6, from, sizeof v6);
	memcpy(&net, v6.sin6_addr.s6_addr, sizeof net);
	memcpy(&end, v6.sin6_addr.s6_addr + 12, sizeof end);
	if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return network_of_ipv4(end);
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ? 0 : net;
}

/* Whether a is cut before b; b may be NULL. */
static bool gives_way_before(const struct connection *a, const struct connection *b)
{
	if (!b || a->was_asked != b->was_asked)
		return !b || b->was_asked;
	return a->waits_since_ns < b->waits_since_ns;
}

/* Cuts a connection of network from (0: of any) that waits. Returns false if none exists. */
static bool cut_one(struct connections *c, uint64_t from)
{
	struct connection *found = NULL;
	for (struct connection *one = c->first; one; one = one->next)
		if (one->waits_since_ns && !one->is_known && !one->is_cut &&
		    (!from || one->from == from) && gives_way_before(one, found))
			found = one;
	if (found)
		cut(c, found);
	return found != NULL;
}

bool connections_make_room(struct connections *c, uint64_t from, uint32_t most)
{
	enum { SHARE = 8, LEAST = 8 };
	uint32_t its_most = most / SHARE > LEAST ? most / SHARE : LEAST;
	uint32_t all = 0, its = 0;
	bool is_there = true;
	pthread_mutex_lock(&c->lock);
	for (const struct connection *one = c->first; one; one = one->next) {
		all += !one->is_cut;
		its += from && one->from == from && !one->is_cut && !one->is_known;
	}
	if (its >= its_most)
		is_there = cut_one(c, from);
	else if (all >= most)
		is_there = cut_one(c, 0);
	pthread_mutex_unlock(&c->lock);
	return is_there;
}

/* --- one -------------------------------------------------------------------------------------- */

uint64_t connections_added(struct connections *c)
{
	pthread_mutex_lock(&c->lock);
	uint64_t n = c->added;
	pthread_mutex_unlock(&c->lock);
	return n;
}

void connections_wait_added(struct connections *c, uint64_t n)
{
	enum { MOST_NS = 50000000 };
	uint64_t until_ns = clock_mono_ns() + MOST_NS;
	pthread_mutex_lock(&c->lock);
	while (c->added < n && clock_mono_ns() < until_ns)
		cond_wait_until(&c->entered, &c->lock, until_ns);
	pthread_mutex_unlock(&c->lock);
}

void connections_asked(struct connections *c, struct connection *one)
{
	pthread_mutex_lock(&c->lock);
	one->waits_since_ns = 0;
	one->was_asked = true;
	pthread_mutex_unlock(&c->lock);
}

void connections_known(struct connections *c, struct connection *one)
{
	pthread_mutex_lock(&c->lock);
	one->is_known = true;
	pthread_mutex_unlock(&c->lock);
}

void connections_answered(struct connections *c, struct connection *one)
{
	pthread_mutex_lock(&c->lock);
	one->waits_since_ns = clock_mono_ns();
	pthread_mutex_unlock(&c->lock);
}

struct connection *connections_add(struct connections *c, int fd, uint64_t from,
				   uint64_t deadline_ns)
{
	struct connection *one = xcalloc(1, sizeof *one);
	pthread_mutex_lock(&c->lock);
	*one = (struct connection){ .fd = fd,
				    .deadline_ns = deadline_ns,
				    .from = from,
				    .waits_since_ns = clock_mono_ns(),
				    .next = c->first,
				    .link = &c->first };
	one->has_user = c->is_expected && c->expected_fd == fd;
	one->user = one->has_user ? c->expected_user : 0;
	c->is_expected = c->is_expected && !one->has_user;
	if (one->next)
		one->next->link = &one->next;
	else
		pthread_cond_signal(&c->changed);
	c->first = one;
	c->n++;
	c->added++;
	pthread_cond_signal(&c->entered);
	pthread_mutex_unlock(&c->lock);
	return one;
}

void connections_expect(struct connections *c, int fd, int64_t user)
{
	pthread_mutex_lock(&c->lock);
	c->is_expected = true;
	c->expected_fd = fd;
	c->expected_user = user;
	pthread_mutex_unlock(&c->lock);
}

void connections_remove(struct connections *c, struct connection *one)
{
	pthread_mutex_lock(&c->lock);
	*one->link = one->next;
	if (one->next)
		one->next->link = one->link;
	c->n--;
	pthread_mutex_unlock(&c->lock);
	free(one);
}

void connections_set_deadline(struct connections *c, struct connection *one, uint64_t deadline_ns)
{
	pthread_mutex_lock(&c->lock);
	one->deadline_ns = one->is_cut ? UINT64_MAX : deadline_ns;
	pthread_mutex_unlock(&c->lock);
}

uint32_t connections_count(struct connections *c)
{
	pthread_mutex_lock(&c->lock);
	uint32_t n = c->n;
	pthread_mutex_unlock(&c->lock);
	return n;
}

bool connection_is_there(const struct connection *c)
{
	struct pollfd one = { .fd = c->fd, .events = POLLRDHUP };
	return poll(&one, 1, 0) <= 0;
}
