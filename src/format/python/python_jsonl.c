#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "format/common/give.h"
#include "format/python/python.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

enum { JSONL_NS_PER_US = 1000, JSONL_MODE = 16, JSONL_MEMBERS = 5 };

struct jsonl_reader {
	struct sink *sink;
	struct map strings, frames; /* number → of the sink */
	char mode[JSONL_MODE];
	int64_t interval_us;
	uint32_t series;
	bool has_series;
	uint64_t skipped;
	struct err *err;
};

static void jsonl_types(struct jsonl_reader *r)
{
	bool is_cpu = strcmp(r->mode, "cpu") == 0, is_wall = strcmp(r->mode, "wall") == 0;
	struct give_type type = { .name = is_cpu    ? "cpu"
					  : is_wall ? "wall"
						    : "samples",
				  .sample_type = "samples",
				  .unit = "count" };
	if ((is_cpu || is_wall) && r->interval_us > 0) {
		type.period_type = type.name;
		type.period_unit = "nanoseconds";
		type.period = sum_mul(r->interval_us, JSONL_NS_PER_US);
	}
	if (!r->has_series)
		r->series = give_series(r->sink, &type);
	r->has_series = true;
}

/* --- an object with members that are numbers, and at most one text ---------------------------- */

struct jsonl_object {
	const char *const *names; /* of numbers; JSONL_MEMBERS at most, NULL-terminated */
	int64_t numbers[JSONL_MEMBERS];
	bool has[JSONL_MEMBERS];
	uint32_t text; /* "value", in the sink */
};

static int jsonl_member(struct jsonl_reader *r, struct json_reader *j, const struct json_value *key,
			struct jsonl_object *o)
{
	struct json_value v;
	bool is_text = json_is(key, "value");
	int at = 0;
	while (o->names[at] && !json_is(key, o->names[at]))
		at++;
	if (!o->names[at] && !is_text)
		return json_skip(j, r->err);
	int rc = json_scalar(j, &v, r->err);
	if (rc > 0 && is_text && v.token == JSON_STRING)
		o->text = r->sink->ops->string(r->sink, v.text, v.len);
	else if (rc > 0 && !is_text && v.token == JSON_NUMBER && v.is_integer) {
		o->numbers[at] = v.integer;
		o->has[at] = true;
	}
	return rc;
}

