/* Reads .cpuprofile files. */
#include "base/err.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "format/v8/v8.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <string.h>

static int cpuprofile_read_object(struct json_reader *r, struct v8_profile *p, struct sink *sink,
				  struct err *err)
{
	struct json_value key;
	int rc = json_enter(r, JSON_OBJECT, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(r, &key, err)) > 0) {
		rc = v8_read_member(p, &key, r, sink, err);
		if (rc == 0)
			rc = json_skip(r, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static void cpuprofile_note_times(struct sink *sink, const struct v8_profile *p)
{
	struct profile_meta *meta = sink->ops->meta(sink);
	meta->start_mono_ns = p->start_ns;
	if (p->end_ns > p->start_ns)
		meta->duration_ns = sum_sub(p->end_ns, p->start_ns);
}

int cpuprofile_read(struct input *in, struct sink *sink, struct err *err)
{
	struct v8_profile p = { 0 };
	struct v8_owner nobody = { SAMPLE_NO_ID, SAMPLE_NO_ID, 0 };
	struct json_reader *r = json_reader_new(in);
	json_set_lenient(r);
	int rc = cpuprofile_read_object(r, &p, sink, err);
	if (rc == 0) {
		int64_t last_ns = p.start_ns;
		v8_join(&p, &last_ns);
		p.skipped += json_was_cut(r);
		if (v8_give(&p, sink, &nobody) == 0)
			rc = err_set(err, EBADMSG, "%s: no sample that names a node of the profile",
				     input_name(in));
		else
			cpuprofile_note_times(sink, &p);
	}
	if (p.skipped)
		sink->ops->loss(sink, LOSS_INPUT_SKIPPED, p.skipped);
	v8_profile_done(&p);
	json_reader_free(r);
	return rc;
}

/* Members found in the outermost object. */
struct cpuprofile_signs {
	bool nodes, times, other;
};

static bool cpuprofile_sign(void *ctx, const struct json_value *key, const struct json_value *value,
			    int depth)
{
	struct cpuprofile_signs *s = ctx;
	if (depth != 1 || json_is(key, "traceEvents") || json_is(key, "meta"))
		s->other = true;
	else if (json_is(key, "nodes"))
		s->nodes |= value->token == JSON_ARRAY;
	else if (json_is(key, "head"))
		s->nodes |= value->token == JSON_OBJECT;
	else if (json_is(key, "timeDeltas"))
		s->times |= value->token == JSON_ARRAY;
	return !s->other;
}

/* Heap profiles also have a head, but their nodes have a size. */
bool cpuprofile_detect(const char *head, size_t len)
{
	static const char function[] = "\"functionName\"", heap[] = "\"selfSize\"";
	struct cpuprofile_signs s = { 0 };
	if (!json_peek_keys(head, len, cpuprofile_sign, &s) || s.other)
		return false;
	return s.times || (s.nodes && memmem(head, len, function, strlen(function)) &&
			   !memmem(head, len, heap, strlen(heap)));
}

static const char *const cpuprofile_endings[] = { ".cpuprofile", NULL };

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.summary = "CPU profiles of V8: Node.js, Chrome",
	.endings = cpuprofile_endings,
	.detect = cpuprofile_detect,
	.read = cpuprofile_read,
};
