/* Creates and frees the tables, and implements the sink. */
#include "profile/profile.h"

#include "base/buf.h"
#include "base/mem.h"
#include "profile/sum.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void origin_add(struct origin_table *t, uint32_t mapping, uint32_t name, uint64_t frames)
{
	uint64_t key = (uint64_t)mapping << 32 | name;
	uint32_t i = map_intern(&t->index, key, t->all.n, NULL, NULL);
	if (i == t->all.n)
		vec_push(&t->all, (struct origin){ .mapping = mapping, .name = name });
	struct origin *o = &t->all.v[i];
	o->frames = o->frames > UINT64_MAX - frames ? UINT64_MAX : o->frames + frames;
}

static struct profile *profile_of(struct sink *s)
{
	return (struct profile *)s;
}

static uint32_t profile_string(struct sink *s, const char *data, size_t len)
{
	return strtab_putn(&profile_of(s)->strings, data, len);
}

static uint32_t profile_mapping(struct sink *s, const struct mapping *m)
{
	return mapping_intern(&profile_of(s)->frames, m);
}

static uint32_t profile_frame(struct sink *s, const struct frame *f)
{
	return frame_intern(&profile_of(s)->frames, f);
}

static uint32_t profile_function(struct sink *s, const struct function *f)
{
	return function_intern(&profile_of(s)->names, f);
}

static void profile_names(struct sink *s, uint32_t frame, const struct line *lines, uint32_t n)
{
	struct profile *p = profile_of(s);
	assert(frame < p->frames.frames.n);
	names_set(&p->names, frame, lines, n);
}

/* Retains the leaf-most frames of a stack that is too deep, below a marker. */
static uint32_t profile_deep_stack(struct profile *p, const uint32_t *frames, uint32_t n)
{
	struct frame marker = { .kind = FRAME_MARKER, .mapping = MAPPING_NONE };
	marker.function = strtab_put(&p->strings, "[truncated: too deep]");
	uint32_t *kept = xmalloc(STACK_MAX_DEPTH * sizeof *kept);
	kept[0] = frame_intern(&p->frames, &marker);
	memcpy(kept + 1, frames + n - (STACK_MAX_DEPTH - 1), (STACK_MAX_DEPTH - 1) * sizeof *kept);
	uint32_t id = stack_intern(&p->stacks, kept, STACK_MAX_DEPTH);
	free(kept);
	return id;
}

static void check_frames(const struct profile *p, const uint32_t *frames, uint32_t n)
{
	uint32_t greatest = 0;
	for (uint32_t i = 0; i < n; i++)
		greatest = frames[i] > greatest ? frames[i] : greatest;
	assert(n == 0 || greatest < p->frames.frames.n);
}

static uint32_t profile_stack(struct sink *s, const uint32_t *frames, uint32_t n)
{
	struct profile *p = profile_of(s);
	check_frames(p, frames, n);
	if (n > STACK_MAX_DEPTH)
		return profile_deep_stack(p, frames, n);
	return stack_intern(&p->stacks, frames, n);
}

static void profile_stacks(struct sink *s, const struct stack_list *lists, uint32_t n,
			   uint32_t *ids)
{
	struct profile *p = profile_of(s);
	bool any_deep = false;
	for (uint32_t i = 0; i < n; i++) {
		check_frames(p, lists[i].frames, lists[i].n);
		any_deep |= lists[i].n > STACK_MAX_DEPTH;
	}
	if (!any_deep)
		stack_intern_all(&p->stacks, lists, n, ids);
	for (uint32_t i = 0; any_deep && i < n; i++)
		ids[i] = profile_stack(s, lists[i].frames, lists[i].n);
}

