/* Encodes each batch as an OTLP message with its dictionary, and appends it to the spool. */
#include "agent/keep_spool.h"

#include "agent/name_queue.h"
#include "agent/name_requests.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "format/otlp/otlp.h"
#include "profile/copy.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* How long a batch waits for names from new files: short-lived programs are in few messages. */
#define NAMES_WAIT_NS 3000000000ull

#define LATE_NS 60000000000ull

enum { MESSAGE_KEEP_BYTES = 4 << 20 }; /* a larger buffer is freed */

#define NAME_MEMORY_BYTES (4ull << 20)

/* --- names of frames, from one dictionary to the next ----------------------------------------- */

static void name_memory_done(struct name_memory *m)
{
	profile_free(m->known);
	map_done(&m->frames);
	m->known = NULL;
}

static bool has_address(const struct frame *f)
{
	return f->kind == FRAME_NATIVE && f->mapping != MAPPING_NONE;
}

static uint64_t key_of(const struct profile *dict, uint32_t frame)
{
	const struct frame *f = &dict->frames.frames.v[frame];

	return hash_mix(name_mapping_key(dict, f->mapping), f->offset);
}

static void remember(struct name_memory *m, const struct profile *dict)
{
	const struct line *lines;
	struct profile_copy copy;

	profile_copy_init(&copy, dict, m->known);
	for (uint32_t i = 0; i < dict->frames.frames.n; i++) {
		bool is_new;

		if (!has_address(&dict->frames.frames.v[i]) || !names_get(&dict->names, i, &lines))
			continue;
		uint32_t to = profile_copy_frame(&copy, i, &is_new);
		profile_copy_names(&copy, i, to);
		map_put(&m->frames, key_of(dict, i), to);
	}
	profile_copy_done(&copy);
}

/* A dictionary ends. Returns true if older names had to be dropped; then call name_queue_forget. */
static bool name_memory_add(struct name_memory *m, const struct profile *dict)
{
	struct sink *sink = m->known ? profile_sink(m->known) : NULL;
	bool forgets = sink && sink->ops->kept_bytes(sink) > NAME_MEMORY_BYTES;

	if (forgets)
		name_memory_done(m);
	if (!m->known)
		m->known = profile_new();
	remember(m, dict);
	return forgets;
}

/* Names the frames of a dictionary from `first` on whose names are known. */
static void name_memory_apply(struct name_memory *m, struct profile *dict, uint32_t first)
{
	const struct line *lines;
	struct profile_copy copy;

	if (!m->known || first >= dict->frames.frames.n)
		return;
	profile_copy_init(&copy, m->known, dict);
	for (uint32_t i = first; i < dict->frames.frames.n; i++) {
		if (!has_address(&dict->frames.frames.v[i]) || names_get(&dict->names, i, &lines))
			continue;
		const uint32_t *known = map_get(&m->frames, key_of(dict, i));
		if (known)
			profile_copy_names(&copy, *known, i);
	}
	profile_copy_done(&copy);
}

/* --- messages --------------------------------------------------------------------------------- */

static void look_at(struct keep_spool *k, struct profile *dict)
{
	k->dict = dict;
	name_memory_apply(&k->memory, dict, k->seen_frames);
	k->seen_frames = dict->frames.frames.n;
}

static int add_to_spool(struct keep_spool *k, const struct spool_message *m, struct err *err)
{
	int rc = spool_add(k->spool, m, NULL, err);

	if (rc == -E2BIG) { /* counted by the spool */
		log_warn("%s: %llu samples are lost", err->text, (unsigned long long)m->samples);
		rc = 0;
	}
	if (!rc)
		k->added(k->ctx);
	return rc;
}

