/* Reads request bodies into memory, within a budget that all requests share. */
#include "base/buf.h"
#include "base/err.h"
#include "base/unpack.h"
#include "format/otlp/otlp_pack.h"
#include "server/limits.h"
#include "server/request.h"
#include "server/server_state.h"

#include <errno.h>
#include <string.h>

enum { SPARE_BYTES = 1 << 20, PIECE = SERVER_PIECE };

static uint64_t max_body(const struct request *r)
{
	uint64_t all = r->server->bodies.limit_bytes;
	return r->route->max_body < all ? r->route->max_body : all;
}

/* Raises the request's reservation to bytes. Returns false if the budget has no space. */
static bool reserve(struct request *r, uint64_t bytes)
{
	struct body *b = &r->body;
	if (bytes <= b->reserved_bytes)
		return true;
	if (!budget_take(&r->server->bodies, bytes - b->reserved_bytes))
		return false;
	b->reserved_bytes = bytes;
	return true;
}

static unsigned refuse(struct request *r, unsigned status)
{
	if (status == 503)
		counter_add(&r->server->counters.refused[REFUSED_BODIES], 1);
	if (status == 413)
		counter_add(&r->server->counters.refused[REFUSED_SIZE], 1);
	return r->body.failed = status;
}

unsigned body_begin(struct request *r, uint64_t length)
{
	if (length == UINT64_MAX)
		return 0;
	if (length > max_body(r))
		return refuse(r, 413);
	return reserve(r, length) ? 0 : refuse(r, 503);
}

void body_add(struct request *r, const void *data, size_t len)
{
	struct body *b = &r->body;
	b->received_bytes += len;
	counter_add(&r->server->counters.body_bytes, len);
	if (b->failed)
		return;
	if (b->data.len + len > max_body(r))
		refuse(r, 413);
	else if (!reserve(r, (b->data.len + len + PIECE - 1) / PIECE * PIECE) &&
		 !reserve(r, b->data.len + len))
		refuse(r, 503);
	else
		buf_add(&b->data, data, len);
}

bool body_is_abandoned(const struct request *r)
{
	return r->body.failed && r->body.received_bytes > max_body(r) + SPARE_BYTES;
}

/* 503 if enough memory becomes free once other requests end, so that a retry can succeed; 413 if
 * bytes is above the whole budget. */
static unsigned no_room(struct request *r, uint64_t bytes, struct err *err)
{
	uint64_t all = r->server->bodies.limit_bytes;
	if (bytes <= all)
		return refuse(r, 503);
	err_set(err, EFBIG, "decompressing the body takes more than %llu bytes of memory",
		(unsigned long long)all);
	return refuse(r, 413);
}

/* The size of the first output buffer. If a zstd frame states its content size, that size and one
 * byte, so that zstd decompresses straight into the buffer. */
static uint64_t first_piece(const struct request *r, enum unpack_kind kind)
{
	const struct buf *data = &r->body.data;
	uint64_t said =
		kind == UNPACK_ZSTD ? otlp_unpacked_bytes(data->data, data->len) : UINT64_MAX;
	return said >= PIECE && said <= max_body(r) ? said + 1 : PIECE;
}

/* Appends decompressed data until the end or the limit. */
static unsigned unpack_all(struct request *r, struct unpack *u, uint64_t piece, struct buf *out,
			   struct err *err)
{
	struct cur in = cur_of(r->body.data.data, r->body.data.len);
	uint64_t packed = r->body.data.len;
	for (;; piece = PIECE) {
		size_t got;
		if (!reserve(r, packed + out->len + piece))
			return no_room(r, packed + out->len + piece, err);
		buf_reserve(out, piece);
		int rc = unpack_step(u, &in, true, out->data + out->len, piece, &got, err);
		if (rc < 0)
			return rc == -E2BIG ? refuse(r, 413) : 400;
		out->len += got;
		if (out->len > max_body(r)) {
			err_set(err, EFBIG, "the body is larger than %llu bytes when decompressed",
				(unsigned long long)max_body(r));
			return refuse(r, 413);
		}
		if (rc == 0)
			return 0;
	}
}

