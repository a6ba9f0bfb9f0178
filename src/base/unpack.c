/* One decoder per format behind one interface. */
#include "base/unpack.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Result of one decoder call, which advances in->p and *got. */
enum unpack_status { UNPACK_GOES_ON, UNPACK_PART_ENDS, UNPACK_DAMAGED, UNPACK_TOO_LARGE };

struct unpack {
	enum unpack_kind kind;
	bool inside; /* inside a member, frame or stream: the data must not end here */
	bool any;    /* at least one member, frame or stream was complete */
	union {
		z_stream gzip;
		ZSTD_DStream *zstd;
		lzma_stream xz;
	};
};

enum unpack_kind unpack_detect(const void *data, size_t len)
{
	if (len >= 3 && memcmp(data, "\x1f\x8b\x08", 3) == 0)
		return UNPACK_GZIP;
	if (len >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0)
		return UNPACK_ZSTD;
	if (len >= 6 && memcmp(data,
			       "\xfd"
			       "7zXZ\0",
			       6) == 0)
		return UNPACK_XZ;
	return UNPACK_NONE;
}

static const char *unpack_name(const struct unpack *u)
{
	return u->kind == UNPACK_GZIP ? "gzip" : u->kind == UNPACK_ZSTD ? "zstd" : "xz";
}

struct unpack *unpack_new(enum unpack_kind kind)
{
	struct unpack *u = xcalloc(1, sizeof *u);
	u->kind = kind;
	switch (kind) {
	case UNPACK_GZIP:
		if (inflateInit2(&u->gzip, MAX_WBITS + 16) != Z_OK)
			mem_exhausted();
		break;
	case UNPACK_ZSTD:
		u->zstd = ZSTD_createDStream();
		if (!u->zstd)
			mem_exhausted();
		ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, UNPACK_MAX_WINDOW_LOG);
		break;
	default:
		u->xz = (lzma_stream)LZMA_STREAM_INIT;
	}
	return u;
}

void unpack_limit_window(struct unpack *u, int log)
{
	if (u->kind == UNPACK_ZSTD)
		ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, log);
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	if (u->kind == UNPACK_GZIP)
		inflateEnd(&u->gzip);
	else if (u->kind == UNPACK_ZSTD)
		ZSTD_freeDStream(u->zstd);
	else
		lzma_end(&u->xz);
	free(u);
}

/* zlib counts in 32 bits: larger data are passed in pieces. */
static uInt gzip_piece(size_t n)
{
	return n < UINT_MAX ? n : UINT_MAX;
}

static enum unpack_status unpack_gzip(z_stream *z, struct cur *in, void *out, size_t size,
				      size_t *got)
{
	z->next_in = (void *)in->p;
	z->avail_in = gzip_piece(cur_left(in));
	z->next_out = out;
	z->avail_out = gzip_piece(size);
	int rc = inflate(z, Z_NO_FLUSH);
	in->p = z->next_in;
	*got = z->next_out - (Bytef *)out;
	switch (rc) {
	case Z_OK:
	case Z_BUF_ERROR:
		return UNPACK_GOES_ON;
	case Z_STREAM_END:
		return UNPACK_PART_ENDS;
	case Z_MEM_ERROR:
		return UNPACK_TOO_LARGE;
	}
	return UNPACK_DAMAGED;
}

static enum unpack_status unpack_zstd(ZSTD_DStream *z, struct cur *in, void *out, size_t size,
				      size_t *got)
{
	ZSTD_inBuffer from = { in->p, cur_left(in), 0 };
	ZSTD_outBuffer to = { out, size, 0 };
	size_t rc = ZSTD_decompressStream(z, &to, &from);
	in->p += from.pos;
	*got = to.pos;
	if (rc == 0)
		return UNPACK_PART_ENDS;
	if (!ZSTD_isError(rc))
		return UNPACK_GOES_ON;
	ZSTD_ErrorCode code = ZSTD_getErrorCode(rc);
	return code == ZSTD_error_frameParameter_windowTooLarge ||
			       code == ZSTD_error_memory_allocation
		       ? UNPACK_TOO_LARGE
		       : UNPACK_DAMAGED;
}

static enum unpack_status unpack_xz(lzma_stream *z, struct cur *in, void *out, size_t size,
				    size_t *got)
{
	z->next_in = in->p;
	z->avail_in = cur_left(in);
	z->next_out = out;
	z->avail_out = size;
	lzma_ret rc = lzma_code(z, LZMA_RUN);
	in->p = z->next_in;
	*got = size - z->avail_out;
	switch (rc) {
	case LZMA_OK:
	case LZMA_BUF_ERROR:
		return UNPACK_GOES_ON;
	case LZMA_STREAM_END:
		return UNPACK_PART_ENDS;
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR:
		return UNPACK_TOO_LARGE;
	default:
		return UNPACK_DAMAGED;
	}
}

static enum unpack_status unpack_some(struct unpack *u, struct cur *in, void *out, size_t size,
				      size_t *got)
{
	switch (u->kind) {
	case UNPACK_GZIP:
		return unpack_gzip(&u->gzip, in, out, size, got);
	case UNPACK_ZSTD:
		return unpack_zstd(u->zstd, in, out, size, got);
	default:
		return unpack_xz(&u->xz, in, out, size, got);
	}
}

static void unpack_begin_part(struct unpack *u)
{
	if (u->kind == UNPACK_GZIP)
		inflateReset(&u->gzip);
	else if (u->kind == UNPACK_ZSTD)
		ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
	else if (lzma_stream_decoder(&u->xz, UNPACK_MAX_WINDOW_BYTES, 0) != LZMA_OK)
		mem_exhausted();
	u->inside = true;
}

/* Zeros may follow a part: tapes and xz use them as padding. */
static void unpack_skip_padding(struct cur *in)
{
	while (in->p < in->end && *in->p == 0)
		in->p++;
}

static int unpack_cut(const struct unpack *u, struct err *err)
{
	return err_set(err, EBADMSG, "the %s data ends too early", unpack_name(u));
}

int unpack_step(struct unpack *u, struct cur *in, bool last, void *out, size_t size, size_t *got,
		struct err *err)
{
	*got = 0;
	while (*got < size) {
		if (!u->inside) {
			if (u->any)
				unpack_skip_padding(in);
			if (cur_left(in) == 0 && last)
				return u->any ? 0 : unpack_cut(u, err);
			if (cur_left(in) == 0)
				return 1;
			unpack_begin_part(u);
		}
		size_t left = cur_left(in), n;
		enum unpack_status status = unpack_some(u, in, (char *)out + *got, size - *got, &n);
		*got += n;
		if (status == UNPACK_DAMAGED)
			return err_set(err, EBADMSG, "damaged %s data", unpack_name(u));
		if (status == UNPACK_TOO_LARGE)
			return err_set(err, E2BIG,
				       "decompressing the %s data needs more than %d MiB",
				       unpack_name(u), UNPACK_MAX_WINDOW_BYTES >> 20);
		if (status == UNPACK_PART_ENDS) {
			u->inside = false;
			u->any = true;
		} else if (n == 0 && cur_left(in) == left) {
			if (left)
				return err_set(err, EBADMSG, "damaged %s data", unpack_name(u));
			return last ? unpack_cut(u, err) : 1;
		}
	}
	return 1;
}