static int add_message(struct keep_spool *k, const struct spool_source *source, struct err *err)
{
	const struct otlp_encode_opts opts = { .whole_tables = true,
					       .resource = k->resource,
					       .n_resource = k->n_resource };

	buf_clear(&k->message);
	int rc = otlp_encode(k->dict, &opts, &k->message, err);
	const struct spool_message m = { .kind = SPOOL_PROFILES,
					 .data = k->message.data,
					 .len = k->message.len,
					 .samples = k->dict->samples.n,
					 .source = source,
					 .now_ns = (int64_t)clock_wall_ns() };

	if (!rc)
		rc = add_to_spool(k, &m, err);
	if (k->message.cap > MESSAGE_KEEP_BYTES)
		buf_done(&k->message);
	return rc;
}

/* --- late names ------------------------------------------------------------------------------- */

static uint32_t count_named(const struct profile *dict, uint32_t from, uint32_t to)
{
	const struct line *lines;
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		n += names_get(&dict->names, i, &lines) > 0;
	return n;
}

static void note_sent(struct keep_spool *k)
{
	uint32_t n = k->dict->frames.frames.n;

	k->sent_named += count_named(k->dict, k->sent_frames, n);
	k->sent_frames = n;
}

/* The dictionary contains no samples at this point. */
static void send_late_names(struct keep_spool *k)
{
	struct err err = { 0 };

	k->dict->samples.n = 0;
	if (count_named(k->dict, 0, k->sent_frames) <= k->sent_named)
		return;
	if (add_message(k, NULL, &err))
		log_warn("names are not sent: %s", err.text);
	note_sent(k);
	k->sent_named = count_named(k->dict, 0, k->sent_frames);
}

/* --- the target ------------------------------------------------------------------------------- */

/* A batch has two sequence numbers: if its second message was not added, both come again. */
static struct spool_source source_of(const struct received_batch *b, bool is_second)
{
	struct spool_source source = { .sequence = 2 * b->sequence + is_second };

	memcpy(source.id, b->sender, sizeof source.id);
	return source;
}

static int add_metrics(struct keep_spool *k, const struct received_batch *b, struct err *err)
{
	const struct spool_source source = source_of(b, false);
	const struct spool_message m = { .kind = SPOOL_METRICS,
					 .data = b->metrics,
					 .len = b->metrics_bytes,
					 .source = &source,
					 .now_ns = (int64_t)clock_wall_ns() };

	return b->metrics_bytes ? add_to_spool(k, &m, err) : 0;
}

static int add_batch(void *ctx, struct profile *dict, const struct received_batch *b,
		     struct err *err)
{
	struct keep_spool *k = ctx;
	const struct spool_source source = source_of(b, true);
	int rc = add_metrics(k, b, err);

	look_at(k, dict);
	if (rc || !dict->samples.n)
		return rc;
	rc = add_message(k, &source, err);
	if (rc)
		return rc;
	uint64_t now_ns = clock_mono_ns();
	if (now_ns >= k->late_due_ns) {
		send_late_names(k);
		k->late_due_ns = now_ns + LATE_NS;
	}
	note_sent(k);
	return 0;
}

/* The names go with the next batch. */
static int note_names(void *ctx, struct profile *dict, struct err *err)
{
	struct keep_spool *k = ctx;

	(void)err;
	look_at(k, dict);
	return 0;
}

/* Remaining samples belong to an incomplete batch, which comes again. */
static void end(void *ctx)
{
	struct keep_spool *k = ctx;

	if (!k->dict)
		return;
	send_late_names(k);
	if (name_memory_add(&k->memory, k->dict))
		name_queue_forget(k->naming);
	k->dict = NULL;
	k->seen_frames = k->sent_frames = k->sent_named = 0;
}

struct batch_target keep_in_spool(struct keep_spool *k)
{
	return (struct batch_target){ .batch = add_batch,
				      .names = note_names,
				      .end = end,
				      .names_wait_ns = NAMES_WAIT_NS,
				      .ctx = k };
}

void keep_spool_done(struct keep_spool *k)
{
	name_memory_done(&k->memory);
	buf_done(&k->message);
}
