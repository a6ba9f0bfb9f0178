#include "base/err.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/vec.h"
#include "format/valgrind/valgrind.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <errno.h>
#include <string.h>

enum dhat_value {
	DHAT_TB,
	DHAT_TBK,
	DHAT_GB,
	DHAT_GBK,
	DHAT_EB,
	DHAT_EBK,
	DHAT_RB,
	DHAT_WB,
	DHAT_VALUES
};

/* The first two have other names in the modes that count copies or what a program reports. */
static const struct {
	const char *key, *name, *unit;
	uint8_t aggregation;
} dhat_values[DHAT_VALUES] = {
	[DHAT_TB] = { "tb", "alloc_space", "bytes", AGG_SUM },
	[DHAT_TBK] = { "tbk", "alloc_objects", "count", AGG_SUM },
	[DHAT_GB] = { "gb", "peak_space", "bytes", AGG_SNAPSHOT },
	[DHAT_GBK] = { "gbk", "peak_objects", "count", AGG_SNAPSHOT },
	[DHAT_EB] = { "eb", "inuse_space", "bytes", AGG_SNAPSHOT },
	[DHAT_EBK] = { "ebk", "inuse_objects", "count", AGG_SNAPSHOT },
	[DHAT_RB] = { "rb", "read_space", "bytes", AGG_SUM },
	[DHAT_WB] = { "wb", "written_space", "bytes", AGG_SUM },
};

struct dhat_point {
	int64_t v[DHAT_VALUES];
	size_t first; /* in frames, leaf first */
	uint32_t n;
};

struct dhat_reader {
	struct sink *sink;
	struct json_reader *json;
	struct err *err;
	VEC(struct dhat_point) points;
	VEC(uint32_t) frames; /* of all points: indexes of the table */
	VEC(uint32_t) table;  /* of the sink */
	VEC(uint32_t) stack;
	bool is_dhat, is_copy, is_ad_hoc, has[DHAT_VALUES];
	uint64_t skipped;
};

static int dhat_indexes(struct dhat_reader *d, struct dhat_point *p)
{
	struct json_value v;
	int rc = json_enter(d->json, JSON_ARRAY, d->err);
	while (rc > 0 && (rc = json_item_next(d->json, d->err)) > 0) {
		rc = json_scalar(d->json, &v, d->err);
		if (rc < 0)
			return rc;
		bool good = rc > 0 && v.token == JSON_NUMBER && v.is_integer && v.integer >= 0 &&
			    v.integer < UINT32_MAX;
		if (p->n <= STACK_MAX_DEPTH && d->frames.n < DHAT_MAX_FRAMES) {
			vec_push(&d->frames, good ? (uint32_t)v.integer : UINT32_MAX);
			p->n++;
		}
		rc = 1;
	}
	return rc;
}

static int dhat_member(struct dhat_reader *d, struct dhat_point *p, const struct json_value *key)
{
	struct json_value v;
	int i = 0;
	if (json_is(key, "fs"))
		return dhat_indexes(d, p);
	while (i < DHAT_VALUES && !json_is(key, dhat_values[i].key))
		i++;
	if (i == DHAT_VALUES)
		return json_skip(d->json, d->err);
	int rc = json_scalar(d->json, &v, d->err);
	if (rc > 0 && v.token == JSON_NUMBER && v.is_integer) {
		p->v[i] = v.integer;
		d->has[i] = true;
	}
	return rc;
}

/* A point without a value adds nothing, and its text may be much shorter than the point. */
static void dhat_add_point(struct dhat_reader *d, const struct dhat_point *p)
{
	bool any = false;
	for (int i = 0; i < DHAT_VALUES; i++)
		any |= p->v[i] != 0;
	if (any)
		vec_push(&d->points, *p);
	else
		d->frames.n = p->first;
}

static int dhat_point(struct dhat_reader *d)
{
	struct dhat_point p = { .first = d->frames.n };
	struct json_value key;
	int rc = json_enter(d->json, JSON_OBJECT, d->err);
	bool is_object = rc > 0;
	while (rc > 0 && (rc = json_key_next(d->json, &key, d->err)) > 0) {
		rc = dhat_member(d, &p, &key);
		rc = rc < 0 ? rc : 1;
	}
	if (rc == 0 && is_object)
		dhat_add_point(d, &p);
	d->skipped += rc == 0 && !is_object;
	return rc;
}

static int dhat_frame(struct dhat_reader *d)
{
	struct json_value v;
	int rc = json_scalar(d->json, &v, d->err);
	if (rc < 0)
		return rc;
	bool is_text = rc > 0 && v.token == JSON_STRING;
	vec_push(&d->table, valgrind_frame(d->sink, is_text ? v.text : "", is_text ? v.len : 0));
	return 0;
}

