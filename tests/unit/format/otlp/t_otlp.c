// tier: test
#include "format/formats.h"
#include "random_profile.h"
#include "spelled_profile.h"
#include "written.h"

#include "base/err.h"
#include "base/pb.h"
#include "format/otlp/otlp.h"
#include "format/pprof/pprof.h"

#include <errno.h>

enum { SEEDS = 40 };
static const uint64_t start_ns = 1700000000000000000;

static bool has_protoc(void)
{
	char *found = shell("command -v protoc || true");
	bool has = *found;
	free(found);
	return has;
}

static struct buf encoded(struct profile *p, const char *type)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	ck_assert_msg(otlp_encode(p, &(struct otlp_encode_opts){ .type = type }, &b, &err) == 0,
		      "%s", err.text);
	return b;
}

static struct profile *decoded(const struct buf *b, struct otlp_summary *summary)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = otlp_decode(b->data, b->len, "test", profile_sink(p), summary, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

static struct profile *read_golden(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

/* The bytes that protoc makes from a text in this layout. */
static struct buf protoc_encoded(const char *text, const char *message, const char *proto)
{
	struct buf b = { 0 };
	char dir[32], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/in", dir);
	FILE *f = fopen(path, "w");
	ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
	shell_do("protoc -Itests/golden/otlp --encode=%s %s <%s >%s/out", message, proto, path,
		 dir);
	snprintf(path, sizeof path, "%s/out", dir);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, path, 1 << 20, &b, NULL), 0);
	shell_do("rm -r %s", dir);
	return b;
}

/* --- written messages are read back ----------------------------------------------------------- */

static struct profile *any_profile(uint64_t seed, bool knows_time)
{
	struct random_shape shape = {
		.n_stacks = 60, .n_samples = 400, .periods_differ = seed % 2, .links = seed % 3 == 0
	};
	struct profile *p = random_profile(seed, shape).p;
	struct profile_meta *meta = &p->meta;
	if (!knows_time)
		return p;
	meta->start_wall_ns = start_ns;
	meta->duration_ns = 1000;
	meta->host = strtab_put(&p->strings, "db7");
	meta->kernel = strtab_put(&p->strings, "6.1.0");
	meta->cpus = 8;
	meta->loss[LOSS_RING_FULL] = 3;
	vec_push(&meta->comments, strtab_put(&p->strings, "first"));
	vec_push(&meta->comments, strtab_put(&p->strings, "second=2"));
	return p;
}

