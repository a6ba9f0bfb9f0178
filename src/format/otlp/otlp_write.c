/* Writes profiles of all types as one message. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_attr.h"
#include "format/otlp/otlp_put.h"
#include "format/pprof/pprof.h"
#include "format/pprof/pprof_meta.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack_id.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

enum { NO_GROUP = UINT32_MAX, NO_LABELS = UINT32_MAX };

/* A Profile: samples of the same type, period and resource. */
struct group {
	uint32_t resource; /* label set */
	uint32_t type;
	int64_t period;
	bool has_lengths, lengths_differ;
	uint32_t first_row, n_rows; /* in row_order */
	uint32_t next;              /* group of the same resource; NO_GROUP: last one */
};

/* Where a series is in the message. */
struct series_place {
	uint32_t group;  /* NO_GROUP: not requested */
	uint32_t labels; /* label set without the resource's */
};

/* A Sample; compared in the order of its members. */
struct row {
	uint32_t group, labels, pid, tid, cpu, stack, link;
};

struct otlp_writer {
	struct profile *p;
	struct otlp_put put;
	struct buf *out;
	const struct otlp_encode_opts *opts;
	bool has_times, several_types;
	VEC(struct label) resource_labels, other_labels;
	VEC(struct group) groups;
	struct map group_index;
	struct map last_of_resource;     /* groups */
	VEC(uint32_t) first_groups;      /* of each resource, in order of arrival */
	VEC(struct series_place) places; /* by series */
	VEC(struct row) rows;
	struct map row_index;
	VEC(uint32_t) row_of;    /* by sample; NO_GROUP: not requested */
	VEC(uint32_t) row_order; /* rows by group */
	VEC(uint32_t) first_of;  /* by row: start of its samples in sample_order */
	VEC(uint32_t) sample_order;
	VEC(uint32_t) attrs; /* the first n_label_attrs are of attrs_labels */
	uint32_t attrs_labels, n_label_attrs;
	struct buf scope; /* attributes of the first scope */
	struct stack_ids stack_ids;
};

/* --- series ----------------------------------------------------------------------------------- */

struct group_key {
	const struct otlp_writer *w;
	struct group group;
};

static bool same_group(const void *ctx, uint32_t i)
{
	const struct group_key *key = ctx;
	const struct group *a = &key->w->groups.v[i], *b = &key->group;
	return a->resource == b->resource && a->type == b->type && a->period == b->period;
}

static uint32_t group_of(struct otlp_writer *w, uint32_t resource, const struct series *s)
{
	struct group_key key = { w,
				 { .resource = resource, .type = s->type, .period = s->period } };
	uint64_t hash = hash_mix((uint64_t)resource << 32 | s->type, s->period);
	uint32_t fresh = w->groups.n,
		 i = map_intern(&w->group_index, hash, fresh, same_group, &key);
	if (i != fresh)
		return i;
	const uint32_t *last = map_get(&w->last_of_resource, resource);
	if (last)
		w->groups.v[*last].next = fresh;
	else
		vec_push(&w->first_groups, fresh);
	map_put(&w->last_of_resource, resource, fresh);
	key.group.next = NO_GROUP;
	vec_push(&w->groups, key.group);
	return fresh;
}

/* Splits a series' labels into those of its resource and the others. */
static struct series_place place_of(struct otlp_writer *w, const struct series *s)
{
	struct series_table *t = &w->p->series;
	struct label_set set = s->labels ? t->sets.v[s->labels] : (struct label_set){ 0 };
	vec_clear(&w->resource_labels);
	vec_clear(&w->other_labels);
	for (uint32_t i = 0; i < set.n; i++) {
		struct label l = t->labels.v[set.first + i];
		if (!l.is_num && otlp_label_is_resource(profile_str(w->p, l.key)))
			vec_push(&w->resource_labels, l);
		else
			vec_push(&w->other_labels, l);
	}
	uint32_t resource = label_set_intern(t, w->resource_labels.v, w->resource_labels.n);
	uint32_t labels = label_set_intern(t, w->other_labels.v, w->other_labels.n);
	return (struct series_place){ group_of(w, resource, s), labels };
}

