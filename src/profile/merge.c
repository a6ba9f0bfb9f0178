/* Merges two profiles: adds each table of src to dst's, translating the ids of earlier tables. */
#include "profile/profile.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/merge_files.h"
#include "profile/sum.h"

#include <assert.h>
#include <string.h>

/* Maps ids of src to ids of dst. */
struct merge {
	struct profile *dst;
	const struct profile *src;
	uint32_t *string, *mapping, *frame, *function, *stack, *type, *set, *series, *link;
	struct merge_files files;
};

static void merge_strings(struct merge *m)
{
	const struct strtab *from = &m->src->strings;
	m->string = xreallocarray(NULL, from->all.n, sizeof *m->string);
	for (uint32_t i = 0; i < from->all.n; i++)
		m->string[i] = strtab_putn(&m->dst->strings, from->all.v[i].s, from->all.v[i].len);
}

/* Picks one of two paths of a file: the shorter is more often the usual one. Ties are decided by
 * text, so the order of merging does not matter. */
static uint32_t better_path(const struct profile *p, uint32_t a, uint32_t b)
{
	uint32_t a_len = strtab_len(&p->strings, a), b_len = strtab_len(&p->strings, b);
	if (!a || !b)
		return a ? a : b;
	if (a_len != b_len)
		return a_len < b_len ? a : b;
	return strcmp(profile_str(p, a), profile_str(p, b)) <= 0 ? a : b;
}

static void merge_mappings(struct merge *m)
{
	const struct frame_table *from = &m->src->frames;
	m->mapping = xreallocarray(NULL, from->mappings.n, sizeof *m->mapping);
	for (uint32_t i = 0; i < from->mappings.n; i++) {
		struct mapping copy = from->mappings.v[i];
		copy.name = m->string[copy.name];
		copy.build_id_text = m->string[copy.build_id_text];
		m->mapping[i] = mapping_intern(&m->dst->frames, &copy);
	}
}

static void merge_paths(struct merge *m)
{
	const struct frame_table *from = &m->src->frames;
	for (uint32_t i = 0; i < from->mappings.n; i++) {
		const struct mapping copy = from->mappings.v[i];
		uint32_t to = merge_files_whole(&m->files, i);
		struct mapping *now = &m->dst->frames.mappings.v[to];
		now->name = better_path(m->dst, now->name, m->string[copy.name]);
		if (copy.flags & MAPPING_AS_GIVEN && !(now->flags & MAPPING_AS_GIVEN)) {
			now->start = copy.start;
			now->limit = copy.limit;
			now->offset = copy.offset;
			now->flags = copy.flags | (now->flags & MAPPING_ID_IS_SHARED);
		}
	}
}

static void merge_frames(struct merge *m)
{
	const struct frame_table *from = &m->src->frames;
	m->frame = xreallocarray(NULL, from->frames.n, sizeof *m->frame);
	for (uint32_t i = 0; i < from->frames.n; i++) {
		struct frame copy = from->frames.v[i];
		if (copy.mapping != MAPPING_NONE) {
			copy.mapping = merge_files_mapping(&m->files, i);
		} else {
			copy.function = m->string[copy.function];
			copy.file = m->string[copy.file];
			copy.binary = m->string[copy.binary];
		}
		m->frame[i] = frame_intern(&m->dst->frames, &copy);
	}
}

static void merge_functions(struct merge *m)
{
	const struct names *from = &m->src->names;
	m->function = xreallocarray(NULL, from->functions.n, sizeof *m->function);
	for (uint32_t i = 0; i < from->functions.n; i++) {
		struct function copy = from->functions.v[i];
		copy.name = m->string[copy.name];
		copy.linkage = m->string[copy.linkage];
		copy.file = m->string[copy.file];
		m->function[i] = function_intern(&m->dst->names, &copy);
	}
}

