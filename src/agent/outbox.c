/* Encodes batches as chunks, queues them up to a limit, and writes them to the socket without
 * blocking. */
#include "agent/outbox.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* The store process finds names of frames itself, except the kernel's, which are sent. Times of
 * threads are not sent. */
enum {
	TABLES = CHUNK_DICTIONARY | CHUNK_CATALOG | 1 << CHUNK_FUNCTIONS | 1 << CHUNK_NAMES |
		 1 << CHUNK_LINKS,
};
enum { MAX_ANSWERS = 64 };

void outbox_init(struct outbox *o, struct profile *p, uint64_t max_bytes)
{
	*o = (struct outbox){ .profile = p,
			      .sending = p,
			      .samples = chunk_writer_new(),
			      .tables = chunk_writer_new(),
			      .stream.fd = -1,
			      .generation = 1,
			      .next_sequence = 1,
			      .max_bytes = max_bytes };
	if (getrandom(o->sender, sizeof o->sender, 0) != sizeof o->sender)
		mem_exhausted();
}

static void renew(struct chunk_writer **w)
{
	chunk_writer_free(*w);
	*w = chunk_writer_new();
}

/* --- profiles --------------------------------------------------------------------------------- */

static void release(struct outbox *o, struct profile *p)
{
	bool is_used = p == o->profile || p == o->sending;

	for (size_t i = 0; i < o->batches.n; i++)
		is_used |= o->batches.v[i].profile == p;
	if (!is_used)
		profile_free(p);
}

/* Counts profiles that only waiting batches refer to. Batches are grouped by profile. */
static size_t old_profiles(const struct outbox *o)
{
	const struct profile *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < o->batches.n; i++) {
		struct profile *p = o->batches.v[i].profile;

		n += p != last && p != o->profile;
		last = p;
	}
	return n;
}

static void remove_batch(struct outbox *o, size_t i)
{
	struct profile *p = o->batches.v[i].profile;

	o->bytes -= o->batches.v[i].samples.len;
	buf_done(&o->batches.v[i].samples);
	o->batches.n--;
	memmove(o->batches.v + i, o->batches.v + i + 1, (o->batches.n - i) * sizeof *o->batches.v);
	release(o, p);
}

/* Once the first batch was sent it stays, as it may already be stored. */
static uint64_t drop_oldest(struct outbox *o)
{
	size_t first = o->batches.v[0].head.sequence != 0;
	uint64_t n = o->batches.v[first].n;

	remove_batch(o, first);
	return n;
}

uint64_t outbox_set_profile(struct outbox *o, struct profile *p)
{
	struct profile *old = o->profile;
	uint64_t dropped = 0;

	renew(&o->samples);
	o->profile = p;
	release(o, old);
	while (old_profiles(o) > OUTBOX_MAX_OLD && o->batches.n > 1)
		dropped += drop_oldest(o);
	return dropped;
}

uint64_t outbox_drop(struct outbox *o)
{
	uint64_t n = 0;

	while (o->batches.n) {
		n += o->batches.v[0].n;
		remove_batch(o, 0);
	}
	o->on_its_way = false;
	return n;
}

void outbox_done(struct outbox *o)
{
	outbox_drop(o);
	if (o->sending != o->profile)
		profile_free(o->sending);
	profile_free(o->profile);
	vec_done(&o->batches);
	stream_close(&o->stream);
	chunk_writer_free(o->samples);
	chunk_writer_free(o->tables);
	buf_done(&o->metrics);
}

/* --- batches ---------------------------------------------------------------------------------- */

static int put_samples(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		       size_t len, struct err *err)
{
	const struct wire_chunk head = { type, flags };
	const uint32_t message[] = { WIRE_CHUNK, sizeof head + len };
	struct buf *b = ctx;

	(void)err;
	buf_add(b, message, sizeof message);
	buf_add(b, &head, sizeof head);
	buf_add(b, payload, len);
	return 0;
}

void outbox_set_metrics(struct outbox *o, struct buf *otlp)
{
	buf_done(&o->metrics);
	o->metrics = *otlp;
	*otlp = (struct buf){ 0 };
}

uint64_t outbox_add(struct outbox *o, const struct wire_batch *head)
{
	struct outbox_batch b = { .head = *head,
				  .profile = o->profile,
				  .n = o->profile->samples.n };
	uint64_t dropped = 0;
	const struct chunk_out out = { .put = put_samples, .ctx = &b.samples };
	struct err err;

	chunk_write(o->samples, o->profile, 1 << CHUNK_SAMPLES, &out, &err);
	chunk_writer_drop_samples(o->samples);
	if (o->metrics.len && o->metrics.len <= WIRE_MAX_TO_STORE) {
		const uint32_t message[] = { WIRE_METRICS, o->metrics.len };
		buf_add(&b.samples, message, sizeof message);
		buf_add(&b.samples, o->metrics.data, o->metrics.len);
		buf_clear(&o->metrics);
	}
	o->profile->samples.n = 0;
	o->bytes += b.samples.len;
	vec_push(&o->batches, b);
	while (o->bytes > o->max_bytes && o->batches.n > 2)
		dropped += drop_oldest(o);
	return dropped;
}

bool outbox_is_idle(const struct outbox *o)
{
	return outbox_is_empty(o) && o->idle == o->next_sequence - 1;
}

static void begin(struct outbox *o)
{
	struct wire_begin begin = { .generation = o->generation };

	memcpy(begin.sender, o->sender, sizeof begin.sender);
	if (stream_is_open(&o->stream))
		stream_put(&o->stream, WIRE_BEGIN, &begin, sizeof begin, -1);
}