static uint32_t profile_stack_above(struct sink *s, uint32_t stack, const uint32_t *frames,
				    uint32_t n)
{
	struct profile *p = profile_of(s);
	uint32_t depth = stack_depth(&p->stacks, stack), id;
	uint32_t *all = xreallocarray(NULL, (size_t)depth + n, sizeof *all);
	check_frames(p, frames, n);
	memcpy(all + depth, frames, n * sizeof *all);
	if (depth + n > STACK_MAX_DEPTH) {
		stack_frames(&p->stacks, stack, all);
		id = profile_deep_stack(p, all, depth + n);
	} else {
		struct stack_list list = { all, depth + n, depth, stack };
		stack_intern_all(&p->stacks, &list, 1, &id);
	}
	free(all);
	return id;
}

static uint32_t profile_type(struct sink *s, const struct type *t)
{
	return type_intern(&profile_of(s)->series, t);
}

static uint32_t profile_labels(struct sink *s, const struct label *labels, uint32_t n)
{
	return label_set_intern(&profile_of(s)->series, labels, n);
}

static uint32_t profile_series(struct sink *s, const struct series *series)
{
	return series_intern(&profile_of(s)->series, series);
}

static uint32_t profile_link(struct sink *s, const struct trace_link *link)
{
	struct profile *p = profile_of(s);
	uint32_t id = link_intern(&p->links, link);
	if (!id && !link_is_none(link))
		p->meta.loss[LOSS_LINKS_DROPPED]++;
	return id;
}

static void columns_grow(struct sample_columns *c)
{
	size_t cap = c->cap ? c->cap + c->cap / 2 : 1024;
	c->time_ns = xreallocarray(c->time_ns, cap, sizeof *c->time_ns);
	c->value = xreallocarray(c->value, cap, sizeof *c->value);
	if (c->length_ns)
		c->length_ns = xreallocarray(c->length_ns, cap, sizeof *c->length_ns);
	c->series = xreallocarray(c->series, cap, sizeof *c->series);
	c->stack = xreallocarray(c->stack, cap, sizeof *c->stack);
	c->pid = xreallocarray(c->pid, cap, sizeof *c->pid);
	c->tid = xreallocarray(c->tid, cap, sizeof *c->tid);
	c->cpu = xreallocarray(c->cpu, cap, sizeof *c->cpu);
	if (c->link)
		c->link = xreallocarray(c->link, cap, sizeof *c->link);
	c->cap = cap;
}

void sample_columns_done(struct sample_columns *c)
{
	free(c->time_ns);
	free(c->value);
	free(c->length_ns);
	free(c->series);
	free(c->stack);
	free(c->pid);
	free(c->tid);
	free(c->cpu);
	free(c->link);
}

static void profile_sample(struct sink *s, const struct sample *sample)
{
	struct profile *p = profile_of(s);
	assert(sample->series < p->series.series.n && sample->stack < p->stacks.stacks.n &&
	       sample->link <= p->links.all.n);
	struct sample_columns *c = &p->samples;
	if (c->n == c->cap)
		columns_grow(c);
	size_t row = c->n++;
	c->time_ns[row] = sample->time_ns;
	c->value[row] = sample->value;
	if (sample->length_ns && !c->length_ns)
		c->length_ns = xcalloc(c->cap, sizeof *c->length_ns);
	if (c->length_ns)
		c->length_ns[row] = sample->length_ns;
	c->series[row] = sample->series;
	c->stack[row] = sample->stack;
	c->pid[row] = sample->pid;
	c->tid[row] = sample->tid;
	c->cpu[row] = sample->cpu;
	if (sample->link && !c->link)
		c->link = xcalloc(c->cap, sizeof *c->link);
	if (c->link)
		c->link[row] = sample->link;
}

static void profile_thread(struct sink *s, const struct thread_times *row)
{
	struct profile *p = profile_of(s);
	assert(row->name < p->strings.all.n);
	thread_table_put(&p->threads, row);
}

