/* Maps of old to new ids per table. */
#include "profile/copy.h"

#include "base/mem.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "profile/strtab.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

uint32_t profile_copy_string(struct profile_copy *c, uint32_t id)
{
	const struct strtab *from = &c->from->strings;
	if (!c->string[id])
		c->string[id] = 1 + strtab_putn(&c->to->strings, strtab_get(from, id),
						strtab_len(from, id));
	return c->string[id] - 1;
}

uint32_t profile_copy_mapping(struct profile_copy *c, uint32_t id)
{
	if (id == MAPPING_NONE)
		return id;
	if (!c->mapping[id]) {
		struct mapping m = c->from->frames.mappings.v[id];
		m.name = profile_copy_string(c, m.name);
		m.build_id_text = profile_copy_string(c, m.build_id_text);
		c->mapping[id] = 1 + mapping_intern(&c->to->frames, &m);
	}
	return c->mapping[id] - 1;
}

uint32_t profile_copy_function(struct profile_copy *c, uint32_t id)
{
	if (!c->function[id]) {
		struct function f = c->from->names.functions.v[id];
		f.name = profile_copy_string(c, f.name);
		f.linkage = profile_copy_string(c, f.linkage);
		f.file = profile_copy_string(c, f.file);
		c->function[id] = 1 + function_intern(&c->to->names, &f);
	}
	return c->function[id] - 1;
}

uint32_t profile_copy_type(struct profile_copy *c, uint32_t id)
{
	if (!c->type[id]) {
		struct type t = c->from->series.types.v[id];
		t.name = profile_copy_string(c, t.name);
		t.sample_type = profile_copy_string(c, t.sample_type);
		t.unit = profile_copy_string(c, t.unit);
		t.period_type = profile_copy_string(c, t.period_type);
		t.period_unit = profile_copy_string(c, t.period_unit);
		c->type[id] = 1 + type_intern(&c->to->series, &t);
	}
	return c->type[id] - 1;
}

uint32_t profile_copy_labels(struct profile_copy *c, uint32_t id)
{
	const struct label_set *set = &c->from->series.sets.v[id];
	if (!c->set[id]) {
		struct label *labels = xreallocarray(NULL, set->n, sizeof *labels);
		for (uint32_t i = 0; i < set->n; i++) {
			labels[i] = c->from->series.labels.v[set->first + i];
			labels[i].key = profile_copy_string(c, labels[i].key);
			labels[i].str = profile_copy_string(c, labels[i].str);
			labels[i].unit = profile_copy_string(c, labels[i].unit);
		}
		c->set[id] = 1 + label_set_intern(&c->to->series, labels, set->n);
		free(labels);
	}
	return c->set[id] - 1;
}

uint32_t profile_copy_series(struct profile_copy *c, uint32_t id)
{
	if (!c->series[id]) {
		struct series copy = c->from->series.series.v[id];
		copy.type = profile_copy_type(c, copy.type);
		copy.labels = profile_copy_labels(c, copy.labels);
		c->series[id] = 1 + series_intern(&c->to->series, &copy);
	}
	return c->series[id] - 1;
}

static uint32_t new_frame(struct profile_copy *c, uint32_t frame)
{
	struct frame f = c->from->frames.frames.v[frame];
	if (f.mapping != MAPPING_NONE) {
		f.mapping = profile_copy_mapping(c, f.mapping);
	} else {
		f.function = profile_copy_string(c, f.function);
		f.file = profile_copy_string(c, f.file);
		f.binary = profile_copy_string(c, f.binary);
	}
	return frame_intern(&c->to->frames, &f);
}

uint32_t profile_copy_frame(struct profile_copy *c, uint32_t frame, bool *is_new)
{
	*is_new = !c->frame[frame];
	if (*is_new)
		c->frame[frame] = 1 + new_frame(c, frame);
	return c->frame[frame] - 1;
}

void profile_copy_names(struct profile_copy *c, uint32_t frame, uint32_t to)
{
	struct line copy[NAMES_MAX_INLINE];
	const struct line *lines;
	uint32_t n = names_get(&c->from->names, frame, &lines);
	for (uint32_t i = 0; i < n; i++) {
		copy[i] = lines[i];
		copy[i].function = profile_copy_function(c, lines[i].function);
	}
	if (n)
		names_set(&c->to->names, to, copy, n);
}

uint32_t profile_copy_stack(struct profile_copy *c, uint32_t stack)
{
	uint32_t n = stack_depth(&c->from->stacks, stack);
	uint32_t *frames = xreallocarray(NULL, n + 1, sizeof *frames);
	bool is_new;

	stack_frames(&c->from->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = frames[i];

		frames[i] = profile_copy_frame(c, frame, &is_new);
		if (is_new)
			profile_copy_names(c, frame, frames[i]);
	}
	uint32_t copy = stack_intern(&c->to->stacks, frames, n);
	free(frames);
	return copy;
}

static void grow(uint32_t **v, size_t *n, size_t want)
{
	if (*n >= want)
		return;
	*v = xreallocarray(*v, want, sizeof **v);
	memset(*v + *n, 0, (want - *n) * sizeof **v);
	*n = want;
}

void profile_copy_grow(struct profile_copy *c)
{
	const struct profile *from = c->from;

	grow(&c->string, &c->n.string, from->strings.all.n);
	grow(&c->mapping, &c->n.mapping, from->frames.mappings.n);
	grow(&c->function, &c->n.function, from->names.functions.n);
	grow(&c->frame, &c->n.frame, from->frames.frames.n);
	grow(&c->type, &c->n.type, from->series.types.n);
	grow(&c->set, &c->n.set, from->series.sets.n);
	grow(&c->series, &c->n.series, from->series.series.n);
}

void profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to)
{
	*c = (struct profile_copy){ .from = from, .to = to };
	profile_copy_grow(c);
}

void profile_copy_done(struct profile_copy *c)
{
	free(c->string);
	free(c->mapping);
	free(c->function);
	free(c->frame);
	free(c->type);
	free(c->set);
	free(c->series);
}
