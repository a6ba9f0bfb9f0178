/* Filters and root frames are those of the tree, computed with a scratch tree. */
#include "profile/tree/select.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/copy.h"
#include "profile/frame.h"
#include "profile/link.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/readings.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/thread.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree_filter.h"
#include "profile/tree/tree_keys.h"

#include <string.h>

/* In the map of stacks: filtered out. */
enum { ID_GONE = UINT32_MAX };

/* The filters' result for a frame: FUNC_FOCUS and so on, ORed over all its lines, and whether every
 * line is hidden. */
struct judgement {
	uint8_t bits;
	bool is_made, is_gone;
};

struct selection {
	struct profile *from, *to;
	const struct select_opts *opts;
	struct tree *scratch;
	struct tree_filter filter;
	struct tree_keys keys;
	VEC(uint8_t) func_bits; /* by function of scratch */
	struct profile_copy copy;
	struct judgement *judgement; /* by frame of `from` */
	struct map stack;            /* (group, stack of `from`) → id in `to` + 1, or ID_GONE */
	VEC(uint32_t) frames_in, frames_out;
};

/* --- frames --- */

/* Returns the filters' result for a line; each function is checked once. */
static unsigned line_bits(struct selection *s, uint32_t frame, const struct shown_line *l)
{
	const struct profile *p = s->from;
	struct strtab *strings = &s->scratch->strings;
	struct tree_func f = {
		.name = strtab_putn(strings, profile_str(p, l->name),
				    strtab_len(&p->strings, l->name)),
		.binary = strtab_put(strings, profile_str(p, profile_frame_binary(s->from, frame))),
		.file = strtab_putn(strings, profile_str(p, l->file),
				    strtab_len(&p->strings, l->file)),
		.kind = p->frames.frames.v[frame].kind,
	};
	uint32_t func = tree_func_intern(s->scratch, &f);
	for (uint32_t i = s->func_bits.n; i <= func; i++)
		vec_push(&s->func_bits,
			 tree_filter_func(&s->filter, strings, &s->scratch->funcs.v[i]));
	return s->func_bits.v[func];
}

/* Checks every line of a frame that was not seen before. */
static void judge_frame(struct selection *s, uint32_t frame)
{
	struct shown_line shown[NAMES_MAX_INLINE];
	uint32_t n = profile_frame_lines(s->from, frame, shown, NAMES_MAX_INLINE);
	struct judgement j = { .is_made = true, .is_gone = true };
	for (uint32_t i = 0; i < n; i++) {
		unsigned bits = line_bits(s, frame, &shown[i]);
		j.bits |= bits;
		j.is_gone &= (bits & FUNC_DROP) != 0;
	}
	s->judgement[frame] = j;
}

/* Copies the names of a frame that are not hidden. */
static void copy_names(struct selection *s, uint32_t frame, uint32_t to)
{
	struct shown_line shown[NAMES_MAX_INLINE];
	struct line kept[NAMES_MAX_INLINE];
	const struct line *lines;
	uint32_t n = names_get(&s->from->names, frame, &lines), n_kept = 0;
	if (!n)
		return;
	profile_frame_lines(s->from, frame, shown, NAMES_MAX_INLINE);
	for (uint32_t i = 0; i < n; i++) {
		if (line_bits(s, frame, &shown[i]) & FUNC_DROP)
			continue;
		kept[n_kept] = lines[i];
		kept[n_kept++].function = profile_copy_function(&s->copy, lines[i].function);
	}
	names_set(&s->to->names, to, kept, n_kept);
}

/* --- stacks --- */

/* Adds the root frames, taken from the scratch tree. */
static void add_root_frames(struct selection *s, uint32_t node)
{
	uint32_t path[TREE_BY_MAX], n = 0;
	for (; node != TREE_ROOT; node = s->scratch->nodes.v[node].parent)
		path[n++] = node;
	while (n) {
		const struct tree *t = s->scratch;
		uint32_t name = t->funcs.v[t->nodes.v[path[--n]].func].name;
		struct frame f = { .kind = FRAME_MARKER, .mapping = MAPPING_NONE };
		f.function = strtab_putn(&s->to->strings, strtab_get(&t->strings, name),
					 strtab_len(&t->strings, name));
		vec_push(&s->frames_out, frame_intern(&s->to->frames, &f));
	}
}

/* Whether the stack in frames_in passes focus and ignore. */
static bool stack_passes(struct selection *s)
{
	unsigned bits = 0;
	for (size_t i = 0; i < s->frames_in.n; i++) {
		uint32_t frame = s->frames_in.v[i];
		if (!s->judgement[frame].is_made)
			judge_frame(s, frame);
		bits |= s->judgement[frame].bits;
	}
	return tree_filter_passes(&s->filter, bits);
}

