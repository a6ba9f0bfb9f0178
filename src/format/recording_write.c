#include "base/mem.h"
#include "base/pb.h"
#include "format/recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum {
	CHUNK_TARGET = 256 * 1024, /* bytes of a payload before compression, about */
	SAMPLES_PER_CHUNK = 16384,
	COMMIT_EVERY = 4 << 20, /* bytes written; bounds what a reader holds back */
	CHUNK_LEVEL = 3,        /* of zstd */
	CHUNK_SMALL = 64,       /* bytes that are not worth compressing */
};

struct recorder {
	struct out own;  /* of recorder_open */
	struct out *out; /* own, or the caller's */
	struct buf chunk, packed, meta;
	uint64_t since_commit; /* bytes */
	/* What of each table has been written; id 0 of strings, label sets and stacks goes without
	 * saying. */
	uint32_t strings, mappings, frames, functions, types, sets, series, stacks;
	size_t samples;
	VEC(uint64_t) origins; /* by row: frames as written */
	uint32_t origins_until;
	VEC(struct thread_times) threads; /* by row: as written */
	uint32_t threads_until;
	VEC(uint64_t) names;  /* by frame: hash of its lines as written, 0 = none */
	uint32_t names_until; /* frames whose names have been looked at in this commit */
};

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static void put(struct recorder *r, uint64_t v)
{
	pb_put_varint(&r->chunk, v);
}

static void put_le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> (8 * i));
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool chunk_pack(struct recorder *r)
{
	if (r->chunk.len < CHUNK_SMALL)
		return false;
	buf_clear(&r->packed);
	buf_reserve(&r->packed, ZSTD_compressBound(r->chunk.len));
	size_t n = ZSTD_compress(r->packed.data, r->packed.cap, r->chunk.data, r->chunk.len,
				 CHUNK_LEVEL);
	if (ZSTD_isError(n) || n >= r->chunk.len)
		return false;
	r->packed.len = n;
	return true;
}

/* Writes r->chunk and empties it. */
static int chunk_write(struct recorder *r, enum recording_chunk type, struct err *err)
{
	struct buf header = { 0 };
	uint32_t packed = chunk_pack(r) ? CHUNK_ZSTD : 0;
	bool optional = type == CHUNK_ORIGINS || type == CHUNK_THREADS;
	uint32_t flags = packed | (optional ? CHUNK_OPTIONAL : 0);
	const struct buf *payload = packed ? &r->packed : &r->chunk;
	put_le(&header, type, 4);
	put_le(&header, flags, 4);
	put_le(&header, payload->len, 8);
	put_le(&header, recording_checksum(type, flags, payload->data, payload->len), 8);
	int rc = out_write(r->out, header.data, header.len, err);
	if (rc == 0)
		rc = out_write(r->out, payload->data, payload->len, err);
	r->since_commit += header.len + payload->len;
	buf_done(&header);
	buf_clear(&r->chunk);
	return rc;
}

static int mark_commit(struct recorder *r, struct err *err)
{
	put(r, r->samples);
	int rc = chunk_write(r, CHUNK_COMMIT, err);
	r->since_commit = 0;
	return rc;
}