START_TEST(written_files_are_read)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct profile *p = any_profile(seed, seed % 4);
		struct otlp_encode_opts opts = { .whole_tables = seed % 2 };
		struct buf b = { 0 };
		ck_assert_int_eq(otlp_encode(p, &opts, &b, NULL), 0);
		struct otlp_summary summary;
		struct profile *again = decoded(&b, &summary);
		ck_assert_uint_eq(summary.rejected_samples, 0);
		ck_assert_int_eq(summary.layout, OTLP_1_10);
		assert_same_profile(p, again, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(again);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

START_TEST(the_same_profile_is_the_same_message)
{
	struct profile *p = any_profile(1, true);
	struct buf a = encoded(p, NULL), b = encoded(p, NULL);
	ck_assert(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	ck_assert(otlp_detect(a.data, a.len) && !pprof_detect(a.data, a.len));
	for (size_t len = INPUT_PEEK; len + 1 < a.len; len += 997)
		ck_assert(otlp_detect(a.data, INPUT_PEEK));
	buf_done(&a);
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* Without times, samples are summed; nothing else changes. */
START_TEST(profiles_without_times)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct profile *p = any_profile(seed, true);
		for (size_t i = 0; i < p->samples.n; i++)
			p->samples.time_ns[i] = 0;
		struct buf b = encoded(p, NULL);
		struct profile *again = decoded(&b, NULL);
		ck_assert_uint_le(again->samples.n, p->samples.n);
		assert_same_profile(p, again, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(again);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

/* A wait lasts as long as its value: stored once. */
START_TEST(waits_retain_their_lengths)
{
	struct profile *p = any_profile(3, true);
	struct sample_columns *s = &p->samples;
	struct sample wait = { .length_ns = 7, .value = 7, .series = s->series[0] };
	p->sink.ops->sample(&p->sink, &wait);
	for (size_t i = 0; i < s->n; i++) {
		s->value[i] = 1 + i;
		s->length_ns[i] = 1 + i;
		s->time_ns[i] = 5000 + i;
	}
	struct buf b = encoded(p, NULL);
	struct profile *again = decoded(&b, NULL);
	assert_same_profile(p, again, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(one_type_is_written)
{
	struct profile *p = any_profile(2, true);
	struct buf b = encoded(p, "alloc_space");
	struct err err = { 0 };
	struct profile *again = decoded(&b, NULL);
	ck_assert_uint_eq(again->series.types.n, 1);
	ck_assert_int_eq(profile_total(again, 0),
			 profile_total(p, profile_pick_type(p, "alloc_space")));
	ck_assert_int_eq(
		otlp_encode(p, &(struct otlp_encode_opts){ .type = "no such type" }, &b, &err),
		-ENOENT);
	profile_free(again);
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* --- protoc as a witness ---------------------------------------------------------------------- */

/* protoc knows every field by our definition, in the order of their numbers: decoding and encoding again gives the same bytes only if there is
 * nothing else. */
START_TEST(protoc_knows_every_field)
{
	char dir[32], path[64];
	if (!has_protoc())
		T_SKIP("protoc is not installed");
	temp_dir(dir);
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct profile *p = any_profile(seed, true);
		struct buf b = encoded(p, NULL);
		snprintf(path, sizeof path, "%s/out", dir);
		FILE *f = fopen(path, "w");
		ck_assert(f && fwrite(b.data, b.len, 1, f) == 1 && fclose(f) == 0);
		char *said = shell(
			"cd tests/golden/otlp && protoc --decode=otlp.ProfilesData otlp.proto <%s "
			">%s/text && grep -cE '^ *[0-9]+[:{]' %s/text; protoc "
			"--encode=otlp.ProfilesData otlp.proto <%s/text | cmp - %s && echo same",
			path, dir, dir, dir, path);
		ck_assert_str_eq(said, "0\nsame\n");
		free(said);
		profile_free(p);
		buf_done(&b);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(golden_files_are_what_protoc_makes_of_their_text)
{
	if (!has_protoc())
		T_SKIP("protoc is not installed");
	char *said = shell("cd tests/golden/otlp && protoc --encode=otlp.ProfilesData otlp.proto "
			   "<ebpf.txt | cmp - "
			   "ebpf.otlp && protoc --encode=otlp_1_8.ProfilesData otlp_1_8.proto "
			   "<old.txt | cmp - "
			   "old.otlp && echo same");
	ck_assert_str_eq(said, "same\n");
	free(said);
}
END_TEST

/* --- known answers ---------------------------------------------------------------------------- */

static const char *label_of_sample(struct profile *p, size_t i, const char *key)
{
	uint32_t labels = p->series.series.v[p->samples.series[i]].labels;
	const struct label *l = label_find(&p->series, labels, strtab_find(&p->strings, key));
	return l ? profile_str(p, l->str) : NULL;
}

START_TEST(a_profiler_of_others)
{
	struct profile *p = read_golden("tests/golden/otlp/ebpf.otlp");
	const struct sample_columns *s = &p->samples;
	ck_assert_uint_eq(s->n, 5);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1); /* the missing stack */
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "cpu")), 3);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "off-cpu")), 3000);
	ck_assert_int_eq(p->meta.start_wall_ns, start_ns);
	ck_assert_int_eq(p->meta.duration_ns, 5000000000);
	ck_assert_int_eq(s->time_ns[0], 100000000);
	ck_assert_int_eq(s->time_ns[4], 500000000);
	ck_assert_uint_eq(s->pid[0], 4711);
	ck_assert_uint_eq(s->tid[0], 4712);
	ck_assert_uint_eq(s->cpu[0], 3);
	ck_assert_uint_eq(s->cpu[2], SAMPLE_NO_ID);
	ck_assert_str_eq(label_of_sample(p, 0, "comm"), "pool-1");
	ck_assert_str_eq(label_of_sample(p, 0, "container_id"), "c0ffee");
	ck_assert_str_eq(label_of_sample(p, 0, "service.name"), "shop");
	ck_assert_str_eq(label_of_sample(p, 0, "service.version"), "1.5");
	ck_assert_str_eq(label_of_sample(p, 0, "host"), "db7");
	ck_assert_int_eq(
		memcmp(link_get(&p->links, sample_link(s, 0)), "0123456789abcdef01234567", 24), 0);
	ck_assert_uint_eq(sample_link(s, 2), 0);
	ck_assert_int_eq(p->series.series.v[s->series[0]].period, 52631578);
	profile_free(p);
}
END_TEST

START_TEST(frames_of_others)
{
	struct profile *p = read_golden("tests/golden/otlp/ebpf.otlp");
	uint32_t frames[3];
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), 3);
	stack_frames(&p->stacks, p->samples.stack[0], frames);
	const struct frame *java = &p->frames.frames.v[frames[0]];
	const struct frame *native = &p->frames.frames.v[frames[1]];
	const struct frame *kernel = &p->frames.frames.v[frames[2]];
	ck_assert_int_eq(java->kind, FRAME_JAVA);
	ck_assert_uint_eq(java->mapping, MAPPING_NONE);
	ck_assert_str_eq(profile_str(p, java->file), "Worker.java");
	ck_assert_uint_eq(java->line, 12);
	ck_assert_int_eq(native->kind, FRAME_NATIVE);
	ck_assert_uint_eq(native->offset, 0x129c3b - 0x28000 + 0x26000);
	const struct mapping *m = &p->frames.mappings.v[native->mapping];
	ck_assert_uint_eq(m->build_id_len, 20);
	ck_assert_uint_eq(m->build_id[0], 0x6d);
	ck_assert_int_eq(kernel->kind, FRAME_KERNEL);
	ck_assert_str_eq(profile_str(p, kernel->function), "finish_task_switch");
	profile_free(p);
}
END_TEST

