/* Reads speedscope JSON: the keys. speedscope_profile and speedscope_calls interpret them. */
#include "base/buf.h"
#include "base/decimal.h"
#include "base/err.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/vec.h"
#include "format/common/guess.h"
#include "format/speedscope/speedscope.h"
#include "format/speedscope/speedscope_calls.h"
#include "profile/sink.h"

#include <errno.h>
#include <string.h>

struct event {
	char type;
	bool has_frame, has_at;
	uint32_t frame;
	struct amount at;
};

struct speedscope_reader {
	struct json_reader *json;
	struct sink *sink;
	struct speedscope_calls calls;
	struct speedscope_profile profile; /* the current one */
	VEC(uint32_t) stack;               /* of the current sample */
	struct event event;
	struct buf frame_name, frame_file;
	int64_t frame_line;
	bool has_frames;
	VEC(uint8_t) quantities; /* by profile */
	int64_t active;          /* profile to show first */
};

/* --- objects ---------------------------------------------------------------------------------- */

struct field {
	const char *key;
	/* Reads the value. Returns 0 or more, or -errno. */
	int (*read)(struct speedscope_reader *r, struct err *err);
};

/* Reads an object's fields and skips others. Returns 1, 0 if the value is not an object, or
 * -errno. */
static int read_object(struct speedscope_reader *r, const struct field *fields, size_t n,
		       struct err *err)
{
	struct json_value key;
	int rc = json_enter(r->json, JSON_OBJECT, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(r->json, &key, err)) > 0) {
		size_t i = 0;
		while (i < n && !json_is(&key, fields[i].key))
			i++;
		rc = i < n ? fields[i].read(r, err) : json_skip(r->json, err);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 1;
}
#define READ_OBJECT(r, fields, err) read_object(r, fields, sizeof(fields) / sizeof *(fields), err)

/* Enters an array; skips a second one with the same key. Returns 1, 0 if there is nothing to read,
 * or -errno. */
static int enter_once(struct speedscope_reader *r, bool *entered, struct err *err)
{
	int rc = *entered ? json_skip(r->json, err) : json_enter(r->json, JSON_ARRAY, err);
	if (*entered)
		return rc < 0 ? rc : 0;
	*entered = rc > 0;
	return rc;
}

/* Reads a string. Returns 1, 0 if the value is not a string, or -errno. */
static int read_string(struct speedscope_reader *r, struct json_value *v, struct err *err)
{
	int rc = json_scalar(r->json, v, err);
	return rc > 0 ? v->token == JSON_STRING : rc;
}

static int read_text(struct speedscope_reader *r, struct buf *b, struct err *err)
{
	struct json_value v;
	int rc = read_string(r, &v, err);
	if (rc > 0) {
		buf_clear(b);
		buf_add(b, v.text, v.len < STRTAB_MAX_LEN ? v.len : STRTAB_MAX_LEN);
	}
	return rc;
}

static int read_whole(struct speedscope_reader *r, int64_t *out, struct err *err)
{
	struct json_value v;
	int rc = json_scalar(r->json, &v, err);
	if (rc <= 0 || v.token != JSON_NUMBER || !v.is_integer)
		return rc < 0 ? rc : 0;
	*out = v.integer;
	return 1;
}

static int read_amount(struct speedscope_reader *r, struct amount *out, struct err *err)
{
	struct json_value v;
	int rc = json_scalar(r->json, &v, err);
	struct decimal d;
	if (rc <= 0 || v.token != JSON_NUMBER || !isfinite(json_double(&v)) ||
	    !json_decimal(&v, &d))
		return rc < 0 ? rc : 0;
	*out = (struct amount){ (int64_t)(d.atto / DECIMAL_ONE),
				(double)decimal_part(d) / (double)DECIMAL_ONE };
	return 1;
}

/* Reads a frame index. Returns 1, 0 if the value is not an index, or -errno. Whether the frame
 * exists is known only at the end. */
static int read_index(struct speedscope_reader *r, uint32_t *out, struct err *err)
{
	int64_t index = -1;
	int rc = read_whole(r, &index, err);
	if (rc <= 0 || index < 0 || index >= FRAME_TOO_DEEP)
		return rc < 0 ? rc : 0;
	*out = index;
	return 1;
}

/* --- frames ----------------------------------------------------------------------------------- */

static int read_frame_name(struct speedscope_reader *r, struct err *err)
{
	return read_text(r, &r->frame_name, err);
}

static int read_frame_file(struct speedscope_reader *r, struct err *err)
{
	return read_text(r, &r->frame_file, err);
}

static int read_frame_line(struct speedscope_reader *r, struct err *err)
{
	return read_whole(r, &r->frame_line, err);
}

