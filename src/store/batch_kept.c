#include "store/batch_kept.h"

#include "base/mem.h"

#include <stdlib.h>

static void keep_frames(const struct profile *p, bool *strings)
{
	for (size_t i = 0; i < p->frames.mappings.n; i++) {
		strings[p->frames.mappings.v[i].name] = true;
		strings[p->frames.mappings.v[i].build_id_text] = true;
	}
	for (size_t i = 0; i < p->frames.frames.n; i++) {
		const struct frame *f = &p->frames.frames.v[i];

		if (f->mapping == MAPPING_NONE)
			strings[f->function] = strings[f->file] = strings[f->binary] = true;
	}
}

static void keep_series(const struct profile *p, bool *strings)
{
	for (size_t i = 0; i < p->series.types.n; i++) {
		const struct type *t = &p->series.types.v[i];

		strings[t->name] = strings[t->sample_type] = strings[t->unit] = true;
		strings[t->period_type] = strings[t->period_unit] = true;
	}
	for (size_t i = 0; i < p->series.labels.n; i++) {
		const struct label *l = &p->series.labels.v[i];

		strings[l->key] = strings[l->unit] = true;
		if (!l->is_num)
			strings[l->str] = true;
	}
}

static void keep_meta(const struct profile *p, bool *strings)
{
	const struct profile_meta *m = &p->meta;

	strings[m->host] = strings[m->kernel] = strings[m->command] = strings[m->clock] = true;
	strings[m->doc_url] = strings[m->drop_frames] = strings[m->keep_frames] = true;
	for (size_t i = 0; i < m->comments.n; i++)
		strings[m->comments.v[i]] = true;
}

static void keep_function(const struct profile *p, uint32_t function, bool *functions,
			  bool *strings)
{
	const struct function *f = &p->names.functions.v[function];

	functions[function] = true;
	strings[f->name] = strings[f->linkage] = strings[f->file] = true;
}

void batch_kept_init(struct chunk_kept *kept, const struct names_offer *offer)
{
	const struct profile *p = offer->p;
	bool *strings = xcalloc(p->strings.all.n, sizeof *strings);
	bool *functions = xcalloc(p->names.functions.n + 1, sizeof *functions);
	bool *names = xcalloc(p->frames.frames.n + 1, sizeof *names);
	const struct line *lines;

	keep_frames(p, strings);
	keep_series(p, strings);
	keep_meta(p, strings);
	for (size_t i = 0; i < offer->fresh.n; i++) {
		uint32_t frame = offer->fresh.v[i].frame, n = names_get(&p->names, frame, &lines);

		names[frame] = true;
		for (uint32_t k = 0; k < n; k++)
			keep_function(p, lines[k].function, functions, strings);
	}
	*kept = (struct chunk_kept){ strings, functions, names };
}

void batch_kept_done(struct chunk_kept *kept)
{
	free((void *)kept->strings);
	free((void *)kept->functions);
	free((void *)kept->names);
	*kept = (struct chunk_kept){ 0 };
}
