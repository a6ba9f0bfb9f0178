/* Reads samples, with values and times, and attributes as labels. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/otlp/otlp_attr.h"
#include "format/otlp/otlp_tables.h"
#include "profile/sink.h"
#include "profile/units.h"

#include <errno.h>
#include <string.h>

enum { ATTR_MEMOS = 4096 };

/* The content of a list of attributes. */
struct attr_set {
	const uint8_t *bytes; /* in the message */
	size_t len;
	uint32_t resource; /* the resource, whose labels are included */
	uint32_t labels;   /* the sink's set */
	uint32_t pid, tid, cpu;
};

struct otlp_samples {
	struct otlp_tables *t;
	struct otlp_times times;
	/* Fields of Sample in this layout. */
	uint32_t values_field, attributes_field, link_field;
	VEC(struct label) labels; /* the first n_resource are the resource's */
	uint32_t n_resource, resource;
	struct attr_set *memos; /* by hash of the list */

	/* Of the current profile. */
	uint32_t type;
	int64_t period;
	uint64_t time_unix_ns;
	bool has_lengths;
	uint32_t n_profiles;
	/* by profile and labels, so it stays valid across profiles */
	struct map series_of_labels;
	VEC(int64_t) values; /* of the current sample */
	VEC(uint64_t) stamps;

	/* Of the current resource. */
	struct cur previous; /* the Profile before the current one */
	bool has_cpu_time;   /* CPU time that is not a number of samples times the period */
	VEC(int64_t) counts; /* of a sample, to be compared with its CPU time */

	uint64_t given, rejected, n_values;
};

struct otlp_samples *otlp_samples_new(struct otlp_tables *t, enum otlp_layout layout,
				      const struct otlp_times *times)
{
	struct otlp_samples *s = xcalloc(1, sizeof *s);
	bool old = layout == OTLP_1_8;
	s->t = t;
	s->times = *times;
	s->values_field = old ? 2 : OTLP_SAMPLE_VALUES;
	s->attributes_field = old ? 3 : OTLP_SAMPLE_ATTRIBUTES;
	s->link_field = old ? 4 : OTLP_SAMPLE_LINK;
	s->memos = xcalloc(ATTR_MEMOS, sizeof *s->memos);
	return s;
}

void otlp_samples_free(struct otlp_samples *s, uint64_t *given, uint64_t *rejected)
{
	*given += s->given;
	*rejected += s->rejected;
	vec_done(&s->labels);
	map_done(&s->series_of_labels);
	vec_done(&s->values);
	vec_done(&s->stamps);
	vec_done(&s->counts);
	free(s->memos);
	free(s);
}

void otlp_samples_set_resource(struct otlp_samples *s, const struct label *labels, uint32_t n)
{
	vec_clear(&s->labels);
	vec_append(&s->labels, labels, n);
	s->n_resource = n;
	s->resource++;
}

/* --- attributes ------------------------------------------------------------------------------- */

static uint32_t *id_column(struct attr_set *set, const struct otlp_attr *a)
{
	if (a->value.form != FORM_NUMBER || a->value.number < 0 || a->value.number >= SAMPLE_NO_ID)
		return NULL;
	return a->role == ATTR_PID   ? &set->pid
	       : a->role == ATTR_TID ? &set->tid
	       : a->role == ATTR_CPU ? &set->cpu
				     : NULL;
}

static void take_attr(struct otlp_samples *s, struct attr_set *set, uint64_t index)
{
	struct otlp_attr *a = otlp_attr_at(s->t, index);
	struct label label;
	if (a && a->role == ATTR_STACK_ID)
		return; /* derived from the stack */
	uint32_t *id = a ? id_column(set, a) : NULL;
	if (id)
		*id = a->value.number;
	else if (!a || s->labels.n == OTLP_MAX_LABELS || !otlp_attr_label(s->t, a, &label))
		s->t->skipped++;
	else
		vec_push(&s->labels, label);
}

/* Caches lists of attributes. Many samples of a resource share a list; resources rarely do. */
static const struct attr_set *find_attrs(struct otlp_samples *s, struct cur list)
{
	size_t len = cur_left(&list);
	uint64_t hash = hash_mix(s->resource, hash_bytes(list.p, len));
	struct attr_set *memo = &s->memos[hash % ATTR_MEMOS];
	if (memo->resource == s->resource && memo->len == len &&
	    (len == 0 || memcmp(memo->bytes, list.p, len) == 0))
		return memo;
	*memo = (struct attr_set){ .bytes = list.p,
				   .len = len,
				   .resource = s->resource,
				   .pid = SAMPLE_NO_ID,
				   .tid = SAMPLE_NO_ID,
				   .cpu = SAMPLE_NO_ID };
	s->labels.n = s->n_resource;
	while (cur_left(&list))
		take_attr(s, memo, cur_varint(&list));
	s->t->skipped += list.bad;
	memo->labels = s->t->sink->ops->labels(s->t->sink, s->labels.v, s->labels.n);
	return memo;
}

