/* Starts and stops the parts of the server in order. */
#include "server/server_state.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sandbox/privileges.h"
#include "base/sandbox/sandbox.h"
#include "server/http.h"
#include "server/live.h"
#include "server/tenant.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static void fill_in(struct server_opts *o)
{
	const struct server_opts defaults = {
		.memory_bytes = 256 << 20,
		.query_ns = 30 * SECOND,
		.header_ns = 10 * SECOND,
		.body_ns = 30 * SECOND,
		.idle_ns = 30 * SECOND,
		.connections = 256,
		.queries = 2,
		.per_s = 200,
	};
#define DEFAULT(member) o->member = o->member ? o->member : defaults.member
	DEFAULT(memory_bytes);
	DEFAULT(query_ns);
	DEFAULT(header_ns);
	DEFAULT(body_ns);
	DEFAULT(idle_ns);
	DEFAULT(connections);
	DEFAULT(queries);
	DEFAULT(per_s);
#undef DEFAULT
}

/* Whether this server may listen there. */
static int check_address(const struct server_opts *o, const union listen_addr *addr,
			 struct err *err)
{
	char where[LISTEN_WORDS];

	if (listen_is_loopback(addr))
		return 0;
	listen_words(addr, where);
	if (!o->tokens) {
		err_set(err, EPERM, "without tokens other hosts could read all data at %s", where);
		return err_hint(
			err, "give --tokens FILE (cresset token create), or listen on 127.0.0.1");
	}
	if (!o->tls_cert && !o->is_insecure) {
		err_set(err, EPERM, "without TLS tokens to %s could be intercepted", where);
		return err_hint(
			err,
			"give --tls-cert and --tls-key, or --insecure if the network is trusted");
	}
	return 0;
}

int server_listen(const struct server_opts *o, struct err *err)
{
	union listen_addr addr;
	int rc = listen_parse(o->listen, &addr, err);

	if (rc == 0)
		rc = check_address(o, &addr, err);
	return rc ? rc : listen_socket(&addr, err);
}

static int open_address(struct server *s, struct err *err)
{
	int fd = s->opts.socket ? s->opts.socket : server_listen(&s->opts, err);
	int rc = fd < 0 ? fd : listener_open(&s->listener, fd, err);

	if (rc == 0)
		rc = check_address(&s->opts, &s->listener.addr, err);
	s->is_local = rc == 0 && listen_is_loopback(&s->listener.addr);
	return rc;
}

int server_load(struct err *err)
{
	struct mhd mhd;
	return mhd_load(&mhd, false, err);
}

/* In the sandbox root has no more rights than other users, so a store of another user is served as
 * that user. The address is bound by then. */
static int become_owner(const struct server_opts *o, struct err *err)
{
	const char *const needs[] = { o->path, o->tokens, o->tls_cert, o->tls_key, o->ui_dir };
	int rc = o->path ? privileges_become_owner(o->path, PRIVILEGES_NONE, err) : 0;
	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		if (!needs[i] || access(needs[i], R_OK) == 0)
			continue;
		err_set(err, errno, "cannot read %s as user %u, whom %s belongs to: %s", needs[i],
			(unsigned)getuid(), o->path, strerror(errno));
		return err_hint(
			err,
			"the server drops root: let that user read it, and enter its directories");
	}
	return 0;
}

/* Creates the directory here: a sandbox rule for it needs it to exist, and its parent cannot be
 * synced later. */
static int enter_sandbox(struct server *s, struct err *err)
{
	const char *dir = s->opts.keep ? s->opts.path : NULL;
	if (!s->opts.sandbox)
		return 0;
	if (dir && mkdir(dir, 0750) < 0 && errno != EEXIST)
		return err_set(err, errno, "cannot make %s: %s", dir, strerror(errno));
	int rc = dir ? fs_sync_dir_of(dir, err) : 0;
	if (rc == 0)
		rc = become_owner(&s->opts, err);
	return rc ? rc : sandbox_files(s->opts.sandbox, err);
}