static bool type_wanted(const struct profile *p, const char *want, uint32_t picked, uint32_t type)
{
	return !want || type == picked ||
	       strcmp(profile_str(p, p->series.types.v[type].name), want) == 0;
}

static int place_series(struct otlp_writer *w, const char *want, struct err *err)
{
	const struct series_table *t = &w->p->series;
	uint32_t picked = 0;
	int rc = want ? format_pick_type(w->p, want, &picked, err) : 0;
	for (size_t i = 0; rc == 0 && i < t->series.n; i++) {
		struct series s = t->series.v[i];
		struct series_place none = { .group = NO_GROUP };
		bool wanted = type_wanted(w->p, want, picked, s.type);
		vec_push(&w->places, wanted ? place_of(w, &s) : none);
		w->several_types |= wanted && s.type != w->groups.v[0].type;
	}
	return rc;
}

/* --- samples ---------------------------------------------------------------------------------- */

struct row_key {
	const struct otlp_writer *w;
	struct row row;
};

static bool same_row(const void *ctx, uint32_t i)
{
	const struct row_key *key = ctx;
	return memcmp(&key->w->rows.v[i], &key->row, sizeof key->row) == 0;
}

static uint32_t row_of_sample(struct otlp_writer *w, size_t i)
{
	const struct sample_columns *s = &w->p->samples;
	struct series_place at = w->places.v[s->series[i]];
	if (at.group == NO_GROUP)
		return NO_GROUP;
	struct row_key key = { w,
			       { at.group, at.labels, s->pid[i], s->tid[i], s->cpu[i], s->stack[i],
				 sample_link(s, i) } };
	uint32_t fresh = w->rows.n;
	uint32_t row = map_intern(&w->row_index, hash_bytes(&key.row, sizeof key.row), fresh,
				  same_row, &key);
	if (row == fresh) {
		vec_push(&w->rows, key.row);
		w->groups.v[at.group].n_rows++;
	}
	return row;
}

static void collect_rows(struct otlp_writer *w)
{
	const struct sample_columns *s = &w->p->samples;
	vec_reserve(&w->row_of, s->n);
	for (size_t i = 0; i < s->n; i++) {
		uint32_t row = row_of_sample(w, i);
		vec_push(&w->row_of, row);
		w->has_times |= s->time_ns[i] != 0;
		if (row == NO_GROUP)
			continue;
		struct group *g = &w->groups.v[w->rows.v[row].group];
		int64_t length_ns = sample_length_ns(s, i);
		g->has_lengths |= length_ns != 0;
		g->lengths_differ |= length_ns != s->value[i];
	}
}

