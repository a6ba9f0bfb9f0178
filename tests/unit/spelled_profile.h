/* tests/unit/spelled_profile.h: the whole content of a profile as sorted text without any id: two profiles have the same content when their texts are
 * equal. Samples that differ only in value are added up; those with value 0 are left out. */
#ifndef CRESSET_TESTS_SPELLED_PROFILE_H
#define CRESSET_TESTS_SPELLED_PROFILE_H

#include "base/buf.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/stack.h"

#include <check.h>
#include <inttypes.h>

/* Optional content of the text: omitted for formats that cannot keep it. */
enum spell { SPELL_TIMES = 1, SPELL_MAPPINGS = 2 };

static inline void spell_string(struct buf *b, const struct profile *p, uint32_t id)
{
	buf_addc(b, '"');
	buf_add(b, profile_str(p, id), strtab_len(&p->strings, id));
	buf_addc(b, '"');
}

static inline void spell_mapping(struct buf *b, const struct profile *p, const struct mapping *m,
				 unsigned what)
{
	spell_string(b, p, m->name);
	spell_string(b, p, m->build_id_text);
	for (int i = 0; i < m->build_id_len; i++)
		buf_addf(b, "%02x", m->build_id[i]);
	if (what & SPELL_MAPPINGS)
		buf_addf(b, " %" PRIx64 " %" PRIx64 "-%" PRIx64 "+%" PRIx64 " %x", m->identity,
			 m->start, m->limit, m->offset, m->flags);
}

static inline void spell_line(struct buf *b, const struct profile *p, const struct line *l)
{
	const struct function *f = &p->names.functions.v[l->function];
	buf_addc(b, '{');
	spell_string(b, p, f->name);
	spell_string(b, p, f->linkage);
	spell_string(b, p, f->file);
	buf_addf(b, "%u %u %u}", f->start_line, l->line, l->column);
}

static inline void spell_frame(struct buf *b, const struct profile *p, uint32_t frame,
			       unsigned what)
{
	const struct frame *f = &p->frames.frames.v[frame];
	const struct line *lines;
	buf_addf(b, "\n  %s ", frame_kinds[f->kind].name);
	if (f->mapping == MAPPING_NONE) {
		spell_string(b, p, f->function);
		spell_string(b, p, f->file);
		buf_addf(b, "%u", f->line);
		spell_string(b, p, f->binary);
	} else {
		spell_mapping(b, p, &p->frames.mappings.v[f->mapping], what);
		buf_addf(b, "+%" PRIx64, f->offset);
	}
	uint32_t n = names_get(&p->names, frame, &lines);
	for (uint32_t i = 0; i < n; i++)
		spell_line(b, p, &lines[i]);
}

static inline void spell_stack(struct buf *b, const struct profile *p, uint32_t stack,
			       unsigned what)
{
	uint32_t n = stack_depth(&p->stacks, stack);
	uint32_t *frames = malloc((n + 1) * sizeof *frames);
	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++)
		spell_frame(b, p, frames[i], what);
	free(frames);
}

static inline int spelled_text_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The model orders labels by id, so they are sorted by text here. */
static inline void spell_labels(struct buf *b, const struct profile *p, uint32_t labels)
{
	struct label_set set = labels ? p->series.sets.v[labels] : (struct label_set){ 0 };
	char **texts = malloc((set.n + 1) * sizeof *texts);
	for (uint32_t i = 0; i < set.n; i++) {
		const struct label *l = &p->series.labels.v[set.first + i];
		struct buf one = { 0 };
		spell_string(&one, p, l->key);
		if (l->is_num)
			buf_addf(&one, "=%" PRId64, l->num);
		else
			spell_string(&one, p, l->str);
		spell_string(&one, p, l->unit);
		texts[i] = buf_steal(&one);
	}
	if (set.n)
		qsort(texts, set.n, sizeof *texts, spelled_text_cmp);
	for (uint32_t i = 0; i < set.n; i++) {
		buf_addf(b, " [%s]", texts[i]);
		free(texts[i]);
	}
	free(texts);
}

static inline void spell_series(struct buf *b, const struct profile *p, uint32_t series)
{
	const struct series *s = &p->series.series.v[series];
	const struct type *t = &p->series.types.v[s->type];
	spell_string(b, p, t->name);
	spell_string(b, p, t->sample_type);
	spell_string(b, p, t->unit);
	spell_string(b, p, t->period_type);
	spell_string(b, p, t->period_unit);
	buf_addf(b, " %u %" PRId64, t->aggregation, s->period);
	spell_labels(b, p, s->labels);
}

