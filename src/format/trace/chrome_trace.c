/* Reads the JSON and dispatches events by phase. */
#include "format/trace/chrome_trace.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/vec.h"
#include "format/common/guess.h"
#include "format/trace/trace_event.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

/* A thread. */
struct trace_track {
	struct trace_id pid, tid;
	uint32_t name; /* string; 0 unknown */
	struct slices slices;
};
/* A CPU profile that arrives in pieces. */
struct trace_profile {
	uint32_t track; /* of the sampled thread */
	int64_t last_ns;
	struct v8_profile v8;
};

struct trace_reader {
	struct sink *sink;
	struct json_reader *json;
	struct err *err;
	struct trace_event event;
	VEC(struct trace_track) tracks;
	struct map track_index;
	struct map process_names; /* key of a pid → string */
	VEC(struct trace_profile) profiles;
	struct map profile_index;
	struct v8_profile sampled; /* samples and stackFrames; owners are tracks */
	int64_t first_ns, last_ns; /* first > last: no time yet */
	uint64_t n_slices, skipped;
	bool has_schedule;  /* a start of linux:schedule was seen */
	int64_t skipped_ns; /* of slices, as far as it is known */
	uint64_t summaries;
	int64_t summaries_ns;
	struct trace_async async;
};

enum { TRACE_NO_TRACK = UINT32_MAX };

static uint32_t trace_track_of(struct trace_reader *t, const struct trace_event *e)
{
	uint64_t key = hash_mix(e->pid.key, e->tid.key);
	const uint32_t *known = map_get(&t->track_index, key);
	if (known)
		return *known;
	if (t->tracks.n >= TRACE_MAX_TRACKS)
		return TRACE_NO_TRACK;
	map_put(&t->track_index, key, t->tracks.n);
	vec_push(&t->tracks, (struct trace_track){ .pid = e->pid, .tid = e->tid });
	return t->tracks.n - 1;
}

static void trace_note_time(struct trace_reader *t, int64_t ns)
{
	if (ns < t->first_ns)
		t->first_ns = ns;
	if (ns > t->last_ns)
		t->last_ns = ns;
}

/* --- events ----------------------------------------------------------------------------------- */

static uint32_t trace_frame(struct sink *s, const struct buf *name)
{
	struct frame f = { .kind = guess_kind(name->len ? name->data : "", name->len, NULL, 0),
			   .mapping = MAPPING_NONE };
	f.function = name->len ? s->ops->string(s, name->data, name->len)
			       : sink_string(s, "(anonymous)");
	return s->ops->frame(s, &f);
}

/* Whether an event sums up others, on a separate track: clang -ftime-trace has "Total Frontend" and
 * so on. */
static bool trace_is_summary(const struct trace_event *e)
{
	static const char total[] = "Total ";
	size_t len = strlen(total);
	if (e->phase == 'X' && e->is_sum)
		return true;
	return e->phase == 'X' && e->has_count && e->has_avg && e->name.len > len &&
	       memcmp(e->name.data, total, len) == 0;
}

static bool trace_buf_is(const struct buf *b, const char *text)
{
	return b->len == strlen(text) && memcmp(b->data, text, b->len) == 0;
}

/* uftrace writes the ends of what a thread waited for a CPU, without their starts. */
static bool trace_is_lone_end(struct trace_reader *t, const struct trace_event *e)
{
	if (!trace_buf_is(&e->name, "linux:schedule"))
		return false;
	t->has_schedule |= e->phase != 'E';
	return !t->has_schedule;
}