/* --- the stream ------------------------------------------------------------------------------- */

void outbox_connect(struct outbox *o, int fd)
{
	stream_close(&o->stream);
	stream_open(&o->stream, fd, WIRE_MAX_TO_COLLECTOR);
	o->on_its_way = o->is_behind = false;
	o->answers = 0;
	/* No files will be requested for batches acknowledged so far. */
	bool is_numbered = o->batches.n && o->batches.v[0].head.sequence;
	o->idle = o->next_sequence - 1 - is_numbered;
	renew(&o->tables);
	begin(o);
}

static int put_table(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		     size_t len, struct err *err)
{
	const struct wire_chunk head = { type, flags };
	struct outbox *o = ctx;
	struct buf message = { 0 };

	(void)err;
	buf_add(&message, &head, sizeof head);
	buf_add(&message, payload, len);
	stream_put(&o->stream, WIRE_CHUNK, message.data, message.len, -1);
	buf_done(&message);
	return 0;
}

static void send_dictionary_of(struct outbox *o, struct profile *p)
{
	struct profile *old = o->sending;

	if (p == old)
		return;
	o->sending = p;
	o->generation++;
	renew(&o->tables);
	begin(o);
	release(o, old);
}

/* Sends all new entries of the dictionary, even the ones that the batch does not refer to. */
static void send_first(struct outbox *o)
{
	const struct chunk_out out = { .put = put_table, .ctx = o };
	struct outbox_batch *b = &o->batches.v[0];
	struct err err;

	if (!b->head.sequence)
		b->head.sequence = o->next_sequence++;
	send_dictionary_of(o, b->profile);
	chunk_write(o->tables, o->sending, TABLES, &out, &err);
	buf_add(&o->stream.out, b->samples.data, b->samples.len);
	stream_put(&o->stream, WIRE_BATCH, &b->head, sizeof b->head, -1);
	o->on_its_way = true;
}

static int take_done(struct outbox *o, const struct stream_message *m)
{
	struct wire_done done;

	memcpy(&done, m->payload, sizeof done);
	if (m->type == WIRE_IDLE) {
		o->idle = done.sequence;
		return 0;
	}
	if (!o->on_its_way || done.sequence != o->batches.v[0].head.sequence)
		return -EPROTO;
	o->on_its_way = false;
	remove_batch(o, 0);
	return 0;
}

static int hand_over(struct outbox *o, const struct stream_message *m,
		     int (*file)(void *ctx, uint32_t mapping), void *ctx)
{
	struct wire_want want;

	memcpy(&want, m->payload, sizeof want);
	bool is_current = want.generation == o->generation && o->sending == o->profile;
	int fd = is_current ? file(ctx, want.mapping) : -ENOENT;
	struct wire_file answer = { .generation = want.generation, .mapping = want.mapping };
	o->answers++;
	if (fd < 0 || stream_put(&o->stream, WIRE_FILE, &answer, sizeof answer, fd))
		stream_put(&o->stream, WIRE_FILE, &answer, sizeof answer, -1);
	return 0;
}

static int take(struct outbox *o, const struct stream_message *m,
		int (*file)(void *ctx, uint32_t mapping), void *ctx)
{
	o->heard++;
	if (m->with_fd)
		return -EPROTO;
	if ((m->type == WIRE_ACK || m->type == WIRE_IDLE) && m->len == sizeof(struct wire_done))
		return take_done(o, m);
	if (m->type == WIRE_WANT && m->len == sizeof(struct wire_want))
		return hand_over(o, m, file, ctx);
	return -EPROTO;
}

/* A store process that sends requests without reading the responses is no longer read; one that
 * sends too much is read only occasionally. A well-behaved one requests one file at a time. */
static bool can_hear(const struct outbox *o)
{
	return o->stream.fds.n < STREAM_MAX_FDS && o->answers < MAX_ANSWERS &&
	       o->heard < OUTBOX_HEARD;
}

static int take_answers(struct outbox *o, int (*file)(void *ctx, uint32_t mapping), void *ctx)
{
	struct stream_message m;
	int rc = 0;

	while (!rc && can_hear(o) && (rc = stream_next(&o->stream, &m)) > 0)
		rc = take(o, &m, file, ctx);
	return rc;
}

static int read_answers(struct outbox *o, int (*file)(void *ctx, uint32_t mapping), void *ctx)
{
	enum { READS = 16 }; /* then return to the main loop */
	int rc = take_answers(o, file, ctx);

	o->is_behind = true;
	for (int i = 0; !rc && i < READS && can_hear(o); i++) {
		rc = stream_read(&o->stream);
		o->is_behind = rc > 0;
		if (rc <= 0)
			return rc == -EAGAIN ? 0 : rc ? rc : -EPIPE;
		rc = take_answers(o, file, ctx);
	}
	return rc;
}

int outbox_run(struct outbox *o, uint64_t now_ns, int (*file)(void *ctx, uint32_t mapping),
	       void *ctx)
{
	if (!stream_is_open(&o->stream))
		return -ENOTCONN;
	if (now_ns >= o->turn_ns + OUTBOX_TURN_NS) {
		o->turn_ns = now_ns;
		o->heard = 0;
	}
	int rc = read_answers(o, file, ctx);
	if (!rc && !o->on_its_way && o->batches.n)
		send_first(o);
	if (!rc)
		rc = stream_flush(&o->stream);
	if (!stream_has_more(&o->stream))
		o->answers = 0;
	if (rc) {
		stream_close(&o->stream);
		o->on_its_way = o->is_behind = false;
	}
	return rc;
}
