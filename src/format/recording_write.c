#include "base/mem.h"
#include "base/pb.h"
#include "format/recording.h"
#include "profile/chunk_write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { COMMIT_EVERY = 4 << 20 }; /* bytes written; bounds what a reader holds back */

struct recorder {
	struct out own;  /* of recorder_open */
	struct out *out; /* own, or the caller's */
	struct chunk_writer *chunks;
	uint64_t since_commit; /* bytes */
};

static void put_le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> (8 * i));
}

static int put_chunk(struct recorder *r, enum chunk_type type, uint32_t flags, const void *payload,
		     size_t len, struct err *err)
{
	struct buf header = { 0 };

	put_le(&header, type, 4);
	put_le(&header, flags, 4);
	put_le(&header, len, 8);
	put_le(&header, chunk_checksum(type, flags, payload, len), 8);
	int rc = out_write(r->out, header.data, header.len, err);
	if (rc == 0)
		rc = out_write(r->out, payload, len, err);
	r->since_commit += header.len + len;
	buf_done(&header);
	return rc;
}

static int mark_commit(struct recorder *r, struct err *err)
{
	struct buf samples = { 0 };

	pb_put_varint(&samples, chunk_writer_samples(r->chunks));
	int rc = put_chunk(r, CHUNK_COMMIT, 0, samples.data, samples.len, err);
	r->since_commit = 0;
	buf_done(&samples);
	return rc;
}

static int take_chunk(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		      size_t len, struct err *err)
{
	struct recorder *r = ctx;
	int rc = put_chunk(r, type, flags, payload, len, err);

	return rc || r->since_commit < COMMIT_EVERY ? rc : mark_commit(r, err);
}

static int put_header(struct recorder *r, struct err *err)
{
	struct buf header = { 0 };
	buf_add(&header, RECORDING_MAGIC, sizeof RECORDING_MAGIC);
	put_le(&header, RECORDING_VERSION, 4);
	put_le(&header, sizeof RECORDING_MAGIC + 8, 4);
	int rc = out_write(r->out, header.data, header.len, err);
	buf_done(&header);
	return rc;
}

static void recorder_free(struct recorder *r)
{
	chunk_writer_free(r->chunks);
	free(r);
}

/* out: NULL: its own. */
static struct recorder *recorder_new(struct out *out)
{
	struct recorder *r = xcalloc(1, sizeof *r);

	r->out = out ? out : &r->own;
	r->chunks = chunk_writer_new();
	return r;
}

int recorder_open(const char *path, struct recorder **out, struct err *err)
{
	struct recorder *r = recorder_new(NULL);

	int rc = out_open(&r->own, path, err);
	if (rc == 0)
		rc = put_header(r, err);
	if (rc) {
		recorder_abort(r);
		return rc;
	}
	*out = r;
	return 0;
}

int recorder_commit(struct recorder *r, const struct profile *p, struct err *err)
{
	const struct chunk_out out = { take_chunk, r };
	int rc = chunk_write(r->chunks, p, CHUNK_ALL, &out, err);

	if (rc == 0 && r->since_commit)
		rc = mark_commit(r, err);
	return rc ? rc : out_flush(r->out, err);
}

int recorder_finish(struct recorder *r, const struct profile *p, struct err *err)
{
	int rc = recorder_commit(r, p, err);
	if (rc == 0 && fsync(r->own.fd) != 0 && errno != EINVAL && errno != EROFS)
		rc = err_set(err, errno, "cannot write %s to the disk: %s", r->own.path,
			     strerror(errno));
	if (rc == 0)
		rc = out_commit(&r->own, err);
	recorder_abort(r);
	return rc;
}

void recorder_abort(struct recorder *r)
{
	if (!r)
		return;
	out_abort(&r->own);
	recorder_free(r);
}

int recording_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err)
{
	struct recorder *r = recorder_new(out);

	(void)opts;
	int rc = put_header(r, err);
	if (rc == 0)
		rc = recorder_commit(r, p, err);
	recorder_free(r);
	return rc;
}