static int dhat_list(struct dhat_reader *d, int (*item)(struct dhat_reader *d))
{
	int rc = json_enter(d->json, JSON_ARRAY, d->err);
	while (rc > 0 && (rc = json_item_next(d->json, d->err)) > 0) {
		rc = item(d);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int dhat_setting(struct dhat_reader *d, const struct json_value *key)
{
	bool is_mode = json_is(key, "mode"), is_command = json_is(key, "cmd");
	struct json_value v;
	d->is_dhat |= json_is(key, "dhatFileVersion");
	int rc = json_scalar(d->json, &v, d->err);
	if (rc <= 0 || v.token != JSON_STRING)
		return rc;
	if (is_mode) {
		d->is_copy = json_is(&v, "copy");
		d->is_ad_hoc = json_is(&v, "ad-hoc");
	} else if (is_command) {
		d->sink->ops->meta(d->sink)->command = d->sink->ops->string(d->sink, v.text, v.len);
	}
	return rc;
}

static int dhat_object(struct dhat_reader *d)
{
	struct json_value key;
	int rc = json_enter(d->json, JSON_OBJECT, d->err);
	while (rc > 0 && (rc = json_key_next(d->json, &key, d->err)) > 0) {
		if (json_is(&key, "pps"))
			rc = dhat_list(d, dhat_point);
		else if (json_is(&key, "ftbl"))
			rc = dhat_list(d, dhat_frame);
		else
			rc = dhat_setting(d, &key);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* --- output ----------------------------------------------------------------------------------- */

static uint32_t dhat_stack(struct dhat_reader *d, const struct dhat_point *p)
{
	static const struct give_frame unknown = { .kind = GIVE_GUESS };
	vec_clear(&d->stack);
	for (uint32_t i = p->n; i-- > 0;) {
		uint32_t index = d->frames.v[p->first + i];
		bool known = index < d->table.n;
		d->skipped += !known;
		vec_push(&d->stack, known ? d->table.v[index] : give_frame(d->sink, &unknown));
	}
	return d->sink->ops->stack(d->sink, d->stack.v, d->stack.n);
}

static uint32_t dhat_series(struct dhat_reader *d, int i)
{
	struct give_type type = { .sample_type = dhat_values[i].name,
				  .unit = dhat_values[i].unit,
				  .aggregation = dhat_values[i].aggregation };
	if (i <= DHAT_TBK && d->is_copy)
		type.sample_type = i == DHAT_TB ? "copied_space" : "copies";
	if (i <= DHAT_TBK && d->is_ad_hoc)
		type.sample_type = i == DHAT_TB ? "weight" : "events";
	if (d->is_ad_hoc)
		type.unit = "count";
	type.name = type.sample_type;
	return give_series(d->sink, &type);
}

static void dhat_give(struct dhat_reader *d)
{
	uint32_t series[DHAT_VALUES] = { 0 };
	struct give_sums sums = { 0 };
	struct give_row row = { GIVE_ROW_NO_IDS };
	for (int i = 0; i < DHAT_VALUES; i++)
		if (d->has[i])
			series[i] = dhat_series(d, i);
	for (size_t k = 0; k < d->points.n; k++) {
		row.stack = dhat_stack(d, &d->points.v[k]);
		for (int i = 0; i < DHAT_VALUES; i++) {
			row.series = series[i];
			row.value = d->points.v[k].v[i];
			if (row.value)
				give_sums_add(&sums, &row);
		}
	}
	give_sums_end(&sums, d->sink);
	give_sums_done(&sums);
	if (d->skipped)
		d->sink->ops->loss(d->sink, LOSS_INPUT_SKIPPED, d->skipped);
}

static int dhat_read(struct input *in, struct sink *sink, struct err *err)
{
	struct dhat_reader d = { .sink = sink, .json = json_reader_new(in), .err = err };
	json_set_lenient(d.json);
	int rc = dhat_object(&d);
	d.skipped += rc == 0 && json_was_cut(d.json);
	if (rc == 0 && (!d.is_dhat || !d.has[DHAT_TB]))
		rc = err_set(err, EBADMSG, "%s: no program point of dhat", input_name(in));
	if (rc == 0)
		dhat_give(&d);
	json_reader_free(d.json);
	vec_done(&d.points);
	vec_done(&d.frames);
	vec_done(&d.table);
	vec_done(&d.stack);
	return rc;
}

static bool dhat_sign(void *ctx, const struct json_value *key, const struct json_value *value,
		      int depth)
{
	bool *found = ctx;
	(void)value;
	*found |= depth == 1 && json_is(key, "dhatFileVersion");
	return !*found;
}

static bool dhat_detect(const char *head, size_t len)
{
	bool found = false;
	return json_peek_keys(head, len, dhat_sign, &found) && found;
}

const struct format format_dhat = {
	.name = "dhat",
	.summary = "allocations by program point, of valgrind's dhat",
	.detect = dhat_detect,
	.read = dhat_read,
};