static int row_cmp(const void *a, const void *b, void *ctx)
{
	const struct otlp_writer *w = ctx;
	const struct row *x = &w->rows.v[*(const uint32_t *)a],
			 *y = &w->rows.v[*(const uint32_t *)b];
	const uint32_t *p = (const uint32_t *)x, *q = (const uint32_t *)y;
	for (size_t i = 0; i < sizeof *x / sizeof *p; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

/* Sorts rows by content, not by arrival, so that messages of one sender are similar. */
static void order_rows(struct otlp_writer *w)
{
	for (uint32_t i = 0; i < w->rows.n; i++)
		vec_push(&w->row_order, i);
	if (w->rows.n)
		qsort_r(w->row_order.v, w->rows.n, sizeof *w->row_order.v, row_cmp, w);
	uint32_t at = 0;
	for (size_t i = 0; i < w->groups.n; i++) {
		w->groups.v[i].first_row = at;
		at += w->groups.v[i].n_rows;
	}
}

/* Sorts samples by row, in order of arrival. */
static void order_samples(struct otlp_writer *w)
{
	size_t n = w->rows.n + 1;
	vec_reserve(&w->first_of, n + 1);
	memset(w->first_of.v, 0, (n + 1) * sizeof *w->first_of.v);
	uint32_t *next = w->first_of.v + 1; /* becomes the row's end while samples go there */
	for (size_t i = 0; i < w->row_of.n; i++)
		if (w->row_of.v[i] != NO_GROUP)
			next[w->row_of.v[i] + 1]++;
	for (size_t i = 1; i < n; i++)
		next[i] += next[i - 1];
	vec_reserve(&w->sample_order, w->row_of.n + 1);
	for (uint32_t i = 0; i < w->row_of.n; i++)
		if (w->row_of.v[i] != NO_GROUP)
			w->sample_order.v[next[w->row_of.v[i]]++] = i;
}

/* --- the message ------------------------------------------------------------------------------ */

static void put_nonzero(struct buf *b, uint32_t field, uint64_t n)
{
	if (n)
		pb_put_u64(b, field, n);
}

static void put_attrs(struct otlp_writer *w, uint32_t field)
{
	if (w->attrs.n == 0)
		return;
	size_t mark = pb_begin(w->out, field);
	for (size_t i = 0; i < w->attrs.n; i++)
		pb_put_varint(w->out, w->attrs.v[i]);
	pb_end(w->out, mark);
}

static void add_id(struct otlp_writer *w, enum otlp_role role, uint32_t id)
{
	if (id != SAMPLE_NO_ID)
		vec_push(&w->attrs, otlp_put_role_number(&w->put, role, id));
}

static void add_label_attrs(struct otlp_writer *w, uint32_t labels)
{
	const struct series_table *t = &w->p->series;
	struct label_set set = labels ? t->sets.v[labels] : (struct label_set){ 0 };
	vec_clear(&w->attrs);
	for (uint32_t i = 0; i < set.n; i++)
		vec_push(&w->attrs, otlp_put_label(&w->put, &t->labels.v[set.first + i]));
	w->attrs_labels = labels;
	w->n_label_attrs = w->attrs.n;
}

/* Attributes of labels are reused: rows with the same labels are adjacent. */
static void add_row_attrs(struct otlp_writer *w, const struct row *row)
{
	if (w->attrs_labels != row->labels)
		add_label_attrs(w, row->labels);
	w->attrs.n = w->n_label_attrs;
	add_id(w, ATTR_PID, row->pid);
	add_id(w, ATTR_TID, row->tid);
	add_id(w, ATTR_CPU, row->cpu);
	if (!w->opts->stack_ids)
		return;
	struct stack_id id = stack_id_of(&w->stack_ids, w->p, row->stack);
	char text[STACK_ID_TEXT_BYTES];
	stack_id_text(&id, text);
	vec_push(&w->attrs,
		 otlp_put_role_string(&w->put, ATTR_STACK_ID, strtab_put(&w->p->strings, text)));
}

static void put_sum(struct otlp_writer *w, const uint32_t *samples, uint32_t n)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum = sum_add(sum, w->p->samples.value[samples[i]]);
	size_t mark = pb_begin(w->out, OTLP_SAMPLE_VALUES);
	pb_put_varint(w->out, sum);
	pb_end(w->out, mark);
}

/* Values are omitted if all are 1. */
static void put_pairs(struct otlp_writer *w, const uint32_t *samples, uint32_t n)
{
	const struct sample_columns *s = &w->p->samples;
	uint64_t zero = (uint64_t)w->p->meta.start_wall_ns - w->p->meta.start_mono_ns;
	bool all_one = true;
	for (uint32_t i = 0; i < n; i++)
		all_one &= s->value[samples[i]] == 1;
	size_t mark = all_one ? 0 : pb_begin(w->out, OTLP_SAMPLE_VALUES);
	for (uint32_t i = 0; i < n && !all_one; i++)
		pb_put_varint(w->out, s->value[samples[i]]);
	if (!all_one)
		pb_end(w->out, mark);
	mark = pb_begin(w->out, OTLP_SAMPLE_TIMES);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = htole64(zero + (uint64_t)s->time_ns[samples[i]]);
		buf_add(w->out, &at, sizeof at);
	}
	pb_end(w->out, mark);
}

