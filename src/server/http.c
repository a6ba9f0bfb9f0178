/* Callbacks of libmicrohttpd. */
#include "server/http.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/connections.h"
#include "server/live.h"
#include "server/request.h"
#include "server/server_state.h"
#include "server/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARSERS = 2, SECOND_NS = 1000000000, STREAM_PIECE = 4096 };

/* --- the life of a request -------------------------------------------------------------------- */

static void set_deadline(struct request *r, uint64_t ns)
{
	connections_set_deadline(&r->server->connections, r->from,
				 ns == UINT64_MAX ? ns : clock_mono_ns() + ns);
}

/* The time allowed for transferring bytes, in either direction. */
static uint64_t transfer_ns(const struct server *s, uint64_t bytes)
{
	return s->opts.body_ns + bytes / SERVER_PIECE * SECOND_NS;
}

static void request_free(struct request *r)
{
	r->from->request = NULL;
	if (r->reply.stream)
		live_remove(r->reply.stream);
	body_done(r);
	reply_clear(r);
	vec_done(&r->params);
	arena_done(&r->arena);
	free(r);
}

/* The library does not report the end of every request: if it drops a connection while reading, one
 * may be left. */
static void free_forgotten(struct connection *c)
{
	if (c->request)
		request_free(c->request);
}

/* Called when the request line has arrived. The result is the request's context from here on. */
static void *on_uri(void *ctx, const char *uri, struct MHD_Connection *mhd)
{
	struct request *r = xcalloc(1, sizeof *r);
	r->server = ctx;
	r->mhd = mhd;
	r->tenant = tenants_first(r->server->tenants);
	const union MHD_ConnectionInfo *info =
		r->server->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	r->from = info ? info->socket_context : NULL;
	free_forgotten(r->from);
	r->from->request = r;
	r->reply.fd = -1;
	r->start_ns = clock_mono_ns();
	r->has_nul = strstr(uri, "%00") != NULL;
	set_deadline(r, r->server->opts.header_ns);
	return r;
}

static void count(const struct request *r)
{
	struct counters *c = &r->server->counters;
	uint32_t route = r->route ? (uint32_t)(r->route - routes) : COUNTER_ROUTES - 1;
	counter_add(&c->routes[route].answers[r->reply.status / 100 % COUNTER_CLASSES], 1);
	counter_add(&c->routes[route].time_ns, clock_mono_ns() - r->start_ns);
	counter_add(&c->routes[route].bytes, r->reply.bytes);
}

/* Counts queries of the data, not requests about the server. */
static void count_query(const struct request *r)
{
	struct counters *c = &r->server->counters;
	uint64_t took_ns = clock_mono_ns() - r->start_ns;
	int i = 0;
	if (!r->route || r->route->scope != SCOPE_READ || r->route->takes & TAKES_NO_WORKER)
		return;
	while (i < COUNTER_BUCKETS - 1 && took_ns > counter_bucket_ns(i))
		i++;
	counter_add(&c->queries.buckets[i], 1);
	counter_add(&c->queries.time_ns, took_ns);
}

static void on_completed(void *ctx, struct MHD_Connection *mhd, void **request,
			 enum MHD_RequestTerminationCode how)
{
	struct request *r = *request;
	(void)ctx;
	(void)mhd;
	(void)how;
	*request = NULL;
	if (!r)
		return;
	set_deadline(r, r->server->opts.idle_ns);
	connections_answered(&r->server->connections, r->from);
	request_free(r);
}

/* --- responses -------------------------------------------------------------------------------- */

/* Returns the response, which takes over the response, or NULL if memory is exhausted. */
static struct MHD_Response *make_response(struct request *r)
{
	struct reply *y = &r->reply;
	const struct mhd *m = &r->server->mhd;
	struct MHD_Response *response;
	if (y->stream)
		return m->create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, live_read,
							y->stream, NULL);
	if (y->fd >= 0) {
		response = m->create_response_from_fd64(y->bytes, y->fd);
		if (response)
			y->fd = -1;
		return response;
	}
	response = m->create_response_from_buffer(y->body.len, y->body.data, MHD_RESPMEM_MUST_FREE);
	if (response)
		y->body = (struct buf){ 0 };
	return response;
}

