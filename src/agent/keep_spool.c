#include "agent/keep_spool.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A batch waits so long for the names of files that were not met before: short-lived programs are in few messages. */
#define NAMES_WAIT_NS 3000000000ull

#define LATE_NS 60000000000ull

enum { MESSAGE_KEEP_BYTES = 4 << 20 }; /* a larger buffer is given back */

static void look_at(struct keep_spool *k, struct profile *dict)
{
	k->dict = dict;
	name_memory_give(&k->memory, dict, k->seen_frames);
	k->seen_frames = dict->frames.frames.n;
}

static int encode(struct keep_spool *k, struct err *err)
{
	const struct otlp_encode_opts opts = { .whole_tables = true,
					       .resource = k->resource,
					       .n_resource = k->n_resource };

	buf_clear(&k->message);
	return otlp_encode(k->dict, &opts, &k->message, err);
}

static int add_to_spool(struct keep_spool *k, const struct spool_message *m, struct err *err)
{
	int rc = spool_add(k->spool, m, NULL, err);

	if (rc == -E2BIG) { /* it is counted there */
		log_warn("%s: %llu samples are lost", err->text, (unsigned long long)m->samples);
		rc = 0;
	}
	if (!rc)
		k->added(k->ctx);
	return rc;
}

static int add_message(struct keep_spool *k, const struct spool_source *source, struct err *err)
{
	int rc = encode(k, err);
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

static bool has_late_names(const struct keep_spool *k)
{
	return count_named(k->dict, 0, k->sent_frames) > k->sent_named;
}

/* There are no samples in it by now. */
static void send_late_names(struct keep_spool *k)
{
	struct err err = { 0 };

	k->dict->samples.n = 0;
	if (!has_late_names(k))
		return;
	if (add_message(k, NULL, &err))
		log_warn("names are not sent: %s", err.text);
	note_sent(k);
	k->sent_named = count_named(k->dict, 0, k->sent_frames);
}

/* --- the target ------------------------------------------------------------------------------- */

/* Both messages of a batch come again when the second one was not added: a batch has two numbers. */
static struct spool_source source_of(const struct keeper_batch *b, bool is_second)
{
	struct spool_source source = { .sequence = 2 * b->sequence + is_second };

	memcpy(source.id, b->sender, sizeof source.id);
	return source;
}

static int add_metrics(struct keep_spool *k, const struct keeper_batch *b, struct err *err)
{
	const struct spool_source source = source_of(b, false);
	const struct spool_message m = { .kind = SPOOL_METRICS,
					 .data = b->metrics,
					 .len = b->metrics_bytes,
					 .source = &source,
					 .now_ns = (int64_t)clock_wall_ns() };

	return b->metrics_bytes ? add_to_spool(k, &m, err) : 0;
}

static int add_batch(void *ctx, struct profile *dict, const struct keeper_batch *b, struct err *err)
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

/* The next batch has them. */
static int note_names(void *ctx, struct profile *dict, struct err *err)
{
	struct keep_spool *k = ctx;

	(void)err;
	look_at(k, dict);
	return 0;
}

/* Samples that are still in it were of no whole batch: they come again. */
static void end(void *ctx)
{
	struct keep_spool *k = ctx;

	if (!k->dict)
		return;
	send_late_names(k);
	if (name_memory_add(&k->memory, k->dict))
		naming_forget(k->naming);
	k->dict = NULL;
	k->seen_frames = k->sent_frames = k->sent_named = 0;
}

struct keeper_target keep_in_spool(struct keep_spool *k)
{
	return (struct keeper_target){ .batch = add_batch,
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
