/* Writes profiles and differences. */
#include "base/mem.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/common/format.h"
#include "format/common/value.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_meta.h"
#include "format/pprof/pprof_put.h"
#include "profile/link.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/stack_id.h"
#include "profile/state.h"
#include "profile/sum.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { NO_COLUMN = UINT32_MAX };

/* One sample of the file: samples of the model that differ only in time and type. */
struct pprof_row {
	uint32_t stack, labels, pid, tid, cpu, link;
};

/* Strings; 0: unknown. */
struct link_strings {
	uint32_t trace, span;
};

struct pprof_writer {
	struct profile *p;
	struct pprof_put put;
	struct pprof_column columns[PPROF_MAX_COLUMNS];
	size_t n_columns;
	VEC(uint32_t) column_of_type; /* NO_COLUMN: not requested */
	int64_t period;
	uint32_t period_type, period_unit; /* strings */
	VEC(struct pprof_row) rows;
	struct map row_index;
	VEC(int64_t) values; /* n_columns for each row */
	VEC(uint32_t) frames;
	/* Strings; by enum thread_state. */
	uint32_t key_state, key_reason, state_names[THREAD_STATES];
	bool with_states;
	VEC(struct stack_state) states; /* by row, if with_states */
	VEC(struct link_strings) links; /* by link - 1 */
	uint32_t key_stack_id;
	bool with_stack_ids;
	VEC(uint32_t) stack_ids; /* by row, if with_stack_ids: a string */
	struct buf out;
};

/* --- columns ---------------------------------------------------------------------------------- */

static bool string_is(const struct profile *p, uint32_t id, const char *s)
{
	return strcmp(profile_str(p, id), s) == 0;
}

static bool is_sample_count(const struct profile *p, const struct type *t)
{
	return string_is(p, t->sample_type, "samples") && string_is(p, t->unit, "count");
}

/* Whether CPU time is written next to the samples, as CPU profilers do. */
static bool has_time_column(const struct profile *p, const struct type *t, int64_t period)
{
	return period && is_sample_count(p, t) && string_is(p, t->name, "cpu") &&
	       string_is(p, t->period_type, "cpu") && string_is(p, t->period_unit, "nanoseconds");
}

/* Returns the period of the type's first series that has one. */
static int64_t type_period(const struct profile *p, uint32_t type)
{
	for (size_t i = 0; i < p->series.series.n; i++)
		if (p->series.series.v[i].type == type && p->series.series.v[i].period)
			return p->series.series.v[i].period;
	return 0;
}

static bool add_column(struct pprof_writer *w, struct pprof_column c)
{
	if (w->n_columns < PPROF_MAX_COLUMNS)
		w->columns[w->n_columns] = c;
	return w->n_columns++ < PPROF_MAX_COLUMNS;
}

static bool add_type(struct pprof_writer *w, uint32_t type, bool as_in_source)
{
	const struct profile *p = w->p;
	if (w->column_of_type.v[type] != NO_COLUMN)
		return true;
	struct pprof_column c = { .type = p->series.types.v[type],
				  .id = type,
				  .period = type_period(p, type) };
	w->column_of_type.v[type] = w->n_columns;
	if (!add_column(w, c))
		return false;
	if (as_in_source || !has_time_column(p, &c.type, c.period))
		return true;
	c.derived = true;
	c.type.sample_type = c.type.period_type;
	c.type.unit = c.type.period_unit;
	return add_column(w, c);
}

/* Whether --type requests this type: by its sample type, else all types of that name. */
static bool type_wanted(const struct profile *p, const char *want, uint32_t picked, uint32_t type)
{
	return !want || type == picked || string_is(p, p->series.types.v[type].name, want);
}

static int choose_columns(struct pprof_writer *w, const char *want, struct err *err)
{
	const struct profile *p = w->p;
	const struct profile_meta *meta = &p->meta;
	uint32_t picked;
	int rc = format_pick_type(p, want, &picked, err);
	if (rc)
		return rc;
	bool fits = true;
	for (size_t i = 0; i < p->series.types.n; i++)
		vec_push(&w->column_of_type, NO_COLUMN);
	for (size_t i = 0; i < meta->sample_types.n; i++)
		if (type_wanted(p, want, picked, meta->sample_types.v[i]))
			fits &= add_type(w, meta->sample_types.v[i], true);
	for (size_t i = 0; i < p->series.types.n; i++)
		if (type_wanted(p, want, picked, i))
			fits &= add_type(w, i, false);
	if (fits)
		return 0;
	err_set(err, E2BIG, "the profile has more than %d types for a pprof file",
		PPROF_MAX_COLUMNS);
	return err_hint(err, "--type NAME writes one of them");
}

