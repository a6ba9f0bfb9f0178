/* Checks of a request before its handler, in this order: framing, rate, site (host and origin),
 * route, token, parameters, and the length of its body with the budget for it. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "server/http.h"
#include "server/limits.h"
#include "server/listen.h"
#include "server/request.h"
#include "server/server_state.h"

#include <errno.h>
#include <string.h>

enum { MAX_PARAMS = 32 }; /* limit: parameters of a request */

/* --- headers ---------------------------------------------------------------------------------- */

/* The headers that admission looks at, and how often each came. */
struct heads {
	struct request *r;
	const char *length, *transfer, *host, *origin, *encoding, *expect, *authorization, *accept;
	uint32_t lengths, transfers, hosts, encodings, authorizations;
	bool is_bad; /* a header contains a NUL */
	bool is_cross_site, is_navigation;
};

static void keep_head(struct request_heads *h, struct arena *arena, const char *key,
		      const char *value)
{
	const struct {
		const char *key;
		const char **to;
	} kept[] = {
		{ "Content-Type", &h->content_type },   { "X-Cresset-Agent", &h->agent },
		{ "X-Cresset-Seq", &h->sequence },      { "X-Cresset-Base", &h->base },
		{ "If-None-Match", &h->if_none_match },
	};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (value && strcasecmp(key, kept[i].key) == 0)
			*kept[i].to = arena_dup(arena, value, strlen(value));
}

static enum MHD_Result take_head(void *ctx, enum MHD_ValueKind kind, const char *key, size_t n_key,
				 const char *value, size_t n_value)
{
	struct heads *h = ctx;
	(void)kind;
	if (strlen(key) != n_key || (value && strlen(value) != n_value))
		h->is_bad = true;
	if (strcasecmp(key, "Content-Length") == 0) {
		h->length = value;
		h->lengths++;
	} else if (strcasecmp(key, "Transfer-Encoding") == 0) {
		h->transfer = value;
		h->transfers++;
	} else if (strcasecmp(key, "Host") == 0) {
		h->host = value;
		h->hosts++;
	} else if (strcasecmp(key, "Content-Encoding") == 0) {
		h->encoding = value;
		h->encodings++;
	} else if (strcasecmp(key, "Origin") == 0) {
		h->origin = value;
	} else if (strcasecmp(key, "Sec-Fetch-Site") == 0) {
		h->is_cross_site = value && strcasecmp(value, "cross-site") == 0;
	} else if (strcasecmp(key, "Sec-Fetch-Mode") == 0) {
		h->is_navigation = value && strcasecmp(value, "navigate") == 0;
	} else if (strcasecmp(key, "Authorization") == 0) {
		h->authorization = value;
		h->authorizations++;
	} else if (strcasecmp(key, "Expect") == 0) {
		h->expect = value;
	} else if (strcasecmp(key, "Accept-Encoding") == 0) {
		h->accept = value;
	} else if (strcasecmp(key, "Accept") == 0) {
		h->r->heads.takes_html = value && strstr(value, "text/html");
	}
	keep_head(&h->r->heads, &h->r->arena, key, value);
	return MHD_YES;
}

/* Refuses a request whose body length is ambiguous: a proxy in front of the server may see another
 * length, and take a part of the body for a request. */
static unsigned check_framing(struct request *r, const struct heads *h, struct err *err)
{
	bool is_chunked = h->transfer && strcasecmp(h->transfer, "chunked") == 0;
	const char *what = h->lengths > 1                ? "two Content-Length"
			   : h->lengths && h->transfers  ? "Content-Length and Transfer-Encoding"
			   : h->transfers > 1            ? "two Transfer-Encoding"
			   : h->transfers && !is_chunked ? "a Transfer-Encoding but chunked"
			   : h->hosts > 1                ? "two Host"
			   : h->encodings > 1            ? "two Content-Encoding"
			   : h->authorizations > 1       ? "two Authorization"
			   : h->is_bad                   ? "a NUL in a header"
							 : NULL;
	if (!what)
		return 0;
	counter_add(&r->server->counters.refused[REFUSED_FRAMING], 1);
	r->reply.closes = true;
	err_set(err, EINVAL, "a request with %s", what);
	return 400;
}

static bool is_origin(const char *origin, const char *host)
{
	const char *name = strstr(origin, "://");
	return name && (str_starts(origin, "http://") || str_starts(origin, "https://")) &&
	       strcasecmp(name + strlen("://"), host) == 0;
}

/* A page of another site can make a browser send requests here: through that site's name, if it
 * resolves to 127.0.0.1, or by posting a form. */
static unsigned check_site(const struct server *s, const struct heads *h, struct err *err)
{
	/* With tokens there is no need: such a page has none. */
	if (!s->opts.tokens && h->host && !listen_host_is_loopback(h->host)) {
		err_set(err, EINVAL, "host '%.100s' is not accepted", h->host);
		err_hint(err, "use 127.0.0.1, [::1] or localhost");
		return 421;
	}
	/* Browsers send Sec-Fetch-Site if there is no Origin: for graphs and scripts.
	 * Following a link is allowed. */
	if ((h->is_cross_site && !h->is_navigation) ||
	    (h->origin && (!h->host || !is_origin(h->origin, h->host)))) {
		err_set(err, EPERM, "cross-origin request refused");
		return 403;
	}
	return 0;
}

