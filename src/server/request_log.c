/* Writes a log line per request. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "query/time.h"
#include "server/http.h"
#include "server/request.h"
#include "server/server.h"
#include "server/server_state.h"

#include <arpa/inet.h>
#include <unistd.h>

void request_address(const struct request *r, struct buf *b)
{
	char text[INET6_ADDRSTRLEN] = "";
	const union MHD_ConnectionInfo *info =
		r->server->mhd.get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *from = info ? info->client_addr : NULL;
	if (from && from->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, text,
			  sizeof text);
	else if (from && from->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr, text,
			  sizeof text);
	buf_adds(b, text);
}

struct log_line {
	struct buf time, address;
	const char *method, *path;
	uint64_t took_us;
};

static void line_json(const struct request *r, struct log_line *l, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_str(&j, "time", buf_cstr(&l->time));
	json_key_str(&j, "address", buf_cstr(&l->address));
	json_key_str(&j, "method", l->method);
	json_key_str(&j, "route", l->path);
	json_key_u64(&j, "status", r->reply.status);
	json_key_text(&j, "token", r->token_id);
	json_key_u64(&j, "received_bytes", r->body.received_bytes);
	json_key_u64(&j, "answer_bytes", r->reply.bytes);
	json_key_u64(&j, "took_us", l->took_us);
	json_end(&j);
}

static void line_text(const struct request *r, struct log_line *l, struct buf *b)
{
	buf_addf(b, "%s %s %s %s %u %llu %llu %lluus", buf_cstr(&l->time), buf_cstr(&l->address),
		 l->method ? l->method : "-", l->path ? l->path : "-", r->reply.status,
		 (unsigned long long)r->body.received_bytes, (unsigned long long)r->reply.bytes,
		 (unsigned long long)l->took_us);
}

void request_log(const struct request *r)
{
	enum server_log how = r->server->opts.log;
	struct log_line l = { .method = r->route ? r->route->method : NULL,
			      .path = r->route ? r->route->path : NULL,
			      .took_us = (clock_mono_ns() - r->start_ns) / 1000 };
	struct buf b = { 0 };
	if (how == SERVER_LOG_OFF)
		return;
	time_text(&l.time, (int64_t)clock_wall_ns());
	request_address(r, &l.address);
	if (how == SERVER_LOG_JSON)
		line_json(r, &l, &b);
	else
		line_text(r, &l, &b);
	buf_addc(&b, '\n');
	if (write(STDERR_FILENO, b.data, b.len) < 0) {
		/* Failing to write to a closed standard error is no reason not to answer. */
	}
	buf_done(&b);
	buf_done(&l.time);
	buf_done(&l.address);
}
