/* Parses the fields of one event. */
#include "format/trace/trace_event.h"

#include "base/hash.h"
#include "base/json/json_read.h"
#include "profile/sink.h"

#include <string.h>

static void trace_event_clear(struct trace_event *e)
{
	struct trace_event was = *e;
	*e = (struct trace_event){ .name = was.name,
				   .args_name = was.args_name,
				   .profile = was.profile,
				   .pid = { .number = SAMPLE_NO_ID },
				   .tid = { .number = SAMPLE_NO_ID },
				   .weight = 1 };
	buf_clear(&e->name);
	buf_clear(&e->args_name);
	vec_clear(&e->profile.nodes);
	vec_clear(&e->profile.edges);
	vec_clear(&e->profile.samples);
	vec_clear(&e->profile.sampled);
	vec_clear(&e->profile.times_ns);
	e->profile.times_are_stamps = false;
	e->profile.start_ns = e->profile.end_ns = 0;
	e->profile.skipped = 0;
}

void trace_event_done(struct trace_event *e)
{
	buf_done(&e->name);
	buf_done(&e->args_name);
	v8_profile_done(&e->profile);
}

static void trace_keep_text(struct buf *b, const struct json_value *v)
{
	if (v->token == JSON_STRING) {
		buf_clear(b);
		buf_add(b, v->text, v->len);
	}
}

static void trace_keep_id(struct trace_id *id, const struct json_value *v, struct sink *sink)
{
	*id = (struct trace_id){ .number = SAMPLE_NO_ID };
	if (!v8_id(v, &id->key))
		return;
	bool digits = v->len > 0 && strspn(v->text, "0123456789") == v->len;
	if (digits && id->key < SAMPLE_NO_ID)
		id->number = id->key;
	else if (!digits && v->text[0] != '-')
		id->name = sink->ops->string(sink, v->text, v->len);
}

static void trace_keep_weight(uint32_t *weight, const struct json_value *v)
{
	uint64_t n;
	if (v8_id(v, &n) && n < UINT32_MAX)
		*weight = n;
}

static void trace_keep_dur(struct trace_event *e, const struct json_value *v)
{
	e->has_dur = v8_us(v, &e->dur_ns);
	e->bad_dur = !e->has_dur && v->token != JSON_NULL;
}

/* Bazel repeats the actions of its critical path on one track. PyTorch marks steps on the tracks of
 * CPUs and GPUs. */
static void trace_keep_category(struct trace_event *e, const struct json_value *v)
{
	if (v->token != JSON_STRING)
		return;
	e->category = hash_bytes(v->text, v->len);
	e->is_sum |= json_is(v, "critical path component");
	e->is_annotation = json_is(v, "user_annotation") || json_is(v, "gpu_user_annotation");
}

/* PyTorch has a process "Spans" for the times that it recorded in. */
static void trace_keep_pid(struct trace_event *e, const struct json_value *v, struct sink *sink)
{
	trace_keep_id(&e->pid, v, sink);
	e->is_sum |= v->token == JSON_STRING && json_is(v, "Spans");
}

static void trace_keep_member(struct trace_event *e, const struct json_value *key,
			      const struct json_value *v, struct sink *sink)
{
	if (json_is(key, "ph"))
		e->phase = v->token == JSON_STRING && v->len == 1 ? v->text[0] : '?';
	else if (json_is(key, "ts"))
		e->has_ts = v8_us(v, &e->ts_ns);
	else if (json_is(key, "dur"))
		trace_keep_dur(e, v);
	else if (json_is(key, "tdur"))
		e->has_tdur = v8_us(v, &e->tdur_ns);
	else if (json_is(key, "pid"))
		trace_keep_pid(e, v, sink);
	else if (json_is(key, "tid"))
		trace_keep_id(&e->tid, v, sink);
	else if (json_is(key, "id"))
		v8_id(v, &e->id);
	else if (json_is(key, "cat"))
		trace_keep_category(e, v);
	else if (json_is(key, "sf"))
		v8_id(v, &e->stack_frame);
	else if (json_is(key, "weight"))
		trace_keep_weight(&e->weight, v);
	else if (json_is(key, "name"))
		trace_keep_text(&e->name, v);
}

/* The nested parts of args. */
enum trace_part { TRACE_ARGS, TRACE_DATA, TRACE_CPU_PROFILE };

static int trace_read_part(struct trace_event *e, enum trace_part part, struct json_reader *r,
			   struct sink *sink, struct err *err);

/* Only these members of args.data identify a profile: other events also have members called
 * nodes and samples. */
static bool trace_is_profile_data(const struct json_value *key)
{
	return json_is(key, "timeDeltas") || json_is(key, "startTime") || json_is(key, "endTime");
}

static int trace_read_part_member(struct trace_event *e, enum trace_part part,
				  const struct json_value *key, struct json_reader *r,
				  struct sink *sink, struct err *err)
{
	struct json_value v;
	if (part == TRACE_ARGS && json_is(key, "data"))
		return trace_read_part(e, TRACE_DATA, r, sink, err);
	if (part == TRACE_ARGS && json_is(key, "name")) {
		int rc = json_scalar(r, &v, err);
		if (rc > 0)
			trace_keep_text(&e->args_name, &v);
		return rc;
	}
	if (part == TRACE_ARGS) { /* of summaries */
		e->has_count |= json_is(key, "count");
		e->has_avg |= json_is(key, "avg ms") || json_is(key, "avg us");
		return json_skip(r, err);
	}
	if (part == TRACE_DATA && json_is(key, "cpuProfile"))
		return trace_read_part(e, TRACE_CPU_PROFILE, r, sink, err);
	if (part == TRACE_CPU_PROFILE || (part == TRACE_DATA && trace_is_profile_data(key))) {
		int rc = v8_read_member(&e->profile, key, r, sink, err);
		return rc ? rc : json_skip(r, err);
	}
	return json_skip(r, err);
}

static int trace_read_part(struct trace_event *e, enum trace_part part, struct json_reader *r,
			   struct sink *sink, struct err *err)
{
	struct json_value key;
	int rc = json_enter(r, JSON_OBJECT, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(r, &key, err)) > 0) {
		rc = trace_read_part_member(e, part, &key, r, sink, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* The key's text is invalid after the next call, so it is copied first. */
static int trace_read_member(struct trace_event *e, const struct json_value *key,
			     struct json_reader *r, struct sink *sink, struct err *err)
{
	enum { LONGEST = 8 };
	char text[LONGEST + 1];
	struct json_value name = { .token = JSON_KEY, .text = text, .len = key->len }, v;
	if (json_is(key, "args"))
		return trace_read_part(e, TRACE_ARGS, r, sink, err);
	if (key->len > LONGEST)
		return json_skip(r, err);
	memcpy(text, key->text, key->len + 1);
	int rc = json_scalar(r, &v, err);
	if (rc > 0)
		trace_keep_member(e, &name, &v, sink);
	return rc;
}

int trace_event_read(struct trace_event *e, struct json_reader *r, struct sink *sink,
		     struct err *err)
{
	struct json_value key;
	trace_event_clear(e);
	int rc = json_enter(r, JSON_OBJECT, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(r, &key, err)) > 0) {
		rc = trace_read_member(e, &key, r, sink, err);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 1;
}
