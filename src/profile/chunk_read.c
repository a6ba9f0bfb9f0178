/* A decoder per chunk type, with checks of every id. */
#include "profile/chunk_read.h"

#include "base/buf.h"
#include "profile/chunk.h"
#include "profile/frame.h"
#include "profile/link.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/readings.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/thread.h"

#include <string.h>
#include <xxhash.h>
#include <zstd.h>

uint64_t chunk_checksum(uint32_t type, uint32_t flags, const void *payload, size_t len)
{
	return XXH3_64bits_withSeed(payload, len, (uint64_t)flags << 32 | type);
}

bool chunk_unpack(uint32_t flags, const void *payload, size_t len, struct buf *raw, struct cur *out)
{
	*out = cur_of(payload, len);
	if (!(flags & CHUNK_ZSTD))
		return len <= CHUNK_MAX_BYTES;
	unsigned long long size = ZSTD_getFrameContentSize(payload, len);
	if (size > CHUNK_MAX_BYTES) /* the values for unknown and error are larger */
		return false;
	buf_clear(raw);
	buf_reserve(raw, size + 1);
	size_t got = ZSTD_decompress(raw->data, size, payload, len);
	if (ZSTD_isError(got))
		return false;
	*out = cur_of(raw->data, got);
	return true;
}

void chunk_reader_init(struct chunk_reader *t, struct sink *sink)
{
	*t = (struct chunk_reader){ .sink = sink };
	vec_push(&t->strings.v, sink_string(sink, ""));
	vec_push(&t->sets.v, sink->ops->labels(sink, NULL, 0));
	vec_push(&t->stacks.v, sink->ops->stack(sink, NULL, 0));
	vec_push(&t->links.v, 0);
	vec_push(&t->file_stacks.stacks, (struct stack){ 0 });
}

void chunk_reader_restore(struct chunk_reader *t, struct profile *p)
{
	*t = (struct chunk_reader){ .sink = profile_sink(p), .restored = &p->stacks };
	vec_push(&t->strings.v, 0);
	vec_push(&t->sets.v, t->sink->ops->labels(t->sink, NULL, 0));
	vec_push(&t->stacks.v, 0);
	vec_push(&t->links.v, 0);
}

static void add_own_ids(struct chunk_ids *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_push(&ids->v, i);
}

void chunk_reader_init_own(struct chunk_reader *t, struct profile *p)
{
	*t = (struct chunk_reader){ .sink = profile_sink(p) };
	add_own_ids(&t->series, p->series.series.n);
	add_own_ids(&t->stacks, p->stacks.stacks.n);
	add_own_ids(&t->links, p->links.all.n + 1);
}

static void seek_ids(struct chunk_ids *ids, size_t n)
{
	vec_reserve(&ids->v, n);
	while (ids->v.n < n) {
		ids->v.v[ids->v.n] = ids->v.n;
		ids->v.n++;
	}
	ids->v.n = n;
}

void chunk_reader_seek(struct chunk_reader *t, const struct chunk_position *at)
{
	seek_ids(&t->strings, at->strings);
	seek_ids(&t->mappings, at->mappings);
	seek_ids(&t->frames, at->frames);
	seek_ids(&t->stacks, at->stacks);
}

void chunk_reader_done(struct chunk_reader *t)
{
	struct chunk_ids *ids[] = { &t->strings, &t->mappings, &t->frames, &t->functions, &t->types,
				    &t->sets,    &t->series,   &t->stacks, &t->links };
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		vec_done(&ids[i]->v);
	vec_done(&t->file_stacks.stacks);
	vec_done(&t->file_stacks.own);
	vec_done(&t->scratch);
	vec_done(&t->lines);
	vec_done(&t->labels);
	vec_done(&t->samples);
	vec_done(&t->readings);
	vec_done(&t->meta.comments);
	vec_done(&t->meta.sample_types);
}

/* --- reading values --------------------------------------------------------------------------- */

