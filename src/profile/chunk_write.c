/* Encodes entries added since the last call. */
#include "profile/chunk_write.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <string.h>
#include <zstd.h>

enum {
	CHUNK_TARGET = 256 * 1024, /* approximate bytes of a payload before compression */
	SAMPLES_PER_CHUNK = 16384,
	READINGS_PER_ROW = 65536,
	CHUNK_LEVEL = 3,  /* of zstd; chunk_writer_size() changes this and CHUNK_TARGET */
	CHUNK_SMALL = 64, /* shorter payloads are not worth compressing */
};

struct chunk_writer {
	const struct chunk_out *out; /* while chunks are written */
	struct buf chunk, packed, meta;
	size_t target_bytes;
	int level;
	/* How much of each table has been written; id 0 of strings, label sets and stacks is
	 * implied. */
	struct chunk_position at;
	uint32_t functions, links;
	size_t samples;
	uint64_t samples_before; /* written samples that were taken out of the profile */
	VEC(uint64_t) origins;   /* by row: number of frames as written */
	uint32_t origins_until;
	VEC(struct thread_times) threads; /* by row: as written */
	uint32_t threads_until;
	VEC(size_t) readings; /* by series: number of points written */
	VEC(uint64_t) names;  /* by frame: hash of its lines as written, 0 = none */
	uint32_t names_until; /* frames whose names were checked in this call */
};

static void put(struct chunk_writer *w, uint64_t v)
{
	if (w->chunk.cap - w->chunk.len < VARINT_MAX_BYTES)
		buf_reserve(&w->chunk, VARINT_MAX_BYTES);
	w->chunk.len += varint_write(w->chunk.data + w->chunk.len, v);
}

/* Reserves space for n numbers; returns where to write them. */
static char *begin_many(struct chunk_writer *w, size_t n)
{
	buf_reserve(&w->chunk, n * VARINT_MAX_BYTES);
	return w->chunk.data + w->chunk.len;
}

static void end_many(struct chunk_writer *w, const char *at)
{
	w->chunk.len = at - w->chunk.data;
}