/* Chooses the file's only period type and period: those of the first column that has one. */
static void choose_period(struct pprof_writer *w)
{
	for (size_t i = 0; i < w->n_columns && !w->period_type && !w->period_unit; i++) {
		w->period_type = w->columns[i].type.period_type;
		w->period_unit = w->columns[i].type.period_unit;
		w->period = w->columns[i].period;
	}
}

/* --- rows ------------------------------------------------------------------------------------- */

struct row_key {
	const struct pprof_writer *w;
	struct pprof_row row;
};

static bool same_row(const void *ctx, uint32_t id)
{
	const struct row_key *key = ctx;
	return memcmp(&key->w->rows.v[id], &key->row, sizeof key->row) == 0;
}

static int64_t *row_values(struct pprof_writer *w, size_t sample)
{
	const struct sample_columns *s = &w->p->samples;
	uint32_t labels = w->p->series.series.v[s->series[sample]].labels;
	struct row_key key = {
		w,
		{ s->stack[sample], labels, s->pid[sample], s->tid[sample], s->cpu[sample],
		  sample_link(s, sample) },
	};
	uint32_t fresh = w->rows.n;
	uint32_t id = map_intern(&w->row_index, hash_bytes(&key.row, sizeof key.row), fresh,
				 same_row, &key);
	if (id == fresh) {
		vec_push(&w->rows, key.row);
		for (size_t i = 0; i < w->n_columns; i++)
			vec_push(&w->values, 0);
	}
	return w->values.v + id * w->n_columns;
}

/* Scales counts of samples taken at another rate to the file's period. */
static int64_t scaled_count(const struct pprof_writer *w, const struct pprof_column *c,
			    int64_t value, int64_t period)
{
	if (!period || !c->period || period == c->period || !is_sample_count(w->p, &c->type))
		return value;
	return value_clamp(round((double)value * period / c->period));
}

static void collect_rows(struct pprof_writer *w)
{
	const struct sample_columns *s = &w->p->samples;
	for (size_t i = 0; i < s->n; i++) {
		const struct series *series = &w->p->series.series.v[s->series[i]];
		uint32_t column = w->column_of_type.v[series->type];
		if (column == NO_COLUMN)
			continue;
		int64_t *v = row_values(w, i) + column;
		v[0] = sum_add(v[0],
			       scaled_count(w, &w->columns[column], s->value[i], series->period));
		if (column + 1 < w->n_columns && w->columns[column + 1].derived)
			v[1] = sum_add(v[1], sum_mul(s->value[i], series->period));
	}
}

/* --- thread states --------------------------------------------------------------------------- */

static bool type_waits(const struct profile *p, uint32_t name)
{
	return string_is(p, name, "wall") || string_is(p, name, "off-cpu") ||
	       string_is(p, name, "sched-wait");
}

static bool has_label(const struct profile *p, uint32_t key)
{
	for (size_t i = 0; i < p->series.labels.n; i++)
		if (p->series.labels.v[i].key == key)
			return true;
	return false;
}

static void choose_states(struct pprof_writer *w)
{
	struct strtab *strings = &w->p->strings;
	w->key_state = strtab_put(strings, "state");
	w->key_reason = strtab_put(strings, "reason");
	for (int i = 0; i < THREAD_STATES; i++)
		w->state_names[i] = strtab_put(strings, thread_state_names[i]);
	for (size_t i = 0; i < w->n_columns; i++)
		w->with_states |= type_waits(w->p, w->columns[i].type.name);
	w->with_states &= !has_label(w->p, w->key_state) && !has_label(w->p, w->key_reason);
}

/* Returns the state common to all types with a value in this row, if there is one. */
static enum thread_state state_of_row(const struct pprof_writer *w, size_t row)
{
	enum thread_state all = STATE_UNSAID;
	for (size_t i = 0; i < w->n_columns; i++) {
		enum thread_state one = state_of_type_in(w->p, w->columns[i].id);
		if (!w->values.v[row * w->n_columns + i])
			continue;
		if (all && one != all)
			return STATE_UNSAID;
		all = one;
	}
	return all;
}

