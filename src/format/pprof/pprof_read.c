/* Reads a file into a sink. */
#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_meta.h"
#include "format/pprof/pprof_tables.h"
#include "profile/sink.h"
#include "profile/units.h"

#include <errno.h>
#include <string.h>

struct value_type {
	uint64_t type, unit; /* indices of strings */
};

struct pprof_reader {
	struct sink *sink;
	struct cur file;
	struct pprof_tables tables;

	VEC(struct value_type) sample_types;
	struct value_type period_type;
	uint64_t time_ns, duration_ns, period;
	uint64_t drop_frames, keep_frames, default_type, doc_url;
	VEC(uint64_t) comments;
	bool has_states, has_stack_ids; /* labels that only repeat stacks and types */
	bool has_default;               /* the default type is named and exists */

	struct pprof_column columns[PPROF_MAX_COLUMNS];
	size_t n_columns;
	VEC(int64_t) values; /* of the current sample */
	uint64_t n_samples;
};

/* --- the file's own fields -------------------------------------------------------------------- */

static struct value_type read_value_type(struct cur c)
{
	struct value_type v = { 0 };
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num == VALUE_TYPE_TYPE)
			v.type = f.u;
		else if (f.num == VALUE_TYPE_UNIT)
			v.unit = f.u;
	}
	return v;
}

static void add_comment(void *ctx, uint64_t index)
{
	struct pprof_reader *r = ctx;
	if (r->comments.n < PPROF_MAX_COMMENTS)
		vec_push(&r->comments, index);
}

static uint64_t *scalar_of(struct pprof_reader *r, uint32_t field)
{
	switch (field) {
	case PROFILE_DROP_FRAMES:
		return &r->drop_frames;
	case PROFILE_KEEP_FRAMES:
		return &r->keep_frames;
	case PROFILE_TIME_NANOS:
		return &r->time_ns;
	case PROFILE_DURATION_NANOS:
		return &r->duration_ns;
	case PROFILE_PERIOD:
		return &r->period;
	case PROFILE_DEFAULT_SAMPLE_TYPE:
		return &r->default_type;
	case PROFILE_DOC_URL:
		return &r->doc_url;
	}
	return NULL;
}

/* Records one message of the file. Returns false if there are too many of its kind. */
static bool scan_message(struct pprof_reader *r, const struct pb_field *f)
{
	struct pprof_tables *t = &r->tables;
	switch (f->num) {
	case PROFILE_SAMPLE_TYPE:
		vec_push(&r->sample_types, read_value_type(f->len));
		return r->sample_types.n <= PPROF_MAX_COLUMNS;
	case PROFILE_SAMPLE:
		r->n_samples++;
		return true;
	case PROFILE_MAPPING:
		return pprof_entries_add(t, &t->mappings, f->len);
	case PROFILE_LOCATION:
		return pprof_entries_add(t, &t->locations, f->len);
	case PROFILE_FUNCTION:
		return pprof_entries_add(t, &t->functions, f->len);
	case PROFILE_STRING_TABLE:
		return pprof_entries_add(t, &t->strings, f->len);
	case PROFILE_PERIOD_TYPE:
		r->period_type = read_value_type(f->len);
	}
	return true;
}

/* First pass: finds the position of everything. */
static int scan_file(struct pprof_reader *r, const char *name, struct err *err)
{
	struct cur c = r->file;
	struct pb_field f;
	while (pb_next(&c, &f)) {
		uint64_t *scalar = f.wire == PB_VARINT ? scalar_of(r, f.num) : NULL;
		if (scalar)
			*scalar = f.u;
		else if (f.num == PROFILE_COMMENT)
			pb_each_varint(&f, add_comment, r);
		else if (f.wire == PB_LEN && !scan_message(r, &f))
			return err_set(err, EBADMSG,
				       "%s: too many entries of field %u for a pprof file", name,
				       f.num);
	}
	if (c.bad)
		return err_set(err, EBADMSG, "%s: the pprof data is damaged or cut", name);
	if (r->sample_types.n == 0)
		return err_set(err, EBADMSG, "%s: pprof data without a sample type", name);
	return 0;
}

/* --- types ------------------------------------------------------------------------------------ */

/* See profile_counts_samples. */
static bool counts_samples(struct cur sample_type)
{
	return !cur_left(&sample_type) || cur_is(sample_type, "samples") ||
	       cur_is(sample_type, "sample");
}