/* Call it before the sandbox, in which no socket can be made. */
static void open_peers(struct server *s)
{
	struct err err = { 0 };
	if (s->opts.tokens)
		return;
	s->self.starter = getuid();
	if (!s->opts.users)
		s->opts.users = &s->self;
	if (peers_open(&s->peers, &err) < 0)
		log_warning(&err);
}

static int start(struct server *s, struct err *err)
{
	uint32_t tenants = 1;
	int rc = open_address(s, err);
	if (rc == 0)
		rc = mhd_load(&s->mhd, s->opts.tls_cert, err);
	if (rc == 0)
		open_peers(s);
	if (rc == 0)
		rc = enter_sandbox(s, err);
	if (rc == 0 && s->opts.ui_dir)
		rc = page_open_dir(s->opts.ui_dir, &s->ui_dir, err);
	if (rc == 0 && s->opts.tokens)
		rc = access_count_tenants(s->opts.tokens, &tenants, err);
	if (rc == 0)
		rc = tenants_open(&s->opts, tenants, &s->tenants, err);
	if (rc == 0)
		rc = access_load(s, err);
	if (rc == 0)
		rc = connections_start(&s->connections, err);
	if (rc == 0)
		rc = workers_start(s->opts.queries, SERVER_WAITING, http_work, &s->workers, err);
	if (rc == 0)
		rc = workers_start(1, SERVER_WRITES_WAITING, http_work, &s->writers, err);
	if (rc == 0)
		rc = live_start(s, err);
	if (rc == 0)
		rc = http_start(s, err);
	if (rc == 0)
		rc = http_start_peers(s, err);
	if (rc == 0)
		rc = sandbox_calls(s->opts.sandbox, err);
	return rc ? rc : listener_start(&s->listener, err);
}

int server_start(const struct server_opts *opts, struct server **out, struct err *err)
{
	struct server *s = xcalloc(1, sizeof *s);
	s->opts = *opts;
	s->start_ns = clock_mono_ns();
	s->access = xcalloc(1, sizeof *s->access);
	pthread_mutex_init(&s->access->lock, NULL);
	pthread_mutex_init(&s->daemons_lock, NULL);
	fill_in(&s->opts);
	s->bodies.limit_bytes = s->opts.memory_bytes / 4;
	s->listener.fd = s->listener.wake_fd = s->ui_dir = s->peers.fd = -1;
	s->listener.take = http_take;
	s->listener.ctx = s;
	rate_init(&s->rate, s->opts.per_s, s->opts.per_s * 5);
	int rc = start(s, err);
	if (rc < 0) {
		server_stop(s);
		return rc;
	}
	*out = s;
	return 0;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	s->ends = true;
	listener_close(&s->listener);
	peer_queue_stop(&s->peer_queue);
	workers_stop(s->workers);
	workers_stop(s->writers);
	tenants_stop_ingest(s->tenants);
	live_end(s->live);
	http_stop(s);
	live_free(s->live);
	workers_free(s->workers);
	workers_free(s->writers);
	connections_stop(&s->connections);
	tenants_close(s->tenants);
	rate_done(&s->rate);
	tokens_done(&s->access->tokens);
	peers_close(&s->peers);
	if (s->ui_dir >= 0)
		close(s->ui_dir);
	pthread_mutex_destroy(&s->access->lock);
	pthread_mutex_destroy(&s->daemons_lock);
	free(s->access);
	free(s);
}

int server_reload(struct server *s, struct err *err)
{
	int rc = access_load(s, err);
	return rc ? rc : http_reload(s, err);
}

uint16_t server_port(const struct server *s)
{
	const union listen_addr *a = &s->listener.addr;
	return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

void server_url(const struct server *s, struct buf *b)
{
	char where[LISTEN_WORDS];

	listen_words(&s->listener.addr, where);
	buf_addf(b, "%s://%s/", s->opts.tls_cert ? "https" : "http", where);
}
