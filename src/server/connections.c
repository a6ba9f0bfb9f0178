#include "server/connections.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { LOOK_EVERY_NS = 200000000 };

static void cut_late(struct connections *c, uint64_t now_ns)
{
	for (struct connection *one = c->first; one; one = one->next) {
		if (one->deadline_ns > now_ns)
			continue;
		one->deadline_ns = UINT64_MAX;
		shutdown(one->fd, SHUT_RDWR); /* the library sees the end, and closes */
		atomic_fetch_add(&c->cut, 1);
	}
}

/* Sleeps for good while nobody is connected. */
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
		cut_late(c, clock_mono_ns());
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int connections_start(struct connections *c, struct err *err)
{
	memset(c, 0, sizeof *c);
	pthread_mutex_init(&c->lock, NULL);
	cond_init(&c->changed);
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
	pthread_mutex_destroy(&c->lock);
	c->runs = false;
}

struct connection *connections_add(struct connections *c, int fd, uint64_t deadline_ns)
{
	struct connection *one = xcalloc(1, sizeof *one);
	pthread_mutex_lock(&c->lock);
	*one = (struct connection){
		.fd = fd, .deadline_ns = deadline_ns, .next = c->first, .link = &c->first
	};
	if (one->next)
		one->next->link = &one->next;
	else
		pthread_cond_signal(&c->changed);
	c->first = one;
	c->n++;
	pthread_mutex_unlock(&c->lock);
	return one;
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
	one->deadline_ns = deadline_ns;
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
