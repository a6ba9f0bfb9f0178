#include "server/server_state.h"

#include "base/clock.h"
#include "base/mem.h"
#include "server/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

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

static int open_address(struct server *s, struct err *err)
{
	union listen_addr addr;
	int rc = listen_parse(s->opts.listen, &addr, err);
	if (rc < 0)
		return rc;
	if (!listen_is_loopback(&addr)) {
		err_set(err, EPERM, "others could read everything at %s", s->opts.listen);
		return err_hint(err, "listen on 127.0.0.1 or [::1], and let others in by ssh -L");
	}
	return listener_open(&s->listener, &addr, err);
}

static int start(struct server *s, struct err *err)
{
	int rc = open_address(s, err);
	if (rc == 0)
		rc = served_open(&s->data, s->opts.path, s->opts.file, err);
	if (rc == 0)
		rc = mhd_load(&s->mhd, err);
	if (rc == 0)
		rc = connections_start(&s->connections, err);
	if (rc == 0)
		rc = workers_start(s->opts.queries, SERVER_WAITING, http_work, &s->workers, err);
	if (rc == 0)
		rc = http_start(s, err);
	return rc ? rc : listener_start(&s->listener, err);
}

int server_start(const struct server_opts *opts, struct server **out, struct err *err)
{
	struct server *s = xcalloc(1, sizeof *s);
	s->opts = *opts;
	s->start_ns = clock_mono_ns();
	fill_in(&s->opts);
	s->bodies.limit_bytes = s->opts.memory_bytes / 4;
	s->listener.fd = s->listener.wake_fd = -1;
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
	workers_stop(s->workers);
	http_stop(s);
	workers_free(s->workers);
	connections_stop(&s->connections);
	served_close(&s->data);
	rate_done(&s->rate);
	free(s);
}

uint16_t server_port(const struct server *s)
{
	const union listen_addr *a = &s->listener.addr;
	return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

void server_url(const struct server *s, struct buf *b)
{
	char host[INET6_ADDRSTRLEN];
	const union listen_addr *a = &s->listener.addr;
	if (a->any.sa_family == AF_INET)
		buf_addf(b, "http://%s:%u/", inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host),
			 server_port(s));
	else
		buf_addf(b, "http://[%s]:%u/",
			 inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host), server_port(s));
}