static uint32_t intern_frame(struct speedscope_reader *r)
{
	struct sink *s = r->sink;
	const struct buf *name = &r->frame_name, *file = &r->frame_file;
	struct frame f = { .mapping = MAPPING_NONE };
	f.kind = guess_kind(name->data, name->len, file->data, file->len);
	f.function =
		name->len ? s->ops->string(s, name->data, name->len) : sink_string(s, "[unknown]");
	uint32_t file_id = s->ops->string(s, file->data, file->len);
	if (file->len && file->data[0] == '[') { /* "[kernel]": not a source file */
		f.binary = file_id;
		if (strncmp(buf_cstr(&r->frame_file), "[kernel", 7) == 0)
			f.kind = FRAME_KERNEL;
	} else {
		f.file = file_id;
	}
	if (r->frame_line > 0 && r->frame_line <= UINT32_MAX)
		f.line = r->frame_line;
	return s->ops->frame(s, &f);
}

/* Reads a frame. An entry that is not an object is a frame without a name, so later ones keep their
 * index. */
static int read_frame(struct speedscope_reader *r, struct err *err)
{
	static const struct field fields[] = { { "name", read_frame_name },
					       { "file", read_frame_file },
					       { "line", read_frame_line } };
	buf_clear(&r->frame_name);
	buf_clear(&r->frame_file);
	r->frame_line = 0;
	int rc = READ_OBJECT(r, fields, err);
	if (rc >= 0)
		vec_push(&r->calls.frames, intern_frame(r));
	return rc;
}

static int read_frames(struct speedscope_reader *r, struct err *err)
{
	int rc = enter_once(r, &r->has_frames, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(r->json, err)) > 0)
		if ((rc = read_frame(r, err)) < 0)
			return rc;
	return rc;
}

static int read_shared(struct speedscope_reader *r, struct err *err)
{
	static const struct field fields[] = { { "frames", read_frames } };
	return READ_OBJECT(r, fields, err);
}

/* --- sampled profiles ------------------------------------------------------------------------- */

/* Reads an array of indices and finds its call; CALL_NONE if one of them is invalid. */
static int read_stack(struct speedscope_reader *r, uint32_t *out, struct err *err)
{
	uint32_t frame = 0;
	bool is_bad = false;
	int rc = json_enter(r->json, JSON_ARRAY, err);
	*out = CALL_NONE;
	if (rc <= 0)
		return rc;
	vec_clear(&r->stack);
	while ((rc = json_item_next(r->json, err)) > 0) {
		if ((rc = read_index(r, &frame, err)) < 0)
			return rc;
		is_bad |= rc == 0 || r->stack.n == SPEEDSCOPE_MAX_FRAMES;
		if (!is_bad)
			vec_push(&r->stack, frame);
	}
	if (!is_bad)
		*out = speedscope_path(&r->calls, r->stack.v, r->stack.n);
	return rc;
}

static int read_samples(struct speedscope_reader *r, struct err *err)
{
	int rc = enter_once(r, &r->profile.has_samples, err);
	uint32_t call;
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(r->json, err)) > 0) {
		if ((rc = read_stack(r, &call, err)) < 0)
			return rc;
		speedscope_sample(&r->profile, call);
	}
	return rc;
}

static int read_weights(struct speedscope_reader *r, struct err *err)
{
	int rc = enter_once(r, &r->profile.has_weights, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(r->json, err)) > 0) {
		struct amount weight = { .part = NAN };
		if ((rc = read_amount(r, &weight, err)) < 0)
			return rc;
		speedscope_weight(&r->profile, weight);
	}
	return rc;
}

/* --- evented profiles ------------------------------------------------------------------------- */

static int read_event_type(struct speedscope_reader *r, struct err *err)
{
	struct json_value v;
	int rc = read_string(r, &v, err);
	r->event.type = rc > 0 && v.len == 1 ? v.text[0] : 0;
	return rc;
}

static int read_event_frame(struct speedscope_reader *r, struct err *err)
{
	int rc = read_index(r, &r->event.frame, err);
	r->event.has_frame = rc > 0;
	return rc;
}

static int read_event_at(struct speedscope_reader *r, struct err *err)
{
	int rc = read_amount(r, &r->event.at, err);
	r->event.has_at = rc > 0;
	return rc;
}

static int read_event(struct speedscope_reader *r, struct err *err)
{
	static const struct field fields[] = { { "type", read_event_type },
					       { "frame", read_event_frame },
					       { "at", read_event_at } };
	struct event *e = &r->event;
	*e = (struct event){ 0 };
	int rc = READ_OBJECT(r, fields, err);
	if (rc < 0)
		return rc;
	if (!e->has_at || !e->has_frame || (e->type != 'O' && e->type != 'C')) {
		r->calls.skipped++;
		return rc;
	}
	if (e->type == 'O')
		speedscope_open_frame(&r->profile, e->frame, e->at);
	else
		speedscope_close_frame(&r->profile, e->frame, e->at);
	return rc;
}