static void add_headers(const struct request *r, struct MHD_Response *response)
{
	const struct reply *y = &r->reply;
	const struct mhd *m = &r->server->mhd;
	char seconds[16], key[24];
	snprintf(seconds, sizeof seconds, "%u", y->retry_after_s);
	snprintf(key, sizeof key, "%llu", (unsigned long long)y->key_sequence);
	const char *const headers[][2] = {
		{ "Content-Type", y->type },
		{ "Content-Security-Policy",
		  y->policy ? y->policy : "default-src 'none'; frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cache-Control", y->cache ? y->cache : "no-store" },
		{ "ETag", y->etag },
		{ "Content-Encoding", y->encoding },
		{ "Vary", y->varies ? "Accept-Encoding" : NULL },
		{ "X-Accel-Buffering",
		  y->stream ? "no" : NULL }, /* a proxy passes it on as it comes */
		{ "Allow", y->allow },
		{ "WWW-Authenticate", y->challenge },
		{ "Retry-After", y->retry_after_s ? seconds : NULL },
		{ "X-Cresset-Key", y->key_sequence ? key : NULL },
		{ "X-Cresset-Note", y->note },
		{ "Connection", y->closes ? "close" : NULL },
	};
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (headers[i][1])
			m->add_response_header(response, headers[i][0], headers[i][1]);
}

static enum MHD_Result send_reply(struct request *r)
{
	const struct mhd *m = &r->server->mhd;
	struct MHD_Response *response = make_response(r);
	if (!response)
		return MHD_NO;
	add_headers(r, response);
	body_done(r); /* frees the memory for others while this is sent */
	set_deadline(r, transfer_ns(r->server, r->reply.bytes));
	r->state = REQUEST_SENT;
	count(r);
	count_query(r);
	request_log(r);
	enum MHD_Result rc = m->queue_response(r->mhd, r->reply.status, response);
	m->destroy_response(response);
	return rc;
}

/* Retains what admission has put into the reply next to the status. */
static enum MHD_Result refuse(struct request *r, unsigned status, const struct err *err)
{
	struct reply said = r->reply;
	reply_error(r, status, err);
	r->reply.allow = said.allow;
	r->reply.challenge = said.challenge;
	r->reply.closes = said.closes;
	if (said.retry_after_s)
		r->reply.retry_after_s = said.retry_after_s;
	return send_reply(r);
}

/* --- the steps of a request ------------------------------------------------------------------- */

static enum MHD_Result begin(struct request *r, const char *method, const char *path)
{
	struct err err = { 0 };
	connections_asked(&r->server->connections, r->from);
	unsigned status = admit(r, method, path, &err);
	if (status)
		return refuse(r, status, &err);
	r->state = REQUEST_BODY;
	set_deadline(r, transfer_ns(r->server, 0));
	return MHD_YES;
}

static enum MHD_Result take_body(struct request *r, const char *data, size_t len)
{
	body_add(r, data, len);
	if (body_is_abandoned(r))
		return MHD_NO;
	connections_set_deadline(&r->server->connections, r->from,
				 r->start_ns + transfer_ns(r->server, r->body.received_bytes));
	return MHD_YES;
}

/* Returns false if the body was refused. */
static bool handle(struct request *r)
{
	struct err err = { 0 };
	unsigned status = body_end(r, &err);
	if (status)
		reply_error(r, status, &err);
	else
		r->route->handle(r);
	return !status;
}

void http_work(void *request)
{
	struct request *r = request;
	bool is_batch = r->route->takes & TAKES_BATCH;
	if (handle(r) && is_batch)
		return; /* it may have been handled and freed in the meantime */
	reply_compress(r);
	request_ready(r);
}