static void trace_add_slice(struct trace_reader *t)
{
	const struct trace_event *e = &t->event;
	if (trace_is_lone_end(t, e))
		return;
	uint32_t track = trace_track_of(t, e);
	int64_t dur_ns = e->has_dur ? e->dur_ns : e->has_tdur ? e->tdur_ns : 0;
	uint32_t frame = SLICES_NO_NAME;
	if (trace_is_summary(e)) {
		t->summaries++;
		t->summaries_ns = sum_add(t->summaries_ns, dur_ns);
		return;
	}
	if (!e->has_ts || dur_ns < 0 || (e->phase == 'X' && e->bad_dur) ||
	    track == TRACE_NO_TRACK || t->n_slices >= TRACE_MAX_EVENTS) {
		t->skipped++;
		t->skipped_ns = sum_add(t->skipped_ns, dur_ns > 0 ? dur_ns : 0);
		return;
	}
	if (e->phase != 'E' || e->name.len)
		frame = trace_frame(t->sink, &e->name);
	if (e->phase != 'X')
		dur_ns = e->phase == 'B' ? SLICE_BEGIN : SLICE_END;
	trace_note_time(t, e->ts_ns);
	if (dur_ns > 0)
		trace_note_time(t, sum_add(e->ts_ns, dur_ns));
	slices_add(&t->tracks.v[track].slices, e->ts_ns, dur_ns, frame, e->is_annotation);
	t->n_slices++;
}

static void trace_add_name(struct trace_reader *t)
{
	const struct trace_event *e = &t->event;
	bool process = trace_buf_is(&e->name, "process_name");
	if ((!process && !trace_buf_is(&e->name, "thread_name")) || e->args_name.len == 0)
		return;
	uint32_t name = t->sink->ops->string(t->sink, e->args_name.data, e->args_name.len);
	if (process) {
		map_put(&t->process_names, e->pid.key, name);
		return;
	}
	uint32_t track = trace_track_of(t, e);
	if (track == TRACE_NO_TRACK)
		t->skipped++;
	else
		t->tracks.v[track].name = name;
}

static struct trace_profile *trace_profile_of(struct trace_reader *t, const struct trace_event *e)
{
	uint64_t key = hash_mix(e->pid.key, e->id);
	const uint32_t *known = map_get(&t->profile_index, key);
	if (known)
		return &t->profiles.v[*known];
	uint32_t track = trace_track_of(t, e);
	if (t->profiles.n >= TRACE_MAX_PROFILES || track == TRACE_NO_TRACK)
		return NULL;
	map_put(&t->profile_index, key, t->profiles.n);
	vec_push(&t->profiles, (struct trace_profile){ .track = track });
	return &t->profiles.v[t->profiles.n - 1];
}

/* Appends a piece: its nodes and samples. Only the first piece has the start time and belongs to
 * the sampled thread. */
static void trace_add_piece(struct trace_reader *t, bool first)
{
	struct v8_profile *piece = &t->event.profile;
	struct trace_profile *profile = trace_profile_of(t, &t->event);
	t->skipped += piece->skipped;
	if (!profile || profile->v8.nodes.n + piece->nodes.n > V8_MAX_NODES ||
	    profile->v8.edges.n + piece->edges.n > V8_MAX_NODES ||
	    profile->v8.samples.n + piece->sampled.n > V8_MAX_SAMPLES) {
		t->skipped++;
		return;
	}
	if (first) {
		uint32_t track = trace_track_of(t, &t->event);
		profile->track = track == TRACE_NO_TRACK ? profile->track : track;
		profile->v8.start_ns = piece->times_are_stamps ? 0 : piece->start_ns;
	}
	if (piece->end_ns)
		profile->v8.end_ns = piece->end_ns;
	v8_join(piece, &profile->last_ns);
	vec_append(&profile->v8.nodes, piece->nodes.v, piece->nodes.n);
	vec_append(&profile->v8.edges, piece->edges.v, piece->edges.n);
	vec_append(&profile->v8.samples, piece->samples.v, piece->samples.n);
}

static void trace_add_event(struct trace_reader *t)
{
	const struct trace_event *e = &t->event;
	bool whole = trace_buf_is(&e->name, "Profile") || trace_buf_is(&e->name, "CpuProfile");
	if (whole || trace_buf_is(&e->name, "ProfileChunk"))
		trace_add_piece(t, whole);
	else if (e->phase == 'X' || e->phase == 'B' || e->phase == 'E')
		trace_add_slice(t);
	else if (e->phase == 'M')
		trace_add_name(t);
	else if (!trace_async_add(&t->async, e))
		t->skipped += e->phase == 0 || e->phase == '?';
}