static unsigned check_rate(struct request *r, struct err *err)
{
	struct server *s = r->server;
	const union MHD_ConnectionInfo *info =
		s->mhd.get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	uint32_t wait_s = 0;
	uint64_t sender = rate_sender(info ? info->client_addr : NULL, access_user(r));
	if (rate_take(&s->rate, sender, clock_mono_ns(), &wait_s))
		return 0;
	counter_add(&s->counters.refused[REFUSED_RATE], 1);
	r->reply.retry_after_s = wait_s;
	err_set(err, EBUSY, "more than %u requests per second", s->rate.per_s);
	return 429;
}

/* --- the request line ------------------------------------------------------------------------- */

static unsigned find_route(struct request *r, const char *method, const char *path, struct err *err)
{
	const char *allow;
	if (r->has_nul) {
		err_set(err, EINVAL, "a NUL in the address");
		return 400;
	}
	r->route = route_find(method, path, &allow);
	if (r->route) {
		const char *value = route_value(r->route, path);
		char *copy = value ? arena_dup(&r->arena, value, strlen(value)) : NULL;
		if (copy)
			vec_push(&r->params, (struct param){ ROUTE_VALUE, copy });
		return 0;
	}
	r->reply.allow = allow;
	if (allow) {
		err_set(err, EINVAL, "only %s is allowed", allow);
		return 405;
	}
	err_set(err, ENOENT, "no such path: %.200s", path);
	err_hint(err, "docs/api.md lists the paths; / is the web page");
	return 404;
}

struct params {
	struct request *r;
	struct err *err;
};

static bool utf8_is_valid(const char *s, size_t n)
{
	for (size_t len; n && (len = utf8_len(s, n)); n -= len)
		s += len;
	return n == 0;
}

static int add_param(struct request *r, const char *name, const char *value, size_t n_value,
		     struct err *err)
{
	if (r->params.n == MAX_PARAMS)
		return err_set(err, EINVAL, "more than %d parameters", MAX_PARAMS);
	if (request_param(r, name) && strcmp(name, "label") != 0)
		return err_set(err, EINVAL, "parameter %.60s is given twice", name);
	if (strlen(value) != n_value || !utf8_is_valid(value, n_value))
		return err_set(err, EINVAL, "parameter %.60s is not UTF-8", name);
	int rc = route_check_param(r->route, name, err);
	if (rc == 0)
		vec_push(&r->params, (struct param){ arena_dup(&r->arena, name, strlen(name)),
						     arena_dup(&r->arena, value, n_value) });
	return rc;
}

static enum MHD_Result take_param(void *ctx, enum MHD_ValueKind kind, const char *key, size_t n_key,
				  const char *value, size_t n_value)
{
	struct params *p = ctx;
	(void)kind;
	(void)n_key;
	return add_param(p->r, key, value ? value : "", n_value, p->err) == 0 ? MHD_YES : MHD_NO;
}

static unsigned take_params(struct request *r, struct err *err)
{
	struct params p = { r, err };
	if (r->route->takes & TAKES_PAGE)
		return 0;
	r->server->mhd.get_connection_values_n(r->mhd, MHD_GET_ARGUMENT_KIND, take_param, &p);
	return err->code ? 400 : 0;
}

/* --- the body --------------------------------------------------------------------------------- */

static unsigned expect_body(struct request *r, const struct heads *h, struct err *err)
{
	uint64_t length = h->transfer ? UINT64_MAX : 0;
	if (h->length && parse_u64(h->length, &length) < 0)
		length = UINT64_MAX - 1;
	if (length && !(r->route->takes & TAKES_BODY)) {
		r->reply.closes = true;
		err_set(err, EINVAL, "unexpected request body");
		return 400;
	}
	if (h->expect && strcasecmp(h->expect, "100-continue") != 0) {
		err_set(err, EINVAL, "Expect: '%.60s' is not supported", h->expect);
		return 417;
	}
	if (h->encoding)
		r->body.encoding = arena_dup(&r->arena, h->encoding, strlen(h->encoding));
	unsigned status = length ? body_begin(r, length) : 0;
	if (status) {
		r->reply.closes = true;
		err_set(err, EFBIG,
			status == 413 ? "the body is too large"
				      : "no memory for more request bodies at the moment");
	}
	return status;
}

unsigned admit(struct request *r, const char *method, const char *path, struct err *err)
{
	struct heads h = { .r = r };
	r->server->mhd.get_connection_values_n(r->mhd, MHD_HEADER_KIND, take_head, &h);
	r->heads.takes_gzip = gzip_is_accepted(h.accept);
	unsigned status = check_framing(r, &h, err);
	if (!status)
		status = check_rate(r, err);
	if (!status)
		status = check_site(r->server, &h, err);
	if (!status)
		status = find_route(r, method, path, err);
	if (!status)
		status = access_check(r, h.authorization, err);
	if (!status)
		status = take_params(r, err);
	return status ? status : expect_body(r, &h, err);
}
