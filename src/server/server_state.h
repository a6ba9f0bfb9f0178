/* server/server_state.h: the internals of a server. Only the files of server/ use it. */
#ifndef CRESSET_SERVER_SERVER_STATE_H
#define CRESSET_SERVER_SERVER_STATE_H

#include "base/vec.h"
#include "server/connections.h"
#include "server/limits.h"
#include "server/listen.h"
#include "server/peer.h"
#include "server/server.h"
#include "server/tokens.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct access;
struct err;
struct live;
struct request;
struct tenants;
struct workers;

enum {
	/* limit: request line and headers, and what is sent */
	SERVER_CONNECTION_BYTES = 16 << 10,
	SERVER_WAITING = 64,         /* limit: requests waiting for a worker */
	SERVER_WRITES_WAITING = 256, /* limit: batches waiting to be added */
	SERVER_PIECE = 64 << 10,     /* of a body: each adds a second to its deadline */
};

/* --- counters.c: counts since the start, for /metrics and /api/v1/status. Any thread may add. */

enum {
	COUNTER_ROUTES = 32,  /* the last: no route */
	COUNTER_BUCKETS = 13, /* of durations: 5 ms, then twice as much each; the last: longer */
	COUNTER_CLASSES = 6,  /* of statuses: 1xx … 5xx, by the first digit */
};
enum refusal {
	REFUSED_CONNECTIONS, /* too many connections */
	REFUSED_RATE,        /* too many requests from a sender */
	REFUSED_BUSY,        /* too many queries */
	REFUSED_BODIES,      /* no budget for a body */
	REFUSED_SIZE,        /* a body too large, as received or decompressed */
	REFUSED_FRAMING,     /* two lengths, or a length and a transfer encoding */
	REFUSED_USER,        /* without tokens: a user without the right */
	REFUSALS
};
extern const char *const refusal_names[REFUSALS];

struct counters {
	struct {
		_Atomic uint64_t answers[COUNTER_CLASSES];
		_Atomic uint64_t time_ns, bytes;
	} routes[COUNTER_ROUTES];
	struct {
		_Atomic uint64_t buckets[COUNTER_BUCKETS], time_ns;
	} queries;
	_Atomic uint64_t refused[REFUSALS];
	_Atomic uint64_t connections, body_bytes;
};

/* The upper bound of bucket i. */
static inline uint64_t counter_bucket_ns(int i)
{
	return UINT64_C(5000000) << i;
}

static inline void counter_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

/* --- mhd.c: libmicrohttpd, which parses requests and sends responses. It is loaded when a server
 * starts, not with the program: it brings in GnuTLS and nine more libraries, which every other
 * command would have to load, too. Release programs have it linked in. */

#define MHD_CALLS(X) \
	X(start_daemon) \
	X(stop_daemon) \
	X(add_connection) \
	X(get_connection_info) \
	X(get_daemon_info) \
	X(get_connection_values_n) \
	X(suspend_connection) \
	X(resume_connection) \
	X(create_response_from_buffer) \
	X(create_response_from_fd64) \
	X(create_response_from_callback) \
	X(add_response_header) \
	X(queue_response) \
	X(destroy_response)

#define MHD_CALL(name) __typeof__(&MHD_##name) name;
struct mhd {
	MHD_CALLS(MHD_CALL)
};
#undef MHD_CALL

/* Call it before the sandbox, in which no library can be opened. Returns -ENOSYS with err set if a
 * library is missing or too old. They stay loaded: some keep state that does not survive
 * unloading. */
int mhd_load(struct mhd *m, bool with_tls, struct err *err);

/* --- the server --- */

struct server {
	/* Not changed after it accepts connections; tenants, access and live point to data with
	 * separate locks. */
	struct server_opts opts; /* with defaults filled in */
	struct mhd mhd;
	struct workers *workers; /* for queries */
	struct workers *writers; /* for writes, so that queries do not delay them */
	struct tenants *tenants;
	struct access *access;
	struct server_users self; /* when opts.users is NULL */
	struct live *live;
	int ui_dir;        /* -1: none */
	bool is_local;     /* only this machine can reach it */
	uint64_t start_ns; /* monotonic */

	/* Guarded by daemons_lock. The first daemon takes new connections; the others have earlier
	 * certificates, and serve the connections they have. */
	pthread_mutex_t daemons_lock;
	VEC(struct MHD_Daemon *) daemons;

	/* Any thread may call: each of these has a separate lock. */
	struct connections connections;
	struct rate rate;
	struct peers peers; /* without tokens */
	struct peer_queue peer_queue;

	/* Atomic; any thread may add. */
	struct budget bodies;
	struct counters counters;
	_Atomic bool ends;

	/* Used only by the thread that starts and stops the server. */
	struct listener listener;
};

/* --- access.c: what a request may do: its token decides if the server has tokens, else the user of
 * this machine who owns the connection. The user is looked up once for each connection, at its
 * first request. */

struct access {
	pthread_mutex_t lock;
	struct tokens tokens;
};

/* Reads server.opts.tokens, and opens the data of its tenants. On failure nothing changes. */
int access_load(struct server *s, struct err *err);

/* Counts the tenants in a file of tokens, including the one without a name. */
int access_count_tenants(const char *path, uint32_t *out, struct err *err);

/* Returns the user who owns the connection; -1: there are tokens, or the user is unknown. */
int64_t access_user(struct request *r);

/* Sets r->tenant. Returns 0 or the status of the refusal. authorization: the header; NULL: none. */
unsigned access_check(struct request *r, const char *authorization, struct err *err);

/* --- workers.c: worker threads for slow requests, with a bounded queue. */

/* Any of the threads calls run, for one piece of work at a time. */
int workers_start(uint32_t threads, uint32_t max_waiting, void (*run)(void *work),
		  struct workers **out, struct err *err);
/* Returns false if the queue is full, or after workers_stop. */
bool workers_put(struct workers *w, void *work);
uint32_t workers_waiting(struct workers *w);
/* Runs the queued work and stops; nothing more can be added. NULL is fine in both. */
void workers_stop(struct workers *w);
void workers_free(struct workers *w);

/* --- route/route_page.c: the page's files. */

/* Whether a path may be one of the page's; the handler finds out whether the file exists. */
bool page_has(const char *path);

/* Opens a directory whose files are served in place of those in the program. */
int page_open_dir(const char *dir, int *fd, struct err *err);

#endif