static uint32_t find_series(struct otlp_samples *s, uint32_t labels)
{
	uint64_t key = (uint64_t)s->n_profiles << 32 | labels;
	const uint32_t *known = map_get(&s->series_of_labels, key);
	if (known)
		return *known;
	struct series series = { s->type, s->period, labels };
	uint32_t id = s->t->sink->ops->series(s->t->sink, &series);
	map_put(&s->series_of_labels, key, id);
	return id;
}

/* --- a sample --------------------------------------------------------------------------------- */

struct otlp_sample {
	uint64_t stack, link;
	struct cur attrs;
};

static void read_values(struct otlp_samples *s, const struct pb_field *f)
{
	if (f->wire == PB_VARINT)
		vec_push(&s->values, (int64_t)f->u);
	for (struct cur c = f->len; cur_left(&c);)
		vec_push(&s->values, (int64_t)cur_varint(&c));
}

static void read_stamps(struct otlp_samples *s, const struct pb_field *f)
{
	if (f->wire == PB_I64)
		vec_push(&s->stamps, f->u);
	for (struct cur c = f->len; cur_left(&c);)
		vec_push(&s->stamps, cur_u64(&c));
}

static bool read_sample(struct otlp_samples *s, struct cur c, struct otlp_sample *out)
{
	struct pb_field f;
	*out = (struct otlp_sample){ .attrs = cur_of("", 0) };
	vec_clear(&s->values);
	vec_clear(&s->stamps);
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_SAMPLE_STACK)
			out->stack = f.u;
		else if (f.num == s->attributes_field && f.wire == PB_LEN && f.len.p)
			out->attrs = f.len;
		else if (f.num == s->link_field && f.wire == PB_VARINT)
			out->link = f.u;
		else if (f.num == s->values_field)
			read_values(s, &f);
		else if (f.num == OTLP_SAMPLE_TIMES)
			read_stamps(s, &f);
	}
	return !c.bad;
}

/* Converts to the samples' clock; 0 if no sample has a time. A time a century away is invalid. */
static int64_t sample_time(struct otlp_samples *s, uint64_t unix_ns)
{
	const int64_t century_ns = 3155760000000000000;
	int64_t since = unix_ns - s->times.base_unix_ns;
	if (!s->times.any)
		return 0;
	if (since < -century_ns || since > century_ns) {
		s->t->skipped++;
		since = 0;
	}
	return (int64_t)((uint64_t)s->times.start_mono_ns + (uint64_t)since);
}

static void note_stack(struct otlp_known_stacks *k, uint64_t stack)
{
	if (k->samples == k->room) {
		k->room = k->room ? 2 * k->room : 1024;
		k->index = xreallocarray(k->index, k->room, sizeof *k->index);
	}
	k->index[k->samples++] = stack;
}

/* Passes on values and times in pairs. Without values each time counts 1. A single value holds for
 * all its times and is passed on once. */
static void give_values(struct otlp_samples *s, uint64_t stack, struct sample *sample)
{
	size_t n = s->values.n;
	if (n == 0 || (s->stamps.n > n && n > 1))
		n = s->stamps.n;
	for (size_t i = 0; i < n; i++) {
		uint64_t at = i < s->stamps.n ? s->stamps.v[i] : s->time_unix_ns;
		sample->value = i < s->values.n ? s->values.v[i] : s->values.n == 0;
		sample->time_ns = sample_time(s, at);
		if (s->has_lengths)
			sample->length_ns = sample->value;
		s->t->sink->ops->sample(s->t->sink, sample);
		if (s->t->known)
			note_stack(s->t->known, stack);
	}
	s->n_values += n;
}

static void add_sample(struct otlp_samples *s, struct cur c)
{
	struct otlp_sample raw;
	bool good = read_sample(s, c, &raw);
	uint32_t stack = good ? otlp_stack(s->t, raw.stack) : UINT32_MAX;
	if (stack == UINT32_MAX || (s->values.n == 0 && s->stamps.n == 0)) {
		s->rejected++;
		s->t->skipped++;
		return;
	}
	const struct attr_set *attrs = find_attrs(s, raw.attrs);
	struct sample sample = { .series = find_series(s, attrs->labels),
				 .stack = stack,
				 .pid = attrs->pid,
				 .tid = attrs->tid,
				 .cpu = attrs->cpu,
				 .link = raw.link ? otlp_link(s->t, raw.link) : 0 };
	give_values(s, raw.stack, &sample);
	s->given++;
}

