#include "agent/keeper.h"

#include "agent/batch.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Names of one file after the other go into the store together, but not later than that. */
#define NAMES_LATEST_NS 2000000000ull
/* A disk that was full is tried again. */
#define AGAIN_NS        5000000000ull

static void end_dictionary(struct keeper *k)
{
	if (!k->dict)
		return;
	chunk_reader_done(&k->reader);
	profile_free(k->dict);
	k->dict = NULL;
	k->has_begun = false;
	k->has_names = false;
	k->is_full = false;
	k->asked = MAPPING_NONE;
	naming_begin(&k->naming);
}

void keeper_init(struct keeper *k, struct store *store, const struct name_files_opts *files)
{
	*k = (struct keeper){ .store = store, .stream.fd = -1, .asked = MAPPING_NONE };
	naming_init(&k->naming, files);
}

void keeper_done(struct keeper *k)
{
	end_dictionary(k);
	stream_close(&k->stream);
	buf_done(&k->unpacked);
	naming_done(&k->naming);
}

void keeper_connect(struct keeper *k, int fd)
{
	end_dictionary(k);
	stream_close(&k->stream);
	stream_open(&k->stream, fd, WIRE_MAX_TO_STORE);
}

/* --- names ------------------------------------------------------------------------------------ */

static int store_names(struct keeper *k, struct err *err)
{
	if (!k->has_names)
		return 0;
	k->has_names = false;
	return store_add_names(k->store, k->dict, err);
}

static void note_names(struct keeper *k)
{
	if (!k->has_names)
		k->names_due_ns = clock_mono_ns() + NAMES_LATEST_NS;
	k->has_names = true;
}

static void send_done(struct keeper *k, uint32_t type)
{
	const struct wire_done done = { k->sequence };

	stream_put(&k->stream, type, &done, sizeof done, -1);
}

/* Asks for the next file; when there is none left, everything is named. */
static int name_next(struct keeper *k, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();
	uint32_t mapping = naming_next(&k->naming, k->is_last ? UINT64_MAX : now_ns);
	const struct wire_want want = { .generation = k->begin.generation, .mapping = mapping };
	int rc = 0;

	if (k->asked != MAPPING_NONE)
		return 0;
	if (mapping == MAPPING_NONE || now_ns >= k->names_due_ns)
		rc = store_names(k, err);
	if (rc)
		return rc;
	if (mapping == MAPPING_NONE) {
		send_done(k, WIRE_IDLE);
		return 0;
	}
	k->asked = mapping;
	return stream_put(&k->stream, WIRE_WANT, &want, sizeof want, -1);
}