/* Orders lines by how much detail they have, then by text. Returns > 0 if a is better. */
static int line_better(const struct profile *p, const struct line *a, const struct line *b)
{
	const struct function *x = &p->names.functions.v[a->function];
	const struct function *y = &p->names.functions.v[b->function];
	int order = (int)line_detail(x, a) - (int)line_detail(y, b);
	order = order ? order : strcmp(profile_str(p, y->name), profile_str(p, x->name));
	order = order ? order : strcmp(profile_str(p, y->file), profile_str(p, x->file));
	order = order ? order : strcmp(profile_str(p, y->linkage), profile_str(p, x->linkage));
	order = order ? order : (y->start_line < x->start_line) - (y->start_line > x->start_line);
	order = order ? order : (b->line < a->line) - (b->line > a->line);
	return order ? order : (b->column < a->column) - (b->column > a->column);
}

/* Whether list a has more detail than b: more inlined lines, else the first better line. */
static bool names_better(const struct profile *p, const struct line *a, uint32_t a_n,
			 const struct line *b, uint32_t b_n)
{
	if (a_n != b_n)
		return a_n > b_n;
	for (uint32_t i = 0; i < a_n; i++) {
		int order = line_better(p, &a[i], &b[i]);
		if (order)
			return order > 0;
	}
	return false;
}

static void merge_names(struct merge *m)
{
	struct line lines[NAMES_MAX_INLINE];
	for (uint32_t i = 0; i < m->src->frames.frames.n; i++) {
		const struct line *theirs, *ours = NULL;
		uint32_t n = names_get(&m->src->names, i, &theirs);
		for (uint32_t k = 0; k < n; k++) {
			lines[k] = theirs[k];
			lines[k].function = m->function[theirs[k].function];
		}
		uint32_t ours_n = names_get(&m->dst->names, m->frame[i], &ours);
		if (names_better(m->dst, lines, n, ours, ours_n))
			names_set(&m->dst->names, m->frame[i], lines, n);
	}
}

static void merge_origins(struct merge *m)
{
	for (size_t i = 0; i < m->src->origins.all.n; i++) {
		const struct origin *o = &m->src->origins.all.v[i];
		origin_add(&m->dst->origins, merge_files_whole(&m->files, o->mapping),
			   m->string[o->name], o->frames);
	}
}

static void merge_stacks(struct merge *m)
{
	const struct stack_table *from = &m->src->stacks;
	uint32_t *frames = xmalloc(STACK_MAX_DEPTH * sizeof *frames);
	m->stack = xreallocarray(NULL, from->stacks.n, sizeof *m->stack);
	for (uint32_t i = 0; i < from->stacks.n; i++) {
		uint32_t n = stack_depth(from, i);
		stack_frames(from, i, frames);
		for (uint32_t k = 0; k < n; k++)
			frames[k] = m->frame[frames[k]];
		m->stack[i] = stack_intern(&m->dst->stacks, frames, n);
	}
	free(frames);
}

static void merge_types(struct merge *m)
{
	const struct series_table *from = &m->src->series;
	m->type = xreallocarray(NULL, from->types.n, sizeof *m->type);
	for (uint32_t i = 0; i < from->types.n; i++) {
		struct type copy = from->types.v[i];
		copy.name = m->string[copy.name];
		copy.sample_type = m->string[copy.sample_type];
		copy.unit = m->string[copy.unit];
		copy.period_type = m->string[copy.period_type];
		copy.period_unit = m->string[copy.period_unit];
		m->type[i] = type_intern(&m->dst->series, &copy);
	}
}

static uint32_t merge_set(struct merge *m, const struct label *labels, uint32_t n)
{
	struct label *copy = xreallocarray(NULL, n, sizeof *copy);
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = labels[i];
		copy[i].key = m->string[labels[i].key];
		copy[i].str = m->string[labels[i].str];
		copy[i].unit = m->string[labels[i].unit];
	}
	uint32_t id = label_set_intern(&m->dst->series, copy, n);
	free(copy);
	return id;
}

static void merge_series(struct merge *m)
{
	const struct series_table *from = &m->src->series;
	m->set = xreallocarray(NULL, from->sets.n, sizeof *m->set);
	for (uint32_t i = 0; i < from->sets.n; i++)
		m->set[i] = merge_set(m, &from->labels.v[from->sets.v[i].first], from->sets.v[i].n);
	m->series = xreallocarray(NULL, from->series.n, sizeof *m->series);
	for (uint32_t i = 0; i < from->series.n; i++) {
		struct series copy = from->series.v[i];
		copy.type = m->type[copy.type];
		copy.labels = m->set[copy.labels];
		m->series[i] = series_intern(&m->dst->series, &copy);
	}
}

