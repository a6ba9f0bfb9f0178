/* Chooses the encoding of a response, and compresses it. */
#include "base/buf.h"
#include "base/str.h"
#include "format/common/tree_bin.h"
#include "server/http.h"
#include "server/request.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/* The second fastest level: trees come out an eighth larger than at level 6, in half the time. */
enum { LEVEL = 2, WORTH_BYTES = 1400 /* one packet */ };

/* --- what the client takes --- */

/* Reads "q=0.5" after a coding. Returns false only for a weight of 0. */
static bool has_weight(const char *params)
{
	const char *q = strcasestr(params, "q=");
	return !q || strtod(q + 2, NULL) > 0;
}

bool gzip_is_accepted(const char *accept)
{
	bool gzip = false, any = false, has_gzip = false;
	size_t n;
	char **codings = str_split(accept ? accept : "", ',', &n);
	for (size_t i = 0; i < n; i++) {
		const char *name = codings[i] + strspn(codings[i], " \t");
		size_t len = strcspn(name, " \t;");
		if (len == 4 && strncasecmp(name, "gzip", len) == 0) {
			has_gzip = true;
			gzip = has_weight(name + len);
		} else if (len == 1 && *name == '*') {
			any = has_weight(name + len);
		}
	}
	free(codings);
	return has_gzip ? gzip : any;
}

/* --- compressing --- */

static bool is_text(const char *type)
{
	return str_starts(type, "text/") || str_starts(type, "application/json") ||
	       strcmp(type, "image/svg+xml") == 0 || strcmp(type, TREE_BIN_TYPE) == 0;
}

/* Returns false if the data does not get smaller. */
static bool pack(const void *data, size_t len, struct buf *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	if (!c)
		return false;
	buf_reserve(out, len);
	out->len = libdeflate_gzip_compress(c, data, len, out->data, len);
	libdeflate_free_compressor(c);
	return out->len > 0;
}

static bool pack_fd(const struct reply *y, struct buf *out)
{
	void *data = mmap(NULL, y->bytes, PROT_READ, MAP_SHARED, y->fd, 0);
	if (data == MAP_FAILED)
		return false;
	bool is_smaller = pack(data, y->bytes, out);
	munmap(data, y->bytes);
	return is_smaller;
}

void reply_compress(struct request *r)
{
	struct reply *y = &r->reply;
	struct buf packed = { 0 };
	if (y->stream || y->encoding || !y->type || !is_text(y->type))
		return;
	y->varies = true;
	if (!r->heads.takes_gzip || y->bytes < WORTH_BYTES)
		return;
	if (!(y->fd >= 0 ? pack_fd(y, &packed) : pack(y->body.data, y->body.len, &packed))) {
		buf_done(&packed);
		return;
	}
	buf_done(&y->body);
	if (y->fd >= 0)
		close(y->fd);
	y->fd = -1;
	y->body = packed;
	y->bytes = packed.len;
	y->encoding = "gzip";
}