static void put_row(struct otlp_writer *w, uint32_t i)
{
	const struct row *row = &w->rows.v[i];
	const uint32_t *samples = w->sample_order.v + w->first_of.v[i];
	uint32_t n = w->first_of.v[i + 1] - w->first_of.v[i];
	uint32_t stack = otlp_put_stack(&w->put, row->stack);
	add_row_attrs(w, row);
	size_t mark = pb_begin(w->out, OTLP_PROFILE_SAMPLES);
	put_nonzero(w->out, OTLP_SAMPLE_STACK, stack);
	put_attrs(w, OTLP_SAMPLE_ATTRIBUTES);
	put_nonzero(w->out, OTLP_SAMPLE_LINK, otlp_put_link(&w->put, row->link));
	if (w->has_times)
		put_pairs(w, samples, n);
	else
		put_sum(w, samples, n);
	pb_end(w->out, mark);
}

static void put_value_type(struct otlp_writer *w, uint32_t field, uint32_t type, uint32_t unit)
{
	uint32_t type_at = otlp_put_string(&w->put, type), unit_at = otlp_put_string(&w->put, unit);
	if (!type_at && !unit_at)
		return;
	size_t mark = pb_begin(w->out, field);
	put_nonzero(w->out, OTLP_VALUE_TYPE_TYPE, type_at);
	put_nonzero(w->out, OTLP_VALUE_TYPE_UNIT, unit_at);
	pb_end(w->out, mark);
}

/* Whether two types have this name: a reader would rename one (otlp.h). */
static bool is_shared_name(const struct profile *p, uint32_t name)
{
	size_t n = 0;
	for (size_t i = 0; i < p->series.types.n; i++)
		n += p->series.types.v[i].name == name;
	return n > 1;
}

static void add_group_attrs(struct otlp_writer *w, const struct group *g)
{
	const struct type *t = &w->p->series.types.v[g->type];
	uint32_t guessed = t->period_type ? t->period_type : t->sample_type;
	vec_clear(&w->attrs);
	w->attrs_labels = NO_LABELS;
	if (t->name != guessed || strcmp(profile_str(w->p, guessed), "off_cpu") == 0 ||
	    is_shared_name(w->p, t->name))
		vec_push(&w->attrs, otlp_put_role_string(&w->put, ATTR_TYPE, t->name));
	if (t->aggregation == AGG_SNAPSHOT)
		vec_push(&w->attrs, otlp_put_role_true(&w->put, ATTR_SNAPSHOT));
	if (g->has_lengths && !g->lengths_differ && w->has_times)
		vec_push(&w->attrs, otlp_put_role_true(&w->put, ATTR_LENGTHS));
	if (w->several_types && g->type == w->p->meta.default_type)
		vec_push(&w->attrs, otlp_put_role_true(&w->put, ATTR_DEFAULT));
}

static void put_group(struct otlp_writer *w, const struct group *g)
{
	const struct type *t = &w->p->series.types.v[g->type];
	const struct profile_meta *meta = &w->p->meta;
	size_t mark = pb_begin(w->out, SCOPE_PROFILES_PROFILES);
	put_value_type(w, OTLP_PROFILE_SAMPLE_TYPE, t->sample_type, t->unit);
	for (uint32_t i = 0; i < g->n_rows; i++)
		put_row(w, w->row_order.v[g->first_row + i]);
	if (meta->start_wall_ns)
		pb_put_fixed64(w->out, OTLP_PROFILE_TIME, meta->start_wall_ns);
	put_nonzero(w->out, OTLP_PROFILE_DURATION, meta->duration_ns);
	put_value_type(w, OTLP_PROFILE_PERIOD_TYPE, t->period_type, t->period_unit);
	put_nonzero(w->out, OTLP_PROFILE_PERIOD, g->period);
	add_group_attrs(w, g);
	put_attrs(w, OTLP_PROFILE_ATTRIBUTES);
	pb_end(w->out, mark);
}

