/* A table of senders with sequence windows and base batches. */
#include "server/ingest/senders.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/sum.h"
#include "query/time.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* --- whole batches on the disk ---------------------------------------------------------------- */

/* The last whole batch of each sender, compressed as it came:
 *
 *     DIR/keys/SENDER        32 digits of its id
 *     DIR/keys/SENDER.tmp    is being written
 *
 * They belong to one run of the server: the directory is emptied when it is opened. So nothing is
 * synced, and each sender sends a whole batch once after a restart. */

enum { NAME_BYTES = 2 * SENDER_ID_BYTES + 8 };

static void name_of(const uint8_t *id, const char *suffix, char *name)
{
	for (int i = 0; i < SENDER_ID_BYTES; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(name + 2 * SENDER_ID_BYTES, 8, "%s", suffix);
}

static void empty(int keys)
{
	int fd = dup(keys);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (*e->d_name != '.')
			unlinkat(keys, e->d_name, 0);
	closedir(dir);
}

int keys_open(const char *dir, struct err *err)
{
	char *path = xasprintf("%s/keys", dir);
	int fd = -1;
	if (mkdir(path, 0750) == 0 || errno == EEXIST)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		fd = err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	else
		empty(fd);
	free(path);
	return fd;
}

/* Writes a key next to the current one: the slow step, before key_commit. Returns false if the disk
 * is full or broken; no file is left then. */
static bool key_write(int keys, const uint8_t *id, const struct buf *packed)
{
	char name[NAME_BYTES];
	name_of(id, ".tmp", name);
	int fd = openat(keys, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return false;
	bool fits = fs_write_fd(fd, packed->data, packed->len) == 0;
	close(fd);
	if (!fits)
		unlinkat(keys, name, 0);
	return fits;
}

static bool key_commit(int keys, const uint8_t *id)
{
	char from[NAME_BYTES], to[NAME_BYTES];
	name_of(id, ".tmp", from);
	name_of(id, "", to);
	if (renameat(keys, from, keys, to) == 0)
		return true;
	unlinkat(keys, from, 0);
	return false;
}

/* Deletes a key that was written but not committed. */
static void key_discard(int keys, const uint8_t *id)
{
	char name[NAME_BYTES];
	name_of(id, ".tmp", name);
	unlinkat(keys, name, 0);
}

/* Returns a descriptor, which stays readable when another key replaces this one, or -1 if there is
 * none. */
static int key_open(int keys, const uint8_t *id)
{
	char name[NAME_BYTES];
	name_of(id, "", name);
	return openat(keys, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static void key_remove(int keys, const uint8_t *id)
{
	char name[NAME_BYTES];
	name_of(id, "", name);
	unlinkat(keys, name, 0);
}

/* --- senders ---------------------------------------------------------------------------------- */

void senders_init(struct senders *s, int keys, uint64_t max_key_bytes, uint64_t max_stack_bytes)
{
	*s = (struct senders){ .keys = keys,
			       .max_key_bytes = max_key_bytes,
			       .max_stack_bytes = max_stack_bytes };
	pthread_mutex_init(&s->lock, NULL);
	s->v = xcalloc(SENDERS_MAX, sizeof *s->v);
}

void senders_done(struct senders *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		sender_stacks_done(&s->v[i].stacks);
	free(s->v);
	if (s->keys >= 0)
		close(s->keys);
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
	if (!one->key_sequence)
		return;
	s->key_bytes -= one->key_bytes;
	one->key_sequence = one->key_bytes = 0;
	key_remove(s->keys, one->id);
}

static void drop_stacks(struct senders *s, struct sender *one)
{
	s->stack_bytes -= sender_stacks_bytes(&one->stacks);
	sender_stacks_done(&one->stacks);
}

/* Returns a free entry, or that of the sender not heard of for longest. */
static struct sender *add(struct senders *s, const uint8_t *id)
{
	struct sender *to = &s->v[0];
	for (uint32_t i = 1; i < s->n; i++)
		if (s->v[i].used < to->used)
			to = &s->v[i];
	if (s->n < SENDERS_MAX)
		to = &s->v[s->n++];
	drop_key(s, to);
	drop_stacks(s, to);
	*to = (struct sender){ 0 };
	memcpy(to->id, id, SENDER_ID_BYTES);
	return to;
}

/* --- noting requests -------------------------------------------------------------------------- */

static void count_refused(struct sender_refusals *r, unsigned status)
{
	uint32_t i = 0;
	while (i < SENDER_STATUSES - 1 && r->v[i].n && r->v[i].status != status)
		i++;
	r->v[i].status = status;
	r->v[i].n++;
}

static void note_refused(struct senders *s, struct sender *one, const struct sender_news *news)
{
	if (news->why) {
		snprintf(one->why, sizeof one->why, "%s", news->why);
		one->why_ns = news->now_ns;
	}
	if (news->status < 400)
		return;
	count_refused(&one->counts.refused, news->status);
	count_refused(&s->all.refused, news->status);
}

static void count_accepted(struct sender_counts *c, const struct sender_news *news)
{
	c->duplicates += news->duplicate;
	if (news->duplicate)
		return;
	c->batches++;
	c->samples += news->samples;
	c->points += news->points;
	c->rejected += news->rejected;
	c->frames += news->frames;
	c->unnamed_frames += news->unnamed_frames;
}

static void note_accepted(struct senders *s, struct sender *one, const struct sender_news *news)
{
	count_accepted(&one->counts, news);
	count_accepted(&s->all, news);
	if (news->duplicate)
		return;
	if (news->sequence) {
		if (!one->first_sequence || news->sequence < one->first_sequence)
			one->first_sequence = news->sequence;
		if (news->sequence > one->last_sequence)
			one->last_sequence = news->sequence;
		one->numbered++;
	}
	if (news->newest_ns)
		one->behind_ns = sum_sub(news->now_ns, news->newest_ns);
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
	one->counts.bytes += news->bytes;
	s->all.bytes += news->bytes;
	snprintf(one->address, sizeof one->address, "%s", news->address);
	if (*news->host)
		snprintf(one->host, sizeof one->host, "%s", news->host);
	note_refused(s, one, news);
	if (news->status < 400)
		note_accepted(s, one, news);
	pthread_mutex_unlock(&s->lock);
}

/* --- whole batches ---------------------------------------------------------------------------- */

/* Returns the sender not heard of for longest among those with a key. */
static struct sender *oldest_key(struct senders *s)
{
	struct sender *oldest = NULL;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i].key_sequence && (!oldest || s->v[i].used < oldest->used))
			oldest = &s->v[i];
	return oldest;
}

static void settle_key(struct senders *s, struct sender *one, uint64_t sequence,
		       const struct buf *packed)
{
	drop_key(s, one);
	while (s->key_bytes + packed->len > s->max_key_bytes)
		drop_key(s, oldest_key(s));
	if (!key_commit(s->keys, one->id))
		return;
	one->key_sequence = sequence;
	one->key_bytes = packed->len;
	one->key_hash = XXH3_64bits(packed->data, packed->len);
	s->key_bytes += packed->len;
}

void senders_keep_key(struct senders *s, const uint8_t *id, uint64_t sequence,
		      const struct buf *packed)
{
	if (s->keys < 0 || packed->len > SENDER_KEY_MAX || packed->len > s->max_key_bytes ||
	    !key_write(s->keys, id, packed))
		return;
	pthread_mutex_lock(&s->lock);
	struct sender *one = find(s, id);
	if (one)
		settle_key(s, one, sequence, packed);
	else
		key_discard(s->keys, id);
	pthread_mutex_unlock(&s->lock);
}

uint64_t senders_key_sequence(struct senders *s, const uint8_t *id)
{
	pthread_mutex_lock(&s->lock);
	const struct sender *one = find(s, id);
	uint64_t sequence = one ? one->key_sequence : 0;
	pthread_mutex_unlock(&s->lock);
	return sequence;
}

bool senders_key(struct senders *s, const uint8_t *id, uint64_t sequence, struct buf *packed)
{
	uint64_t hash = 0;
	size_t before = packed->len;
	int fd = -1;
	pthread_mutex_lock(&s->lock);
	const struct sender *one = find(s, id);
	if (one && sequence && one->key_sequence == sequence) {
		fd = key_open(s->keys, id);
		hash = one->key_hash;
	}
	pthread_mutex_unlock(&s->lock);
	if (fd < 0)
		return false;
	int rc = fs_read_fd(fd, SENDER_KEY_MAX, packed, NULL);
	close(fd);
	return rc == 0 && XXH3_64bits(packed->data + before, packed->len - before) == hash;
}

void senders_drop_keys(struct senders *s)
{
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n; i++)
		drop_key(s, &s->v[i]);
	pthread_mutex_unlock(&s->lock);
}

/* --- known stacks ----------------------------------------------------------------------------- */

static void make_room(struct senders *s, uint64_t bytes)
{
	while (s->stack_bytes + bytes > s->max_stack_bytes) {
		struct sender *oldest = NULL;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->v[i].stacks.n && (!oldest || s->v[i].used < oldest->used))
				oldest = &s->v[i];
		drop_stacks(s, oldest);
	}
}