static uint32_t select_stack(struct selection *s, uint32_t stack, uint32_t root)
{
	struct sink *to = profile_sink(s->to);
	uint32_t n = stack_depth(&s->from->stacks, stack);
	vec_reserve(&s->frames_in, n);
	stack_frames(&s->from->stacks, stack, s->frames_in.v);
	s->frames_in.n = n;
	if (!stack_passes(s))
		return ID_GONE;
	vec_clear(&s->frames_out);
	add_root_frames(s, root);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = s->frames_in.v[i];
		bool is_new;
		if (s->judgement[frame].is_gone)
			continue;
		uint32_t copy = profile_copy_frame(&s->copy, frame, &is_new);
		if (is_new)
			copy_names(s, frame, copy);
		vec_push(&s->frames_out, copy);
	}
	return 1 + to->ops->stack(to, s->frames_out.v, s->frames_out.n);
}

/* --- samples --- */

static bool row_passes(const struct selection *s, size_t row, struct sample_part *part)
{
	const struct profile *p = s->from;
	uint32_t type = p->series.series.v[p->samples.series[row]].type;
	return (!s->opts->types || s->opts->types[type]) &&
	       sample_part_in(p, row, &s->opts->tree, part);
}

static void select_row(struct selection *s, size_t row, const struct sample_part *part)
{
	const struct sample_columns *c = &s->from->samples;
	uint32_t group = s->keys.n ? tree_keys_group(&s->keys, row) : 0;
	uint32_t root = s->keys.n ? s->keys.nodes.v[group] : TREE_ROOT;
	uint64_t key = (uint64_t)group << 32 | c->stack[row];
	const uint32_t *known = map_get(&s->stack, key);
	uint32_t stack = known ? *known : select_stack(s, c->stack[row], root);
	if (!known)
		map_put(&s->stack, key, stack);
	if (stack == ID_GONE)
		return;
	struct sample sample = {
		.time_ns = part->time_ns,
		.length_ns = part->length_ns,
		.value = part->value,
		.series = profile_copy_series(&s->copy, c->series[row]),
		.stack = stack - 1,
		.pid = c->pid[row],
		.tid = c->tid[row],
		.cpu = c->cpu[row],
	};
	struct sink *sink = profile_sink(s->to);
	const struct trace_link *link = link_get(&s->from->links, sample_link(c, row));
	if (link)
		sample.link = sink->ops->link(sink, link);
	sink->ops->sample(sink, &sample);
}

/* --- the whole --- */

static void select_extent(struct selection *s)
{
	const struct tree_opts *o = &s->opts->tree;
	struct profile_meta *m = &s->to->meta;
	int64_t end_ns = m->duration_ns;
	if (o->time_to_ns && (!end_ns || o->time_to_ns < end_ns))
		end_ns = o->time_to_ns;
	m->duration_ns = end_ns > o->time_from_ns ? end_ns - o->time_from_ns : 0;
	m->start_mono_ns = sum_add(m->start_mono_ns, o->time_from_ns);
	if (m->start_wall_ns)
		m->start_wall_ns = sum_add(m->start_wall_ns, o->time_from_ns);
}

static bool type_is_wanted(const struct selection *s, uint32_t type)
{
	return type < s->from->series.types.n && (!s->opts->types || s->opts->types[type]);
}

/* Retains the source's order, as the first type of a profile is shown first. */
static void select_types(struct selection *s)
{
	const struct profile_meta *from = &s->from->meta;
	struct profile_meta *m = &s->to->meta;
	for (uint32_t i = 0; i < s->from->series.types.n; i++)
		if (type_is_wanted(s, i))
			profile_copy_type(&s->copy, i);
	vec_clear(&m->sample_types);
	for (size_t i = 0; i < from->sample_types.n; i++)
		if (type_is_wanted(s, from->sample_types.v[i]))
			vec_push(&m->sample_types,
				 profile_copy_type(&s->copy, from->sample_types.v[i]));
	m->default_type = 0;
	if (from->default_type && type_is_wanted(s, from->default_type))
		m->default_type = profile_copy_type(&s->copy, from->default_type);
}

/* Whether pprof's default column is a wanted type's samples or their periods. */
static bool column_is_wanted(const struct selection *s, uint32_t name)
{
	for (uint32_t i = 0; i < s->from->series.types.n; i++) {
		const struct type *t = &s->from->series.types.v[i];
		if (type_is_wanted(s, i) && (t->sample_type == name || t->period_type == name))
			return true;
	}
	return false;
}