static void put_ids(struct chunk_writer *w, const uint32_t *v, size_t n)
{
	char *at = begin_many(w, n);
	for (size_t i = 0; i < n; i++)
		at += varint_write(at, v[i]);
	end_many(w, at);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool chunk_pack(struct chunk_writer *w)
{
	if (w->out->plain || w->chunk.len < CHUNK_SMALL)
		return false;
	buf_clear(&w->packed);
	buf_reserve(&w->packed, ZSTD_compressBound(w->chunk.len));
	size_t n =
		ZSTD_compress(w->packed.data, w->packed.cap, w->chunk.data, w->chunk.len, w->level);
	if (ZSTD_isError(n) || n >= w->chunk.len)
		return false;
	w->packed.len = n;
	return true;
}

/* Passes on the chunk and clears it when it is full, or at the end of its table. */
static int chunk_end(struct chunk_writer *w, enum chunk_type type, bool table_ends, struct err *err)
{
	if (w->chunk.len == 0 || (!table_ends && w->chunk.len < w->target_bytes))
		return 0;
	uint32_t packed = chunk_pack(w) ? CHUNK_ZSTD : 0;
	bool optional = type == CHUNK_ORIGINS || type == CHUNK_THREADS || type == CHUNK_READINGS;
	struct buf *payload = packed ? &w->packed : &w->chunk;
	int rc = w->out->put(w->out->ctx, type, packed | (optional ? CHUNK_OPTIONAL : 0),
			     payload->data, payload->len, err);
	buf_clear(&w->chunk);
	return rc;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void put_string(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	put(w, strtab_len(&p->strings, i));
	buf_add(&w->chunk, strtab_get(&p->strings, i), strtab_len(&p->strings, i));
}

static void put_mapping(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct mapping *m = &p->frames.mappings.v[i];
	put(w, m->name);
	put(w, m->build_id_len);
	buf_add(&w->chunk, m->build_id, m->build_id_len);
	put(w, m->build_id_text);
	put(w, m->identity);
	put(w, m->start);
	put(w, m->limit);
	put(w, m->offset);
	put(w, m->flags);
}

static void put_frame(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct frame *f = &p->frames.frames.v[i];
	put(w, f->kind);
	put(w, (uint32_t)(f->mapping + 1)); /* MAPPING_NONE is 0 */
	if (f->mapping != MAPPING_NONE) {
		put(w, f->offset);
		return;
	}
	put(w, f->function);
	put(w, f->file);
	put(w, f->line);
	put(w, f->binary);
}

static void put_function(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct function *f = &p->names.functions.v[i];
	put(w, f->name);
	put(w, f->linkage);
	put(w, f->file);
	put(w, f->start_line);
}

/* Writes the names only if they changed. */
static void put_names(struct chunk_writer *w, const struct profile *p, uint32_t frame)
{
	const struct line *lines = NULL;
	uint32_t n = names_get(&p->names, frame, &lines);
	uint64_t hash = n ? hash_bytes(lines, n * sizeof *lines) | 1 : 0;
	while (w->names.n <= frame)
		vec_push(&w->names, 0);
	if (w->names.v[frame] == hash)
		return;
	w->names.v[frame] = hash;
	put(w, frame);
	put(w, n);
	for (uint32_t i = 0; i < n; i++) {
		put(w, lines[i].function);
		put(w, lines[i].line);
		put(w, lines[i].column);
	}
}

/* Writes the number of frames added since the last time. */
static void put_origin(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct origin *o = &p->origins.all.v[i];
	while (w->origins.n <= i)
		vec_push(&w->origins, 0);
	if (w->origins.v[i] == o->frames)
		return;
	put(w, o->mapping);
	put(w, o->name);
	put(w, o->frames - w->origins.v[i]);
	w->origins.v[i] = o->frames;
}

/* Writes the row only if it changed. */
static void put_thread(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct thread_times *row = &p->threads.all.v[i];
	if (i < w->threads.n && memcmp(&w->threads.v[i], row, sizeof *row) == 0)
		return;
	if (i == w->threads.n)
		vec_push(&w->threads, *row);
	w->threads.v[i] = *row;
	put(w, row->pid);
	put(w, row->tid);
	put(w, row->name);
	put(w, zigzag(row->first_ns));
	put(w, zigzag(row->last_ns));
	put(w, zigzag(row->on_ns));
	put(w, zigzag(row->off_ns));
	put(w, zigzag(row->wait_ns));
	put(w, zigzag(row->stopped_ns));
}

static void put_type(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct type *t = &p->series.types.v[i];
	put(w, t->name);
	put(w, t->sample_type);
	put(w, t->unit);
	put(w, t->period_type);
	put(w, t->period_unit);
	put(w, t->aggregation);
}

static void put_label_set(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	struct label_set set = p->series.sets.v[i];
	put(w, set.n);
	for (uint32_t k = 0; k < set.n; k++) {
		const struct label *l = &p->series.labels.v[set.first + k];
		put(w, l->key);
		put(w, l->is_num);
		put(w, l->is_num ? zigzag(l->num) : l->str);
		put(w, l->unit);
	}
}

static void put_series(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct series *s = &p->series.series.v[i];
	put(w, s->type);
	put(w, zigzag(s->period));
	put(w, s->labels);
}

static void put_stack(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	const struct stack *s = &p->stacks.stacks.v[i];
	put(w, i - s->parent);
	put(w, s->shared);
	put(w, s->depth - s->shared);
	put_ids(w, p->stacks.own.v + s->own, s->depth - s->shared);
}

static void put_link(struct chunk_writer *w, const struct profile *p, uint32_t i)
{
	buf_add(&w->chunk, &p->links.all.v[i], sizeof p->links.all.v[i]);
}

struct chunked_table {
	enum chunk_type type;
	void (*put)(struct chunk_writer *w, const struct profile *p, uint32_t i);
	uint32_t *done;
	size_t n, first; /* rows before first are never written */
};

static int put_table(struct chunk_writer *w, const struct profile *p, const struct chunked_table *t,
		     struct err *err)
{
	int rc = 0;
	if (*t->done < t->first)
		*t->done = t->first;
	while (rc == 0 && *t->done < t->n) {
		t->put(w, p, (*t->done)++);
		rc = chunk_end(w, t->type, *t->done == t->n, err);
	}
	return rc ? rc : chunk_end(w, t->type, true, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void put_signed_column(struct chunk_writer *w, const int64_t *v, size_t n, bool deltas)
{
	int64_t before = 0;
	char *at = begin_many(w, n);
	for (size_t i = 0; i < n; i++) {
		at += varint_write(at, zigzag((int64_t)((uint64_t)v[i] - (uint64_t)before)));
		before = deltas ? v[i] : 0;
	}
	end_many(w, at);
}

/* `add` is 1 for columns whose SAMPLE_NO_ID becomes 0. */
static void put_id_column(struct chunk_writer *w, const uint32_t *v, size_t n, uint32_t add)
{
	int64_t before = 0;
	char *at = begin_many(w, n);
	for (size_t i = 0; i < n; i++) {
		int64_t now = (uint32_t)(v[i] + add);
		at += varint_write(at, zigzag(now - before));
		before = now;
	}
	end_many(w, at);
}

static bool any_length(const struct sample_columns *s, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sample_length_ns(s, from + i))
			return true;
	return false;
}

static bool any_link(const struct sample_columns *s, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sample_link(s, from + i))
			return true;
	return false;
}

static int put_samples(struct chunk_writer *w, const struct profile *p, struct err *err)
{
	const struct sample_columns *s = &p->samples;
	int rc = 0;
	while (rc == 0 && w->samples < s->n) {
		size_t at = w->samples, n = s->n - at;
		n = n < SAMPLES_PER_CHUNK ? n : SAMPLES_PER_CHUNK;
		put(w, n);
		put_signed_column(w, s->time_ns + at, n, true);
		put_signed_column(w, s->value + at, n, false);
		put_id_column(w, s->series + at, n, 0);
		put_id_column(w, s->stack + at, n, 0);
		put_id_column(w, s->pid + at, n, 1);
		put_id_column(w, s->tid + at, n, 1);
		put_id_column(w, s->cpu + at, n, 1);
		enum chunk_type type = any_link(s, at, n)     ? CHUNK_LINKED
				       : any_length(s, at, n) ? CHUNK_SPANS
							      : CHUNK_SAMPLES;
		for (size_t i = at; type != CHUNK_SAMPLES && i < at + n; i++)
			put(w, zigzag(sample_length_ns(s, i)));
		if (type == CHUNK_LINKED)
			put_id_column(w, s->link + at, n, 0);
		w->samples += n;
		rc = chunk_end(w, type, true, err);
	}
	return rc;
}

/* --- readings --------------------------------------------------------------------------------- */

static void put_points(struct chunk_writer *w, const struct reading_point *points, size_t n)
{
	uint64_t time = 0, bits = 0, now;
	put(w, n);
	for (size_t i = 0; i < n; i++) {
		memcpy(&now, &points[i].value, sizeof now);
		put(w, zigzag((int64_t)((uint64_t)points[i].time_ns - time)));
		put(w, __builtin_bswap64(now ^ bits));
		time = (uint64_t)points[i].time_ns;
		bits = now;
	}
}

/* Writes the points that were added to a series since the last time. */
static int put_new_points(struct chunk_writer *w, const struct reading_series *s, size_t *done,
			  struct err *err)
{
	int rc = 0;
	while (rc == 0 && *done < s->points.n) {
		size_t n = s->points.n - *done;
		n = n < READINGS_PER_ROW ? n : READINGS_PER_ROW;
		put(w, s->key.name);
		put(w, s->key.unit);
		put(w, s->key.labels);
		put(w, s->key.is_counter);
		put_points(w, s->points.v + *done, n);
		*done += n;
		rc = chunk_end(w, CHUNK_READINGS, false, err);
	}
	return rc;
}

static int put_readings(struct chunk_writer *w, const struct profile *p, struct err *err)
{
	int rc = 0;
	while (w->readings.n < p->readings.all.n)
		vec_push(&w->readings, 0);
	for (size_t i = 0; rc == 0 && i < p->readings.all.n; i++)
		rc = put_new_points(w, &p->readings.all.v[i], &w->readings.v[i], err);
	return rc ? rc : chunk_end(w, CHUNK_READINGS, true, err);
}

/* --- meta ------------------------------------------------------------------------------------- */

static void put_list(struct chunk_writer *w, const uint32_t *v, size_t n)
{
	put(w, n);
	put_ids(w, v, n);
}

static void put_loss(struct chunk_writer *w, const char *name, const char *suffix, uint64_t n)
{
	if (!n)
		return;
	put(w, strlen(name) + strlen(suffix));
	buf_adds(&w->chunk, name);
	buf_adds(&w->chunk, suffix);
	put(w, n);
}

static int put_meta(struct chunk_writer *w, const struct profile *p, struct err *err)
{
	const struct profile_meta *m = &p->meta;
	put(w, zigzag(m->start_wall_ns));
	put(w, zigzag(m->start_mono_ns));
	put(w, zigzag(m->duration_ns));
	put(w, m->host);
	put(w, m->kernel);
	put(w, m->command);
	put(w, m->clock);
	put(w, m->cpus);
	put(w, m->default_type);
	put(w, m->default_column);
	put(w, m->doc_url);
	put(w, m->drop_frames);
	put(w, m->keep_frames);
	put(w, m->own_cpu_ns);
	put(w, m->own_peak_bytes);
	put_list(w, m->comments.v, m->comments.n);
	put_list(w, m->sample_types.v, m->sample_types.n);
	/* By name: reasons come and go between versions. */
	for (int i = 0; i < LOSS_REASONS; i++) {
		put_loss(w, loss_reasons[i].name, "", m->loss[i]);
		put_loss(w, loss_reasons[i].name, LOSS_TIME_SUFFIX, (uint64_t)m->loss_ns[i]);
	}
	if (w->meta.len == w->chunk.len && memcmp(w->meta.data, w->chunk.data, w->meta.len) == 0) {
		buf_clear(&w->chunk);
		return 0;
	}
	buf_clear(&w->meta);
	buf_add(&w->meta, w->chunk.data, w->chunk.len);
	return chunk_end(w, CHUNK_META, true, err);
}

/* --- the writer ------------------------------------------------------------------------------- */

struct chunk_writer *chunk_writer_new(void)
{
	struct chunk_writer *w = xcalloc(1, sizeof *w);

	chunk_writer_size(w, CHUNK_TARGET, CHUNK_LEVEL);
	return w;
}

void chunk_writer_size(struct chunk_writer *w, size_t bytes, int level)
{
	w->target_bytes = bytes < CHUNK_MAX_BYTES / 2 ? bytes : CHUNK_MAX_BYTES / 2;
	w->level = level;
}

void chunk_writer_free(struct chunk_writer *w)
{
	if (!w)
		return;
	buf_done(&w->chunk);
	buf_done(&w->packed);
	buf_done(&w->meta);
	vec_done(&w->names);
	vec_done(&w->origins);
	vec_done(&w->threads);
	vec_done(&w->readings);
	free(w);
}

struct chunk_position chunk_position_of(const struct profile *p)
{
	return (struct chunk_position){
		.strings = p->strings.all.n,
		.mappings = p->frames.mappings.n,
		.frames = p->frames.frames.n,
		.types = p->series.types.n,
		.sets = p->series.sets.n,
		.series = p->series.series.n,
		.stacks = p->stacks.stacks.n,
	};
}

struct chunk_position chunk_writer_tell(const struct chunk_writer *w)
{
	return w->at;
}

void chunk_writer_seek(struct chunk_writer *w, const struct chunk_position *at)
{
	w->at = *at;
}

uint64_t chunk_writer_samples(const struct chunk_writer *w)
{
	return w->samples_before + w->samples;
}

void chunk_writer_drop_samples(struct chunk_writer *w)
{
	w->samples_before += w->samples;
	w->samples = 0;
}

void chunk_writer_restore_samples(struct chunk_writer *w)
{
	w->samples += w->samples_before;
	w->samples_before = 0;
}

/* Tables are written before the ones that refer to them. */
int chunk_write(struct chunk_writer *w, const struct profile *p, uint32_t types,
		const struct chunk_out *out, struct err *err)
{
	w->out = out;
	w->names_until = w->origins_until = w->threads_until = 0;
	const struct chunked_table tables[] = {
		{ CHUNK_STRINGS, put_string, &w->at.strings, p->strings.all.n, 1 },
		{ CHUNK_MAPPINGS, put_mapping, &w->at.mappings, p->frames.mappings.n, 0 },
		{ CHUNK_FRAMES, put_frame, &w->at.frames, p->frames.frames.n, 0 },
		{ CHUNK_FUNCTIONS, put_function, &w->functions, p->names.functions.n, 0 },
		{ CHUNK_NAMES, put_names, &w->names_until, p->frames.frames.n, 0 },
		{ CHUNK_ORIGINS, put_origin, &w->origins_until, p->origins.all.n, 0 },
		{ CHUNK_THREADS, put_thread, &w->threads_until, p->threads.all.n, 0 },
		{ CHUNK_TYPES, put_type, &w->at.types, p->series.types.n, 0 },
		{ CHUNK_LABELS, put_label_set, &w->at.sets, p->series.sets.n, 1 },
		{ CHUNK_SERIES, put_series, &w->at.series, p->series.series.n, 0 },
		{ CHUNK_STACKS, put_stack, &w->at.stacks, p->stacks.stacks.n, 1 },
		{ CHUNK_LINKS, put_link, &w->links, p->links.all.n, 0 },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++)
		if (types & 1u << tables[i].type)
			rc = put_table(w, p, &tables[i], err);
	if (rc == 0 && types & 1u << CHUNK_READINGS)
		rc = put_readings(w, p, err);
	if (rc == 0 && types & 1u << CHUNK_META)
		rc = put_meta(w, p, err);
	if (rc == 0 && types & 1u << CHUNK_SAMPLES)
		rc = put_samples(w, p, err);
	return rc;
}
