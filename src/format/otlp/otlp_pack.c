/* Compresses with zstd against the previous message. */
#include "format/otlp/otlp_pack.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/unpack.h"

#include <errno.h>
#include <zstd.h>

/* Indexes 2^17 positions of the key, half a MB. Indexing all of them makes a delta 5 % smaller but
 * takes four times as long. */
enum { PACK_MAX_WINDOW_LOG = 26, PACK_MIN_WINDOW_LOG = 10, PACK_HASH_LOG = 17 };

static size_t compress(ZSTD_CCtx *z, struct otlp_bytes message, struct otlp_bytes key,
		       struct buf *out)
{
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, OTLP_PACK_LEVEL);
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	if (key.data) {
		/* The window covers the key and the message. */
		int log = PACK_MIN_WINDOW_LOG;
		while (log < PACK_MAX_WINDOW_LOG && (size_t)1 << log < message.len + key.len)
			log++;
		ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, log);
		ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, PACK_HASH_LOG);
		ZSTD_CCtx_refPrefix(z, key.data, key.len);
	}
	buf_reserve(out, ZSTD_compressBound(message.len));
	return ZSTD_compress2(z, out->data + out->len, out->cap - out->len, message.data,
			      message.len);
}

int otlp_pack(struct otlp_bytes message, struct otlp_bytes key, struct buf *out, struct err *err)
{
	if (message.len + key.len > (size_t)1 << PACK_MAX_WINDOW_LOG)
		return err_set(err, E2BIG, "a batch of %zu bytes with a key of %zu is too large",
			       message.len, key.len);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	if (!z)
		return err_set(err, ENOMEM, "cannot compress");
	size_t n = compress(z, message, key, out);
	ZSTD_freeCCtx(z);
	if (ZSTD_isError(n))
		return err_set(err, EIO, "cannot compress: %s", ZSTD_getErrorName(n));
	out->len += n;
	return 0;
}

size_t otlp_unpacked_bytes(const void *packed, size_t len)
{
	unsigned long long said = ZSTD_getFrameContentSize(packed, len);
	return said == ZSTD_CONTENTSIZE_ERROR || said == ZSTD_CONTENTSIZE_UNKNOWN ? SIZE_MAX : said;
}

int otlp_unpack(struct otlp_bytes packed, struct otlp_bytes key, size_t max, struct buf *out,
		struct err *err)
{
	size_t want = otlp_unpacked_bytes(packed.data, packed.len); /* trusted only up to max */
	if (want == SIZE_MAX)
		return err_set(err, EBADMSG, "the batch is not a zstd frame with a content size");
	if (want > max)
		return err_set(err, EFBIG, "the batch is more than %zu bytes", max);
	ZSTD_DCtx *z = ZSTD_createDCtx();
	if (!z)
		return err_set(err, ENOMEM, "cannot decompress");
	buf_reserve(out, want + 1);
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, UNPACK_MAX_WINDOW_LOG);
	if (key.data)
		ZSTD_DCtx_refPrefix(z, key.data, key.len);
	size_t n = ZSTD_decompressDCtx(z, out->data + out->len, want, packed.data, packed.len);
	ZSTD_freeDCtx(z);
	if (ZSTD_isError(n))
		return err_set(err, EBADMSG, "the batch is damaged: %s", ZSTD_getErrorName(n));
	out->len += n;
	return 0;
}
