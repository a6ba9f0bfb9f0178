/* The table of routes. */
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/server_state.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <string.h>

/* AT_ONCE: responds immediately, on a thread of the library, so /healthz does while all workers are
 * busy. */
/* limit JSON_BODY: a JSON body, uncompressed */
enum { AT_ONCE = TAKES_NO_WORKER, PAGE = TAKES_NO_WORKER | TAKES_PAGE, JSON_BODY = 4 << 20 };
enum {
	BATCH = TAKES_BODY | TAKES_BATCH,
	OTLP = BATCH | TAKES_OTLP,
	BATCH_BODY = 64 << 20, /* limit: a body to be added, uncompressed */
};

/* clang-format would break up the rows. */
/* clang-format off */
const struct route routes[] = {
	{ "GET", "/api/v1/types", SCOPE_READ, 0, "match", handle_types, 0 },
	{ "GET", "/api/v1/labels", SCOPE_READ, 0, "match", handle_labels, 0 },
	{ "GET", "/api/v1/values", SCOPE_READ, 0, "name match", handle_values, 0 },
	{ "GET", "/api/v1/series", SCOPE_READ, 0, "match", handle_series, 0 },
	{ "DELETE", "/api/v1/series", SCOPE_ADMIN, 0, "match", handle_delete, 0 },
	{ "GET", "/api/v1/range", SCOPE_READ, TAKES_QUERY, "step", handle_range, 0 },
	{ "GET", "/api/v1/metrics", SCOPE_READ, TAKES_QUERY, "step reduce", handle_metric, 0 },
	{ "GET", "/api/v1/flame", SCOPE_READ, TAKES_QUERY,
	  "within fmt px zoom inverted title palette icicle", handle_flame, 0 },
	{ "GET", "/api/v1/top", SCOPE_READ, TAKES_QUERY, "within fmt n", handle_top, 0 },
	{ "GET", "/api/v1/callers", SCOPE_READ, TAKES_QUERY, "within fmt f", handle_callers, 0 },
	{ "GET", "/api/v1/diff", SCOPE_READ, TAKES_FILTERS,
	  "fmt n px zoom a afrom ato b bfrom bto awithin bwithin norm", handle_diff, 0 },
	{ "GET", "/api/v1/chart", SCOPE_READ, TAKES_QUERY, "fmt px title palette", handle_chart,
	  0 },
	{ "GET", "/api/v1/heatmap", SCOPE_READ, TAKES_QUERY, "fmt", handle_heatmap, 0 },
	{ "GET", "/api/v1/lanes", SCOPE_READ, TAKES_QUERY, "px lanes", handle_lanes, 0 },
	{ "GET", "/api/v1/gpu-idle", SCOPE_READ, TAKES_FILTERS, "q from to n fmt threshold",
	  handle_gpu_idle, 0 },
	{ "GET", "/api/v1/leaks", SCOPE_READ, TAKES_QUERY, "n older", handle_leaks, 0 },
	{ "GET", "/api/v1/live", SCOPE_READ, AT_ONCE, "q", handle_live, 0 },
	{ "POST", "/api/v1/sql", SCOPE_READ, TAKES_BODY, "fmt width ascii", handle_sql, JSON_BODY },
	{ "POST", "/v1development/profiles", SCOPE_WRITE, OTLP, "", handle_otlp_profiles,
	  BATCH_BODY },
	{ "POST", "/v1/metrics", SCOPE_WRITE, OTLP, "", handle_otlp_metrics, BATCH_BODY },
	{ "POST", "/api/v1/profiles", SCOPE_WRITE, BATCH, "type label from to", handle_push,
	  BATCH_BODY },
	{ "POST", "/api/v1/open", SCOPE_READ, TAKES_BODY, "", handle_open, BATCH_BODY },
	{ "HEAD", "/api/v1/symbols/{build_id}", SCOPE_WRITE, AT_ONCE, "", handle_symbols_head, 0 },
	{ "PUT", "/api/v1/symbols/{build_id}", SCOPE_WRITE, TAKES_BODY, "", handle_symbols_put,
	  SYMBOL_TABLE_MAX_PACKED },
	{ "GET", "/debug/ingest", SCOPE_READ, 0, "", handle_debug_ingest, 0 },
	{ "GET", "/api/v1/status", SCOPE_READ, 0, "", handle_status, 0 },
	{ "GET", "/metrics", SCOPE_READ, AT_ONCE, "", handle_metrics, 0 },
	{ "GET", "/healthz", SCOPE_NONE, AT_ONCE, "", handle_healthz, 0 },
	{ "GET", "/readyz", SCOPE_NONE, 0, "", handle_readyz, 0 },
	{ "GET", "/", SCOPE_NONE, PAGE, "", handle_page, 0 },
	{ NULL, NULL, SCOPE_NONE, 0, NULL, NULL, 0 },
};
/* clang-format on */
_Static_assert(sizeof routes / sizeof *routes < COUNTER_ROUTES, "each route has its counters");

#define FILTERS "focus ignore hide no_kernel no_user strict"

static bool is_method(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const char *route_value(const struct route *route, const char *path)
{
	if (route->takes & TAKES_PAGE)
		return path;
	const char *open = strchr(route->path, '{');
	size_t fixed = open ? (size_t)(open - route->path) : 0;
	return open && strncmp(route->path, path, fixed) == 0 ? path + fixed : NULL;
}

static bool is_path(const struct route *route, const char *path)
{
	if (route->takes & TAKES_PAGE)
		return page_has(path);
	const char *value = route_value(route, path);
	return value ? *value && !strchr(value, '/') : strcmp(route->path, path) == 0;
}

const struct route *route_find(const char *method, const char *path, const char **allow)
{
	*allow = NULL;
	for (const struct route *route = routes; route->path; route++) {
		if (!is_path(route, path))
			continue;
		if (is_method(route, method))
			return route;
		if (strchr(route->path, '{'))
			*allow = "HEAD, PUT";
		else if (strcmp(route->method, "GET") == 0)
			*allow = "GET, HEAD";
		else /* DELETE is for series only */
			*allow = *allow ? "GET, HEAD, DELETE" : route->method;
	}
	return NULL;
}

int route_check_param(const struct route *route, const char *name, struct err *err)
{
	struct buf list = { 0 };
	size_t n;
	/* list: the names of the route's parameters, separated by blanks. */
	buf_adds(&list, route->params);
	if (route->takes & TAKES_QUERY)
		buf_adds(&list, " q from to by");
	if (route->takes & (TAKES_QUERY | TAKES_FILTERS))
		buf_adds(&list, " " FILTERS);
	char **known = str_split(buf_cstr(&list), ' ', &n);
	bool found = false;
	for (size_t i = 0; i < n; i++)
		found |= *known[i] && strcmp(known[i], name) == 0;
	if (!found) {
		const char *near = str_nearest(name, (const char *const *)known, n);
		err_set(err, EINVAL, "unknown parameter '%.60s'", name);
		if (near && *near)
			err_hint(err, "did you mean '%s'?", near);
	}
	free(known);
	buf_done(&list);
	return found ? 0 : -EINVAL;
}
