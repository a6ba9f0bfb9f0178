/* Receives chunks of batches from the collector, checks them, and passes complete batches to the
 * target. */
#include "agent/batch_receiver.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "profile/chunk_read.h"
#include "profile/frame.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Names of several files are passed to the target together, at the latest after this time. */
#define NAMES_LATEST_NS 2000000000ull
/* Pause before a full disk is tried again. */
#define AGAIN_NS        5000000000ull
#define LAST_WAIT_NS    500000000ull

static void end_dictionary(struct batch_receiver *k)
{
	if (!k->dict)
		return;
	k->target.end(k->target.ctx);
	chunk_reader_done(&k->reader);
	profile_free(k->dict);
	k->dict = NULL;
	k->has_begun = false;
	k->has_names = false;
	k->is_full = false;
	buf_clear(&k->metrics);
	k->held_until_ns = 0;
	k->asked = MAPPING_NONE;
	name_queue_begin(&k->naming);
}

void batch_receiver_init(struct batch_receiver *k, const struct batch_target *target,
			 const struct name_files_opts *files)
{
	*k = (struct batch_receiver){ .target = *target, .stream.fd = -1, .asked = MAPPING_NONE };
	name_queue_init(&k->naming, files);
}

void batch_receiver_done(struct batch_receiver *k)
{
	end_dictionary(k);
	stream_close(&k->stream);
	buf_done(&k->unpacked);
	buf_done(&k->metrics);
	name_queue_done(&k->naming);
}

void batch_receiver_connect(struct batch_receiver *k, int fd)
{
	end_dictionary(k);
	stream_close(&k->stream);
	stream_open(&k->stream, fd, WIRE_MAX_TO_STORE);
}

/* --- names ------------------------------------------------------------------------------------ */

static void note_names(struct batch_receiver *k)
{
	if (!k->has_names)
		k->names_due_ns = clock_mono_ns() + NAMES_LATEST_NS;
	k->has_names = true;
}

static void send_done(struct batch_receiver *k, uint32_t type)
{
	const struct wire_done done = { k->sequence };

	stream_put(&k->stream, type, &done, sizeof done, -1);
}

static int settle_batch(struct batch_receiver *k, struct err *err);

/* Requests the next file. When none is left, everything is named. */
static int name_next(struct batch_receiver *k, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();
	bool is_end = k->is_last || (k->held_until_ns && k->batch.is_last);
	uint32_t mapping = name_queue_next(&k->naming, k->dict, is_end ? UINT64_MAX : now_ns);
	const struct wire_want want = { .generation = k->begin.generation, .mapping = mapping };
	int rc = 0;

	if (k->asked != MAPPING_NONE)
		return 0;
	bool are_due = mapping == MAPPING_NONE || now_ns >= k->names_due_ns || k->naming.was_asked;
	if (are_due && k->has_names) {
		k->has_names = false;
		rc = k->target.names(k->target.ctx, k->dict, err);
	}
	if (rc)
		return rc;
	if (!k->has_names)
		name_queue_settle(&k->naming);
	if (mapping == MAPPING_NONE && k->held_until_ns)
		return settle_batch(k, err);
	if (mapping == MAPPING_NONE) {
		send_done(k, WIRE_IDLE);
		return 0;
	}
	k->asked = mapping;
	return stream_put(&k->stream, WIRE_WANT, &want, sizeof want, -1);
}

int batch_receiver_name(struct batch_receiver *k, struct err *err)
{
	bool can = stream_is_open(&k->stream) && k->has_begun && !k->is_full;

	return can ? name_next(k, err) : 0;
}

static int take_file(struct batch_receiver *k, const struct wire_file *f, int fd, struct err *err)
{
	if (!k->has_begun || f->generation != k->begin.generation || f->mapping != k->asked)
		return 0; /* of a previous dictionary */
	k->asked = MAPPING_NONE;
	if (name_queue_file(&k->naming, k->dict, f->mapping, fd))
		note_names(k);
	return name_next(k, err);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void begin(struct batch_receiver *k, const struct wire_begin *b)
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
			       1 << CHUNK_NAMES | 1 << CHUNK_LINKS | 1 << CHUNK_SAMPLES |
			       1 << CHUNK_SPANS | 1 << CHUNK_LINKED;

	return type < CHUNK_TYPES_END && types & 1u << type;
}

static int take_chunk(struct batch_receiver *k, const struct wire_chunk *c, const void *payload,
		      size_t len, struct err *err)
{
	struct cur cur;

	if (!k->has_begun || !is_expected(c->type) ||
	    !chunk_unpack(c->flags, payload, len, &k->unpacked, &cur) ||
	    !chunk_apply(&k->reader, c->type, cur))
		return err_set(err, EPROTO, "invalid chunk from the collector");
	if (c->type == CHUNK_NAMES)
		note_names(k);
	return 0;
}

static int take_metrics(struct batch_receiver *k, const void *payload, size_t len, struct err *err)
{
	if (!k->has_begun || k->metrics.len)
		return err_set(err, EPROTO, "metrics without a batch from the collector");
	buf_add(&k->metrics, payload, len);
	return 0;
}

static int give_batch(struct batch_receiver *k, const struct wire_batch *b, struct err *err)
{
	const struct received_batch batch = { .sender = k->begin.sender,
					      .sequence = b->sequence,
					      .metrics = k->metrics.data,
					      .metrics_bytes = k->metrics.len };
	struct profile_meta *meta = &k->dict->meta;

	meta->start_mono_ns = b->start_mono_ns;
	meta->start_wall_ns = b->start_wall_ns;
	meta->duration_ns = b->duration_ns;
	return k->target.batch(k->target.ctx, k->dict, &batch, err);
}