/* Records states. Reasons must become strings now: the file's string table has the size of the
 * profile's when it is started. */
static void note_states(struct pprof_writer *w)
{
	for (size_t row = 0; w->with_states && row < w->rows.n; row++) {
		struct stack_state s = state_of_stack(w->p, w->rows.v[row].stack);
		if (!s.state)
			s.state = state_of_row(w, row);
		vec_push(&w->states, s);
	}
}

/* --- traces ----------------------------------------------------------------------------------- */

static uint32_t id_string(struct pprof_writer *w, const uint8_t *bytes, size_t n)
{
	static const uint8_t none[LINK_TRACE_BYTES];
	char text[LINK_TEXT_BYTES];
	if (memcmp(bytes, none, n) == 0)
		return 0;
	link_text(bytes, n, text);
	return strtab_put(&w->p->strings, text);
}

/* Records links before the file's string table is started, as with reasons. */
static void note_links(struct pprof_writer *w)
{
	const struct link_table *t = &w->p->links;
	for (size_t i = 0; w->p->samples.link && i < t->all.n; i++) {
		const struct trace_link *l = &t->all.v[i];
		vec_push(&w->links, (struct link_strings){ id_string(w, l->trace, sizeof l->trace),
							   id_string(w, l->span, sizeof l->span) });
	}
}

/* --- ids of stacks ---------------------------------------------------------------------------- */

/* Adds ids only to samples of a trace: traces and logs refer to them. Elsewhere they would only
 * enlarge the file. */
static void note_stack_ids(struct pprof_writer *w)
{
	struct stack_ids ids = { 0 };
	char text[STACK_ID_TEXT_BYTES];
	w->key_stack_id = strtab_put(&w->p->strings, "stack_id");
	w->with_stack_ids = w->links.n && !has_label(w->p, w->key_stack_id);
	for (size_t row = 0; w->with_stack_ids && row < w->rows.n; row++) {
		const struct pprof_row *r = &w->rows.v[row];
		uint32_t string = 0;
		if (r->link) {
			struct stack_id id = stack_id_of(&ids, w->p, r->stack);
			stack_id_text(&id, text);
			string = strtab_put(&w->p->strings, text);
		}
		vec_push(&w->stack_ids, string);
	}
	stack_ids_done(&ids);
}

/* --- the message ------------------------------------------------------------------------------ */

static void put_number(struct buf *b, uint32_t field, uint64_t n)
{
	if (n)
		pb_put_u64(b, field, n);
}

static void put_value_type(struct pprof_writer *w, uint32_t field, uint32_t type, uint32_t unit)
{
	size_t mark = pb_begin(&w->out, field);
	put_number(&w->out, VALUE_TYPE_TYPE, pprof_put_string(&w->put, type));
	put_number(&w->out, VALUE_TYPE_UNIT, pprof_put_string(&w->put, unit));
	pb_end(&w->out, mark);
}

static void put_label(struct pprof_writer *w, const struct label *l)
{
	size_t mark = pb_begin(&w->out, SAMPLE_LABEL);
	put_number(&w->out, LABEL_KEY, pprof_put_string(&w->put, l->key));
	if (l->is_num) {
		put_number(&w->out, LABEL_NUM, l->num);
		put_number(&w->out, LABEL_NUM_UNIT, pprof_put_string(&w->put, l->unit));
	} else {
		put_number(&w->out, LABEL_STR, pprof_put_value_string(&w->put, l->str));
	}
	pb_end(&w->out, mark);
}

static void put_id(struct pprof_writer *w, uint32_t key, uint32_t id)
{
	struct label l = { .key = key, .num = id, .is_num = 1 };
	if (id != SAMPLE_NO_ID)
		put_label(w, &l);
}

static void put_frames(struct pprof_writer *w, uint32_t stack)
{
	uint32_t n = stack_depth(&w->p->stacks, stack);
	vec_reserve(&w->frames, n);
	stack_frames(&w->p->stacks, stack, w->frames.v);
	if (n == 0)
		return;
	size_t mark = pb_begin(&w->out, SAMPLE_LOCATION_ID);
	while (n--)
		pb_put_varint(&w->out, pprof_put_frame(&w->put, w->frames.v[n]));
	pb_end(&w->out, mark);
}