static unsigned unpack_as(struct request *r, enum unpack_kind kind, bool keep, struct err *err)
{
	struct buf plain = { 0 };
	struct unpack *u = unpack_new(kind);
	unpack_limit_window(u, UNPACK_HTTP_WINDOW_LOG);
	unsigned status = unpack_all(r, u, first_piece(r, kind), &plain, err);
	unpack_free(u);
	if (status) {
		buf_done(&plain);
		return status;
	}
	if (keep)
		r->body.packed = r->body.data;
	else
		buf_done(&r->body.data);
	r->body.data = plain;
	return 0;
}

static unsigned unpack_body(struct request *r, struct err *err)
{
	enum unpack_kind kind = strcasecmp(r->body.encoding, "gzip") == 0   ? UNPACK_GZIP
				: strcasecmp(r->body.encoding, "zstd") == 0 ? UNPACK_ZSTD
									    : UNPACK_NONE;
	if (kind == UNPACK_NONE) {
		err_set(err, EINVAL, "unsupported Content-Encoding '%s'", r->body.encoding);
		err_hint(err, "supported: gzip and zstd");
		return 415;
	}
	bool keep = kind == UNPACK_ZSTD && r->route->takes & TAKES_BATCH && r->heads.agent;
	return unpack_as(r, kind, keep, err);
}

int body_unpack_inside(struct request *r, struct err *err)
{
	enum unpack_kind kind = unpack_detect(r->body.data.data, r->body.data.len);
	unsigned status = kind == UNPACK_NONE ? 0 : unpack_as(r, kind, false, err);
	if (status == 503)
		err_set(err, EBUSY, "no memory for more request bodies at the moment");
	return !status ? 0 : status == 503 ? -EBUSY : status == 413 ? -EFBIG : -EINVAL;
}

/* Whether the body is a batch compressed against an earlier one, which is not known here. */
static bool is_against(const struct request *r)
{
	return r->route->takes & TAKES_BATCH && r->heads.base;
}

static unsigned unpack_with(struct request *r, struct otlp_bytes key, uint64_t max, struct buf *out,
			    struct err *err)
{
	struct otlp_bytes packed = { r->body.data.data, r->body.data.len };
	int rc = otlp_unpack(packed, key, max, out, err);
	return rc == 0 ? 0 : rc == -EFBIG ? 413 : 400;
}

unsigned body_unpack_against(struct request *r, const struct buf *key, struct err *err)
{
	const struct buf *data = &r->body.data;
	struct buf plain_key = { 0 }, plain = { 0 };
	uint64_t max = max_body(r), sizes[2] = { otlp_unpacked_bytes(key->data, key->len),
						 otlp_unpacked_bytes(data->data, data->len) };
	if (sizes[0] > max || sizes[1] > max) {
		err_set(err, EFBIG, "the body is larger than %llu bytes when decompressed",
			(unsigned long long)max);
		return refuse(r, 413);
	}
	uint64_t room = data->len + key->len + sizes[0] + sizes[1];
	if (room > r->server->bodies.limit_bytes) {
		err_set(err, EFBIG, "no memory to decompress it against its base batch");
		return 412;
	}
	if (!reserve(r, room)) {
		err_set(err, EBUSY, "no memory for more request bodies at the moment");
		return refuse(r, 503);
	}
	int rc = otlp_unpack((struct otlp_bytes){ key->data, key->len }, (struct otlp_bytes){ 0 },
			     max, &plain_key, err);
	unsigned status =
		rc < 0 ? 412
		       : unpack_with(r, (struct otlp_bytes){ plain_key.data, plain_key.len }, max,
				     &plain, err);
	buf_done(&plain_key);
	if (status) {
		buf_done(&plain);
		return status;
	}
	buf_done(&r->body.data);
	r->body.data = plain;
	return 0;
}

unsigned body_end(struct request *r, struct err *err)
{
	unsigned status = r->body.failed;
	if (!status && r->body.encoding && strcasecmp(r->body.encoding, "identity") != 0 &&
	    !is_against(r))
		status = unpack_body(r, err);
	if (status == 503)
		err_set(err, EBUSY, "no memory for more request bodies at the moment");
	else if (status == 413 && !err->code)
		err_set(err, EFBIG, "the body is larger than %llu bytes",
			(unsigned long long)max_body(r));
	return status;
}

void body_done(struct request *r)
{
	buf_done(&r->body.data);
	buf_done(&r->body.packed);
	budget_give(&r->server->bodies, r->body.reserved_bytes);
	r->body.reserved_bytes = 0;
}
