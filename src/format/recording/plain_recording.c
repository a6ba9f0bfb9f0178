/* Reads recordings of the earlier form, a stream of chunks. */
#include "format/recording/cresset.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk.h"
#include "profile/chunk_read.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct chunk {
	uint32_t type, flags;
	uint64_t length, checksum;
	char *payload; /* as stored */
};

/* Why reading chunks ended. */
enum chunk_status { CHUNK_GOOD, CHUNK_NONE, CHUNK_CUT, CHUNK_DAMAGED, CHUNK_NEWER };

struct plain_reader {
	struct input *in;
	struct chunk_reader tables;
	VEC(struct chunk) pending; /* since the last commit */
	uint64_t pending_bytes, unpacked_bytes;
	struct buf raw;
	bool any_commit;
	uint64_t left_out; /* chunks */
};

/* Reads n bytes. Returns 1, 0 if the input ends before, or -errno. */
static int read_full(struct input *in, void *data, size_t n, size_t *got, struct err *err)
{
	*got = 0;
	while (*got < n) {
		long some = input_read(in, (char *)data + *got, n - *got, err);
		if (some <= 0)
			return some;
		*got += some;
	}
	return 1;
}

static int read_header(struct input *in, struct err *err)
{
	char bytes[sizeof PLAIN_RECORDING_MAGIC + 8];
	size_t got;
	int rc = read_full(in, bytes, sizeof bytes, &got, err);
	if (rc < 0)
		return rc;
	if (rc == 0 || memcmp(bytes, PLAIN_RECORDING_MAGIC, sizeof PLAIN_RECORDING_MAGIC) != 0)
		return err_set(err, EBADMSG, "%s is not a Cresset recording", input_name(in));
	struct cur c = cur_of(bytes + sizeof PLAIN_RECORDING_MAGIC, 8);
	uint32_t version = cur_u32(&c), header_bytes = cur_u32(&c);
	if (version > PLAIN_RECORDING_VERSION) {
		err_set(err, EBADMSG, "%s was written by a newer cresset (format version %u)",
			input_name(in), version);
		return err_hint(err, "this one reads up to version %d", PLAIN_RECORDING_VERSION);
	}
	if (version == 0 || header_bytes != sizeof bytes)
		return err_set(err, EBADMSG, "%s: the header is damaged", input_name(in));
	return 0;
}

/* Reads the next chunk into *out. The caller then owns its payload. */
static int read_chunk(struct input *in, struct chunk *out, enum chunk_status *status,
		      struct err *err)
{
	char bytes[24];
	size_t got;
	int rc = read_full(in, bytes, sizeof bytes, &got, err);
	*status = got == 0 ? CHUNK_NONE : CHUNK_CUT;
	if (rc <= 0)
		return rc;
	struct cur c = cur_of(bytes, sizeof bytes);
	*out = (struct chunk){ .type = cur_u32(&c) };
	out->flags = cur_u32(&c);
	out->length = cur_u64(&c);
	out->checksum = cur_u64(&c);
	*status = CHUNK_DAMAGED;
	if (out->length > CHUNK_MAX_BYTES)
		return 0;
	out->payload = xmalloc(out->length + 1);
	rc = read_full(in, out->payload, out->length, &got, err);
	if (rc <= 0)
		*status = CHUNK_CUT;
	else if (chunk_checksum(out->type, out->flags, out->payload, out->length) == out->checksum)
		*status = CHUNK_GOOD;
	if (*status == CHUNK_GOOD)
		return 0;
	free(out->payload);
	return rc < 0 ? rc : 0;
}

/* Decompresses a chunk. Returns false if it is invalid. */
static bool unpack_chunk(struct plain_reader *r, const struct chunk *chunk, struct cur *out)
{
	if (!chunk_unpack(chunk->flags, chunk->payload, chunk->length, &r->raw, out))
		return false;
	r->unpacked_bytes += cur_left(out);
	return r->unpacked_bytes <= PLAIN_RECORDING_MAX_BYTES;
}

static void drop_pending(struct plain_reader *r)
{
	for (size_t i = 0; i < r->pending.n; i++)
		free(r->pending.v[i].payload);
	vec_clear(&r->pending);
	r->pending_bytes = 0;
}