void request_ready(struct request *r)
{
	r->state = REQUEST_READY;
	r->server->mhd.resume_connection(r->mhd);
}

static enum MHD_Result hand_over(struct request *r)
{
	struct server *s = r->server;
	struct err err = { 0 };
	set_deadline(r, UINT64_MAX); /* the query has its own time limit */
	r->state = REQUEST_WORKS;
	s->mhd.suspend_connection(r->mhd);
	if (workers_put(r->route->takes & TAKES_BATCH ? s->writers : s->workers, r))
		return MHD_YES;
	counter_add(&s->counters.refused[REFUSED_BUSY], 1);
	err_set(&err, EBUSY, "too many concurrent requests");
	reply_error(r, 429, &err);
	r->state = REQUEST_READY;
	s->mhd.resume_connection(r->mhd);
	return MHD_YES;
}

static enum MHD_Result finish(struct request *r)
{
	if (!(r->route->takes & TAKES_NO_WORKER))
		return hand_over(r);
	handle(r);
	return send_reply(r);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mhd, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *len, void **request)
{
	struct request *r = *request;
	size_t n = *len;
	(void)ctx;
	(void)mhd;
	(void)version;
	switch ((enum request_state)r->state) {
	case REQUEST_NEW:
		return begin(r, method, url);
	case REQUEST_BODY:
		*len = 0;
		return n ? take_body(r, data, n) : finish(r);
	case REQUEST_READY:
		return send_reply(r);
	case REQUEST_WORKS:
		return MHD_YES; /* it is suspended */
	case REQUEST_SENT:
		*len = 0; /* further data is discarded */
		return MHD_YES;
	}
	return MHD_NO;
}

/* --- connections ------------------------------------------------------------------------------ */

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		free_forgotten(*context);
		connections_remove(&s->connections, *context);
		*context = NULL;
		return;
	}
	const union MHD_ConnectionInfo *info =
		s->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	const union MHD_ConnectionInfo *client =
		s->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*context = connections_add(&s->connections, info->connect_fd,
				   connections_network(client ? client->client_addr : NULL),
				   clock_mono_ns() + s->opts.header_ns);
	counter_add(&s->counters.connections, 1);
}

