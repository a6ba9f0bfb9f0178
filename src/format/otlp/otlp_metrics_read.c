/* Reads metrics: gauges and sums as points, all others refused with a count. */
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_metrics.h"
#include "format/otlp/otlp_metrics_wire.h"
#include "format/otlp/otlp_tables.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

const char *const otlp_refusal_names[OTLP_REFUSALS] = {
	[REFUSED_HISTOGRAM] = "histogram", [REFUSED_SUMMARY] = "summary",
	[REFUSED_NO_VALUE] = "no value",   [REFUSED_NO_TIME] = "no time",
	[REFUSED_FALLING] = "differences", [REFUSED_NO_START] = "no start",
	[REFUSED_DAMAGED] = "damaged",
};

struct metrics_reader {
	struct profile *p;
	struct otlp_metrics *m;
	struct otlp_tables none;  /* attributes here have no dictionary */
	VEC(struct label) labels; /* the first n_resource are the resource's */
	uint32_t n_resource;
};

/* A metric without its points. */
struct metric_head {
	uint32_t name, unit;
	enum otlp_metric_kind kind;
	bool falls; /* deltas cannot be retained */
};

struct number_point {
	uint64_t time_unix_ns, start_unix_ns;
	double value;
	bool has_value;
};

void otlp_metrics_done(struct otlp_metrics *m)
{
	vec_done(&m->series);
	vec_done(&m->points);
	map_done(&m->index);
}

uint64_t otlp_metrics_refused(const struct otlp_metrics *m)
{
	uint64_t n = 0;
	for (int i = 0; i < OTLP_REFUSALS; i++)
		n += m->refused[i];
	return n;
}

struct series_key {
	const struct otlp_metrics *m;
	const struct otlp_series *s;
};

static bool same_series(const void *ctx, uint32_t i)
{
	const struct series_key *key = ctx;
	const struct otlp_series *a = &key->m->series.v[i], *b = key->s;
	return a->name == b->name && a->unit == b->unit && a->labels == b->labels &&
	       a->kind == b->kind;
}

uint32_t otlp_series_intern(struct otlp_metrics *m, const struct otlp_series *s)
{
	struct series_key key = { m, s };
	uint64_t hash =
		hash_mix((uint64_t)s->name << 32 | s->labels, (uint64_t)s->unit << 2 | s->kind);
	uint32_t fresh = m->series.n, i = map_intern(&m->index, hash, fresh, same_series, &key);
	if (i == fresh)
		vec_push(&m->series, *s);
	return i;
}

/* --- points ----------------------------------------------------------------------------------- */

static void take_attribute(struct metrics_reader *r, struct cur c)
{
	struct otlp_attr a;
	struct label label;
	if (r->labels.n == OTLP_MAX_LABELS || !otlp_attr_read(&r->none, c, &a) ||
	    !otlp_attr_label(&r->none, &a, &label))
		r->m->skipped++;
	else
		vec_push(&r->labels, label);
}

static void take_point_field(struct metrics_reader *r, struct number_point *p,
			     const struct pb_field *f)
{
	if (f->num == POINT_TIME && f->wire == PB_I64) {
		p->time_unix_ns = f->u;
	} else if (f->num == POINT_START && f->wire == PB_I64) {
		p->start_unix_ns = f->u;
	} else if (f->num == POINT_DOUBLE && f->wire == PB_I64) {
		memcpy(&p->value, &f->u, sizeof p->value);
		p->has_value = true;
	} else if (f->num == POINT_INT && f->wire == PB_I64) {
		p->value = (int64_t)f->u;
		p->has_value = true;
	} else if (f->num == POINT_FLAGS && f->u & POINT_HAS_NO_VALUE) {
		p->has_value = false;
	} else if (f->num == POINT_ATTRIBUTES && f->wire == PB_LEN) {
		take_attribute(r, f->len);
	}
}

/* Returns OTLP_REFUSALS if the point is accepted. */
static enum otlp_refusal refusal_of(const struct metric_head *head, const struct number_point *p)
{
	if (head->falls)
		return REFUSED_FALLING;
	if (!p->has_value)
		return REFUSED_NO_VALUE;
	if (!p->time_unix_ns || p->time_unix_ns > INT64_MAX)
		return REFUSED_NO_TIME;
	if (head->kind == OTLP_INCREMENTS &&
	    (!p->start_unix_ns || p->start_unix_ns >= p->time_unix_ns))
		return REFUSED_NO_START;
	return OTLP_REFUSALS;
}

static void take_point(struct metrics_reader *r, const struct metric_head *head,
		       const struct number_point *p)
{
	struct sink *s = profile_sink(r->p);
	struct otlp_series series = { .name = head->name,
				      .unit = head->unit,
				      .labels = s->ops->labels(s, r->labels.v, r->labels.n),
				      .kind = head->kind };
	struct otlp_point point = { .series = otlp_series_intern(r->m, &series),
				    .time_ns = (int64_t)p->time_unix_ns,
				    .value = p->value };
	if (head->kind == OTLP_INCREMENTS)
		point.start_ns = (int64_t)p->start_unix_ns;
	vec_push(&r->m->points, point);
}