struct spelled_sample {
	char *key;
	int64_t value;
};

static inline int spelled_sample_cmp(const void *a, const void *b)
{
	return strcmp(((const struct spelled_sample *)a)->key,
		      ((const struct spelled_sample *)b)->key);
}

static inline char *spell_sample(const struct profile *p, size_t i, unsigned what)
{
	const struct sample_columns *s = &p->samples;
	struct buf b = { 0 };
	spell_series(&b, p, s->series[i]);
	buf_addf(&b, " pid %d tid %d cpu %d", (int)s->pid[i], (int)s->tid[i], (int)s->cpu[i]);
	if (what & SPELL_TIMES)
		buf_addf(&b, " at %" PRId64 "+%" PRId64, s->time_ns[i], sample_length_ns(s, i));
	const struct trace_link *link = link_get(&p->links, sample_link(s, i));
	for (size_t k = 0; link && k < sizeof *link; k++)
		buf_addf(&b, "%s%02x", k ? "" : " link ", ((const uint8_t *)link)[k]);
	spell_stack(&b, p, s->stack[i], what);
	return buf_steal(&b);
}

static inline void spell_samples(struct buf *b, const struct profile *p, unsigned what)
{
	struct spelled_sample *all = malloc((p->samples.n + 1) * sizeof *all);
	for (size_t i = 0; i < p->samples.n; i++)
		all[i] = (struct spelled_sample){ spell_sample(p, i, what), p->samples.value[i] };
	if (p->samples.n)
		qsort(all, p->samples.n, sizeof *all, spelled_sample_cmp);
	for (size_t i = 0; i < p->samples.n; i++) {
		if (i + 1 < p->samples.n && strcmp(all[i].key, all[i + 1].key) == 0)
			all[i + 1].value += all[i].value;
		else if (all[i].value)
			buf_addf(b, "%" PRId64 " %s\n", all[i].value, all[i].key);
		free(all[i].key);
	}
	free(all);
}

static inline void spell_meta(struct buf *b, const struct profile *p)
{
	const struct profile_meta *m = &p->meta;
	const uint32_t texts[] = { m->host,    m->kernel,      m->command,    m->clock,
				   m->doc_url, m->drop_frames, m->keep_frames };
	buf_addf(b, "%" PRId64 " %" PRId64 " %" PRId64 " %u %" PRIu64 " %" PRIu64, m->start_wall_ns,
		 m->start_mono_ns, m->duration_ns, m->cpus, m->own_cpu_ns, m->own_peak_bytes);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		spell_string(b, p, texts[i]);
	for (size_t i = 0; i < m->comments.n; i++)
		spell_string(b, p, m->comments.v[i]);
	for (int i = 0; i < LOSS_REASONS; i++)
		buf_addf(b, " %" PRIu64, m->loss[i]);
	buf_addc(b, '\n');
}

static inline void spell_threads(struct buf *b, const struct profile *p)
{
	for (size_t i = 0; i < p->threads.all.n; i++) {
		const struct thread_times *t = &p->threads.all.v[i];
		buf_addf(b, "thread %u %u %" PRId64 "-%" PRId64, t->pid, t->tid, t->first_ns,
			 t->last_ns);
		buf_addf(b, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, t->on_ns, t->off_ns,
			 t->wait_ns, t->stopped_ns);
		spell_string(b, p, t->name);
		buf_addc(b, '\n');
	}
}

/* To be freed. */
static inline char *spelled_profile(const struct profile *p, unsigned what)
{
	struct buf b = { 0 };
	spell_meta(&b, p);
	spell_samples(&b, p, what);
	if (what & SPELL_TIMES)
		spell_threads(&b, p);
	return buf_steal(&b);
}

static inline void assert_same_profile(const struct profile *a, const struct profile *b,
				       unsigned what)
{
	char *x = spelled_profile(a, what), *y = spelled_profile(b, what);
	size_t i = 0;
	while (x[i] && x[i] == y[i])
		i++;
	size_t from = i < 200 ? 0 : i - 200;
	ck_assert_msg(x[i] == y[i], "they differ:\n%.500s\n--- and\n%.500s", x + from, y + from);
	free(x);
	free(y);
}

#endif
