#include "server/senders.h"

#include "base/mem.h"
#include "query/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void senders_init(struct senders *s, uint64_t max_key_bytes)
{
	*s = (struct senders){ .max_key_bytes = max_key_bytes };
	pthread_mutex_init(&s->lock, NULL);
	s->v = xcalloc(SENDERS_MAX, sizeof *s->v);
}

void senders_done(struct senders *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		buf_done(&s->v[i].key);
	free(s->v);
	pthread_mutex_destroy(&s->lock);
}

/* --- finding one, under lock ------------------------------------------------------------------ */

static struct sender *find(struct senders *s, const uint8_t *id)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (memcmp(s->v[i].id, id, SENDER_ID_BYTES) == 0)
			return &s->v[i];
	return NULL;
}

static void drop_key(struct senders *s, struct sender *one)
{
	s->key_bytes -= one->key.cap;
	buf_done(&one->key);
	one->key_sequence = 0;
}

/* A free place, or that of the one not heard of for longest. */
static struct sender *add(struct senders *s, const uint8_t *id)
{
	struct sender *to = &s->v[0];
	for (uint32_t i = 1; i < s->n; i++)
		if (s->v[i].used < to->used)
			to = &s->v[i];
	if (s->n < SENDERS_MAX)
		to = &s->v[s->n++];
	drop_key(s, to);
	*to = (struct sender){ 0 };
	memcpy(to->id, id, SENDER_ID_BYTES);
	return to;
}

/* --- what came -------------------------------------------------------------------------------- */

static void note_refused(struct sender *one, const struct sender_news *news)
{
	uint32_t i = 0;
	if (news->why) {
		snprintf(one->why, sizeof one->why, "%s", news->why);
		one->why_ns = news->now_ns;
	}
	if (news->status < 400)
		return;
	while (i < SENDER_STATUSES - 1 && one->refused[i].n &&
	       one->refused[i].status != news->status)
		i++;
	one->refused[i].status = news->status;
	one->refused[i].n++;
}

static void note_sequence(struct sender *one, uint64_t sequence)
{
	if (!one->first_sequence || sequence < one->first_sequence)
		one->first_sequence = sequence;
	if (sequence > one->last_sequence)
		one->last_sequence = sequence;
	one->numbered++;
}

static void note_accepted(struct sender *one, const struct sender_news *news)
{
	one->duplicates += news->duplicate;
	if (news->duplicate)
		return;
	one->batches++;
	one->samples += news->samples;
	one->points += news->points;
	one->rejected += news->rejected;
	one->frames += news->frames;
	one->unnamed_frames += news->unnamed_frames;
	if (news->sequence)
		note_sequence(one, news->sequence);
	if (news->newest_ns)
		one->behind_ns = news->now_ns - news->newest_ns;
}

void senders_note(struct senders *s, const struct sender_news *news)
{
	pthread_mutex_lock(&s->lock);
	struct sender *one = find(s, news->id);
	if (!one) {
		one = add(s, news->id);
		one->first_ns = news->now_ns;
		one->is_agent = news->is_agent;
	}
	one->used = ++s->uses;
	one->last_ns = news->now_ns;
	one->bytes += news->bytes;
	snprintf(one->address, sizeof one->address, "%s", news->address);
	if (*news->host)
		snprintf(one->host, sizeof one->host, "%s", news->host);
	note_refused(one, news);
	if (news->status < 400)
		note_accepted(one, news);
	pthread_mutex_unlock(&s->lock);
}

/* --- whole batches ---------------------------------------------------------------------------- */

static void make_room(struct senders *s, uint64_t bytes)
{
	while (s->key_bytes + bytes > s->max_key_bytes && s->key_bytes) {
		struct sender *oldest = NULL;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->v[i].key.cap && (!oldest || s->v[i].used < oldest->used))
				oldest = &s->v[i];
		drop_key(s, oldest);
	}
}

void senders_keep_key(struct senders *s, const uint8_t *id, uint64_t sequence,
		      const struct buf *packed)
{
	if (packed->len > SENDER_KEY_MAX || packed->len > s->max_key_bytes)
		return;
	pthread_mutex_lock(&s->lock);
	struct sender *one = find(s, id);
	if (one) {
		drop_key(s, one);
		make_room(s, packed->len);
		buf_reserve(&one->key, packed->len);
		buf_add(&one->key, packed->data, packed->len);
		s->key_bytes += one->key.cap;
		one->key_sequence = sequence;
	}
	pthread_mutex_unlock(&s->lock);
}