/* --- resources -------------------------------------------------------------------------------- */

static void put_resource_label(struct otlp_writer *w, const struct label *l)
{
	const char *name = profile_str(w->p, l->key);
	enum otlp_role role = otlp_role_of_label(name);
	otlp_put_key_text(w->out, RESOURCE_ATTRIBUTES,
			  role == ATTR_LABEL ? name : otlp_roles[role].key,
			  profile_str(w->p, l->str), strtab_len(&w->p->strings, l->str));
}

/* Writes the host of the whole profile, which is not a label. The mark is first, so that readers
 * that know it skip the name. */
static void put_host_once(struct otlp_writer *w)
{
	otlp_put_key_text(w->out, RESOURCE_ATTRIBUTES, otlp_roles[ATTR_HOST_ONCE].key, "", 0);
	otlp_put_key_text(w->out, RESOURCE_ATTRIBUTES, otlp_roles[ATTR_HOST].key,
			  profile_str(w->p, w->p->meta.host),
			  strtab_len(&w->p->strings, w->p->meta.host));
}

static void put_resource(struct otlp_writer *w, uint32_t labels)
{
	const struct series_table *t = &w->p->series;
	struct label_set set = labels ? t->sets.v[labels] : (struct label_set){ 0 };
	size_t mark = pb_begin(w->out, RESOURCE_PROFILES_RESOURCE);
	bool has_host = false;
	for (uint32_t i = 0; i < set.n; i++) {
		const struct label *l = &t->labels.v[set.first + i];
		has_host |= strcmp(profile_str(w->p, l->key), otlp_roles[ATTR_HOST].label) == 0;
		put_resource_label(w, l);
	}
	if (!has_host && w->p->meta.host)
		put_host_once(w);
	for (size_t i = 0; i < w->opts->n_resource; i++) {
		const struct otlp_attribute *a = &w->opts->resource[i];
		otlp_put_key_text(w->out, RESOURCE_ATTRIBUTES, a->key, a->text, strlen(a->text));
	}
	pb_end(w->out, mark);
}

static void add_scope_text(struct otlp_writer *w, const char *key, const char *text, size_t len)
{
	otlp_put_key_text(&w->scope, SCOPE_ATTRIBUTES, key, text, len);
}

/* Splits "cresset: KEY=VALUE". */
static void add_known(void *ctx, const struct buf *text)
{
	struct otlp_writer *w = ctx;
	const char *from = text->data + strlen(PPROF_COMMENT), *end = text->data + text->len;
	const char *equals = memchr(from, '=', end - from);
	char *key = xasprintf(OTLP_OWN "%.*s", (int)(equals - from), from);
	add_scope_text(w, key, equals + 1, end - equals - 1);
	free(key);
}

static void add_scope(struct otlp_writer *w)
{
	const struct profile_meta *meta = &w->p->meta;
	pprof_meta_give(w->p, add_known, w);
	for (size_t i = 0; i < meta->comments.n; i++) {
		char *key = xasprintf(OTLP_OWN "comment.%zu", i);
		uint32_t comment = meta->comments.v[i];
		add_scope_text(w, key, profile_str(w->p, comment),
			       strtab_len(&w->p->strings, comment));
		free(key);
	}
}