/* Reads a number that must be at most max. */
static uint32_t get_u32(struct cur *c, uint32_t max)
{
	uint64_t v = cur_varint(c);
	if (v > max)
		c->bad = true;
	return c->bad ? 0 : v;
}

/* Reads an id of the file and returns the sink's. */
static uint32_t get_id(struct cur *c, const struct chunk_ids *ids)
{
	uint64_t id = cur_varint(c);
	if (id >= ids->v.n)
		c->bad = true;
	return c->bad ? 0 : ids->v.v[id];
}

/* String ids may differ, as the sink may have other strings. Other ids of a restored table must
 * equal the file's. */
static bool add_id(struct chunk_reader *t, struct chunk_ids *ids, uint32_t id)
{
	if (ids->v.n >= CHUNK_MAX_ENTRIES || (t->restored && ids != &t->strings && id != ids->v.n))
		return false;
	vec_push(&ids->v, id);
	return true;
}

/* --- tables: each reads one row --------------------------------------------------------------- */

static bool read_string(struct chunk_reader *t, struct cur *c)
{
	uint64_t len = cur_varint(c);
	const char *s = cur_take(c, len);
	return s && add_id(t, &t->strings, t->sink->ops->string(t->sink, s, len));
}

static bool read_mapping(struct chunk_reader *t, struct cur *c)
{
	struct mapping m = { .name = get_id(c, &t->strings) };
	m.build_id_len = get_u32(c, BUILD_ID_MAX);
	const void *id = cur_take(c, m.build_id_len);
	if (id)
		memcpy(m.build_id, id, m.build_id_len);
	m.build_id_text = get_id(c, &t->strings);
	m.identity = cur_varint(c);
	m.start = cur_varint(c);
	m.limit = cur_varint(c);
	m.offset = cur_varint(c);
	m.flags = get_u32(c, UINT8_MAX);
	return !c->bad && add_id(t, &t->mappings, t->sink->ops->mapping(t->sink, &m));
}

static bool read_frame(struct chunk_reader *t, struct cur *c)
{
	struct frame f = { .kind = get_u32(c, FRAME_KINDS - 1) };
	uint32_t mapping = get_u32(c, t->mappings.v.n);
	if (mapping) {
		f.mapping = t->mappings.v.v[mapping - 1];
		f.offset = cur_varint(c);
	} else {
		f.mapping = MAPPING_NONE;
		f.function = get_id(c, &t->strings);
		f.file = get_id(c, &t->strings);
		f.line = get_u32(c, UINT32_MAX);
		f.binary = get_id(c, &t->strings);
	}
	return !c->bad && add_id(t, &t->frames, t->sink->ops->frame(t->sink, &f));
}

static bool read_function(struct chunk_reader *t, struct cur *c)
{
	struct function f = { .name = get_id(c, &t->strings) };
	f.linkage = get_id(c, &t->strings);
	f.file = get_id(c, &t->strings);
	f.start_line = get_u32(c, UINT32_MAX);
	return !c->bad && add_id(t, &t->functions, t->sink->ops->function(t->sink, &f));
}

static bool read_names(struct chunk_reader *t, struct cur *c)
{
	uint32_t frame = get_id(c, &t->frames);
	uint32_t n = get_u32(c, NAMES_MAX_INLINE);
	vec_clear(&t->lines);
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		struct line l = { .function = get_id(c, &t->functions) };
		l.line = get_u32(c, UINT32_MAX);
		l.column = get_u32(c, UINT32_MAX);
		vec_push(&t->lines, l);
	}
	if (!c->bad)
		t->sink->ops->names(t->sink, frame, t->lines.v, n);
	return !c->bad;
}

/* Adds to the count of an origin. */
static bool read_origin(struct chunk_reader *t, struct cur *c)
{
	uint32_t mapping = get_id(c, &t->mappings), name = get_id(c, &t->strings);
	uint64_t frames = cur_varint(c);
	if (!c->bad)
		t->sink->ops->origin(t->sink, mapping, name, frames);
	return !c->bad;
}

