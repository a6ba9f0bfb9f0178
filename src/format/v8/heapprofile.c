#include "base/err.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "format/common/give.h"
#include "format/v8/v8.h"
#include "profile/series.h"
#include "profile/sink.h"

#include <errno.h>
#include <string.h>

/* Only the tree is read: its samples repeat the sizes of its nodes. */
static int heapprofile_read_object(struct json_reader *r, struct v8_profile *p, struct sink *sink,
				   struct err *err)
{
	struct json_value key;
	int rc = json_enter(r, JSON_OBJECT, err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(r, &key, err)) > 0) {
		rc = json_is(&key, "head") ? v8_read_member(p, &key, r, sink, err)
					   : json_skip(r, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static uint32_t heapprofile_series(struct sink *sink)
{
	static const struct give_type type = { .name = "inuse_space",
					       .sample_type = "inuse_space",
					       .unit = "bytes",
					       .aggregation = AGG_SNAPSHOT };
	return give_series(sink, &type);
}

int heapprofile_read(struct input *in, struct sink *sink, struct err *err)
{
	struct v8_profile p = { .is_heap = true };
	struct json_reader *r = json_reader_new(in);
	json_set_lenient(r);
	int rc = heapprofile_read_object(r, &p, sink, err);
	if (rc == 0 && p.nodes.n == 0)
		rc = err_set(err, EBADMSG, "%s: a heap profile without a node", input_name(in));
	if (rc == 0) {
		v8_give_nodes(&p, sink, heapprofile_series(sink));
		p.skipped += json_was_cut(r);
		if (p.skipped)
			sink->ops->loss(sink, LOSS_INPUT_SKIPPED, p.skipped);
	}
	v8_profile_done(&p);
	json_reader_free(r);
	return rc;
}

static bool heapprofile_sign(void *ctx, const struct json_value *key,
			     const struct json_value *value, int depth)
{
	bool *has_head = ctx;
	*has_head |= depth == 1 && json_is(key, "head") && value->token == JSON_OBJECT;
	return !*has_head;
}

bool heapprofile_detect(const char *head, size_t len)
{
	static const char function[] = "\"functionName\"", size[] = "\"selfSize\"";
	bool has_head = false;
	return json_peek_keys(head, len, heapprofile_sign, &has_head) && has_head &&
	       memmem(head, len, function, strlen(function)) &&
	       memmem(head, len, size, strlen(size));
}

static const char *const heapprofile_endings[] = { ".heapprofile", NULL };

const struct format format_heapprofile = {
	.name = "heapprofile",
	.summary = "heap profiles of V8: Node.js, Chrome",
	.endings = heapprofile_endings,
	.detect = heapprofile_detect,
	.read = heapprofile_read,
};
