#include "base/mem.h"
#include "format/pprof.h"
#include "format/pprof_meta.h"
#include "format/pprof_tables.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

enum { PPROF_MAX_LABELS = 256 }; /* of one sample; more are skipped */

struct value_type {
	uint64_t type, unit; /* indices of strings */
};

/* Labels repeat from sample to sample, byte by byte: what they say is looked up by what they are. */
enum { PPROF_LABEL_MEMOS = 256 };
struct label_memo {
	struct cur bytes; /* empty: nothing here yet */
	struct label label;
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

	struct pprof_column columns[PPROF_MAX_COLUMNS];
	size_t n_columns;
	VEC(uint32_t) series; /* runs of n_columns, one for each label set */
	struct map series_of_labels;
	uint32_t key_pid, key_tid, key_cpu;

	/* The sample at hand. */
	VEC(uint32_t) frames; /* leaf first until it is given away */
	VEC(int64_t) values;
	VEC(struct label) labels;
	struct sample sample;
	struct label_memo memos[PPROF_LABEL_MEMOS];
	/* Of the sample before, and its series. */
	VEC(struct label) labels_before;
	size_t series_before; /* index in series; SIZE_MAX: there was none */
	bool bad;

	uint64_t n_samples, n_given, n_values;
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

/* Notes one message of the file. False when there are too many of its kind. */
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

/* First pass: where everything is. */
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

static void set_columns(struct pprof_reader *r)
{
	struct pprof_tables *t = &r->tables;
	uint32_t period_type = pprof_string(t, r->period_type.type);
	uint32_t period_unit = pprof_string(t, r->period_type.unit);
	r->n_columns = r->sample_types.n;
	uint32_t last = pprof_string(t, r->sample_types.v[r->n_columns - 1].type);
	for (size_t i = 0; i < r->n_columns; i++) {
		struct value_type v = r->sample_types.v[i];
		r->columns[i] = (struct pprof_column){
			.type = { .name = period_type ? period_type : last,
				  .sample_type = pprof_string(t, v.type),
				  .unit = pprof_string(t, v.unit),
				  .period_type = period_type,
				  .period_unit = period_unit },
			.period = r->period,
		};
	}
}

/* Takes what our writer left in comments; others stay comments. */
static void set_comments(struct pprof_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	for (size_t i = 0; i < r->comments.n; i++) {
		struct cur text = pprof_text(&r->tables, r->comments.v[i]);
		if (!pprof_meta_take(r->sink, (const char *)text.p, cur_left(&text), r->columns,
				     r->n_columns))
			vec_push(&meta->comments, pprof_string(&r->tables, r->comments.v[i]));
	}
}

static bool value_type_is(const struct pprof_reader *r, struct value_type v, const char *type,
			  const char *unit)
{
	struct cur a = pprof_text(&r->tables, v.type), b = pprof_text(&r->tables, v.unit);
	return cur_left(&a) == strlen(type) && memcmp(a.p, type, strlen(type)) == 0 &&
	       cur_left(&b) == strlen(unit) && memcmp(b.p, unit, strlen(unit)) == 0;
}

static void add_value(void *ctx, uint64_t v)
{
	struct pprof_reader *r = ctx;
	if (r->values.n < PPROF_MAX_COLUMNS)
		vec_push(&r->values, (int64_t)v);
	else
		r->bad = true;
}

/* Whether every sample's second value is the first times the period. */
static bool second_is_first_times_period(struct pprof_reader *r)
{
	struct cur c = r->file, s;
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num != PROFILE_SAMPLE)
			continue;
		vec_clear(&r->values);
		for (s = f.len; pb_next(&s, &f);)
			if (f.num == SAMPLE_VALUE)
				pb_each_varint(&f, add_value, r);
		int64_t product;
		if (r->values.n == 2 &&
		    (__builtin_mul_overflow(r->values.v[0], (int64_t)r->period, &product) ||
		     product != r->values.v[1]))
			return false;
	}
	return true;
}

/* The pair that CPU profilers write says one thing twice. */
static void find_cpu_pair(struct pprof_reader *r)
{
	if (r->n_columns == 2 && r->period &&
	    value_type_is(r, r->sample_types.v[0], "samples", "count") &&
	    value_type_is(r, r->sample_types.v[1], "cpu", "nanoseconds") &&
	    value_type_is(r, r->period_type, "cpu", "nanoseconds") &&
	    second_is_first_times_period(r))
		r->columns[1].derived = true;
}

/* Two equal columns would fall together: the later one is told apart by its name. */
static uint32_t new_type(struct pprof_reader *r, struct type *type, size_t column)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	uint32_t id = r->sink->ops->type(r->sink, type);
	for (size_t i = 0; i < meta->sample_types.n; i++) {
		if (meta->sample_types.v[i] != id)
			continue;
		char name[32];
		snprintf(name, sizeof name, "column %zu", column + 1);
		type->name = sink_string(r->sink, name);
		id = r->sink->ops->type(r->sink, type);
		break;
	}
	vec_push(&meta->sample_types, id);
	return id;
}