static int jsonl_object(struct jsonl_reader *r, struct json_reader *j, struct jsonl_object *o)
{
	struct json_value key;
	int rc = json_enter(j, JSON_OBJECT, r->err);
	while (rc > 0 && (rc = json_key_next(j, &key, r->err)) > 0) {
		rc = jsonl_member(r, j, &key, o);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static void jsonl_take_string(struct jsonl_reader *r, const struct jsonl_object *o)
{
	if (o->has[0])
		map_put(&r->strings, o->numbers[0], o->text);
}

static uint32_t jsonl_text(const struct jsonl_reader *r, const struct jsonl_object *o, int member)
{
	const uint32_t *id = o->has[member] ? map_get(&r->strings, o->numbers[member]) : NULL;
	return id ? *id : 0;
}

static void jsonl_take_frame(struct jsonl_reader *r, const struct jsonl_object *o)
{
	struct frame f = { .kind = FRAME_PYTHON,
			   .mapping = MAPPING_NONE,
			   .file = jsonl_text(r, o, 1),
			   .function = jsonl_text(r, o, 2) };
	if (o->numbers[3] > 0 && o->numbers[3] <= INT32_MAX)
		f.line = o->numbers[3];
	if (!f.function)
		f.function = sink_string(r->sink, "[unknown]");
	if (f.function == sink_string(r->sink, PYTHON_NATIVE))
		f.kind = FRAME_NATIVE;
	if (o->has[0])
		map_put(&r->frames, o->numbers[0], r->sink->ops->frame(r->sink, &f));
}

/* A function's samples without its callees; how it was called is not in the file. */
static void jsonl_take_entry(struct jsonl_reader *r, const struct jsonl_object *o)
{
	const uint32_t *frame = o->has[0] ? map_get(&r->frames, o->numbers[0]) : NULL;
	if (!frame || !o->has[1]) {
		r->skipped++;
		return;
	}
	jsonl_types(r);
	if (o->numbers[1])
		give_value(r->sink, r->series, r->sink->ops->stack(r->sink, frame, 1),
			   o->numbers[1]);
}

static const struct jsonl_list {
	const char *key;
	const char *const *names;
	void (*take)(struct jsonl_reader *r, const struct jsonl_object *o);
} jsonl_lists[] = {
	{ "strings", (const char *const[]){ "str_id", NULL }, jsonl_take_string },
	{ "frames", (const char *const[]){ "frame_id", "path_str_id", "func_str_id", "line", NULL },
	  jsonl_take_frame },
	{ "entries", (const char *const[]){ "frame_id", "self", NULL }, jsonl_take_entry },
};

static int jsonl_list(struct jsonl_reader *r, struct json_reader *j, const struct jsonl_list *list)
{
	int rc = json_enter(j, JSON_ARRAY, r->err);
	while (rc > 0 && (rc = json_item_next(j, r->err)) > 0) {
		struct jsonl_object o = { .names = list->names };
		rc = jsonl_object(r, j, &o);
		if (rc >= 0)
			list->take(r, &o);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int jsonl_setting(struct jsonl_reader *r, struct json_reader *j,
			 const struct json_value *key)
{
	bool is_mode = json_is(key, "mode");
	struct json_value v;
	if (!is_mode && !json_is(key, "sample_interval_usec"))
		return json_skip(j, r->err);
	int rc = json_scalar(j, &v, r->err);
	if (rc > 0 && is_mode && v.token == JSON_STRING && v.len < sizeof r->mode)
		memcpy(r->mode, v.text, v.len + 1);
	if (rc > 0 && !is_mode && v.token == JSON_NUMBER && v.is_integer)
		r->interval_us = v.integer;
	return rc;
}

static int jsonl_key(struct jsonl_reader *r, struct json_reader *j, const struct json_value *key)
{
	for (size_t i = 0; i < sizeof jsonl_lists / sizeof *jsonl_lists; i++)
		if (json_is(key, jsonl_lists[i].key))
			return jsonl_list(r, j, &jsonl_lists[i]);
	return jsonl_setting(r, j, key);
}

static bool jsonl_line(struct jsonl_reader *r, const char *line, size_t len)
{
	struct json_value key;
	struct input *in;
	if (input_open_memory(line, len, &in, NULL) < 0)
		return false;
	struct json_reader *j = json_reader_new(in);
	int rc = json_enter(j, JSON_OBJECT, r->err);
	while (rc > 0 && (rc = json_key_next(j, &key, r->err)) > 0) {
		rc = jsonl_key(r, j, &key);
		rc = rc < 0 ? rc : 1;
	}
	json_reader_free(j);
	input_close(in);
	return rc == 0;
}

static int python_jsonl_read(struct input *in, struct sink *sink, struct err *err)
{
	struct jsonl_reader r = { .sink = sink };
	const char *line;
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0)
		if (len)
			r.skipped += cut || !jsonl_line(&r, line, len);
	if (rc == 0 && !r.has_series)
		rc = err_set(err, EBADMSG, "%s: no line of type \"agg\" of Python's sampler",
			     input_name(in));
	if (rc == 0 && r.skipped)
		sink->ops->loss(sink, LOSS_INPUT_SKIPPED, r.skipped);
	map_done(&r.strings);
	map_done(&r.frames);
	return rc;
}

struct jsonl_signs {
	bool type, version, run;
};

static bool jsonl_sign(void *ctx, const struct json_value *key, const struct json_value *value,
		       int depth)
{
	struct jsonl_signs *s = ctx;
	(void)value;
	if (depth == 1) {
		s->type |= json_is(key, "type");
		s->version |= json_is(key, "v");
		s->run |= json_is(key, "run_id");
	}
	return depth == 1;
}

static bool python_jsonl_detect(const char *head, size_t len)
{
	struct jsonl_signs s = { 0 };
	return json_peek_keys(head, len, jsonl_sign, &s) && s.type && s.version && s.run;
}

const struct format format_python_jsonl = {
	.name = "python-jsonl",
	.summary = "profiling.sampling --jsonl of Python 3.15: functions, without stacks",
	.detect = python_jsonl_detect,
	.read = python_jsonl_read,
};