static void put_text_label(struct pprof_writer *w, uint32_t key, uint32_t str)
{
	struct label l = { .key = key, .str = str };
	if (str)
		put_label(w, &l);
}

struct id_keys {
	uint32_t pid, tid, cpu, trace, span; /* strings */
};

/* Writes a row. The columns precede labels that may have the same keys: the reader takes the
 * first. */
static void put_row(struct pprof_writer *w, size_t row, const struct id_keys *keys)
{
	const struct series_table *t = &w->p->series;
	const struct pprof_row *r = &w->rows.v[row];
	size_t sample = pb_begin(&w->out, PROFILE_SAMPLE);
	put_frames(w, r->stack);
	size_t values = pb_begin(&w->out, SAMPLE_VALUE);
	for (size_t i = 0; i < w->n_columns; i++)
		pb_put_varint(&w->out, w->values.v[row * w->n_columns + i]);
	pb_end(&w->out, values);
	put_id(w, keys->pid, r->pid);
	put_id(w, keys->tid, r->tid);
	put_id(w, keys->cpu, r->cpu);
	if (r->link) {
		const struct link_strings *l = &w->links.v[r->link - 1];
		put_text_label(w, keys->trace, l->trace);
		put_text_label(w, keys->span, l->span);
	}
	if (w->with_stack_ids)
		put_text_label(w, w->key_stack_id, w->stack_ids.v[row]);
	if (w->with_states) {
		struct stack_state s = w->states.v[row];
		put_text_label(w, w->key_state, w->state_names[s.state]);
		put_text_label(w, w->key_reason, s.reason);
	}
	if (r->labels) {
		struct label_set set = t->sets.v[r->labels];
		for (uint32_t i = 0; i < set.n; i++)
			put_label(w, &t->labels.v[set.first + i]);
	}
	pb_end(&w->out, sample);
}

static void put_comment(void *ctx, const struct buf *text)
{
	struct pprof_writer *w = ctx;
	pb_put_u64(&w->out, PROFILE_COMMENT, pprof_put_text(&w->put, text->data, text->len));
}

static void put_own_comment(struct pprof_writer *w, const char *text)
{
	pb_put_u64(&w->out, PROFILE_COMMENT, pprof_put_text(&w->put, text, strlen(text)));
}

/* The name that the reader gives a column without a comment. */
static uint32_t guessed_name(const struct pprof_writer *w, size_t column)
{
	uint32_t sample_type = w->columns[column].type.sample_type;
	bool is_count = profile_counts_samples(profile_str(w->p, sample_type));
	if (w->period_type)
		return w->period_type;
	return is_count ? w->columns[w->n_columns - 1].type.sample_type : sample_type;
}

static void put_comments(struct pprof_writer *w)
{
	const struct profile_meta *meta = &w->p->meta;
	for (size_t i = 0; i < meta->comments.n; i++)
		pb_put_u64(&w->out, PROFILE_COMMENT,
			   pprof_put_string(&w->put, meta->comments.v[i]));
	pprof_meta_give(w->p, put_comment, w);
	if (w->with_states)
		put_own_comment(w, PPROF_STATES_COMMENT);
	if (w->with_stack_ids)
		put_own_comment(w, PPROF_STACK_IDS_COMMENT);
	for (size_t i = 0; i < w->n_columns; i++) {
		struct pprof_column guessed = w->columns[i];
		guessed.type.name = guessed_name(w, i);
		guessed.type.period_type = w->period_type;
		guessed.type.period_unit = w->period_unit;
		guessed.type.aggregation = AGG_SUM;
		guessed.period = w->period;
		/* A pair without other columns is found by its values. */
		if (!w->columns[i].derived || w->n_columns != 2)
			pprof_meta_give_column(w->p, i, &w->columns[i], &guessed, put_comment, w);
	}
}

static bool has_sample_type(const struct pprof_writer *w, uint32_t sample_type)
{
	for (size_t i = 0; i < w->n_columns; i++)
		if (w->columns[i].type.sample_type == sample_type)
			return true;
	return false;
}

/* The name of the last column of the default type; 0 if that is the last of all, which readers take
 * without a name. */
static uint32_t default_column(const struct pprof_writer *w)
{
	uint32_t type = profile_pick_type(w->p, NULL);
	size_t i = w->n_columns;
	while (i && w->columns[i - 1].id != type)
		i--;
	return i && i < w->n_columns ? w->columns[i - 1].type.sample_type : 0;
}