static int take_file(struct keeper *k, const struct wire_file *f, int fd, struct err *err)
{
	if (!k->has_begun || f->generation != k->begin.generation || f->mapping != k->asked)
		return 0; /* of the dictionary before */
	k->asked = MAPPING_NONE;
	if (naming_file(&k->naming, k->dict, f->mapping, fd))
		note_names(k);
	return name_next(k, err);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void begin(struct keeper *k, const struct wire_begin *b)
{
	end_dictionary(k);
	k->begin = *b;
	k->has_begun = true;
	k->dict = profile_new();
	chunk_reader_init(&k->reader, profile_sink(k->dict));
}

static bool is_expected(uint32_t type)
{
	const uint32_t types = CHUNK_DICTIONARY | CHUNK_CATALOG | 1 << CHUNK_FUNCTIONS |
			       1 << CHUNK_NAMES | 1 << CHUNK_SAMPLES | 1 << CHUNK_SPANS;

	return type < CHUNK_TYPES_END && types & 1u << type;
}

static int take_chunk(struct keeper *k, const struct wire_chunk *c, const void *payload, size_t len,
		      struct err *err)
{
	struct cur cur;

	if (!k->has_begun || !is_expected(c->type) ||
	    !chunk_unpack(c->flags, payload, len, &k->unpacked, &cur) ||
	    !chunk_apply(&k->reader, c->type, cur))
		return err_set(err, EPROTO, "the collector sent what is no chunk");
	if (c->type == CHUNK_NAMES)
		note_names(k);
	return 0;
}

static int ingest(struct keeper *k, const struct wire_batch *b, struct err *err)
{
	struct profile *p = batch_of(k->dict);
	const struct store_batch batch = { .p = p,
					   .sender = k->begin.sender,
					   .sequence = b->sequence };
	bool duplicate = false;

	p->meta.start_mono_ns = b->start_mono_ns;
	p->meta.start_wall_ns = b->start_wall_ns;
	p->meta.duration_ns = b->duration_ns;
	int rc = store_ingest(k->store, &batch, 1, &duplicate, err);
	k->batches += !rc;
	k->samples += rc || duplicate ? 0 : p->samples.n;
	profile_free(p);
	return rc;
}

static int has_no_room(struct keeper *k, const struct err *err)
{
	if (!k->is_full)
		log_warn("%s; what was recorded waits until there is room", err->text);
	k->is_full = true;
	k->again_ns = clock_mono_ns() + AGAIN_NS;
	return 0;
}

static int store_batch(struct keeper *k, struct err *err)
{
	int rc = ingest(k, &k->batch, err);

	if (rc == -ENOSPC)
		return has_no_room(k, err);
	k->dict->samples.n = 0;
	k->is_full = false;
	if (rc)
		return rc;
	k->sequence = k->batch.sequence;
	k->is_last = k->batch.is_last;
	send_done(k, WIRE_ACK);
	stream_flush(&k->stream); /* names take longer; that the other side is gone is seen later */
	naming_look(&k->naming, k->dict);
	return name_next(k, err);
}

static int take_batch(struct keeper *k, const struct wire_batch *b, struct err *err)
{
	if (!k->has_begun || !b->sequence)
		return err_set(err, EPROTO, "the collector sent a batch of nothing");
	k->batch = *b;
	return store_batch(k, err);
}

/* --- messages --------------------------------------------------------------------------------- */

static int take(struct keeper *k, const struct stream_message *m, struct err *err)
{
	union {
		struct wire_begin begin;
		struct wire_chunk chunk;
		struct wire_batch batch;
		struct wire_file file;
	} u;
	static const size_t sizes[] = { [WIRE_BEGIN] = sizeof u.begin,
					[WIRE_CHUNK] = sizeof u.chunk,
					[WIRE_BATCH] = sizeof u.batch,
					[WIRE_FILE] = sizeof u.file };
	size_t size = m->type && m->type < sizeof sizes / sizeof *sizes ? sizes[m->type] : 0;
	int fd = m->with_fd ? stream_take_fd(&k->stream) : -1;
	int rc = 0;

	if (!size || m->len < size || (m->type != WIRE_CHUNK && m->len != size) ||
	    (fd >= 0 && m->type != WIRE_FILE))
		rc = err_set(err, EPROTO, "the collector sent message %u of %zu bytes", m->type,
			     m->len);
	else
		memcpy(&u, m->payload, size);
	if (!rc && m->type == WIRE_BEGIN)
		begin(k, &u.begin);
	else if (!rc && m->type == WIRE_CHUNK)
		rc = take_chunk(k, &u.chunk, (const char *)m->payload + size, m->len - size, err);
	else if (!rc && m->type == WIRE_BATCH)
		rc = take_batch(k, &u.batch, err);
	else if (!rc)
		rc = take_file(k, &u.file, fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int take_all(struct keeper *k, struct err *err)
{
	struct stream_message m;
	int rc = 0;

	while (!k->is_full && (rc = stream_next(&k->stream, &m)) > 0)
		if ((rc = take(k, &m, err)))
			return rc;
	return rc ? err_set(err, -rc, "the collector sent what is no message") : 0;
}

int keeper_run(struct keeper *k, struct err *err)
{
	int rc = 0, in = 1;

	if (!stream_is_open(&k->stream))
		return -EPIPE;
	if (k->is_full && clock_mono_ns() < k->again_ns)
		return 0;
	if (k->is_full)
		rc = store_batch(k, err);
	if (!rc)
		rc = take_all(k, err);
	while (!rc && in > 0 && !k->is_full) {
		in = stream_read(&k->stream);
		if (in > 0)
			rc = take_all(k, err);
	}
	if (!rc && stream_flush(&k->stream))
		in = 0;
	if (rc || in == -EAGAIN || k->is_full)
		return rc;
	end_dictionary(k); /* what was not a whole batch yet comes again */
	stream_close(&k->stream);
	return -EPIPE;
}