/* Ends a chunk when it is full, or at the end of its table. */
static int chunk_end(struct recorder *r, enum recording_chunk type, bool table_ends,
		     struct err *err)
{
	if (r->chunk.len == 0 || (!table_ends && r->chunk.len < CHUNK_TARGET))
		return 0;
	int rc = chunk_write(r, type, err);
	if (rc == 0 && r->since_commit >= COMMIT_EVERY)
		rc = mark_commit(r, err);
	return rc;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void put_string(struct recorder *r, const struct profile *p, uint32_t i)
{
	put(r, strtab_len(&p->strings, i));
	buf_add(&r->chunk, strtab_get(&p->strings, i), strtab_len(&p->strings, i));
}

static void put_mapping(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct mapping *m = &p->frames.mappings.v[i];
	put(r, m->name);
	put(r, m->build_id_len);
	buf_add(&r->chunk, m->build_id, m->build_id_len);
	put(r, m->build_id_text);
	put(r, m->identity);
	put(r, m->start);
	put(r, m->limit);
	put(r, m->offset);
	put(r, m->flags);
}

static void put_frame(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct frame *f = &p->frames.frames.v[i];
	put(r, f->kind);
	put(r, (uint32_t)(f->mapping + 1)); /* MAPPING_NONE is 0 */
	if (f->mapping != MAPPING_NONE) {
		put(r, f->offset);
		return;
	}
	put(r, f->function);
	put(r, f->file);
	put(r, f->line);
	put(r, f->binary);
}

static void put_function(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct function *f = &p->names.functions.v[i];
	put(r, f->name);
	put(r, f->linkage);
	put(r, f->file);
	put(r, f->start_line);
}

/* Only when they changed. */
static void put_names(struct recorder *r, const struct profile *p, uint32_t frame)
{
	const struct line *lines = NULL;
	uint32_t n = names_get(&p->names, frame, &lines);
	uint64_t hash = n ? hash_bytes(lines, n * sizeof *lines) | 1 : 0;
	while (r->names.n <= frame)
		vec_push(&r->names, 0);
	if (r->names.v[frame] == hash)
		return;
	r->names.v[frame] = hash;
	put(r, frame);
	put(r, n);
	for (uint32_t i = 0; i < n; i++) {
		put(r, lines[i].function);
		put(r, lines[i].line);
		put(r, lines[i].column);
	}
}

/* What was added since. */
static void put_origin(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct origin *o = &p->origins.all.v[i];
	while (r->origins.n <= i)
		vec_push(&r->origins, 0);
	if (r->origins.v[i] == o->frames)
		return;
	put(r, o->mapping);
	put(r, o->name);
	put(r, o->frames - r->origins.v[i]);
	r->origins.v[i] = o->frames;
}

/* Only when it changed. */
static void put_thread(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct thread_times *row = &p->threads.all.v[i];
	if (i < r->threads.n && memcmp(&r->threads.v[i], row, sizeof *row) == 0)
		return;
	if (i == r->threads.n)
		vec_push(&r->threads, *row);
	r->threads.v[i] = *row;
	put(r, row->pid);
	put(r, row->tid);
	put(r, row->name);
	put(r, zigzag(row->first_ns));
	put(r, zigzag(row->last_ns));
	put(r, zigzag(row->on_ns));
	put(r, zigzag(row->off_ns));
	put(r, zigzag(row->wait_ns));
	put(r, zigzag(row->stopped_ns));
}

static void put_type(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct type *t = &p->series.types.v[i];
	put(r, t->name);
	put(r, t->sample_type);
	put(r, t->unit);
	put(r, t->period_type);
	put(r, t->period_unit);
	put(r, t->aggregation);
}

static void put_label_set(struct recorder *r, const struct profile *p, uint32_t i)
{
	struct label_set set = p->series.sets.v[i];
	put(r, set.n);
	for (uint32_t k = 0; k < set.n; k++) {
		const struct label *l = &p->series.labels.v[set.first + k];
		put(r, l->key);
		put(r, l->is_num);
		put(r, l->is_num ? zigzag(l->num) : l->str);
		put(r, l->unit);
	}
}

static void put_series(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct series *s = &p->series.series.v[i];
	put(r, s->type);
	put(r, zigzag(s->period));
	put(r, s->labels);
}

static void put_stack(struct recorder *r, const struct profile *p, uint32_t i)
{
	const struct stack *s = &p->stacks.stacks.v[i];
	put(r, i - s->parent);
	put(r, s->shared);
	put(r, s->depth - s->shared);
	for (uint32_t k = 0; k + s->shared < s->depth; k++)
		put(r, p->stacks.own.v[s->own + k]);
}

struct recorded_table {
	enum recording_chunk type;
	void (*put)(struct recorder *r, const struct profile *p, uint32_t i);
	uint32_t *done;
	size_t n, first; /* rows before first are never written */
};

static int put_table(struct recorder *r, const struct profile *p, const struct recorded_table *t,
		     struct err *err)
{
	int rc = 0;
	if (*t->done < t->first)
		*t->done = t->first;
	while (rc == 0 && *t->done < t->n) {
		t->put(r, p, (*t->done)++);
		rc = chunk_end(r, t->type, *t->done == t->n, err);
	}
	return rc ? rc : chunk_end(r, t->type, true, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void put_signed_column(struct recorder *r, const int64_t *v, size_t n, bool deltas)
{
	int64_t before = 0;
	for (size_t i = 0; i < n; i++) {
		put(r, zigzag((int64_t)((uint64_t)v[i] - (uint64_t)before)));
		before = deltas ? v[i] : 0;
	}
}

/* `add` is 1 for columns whose SAMPLE_NO_ID becomes 0. */
static void put_id_column(struct recorder *r, const uint32_t *v, size_t n, uint32_t add)
{
	int64_t before = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t now = (uint32_t)(v[i] + add);
		put(r, zigzag(now - before));
		before = now;
	}
}

static bool any_length(const struct sample_columns *s, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sample_length_ns(s, from + i))
			return true;
	return false;
}

static int put_samples(struct recorder *r, const struct profile *p, struct err *err)
{
	const struct sample_columns *s = &p->samples;
	int rc = 0;
	while (rc == 0 && r->samples < s->n) {
		size_t at = r->samples, n = s->n - at;
		n = n < SAMPLES_PER_CHUNK ? n : SAMPLES_PER_CHUNK;
		put(r, n);
		put_signed_column(r, s->time_ns + at, n, true);
		put_signed_column(r, s->value + at, n, false);
		put_id_column(r, s->series + at, n, 0);
		put_id_column(r, s->stack + at, n, 0);
		put_id_column(r, s->pid + at, n, 1);
		put_id_column(r, s->tid + at, n, 1);
		put_id_column(r, s->cpu + at, n, 1);
		bool spans = any_length(s, at, n);
		if (spans)
			put_signed_column(r, s->length_ns + at, n, false);
		r->samples += n;
		rc = chunk_end(r, spans ? CHUNK_SPANS : CHUNK_SAMPLES, true, err);
	}
	return rc;
}

/* --- meta ------------------------------------------------------------------------------------- */

static void put_list(struct recorder *r, const uint32_t *v, size_t n)
{
	put(r, n);
	for (size_t i = 0; i < n; i++)
		put(r, v[i]);
}

/* By name: reasons come and go between versions. */
static void put_losses(struct recorder *r, const struct profile_meta *m)
{
	for (int i = 0; i < LOSS_REASONS; i++) {
		size_t len = strlen(loss_reasons[i].name);
		if (!m->loss[i])
			continue;
		put(r, len);
		buf_add(&r->chunk, loss_reasons[i].name, len);
		put(r, m->loss[i]);
	}
}

static int put_meta(struct recorder *r, const struct profile *p, struct err *err)
{
	const struct profile_meta *m = &p->meta;
	put(r, zigzag(m->start_wall_ns));
	put(r, zigzag(m->start_mono_ns));
	put(r, zigzag(m->duration_ns));
	put(r, m->host);
	put(r, m->kernel);
	put(r, m->command);
	put(r, m->clock);
	put(r, m->cpus);
	put(r, m->default_type);
	put(r, m->default_column);
	put(r, m->doc_url);
	put(r, m->drop_frames);
	put(r, m->keep_frames);
	put(r, m->own_cpu_ns);
	put(r, m->own_peak_bytes);
	put_list(r, m->comments.v, m->comments.n);
	put_list(r, m->sample_types.v, m->sample_types.n);
	put_losses(r, m);
	if (r->meta.len == r->chunk.len && memcmp(r->meta.data, r->chunk.data, r->meta.len) == 0) {
		buf_clear(&r->chunk);
		return 0;
	}
	buf_clear(&r->meta);
	buf_add(&r->meta, r->chunk.data, r->chunk.len);
	return chunk_end(r, CHUNK_META, true, err);
}

/* --- the recorder ----------------------------------------------------------------------------- */

/* What is referred to comes before what refers to it. */
static int put_all(struct recorder *r, const struct profile *p, struct err *err)
{
	r->names_until = r->origins_until = r->threads_until = 0;
	const struct recorded_table tables[] = {
		{ CHUNK_STRINGS, put_string, &r->strings, p->strings.all.n, 1 },
		{ CHUNK_MAPPINGS, put_mapping, &r->mappings, p->frames.mappings.n, 0 },
		{ CHUNK_FRAMES, put_frame, &r->frames, p->frames.frames.n, 0 },
		{ CHUNK_FUNCTIONS, put_function, &r->functions, p->names.functions.n, 0 },
		{ CHUNK_NAMES, put_names, &r->names_until, p->frames.frames.n, 0 },
		{ CHUNK_ORIGINS, put_origin, &r->origins_until, p->origins.all.n, 0 },
		{ CHUNK_THREADS, put_thread, &r->threads_until, p->threads.all.n, 0 },
		{ CHUNK_TYPES, put_type, &r->types, p->series.types.n, 0 },
		{ CHUNK_LABELS, put_label_set, &r->sets, p->series.sets.n, 1 },
		{ CHUNK_SERIES, put_series, &r->series, p->series.series.n, 0 },
		{ CHUNK_STACKS, put_stack, &r->stacks, p->stacks.stacks.n, 1 },
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++)
		rc = put_table(r, p, &tables[i], err);
	if (rc == 0)
		rc = put_meta(r, p, err);
	return rc ? rc : put_samples(r, p, err);
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
	buf_done(&r->chunk);
	buf_done(&r->packed);
	buf_done(&r->meta);
	vec_done(&r->names);
	vec_done(&r->origins);
	vec_done(&r->threads);
	free(r);
}

int recorder_open(const char *path, struct recorder **out, struct err *err)
{
	struct recorder *r = xcalloc(1, sizeof *r);
	r->out = &r->own;
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
	int rc = put_all(r, p, err);
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
	struct recorder *r = xcalloc(1, sizeof *r);
	(void)opts;
	r->out = out;
	int rc = put_header(r, err);
	if (rc == 0)
		rc = recorder_commit(r, p, err);
	recorder_free(r);
	return rc;
}