static bool read_type(struct chunk_reader *t, struct cur *c)
{
	struct type type = { .name = get_id(c, &t->strings) };
	type.sample_type = get_id(c, &t->strings);
	type.unit = get_id(c, &t->strings);
	type.period_type = get_id(c, &t->strings);
	type.period_unit = get_id(c, &t->strings);
	type.aggregation = get_u32(c, AGG_COUNTER);
	return !c->bad && add_id(t, &t->types, t->sink->ops->type(t->sink, &type));
}

static bool read_label_set(struct chunk_reader *t, struct cur *c)
{
	enum { LABEL_BYTES = 4 }; /* minimum */
	uint32_t n = get_u32(c, cur_left(c) / LABEL_BYTES);
	vec_clear(&t->labels);
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		struct label l = { .key = get_id(c, &t->strings) };
		l.is_num = get_u32(c, 1);
		if (l.is_num)
			l.num = unzigzag(cur_varint(c));
		else
			l.str = get_id(c, &t->strings);
		l.unit = get_id(c, &t->strings);
		vec_push(&t->labels, l);
	}
	return !c->bad && add_id(t, &t->sets, t->sink->ops->labels(t->sink, t->labels.v, n));
}

static bool read_series(struct chunk_reader *t, struct cur *c)
{
	struct series s = { .type = get_id(c, &t->types) };
	s.period = unzigzag(cur_varint(c));
	s.labels = get_id(c, &t->sets);
	return !c->bad && add_id(t, &t->series, t->sink->ops->series(t->sink, &s));
}

static bool read_link(struct chunk_reader *t, struct cur *c)
{
	struct trace_link link;
	const void *bytes = cur_take(c, sizeof link);
	if (!bytes)
		return false;
	memcpy(&link, bytes, sizeof link);
	return add_id(t, &t->links, t->sink->ops->link(t->sink, &link));
}

/* Most of the input is frames of stacks. A restored frame has the file's id and needs no lookup. */
static inline uint32_t get_frame(struct cur *c, const struct chunk_reader *t)
{
	uint64_t id = cur_varint(c);
	if (id >= t->frames.v.n)
		c->bad = true;
	if (c->bad)
		return 0;
	return t->restored ? (uint32_t)id : t->frames.v.v[id];
}

/* Reads a stack with the file's ids; leaves its own frames in t->scratch. */
static bool read_own_frames(struct chunk_reader *t, struct cur *c, struct stack *s)
{
	uint64_t id = t->stacks.v.n, back = cur_varint(c);
	if (c->bad || back == 0 || back > id)
		return false;
	s->parent = id - back;
	s->shared = get_u32(c, STACK_MAX_DEPTH);
	uint32_t own = get_u32(c, STACK_MAX_DEPTH - s->shared);
	s->depth = s->shared + own;
	if (own > cur_left(c)) /* each takes at least one byte */
		return false;
	vec_reserve(&t->scratch, own);
	for (uint32_t i = 0; i < own && !c->bad; i++)
		t->scratch.v[i] = get_frame(c, t);
	return !c->bad;
}

/* Stacks that the sink already has must be equal; others are appended. */
static bool restore_stack(struct chunk_reader *t, const struct stack *s)
{
	struct stack_table *to = t->restored;
	uint32_t id = t->stacks.v.n, n_own = s->depth - s->shared;
	if (id >= to->stacks.n)
		return stack_append(to, s->parent, s->shared, t->scratch.v, n_own) &&
		       add_id(t, &t->stacks, id);
	const struct stack *there = &to->stacks.v[id];
	if (there->parent != s->parent || there->shared != s->shared || there->depth != s->depth)
		return false;
	if (n_own && memcmp(&to->own.v[there->own], t->scratch.v, n_own * sizeof(uint32_t)) != 0)
		return false;
	return add_id(t, &t->stacks, id);
}

/* Checks the invariants of profile/stack.h that stack_frames relies on. */
static bool stack_links_hold(const struct stack_table *table, const struct stack *s)
{
	const struct stack *parent = &table->stacks.v[s->parent];
	return s->shared <= parent->depth &&
	       (s->shared == 0 ? s->parent == 0 : parent->shared < s->shared);
}