static int read_events(struct speedscope_reader *r, struct err *err)
{
	int rc = enter_once(r, &r->profile.has_events, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(r->json, err)) > 0)
		if ((rc = read_event(r, err)) < 0)
			return rc;
	return rc;
}

/* --- profiles --------------------------------------------------------------------------------- */

static int read_profile_name(struct speedscope_reader *r, struct err *err)
{
	return read_text(r, &r->profile.name, err);
}

static int read_profile_unit(struct speedscope_reader *r, struct err *err)
{
	struct json_value v;
	int rc = read_string(r, &v, err);
	if (rc > 0)
		r->profile.unit = speedscope_unit(v.text);
	return rc;
}

static int read_profile_start(struct speedscope_reader *r, struct err *err)
{
	int rc = read_amount(r, &r->profile.start, err);
	r->profile.has_start |= rc > 0;
	return rc;
}

static int read_profile_end(struct speedscope_reader *r, struct err *err)
{
	int rc = read_amount(r, &r->profile.end, err);
	r->profile.has_end |= rc > 0;
	return rc;
}

static int read_profile(struct speedscope_reader *r, struct err *err)
{
	static const struct field fields[] = {
		{ "name", read_profile_name },
		{ "unit", read_profile_unit },
		{ "startValue", read_profile_start },
		{ "endValue", read_profile_end },
		{ "samples", read_samples },
		{ "weights", read_weights },
		{ "events", read_events },
	};
	speedscope_profile_begin(&r->profile);
	int rc = READ_OBJECT(r, fields, err);
	if (rc >= 0)
		vec_push(&r->quantities, speedscope_profile_end(&r->profile));
	return rc;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_profiles(struct speedscope_reader *r, struct err *err)
{
	int rc = json_enter(r->json, JSON_ARRAY, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(r->json, err)) > 0)
		if ((rc = read_profile(r, err)) < 0)
			return rc;
	return rc;
}

static int read_active(struct speedscope_reader *r, struct err *err)
{
	return read_whole(r, &r->active, err);
}

/* Reads the file's name or exporter. */
static int read_comment(struct speedscope_reader *r, struct err *err)
{
	struct json_value v;
	struct sink *s = r->sink;
	int rc = read_string(r, &v, err);
	if (rc > 0 && v.len)
		vec_push(&s->ops->meta(s)->comments, s->ops->string(s, v.text, v.len));
	return rc;
}

static int read_file(struct speedscope_reader *r, const char *name, struct err *err)
{
	static const struct field fields[] = {
		{ "shared", read_shared },    { "profiles", read_profiles },
		{ "name", read_comment },     { "activeProfileIndex", read_active },
		{ "exporter", read_comment },
	};
	int rc = READ_OBJECT(r, fields, err);
	if (rc == 0)
		return err_set(err, EBADMSG, "%s: a speedscope file is one JSON object", name);
	if (rc > 0 && json_was_cut(r->json))
		r->calls.skipped++;
	return rc;
}

static int give_all(struct speedscope_reader *r, const char *name, struct err *err)
{
	bool has_active = r->active >= 0 && (uint64_t)r->active < r->quantities.n;
	if (!r->has_frames || !r->quantities.n)
		return err_set(err, EBADMSG, "%s: has no %s", name,
			       r->has_frames ? "profiles" : "shared.frames");
	enum quantity first = r->quantities.v[has_active ? r->active : 0];
	if (speedscope_give(&r->calls, first) == 0 && r->calls.skipped)
		return err_set(err, EBADMSG, "%s: none of %llu samples and events can be used",
			       name, (unsigned long long)r->calls.skipped);
	return 0;
}

int speedscope_read(struct input *in, struct sink *sink, struct err *err)
{
	struct speedscope_reader r = { .json = json_reader_new(in), .sink = sink };
	speedscope_calls_init(&r.calls, sink);
	r.profile.calls = &r.calls;
	json_set_lenient(r.json);
	int rc = read_file(&r, input_name(in), err);
	if (rc > 0)
		rc = give_all(&r, input_name(in), err);
	json_reader_free(r.json);
	speedscope_calls_done(&r.calls);
	speedscope_profile_done(&r.profile);
	vec_done(&r.stack);
	buf_done(&r.frame_name);
	buf_done(&r.frame_file);
	vec_done(&r.quantities);
	return rc;
}