static void profile_readings(struct sink *s, const struct reading_key *key,
			     const struct reading_point *points, size_t n)
{
	struct profile *p = profile_of(s);
	assert(key->name < p->strings.all.n && key->unit < p->strings.all.n &&
	       (key->labels == 0 || key->labels < p->series.sets.n));
	p->meta.loss[LOSS_READINGS_FULL] += readings_add(&p->readings, key, points, n);
}

static void profile_loss(struct sink *s, enum loss reason, uint64_t n)
{
	profile_of(s)->meta.loss[reason] += n;
}

static void profile_loss_time(struct sink *s, enum loss reason, int64_t ns)
{
	struct profile_meta *meta = &profile_of(s)->meta;
	meta->loss_ns[reason] = sum_add(meta->loss_ns[reason], ns);
}

static uint64_t profile_kept_bytes(const struct sink *s)
{
	const struct profile *p = (const struct profile *)s;
	const struct series_table *series = &p->series;
	return p->strings.arena.total + vec_size_bytes(&p->strings.all) +
	       id_index_bytes(&p->strings.index) + vec_size_bytes(&p->frames.frames) +
	       id_index_bytes(&p->frames.frame_index) + vec_size_bytes(&p->frames.mappings) +
	       map_size_bytes(&p->frames.mapping_index) + vec_size_bytes(&p->names.functions) +
	       map_size_bytes(&p->names.function_index) + vec_size_bytes(&p->names.lines) +
	       vec_size_bytes(&p->names.by_frame) + vec_size_bytes(&p->names.changes) +
	       vec_size_bytes(&p->stacks.stacks) + vec_size_bytes(&p->stacks.own) +
	       map_size_bytes(&p->stacks.branches) + vec_size_bytes(&p->threads.all) +
	       map_size_bytes(&p->threads.index) + link_table_bytes(&p->links) +
	       p->readings.n_points * sizeof(struct reading_point) +
	       vec_size_bytes(&series->labels) + vec_size_bytes(&series->sets) +
	       map_size_bytes(&series->set_index) + vec_size_bytes(&series->series) +
	       map_size_bytes(&series->series_index) + (p->shown ? p->shown->bytes(p->shown) : 0);
}

static struct profile_meta *profile_meta(struct sink *s)
{
	return &profile_of(s)->meta;
}

static void profile_origin(struct sink *s, uint32_t mapping, uint32_t origin, uint64_t n)
{
	struct profile *p = profile_of(s);
	assert(mapping < p->frames.mappings.n && origin < p->strings.all.n);
	origin_add(&p->origins, mapping, origin, n);
}

static const struct sink_ops profile_ops = {
	.string = profile_string,
	.mapping = profile_mapping,
	.frame = profile_frame,
	.function = profile_function,
	.names = profile_names,
	.origin = profile_origin,
	.stack = profile_stack,
	.stacks = profile_stacks,
	.stack_above = profile_stack_above,
	.type = profile_type,
	.labels = profile_labels,
	.series = profile_series,
	.link = profile_link,
	.sample = profile_sample,
	.thread = profile_thread,
	.readings = profile_readings,
	.loss = profile_loss,
	.loss_time = profile_loss_time,
	.kept_bytes = profile_kept_bytes,
	.meta = profile_meta,
};

struct profile *profile_new(void)
{
	struct profile *p = xcalloc(1, sizeof *p);
	p->sink.ops = &profile_ops;
	strtab_init(&p->strings);
	stack_table_init(&p->stacks);
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strtab_done(&p->strings);
	frame_table_done(&p->frames);
	names_done(&p->names);
	vec_done(&p->origins.all);
	map_done(&p->origins.index);
	stack_table_done(&p->stacks);
	series_table_done(&p->series);
	sample_columns_done(&p->samples);
	thread_table_done(&p->threads);
	link_table_done(&p->links);
	readings_done(&p->readings);
	vec_done(&p->meta.comments);
	vec_done(&p->meta.sample_types);
	if (p->shown)
		p->shown->free(p->shown);
	free(p);
}