static bool read_stack(struct chunk_reader *t, struct cur *c)
{
	struct stack_table *table = &t->file_stacks;
	struct stack s = { 0 };
	if (!read_own_frames(t, c, &s))
		return false;
	if (t->restored)
		return restore_stack(t, &s);
	t->frames_given += s.depth;
	if (t->frames_given > CHUNK_MAX_FRAMES || !stack_links_hold(table, &s))
		return false;
	s.own = table->own.n;
	vec_append(&table->own, t->scratch.v, s.depth - s.shared);
	vec_push(&table->stacks, s);
	vec_reserve(&t->scratch, s.depth);
	stack_frames(table, table->stacks.n - 1, t->scratch.v);
	return add_id(t, &t->stacks, t->sink->ops->stack(t->sink, t->scratch.v, s.depth));
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Reads the next value of a delta-coded column of 32-bit numbers. */
static uint32_t next_u32(struct cur *c, int64_t *before)
{
	int64_t v = (int64_t)((uint64_t)*before + (uint64_t)unzigzag(cur_varint(c)));
	if (v < 0 || v > UINT32_MAX)
		c->bad = true;
	*before = v;
	return v;
}

static void read_ids(struct cur *c, struct sample *samples, size_t n, size_t member,
		     const struct chunk_ids *ids)
{
	int64_t before = 0;
	for (size_t i = 0; i < n && !c->bad; i++) {
		uint32_t v = next_u32(c, &before);
		if (ids && v >= ids->v.n)
			c->bad = true;
		else
			v = ids ? ids->v.v[v] : v - 1; /* 0 is SAMPLE_NO_ID */
		memcpy((char *)&samples[i] + member, &v, sizeof v);
	}
}

/* If a span is missing because its chunk was damaged, the sample only loses its trace. */
static void read_links(const struct chunk_reader *t, struct cur *c, struct sample *samples,
		       size_t n)
{
	int64_t before = 0;
	for (size_t i = 0; i < n && !c->bad; i++) {
		uint32_t v = next_u32(c, &before);
		samples[i].link = v < t->links.v.n ? t->links.v.v[v] : 0;
	}
}

/* Reads a chunk, which contains one set of columns. */
static bool read_columns(struct chunk_reader *t, struct cur *c, enum chunk_type type)
{
	enum { SAMPLE_BYTES = 7 }; /* minimum: one for each column */
	uint32_t n = get_u32(c, cur_left(c) / SAMPLE_BYTES);
	if (c->bad || t->samples_given + n > CHUNK_MAX_ENTRIES)
		return false;
	vec_reserve(&t->samples, n);
	struct sample *s = t->samples.v;
	if (n)
		memset(s, 0, n * sizeof *s);
	uint64_t time = 0;
	for (uint32_t i = 0; i < n; i++) {
		time += (uint64_t)unzigzag(cur_varint(c));
		s[i].time_ns = (int64_t)time;
	}
	for (uint32_t i = 0; i < n; i++)
		s[i].value = unzigzag(cur_varint(c));
	read_ids(c, s, n, offsetof(struct sample, series), &t->series);
	read_ids(c, s, n, offsetof(struct sample, stack), &t->stacks);
	read_ids(c, s, n, offsetof(struct sample, pid), NULL);
	read_ids(c, s, n, offsetof(struct sample, tid), NULL);
	read_ids(c, s, n, offsetof(struct sample, cpu), NULL);
	for (uint32_t i = 0; type != CHUNK_SAMPLES && i < n; i++)
		s[i].length_ns = unzigzag(cur_varint(c));
	if (type == CHUNK_LINKED)
		read_links(t, c, s, n);
	if (c->bad)
		return false;
	for (uint32_t i = 0; i < n; i++)
		t->sink->ops->sample(t->sink, &s[i]);
	t->samples_given += n;
	return true;
}

static bool read_samples(struct chunk_reader *t, struct cur *c)
{
	return read_columns(t, c, CHUNK_SAMPLES);
}

static bool read_spans(struct chunk_reader *t, struct cur *c)
{
	return read_columns(t, c, CHUNK_SPANS);
}

static bool read_linked(struct chunk_reader *t, struct cur *c)
{
	return read_columns(t, c, CHUNK_LINKED);
}

static bool read_thread(struct chunk_reader *t, struct cur *c)
{
	struct thread_times row = { .pid = get_u32(c, UINT32_MAX), .tid = get_u32(c, UINT32_MAX) };
	row.name = get_id(c, &t->strings);
	row.first_ns = unzigzag(cur_varint(c));
	row.last_ns = unzigzag(cur_varint(c));
	row.on_ns = unzigzag(cur_varint(c));
	row.off_ns = unzigzag(cur_varint(c));
	row.wait_ns = unzigzag(cur_varint(c));
	row.stopped_ns = unzigzag(cur_varint(c));
	if (!c->bad)
		t->sink->ops->thread(t->sink, &row);
	return !c->bad;
}

/* Each value is the XOR of the previous one and a byte-swapped number, so an unchanged value is
 * 0. */
static void read_points(struct chunk_reader *t, struct cur *c, uint32_t n)
{
	uint64_t time = 0, bits = 0;
	vec_clear(&t->readings);
	vec_reserve(&t->readings, n);
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		time += (uint64_t)unzigzag(cur_varint(c));
		bits ^= __builtin_bswap64(cur_varint(c));
		struct reading_point point = { .time_ns = (int64_t)time };
		memcpy(&point.value, &bits, sizeof bits);
		vec_push(&t->readings, point);
	}
}