static void trace_add_sample(struct trace_reader *t)
{
	const struct trace_event *e = &t->event;
	uint32_t track = trace_track_of(t, e);
	if (!e->has_ts || track == TRACE_NO_TRACK || t->sampled.samples.n >= V8_MAX_SAMPLES) {
		t->skipped++;
		return;
	}
	trace_note_time(t, e->ts_ns);
	vec_push(&t->sampled.samples,
		 (struct v8_sample){ e->ts_ns, e->stack_frame, e->weight, track });
}

static int trace_read_events(struct trace_reader *t, void (*add)(struct trace_reader *t))
{
	int rc;
	while ((rc = json_item_next(t->json, t->err)) > 0) {
		rc = trace_event_read(&t->event, t->json, t->sink, t->err);
		if (rc < 0)
			return rc;
		if (rc)
			add(t);
		else
			t->skipped++;
	}
	return rc;
}

/* --- stackFrames: { "id": { name, parent } } -------------------------------------------------- */

/* Splits "name(url:line:column)", as written by Hermes, into name and url. Returns false if it does
 * not have that form. */
static bool trace_split_place(const struct buf *b, size_t *name_len, size_t *url_len,
			      uint32_t *line)
{
	size_t end = b->len, colons = 0;
	const char *open = b->len ? memchr(b->data, '(', b->len) : NULL;
	if (!open || open == b->data || b->data[end - 1] != ')')
		return false;
	*name_len = open - b->data;
	for (size_t i = end - 1, digits = 0; i-- > *name_len + 1;) {
		if (b->data[i] >= '0' && b->data[i] <= '9') {
			digits++;
			continue;
		}
		if (b->data[i] != ':' || digits == 0 || digits > 9)
			return false;
		digits = 0;
		end = i;
		if (++colons == 2)
			break;
	}
	*line = 0;
	for (size_t i = end + 1; i < b->len && b->data[i] != ':'; i++)
		*line = *line * 10 + (b->data[i] - '0');
	*url_len = end - *name_len - 1;
	return colons == 2 && *url_len > 0;
}

static uint32_t trace_stack_frame(struct sink *s, const struct buf *b)
{
	size_t name_len, url_len;
	uint32_t line;
	if (!trace_split_place(b, &name_len, &url_len, &line))
		return v8_frame(s, b->data, b->len, NULL, 0, 0);
	return v8_frame(s, b->data, name_len, b->data + name_len + 1, url_len, line);
}

static int trace_read_stack_frame(struct trace_reader *t, uint64_t id)
{
	struct trace_event *e = &t->event; /* reuse its buffer */
	struct json_value key, v;
	int rc = json_enter(t->json, JSON_OBJECT, t->err);
	buf_clear(&e->name);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(t->json, &key, t->err)) > 0) {
		bool name = json_is(&key, "name"), is_parent = json_is(&key, "parent");
		uint64_t parent;
		rc = json_scalar(t->json, &v, t->err);
		if (rc < 0)
			return rc;
		if (rc && name && v.token == JSON_STRING) {
			buf_clear(&e->name);
			buf_add(&e->name, v.text, v.len);
		} else if (rc && is_parent && v8_id(&v, &parent)) {
			vec_push(&t->sampled.edges, (struct v8_edge){ parent, id });
		}
	}
	vec_push(&t->sampled.nodes,
		 (struct v8_node){ id, 0, trace_stack_frame(t->sink, &e->name) });
	return rc;
}

