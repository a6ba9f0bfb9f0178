/* Reads a ProfilesData message into a sink. */
#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_tables.h"
#include "format/pprof/pprof_meta.h"
#include "profile/sink.h"

#include <errno.h>
#include <string.h>

/* Earlier times count from the start of a recording whose start time is unknown. */
#define OTLP_LEAST_UNIX_NS 1000000000000000ull /* the twelfth day of 1970 */

struct otlp_reader {
	struct sink *sink;
	struct cur file;
	const char *name;
	struct otlp_tables tables;
	VEC(struct cur) resources; /* ResourceProfiles */
	enum otlp_layout layout;
	struct otlp_times times;
	uint64_t end_unix_ns, first_stamp;
	uint64_t n_profiles, too_old;
	bool has_samples;
	VEC(struct label) labels;
	struct otlp_summary summary;
};

/* --- first pass ------------------------------------------------------------------------------- */

/* Finds the layout by a sample. One with only stack, field 2 and times fits both; newer layouts
 * have no sample with only stack and field 2. */
static enum otlp_layout sample_layout(struct cur c, bool *has_stamp, uint64_t *stamp)
{
	struct pb_field f;
	bool has_two = false, has_five = false;
	enum otlp_layout told = OTLP_NO_LAYOUT;
	while (pb_next(&c, &f)) {
		has_two |= f.num == 2;
		has_five |= f.num == OTLP_SAMPLE_TIMES;
		if (f.num == 4 && !told)
			told = f.wire == PB_LEN ? OTLP_1_10 : OTLP_1_8;
		else if (f.num == 3 && !told)
			told = f.wire == PB_LEN ? OTLP_1_8 : OTLP_1_10;
		else if (f.num == OTLP_SAMPLE_TIMES)
			*stamp = f.wire == PB_I64 ? f.u : cur_u64(&f.len);
	}
	*has_stamp = has_five;
	if (!told && has_two && !has_five)
		told = OTLP_1_8;
	return told;
}

static void scan_sample(struct otlp_reader *r, struct cur c)
{
	struct pb_field f;
	uint64_t stack = 0, stamp = 0;
	bool has_stamp = false;
	if (!r->layout || !r->times.any) {
		enum otlp_layout told = sample_layout(c, &has_stamp, &stamp);
		r->layout = r->layout ? r->layout : told;
		if (has_stamp && !r->times.any)
			r->first_stamp = stamp;
		r->times.any |= has_stamp;
	}
	while (stack == 0 && pb_next(&c, &f))
		stack = f.num == OTLP_SAMPLE_STACK ? f.u : 0;
	otlp_use_stack(&r->tables, stack);
	r->has_samples = true;
}

static void scan_profile(struct otlp_reader *r, struct cur c)
{
	struct pb_field f;
	uint64_t time = 0, duration = 0;
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_PROFILE_SAMPLES && f.wire == PB_LEN)
			scan_sample(r, f.len);
		else if (f.num == OTLP_PROFILE_TIME && f.wire == PB_I64)
			time = f.u;
		else if (f.num == OTLP_PROFILE_TIME && f.wire == PB_LEN)
			r->too_old++;
		else if (f.num == OTLP_PROFILE_DURATION && f.wire == PB_VARINT)
			duration = f.u;
	}
	r->n_profiles++;
	if (time && (!r->times.base_unix_ns || time < r->times.base_unix_ns))
		r->times.base_unix_ns = time;
	if (time && time + duration > r->end_unix_ns)
		r->end_unix_ns = time + duration;
}

/* Takes our writer's metadata of the whole profile. Each becomes a comment in pprof's form. */
static void take_meta(struct otlp_reader *r, struct otlp_attr *a)
{
	char room[OTLP_VALUE_ROOM];
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	struct cur text = otlp_value_text(&a->value, room);
	size_t own = strlen(OTLP_OWN), len = cur_left(&a->key);
	if (len <= own || memcmp(a->key.p, OTLP_OWN, own) != 0)
		return;
	if (len > own + 8 && memcmp(a->key.p + own, "comment.", 8) == 0) {
		vec_push(&meta->comments,
			 r->sink->ops->string(r->sink, (const char *)text.p, cur_left(&text)));
		return;
	}
	struct buf comment = { 0 };
	buf_adds(&comment, "cresset: ");
	buf_add(&comment, a->key.p + own, len - own);
	buf_addc(&comment, '=');
	buf_add(&comment, text.p, cur_left(&text));
	pprof_meta_take(r->sink, comment.data, comment.len, NULL, 0);
	buf_done(&comment);
}