static bool read_readings(struct chunk_reader *t, struct cur *c)
{
	enum { POINT_BYTES = 2 }; /* minimum */
	struct reading_key key = { .name = get_id(c, &t->strings) };
	key.unit = get_id(c, &t->strings);
	key.labels = get_id(c, &t->sets);
	key.is_counter = get_u32(c, 1);
	size_t most = cur_left(c) / POINT_BYTES;
	read_points(t, c, get_u32(c, most < READINGS_MAX_POINTS ? most : READINGS_MAX_POINTS));
	if (!c->bad)
		t->sink->ops->readings(t->sink, &key, t->readings.v, t->readings.n);
	return !c->bad;
}

/* --- meta ------------------------------------------------------------------------------------- */

static void read_meta_numbers(struct chunk_reader *t, struct cur *c)
{
	struct profile_meta *m = &t->meta;
	m->start_wall_ns = unzigzag(cur_varint(c));
	m->start_mono_ns = unzigzag(cur_varint(c));
	m->duration_ns = unzigzag(cur_varint(c));
	m->host = get_id(c, &t->strings);
	m->kernel = get_id(c, &t->strings);
	m->command = get_id(c, &t->strings);
	m->clock = get_id(c, &t->strings);
	m->cpus = get_u32(c, UINT32_MAX);
	uint64_t type = cur_varint(c); /* 0: none */
	m->default_type = type < t->types.v.n ? t->types.v.v[type] : 0;
	m->default_column = get_id(c, &t->strings);
	m->doc_url = get_id(c, &t->strings);
	m->drop_frames = get_id(c, &t->strings);
	m->keep_frames = get_id(c, &t->strings);
	m->own_cpu_ns = cur_varint(c);
	m->own_peak_bytes = cur_varint(c);
}

static void keep_loss(struct profile_meta *m, const char *name, size_t len, uint64_t n)
{
	for (int i = 0; i < LOSS_REASONS; i++) {
		size_t reason = strlen(loss_reasons[i].name);
		if (reason > len || memcmp(loss_reasons[i].name, name, reason) != 0)
			continue;
		if (reason == len)
			m->loss[i] = n;
		else if (len - reason == strlen(LOSS_TIME_SUFFIX) &&
			 memcmp(name + reason, LOSS_TIME_SUFFIX, len - reason) == 0)
			m->loss_ns[i] = (int64_t)n;
	}
}