static void set_columns(struct pprof_reader *r)
{
	struct pprof_tables *t = &r->tables;
	uint32_t period_type = pprof_string(t, r->period_type.type);
	uint32_t period_unit = pprof_string(t, r->period_type.unit);
	r->n_columns = r->sample_types.n;
	uint32_t last = pprof_string(t, r->sample_types.v[r->n_columns - 1].type);
	for (size_t i = 0; i < r->n_columns; i++) {
		struct value_type v = r->sample_types.v[i];
		uint32_t sample_type = pprof_string(t, v.type);
		bool is_count = counts_samples(pprof_text(t, v.type));
		r->columns[i] = (struct pprof_column){
			.type = { .name = period_type ? period_type
					  : is_count  ? last
						      : sample_type,
				  .sample_type = sample_type,
				  .unit = pprof_string(t, v.unit),
				  .period_type = period_type,
				  .period_unit = period_unit },
			.period = r->period,
		};
	}
}

/* Takes our writer's comments; others remain comments. */
static void set_comments(struct pprof_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	for (size_t i = 0; i < r->comments.n; i++) {
		struct cur text = pprof_text(&r->tables, r->comments.v[i]);
		if (cur_is(text, PPROF_STATES_COMMENT))
			r->has_states = true;
		else if (cur_is(text, PPROF_STACK_IDS_COMMENT))
			r->has_stack_ids = true;
		else if (!pprof_meta_take(r->sink, (const char *)text.p, cur_left(&text),
					  r->columns, r->n_columns))
			vec_push(&meta->comments, pprof_string(&r->tables, r->comments.v[i]));
	}
}

static bool value_type_is(const struct pprof_reader *r, struct value_type v, const char *type)
{
	return cur_is(pprof_text(&r->tables, v.type), type);
}

static struct unit_base unit_of(const struct pprof_reader *r, struct value_type v)
{
	struct cur text = pprof_text(&r->tables, v.unit);
	size_t len = cur_left(&text);
	return len ? unit_base_of_n((const char *)text.p, len) : unit_base_of("count");
}

/* The unit as the file has it: a comment may have renamed it. */
static struct unit_base unit_of_column(const struct pprof_reader *r, size_t column)
{
	return unit_of(r, r->sample_types.v[column]);
}

/* Whether this is CPU time, in any unit of time. */
static bool is_cpu_time(const struct pprof_reader *r, struct value_type v)
{
	struct unit_base u = unit_of(r, v);
	return value_type_is(r, v, "cpu") && u.base && strcmp(u.base, "nanoseconds") == 0;
}

static void add_value(void *ctx, uint64_t v)
{
	struct pprof_reader *r = ctx;
	if (r->values.n < PPROF_MAX_COLUMNS)
		vec_push(&r->values, (int64_t)v);
}

/* Returns whether every sample's second value is the first times the period. Their units may
 * differ. */
static bool second_is_first_times_period(struct pprof_reader *r)
{
	int64_t unit = unit_of_column(r, 1).scale, period, product, value;
	struct cur c = r->file, s;
	struct pb_field f;
	if (__builtin_mul_overflow(unit_of(r, r->period_type).scale, r->period, &period))
		return false;
	while (pb_next(&c, &f)) {
		if (f.num != PROFILE_SAMPLE)
			continue;
		vec_clear(&r->values);
		for (s = f.len; pb_next(&s, &f);)
			if (f.num == SAMPLE_VALUE)
				pb_each_varint(&f, add_value, r);
		if (r->values.n == 2 &&
		    (__builtin_mul_overflow(r->values.v[0], period, &product) ||
		     __builtin_mul_overflow(r->values.v[1], unit, &value) || product != value))
			return false;
	}
	return true;
}

/* Merges the pair of columns of CPU profilers, which hold the same value twice. */
static void find_cpu_pair(struct pprof_reader *r)
{
	if (r->n_columns == 2 && r->period && value_type_is(r, r->sample_types.v[0], "samples") &&
	    cur_is(pprof_text(&r->tables, r->sample_types.v[0].unit), "count") &&
	    is_cpu_time(r, r->sample_types.v[1]) && is_cpu_time(r, r->period_type) &&
	    second_is_first_times_period(r))
		r->columns[1].derived = true;
}

/* Returns whether a column called name has CPU time, other than samples times the period. */
static bool has_cpu_column(const struct pprof_reader *r, uint32_t name)
{
	for (size_t i = 0; i < r->n_columns; i++)
		if (is_cpu_time(r, r->sample_types.v[i]) && r->columns[i].type.name == name &&
		    r->columns[i].type.sample_type == name && !r->columns[i].derived)
			return true;
	return false;
}

/* A column of samples has the name of the sampled quantity. If that is a column as well, of CPU
 * time other than samples times the period, each has its own name. */
static void name_samples(struct pprof_reader *r)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		struct type *t = &r->columns[i].type;
		if (t->sample_type && !is_cpu_time(r, r->sample_types.v[i]) &&
		    counts_samples(pprof_text(&r->tables, r->sample_types.v[i].type)) &&
		    has_cpu_column(r, t->name))
			t->name = t->sample_type;
	}
}

