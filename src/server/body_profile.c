/* Reads an uploaded file of any format into a profile. */
#include "base/clock.h"
#include "base/err.h"
#include "base/input.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "profile/prune.h"
#include "profile/units.h"
#include "query/guard.h"
#include "server/request.h"

#include <errno.h>

struct reading {
	struct profile *p;
	struct guard guard;
};

static const struct format *detect(const struct buf *b)
{
	size_t n = b->len < INPUT_PEEK ? b->len : INPUT_PEEK;
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->read && formats[i]->detect && formats[i]->detect(b->data, n))
			return formats[i];
	return NULL;
}

/* Memory per sample row, including space for growing. */
enum { ROW_BYTES = 64 };

/* Called before each piece of the body. */
static int may_go_on(void *ctx, const char *name, struct err *err)
{
	struct reading *reading = ctx;
	struct sink *sink = profile_sink(reading->p);
	uint64_t bytes = sink->ops->kept_bytes(sink) + reading->p->samples.n * ROW_BYTES;
	(void)name;
	int rc = guard_check(&reading->guard, err);
	return rc ? rc : guard_memory(&reading->guard, bytes, err);
}

/* Invalid expressions leave all frames. */
static void prune(struct profile *p)
{
	struct err err = { 0 };
	uint64_t n;
	profile_prune(p, &n, &err);
}

int body_read_profile(struct request *r, struct profile *p, const struct guard_limits *limits,
		      struct err *err)
{
	struct buf *b = &r->body.data;
	struct input *in;
	int rc = b->len ? body_unpack_inside(r, err) : err_set(err, EINVAL, "the body is empty");
	if (rc < 0)
		return rc;
	const struct format *format = detect(b);
	if (!format) {
		err_set(err, ENOTSUP, "unknown format of the body");
		return err_hint(err, "docs/formats.md lists the formats");
	}
	rc = input_open_memory(b->data, b->len, &in, err);
	if (rc < 0)
		return rc;
	struct reading reading = { p, { limits, clock_mono_ns() } };
	if (limits)
		input_watch(in, may_go_on, &reading);
	rc = format->read(in, profile_sink(p), err);
	input_close(in);
	if (rc == 0) {
		profile_unify_units(p);
		prune(p);
	}
	return rc;
}