void senders_keep_stacks(struct senders *s, const uint8_t *id, struct sender_stacks *k)
{
	uint64_t bytes = sender_stacks_bytes(k);
	pthread_mutex_lock(&s->lock);
	struct sender *one = bytes <= s->max_stack_bytes ? find(s, id) : NULL;
	if (one) {
		drop_stacks(s, one);
		make_room(s, bytes);
		s->stack_bytes += bytes;
		one->stacks = *k;
		*k = (struct sender_stacks){ 0 };
	}
	pthread_mutex_unlock(&s->lock);
	sender_stacks_done(k);
}

void senders_stacks(struct senders *s, const uint8_t *id, struct sender_stacks *out)
{
	*out = (struct sender_stacks){ 0 };
	pthread_mutex_lock(&s->lock);
	const struct sender *one = find(s, id);
	if (one && one->stacks.n)
		sender_stacks_copy(out, &one->stacks);
	pthread_mutex_unlock(&s->lock);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void key_time(struct json *j, const char *key, int64_t ns)
{
	struct buf b = { 0 };
	if (ns)
		time_text(&b, ns);
	json_key_text(j, key, buf_cstr(&b));
	buf_done(&b);
}

static void refused_json(struct json *j, const struct sender *one)
{
	char status[16];
	json_key(j, "refused");
	json_obj(j);
	const struct sender_refusals *r = &one->counts.refused;
	for (uint32_t i = 0; i < SENDER_STATUSES && r->v[i].n; i++) {
		snprintf(status, sizeof status, "%u", r->v[i].status);
		json_key_u64(j, status, r->v[i].n);
	}
	json_end(j);
	json_key_text(j, "last_refusal", one->why);
	key_time(j, "last_refusal_at", one->why_ns);
}

/* Batches between the first and the last that have not arrived. */
static uint64_t missing(const struct sender *one)
{
	uint64_t span = one->first_sequence ? one->last_sequence - one->first_sequence + 1 : 0;
	return span > one->numbered ? span - one->numbered : 0;
}

static void sender_json(struct json *j, const struct sender *one)
{
	struct buf b = { 0 };
	json_obj(j);
	for (int i = 0; i < SENDER_ID_BYTES && one->is_agent; i++)
		buf_addf(&b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			 one->id[i]);
	json_key_text(j, "agent", buf_cstr(&b));
	buf_done(&b);
	json_key_text(j, "address", one->address);
	json_key_text(j, "host", one->host);
	key_time(j, "since", one->first_ns);
	key_time(j, "last", one->last_ns);
	json_key_u64(j, "batches", one->counts.batches);
	json_key_u64(j, "duplicates", one->counts.duplicates);
	json_key_u64(j, "bytes", one->counts.bytes);
	json_key_u64(j, "samples", one->counts.samples);
	json_key_u64(j, "points", one->counts.points);
	json_key_u64(j, "rejected", one->counts.rejected);
	refused_json(j, one);
	json_key_u64(j, "last_sequence", one->last_sequence);
	json_key_u64(j, "missing", missing(one));
	json_key_i64(j, "behind_ns", one->behind_ns);
	json_key_u64(j, "frames", one->counts.frames);
	json_key_u64(j, "unnamed_frames", one->counts.unnamed_frames);
	json_key_u64(j, "key_sequence", one->key_sequence);
	json_key_u64(j, "key_bytes", one->key_bytes);
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

void senders_get_stats(struct senders *s, struct senders_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct senders_stats){ .counts = s->all,
				       .senders = s->n,
				       .key_bytes = s->key_bytes,
				       .stack_bytes = s->stack_bytes };
	for (uint32_t i = 0; i < s->n; i++)
		out->missing += missing(&s->v[i]);
	pthread_mutex_unlock(&s->lock);
}

/* --- ids -------------------------------------------------------------------------------------- */

bool sender_id_parse(const char *text, uint8_t id[SENDER_ID_BYTES])
{
	int n = 0;
	for (; *text; text++) {
		int digit = parse_hex_digit((char)tolower((unsigned char)*text));
		if (*text == '-')
			continue;
		if (digit < 0 || n == 2 * SENDER_ID_BYTES)
			return false;
		id[n / 2] = (uint8_t)(n % 2 ? id[n / 2] << 4 | digit : digit);
		n++;
	}
	return n == 2 * SENDER_ID_BYTES;
}

/* --- the stacks of a sender's last message ---------------------------------------------------- */

void sender_stacks_done(struct sender_stacks *k)
{
	free(k->id);
	*k = (struct sender_stacks){ 0 };
}

void sender_stacks_copy(struct sender_stacks *to, const struct sender_stacks *from)
{
	*to = *from;
	to->id = xreallocarray(NULL, from->n + 1, sizeof *to->id);
	if (from->n)
		memcpy(to->id, from->id, from->n * sizeof *to->id);
}

void sender_stacks_use_done(struct sender_stacks_use *u)
{
	sender_stacks_done(&u->before);
	free(u->message.index);
	free(u->rows.id);
	*u = (struct sender_stacks_use){ 0 };
}

void sender_stacks_use_begin(struct sender_stacks_use *u, struct store *s)
{
	if (u->before.n && !store_known_is_fresh(s, &u->before.store))
		sender_stacks_done(&u->before);
	u->message.before = u->before.tables;
	u->message.id = u->before.id;
	u->message.n = u->before.n;
}

void sender_stacks_use_rows(struct sender_stacks_use *u)
{
	const struct otlp_known_stacks *m = &u->message;
	u->rows = u->before.store;
	u->rows.id = xreallocarray(NULL, m->samples + 1, sizeof *u->rows.id);
	u->rows.is_used = false;
	for (size_t i = 0; i < m->samples; i++) {
		bool known = m->follows && m->index[i] < m->n;
		u->rows.id[i] = known ? m->id[m->index[i]] : STORE_NO_STACK;
		u->rows.is_used |= u->rows.id[i] != STORE_NO_STACK;
	}
}

static bool is_same_store(const struct store_known_stacks *a, const struct store_known_stacks *b)
{
	return a->dict_id == b->dict_id && a->names_epoch == b->names_epoch && a->day == b->day;
}

bool sender_stacks_use_result(const struct sender_stacks_use *u, struct sender_stacks *out)
{
	const struct otlp_known_stacks *m = &u->message;
	bool goes_on = m->follows && m->n <= m->stacks && is_same_store(&u->before.store, &u->rows);
	if (!u->rows.dict_id || !m->stacks || m->stacks > SENDER_STACKS_MAX)
		return false;
	*out = (struct sender_stacks){ .tables = m->now, .store = u->rows, .n = m->stacks };
	out->store.id = NULL;
	out->id = xreallocarray(NULL, out->n, sizeof *out->id);
	memset(out->id, 0xff, out->n * sizeof *out->id);
	if (goes_on)
		memcpy(out->id, m->id, m->n * sizeof *out->id);
	for (size_t i = 0; i < m->samples; i++)
		if (m->index[i] < out->n && u->rows.id[i] != STORE_NO_STACK)
			out->id[m->index[i]] = u->rows.id[i];
	return true;
}