static void put_default_type(struct pprof_writer *w)
{
	uint32_t name = w->p->meta.default_column;
	if (!name || !has_sample_type(w, name))
		name = default_column(w);
	if (name)
		pb_put_u64(&w->out, PROFILE_DEFAULT_SAMPLE_TYPE, pprof_put_string(&w->put, name));
}

static void put_meta(struct pprof_writer *w)
{
	const struct profile_meta *meta = &w->p->meta;
	put_number(&w->out, PROFILE_DROP_FRAMES, pprof_put_string(&w->put, meta->drop_frames));
	put_number(&w->out, PROFILE_KEEP_FRAMES, pprof_put_string(&w->put, meta->keep_frames));
	put_number(&w->out, PROFILE_TIME_NANOS, meta->start_wall_ns);
	put_number(&w->out, PROFILE_DURATION_NANOS, meta->duration_ns);
	if (w->period_type || w->period_unit)
		put_value_type(w, PROFILE_PERIOD_TYPE, w->period_type, w->period_unit);
	put_number(&w->out, PROFILE_PERIOD, w->period);
	put_comments(w);
	put_default_type(w);
	put_number(&w->out, PROFILE_DOC_URL, pprof_put_string(&w->put, meta->doc_url));
}

static void put_profile(struct pprof_writer *w)
{
	struct id_keys keys = { .pid = strtab_put(&w->p->strings, "pid"),
				.tid = strtab_put(&w->p->strings, "tid"),
				.cpu = strtab_put(&w->p->strings, "cpu"),
				.trace = strtab_put(&w->p->strings, "trace_id"),
				.span = strtab_put(&w->p->strings, "span_id") };
	pprof_put_init(&w->put, w->p);
	for (size_t i = 0; i < w->n_columns; i++)
		put_value_type(w, PROFILE_SAMPLE_TYPE, w->columns[i].type.sample_type,
			       w->columns[i].type.unit);
	put_meta(w);
	for (size_t i = 0; i < w->rows.n; i++)
		put_row(w, i, &keys);
	pprof_put_tables(&w->put, &w->out);
	pprof_put_done(&w->put);
}

static void writer_done(struct pprof_writer *w)
{
	vec_done(&w->column_of_type);
	vec_done(&w->rows);
	map_done(&w->row_index);
	vec_done(&w->values);
	vec_done(&w->states);
	vec_done(&w->links);
	vec_done(&w->stack_ids);
	vec_done(&w->frames);
	buf_done(&w->out);
	free(w);
}

int pprof_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		struct err *err)
{
	struct pprof_writer *w = xcalloc(1, sizeof *w);
	struct buf packed = { 0 };
	w->p = p;
	int rc = choose_columns(w, opts->type, err);
	if (rc == 0) {
		choose_period(w);
		choose_states(w);
		collect_rows(w);
		note_states(w);
		note_links(w);
		note_stack_ids(w);
		put_profile(w);
		rc = fs_gzip(w->out.data, w->out.len, &packed);
		if (rc)
			rc = err_set(err, -rc, "cannot compress the profile");
	}
	writer_done(w);
	if (rc == 0)
		rc = out_write(out, packed.data, packed.len, err);
	buf_done(&packed);
	return rc;
}

/* --- difference --- */

/* profile_merge reads the series only, so their index may be out of date. */
static void label_series(struct profile *p, const struct label *base)
{
	VEC(struct label) labels = { 0 };
	for (size_t i = 0; i < p->series.series.n; i++) {
		struct label_set set = p->series.sets.v[p->series.series.v[i].labels];
		vec_clear(&labels);
		vec_append(&labels, p->series.labels.v + set.first, set.n);
		vec_push(&labels, *base);
		uint32_t with_base = label_set_intern(&p->series, labels.v, labels.n);
		p->series.series.v[i].labels = with_base;
	}
	vec_done(&labels);
}

int pprof_write_diff(struct profile *newer, struct profile *older, struct out *out, struct err *err)
{
	struct label base = { .key = strtab_put(&older->strings, "pprof::base"),
			      .str = strtab_put(&older->strings, "true") };
	label_series(older, &base);
	for (size_t i = 0; i < older->samples.n; i++)
		older->samples.value[i] = sum_sub(0, older->samples.value[i]);
	profile_merge_file(newer, older);
	return pprof_write(newer, &(struct format_write_opts){ 0 }, out, err);
}