START_TEST(the_layout_before)
{
	struct profile *p = read_golden("tests/golden/otlp/old.otlp");
	struct otlp_summary summary;
	struct buf b = { 0 };
	ck_assert_int_eq(profile_total(p, 0), 12);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	ck_assert_str_eq(label_of_sample(p, 1, "comm"), "main");
	ck_assert_uint_ne(sample_link(&p->samples, 1), 0);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, "tests/golden/otlp/old.otlp", 1 << 20, &b, NULL), 0);
	profile_free(decoded(&b, &summary));
	ck_assert_int_eq(summary.layout, OTLP_1_8);
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* A Profile whose third field is a packed list is of version 1.7. */
START_TEST(layouts_that_are_too_old_are_refused)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	struct profile *p = profile_new();
	struct otlp_summary summary;
	size_t resource = pb_begin(&b, 1), scope = pb_begin(&b, 2), profile = pb_begin(&b, 2);
	pb_put_bytes(&b, 3, "\1\2", 2);
	pb_end(&b, profile);
	pb_end(&b, scope);
	pb_end(&b, resource);
	ck_assert_int_eq(otlp_decode(b.data, b.len, "test", profile_sink(p), &summary, &err),
			 -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "before 1.8"));
	ck_assert_uint_eq(summary.rejected_profiles, 1);
	profile_free(p);
	buf_done(&b);
}
END_TEST

#define ONE_STACK \
	"dictionary { stack_table {} stack_table { location_indices: 1 } location_table {} " \
	"location_table { lines { function_index: 1 } } function_table {} " \
	"function_table { name_strindex: 1 } string_table: '' string_table: 'f' }"

struct said {
	size_t n;
	int64_t total, last_time_ns;
};

static struct said said_by(const char *samples)
{
	char text[4096];
	snprintf(text, sizeof text,
		 "resource_profiles { scope_profiles { profiles { time_unix_nano: %llu %s } } "
		 "} " ONE_STACK,
		 (unsigned long long)start_ns, samples);
	struct buf b = protoc_encoded(text, "otlp.ProfilesData", "otlp.proto");
	struct profile *p = decoded(&b, NULL);
	struct said said = { p->samples.n, profile_total(p, 0),
			     p->samples.time_ns[p->samples.n - 1] };
	profile_free(p);
	buf_done(&b);
	return said;
}