static void turn_away(struct server *s, int fd)
{
	static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
				     "Retry-After: 1\r\nContent-Length: 0\r\n\r\n";
	char unread[4096];
	counter_add(&s->counters.refused[REFUSED_CONNECTIONS], 1);
	/* Reads first: closing with unread data would discard the response. */
	if (recv(fd, unread, sizeof unread, MSG_DONTWAIT) >= 0 || errno == EAGAIN)
		send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

static void take(struct server *s, int fd, const struct sockaddr *from, socklen_t len)
{
	if (!connections_make_room(&s->connections, connections_network(from),
				   s->opts.connections)) {
		turn_away(s, fd);
		return;
	}
	uint64_t added = connections_added(&s->connections);
	pthread_mutex_lock(&s->daemons_lock);
	bool is_taken = s->mhd.add_connection(s->daemons.v[0], fd, from, len) == MHD_YES;
	pthread_mutex_unlock(&s->daemons_lock);
	if (is_taken) /* otherwise the library has closed it */
		connections_wait_added(&s->connections, added + 1);
}

static void take_with_user(void *server, const struct peer_waiting *w, int64_t user)
{
	struct server *s = server;
	connections_expect(&s->connections, w->fd, user);
	take(s, w->fd, (const struct sockaddr *)&w->from, w->len);
}

int http_start_peers(struct server *s, struct err *err)
{
	if (s->opts.tokens || !peers_is_slow(&s->peers))
		return 0;
	s->peer_queue.peers = &s->peers;
	s->peer_queue.found = take_with_user;
	s->peer_queue.ctx = s;
	return peer_queue_start(&s->peer_queue, err);
}

void http_take(void *server, int fd, const struct sockaddr *from, socklen_t len)
{
	struct server *s = server;
	if (!s->peer_queue.runs)
		take(s, fd, from, len);
	else if (!peer_queue_put(&s->peer_queue, fd, from, len))
		turn_away(s, fd);
}

/* --- starting --------------------------------------------------------------------------------- */

struct tls {
	struct buf cert, key; /* PEM */
};

static void tls_done(struct tls *t)
{
	if (t->key.data)
		explicit_bzero(t->key.data, t->key.len);
	buf_done(&t->cert);
	buf_done(&t->key);
}

static int read_tls(const struct server *s, struct tls *t, struct err *err)
{
	enum { MAX_PEM = 1 << 20 };
	int rc = 0;
	if (s->opts.tls_cert)
		rc = fs_read_at(AT_FDCWD, s->opts.tls_cert, MAX_PEM, &t->cert, err);
	if (rc == 0 && s->opts.tls_cert)
		rc = fs_read_at(AT_FDCWD, s->opts.tls_key, MAX_PEM, &t->key, err);
	return rc;
}

static int start_daemon(struct server *s, struct MHD_Daemon **out, struct err *err)
{
	/* Poll mode: in epoll mode, version 0.9.75 keeps a thread busy while a client stalls in a
	 * TLS handshake. */
	unsigned flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC |
			 MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
	struct tls tls = { 0 };
	int rc = read_tls(s, &tls, err);
	if (rc < 0) {
		tls_done(&tls);
		return rc;
	}
	const struct MHD_OptionItem with_tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, buf_cstr(&tls.cert) },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, buf_cstr(&tls.key) },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct MHD_OptionItem *more = with_tls + (s->opts.tls_cert ? 0 : 2);
	*out = s->mhd.start_daemon(
		flags | (s->opts.tls_cert ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, s,
		MHD_OPTION_THREAD_POOL_SIZE, PARSERS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)SERVER_CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT,
		s->opts.connections * 2 + 16, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
		s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_ARRAY, more,
		MHD_OPTION_END);
	tls_done(&tls);
	if (*out)
		return 0;
	if (!s->opts.tls_cert)
		return err_set(err, EIO, "libmicrohttpd does not start");
	return err_set(err, EINVAL, "%s and %s are not a TLS certificate and its key",
		       s->opts.tls_cert, s->opts.tls_key);
}

int http_start(struct server *s, struct err *err)
{
	struct MHD_Daemon *daemon;
	int rc = start_daemon(s, &daemon, err);
	if (rc == 0)
		vec_push(&s->daemons, daemon);
	return rc;
}

static bool is_idle(const struct server *s, struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info =
		s->mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
	return info && info->num_connections == 0;
}

/* The library takes certificates once. So a reload starts another daemon, and stops the ones that
 * have no connections left. */
int http_reload(struct server *s, struct err *err)
{
	struct MHD_Daemon *fresh;
	size_t kept = 1;
	int rc = s->opts.tls_cert ? start_daemon(s, &fresh, err) : 1;
	if (rc)
		return rc < 0 ? rc : 0;
	pthread_mutex_lock(&s->daemons_lock);
	vec_push(&s->daemons, s->daemons.v[0]);
	s->daemons.v[0] = fresh;
	for (size_t i = 1; i < s->daemons.n; i++) {
		if (is_idle(s, s->daemons.v[i]))
			s->mhd.stop_daemon(s->daemons.v[i]);
		else
			s->daemons.v[kept++] = s->daemons.v[i];
	}
	s->daemons.n = kept;
	pthread_mutex_unlock(&s->daemons_lock);
	return 0;
}

void http_stop(struct server *s)
{
	for (size_t i = 0; i < s->daemons.n; i++)
		s->mhd.stop_daemon(s->daemons.v[i]);
	vec_done(&s->daemons);
}