/* --- a profile -------------------------------------------------------------------------------- */

struct otlp_profile {
	uint64_t type, unit, period_type, period_unit; /* indices of strings */
	struct cur attrs;
	struct cur name; /* of cresset.type */
	bool is_snapshot, is_default;
};

static void read_value_type(struct cur c, uint64_t *type, uint64_t *unit)
{
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_VALUE_TYPE_TYPE)
			*type = f.u;
		else if (f.num == OTLP_VALUE_TYPE_UNIT)
			*unit = f.u;
	}
}

static void take_profile_attrs(struct otlp_samples *s, struct otlp_profile *p, struct cur list)
{
	while (cur_left(&list)) {
		const struct otlp_attr *a = otlp_attr_at(s->t, cur_varint(&list));
		if (!a)
			s->t->skipped++;
		else if (a->role == ATTR_TYPE)
			p->name = a->value.text;
		else if (a->role == ATTR_SNAPSHOT)
			p->is_snapshot = true;
		else if (a->role == ATTR_DEFAULT)
			p->is_default = true;
		else if (a->role == ATTR_LENGTHS)
			s->has_lengths = true;
	}
}

static void read_head(struct otlp_samples *s, struct cur c, struct otlp_profile *p)
{
	struct pb_field f;
	s->period = s->time_unix_ns = 0;
	s->has_lengths = false;
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_PROFILE_SAMPLE_TYPE && f.wire == PB_LEN)
			read_value_type(f.len, &p->type, &p->unit);
		else if (f.num == OTLP_PROFILE_PERIOD_TYPE && f.wire == PB_LEN)
			read_value_type(f.len, &p->period_type, &p->period_unit);
		else if (f.num == OTLP_PROFILE_PERIOD && f.wire == PB_VARINT)
			s->period = f.u;
		else if (f.num == OTLP_PROFILE_TIME && f.wire == PB_I64)
			s->time_unix_ns = f.u;
		else if (f.num == OTLP_PROFILE_ATTRIBUTES && f.wire == PB_LEN &&
			 s->values_field == OTLP_SAMPLE_VALUES)
			take_profile_attrs(s, p, f.len);
	}
}

/* --- samples and their CPU time --------------------------------------------------------------- */

static struct unit_base unit_of(struct otlp_samples *s, uint64_t index)
{
	struct cur text = otlp_text(s->t, index);
	return unit_base_of_n((const char *)text.p, cur_left(&text));
}

static bool is_cpu_time(struct otlp_samples *s, uint64_t type, uint64_t unit)
{
	struct unit_base u = unit_of(s, unit);
	return cur_is(otlp_text(s->t, type), "cpu") && u.base && strcmp(u.base, "nanoseconds") == 0;
}

static bool has_cpu_time(struct otlp_samples *s, const struct otlp_profile *p)
{
	return !p->name.p && is_cpu_time(s, p->type, p->unit);
}

/* Whether p counts samples of CPU time. */
static bool has_cpu_samples(struct otlp_samples *s, const struct otlp_profile *p)
{
	struct unit_base u = unit_of(s, p->unit);
	return !p->name.p && cur_is(otlp_text(s->t, p->type), "samples") && u.base &&
	       strcmp(u.base, "count") == 0 && is_cpu_time(s, p->period_type, p->period_unit);
}

/* Returns false at the end. A sample without values has one per time. */
static bool next_sample(struct otlp_samples *s, struct cur *profile, struct otlp_sample *out)
{
	struct pb_field f;
	while (pb_next(profile, &f)) {
		if (f.num != OTLP_PROFILE_SAMPLES || f.wire != PB_LEN)
			continue;
		if (read_sample(s, f.len, out) && s->values.n == 0)
			for (size_t i = 0; i < s->stamps.n; i++)
				vec_push(&s->values, 1);
		return true;
	}
	return false;
}

static bool same_sample(const struct otlp_sample *a, const struct otlp_sample *b)
{
	size_t len = cur_left(&a->attrs);
	return a->stack == b->stack && a->link == b->link && len == cur_left(&b->attrs) &&
	       (len == 0 || memcmp(a->attrs.p, b->attrs.p, len) == 0);
}

/* Whether each of the values is the count before times the period. */
static bool values_are_counts_times(const struct otlp_samples *s, int64_t period, int64_t unit)
{
	int64_t product, value;
	for (size_t i = 0; i < s->values.n; i++)
		if (i == s->counts.n || __builtin_mul_overflow(s->counts.v[i], period, &product) ||
		    __builtin_mul_overflow(s->values.v[i], unit, &value) || product != value)
			return false;
	return s->counts.n == s->values.n;
}