static int settle_batch(struct batch_receiver *k, struct err *err)
{
	int rc = give_batch(k, &k->batch, err);

	k->held_until_ns = 0;
	if (rc == -ENOSPC) {
		if (!k->is_full)
			log_warn("%s; recorded data is queued until space is available", err->text);
		k->is_full = true;
		k->again_ns = clock_mono_ns() + AGAIN_NS;
		return 0;
	}
	k->dict->samples.n = 0;
	buf_clear(&k->metrics);
	k->is_full = false;
	if (rc)
		return rc;
	k->sequence = k->batch.sequence;
	k->is_last = k->batch.is_last;
	send_done(k, WIRE_ACK);
	stream_flush(&k->stream); /* naming takes longer; a closed stream is noticed later */
	name_queue_look(&k->naming, k->dict);
	return name_next(k, err);
}

/* Holds the batch until its names are found. The last batch waits only briefly. */
static int hold_batch(struct batch_receiver *k, struct err *err)
{
	uint64_t wait_ns = k->target.names_wait_ns;

	if (k->batch.is_last && wait_ns > LAST_WAIT_NS)
		wait_ns = LAST_WAIT_NS;
	k->held_until_ns = clock_mono_ns() + wait_ns;
	name_queue_look(&k->naming, k->dict);
	return name_next(k, err);
}

static int take_batch(struct batch_receiver *k, const struct wire_batch *b, struct err *err)
{
	if (!k->has_begun || !b->sequence)
		return err_set(err, EPROTO, "empty batch from the collector");
	if (k->held_until_ns)
		return err_set(err, EPROTO,
			       "protocol error: batch from the collector before the previous one "
			       "was acknowledged");
	k->batch = *b;
	return k->target.names_wait_ns ? hold_batch(k, err) : settle_batch(k, err);
}

/* --- messages --------------------------------------------------------------------------------- */

union head {
	struct wire_begin begin;
	struct wire_chunk chunk;
	struct wire_batch batch;
	struct wire_file file;
};

/* more: the data after the head. */
static int take_one(struct batch_receiver *k, uint32_t type, const union head *u, const void *more,
		    size_t len, int fd, struct err *err)
{
	switch (type) {
	case WIRE_BEGIN:
		begin(k, &u->begin);
		return 0;
	case WIRE_CHUNK:
		return take_chunk(k, &u->chunk, more, len, err);
	case WIRE_METRICS:
		return take_metrics(k, more, len, err);
	case WIRE_BATCH:
		return take_batch(k, &u->batch, err);
	default:
		return take_file(k, &u->file, fd, err);
	}
}

static const struct {
	bool is_known, has_more;
	size_t size; /* of its head */
} kinds[] = {
	[WIRE_BEGIN] = { true, false, sizeof(struct wire_begin) },
	[WIRE_CHUNK] = { true, true, sizeof(struct wire_chunk) },
	[WIRE_BATCH] = { true, false, sizeof(struct wire_batch) },
	[WIRE_FILE] = { true, false, sizeof(struct wire_file) },
	[WIRE_METRICS] = { true, true, 0 },
};

static bool is_sound(const struct stream_message *m, int fd)
{
	if (m->type >= sizeof kinds / sizeof *kinds || !kinds[m->type].is_known)
		return false;
	return (kinds[m->type].has_more ? m->len >= kinds[m->type].size
					: m->len == kinds[m->type].size) &&
	       (fd < 0 || m->type == WIRE_FILE);
}

static int take(struct batch_receiver *k, const struct stream_message *m, struct err *err)
{
	int rc, fd = m->with_fd ? stream_take_fd(&k->stream) : -1;
	union head u;

	if (is_sound(m, fd)) {
		size_t size = kinds[m->type].size;

		memcpy(&u, m->payload, size);
		rc = take_one(k, m->type, &u, (const char *)m->payload + size, m->len - size, fd,
			      err);
	} else {
		rc = err_set(err, EPROTO, "the collector sent message %u of %zu bytes", m->type,
			     m->len);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static int take_all(struct batch_receiver *k, struct err *err)
{
	struct stream_message m;
	int rc = 0;

	while (!k->is_full && (rc = stream_next(&k->stream, &m)) > 0)
		if ((rc = take(k, &m, err)))
			return rc;
	return rc ? err_set(err, -rc, "invalid message from the collector") : 0;
}

/* Starts naming when something has waited long enough. */
static int name_due(struct batch_receiver *k, struct err *err)
{
	bool can = k->has_begun && !k->is_full && !k->held_until_ns && !k->is_last &&
		   k->asked == MAPPING_NONE && !stream_has_more(&k->stream);

	if (!can || name_queue_next(&k->naming, k->dict, clock_mono_ns()) == MAPPING_NONE)
		return 0;
	return name_next(k, err);
}

int batch_receiver_run(struct batch_receiver *k, struct err *err)
{
	int rc = 0, in = 1;

	if (!stream_is_open(&k->stream))
		return -EPIPE;
	if (k->is_full && clock_mono_ns() < k->again_ns)
		return 0;
	if (k->is_full || (k->held_until_ns && clock_mono_ns() >= k->held_until_ns))
		rc = settle_batch(k, err);
	if (!rc)
		rc = take_all(k, err);
	while (!rc && in > 0 && !k->is_full) {
		in = stream_read(&k->stream);
		if (in > 0)
			rc = take_all(k, err);
	}
	if (!rc && in == -EAGAIN)
		rc = name_due(k, err);
	if (!rc && stream_flush(&k->stream))
		in = 0;
	if (rc || in == -EAGAIN || k->is_full)
		return rc;
	end_dictionary(k); /* an incomplete batch is sent again */
	stream_close(&k->stream);
	return -EPIPE;
}