static void set_unit_ns(struct pprof_reader *r)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		struct unit_base u = unit_of_column(r, i);
		r->columns[i].unit_ns = u.base && strcmp(u.base, "nanoseconds") == 0 ? u.scale : 0;
	}
}

/* Whether two columns would be one type, once their units are one (profile/units.h). */
static bool same_column(const struct pprof_reader *r, size_t a, size_t b)
{
	const struct type *x = &r->columns[a].type, *y = &r->columns[b].type;
	const char *x_base = unit_of_column(r, a).base, *y_base = unit_of_column(r, b).base;
	return x->name == y->name && x->sample_type == y->sample_type &&
	       (x->unit == y->unit || (x_base && y_base && strcmp(x_base, y_base) == 0));
}

/* Adds a type. Columns of one file that are the same quantity are two views of the same samples,
 * which must not be added up: the later one gets a distinct name. */
static uint32_t new_type(struct pprof_reader *r, size_t column)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	struct type *type = &r->columns[column].type;
	size_t same = 0;
	char name[32];
	while (same < column && !same_column(r, same, column))
		same++;
	if (same < column) {
		snprintf(name, sizeof name, "column %zu", column + 1);
		type->name = sink_string(r->sink, name);
	}
	uint32_t id = r->sink->ops->type(r->sink, type);
	vec_push(&meta->sample_types, id);
	return id;
}

/* Adds the types, and keeps the file's order if it is its own. A file with a derived column has our
 * writer's order. Without a known default the last column is shown, as in pprof. */
static void set_types(struct pprof_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	uint32_t wanted = pprof_string(&r->tables, r->default_type);
	bool any_derived = false;
	vec_clear(&meta->sample_types);
	meta->default_column = wanted;
	for (size_t i = 0; i < r->n_columns; i++) {
		struct pprof_column *c = &r->columns[i];
		c->id = c->derived ? r->columns[i - 1].id : new_type(r, i);
		any_derived |= c->derived;
		if (!r->has_default)
			meta->default_type = c->id;
		r->has_default |= wanted && c->type.sample_type == wanted;
	}
	if (any_derived)
		vec_clear(&meta->sample_types);
}

static void set_meta(struct pprof_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	meta->start_wall_ns = r->time_ns;
	meta->duration_ns = r->duration_ns;
	meta->doc_url = pprof_string(&r->tables, r->doc_url);
	meta->drop_frames = pprof_string(&r->tables, r->drop_frames);
	meta->keep_frames = pprof_string(&r->tables, r->keep_frames);
}

/* Second pass: reads the samples. */
static int read_samples(struct pprof_reader *r, const char *name, struct err *err)
{
	struct pprof_samples *s =
		pprof_samples_new(r->sink, &r->tables, r->columns, r->n_columns, r->n_samples);
	struct cur c = r->file;
	struct pb_field f;
	int rc = 0;
	if (r->has_states)
		pprof_samples_drop_states(s);
	if (r->has_stack_ids)
		pprof_samples_drop_stack_ids(s);
	while (rc == 0 && pb_next(&c, &f))
		if (f.num == PROFILE_SAMPLE && f.wire == PB_LEN && !pprof_samples_add(s, f.len))
			rc = err_set(err, EBADMSG, "%s: more than %d values", name,
				     PPROF_MAX_SAMPLES);
	uint64_t n_given = pprof_samples_free(s);
	if (rc)
		return rc;
	if (r->n_samples && !n_given)
		return err_set(err, EBADMSG, "%s: none of %llu samples can be read", name,
			       (unsigned long long)r->n_samples);
	if (r->tables.skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->tables.skipped);
	return 0;
}

static int read_file(struct pprof_reader *r, const char *name, struct err *err)
{
	int rc = scan_file(r, name, err);
	if (rc)
		return rc;
	pprof_tables_load(&r->tables);
	set_meta(r);
	set_columns(r);
	set_comments(r);
	find_cpu_pair(r);
	name_samples(r);
	set_unit_ns(r);
	set_types(r);
	return read_samples(r, name, err);
}

int pprof_read(struct input *in, struct sink *sink, struct err *err)
{
	struct buf bytes = { 0 };
	int rc = input_all(in, PPROF_MAX_BYTES, &bytes, err);
	if (rc == 0) {
		struct pprof_reader *r = xcalloc(1, sizeof *r);
		r->sink = sink;
		r->file = cur_of(bytes.data ? bytes.data : "", bytes.len);
		pprof_tables_init(&r->tables, sink, r->file.p);
		rc = read_file(r, input_name(in), err);
		pprof_tables_done(&r->tables);
		vec_done(&r->sample_types);
		vec_done(&r->comments);
		vec_done(&r->values);
		free(r);
	}
	buf_done(&bytes);
	return rc;
}