static void add_point(struct metrics_reader *r, const struct metric_head *head, struct cur c)
{
	struct number_point point = { 0 };
	struct pb_field f;
	r->labels.n = r->n_resource;
	while (pb_next(&c, &f))
		take_point_field(r, &point, &f);
	enum otlp_refusal why = c.bad ? REFUSED_DAMAGED : refusal_of(head, &point);
	if (why == OTLP_REFUSALS)
		take_point(r, head, &point);
	else
		r->m->refused[why]++;
}

/* --- metrics ---------------------------------------------------------------------------------- */

static uint64_t count_points(struct cur c)
{
	struct pb_field f;
	uint64_t n = 0;
	while (pb_next(&c, &f))
		n += f.num == DATA_POINTS && f.wire == PB_LEN;
	return n;
}

static void read_sum_head(struct cur c, struct metric_head *head)
{
	struct pb_field f;
	uint64_t temporality = 0;
	bool grows = false;
	while (pb_next(&c, &f)) {
		if (f.num == SUM_TEMPORALITY && f.wire == PB_VARINT)
			temporality = f.u;
		else if (f.num == SUM_IS_MONOTONIC && f.wire == PB_VARINT)
			grows = f.u;
	}
	bool is_delta = temporality == TEMPORALITY_DELTA;
	head->kind = !grows ? OTLP_GAUGE : is_delta ? OTLP_INCREMENTS : OTLP_COUNTER;
	head->falls = (is_delta && !grows) || (!is_delta && temporality != TEMPORALITY_CUMULATIVE);
}

static void read_points(struct metrics_reader *r, const struct metric_head *head, struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f))
		if (f.num == DATA_POINTS && f.wire == PB_LEN && r->m->points.n < OTLP_MAX_POINTS)
			add_point(r, head, f.len);
	r->m->refused[REFUSED_DAMAGED] += c.bad;
}

static void read_data(struct metrics_reader *r, struct metric_head head, const struct pb_field *f)
{
	switch (f->num) {
	case METRIC_GAUGE_DATA:
		head.kind = OTLP_GAUGE;
		read_points(r, &head, f->len);
		break;
	case METRIC_SUM_DATA:
		read_sum_head(f->len, &head);
		read_points(r, &head, f->len);
		break;
	case METRIC_HISTOGRAM_DATA:
	case METRIC_EXPONENTIAL_DATA:
		r->m->refused[REFUSED_HISTOGRAM] += count_points(f->len);
		break;
	case METRIC_SUMMARY_DATA:
		r->m->refused[REFUSED_SUMMARY] += count_points(f->len);
		break;
	}
}

static uint32_t text_id(struct metrics_reader *r, struct cur text)
{
	struct sink *s = profile_sink(r->p);
	return text.p ? s->ops->string(s, (const char *)text.p, cur_left(&text)) : 0;
}

static void read_metric(struct metrics_reader *r, struct cur c)
{
	struct metric_head head = { 0 };
	struct cur again = c;
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num == METRIC_NAME && f.wire == PB_LEN)
			head.name = text_id(r, f.len);
		else if (f.num == METRIC_UNIT && f.wire == PB_LEN)
			head.unit = text_id(r, f.len);
	}
	while (pb_next(&again, &f))
		if (f.wire == PB_LEN)
			read_data(r, head, &f);
	r->m->refused[REFUSED_DAMAGED] += again.bad;
}

/* --- resources -------------------------------------------------------------------------------- */

static void read_resource(struct metrics_reader *r, struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f))
		if (f.num == RESOURCE_ATTRIBUTES && f.wire == PB_LEN)
			take_attribute(r, f.len);
}

static bool read_scope(struct metrics_reader *r, struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f))
		if (f.num == SCOPE_METRICS_METRICS && f.wire == PB_LEN)
			read_metric(r, f.len);
	return !c.bad;
}

static bool read_resource_metrics(struct metrics_reader *r, struct cur c)
{
	struct cur again = c;
	struct pb_field f;
	bool good = true;
	vec_clear(&r->labels);
	while (pb_next(&c, &f))
		if (f.num == RESOURCE_METRICS_RESOURCE && f.wire == PB_LEN)
			read_resource(r, f.len);
	r->n_resource = r->labels.n;
	while (pb_next(&again, &f))
		if (f.num == RESOURCE_METRICS_SCOPES && f.wire == PB_LEN)
			good &= read_scope(r, f.len);
	return good && !again.bad;
}

int otlp_metrics_decode(const void *data, size_t len, struct profile *p, struct otlp_metrics *m,
			struct err *err)
{
	struct metrics_reader r = { .p = p, .m = m };
	struct cur c = cur_of(data ? data : "", len);
	struct pb_field f;
	bool good = true;
	otlp_tables_init(&r.none, profile_sink(p), c.p);
	while (pb_next(&c, &f))
		if (f.num == REQUEST_RESOURCE_METRICS && f.wire == PB_LEN)
			good &= read_resource_metrics(&r, f.len);
	m->skipped += r.none.skipped;
	otlp_tables_done(&r.none);
	vec_done(&r.labels);
	if (!good || c.bad)
		return err_set(err, EBADMSG, "the OTLP metrics are damaged or cut");
	if (m->points.n >= OTLP_MAX_POINTS)
		return err_set(err, EBADMSG, "more than %d points", OTLP_MAX_POINTS);
	return 0;
}