static bool compare_with_previous(struct otlp_samples *s, struct cur profile)
{
	struct cur previous = s->previous;
	struct otlp_profile a = { 0 }, b = { 0 };
	struct otlp_sample x, y;
	int64_t period;
	if (!previous.p)
		return false;
	read_head(s, previous, &a);
	period = s->period;
	read_head(s, profile, &b);
	if (!has_cpu_samples(s, &a) || !has_cpu_time(s, &b) || period <= 0 ||
	    __builtin_mul_overflow(unit_of(s, a.period_unit).scale, period, &period))
		return false;
	while (next_sample(s, &previous, &x)) {
		vec_clear(&s->counts);
		vec_append(&s->counts, s->values.v, s->values.n);
		if (!next_sample(s, &profile, &y) || !same_sample(&x, &y) ||
		    !values_are_counts_times(s, period, unit_of(s, b.unit).scale))
			return false;
	}
	return !next_sample(s, &profile, &y);
}

/* Whether a Profile has the CPU time of the samples of the one before: the same stacks in the same
 * order, each value times the period. Their units may differ. Nothing is counted as skipped. */
static bool repeats_previous(struct otlp_samples *s, struct cur profile)
{
	uint64_t skipped = s->t->skipped;
	bool repeats = compare_with_previous(s, profile);
	s->t->skipped = skipped;
	return repeats;
}

static void find_cpu_time(struct otlp_samples *s, struct cur scope)
{
	struct pb_field f;
	while (!s->has_cpu_time && pb_next(&scope, &f)) {
		if (f.num != SCOPE_PROFILES_PROFILES || f.wire != PB_LEN)
			continue;
		struct otlp_profile p = { 0 };
		read_head(s, f.len, &p);
		s->has_cpu_time = has_cpu_time(s, &p) && !repeats_previous(s, f.len);
		s->previous = f.len;
	}
}

void otlp_samples_set_profiles(struct otlp_samples *s, struct cur resource)
{
	uint64_t skipped = s->t->skipped;
	struct pb_field f;
	s->previous = (struct cur){ 0 };
	s->has_cpu_time = false;
	while (pb_next(&resource, &f))
		if (f.num == RESOURCE_PROFILES_SCOPES && f.wire == PB_LEN)
			find_cpu_time(s, f.len);
	s->previous = (struct cur){ 0 };
	s->t->skipped = skipped;
}

/* --- profiles --------------------------------------------------------------------------------- */

static void set_type(struct otlp_samples *s, const struct otlp_profile *p)
{
	struct sink *sink = s->t->sink;
	struct cur period_type = otlp_text(s->t, p->period_type);
	bool has_own = s->has_cpu_time && has_cpu_samples(s, p);
	uint64_t named = cur_left(&period_type) && !has_own ? p->period_type : p->type;
	struct type type = { .name = otlp_string(s->t, named),
			     .sample_type = otlp_string(s->t, p->type),
			     .unit = otlp_string(s->t, p->unit),
			     .period_type = otlp_string(s->t, p->period_type),
			     .period_unit = otlp_string(s->t, p->period_unit),
			     .aggregation = p->is_snapshot ? AGG_SNAPSHOT : AGG_SUM };
	if (cur_is(otlp_text(s->t, named), "off_cpu"))
		type.name = sink_string(sink, "off-cpu");
	if (p->name.p)
		type.name = sink->ops->string(sink, (const char *)p->name.p, cur_left(&p->name));
	s->type = sink->ops->type(sink, &type);
	if (p->is_default)
		sink->ops->meta(sink)->default_type = s->type;
}

static void count_as_given(struct otlp_samples *s, struct cur profile)
{
	struct pb_field f;
	while (pb_next(&profile, &f))
		s->given += f.num == OTLP_PROFILE_SAMPLES && f.wire == PB_LEN;
}

int otlp_samples_add(struct otlp_samples *s, struct cur profile)
{
	struct otlp_profile p = { 0 };
	struct pb_field f;
	uint64_t given = s->given, n = 0;
	bool repeats = !s->has_cpu_time && repeats_previous(s, profile);
	s->previous = profile;
	if (repeats) {
		count_as_given(s, profile);
		return 0;
	}
	read_head(s, profile, &p);
	set_type(s, &p);
	s->n_profiles++;
	while (pb_next(&profile, &f)) {
		if (f.num != OTLP_PROFILE_SAMPLES || f.wire != PB_LEN)
			continue;
		add_sample(s, f.len);
		n++;
		if (s->n_values > OTLP_MAX_SAMPLES)
			return -EBADMSG;
	}
	s->t->skipped += profile.bad;
	return n && s->given == given ? -ENODATA : 0;
}