/* Writes all groups of one resource. */
static void put_resource_profiles(struct otlp_writer *w, uint32_t resource, uint32_t first)
{
	size_t mark = pb_begin(w->out, DATA_RESOURCE_PROFILES);
	put_resource(w, resource);
	size_t scope = pb_begin(w->out, RESOURCE_PROFILES_SCOPES);
	/* Facts about the whole profile are written once. */
	size_t about = pb_begin(w->out, SCOPE_PROFILES_SCOPE);
	pb_put_bytes(w->out, SCOPE_NAME, "cresset", strlen("cresset"));
	buf_add(w->out, w->scope.data, w->scope.len);
	buf_clear(&w->scope);
	pb_end(w->out, about);
	for (uint32_t i = first; i != NO_GROUP; i = w->groups.v[i].next)
		if (w->groups.v[i].n_rows)
			put_group(w, &w->groups.v[i]);
	pb_end(w->out, scope);
	pb_end(w->out, mark);
}

/* Adds everything in the profile by its ids, so that later additions come after it. */
static void put_whole_tables(struct otlp_writer *w)
{
	const struct series_table *t = &w->p->series;
	uint32_t strings = w->p->strings.all.n;
	for (uint32_t i = 0; i < strings; i++)
		otlp_put_string(&w->put, i);
	for (uint32_t i = 0; i < w->p->stacks.stacks.n; i++)
		otlp_put_stack(&w->put, i);
	for (size_t i = 0; i < w->places.n; i++) {
		uint32_t labels = w->places.v[i].labels;
		struct label_set set = labels ? t->sets.v[labels] : (struct label_set){ 0 };
		for (uint32_t k = 0; k < set.n; k++)
			otlp_put_label(&w->put, &t->labels.v[set.first + k]);
	}
}

static void put_message(struct otlp_writer *w, bool whole_tables)
{
	otlp_put_init(&w->put, w->p);
	if (whole_tables)
		put_whole_tables(w);
	add_scope(w);
	for (size_t i = 0; i < w->first_groups.n; i++) {
		uint32_t first = w->first_groups.v[i];
		put_resource_profiles(w, w->groups.v[first].resource, first);
	}
	if (w->first_groups.n == 0)
		put_resource_profiles(w, 0, NO_GROUP);
	otlp_put_tables(&w->put, w->out);
	otlp_put_done(&w->put);
}

static void writer_done(struct otlp_writer *w)
{
	vec_done(&w->resource_labels);
	vec_done(&w->other_labels);
	vec_done(&w->groups);
	map_done(&w->group_index);
	map_done(&w->last_of_resource);
	vec_done(&w->first_groups);
	vec_done(&w->places);
	vec_done(&w->rows);
	map_done(&w->row_index);
	vec_done(&w->row_of);
	vec_done(&w->row_order);
	vec_done(&w->first_of);
	vec_done(&w->sample_order);
	vec_done(&w->attrs);
	buf_done(&w->scope);
	stack_ids_done(&w->stack_ids);
}

int otlp_encode(struct profile *p, const struct otlp_encode_opts *opts, struct buf *out,
		struct err *err)
{
	struct otlp_writer w = { .p = p, .out = out, .opts = opts, .attrs_labels = NO_LABELS };
	int rc = place_series(&w, opts->type, err);
	if (rc == 0) {
		collect_rows(&w);
		order_rows(&w);
		order_samples(&w);
		put_message(&w, opts->whole_tables);
	}
	writer_done(&w);
	return rc;
}

int otlp_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
	       struct err *err)
{
	struct buf message = { 0 }, packed = { 0 };
	struct otlp_encode_opts how = { .type = opts->type, .stack_ids = true };
	int rc = otlp_encode(p, &how, &message, err);
	if (rc == 0 && fs_gzip(message.data, message.len, &packed))
		rc = err_set(err, ENOMEM, "cannot compress the profile");
	if (rc == 0)
		rc = out_write(out, packed.data, packed.len, err);
	buf_done(&message);
	buf_done(&packed);
	return rc;
}