static int trace_read_stack_frames(struct trace_reader *t)
{
	struct json_value key;
	uint64_t id = 0;
	int rc = json_enter(t->json, JSON_OBJECT, t->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(t->json, &key, t->err)) > 0) {
		bool room = t->sampled.nodes.n < V8_MAX_NODES && t->sampled.edges.n < V8_MAX_NODES;
		if (room && v8_id(&key, &id)) {
			rc = trace_read_stack_frame(t, id);
		} else {
			t->skipped++;
			rc = json_skip(t->json, t->err);
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* --- output ----------------------------------------------------------------------------------- */

static uint32_t trace_labels(struct trace_reader *t, const struct trace_track *track)
{
	struct sink *s = t->sink;
	struct label labels[2];
	uint32_t n = 0;
	const uint32_t *process = map_get(&t->process_names, track->pid.key);
	uint32_t comm = track->name ? track->name : track->tid.name;
	uint32_t of = process ? *process : track->pid.name;
	if (comm)
		labels[n++] = (struct label){ .key = sink_string(s, "comm"), .str = comm };
	if (of)
		labels[n++] = (struct label){ .key = sink_string(s, "process"), .str = of };
	return s->ops->labels(s, labels, n);
}

/* Returns false if a thread has only whole slices of length 0: marks, which Hermes writes for each
 * thread. */
static bool trace_has_time(const struct slices *s)
{
	for (size_t i = 0; i < s->events.n; i++)
		if (s->events.v[i].dur_ns)
			return true;
	return false;
}

static uint64_t trace_give_slices(struct trace_reader *t)
{
	struct sink *s = t->sink;
	struct type type = { .name = sink_string(s, "trace"),
			     .sample_type = sink_string(s, "time"),
			     .unit = sink_string(s, "nanoseconds") };
	struct slices_left left = { 0 };
	uint64_t given = 0;
	for (size_t i = 0; i < t->tracks.n; i++) {
		struct trace_track *track = &t->tracks.v[i];
		if (!trace_has_time(&track->slices))
			continue;
		struct series series = { .type = s->ops->type(s, &type),
					 .labels = trace_labels(t, track) };
		struct sample like = { .series = s->ops->series(s, &series),
				       .pid = track->pid.number,
				       .tid = track->tid.number,
				       .cpu = SAMPLE_NO_ID };
		given += slices_give(&track->slices, s, &like, &left);
	}
	t->skipped += left.skipped;
	if (left.cut) {
		s->ops->loss(s, LOSS_INPUT_CUT, left.cut);
		s->ops->loss_time(s, LOSS_INPUT_CUT, left.cut_ns);
	}
	return given;
}

static struct v8_owner trace_owner(struct trace_reader *t, uint32_t track)
{
	const struct trace_track *k = &t->tracks.v[track];
	return (struct v8_owner){ k->pid.number, k->tid.number, trace_labels(t, k) };
}

static uint64_t trace_give_profile(struct trace_reader *t, struct trace_profile *p)
{
	struct v8_owner owner = trace_owner(t, p->track);
	for (size_t i = 0; i < p->v8.samples.n; i++) {
		struct v8_sample *s = &p->v8.samples.v[i];
		s->time_ns = sum_add(s->time_ns, p->v8.start_ns);
		trace_note_time(t, s->time_ns);
	}
	uint64_t given = v8_give(&p->v8, t->sink, &owner);
	t->skipped += p->v8.skipped;
	return given;
}

static uint64_t trace_give_sampled(struct trace_reader *t)
{
	VEC(struct v8_owner) owners = { 0 };
	if (t->sampled.samples.n == 0)
		return 0;
	for (size_t i = 0; i < t->tracks.n; i++)
		vec_push(&owners, trace_owner(t, i));
	uint64_t given = v8_give(&t->sampled, t->sink, owners.v);
	t->skipped += t->sampled.skipped;
	vec_done(&owners);
	return given;
}

static int trace_give(struct trace_reader *t, const char *name)
{
	uint64_t given = trace_give_slices(t);
	for (size_t i = 0; i < t->profiles.n; i++)
		given += trace_give_profile(t, &t->profiles.v[i]);
	given += trace_give_sampled(t);
	t->skipped += json_was_cut(t->json);
	if (t->skipped)
		t->sink->ops->loss(t->sink, LOSS_INPUT_SKIPPED, t->skipped);
	t->sink->ops->loss_time(t->sink, LOSS_INPUT_SKIPPED, t->skipped_ns);
	if (t->summaries) {
		t->sink->ops->loss(t->sink, LOSS_INPUT_SUMMARY, t->summaries);
		t->sink->ops->loss_time(t->sink, LOSS_INPUT_SUMMARY, t->summaries_ns);
	}
	if (t->async.n) {
		t->sink->ops->loss(t->sink, LOSS_INPUT_ASYNC, t->async.n);
		t->sink->ops->loss_time(t->sink, LOSS_INPUT_ASYNC, t->async.total_ns);
	}
	if (given == 0)
		return err_set(t->err, EBADMSG,
			       "%s: no event of the trace has a duration, and none is a sample",
			       name);
	struct profile_meta *meta = t->sink->ops->meta(t->sink);
	meta->start_mono_ns = t->first_ns;
	meta->duration_ns = sum_sub(t->last_ns, t->first_ns);
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int trace_read_member(struct trace_reader *t, const struct json_value *key)
{
	bool samples = json_is(key, "samples");
	if (json_is(key, "stackFrames"))
		return trace_read_stack_frames(t);
	if (!samples && !json_is(key, "traceEvents"))
		return json_skip(t->json, t->err);
	int rc = json_enter(t->json, JSON_ARRAY, t->err);
	if (rc <= 0)
		return rc;
	return trace_read_events(t, samples ? trace_add_sample : trace_add_event);
}

/* The first token shows which of the two forms the file has. */
static int trace_read_file(struct trace_reader *t)
{
	struct json_value v;
	int rc = json_next(t->json, &v, t->err);
	if (rc > 0 && v.token == JSON_ARRAY)
		return trace_read_events(t, trace_add_event);
	if (rc <= 0 || v.token != JSON_OBJECT)
		return rc < 0 ? rc : 0;
	while ((rc = json_key_next(t->json, &v, t->err)) > 0) {
		rc = trace_read_member(t, &v);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static void trace_reader_done(struct trace_reader *t)
{
	trace_event_done(&t->event);
	for (size_t i = 0; i < t->tracks.n; i++)
		slices_done(&t->tracks.v[i].slices);
	vec_done(&t->tracks);
	map_done(&t->track_index);
	map_done(&t->process_names);
	for (size_t i = 0; i < t->profiles.n; i++)
		v8_profile_done(&t->profiles.v[i].v8);
	vec_done(&t->profiles);
	map_done(&t->profile_index);
	trace_async_done(&t->async);
	v8_profile_done(&t->sampled);
	json_reader_free(t->json);
}

int chrome_trace_read(struct input *in, struct sink *sink, struct err *err)
{
	struct trace_reader t = { .sink = sink,
				  .json = json_reader_new(in),
				  .err = err,
				  .first_ns = INT64_MAX,
				  .last_ns = INT64_MIN };
	json_set_lenient(t.json);
	int rc = trace_read_file(&t);
	if (rc == 0)
		rc = trace_give(&t, input_name(in));
	trace_reader_done(&t);
	return rc;
}

/* --- detection -------------------------------------------------------------------------------- */

struct trace_signs {
	bool trace, pid, event;
};

static bool trace_sign(void *ctx, const struct json_value *key, const struct json_value *value,
		       int depth)
{
	struct trace_signs *s = ctx;
	if (depth == 1)
		s->trace |= (json_is(key, "traceEvents") && value->token == JSON_ARRAY) ||
			    json_is(key, "stackFrames") || json_is(key, "displayTimeUnit");
	s->pid |= depth == 2 && json_is(key, "pid");
	s->event |= depth == 2 && (json_is(key, "ph") || json_is(key, "args"));
	return !s->trace;
}

/* DevTools write metadata of the page first, which may be long. */
bool chrome_trace_detect(const char *head, size_t len)
{
	static const char devtools[] = "{\"metadata\":";
	struct trace_signs s = { 0 };
	if (!json_peek_keys(head, len, trace_sign, &s))
		return false;
	return s.trace || (s.event && s.pid) ||
	       (len == INPUT_PEEK && memcmp(head, devtools, strlen(devtools)) == 0);
}

const struct format format_chrome_trace = {
	.name = "chrome-trace",
	.summary = "Chrome trace events: DevTools, Perfetto, PyTorch",
	.notes = "Samples without times cannot be written. A sample is drawn as the period around "
		 "it. GPU work and driver readings are always included, whatever the type.",
	.endings = (const char *const[]){ ".trace.json", NULL },
	.one_type = true,
	.no_negative = true,
	.has_timeline = true,
	.has_counters = true,
	.detect = chrome_trace_detect,
	.read = chrome_trace_read,
	.write = chrome_trace_write,
};