/* Applies the chunks before a commit. Chunks after a damaged one are dropped. */
static enum chunk_status apply_pending(struct plain_reader *r)
{
	enum chunk_status status = CHUNK_GOOD;
	for (size_t i = 0; i < r->pending.n; i++) {
		const struct chunk *chunk = &r->pending.v[i];
		struct cur payload;
		if (status == CHUNK_GOOD && (!unpack_chunk(r, chunk, &payload) ||
					     !chunk_apply(&r->tables, chunk->type, payload)))
			status = CHUNK_DAMAGED;
		r->left_out += status != CHUNK_GOOD;
	}
	drop_pending(r);
	r->any_commit = true;
	return status;
}

static bool is_known(const struct chunk *chunk)
{
	return chunk->type >= CHUNK_STRINGS && chunk->type < CHUNK_TYPES_END &&
	       !(chunk->flags & ~(CHUNK_ZSTD | CHUNK_OPTIONAL));
}

/* Takes ownership of a good chunk. */
static enum chunk_status take_chunk(struct plain_reader *r, struct chunk *chunk)
{
	if (is_known(chunk) && chunk->type != CHUNK_COMMIT) {
		vec_push(&r->pending, *chunk);
		r->pending_bytes += chunk->length + sizeof *chunk;
		return r->pending_bytes > PLAIN_RECORDING_MAX_PENDING ? CHUNK_DAMAGED : CHUNK_GOOD;
	}
	free(chunk->payload);
	if (is_known(chunk))
		return apply_pending(r);
	return chunk->flags & CHUNK_OPTIONAL ? CHUNK_GOOD : CHUNK_NEWER;
}

/* Counts the remaining chunks by their heads. */
static int count_rest(struct plain_reader *r, struct err *err)
{
	enum chunk_status status = CHUNK_GOOD;
	int rc = 0;
	while (rc == 0 && (status == CHUNK_GOOD)) {
		struct chunk chunk;
		rc = read_chunk(r->in, &chunk, &status, err);
		if (rc == 0 && status == CHUNK_GOOD)
			free(chunk.payload);
		r->left_out += status != CHUNK_NONE;
	}
	return rc;
}

static int read_chunks(struct plain_reader *r, struct err *err)
{
	enum chunk_status status = CHUNK_GOOD;
	int rc = 0;
	while (rc == 0 && status == CHUNK_GOOD) {
		struct chunk chunk = { 0 };
		rc = read_chunk(r->in, &chunk, &status, err);
		if (rc == 0 && status == CHUNK_GOOD)
			status = take_chunk(r, &chunk);
		else if (rc == 0)
			r->left_out += status != CHUNK_NONE;
	}
	if (rc == 0 && status != CHUNK_NONE && status != CHUNK_CUT)
		rc = count_rest(r, err);
	r->left_out += r->pending.n;
	if (rc)
		return rc;
	if (status == CHUNK_NEWER)
		return err_set(err, EBADMSG, "%s holds data of a newer cresset", input_name(r->in));
	if (!r->any_commit)
		return err_set(err, EBADMSG, "%s ends before its first commit: nothing to read",
			       input_name(r->in));
	return 0;
}

bool plain_recording_detect(const char *head, size_t len)
{
	return len >= sizeof PLAIN_RECORDING_MAGIC &&
	       memcmp(head, PLAIN_RECORDING_MAGIC, sizeof PLAIN_RECORDING_MAGIC) == 0;
}

int plain_recording_read(struct input *in, struct sink *sink, struct err *err)
{
	int rc = read_header(in, err);
	if (rc)
		return rc;
	struct plain_reader r = { .in = in };
	chunk_reader_init(&r.tables, sink);
	rc = read_chunks(&r, err);
	if (rc == 0)
		chunk_reader_end(&r.tables);
	if (rc == 0 && r.left_out)
		sink->ops->loss(sink, LOSS_INPUT_SKIPPED, r.left_out);
	drop_pending(&r);
	vec_done(&r.pending);
	buf_done(&r.raw);
	chunk_reader_done(&r.tables);
	return rc;
}