/* Values only; times only, each 1; both, in pairs; and undefined combinations. */
START_TEST(values_and_times)
{
	static const struct {
		const char *samples;
		struct said said;
	} cases[] = {
		{ "samples { stack_index: 1 values: 7 link_index: 0 } samples { stack_index: 1 "
		  "attribute_indices: [] values: [ 5 ] }",
		  { 2, 12, 0 } },
		{ "samples { stack_index: 1 timestamps_unix_nano: [ 1700000000000000005, "
		  "1700000000000000009 ] }",
		  { 2, 2, 9 } },
		{ "samples { stack_index: 1 values: [ 10, 20 ] timestamps_unix_nano: [ "
		  "1700000000000000005, 1700000000000000009 ] }",
		  { 2, 30, 9 } },
		{ "samples { stack_index: 1 values: 10 timestamps_unix_nano: [ "
		  "1700000000000000005, "
		  "1700000000000000009 ] }",
		  { 1, 10, 5 } },
		{ "samples { stack_index: 1 timestamps_unix_nano: 1700000000000000005 } samples { "
		  "stack_index: 1 values: 10 }",
		  { 2, 11, 0 } },
		{ "samples { stack_index: 1 timestamps_unix_nano: 1 }",
		  { 1, 1, 1 - 1700000000000000000 } },
	};
	if (!has_protoc())
		T_SKIP("protoc is not installed");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct said said = said_by(cases[i].samples);
		ck_assert_msg(memcmp(&said, &cases[i].said, sizeof said) == 0,
			      "case %zu: %zu, %lld, %lld", i, said.n, (long long)said.total,
			      (long long)said.last_time_ns);
	}
}
END_TEST

START_TEST(an_empty_message_is_fine)
{
	struct buf none = { 0 };
	struct otlp_summary summary;
	struct profile *p = decoded(&none, &summary);
	ck_assert_uint_eq(p->samples.n, 0);
	struct buf b = encoded(p, NULL);
	ck_assert(otlp_detect(b.data, b.len));
	profile_free(decoded(&b, NULL));
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* Truncated anywhere: an error or a count, never a crash. */
START_TEST(cut_anywhere)
{
	struct profile *p = any_profile(6, true);
	struct buf b = encoded(p, NULL);
	for (size_t len = 0; len < b.len; len += 1 + len / 100) {
		struct profile *cut = profile_new();
		otlp_decode(b.data, len, "test", profile_sink(cut), NULL, NULL);
		profile_free(cut);
	}
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* --- other formats as witnesses --------------------------------------------------------------- */

/* Through OTLP, pprof files keep their stacks and totals. */
START_TEST(pprof_files_say_the_same)
{
	static const char *const names[] = { "parca-alloc_objects", "parca-fgprof", "parca-fib",
					     "parca-labels", "parca-symbolizer-profile" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/pprof/%s.pb.gz", names[i]);
		struct profile *p = read_golden(path);
		struct buf b = encoded(p, NULL);
		struct profile *again = decoded(&b, NULL);
		char *a = written(&format_folded, p, &(struct format_write_opts){ 0 });
		char *c = written(&format_folded, again, &(struct format_write_opts){ 0 });
		ck_assert_str_eq(a, c);
		for (uint32_t t = 0; t < p->series.types.n; t++) {
			const char *type = profile_str(p, p->series.types.v[t].sample_type);
			ck_assert_int_eq(profile_total(p, profile_pick_type(p, type)),
					 profile_total(again, profile_pick_type(again, type)));
		}
		free(a);
		free(c);
		profile_free(again);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

UNIT_MAIN("otlp", written_files_are_read, the_same_profile_is_the_same_message,
	  profiles_without_times, waits_retain_their_lengths, one_type_is_written,
	  protoc_knows_every_field, golden_files_are_what_protoc_makes_of_their_text,
	  a_profiler_of_others, frames_of_others, the_layout_before,
	  layouts_that_are_too_old_are_refused, values_and_times, an_empty_message_is_fine,
	  cut_anywhere, pprof_files_say_the_same)