static void merge_links(struct merge *m)
{
	const struct link_table *from = &m->src->links;
	struct sink *sink = profile_sink(m->dst);
	m->link = xcalloc(from->all.n + 1, sizeof *m->link);
	for (uint32_t i = 0; i < from->all.n; i++)
		m->link[i + 1] = sink->ops->link(sink, &from->all.v[i]);
}

static bool has_times(const struct sample_columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->time_ns[i])
			return true;
	return false;
}

/* Returns the offset from src's clock to dst's: 0 unless both know the wall clock at their
 * start. */
static int64_t clock_shift_ns(const struct profile *dst, const struct profile *src)
{
	const struct profile_meta *d = &dst->meta, *s = &src->meta;
	if (!d->start_wall_ns || !s->start_wall_ns)
		return 0;
	return sum_sub(sum_sub(s->start_wall_ns, s->start_mono_ns),
		       sum_sub(d->start_wall_ns, d->start_mono_ns));
}

static void merge_samples(struct merge *m, int64_t shift_ns)
{
	const struct sample_columns *c = &m->src->samples;
	struct sink *sink = profile_sink(m->dst);
	if (!has_times(c))
		shift_ns = 0;
	for (size_t i = 0; i < c->n; i++) {
		struct sample s = {
			.time_ns = sum_add(c->time_ns[i], shift_ns),
			.length_ns = sample_length_ns(c, i),
			.value = c->value[i],
			.series = m->series[c->series[i]],
			.stack = m->stack[c->stack[i]],
			.pid = c->pid[i],
			.tid = c->tid[i],
			.cpu = c->cpu[i],
			.link = m->link[sample_link(c, i)],
		};
		sink->ops->sample(sink, &s);
	}
}

static void merge_readings(struct merge *m, int64_t shift_ns)
{
	struct sink *sink = profile_sink(m->dst);
	VEC(struct reading_point) points = { 0 };
	for (size_t i = 0; i < m->src->readings.all.n; i++) {
		const struct reading_series *from = &m->src->readings.all.v[i];
		struct reading_key key = from->key;
		key.name = m->string[key.name];
		key.unit = m->string[key.unit];
		key.labels = m->set[key.labels];
		vec_clear(&points);
		for (size_t k = 0; k < from->points.n; k++)
			vec_push(&points, (struct reading_point){
						  sum_add(from->points.v[k].time_ns, shift_ns),
						  from->points.v[k].value });
		sink->ops->readings(sink, &key, points.v, points.n);
	}
	vec_done(&points);
}

static void merge_threads(struct merge *m, int64_t shift_ns)
{
	for (size_t i = 0; i < m->src->threads.all.n; i++) {
		struct thread_times row = m->src->threads.all.v[i];
		row.name = m->string[row.name];
		row.first_ns = sum_add(row.first_ns, shift_ns);
		row.last_ns = sum_add(row.last_ns, shift_ns);
		thread_table_put(&m->dst->threads, &row);
	}
}

/* Sets the time covered: from the earlier start to the later end if both are known, else the sum of
 * both. */
static void merge_extent(struct profile_meta *d, const struct profile_meta *s, int64_t shift_ns)
{
	if (!d->start_wall_ns || !s->start_wall_ns) {
		d->duration_ns = sum_add(d->duration_ns, s->duration_ns);
		if (s->start_wall_ns) {
			d->start_wall_ns = s->start_wall_ns;
			d->start_mono_ns = s->start_mono_ns;
		}
		return;
	}
	int64_t end_ns = sum_add(d->start_wall_ns, d->duration_ns);
	int64_t src_end_ns = sum_add(s->start_wall_ns, s->duration_ns);
	if (s->start_wall_ns < d->start_wall_ns) {
		d->start_wall_ns = s->start_wall_ns;
		d->start_mono_ns = sum_add(s->start_mono_ns, shift_ns);
	}
	end_ns = end_ns > src_end_ns ? end_ns : src_end_ns;
	d->duration_ns = sum_sub(end_ns, d->start_wall_ns);
}

