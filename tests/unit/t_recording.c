#include "random_profile.h"
#include "shell.h"
#include "spelled_profile.h"

#include "format/folded.h"
#include "format/recording.h"

#include <errno.h>
#include <sys/stat.h>

static int read_bytes(const void *data, size_t len, struct profile *p, struct err *err)
{
	struct input *in;
	ck_assert_int_eq(input_open_memory(data, len, &in, err), 0);
	int rc = recording_read(in, profile_sink(p), err);
	input_close(in);
	return rc;
}

static struct buf bytes_of(const char *path)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	ck_assert_msg(fs_read_at(AT_FDCWD, path, 1 << 30, &b, &err) == 0, "%s", err.text);
	return b;
}

static struct profile *read_path(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

static void make_path(char dir[32], char path[64])
{
	temp_dir(dir);
	snprintf(path, 64, "%s/r.cresset", dir);
}

static void write_path(struct profile *p, const char *path)
{
	struct format_write_opts opts = { 0 };
	struct err err = { 0 };
	int rc = format_write_file(&format_recording, p, &opts, path, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* Everything that meta can say. */
static void fill_meta(struct profile *p)
{
	struct sink *s = profile_sink(p);
	struct profile_meta *m = s->ops->meta(s);
	m->start_wall_ns = -5;
	m->start_mono_ns = INT64_MIN;
	m->duration_ns = INT64_MAX;
	m->host = sink_string(s, "db7");
	m->kernel = sink_string(s, "6.1");
	m->command = sink_string(s, "record <&>");
	m->clock = sink_string(s, "cpu-clock");
	m->cpus = 3;
	m->default_type = 1;
	m->default_column = sink_string(s, "alloc_space");
	m->doc_url = sink_string(s, "https://example.org");
	m->drop_frames = sink_string(s, "drop");
	m->keep_frames = sink_string(s, "keep");
	m->own_cpu_ns = UINT64_MAX;
	m->own_peak_bytes = 12;
	vec_push(&m->comments, sink_string(s, "one"));
	vec_push(&m->comments, sink_string(s, "two"));
	vec_push(&m->sample_types, 1);
	vec_push(&m->sample_types, 0);
	for (int i = 0; i < LOSS_REASONS; i++)
		s->ops->loss(s, i, 10 + i);
}

static void check_meta(const struct profile *p)
{
	ck_assert_uint_eq(p->meta.default_type, 1);
	ck_assert_str_eq(profile_str(p, p->meta.default_column), "alloc_space");
	ck_assert_uint_eq(p->meta.sample_types.n, 2);
	ck_assert_uint_eq(p->meta.sample_types.v[0], 1);
}

/* --- the whole way ---------------------------------------------------------------------------- */

START_TEST(everything_comes_back)
{
	char dir[32], path[64];
	make_path(dir, path);
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random_shape shape = { .n_stacks = 2 * seed,
					      .n_samples = seed * seed,
					      .periods_differ = seed % 2,
					      .waits = seed % 3 };
		struct random_profile r = random_profile(seed, shape);
		fill_meta(r.p);
		write_path(r.p, path);
		struct profile *again = read_path(path);
		assert_same_profile(r.p, again, SPELL_TIMES | SPELL_MAPPINGS);
		check_meta(again);
		ck_assert_uint_eq(again->samples.n, r.p->samples.n);
		profile_free(again);
		profile_free(r.p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(extreme_samples_come_back)
{
	static const int64_t times[] = { 0, INT64_MAX, INT64_MIN, -1, 1 };
	static const uint32_t ids[] = { 0, 1, SAMPLE_NO_ID, SAMPLE_NO_ID - 1, 77 };
	char dir[32], path[64];
	make_path(dir, path);
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 5 });
	struct sink *s = profile_sink(r.p);
	for (int i = 0; i < 5; i++) {
		struct sample sample = { .time_ns = times[i],
					 .value = times[4 - i],
					 .series = r.series[i],
					 .stack = i,
					 .pid = ids[i],
					 .tid = ids[4 - i],
					 .cpu = ids[(i + 2) % 5] };
		s->ops->sample(s, &sample);
	}
	write_path(r.p, path);
	struct profile *p = read_path(path);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(p->samples.time_ns[i], times[i]);
		ck_assert_int_eq(p->samples.value[i], times[4 - i]);
		ck_assert_uint_eq(p->samples.pid[i], ids[i]);
		ck_assert_uint_eq(p->samples.tid[i], ids[4 - i]);
		ck_assert_uint_eq(p->samples.cpu[i], ids[(i + 2) % 5]);
	}
	profile_free(p);
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* More than one chunk of each table, and commits between them. */
START_TEST(large_tables_come_back)
{
	enum { SAMPLES = 50000 };
	char dir[32], path[64];
	struct buf text = { 0 };
	make_path(dir, path);
	for (int i = 0; i < SAMPLES; i++)
		buf_addf(&text,
			 "main;function number %d with a long name to fill the chunks;leaf %d %d\n",
			 i, i % 7, i);
	struct input *in;
	struct profile *p = profile_new();
	ck_assert_int_eq(input_open_memory(text.data, text.len, &in, NULL), 0);
	ck_assert_int_eq(folded_read(in, profile_sink(p), NULL), 0);
	input_close(in);
	buf_done(&text);
	write_path(p, path);
	struct profile *again = read_path(path);
	ck_assert_uint_eq(again->samples.n, SAMPLES);
	assert_same_profile(p, again, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(an_empty_profile_comes_back)
{
	char dir[32], path[64];
	make_path(dir, path);
	struct profile *p = profile_new();
	write_path(p, path);
	struct profile *again = read_path(path);
	assert_same_profile(p, again, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(the_same_profile_is_the_same_file)
{
	char dir[32], path[64];
	make_path(dir, path);
	struct random_profile r = random_profile(3, (struct random_shape){ 50, 500, true, true });
	write_path(r.p, path);
	struct buf a = bytes_of(path);
	write_path(r.p, path);
	struct buf b = bytes_of(path);
	ck_assert(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	buf_done(&a);
	buf_done(&b);
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- growing ---------------------------------------------------------------------------------- */

static uint64_t size_of(const char *path)
{
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

/* At each commit the .tmp holds what the profile held then; at the end it has the name. */
START_TEST(every_commit_can_be_read)
{
	char dir[32], path[64], tmp[80];
	struct recorder *rec;
	struct err err = { 0 };
	make_path(dir, path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	struct random_profile r = random_profile(5, (struct random_shape){ 0 });
	ck_assert_int_eq(recorder_open(path, &rec, &err), 0);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 5; i++)
			random_stack(&r, r.p->stacks.stacks.n);
		for (int i = 0; i < 30; i++)
			random_sample(&r, true);
		uint32_t frame = rng_below(&r.rng, UNIVERSE_FRAMES);
		universe_names(profile_sink(r.p), r.frames[frame], frame, 1 + rng_below(&r.rng, 3));
		r.p->meta.loss[LOSS_RING_FULL]++;
		ck_assert_msg(recorder_commit(rec, r.p, &err) == 0, "%s", err.text);
		struct profile *so_far = read_path(tmp);
		assert_same_profile(r.p, so_far, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(so_far);
	}
	ck_assert_int_ne(access(path, F_OK), 0);
	uint64_t size = size_of(tmp);
	ck_assert_int_eq(recorder_commit(rec, r.p, &err), 0);
	ck_assert_uint_eq(size_of(tmp), size); /* nothing was new */
	ck_assert_int_eq(recorder_finish(rec, r.p, &err), 0);
	ck_assert_int_ne(access(tmp, F_OK), 0);
	struct profile *all = read_path(path);
	assert_same_profile(r.p, all, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(all);
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(an_aborted_recording_leaves_nothing)
{
	char dir[32], path[64];
	struct recorder *rec;
	make_path(dir, path);
	struct profile *p = profile_new();
	ck_assert_int_eq(recorder_open(path, &rec, NULL), 0);
	ck_assert_int_eq(recorder_commit(rec, p, NULL), 0);
	recorder_abort(rec);
	recorder_abort(NULL);
	ck_assert_int_eq(rmdir(dir), 0);
	struct err err = { 0 };
	ck_assert_int_eq(recorder_open("/no/such/folder/r.cresset", &rec, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/no/such/folder/r.cresset"));
	profile_free(p);
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
	struct recorder *rec;
	struct err err = { 0 };
	struct random_profile r = random_profile(6, (struct random_shape){ 50, 500, false, false });
	if (access("/dev/full", W_OK) != 0)
		T_SKIP("no /dev/full");
	ck_assert_int_eq(recorder_open("/dev/full", &rec, &err), 0);
	ck_assert_int_eq(recorder_commit(rec, r.p, &err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, "/dev/full"));
	recorder_abort(rec);
	profile_free(r.p);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

/* A recording of several commits: its bytes, and what each commit held. */
struct commits {
	struct buf bytes;
	size_t n, end[16]; /* where each commit ends */
	char *spelled[16];
	size_t samples[16];
};

static void record_commits(struct commits *c)
{
	char dir[32], path[64], tmp[80];
	struct recorder *rec;
	*c = (struct commits){ 0 };
	make_path(dir, path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	struct random_profile r = random_profile(8, (struct random_shape){ 0 });
	ck_assert_int_eq(recorder_open(path, &rec, NULL), 0);
	for (; c->n < 5; c->n++) {
		for (int i = 0; i < 4; i++)
			random_stack(&r, r.p->stacks.stacks.n);
		for (int i = 0; i < 10; i++)
			random_sample(&r, true);
		ck_assert_int_eq(recorder_commit(rec, r.p, NULL), 0);
		c->end[c->n] = size_of(tmp);
		c->spelled[c->n] = spelled_profile(r.p, SPELL_TIMES | SPELL_MAPPINGS);
		c->samples[c->n] = r.p->samples.n;
	}
	c->bytes = bytes_of(tmp);
	recorder_abort(rec);
	profile_free(r.p);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void commits_done(struct commits *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->spelled[i]);
	buf_done(&c->bytes);
}

/* How many whole commits are in the first len bytes. */
static size_t commits_until(const struct commits *c, size_t len)
{
	size_t n = 0;
	while (n < c->n && c->end[n] <= len)
		n++;
	return n;
}

START_TEST(a_file_cut_anywhere_opens_up_to_its_last_commit)
{
	struct commits c;
	record_commits(&c);
	for (size_t len = 0; len <= c.bytes.len; len++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		char *copy = malloc(len ? len : 1);
		memcpy(copy, c.bytes.data, len);
		int rc = read_bytes(copy, len, p, &err);
		size_t n = commits_until(&c, len);
		if (n == 0) {
			ck_assert_int_eq(rc, -EBADMSG);
			ck_assert(err.text[0]);
		} else {
			ck_assert_int_eq(rc, 0);
			bool whole = len == c.end[n - 1];
			ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED] == 0, whole);
			p->meta.loss[LOSS_INPUT_SKIPPED] = 0;
			char *text = spelled_profile(p, SPELL_TIMES | SPELL_MAPPINGS);
			ck_assert_str_eq(text, c.spelled[n - 1]);
			free(text);
		}
		free(copy);
		profile_free(p);
	}
	commits_done(&c);
}
END_TEST

/* A bit that flips ends the reading at its commit; no bit is free. */
START_TEST(damage_ends_the_reading_before_it)
{
	struct commits c;
	record_commits(&c);
	for (size_t i = 0; i < c.bytes.len; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		c.bytes.data[i] ^= 1 << i % 8;
		int rc = read_bytes(c.bytes.data, c.bytes.len, p, &err);
		size_t n = commits_until(&c, i);
		ck_assert_int_eq(rc, n ? 0 : -EBADMSG);
		if (n) {
			ck_assert_uint_eq(p->samples.n, c.samples[n - 1]);
			ck_assert_uint_gt(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		}
		c.bytes.data[i] ^= 1 << i % 8;
		profile_free(p);
	}
	commits_done(&c);
}
END_TEST

START_TEST(a_newer_version_is_refused)
{
	struct commits c;
	record_commits(&c);
	struct profile *p = profile_new();
	struct err err = { 0 };
	c.bytes.data[sizeof RECORDING_MAGIC] = RECORDING_VERSION + 1;
	ck_assert_int_eq(read_bytes(c.bytes.data, c.bytes.len, p, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "newer"));
	ck_assert(err.hint[0]);
	ck_assert_uint_eq(p->samples.n, 0);
	profile_free(p);
	commits_done(&c);
}
END_TEST

static void put_le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> (8 * i));
}

static void put_header(struct buf *b)
{
	buf_add(b, RECORDING_MAGIC, sizeof RECORDING_MAGIC);
	put_le(b, RECORDING_VERSION, 4);
	put_le(b, 16, 4);
}

/* A chunk with a right checksum, whatever is in it. */
static void put_chunk(struct buf *b, uint32_t type, uint32_t flags, const void *payload, size_t len)
{
	put_le(b, type, 4);
	put_le(b, flags, 4);
	put_le(b, len, 8);
	put_le(b, chunk_checksum(type, flags, payload, len), 8);
	buf_add(b, payload, len);
}

START_TEST(unknown_chunks_are_passed_over_when_they_may)
{
	struct err err = { 0 };
	struct buf b = { 0 };
	struct profile *p = profile_new();
	put_header(&b);
	put_chunk(&b, CHUNK_STRINGS, 0, "\1x", 2);
	put_chunk(&b, 99, CHUNK_OPTIONAL, "????", 4);
	put_chunk(&b, CHUNK_COMMIT, 0, "\0", 1);
	ck_assert_int_eq(read_bytes(b.data, b.len, p, &err), 0);
	ck_assert_uint_ne(strtab_find(&p->strings, "x"), UINT32_MAX);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	put_chunk(&b, 99, 0, "????", 4);
	ck_assert_int_eq(read_bytes(b.data, b.len, p, &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "newer"));
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* Ids that point nowhere, in chunks whose checksums are right. */
START_TEST(ids_that_are_not_there_are_damage)
{
	static const struct {
		uint32_t type;
		const char *payload;
		size_t len;
	} cases[] = {
		{ CHUNK_STRINGS, "\x05xx", 3 },
		{ CHUNK_MAPPINGS, "\x09\0\0\0\0\0\0\0", 8 },
		{ CHUNK_MAPPINGS, "\0\x21\0\0\0\0\0\0", 8 },
		{ CHUNK_FRAMES, "\0\x01\0", 3 },            /* no mapping */
		{ CHUNK_FRAMES, "\x7f\0\0\0\0", 5 },        /* no kind */
		{ CHUNK_FRAMES, "\0\0\x09\0\0", 5 },        /* no string */
		{ CHUNK_NAMES, "\0\0", 2 },                 /* no frame */
		{ CHUNK_TYPES, "\0\0\0\0\0\x02", 6 },       /* no aggregation */
		{ CHUNK_LABELS, "\x7f\0\0\0\0", 5 },        /* more than there are */
		{ CHUNK_SERIES, "\0\0\0", 3 },              /* no type */
		{ CHUNK_STACKS, "\0\0\0", 3 },              /* its own parent */
		{ CHUNK_STACKS, "\x02\0\0", 3 },            /* a parent before the first */
		{ CHUNK_STACKS, "\x01\x01\0", 3 },          /* shares more than there is */
		{ CHUNK_STACKS, "\x01\0\x01\0", 4 },        /* no frame */
		{ CHUNK_SAMPLES, "\x01\0\0\0\0\0\0\0", 8 }, /* no series */
		{ CHUNK_SAMPLES, "\xff\xff\xff\xff\x0f", 5 },
		{ CHUNK_META, "\0", 1 },
		{ CHUNK_STRINGS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };
		struct buf b = { 0 };
		struct profile *p = profile_new();
		put_header(&b);
		put_chunk(&b, CHUNK_COMMIT, 0, "\0", 1);
		put_chunk(&b, cases[i].type, 0, cases[i].payload, cases[i].len);
		put_chunk(&b, CHUNK_STRINGS, 0, "\1x", 2);
		put_chunk(&b, CHUNK_COMMIT, 0, "\0", 1);
		ck_assert_int_eq(read_bytes(b.data, b.len, p, &err), 0);
		ck_assert_msg(p->meta.loss[LOSS_INPUT_SKIPPED] == 2, "case %zu: %llu", i,
			      (unsigned long long)p->meta.loss[LOSS_INPUT_SKIPPED]);
		ck_assert_uint_eq(p->samples.n, 0);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

START_TEST(content_tells_the_format)
{
	ck_assert(recording_detect("CRESSET\0\1\0\0\0", 12));
	ck_assert(!recording_detect("CRESSET", 7));
	ck_assert(!recording_detect("CRESSETX", 8));
	ck_assert(!recording_detect("", 0));
}
END_TEST

/* The example of docs/formats.md: one sample of the stack "main", pid 7, cpu 0. */
static struct profile *example_profile(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, "main") };
	uint32_t frame = s->ops->frame(s, &f);
	struct type type = { .name = sink_string(s, "samples"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type) };
	struct sample sample = { .value = 5,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, &frame, 1),
				 .pid = 7,
				 .tid = SAMPLE_NO_ID,
				 .cpu = 0 };
	s->ops->sample(s, &sample);
	return p;
}

/* The lines of docs/formats.md that look like those of od(1) are that file. */
START_TEST(the_documented_bytes_are_the_written_ones)
{
	char dir[32], path[64];
	make_path(dir, path);
	struct profile *p = example_profile();
	write_path(p, path);
	char *got = shell("od -An -v -tx1 %s", path);
	char *want = shell("grep -E '^( [0-9a-f]{2}){1,16}$' docs/formats.md");
	ck_assert_str_eq(got, want);
	free(got);
	free(want);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("recording", everything_comes_back, extreme_samples_come_back, large_tables_come_back,
	  an_empty_profile_comes_back, the_same_profile_is_the_same_file, every_commit_can_be_read,
	  an_aborted_recording_leaves_nothing, a_full_disk_is_an_error,
	  a_file_cut_anywhere_opens_up_to_its_last_commit, damage_ends_the_reading_before_it,
	  a_newer_version_is_refused, unknown_chunks_are_passed_over_when_they_may,
	  ids_that_are_not_there_are_damage, content_tells_the_format,
	  the_documented_bytes_are_the_written_ones)