bool senders_key(struct senders *s, const uint8_t *id, uint64_t sequence, struct buf *packed)
{
	pthread_mutex_lock(&s->lock);
	struct sender *one = find(s, id);
	bool found = one && one->key.len && one->key_sequence == sequence;
	if (found)
		buf_add(packed, one->key.data, one->key.len);
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void key_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

static void key_str(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_str(j, *value ? value : NULL);
}

static void key_time(struct json *j, const char *key, int64_t ns)
{
	struct buf b = { 0 };
	if (ns)
		time_text(&b, ns);
	key_str(j, key, buf_cstr(&b));
	buf_done(&b);
}

static void id_json(struct json *j, const struct sender *one)
{
	struct buf b = { 0 };
	for (int i = 0; i < SENDER_ID_BYTES && one->is_agent; i++)
		buf_addf(&b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			 one->id[i]);
	key_str(j, "agent", buf_cstr(&b));
	buf_done(&b);
}

static void refused_json(struct json *j, const struct sender *one)
{
	char status[16];
	json_key(j, "refused");
	json_obj(j);
	for (uint32_t i = 0; i < SENDER_STATUSES && one->refused[i].n; i++) {
		snprintf(status, sizeof status, "%u", one->refused[i].status);
		key_u64(j, status, one->refused[i].n);
	}
	json_end(j);
	key_str(j, "last_refusal", one->why);
	key_time(j, "last_refusal_at", one->why_ns);
}

/* Those between the first and the last that did not come, or not yet. */
static uint64_t missing(const struct sender *one)
{
	uint64_t span = one->first_sequence ? one->last_sequence - one->first_sequence + 1 : 0;
	return span > one->numbered ? span - one->numbered : 0;
}

static void sender_json(struct json *j, const struct sender *one)
{
	json_obj(j);
	id_json(j, one);
	key_str(j, "address", one->address);
	key_str(j, "host", one->host);
	key_time(j, "since", one->first_ns);
	key_time(j, "last", one->last_ns);
	key_u64(j, "batches", one->batches);
	key_u64(j, "duplicates", one->duplicates);
	key_u64(j, "bytes", one->bytes);
	key_u64(j, "samples", one->samples);
	key_u64(j, "points", one->points);
	key_u64(j, "rejected", one->rejected);
	refused_json(j, one);
	key_u64(j, "last_sequence", one->last_sequence);
	key_u64(j, "missing", missing(one));
	json_key(j, "behind_ns");
	json_i64(j, one->behind_ns);
	key_u64(j, "frames", one->frames);
	key_u64(j, "unnamed_frames", one->unnamed_frames);
	key_u64(j, "key_sequence", one->key_sequence);
	key_u64(j, "key_bytes", one->key.len);
	json_end(j);
}

static int latest_first(const void *a, const void *b)
{
	const struct sender *x = *(const struct sender *const *)a;
	const struct sender *y = *(const struct sender *const *)b;
	return x->used < y->used ? 1 : -(x->used > y->used);
}

void senders_json(struct senders *s, struct json *j)
{
	const struct sender **order = xcalloc(SENDERS_MAX, sizeof *order);
	json_obj(j);
	json_key(j, "senders");
	json_arr(j);
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n; i++)
		order[i] = &s->v[i];
	qsort(order, s->n, sizeof *order, latest_first);
	for (uint32_t i = 0; i < s->n; i++)
		sender_json(j, order[i]);
	pthread_mutex_unlock(&s->lock);
	json_end(j);
	json_end(j);
	free(order);
}

/* --- ids -------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool sender_id_parse(const char *text, uint8_t id[SENDER_ID_BYTES])
{
	int n = 0;
	for (; *text; text++) {
		int digit = hex_digit(*text);
		if (*text == '-')
			continue;
		if (digit < 0 || n == 2 * SENDER_ID_BYTES)
			return false;
		id[n / 2] = (uint8_t)(n % 2 ? id[n / 2] << 4 | digit : digit);
		n++;
	}
	return n == 2 * SENDER_ID_BYTES;
}
