/* The table of routes. */
#include "base/str.h"
#include "server/handlers.h"

#include <errno.h>
#include <string.h>

enum { AT_ONCE = TAKES_NO_WORKER, PAGE = TAKES_NO_WORKER | TAKES_ANY, JSON_BODY = 4 << 20 };
enum {
	BATCH = TAKES_BODY | TAKES_BATCH,
	OTLP = BATCH | TAKES_OTLP,
	BATCH_BODY = 64 << 20,
};

/* clang-format off: one row a line */
const struct route routes[] = {
	{ "GET", "/api/v1/types", SCOPE_READ, 0, "match", handle_types, 0 },
	{ "GET", "/api/v1/labels", SCOPE_READ, 0, "match", handle_labels, 0 },
	{ "GET", "/api/v1/values", SCOPE_READ, 0, "name match", handle_values, 0 },
	{ "GET", "/api/v1/series", SCOPE_READ, 0, "match", handle_series, 0 },
	{ "GET", "/api/v1/range", SCOPE_READ, TAKES_QUERY, "step", handle_range, 0 },
	{ "GET", "/api/v1/metrics", SCOPE_READ, TAKES_QUERY, "step reduce", handle_metric, 0 },
	{ "GET", "/api/v1/flame", SCOPE_READ, TAKES_QUERY, "fmt px title palette icicle",
	  handle_flame, 0 },
	{ "GET", "/api/v1/top", SCOPE_READ, TAKES_QUERY, "fmt n", handle_top, 0 },
	{ "GET", "/api/v1/callers", SCOPE_READ, TAKES_QUERY, "fmt f", handle_callers, 0 },
	{ "GET", "/api/v1/diff", SCOPE_READ, TAKES_FILTERS, "fmt n a afrom ato b bfrom bto norm",
	  handle_diff, 0 },
	{ "GET", "/api/v1/chart", SCOPE_READ, TAKES_QUERY, "title palette", handle_chart, 0 },
	{ "GET", "/api/v1/heatmap", SCOPE_READ, TAKES_QUERY, "fmt", handle_heatmap, 0 },
	{ "POST", "/api/v1/sql", SCOPE_READ, TAKES_BODY, "fmt width ascii", handle_sql, JSON_BODY },
	{ "POST", "/v1development/profiles", SCOPE_WRITE, OTLP, "", handle_otlp_profiles,
	  BATCH_BODY },
	{ "POST", "/v1/metrics", SCOPE_WRITE, OTLP, "", handle_otlp_metrics, BATCH_BODY },
	{ "POST", "/api/v1/profiles", SCOPE_WRITE, BATCH, "type label from to", handle_push,
	  BATCH_BODY },
	{ "GET", "/debug/ingest", SCOPE_READ, 0, "", handle_debug_ingest, 0 },
	{ "GET", "/api/v1/status", SCOPE_READ, 0, "", handle_status, 0 },
	{ "GET", "/metrics", SCOPE_READ, AT_ONCE, "", handle_metrics, 0 },
	{ "GET", "/healthz", SCOPE_NONE, AT_ONCE, "", handle_healthz, 0 },
	{ "GET", "/readyz", SCOPE_NONE, 0, "", handle_readyz, 0 },
	{ "GET", "/", SCOPE_NONE, PAGE, "", handle_page, 0 },
	{ "GET", "/page.css", SCOPE_NONE, PAGE, "", handle_page_style, 0 },
	{ "GET", "/page.js", SCOPE_NONE, PAGE, "", handle_page_script, 0 },
	{ "GET", "/favicon.ico", SCOPE_NONE, PAGE, "", handle_page_icon, 0 },
	{ NULL, NULL, SCOPE_NONE, 0, NULL, NULL, 0 },
};
/* clang-format on */
_Static_assert(sizeof routes / sizeof *routes < COUNTER_ROUTES, "each route has its counters");

#define FILTERS "focus ignore hide no_kernel no_user"

static bool is_method(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct route *route_find(const char *method, const char *path, const char **allow)
{
	*allow = NULL;
	for (const struct route *route = routes; route->path; route++) {
		if (strcmp(route->path, path) != 0)
			continue;
		if (is_method(route, method))
			return route;
		*allow = strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
	}
	return NULL;
}

/* The names that a route knows, separated by blanks. */
static void list_params(const struct route *route, struct buf *b)
{
	buf_adds(b, route->params);
	if (route->takes & TAKES_QUERY)
		buf_adds(b, " q from to by");
	if (route->takes & (TAKES_QUERY | TAKES_FILTERS))
		buf_adds(b, " " FILTERS);
}

int route_check_param(const struct route *route, const char *name, struct err *err)
{
	struct buf list = { 0 };
	size_t n;
	list_params(route, &list);
	char **known = str_split(buf_cstr(&list), ' ', &n);
	bool found = false;
	for (size_t i = 0; i < n; i++)
		found |= *known[i] && strcmp(known[i], name) == 0;
	if (!found) {
		const char *near = str_nearest(name, (const char *const *)known, n);
		err_set(err, EINVAL, "there is no parameter '%.60s' here", name);
		if (near && *near)
			err_hint(err, "did you mean '%s'?", near);
	}
	free(known);
	buf_done(&list);
	return found ? 0 : -EINVAL;
}