static uint32_t default_type(const struct profile *p)
{
	if (p->meta.default_type && p->meta.default_type < p->series.types.n)
		return p->meta.default_type;
	if (p->meta.sample_types.n)
		return p->meta.sample_types.v[0];
	return p->series.types.n ? 0 : UINT32_MAX;
}

uint32_t profile_pick_type(const struct profile *p, const char *want)
{
	if (!want)
		return default_type(p);
	uint32_t name = strtab_find(&p->strings, want);
	for (uint32_t i = 0; i < p->series.types.n; i++)
		if (p->series.types.v[i].sample_type == name)
			return i;
	for (uint32_t i = 0; i < p->series.types.n; i++)
		if (p->series.types.v[i].name == name)
			return i;
	return UINT32_MAX;
}

bool profile_counts_samples(const char *sample_type)
{
	return !*sample_type || !strcmp(sample_type, "samples") || !strcmp(sample_type, "sample");
}

const char *profile_type_name(const struct profile *p, uint32_t type)
{
	const struct type *t = &p->series.types.v[type];
	bool shares_name = t->period_type ? t->period_type == t->name : p->meta.sample_types.n > 1;
	const char *sample_type = profile_str(p, t->sample_type);
	return shares_name && !profile_counts_samples(sample_type) ? sample_type
								   : profile_str(p, t->name);
}

int64_t profile_total(const struct profile *p, uint32_t type)
{
	int64_t total = 0;
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->series.series.v[p->samples.series[i]].type == type)
			total = sum_add(total, p->samples.value[i]);
	return total;
}

uint64_t profile_lost_samples(const struct profile *p)
{
	uint64_t lost = 0;
	for (int i = 0; i < LOSS_REASONS; i++)
		if (loss_reasons[i].is_sample)
			lost += p->meta.loss[i];
	return lost;
}

uint32_t profile_frame_binary(struct profile *p, uint32_t frame)
{
	const struct frame *f = &p->frames.frames.v[frame];
	uint32_t name =
		f->mapping == MAPPING_NONE ? f->binary : p->frames.mappings.v[f->mapping].name;
	const char *path = profile_str(p, name), *slash = strrchr(path, '/');
	/* A path that ends in a slash is retained whole. */
	return strtab_put(&p->strings, slash && slash[1] ? slash + 1 : path);
}

/* The name of an unsymbolized frame: "libc.so.6+0x1234". */
static uint32_t address_name(struct profile *p, uint32_t frame)
{
	const struct frame *f = &p->frames.frames.v[frame];
	if (f->mapping == MAPPING_NONE)
		return strtab_put(&p->strings, "[unknown]");
	const char *binary = profile_str(p, profile_frame_binary(p, frame));
	struct buf text = { 0 };
	buf_addf(&text, "%s+0x%" PRIx64, *binary ? binary : "[unknown]", f->offset);
	uint32_t id = strtab_putn(&p->strings, text.data, text.len);
	buf_done(&text);
	return id;
}

static struct shown_line shown_line(struct profile *p, uint32_t frame, const struct line *l)
{
	const struct function *f = &p->names.functions.v[l->function];
	uint32_t name = f->name ? f->name : f->linkage;
	return (struct shown_line){ name ? name : address_name(p, frame), f->file, l->line };
}

uint32_t profile_frame_lines(struct profile *p, uint32_t frame, struct shown_line *out,
			     uint32_t max)
{
	const struct line *lines;
	uint32_t n = names_get(&p->names, frame, &lines);
	if (n) {
		n = n < max ? n : max;
		for (uint32_t i = 0; i < n; i++)
			out[i] = shown_line(p, frame, &lines[i]);
		return n;
	}
	const struct frame *f = &p->frames.frames.v[frame];
	if (f->mapping == MAPPING_NONE && f->function)
		*out = (struct shown_line){ f->function, f->file, f->line };
	else
		*out = (struct shown_line){ .name = address_name(p, frame) };
	return 1;
}
