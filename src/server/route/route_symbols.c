/* HEAD and PUT /api/v1/symbols/{build_id}: symbol tables of agents that leave names to the
 * server. */
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "profile/frame.h"
#include "server/limits.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/server_state.h"
#include "server/symbols.h"
#include "server/tenant.h"
#include "symbol/symbol_table.h"

#include <errno.h>
#include <string.h>

enum { DISK_FULL_RETRY_S = 60 };

static bool find(struct request *r, uint8_t *id, size_t *len)
{
	struct err err = { 0 };
	const char *text = request_param(r, ROUTE_VALUE);

	*len = parse_hex(text, strlen(text), id, BUILD_ID_MAX);
	if (*len && r->tenant->symbols)
		return true;
	if (!*len) {
		err_set(&err, EINVAL,
			"a build id has 2 to %d hexadecimal digits (0-9a-f), an even number",
			2 * BUILD_ID_MAX);
		reply_error(r, 400, &err);
		return false;
	}
	err_set(&err, EPERM, "this server stores no symbol tables");
	reply_error(r, 403, &err);
	return false;
}

static void reply_new(struct request *r, unsigned status, bool is_new)
{
	struct buf b = { 0 };
	struct json j = json_to(&b);

	json_obj(&j);
	json_key_bool(&j, "new", is_new);
	json_end(&j);
	buf_addc(&b, '\n');
	reply_body(r, "application/json", &b);
	r->reply.status = status;
}

void handle_symbols_head(struct request *r)
{
	struct err err = { 0 };
	uint8_t id[BUILD_ID_MAX];
	size_t len;

	if (!find(r, id, &len))
		return;
	if (symbols_has(r->tenant->symbols, id, len)) {
		reply_new(r, 200, false);
		return;
	}
	err_set(&err, ENOENT, "no symbol table of this build id");
	reply_error(r, 404, &err);
}

static void refuse(struct request *r, int rc, const struct err *err)
{
	unsigned status = rc == -EEXIST ? 409 : rc == -EBADMSG ? 400 : rc == -EFBIG ? 413 : 503;

	reply_error(r, status, err);
	if (status == 503)
		r->reply.retry_after_s = DISK_FULL_RETRY_S;
}

void handle_symbols_put(struct request *r)
{
	const struct buf *b = &r->body.data;
	uint64_t bytes = symbol_table_cost(b->data, b->len);
	struct budget *budget = &r->server->bodies;
	struct err err = { 0 };
	uint8_t id[BUILD_ID_MAX];
	bool is_new;
	size_t len;

	if (!find(r, id, &len))
		return;
	if (bytes > budget->limit_bytes) {
		err_set(&err, EFBIG, "the symbol table is too large when decompressed");
		reply_error(r, 413, &err);
		return;
	}
	if (!budget_take(budget, bytes)) {
		err_set(&err, EBUSY, "no memory for more request bodies at the moment");
		reply_error(r, 503, &err);
		r->reply.retry_after_s = 1;
		return;
	}
	int rc = symbols_put(r->tenant->symbols, id, len, b->data, b->len, &is_new, &err);
	budget_give(budget, bytes);
	if (rc)
		refuse(r, rc, &err);
	else
		reply_new(r, is_new ? 201 : 200, is_new);
}
