/* Reads the tables of connections for all waiting ones together. */
#include "server/peer_queue.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "server/peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 5 % of a CPU. */
#define PER_S_NS 50000000ull
#define SAVED_NS 500000000ull

typedef VEC(struct peer_waiting) waiting_list;

/* --- the thread ------------------------------------------------------------------------------- */

/* Waits until there is a connection, and CPU time for a read. Returns false at the end. */
static bool wait_for_turn(struct peer_queue *q)
{
	int64_t left_ns;

	while (!q->ends && !q->waiting.n)
		pthread_cond_wait(&q->changed, &q->lock);
	while (!q->ends && (left_ns = cpu_budget_left(&q->budget, clock_mono_ns())) <= 0)
		cond_wait_until(&q->changed, &q->lock,
				clock_mono_ns() + 1000000 +
					(uint64_t)-left_ns * 1000000000 / PER_S_NS);
	return !q->ends;
}

/* Connections that arrive in the meantime are for the next read: this one may not have them. */
static void look_up(struct peer_queue *q, const struct peer_waiting *v, size_t n)
{
	int *fds = xcalloc(n, sizeof *fds);
	int64_t *users = xcalloc(n, sizeof *users);

	for (size_t i = 0; i < n; i++)
		fds[i] = v[i].fd;
	peers_users(q->peers, fds, n, users);
	for (size_t i = 0; i < n; i++)
		q->found(q->ctx, &v[i], users[i]);
	free(users);
	free(fds);
}

static void *run(void *ctx)
{
	struct peer_queue *q = ctx;

	pthread_mutex_lock(&q->lock);
	while (wait_for_turn(q)) {
		waiting_list taken;
		memcpy(&taken, &q->waiting, sizeof taken);
		memset(&q->waiting, 0, sizeof q->waiting);
		pthread_mutex_unlock(&q->lock);
		uint64_t begun_ns = clock_thread_ns();
		look_up(q, taken.v, taken.n);
		cpu_budget_spend(&q->budget, clock_mono_ns(), clock_thread_ns() - begun_ns);
		vec_done(&taken);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* --- all -------------------------------------------------------------------------------------- */

int peer_queue_start(struct peer_queue *q, struct err *err)
{
	q->budget = (struct cpu_budget){ .per_s_ns = PER_S_NS, .most_ns = SAVED_NS };
	pthread_mutex_init(&q->lock, NULL);
	cond_init(&q->changed);
	int rc = thread_start(&q->thread, run, q);
	if (rc)
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	q->runs = true;
	return 0;
}

void peer_queue_stop(struct peer_queue *q)
{
	if (!q->runs)
		return;
	pthread_mutex_lock(&q->lock);
	q->ends = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	for (size_t i = 0; i < q->waiting.n; i++)
		close(q->waiting.v[i].fd);
	vec_done(&q->waiting);
	q->runs = false;
}

bool peer_queue_put(struct peer_queue *q, int fd, const struct sockaddr *from, socklen_t len)
{
	struct peer_waiting w = { .fd = fd, .len = len };

	if (len > sizeof w.from)
		return false;
	memcpy(&w.from, from, len);
	pthread_mutex_lock(&q->lock);
	bool has_room = q->waiting.n < PEER_QUEUE_MOST;
	if (has_room)
		vec_push(&q->waiting, w);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return has_room;
}
