#include "profile/copy.h"

#include <stdlib.h>

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

void profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to)
{
	*c = (struct profile_copy){ .from = from, .to = to };
	c->string = xcalloc(from->strings.all.n, sizeof *c->string);
	c->mapping = xcalloc(from->frames.mappings.n, sizeof *c->mapping);
	c->function = xcalloc(from->names.functions.n, sizeof *c->function);
	c->frame = xcalloc(from->frames.frames.n, sizeof *c->frame);
	c->type = xcalloc(from->series.types.n, sizeof *c->type);
	c->set = xcalloc(from->series.sets.n, sizeof *c->set);
	c->series = xcalloc(from->series.series.n, sizeof *c->series);
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