static void select_meta(struct selection *s)
{
	const struct profile_meta *from = &s->from->meta;
	struct profile_meta *m = &s->to->meta;
	uint32_t *const texts[] = { &m->host,        &m->kernel,        &m->command,
				    &m->clock,       &m->doc_url,       &m->drop_frames,
				    &m->keep_frames, &m->default_column };
	*m = *from;
	if (!column_is_wanted(s, m->default_column))
		m->default_column = 0;
	memset(&m->comments, 0, sizeof m->comments);
	memset(&m->sample_types, 0, sizeof m->sample_types);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		*texts[i] = profile_copy_string(&s->copy, *texts[i]);
	for (size_t i = 0; i < from->comments.n; i++)
		vec_push(&m->comments, profile_copy_string(&s->copy, from->comments.v[i]));
	select_types(s);
	select_extent(s);
}

static void selection_init(struct selection *s)
{
	const struct profile *p = s->from;
	s->to = profile_new();
	s->scratch = tree_new();
	profile_copy_init(&s->copy, p, s->to);
	s->judgement = xcalloc(p->frames.frames.n, sizeof *s->judgement);
	tree_keys_init(&s->keys, s->from, s->scratch, &s->opts->tree);
}

static void selection_done(struct selection *s)
{
	tree_filter_done(&s->filter);
	tree_keys_done(&s->keys);
	tree_free(s->scratch);
	vec_done(&s->func_bits);
	vec_done(&s->frames_in);
	vec_done(&s->frames_out);
	map_done(&s->stack);
	profile_copy_done(&s->copy);
	free(s->judgement);
}

/* Copies the origins of the selected mappings unchanged: they count all frames of the file, not of
 * the part. */
static void select_origins(struct selection *s)
{
	for (size_t i = 0; i < s->from->origins.all.n; i++) {
		const struct origin *o = &s->from->origins.all.v[i];
		if (s->copy.mapping[o->mapping])
			origin_add(&s->to->origins, profile_copy_mapping(&s->copy, o->mapping),
				   profile_copy_string(&s->copy, o->name), o->frames);
	}
}

/* Exact times cover a thread's whole life and cannot be cut to a time range. */
static void select_threads(struct selection *s)
{
	const struct tree_opts *o = &s->opts->tree;
	struct sink *to = profile_sink(s->to);
	for (size_t i = 0; !o->time_from_ns && !o->time_to_ns && i < s->from->threads.all.n; i++) {
		struct thread_times row = s->from->threads.all.v[i];
		row.name = profile_copy_string(&s->copy, row.name);
		to->ops->thread(to, &row);
	}
}

/* Copies the readings in the time range; filters of stacks do not apply to them. */
static void select_readings(struct selection *s)
{
	const struct tree_opts *o = &s->opts->tree;
	struct sink *to = profile_sink(s->to);
	int64_t start_ns = s->from->meta.start_mono_ns;
	int64_t from_ns = o->time_from_ns ? sum_add(start_ns, o->time_from_ns) : INT64_MIN;
	int64_t to_ns = o->time_to_ns ? sum_add(start_ns, o->time_to_ns) : INT64_MAX;
	for (size_t i = 0; i < s->from->readings.all.n; i++) {
		const struct reading_series *from = &s->from->readings.all.v[i];
		struct reading_key key = { profile_copy_string(&s->copy, from->key.name),
					   profile_copy_string(&s->copy, from->key.unit),
					   profile_copy_labels(&s->copy, from->key.labels),
					   from->key.is_counter };
		for (size_t k = 0; k < from->points.n; k++)
			if (from->points.v[k].time_ns >= from_ns &&
			    from->points.v[k].time_ns < to_ns)
				to->ops->readings(to, &key, &from->points.v[k], 1);
	}
}

int profile_select(struct profile *p, const struct select_opts *opts, struct profile **out,
		   struct err *err)
{
	struct selection s = { .from = p, .opts = opts };
	int rc = tree_filter_init(&s.filter, &opts->tree, err);
	if (rc == 0) {
		selection_init(&s);
		select_meta(&s);
		struct sample_part part;
		for (size_t row = 0; row < p->samples.n; row++)
			if (row_passes(&s, row, &part))
				select_row(&s, row, &part);
		select_origins(&s);
		select_threads(&s);
		select_readings(&s);
		*out = s.to;
	}
	selection_done(&s);
	return rc;
}

void profile_keep_samples(struct profile *p, const bool *keep)
{
	struct sample_columns *c = &p->samples;
	size_t n = 0;
	for (size_t row = 0; row < c->n; row++) {
		if (!keep[row])
			continue;
		c->time_ns[n] = c->time_ns[row];
		if (c->length_ns)
			c->length_ns[n] = c->length_ns[row];
		c->value[n] = c->value[row];
		c->series[n] = c->series[row];
		c->stack[n] = c->stack[row];
		c->pid[n] = c->pid[row];
		c->tid[n] = c->tid[row];
		c->cpu[n] = c->cpu[row];
		if (c->link)
			c->link[n] = c->link[row];
		n++;
	}
	c->n = n;
}