static void scan_scope(struct otlp_reader *r, struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f)) {
		struct otlp_attr a;
		if (f.num == SCOPE_ATTRIBUTES && f.wire == PB_LEN &&
		    otlp_attr_read(&r->tables, f.len, &a))
			take_meta(r, &a);
	}
}

static void scan_scope_profiles(struct otlp_reader *r, struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num == SCOPE_PROFILES_SCOPE && f.wire == PB_LEN)
			scan_scope(r, f.len);
		else if (f.num == SCOPE_PROFILES_PROFILES && f.wire == PB_LEN)
			scan_profile(r, f.len);
	}
}

static int scan_file(struct otlp_reader *r, struct err *err)
{
	struct cur c = r->file;
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.wire != PB_LEN)
			continue;
		if (f.num == DATA_RESOURCE_PROFILES)
			vec_push(&r->resources, f.len);
		else if (f.num == DATA_DICTIONARY && !otlp_tables_add(&r->tables, f.len))
			return err_set(err, EBADMSG,
				       "%s: too many entries of a table for an OTLP message",
				       r->name);
		if (r->resources.n > OTLP_MAX_PROFILES)
			return err_set(err, EBADMSG, "%s: more than %d resources", r->name,
				       OTLP_MAX_PROFILES);
	}
	if (c.bad)
		return err_set(err, EBADMSG, "%s: the OTLP data is damaged or cut", r->name);
	return 0;
}

static void scan_resources(struct otlp_reader *r)
{
	for (size_t i = 0; i < r->resources.n; i++) {
		struct cur c = r->resources.v[i];
		struct pb_field f;
		while (pb_next(&c, &f))
			if (f.num == RESOURCE_PROFILES_SCOPES && f.wire == PB_LEN)
				scan_scope_profiles(r, f.len);
		r->tables.skipped += c.bad;
	}
}

static void set_times(struct otlp_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	uint64_t base = r->times.base_unix_ns, length = r->end_unix_ns - base;
	if (!base && r->first_stamp > OTLP_LEAST_UNIX_NS)
		r->times.base_unix_ns = base = r->first_stamp;
	r->times.start_mono_ns = meta->start_mono_ns;
	meta->start_wall_ns = base <= INT64_MAX ? base : 0;
	meta->duration_ns = length <= INT64_MAX && r->end_unix_ns > base ? length : 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void take_resource(struct otlp_reader *r, struct cur c)
{
	bool host_once = false; /* a following host.name is not a label */
	struct pb_field f;
	while (pb_next(&c, &f)) {
		struct otlp_attr a;
		struct label label;
		if (f.num != RESOURCE_ATTRIBUTES || f.wire != PB_LEN)
			continue;
		if (!otlp_attr_read(&r->tables, f.len, &a))
			r->tables.skipped++;
		else if (a.role == ATTR_HOST_ONCE)
			host_once = true;
		else if (a.role == ATTR_HOST && host_once)
			continue;
		else if (r->labels.n == OTLP_MAX_LABELS || !otlp_attr_label(&r->tables, &a, &label))
			r->tables.skipped++;
		else
			vec_push(&r->labels, label);
	}
	r->tables.skipped += c.bad;
}

static int add_profile(struct otlp_reader *r, struct otlp_samples *s, struct cur c, struct err *err)
{
	int rc = otlp_samples_add(s, c);
	if (rc == -ENODATA)
		r->summary.rejected_profiles++;
	else if (rc)
		return err_set(err, -rc, "%s: more than %d values", r->name, OTLP_MAX_SAMPLES);
	return 0;
}

static int add_scope_profiles(struct otlp_reader *r, struct otlp_samples *s, struct cur c,
			      struct err *err)
{
	struct pb_field f;
	int rc = 0;
	while (rc == 0 && pb_next(&c, &f))
		if (f.num == SCOPE_PROFILES_PROFILES && f.wire == PB_LEN)
			rc = add_profile(r, s, f.len, err);
	r->tables.skipped += c.bad;
	return rc;
}

static int add_resource(struct otlp_reader *r, struct otlp_samples *s, struct cur c,
			struct err *err)
{
	struct cur whole = c;
	struct pb_field f;
	int rc = 0;
	vec_clear(&r->labels);
	while (pb_next(&c, &f))
		if (f.num == RESOURCE_PROFILES_RESOURCE && f.wire == PB_LEN)
			take_resource(r, f.len);
	otlp_samples_set_resource(s, r->labels.v, r->labels.n);
	otlp_samples_set_profiles(s, whole);
	while (rc == 0 && pb_next(&whole, &f))
		if (f.num == RESOURCE_PROFILES_SCOPES && f.wire == PB_LEN)
			rc = add_scope_profiles(r, s, f.len, err);
	return rc;
}

static int read_samples(struct otlp_reader *r, struct err *err)
{
	enum otlp_layout layout = r->layout ? r->layout : OTLP_1_10;
	struct otlp_samples *s = otlp_samples_new(&r->tables, layout, &r->times);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < r->resources.n; i++)
		rc = add_resource(r, s, r->resources.v[i], err);
	otlp_samples_free(s, &r->summary.samples, &r->summary.rejected_samples);
	return rc;
}