static bool has_id(const uint32_t *ids, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void merge_lists(struct merge *m)
{
	struct profile_meta *d = &m->dst->meta;
	const struct profile_meta *s = &m->src->meta;
	for (size_t i = 0; i < s->comments.n; i++) {
		uint32_t id = m->string[s->comments.v[i]];
		if (!has_id(d->comments.v, d->comments.n, id))
			vec_push(&d->comments, id);
	}
	bool has_default = s->default_type && s->default_type < m->src->series.types.n;
	if (has_default && !d->default_type && !d->sample_types.n)
		d->default_type = m->type[s->default_type];
	for (size_t i = 0; i < s->sample_types.n; i++) {
		uint32_t id = m->type[s->sample_types.v[i]];
		if (!has_id(d->sample_types.v, d->sample_types.n, id))
			vec_push(&d->sample_types, id);
	}
}

/* If the texts differ, the one of the earlier recording is retained. */
static void merge_text(struct merge *m, uint32_t *text, uint32_t src_text, bool src_is_earlier)
{
	if (src_text && (!*text || src_is_earlier))
		*text = m->string[src_text];
}

static void merge_texts(struct merge *m)
{
	struct profile_meta *d = &m->dst->meta;
	const struct profile_meta *s = &m->src->meta;
	bool earlier =
		s->start_wall_ns && (!d->start_wall_ns || s->start_wall_ns < d->start_wall_ns);
	merge_text(m, &d->host, s->host, earlier);
	merge_text(m, &d->kernel, s->kernel, earlier);
	merge_text(m, &d->command, s->command, earlier);
	merge_text(m, &d->clock, s->clock, earlier);
	merge_text(m, &d->doc_url, s->doc_url, earlier);
	merge_text(m, &d->drop_frames, s->drop_frames, earlier);
	merge_text(m, &d->keep_frames, s->keep_frames, earlier);
	merge_text(m, &d->default_column, s->default_column, earlier);
}

static void merge_meta(struct merge *m, int64_t shift_ns)
{
	struct profile_meta *d = &m->dst->meta;
	const struct profile_meta *s = &m->src->meta;
	merge_lists(m);
	/* CPUs of two hosts add up; two recordings of one host are of the same CPUs. */
	if (d->host && s->host && d->host != m->string[s->host])
		d->cpus += s->cpus;
	else
		d->cpus = d->cpus > s->cpus ? d->cpus : s->cpus;
	merge_texts(m);
	merge_extent(d, s, shift_ns);
	d->own_cpu_ns += s->own_cpu_ns;
	d->own_peak_bytes =
		d->own_peak_bytes > s->own_peak_bytes ? d->own_peak_bytes : s->own_peak_bytes;
	for (int i = 0; i < LOSS_REASONS; i++)
		d->loss[i] += s->loss[i];
	for (int i = 0; i < LOSS_REASONS; i++)
		d->loss_ns[i] = sum_add(d->loss_ns[i], s->loss_ns[i]);
}

static void merge_done(struct merge *m)
{
	free(m->string);
	free(m->mapping);
	free(m->frame);
	free(m->function);
	free(m->stack);
	free(m->type);
	free(m->set);
	free(m->series);
	free(m->link);
	merge_files_done(&m->files);
}

static void merge(struct profile *dst, const struct profile *src, bool own_names)
{
	assert(dst != src);
	struct merge m = { .dst = dst, .src = src };
	int64_t shift_ns = clock_shift_ns(dst, src);
	merge_strings(&m);
	merge_mappings(&m);
	m.files = (struct merge_files){
		.dst = dst, .src = src, .string = m.string, .mapping = m.mapping
	};
	if (own_names)
		merge_files_find(&m.files);
	merge_paths(&m);
	merge_frames(&m);
	merge_functions(&m);
	merge_names(&m);
	merge_origins(&m);
	merge_stacks(&m);
	merge_types(&m);
	merge_series(&m);
	merge_links(&m);
	merge_samples(&m, shift_ns);
	merge_threads(&m, shift_ns);
	merge_readings(&m, shift_ns);
	merge_meta(&m, shift_ns);
	merge_done(&m);
}

void profile_merge(struct profile *dst, const struct profile *src)
{
	merge(dst, src, false);
}

void profile_merge_file(struct profile *dst, const struct profile *src)
{
	merge(dst, src, true);
}