/* Types, and their order where it is the file's own: a file with a derived column is of our
 * writer's habit. */
static void set_types(struct pprof_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	uint32_t wanted = pprof_string(&r->tables, r->default_type);
	bool any_derived = false;
	vec_clear(&meta->sample_types);
	meta->default_column = wanted;
	for (size_t i = 0; i < r->n_columns; i++) {
		struct pprof_column *c = &r->columns[i];
		c->id = c->derived ? r->columns[i - 1].id : new_type(r, &c->type, i);
		any_derived |= c->derived;
		if (wanted && c->type.sample_type == wanted)
			meta->default_type = c->id;
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

/* --- samples ---------------------------------------------------------------------------------- */

static uint32_t frame_of(struct pprof_reader *r, uint64_t location)
{
	uint32_t frame = pprof_frame(&r->tables, location);
	r->bad |= frame == UINT32_MAX;
	return frame;
}

/* Most of a file is numbers of locations: everything that the loop needs is in registers. */
static void add_packed_locations(struct pprof_reader *r, struct cur c)
{
	uint32_t *out = r->frames.v + r->frames.n;
	const uint32_t *end = r->frames.v + STACK_MAX_DEPTH + 1;
	if (end > r->frames.v + r->frames.cap)
		end = r->frames.v + r->frames.cap;
	while (cur_left(&c)) {
		const uint32_t *known = r->tables.locations.ids.v;
		uint64_t location = cur_varint(&c);
		uint32_t frame = UINT32_MAX;
		if (location - 1 < r->tables.locations.dense)
			frame = known[location - 1];
		if (frame == UINT32_MAX)
			frame = frame_of(r, location);
		if (out < end) /* one more than STACK_MAX_DEPTH tells the sink to cut */
			*out++ = frame;
	}
	r->frames.n = out - r->frames.v;
	r->bad |= c.bad;
}

static void add_locations(struct pprof_reader *r, const struct pb_field *f)
{
	size_t most = r->frames.n + (f->wire == PB_LEN ? cur_left(&f->len) : 1);
	vec_reserve(&r->frames, most < STACK_MAX_DEPTH ? most : STACK_MAX_DEPTH + 1);
	if (f->wire == PB_LEN)
		add_packed_locations(r, f->len);
	else if (f->wire == PB_VARINT && r->frames.n <= STACK_MAX_DEPTH)
		r->frames.v[r->frames.n++] = frame_of(r, f->u);
}

/* The numeric label that is a column of ours; NULL for all others. */
static uint32_t *id_column(struct pprof_reader *r, const struct label *l)
{
	if (!l->is_num || l->unit || l->num < 0 || l->num >= SAMPLE_NO_ID)
		return NULL;
	uint32_t *id = l->key == r->key_pid   ? &r->sample.pid
		       : l->key == r->key_tid ? &r->sample.tid
		       : l->key == r->key_cpu ? &r->sample.cpu
					      : NULL;
	return id && *id == SAMPLE_NO_ID ? id : NULL;
}

/* False when it is damaged. */
static bool parse_label(struct pprof_reader *r, struct cur c, struct label *out)
{
	struct pprof_tables *t = &r->tables;
	struct label l = { 0 };
	struct pb_field f;
	uint64_t str = 0;
	while (pb_next(&c, &f)) {
		if (f.num == LABEL_KEY)
			l.key = pprof_string(t, f.u);
		else if (f.num == LABEL_STR)
			str = f.u;
		else if (f.num == LABEL_NUM)
			l.num = f.u;
		else if (f.num == LABEL_NUM_UNIT)
			l.unit = pprof_string(t, f.u);
	}
	l.is_num = str == 0;
	if (str) {
		l.str = pprof_string(t, str);
		l.num = 0;
		l.unit = 0;
	}
	*out = l;
	return !c.bad;
}

/* A label that was skipped once is read again each time, so that each is counted. */
static bool label_of(struct pprof_reader *r, struct cur c, struct label *out)
{
	size_t len = cur_left(&c);
	struct label_memo *memo = &r->memos[hash_bytes(c.p, len) % PPROF_LABEL_MEMOS];
	if (len && cur_left(&memo->bytes) == len && memcmp(memo->bytes.p, c.p, len) == 0) {
		*out = memo->label;
		return true;
	}
	uint64_t skipped = r->tables.skipped;
	if (!parse_label(r, c, out))
		return false;
	if (r->tables.skipped == skipped)
		*memo = (struct label_memo){ c, *out };
	return true;
}

static void add_label(struct pprof_reader *r, struct cur c)
{
	struct label l;
	bool good = label_of(r, c, &l);
	uint32_t *id = id_column(r, &l);
	if (id)
		*id = l.num;
	else if (!good || r->labels.n == PPROF_MAX_LABELS)
		r->tables.skipped++;
	else
		vec_push(&r->labels, l);
}

/* Reads one sample; false when nothing of it can be used. */
static bool read_sample(struct pprof_reader *r, struct cur c)
{
	struct pb_field f;
	vec_clear(&r->frames);
	vec_clear(&r->values);
	vec_clear(&r->labels);
	r->sample =
		(struct sample){ .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .cpu = SAMPLE_NO_ID };
	r->bad = false;
	while (!r->bad && pb_next(&c, &f)) {
		if (f.num == SAMPLE_LOCATION_ID)
			add_locations(r, &f);
		else if (f.num == SAMPLE_VALUE)
			r->bad |= !pb_each_varint(&f, add_value, r);
		else if (f.num == SAMPLE_LABEL)
			add_label(r, f.len);
	}
	return !r->bad && !c.bad && r->values.n == r->n_columns;
}

/* The run of series, one for each column, of a label set: its index in series. */
static size_t series_of_set(struct pprof_reader *r, uint32_t labels)
{
	uint32_t *known = map_get(&r->series_of_labels, labels);
	if (known)
		return *known;
	size_t at = r->series.n;
	map_put(&r->series_of_labels, labels, at);
	for (size_t i = 0; i < r->n_columns; i++) {
		struct series s = { r->columns[i].id, r->columns[i].period, labels };
		vec_push(&r->series, r->sink->ops->series(r->sink, &s));
	}
	return at;
}

static bool labels_are_those_before(const struct pprof_reader *r)
{
	return r->series_before != SIZE_MAX && r->labels.n == r->labels_before.n &&
	       (r->labels.n == 0 ||
		memcmp(r->labels.v, r->labels_before.v, r->labels.n * sizeof *r->labels.v) == 0);
}

/* The run of series of the sample at hand. */
static const uint32_t *series_of(struct pprof_reader *r)
{
	if (!labels_are_those_before(r)) {
		uint32_t set = r->sink->ops->labels(r->sink, r->labels.v, r->labels.n);
		r->series_before = series_of_set(r, set);
		vec_clear(&r->labels_before);
		vec_append(&r->labels_before, r->labels.v, r->labels.n);
	}
	return r->series.v + r->series_before;
}

static void give_value(struct pprof_reader *r, uint32_t series, int64_t value)
{
	r->sample.series = series;
	r->sample.value = value;
	r->sink->ops->sample(r->sink, &r->sample);
	r->n_values++;
}

static void give_sample(struct pprof_reader *r)
{
	uint32_t *frames = r->frames.v;
	for (size_t i = 0, j = r->frames.n; i + 1 < j; i++) {
		uint32_t leaf = frames[i];
		frames[i] = frames[--j];
		frames[j] = leaf;
	}
	const struct sink_ops *ops = r->sink->ops;
	r->sample.stack = ops->stack(r->sink, frames, r->frames.n);
	const uint32_t *series = series_of(r);
	bool any = false;
	for (size_t i = 0; i < r->n_columns; i++) {
		if (r->columns[i].derived || !r->values.v[i])
			continue;
		give_value(r, series[i], r->values.v[i]);
		any = true;
	}
	if (!any)
		give_value(r, series[0], 0);
	r->n_given++;
}

/* Second pass: the samples. */
static int read_samples(struct pprof_reader *r, const char *name, struct err *err)
{
	struct cur c = r->file;
	struct pb_field f;
	r->key_pid = sink_string(r->sink, "pid");
	r->key_tid = sink_string(r->sink, "tid");
	r->key_cpu = sink_string(r->sink, "cpu");
	while (pb_next(&c, &f)) {
		if (f.num != PROFILE_SAMPLE || f.wire != PB_LEN)
			continue;
		if (!read_sample(r, f.len))
			r->tables.skipped++;
		else if (r->n_values + r->n_columns > PPROF_MAX_SAMPLES)
			return err_set(err, EBADMSG, "%s: more than %d values", name,
				       PPROF_MAX_SAMPLES);
		else
			give_sample(r);
	}
	if (r->n_samples && !r->n_given)
		return err_set(err, EBADMSG, "%s: none of %llu samples can be read", name,
			       (unsigned long long)r->n_samples);
	if (r->tables.skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->tables.skipped);
	return 0;
}

static void reader_done(struct pprof_reader *r)
{
	pprof_tables_done(&r->tables);
	vec_done(&r->sample_types);
	vec_done(&r->comments);
	vec_done(&r->series);
	map_done(&r->series_of_labels);
	vec_done(&r->frames);
	vec_done(&r->values);
	vec_done(&r->labels);
	vec_done(&r->labels_before);
	free(r);
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
		r->series_before = SIZE_MAX;
		r->file = cur_of(bytes.data ? bytes.data : "", bytes.len);
		pprof_tables_init(&r->tables, sink, r->file.p);
		rc = read_file(r, input_name(in), err);
		reader_done(r);
	}
	buf_done(&bytes);
	return rc;
}