static int check_result(struct otlp_reader *r, struct err *err)
{
	struct otlp_summary *s = &r->summary;
	if (s->rejected_samples && !s->samples)
		return err_set(err, EBADMSG, "%s: none of %llu samples can be read", r->name,
			       (unsigned long long)s->rejected_samples);
	if (r->tables.skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->tables.skipped);
	return 0;
}

static int read_message(struct otlp_reader *r, struct err *err)
{
	int rc = scan_file(r, err);
	if (rc)
		return rc;
	otlp_tables_load(&r->tables);
	if (r->tables.known)
		otlp_tables_compare(&r->tables);
	scan_resources(r);
	r->summary.profiles = r->n_profiles;
	r->summary.layout = r->layout;
	if (r->too_old) {
		r->summary.rejected_profiles = r->n_profiles;
		err_set(err, EBADMSG, "%s: OTLP profiles in a layout before 1.8", r->name);
		err_hint(err, "a newer sender (opentelemetry-proto 1.8 or later) can be read");
		return -EBADMSG;
	}
	set_times(r);
	if (!r->has_samples)
		otlp_use_all_stacks(&r->tables);
	otlp_load_stacks(&r->tables);
	rc = read_samples(r, err);
	if (rc == 0)
		rc = check_result(r, err);
	r->summary.unnamed_frames = r->tables.unnamed;
	r->summary.frames = r->tables.n_frames;
	return rc;
}

int otlp_decode(const void *data, size_t len, const char *name, struct sink *sink,
		struct otlp_summary *summary, struct err *err)
{
	return otlp_decode_known(data, len, name, sink, NULL, summary, err);
}

int otlp_decode_known(const void *data, size_t len, const char *name, struct sink *sink,
		      struct otlp_known_stacks *known, struct otlp_summary *summary,
		      struct err *err)
{
	struct otlp_reader r = { .sink = sink,
				 .file = cur_of(data ? data : "", len),
				 .name = name };
	int rc;
	otlp_tables_init(&r.tables, sink, r.file.p);
	r.tables.known = known;
	rc = len <= OTLP_MAX_BYTES
		     ? read_message(&r, err)
		     : err_set(err, EFBIG, "%s: more than %d bytes", name, OTLP_MAX_BYTES);
	if (summary)
		*summary = r.summary;
	otlp_tables_done(&r.tables);
	vec_done(&r.resources);
	vec_done(&r.labels);
	return rc;
}

int otlp_read(struct input *in, struct sink *sink, struct err *err)
{
	struct buf bytes = { 0 };
	int rc = input_all(in, OTLP_MAX_BYTES, &bytes, err);
	if (rc == 0)
		rc = otlp_decode(bytes.data, bytes.len, input_name(in), sink, NULL, err);
	buf_done(&bytes);
	return rc;
}