/* Reads to the end of the chunk; skips unknown reasons. */
static void read_losses(struct profile_meta *m, struct cur *c)
{
	memset(m->loss, 0, sizeof m->loss);
	memset(m->loss_ns, 0, sizeof m->loss_ns);
	while (cur_left(c)) {
		uint64_t len = cur_varint(c);
		const char *name = cur_take(c, len);
		uint64_t n = cur_varint(c);
		if (!c->bad)
			keep_loss(m, name, len, n);
	}
}

static bool read_meta(struct chunk_reader *t, struct cur *c)
{
	struct profile_meta *m = &t->meta;
	read_meta_numbers(t, c);
	vec_clear(&m->comments);
	vec_clear(&m->sample_types);
	for (uint32_t n = get_u32(c, cur_left(c)); n && !c->bad; n--)
		vec_push(&m->comments, get_id(c, &t->strings));
	for (uint32_t n = get_u32(c, cur_left(c)); n && !c->bad; n--)
		vec_push(&m->sample_types, get_id(c, &t->types));
	read_losses(m, c);
	if (c->bad) { /* drop an incomplete meta */
		vec_clear(&m->comments);
		vec_clear(&m->sample_types);
	}
	t->has_meta = !c->bad;
	return !c->bad;
}

void chunk_reader_end(struct chunk_reader *t)
{
	struct profile_meta *to = t->sink->ops->meta(t->sink), *from = &t->meta;
	if (!t->has_meta)
		return;
	for (size_t i = 0; i < from->comments.n; i++)
		vec_push(&to->comments, from->comments.v[i]);
	vec_clear(&to->sample_types);
	for (size_t i = 0; i < from->sample_types.n; i++)
		vec_push(&to->sample_types, from->sample_types.v[i]);
	for (int i = 0; i < LOSS_REASONS; i++)
		if (from->loss[i])
			t->sink->ops->loss(t->sink, i, from->loss[i]);
	for (int i = 0; i < LOSS_REASONS; i++)
		if (from->loss_ns[i])
			t->sink->ops->loss_time(t->sink, i, from->loss_ns[i]);
	to->start_wall_ns = from->start_wall_ns;
	to->start_mono_ns = from->start_mono_ns;
	to->duration_ns = from->duration_ns;
	to->host = from->host;
	to->kernel = from->kernel;
	to->command = from->command;
	to->clock = from->clock;
	to->cpus = from->cpus;
	to->default_type = from->default_type;
	to->default_column = from->default_column;
	to->doc_url = from->doc_url;
	to->drop_frames = from->drop_frames;
	to->keep_frames = from->keep_frames;
	to->own_cpu_ns = from->own_cpu_ns;
	to->own_peak_bytes = from->own_peak_bytes;
}

static bool (*const row_readers[])(struct chunk_reader *t, struct cur *c) = {
	[CHUNK_STRINGS] = read_string,    [CHUNK_MAPPINGS] = read_mapping,
	[CHUNK_FRAMES] = read_frame,      [CHUNK_FUNCTIONS] = read_function,
	[CHUNK_NAMES] = read_names,       [CHUNK_TYPES] = read_type,
	[CHUNK_LABELS] = read_label_set,  [CHUNK_SERIES] = read_series,
	[CHUNK_STACKS] = read_stack,      [CHUNK_SAMPLES] = read_samples,
	[CHUNK_META] = read_meta,         [CHUNK_ORIGINS] = read_origin,
	[CHUNK_SPANS] = read_spans,       [CHUNK_THREADS] = read_thread,
	[CHUNK_LINKS] = read_link,        [CHUNK_LINKED] = read_linked,
	[CHUNK_READINGS] = read_readings,
};

bool chunk_apply(struct chunk_reader *t, uint32_t type, struct cur payload)
{
	bool ok = true;
	while (ok && cur_left(&payload))
		ok = row_readers[type](t, &payload);
	return ok && !payload.bad;
}
