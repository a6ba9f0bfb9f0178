// tier: test
#include "format/formats.h"
#include "random_profile.h"
#include "shell.h"
#include "spelled_profile.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "format/folded/folded.h"
#include "format/recording/cresset.h"
#include "store/recording/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
	int rc = format_write_file(&format_cresset, p, &opts, path, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* Everything that meta can hold. */
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
					      .waits = seed % 3,
					      .links = seed % 2 };
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

/* More than one chunk of each table, with commits between them. */
START_TEST(large_tables_come_back)
{
	enum { SAMPLES = 50000 };
	char dir[32], path[64];
	struct buf text = { 0 };
	make_path(dir, path);
	for (int i = 0; i < SAMPLES; i++)
		buf_addf(&text,
			 "main;function number %d with a long name to fill the chunks;leaf%d %d\n",
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
	struct random_profile r =
		random_profile(3, (struct random_shape){ 50, 500, true, true, true });
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

/* At each commit, the .tmp file holds what the profile held then; at the end the file has its name. */
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
	ck_assert_int_eq(recorder_open("/no/such/directory/r.cresset", &rec, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/no/such/directory/r.cresset"));
	profile_free(p);
}
END_TEST

START_TEST(invalid_files_are_refused)
{
	struct recorder *rec;
	struct err err = { 0 };
	ck_assert_int_eq(recorder_open("/dev/null", &rec, &err), -ESPIPE);
	ck_assert_ptr_nonnull(strstr(err.text, "/dev/null"));
}
END_TEST

/* --- samples that leave memory ---------------------------------------------------------------- */

/* The same with samples dropped after each commit: the file is the same, and they all come back in order. */
START_TEST(dropped_samples_are_in_the_file_and_come_back)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		char dir[32], path[64];
		struct recorder *rec;
		struct err err = { 0 };
		make_path(dir, path);
		struct random_profile r = random_profile(seed, (struct random_shape){ 0 });
		struct random_profile all = random_profile(seed, (struct random_shape){ 0 });
		bool named = seed % 2;
		r.links = all.links = seed > 3;
		ck_assert_int_eq(recorder_open(named ? path : NULL, &rec, &err), 0);
		for (int round = 0; round < 8; round++) {
			random_stack(&r, r.p->stacks.stacks.n);
			random_stack(&all, all.p->stacks.stacks.n);
			for (int i = 0; i < 40 * round; i++) {
				random_sample(&r, true);
				random_sample(&all, true);
			}
			if (round == 7)
				break; /* the last ones are not committed */
			ck_assert_int_eq(recorder_commit(rec, r.p, &err), 0);
			recorder_drop_samples(rec, r.p);
			ck_assert_uint_eq(r.p->samples.n, 0);
			if (round == 3)
				ck_assert_int_eq(recorder_restore_samples(rec, r.p, &err), 0);
		}
		if (seed != 3) /* the file is the same without it */
			ck_assert_int_eq(recorder_restore_samples(rec, r.p, &err), 0);
		if (named) {
			ck_assert_int_eq(recorder_finish(rec, r.p, &err), 0);
			struct profile *again = read_path(path);
			assert_same_profile(all.p, again, SPELL_TIMES | SPELL_MAPPINGS);
			profile_free(again);
		} else {
			recorder_abort(rec);
		}
		if (seed != 3) {
			assert_same_profile(all.p, r.p, SPELL_TIMES | SPELL_MAPPINGS);
			for (size_t i = 0; i < all.p->samples.n; i++)
				ck_assert_int_eq(r.p->samples.time_ns[i],
						 all.p->samples.time_ns[i]);
		}
		profile_free(all.p);
		profile_free(r.p);
		shell_do("rm -r %s", dir);
	}
}
END_TEST

/* More than SQLite keeps in memory. */
START_TEST(a_recording_without_a_name_leaves_no_file)
{
	enum { ROUNDS = 10, SAMPLES = 50000 };
	char dir[32];
	struct recorder *rec;
	struct err err = { 0 };
	temp_dir(dir);
	setenv("TMPDIR", dir, 1);
	setenv("SQLITE_TMPDIR", dir, 1);
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 100 });
	ck_assert_int_eq(recorder_open(NULL, &rec, &err), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SAMPLES; i++)
			random_sample(&r, true);
		ck_assert_msg(recorder_commit(rec, r.p, &err) == 0, "%s", err.text);
		recorder_drop_samples(rec, r.p);
		char *files = shell("ls -A %s", dir);
		ck_assert_str_eq(files, "");
		free(files);
	}
	ck_assert_int_eq(recorder_restore_samples(rec, r.p, &err), 0);
	ck_assert_uint_eq(r.p->samples.n, ROUNDS * SAMPLES);
	recorder_abort(rec);
	profile_free(r.p);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

START_TEST(sqlite_finds_no_fault)
{
	char dir[32], path[64];
	make_path(dir, path);
	struct random_profile r =
		random_profile(9, (struct random_shape){ 500, 20000, true, true, true });
	struct recorder *rec;
	ck_assert_int_eq(recorder_open(path, &rec, NULL), 0);
	ck_assert_int_eq(recorder_commit(rec, r.p, NULL), 0);
	for (int i = 0; i < 1000; i++)
		random_sample(&r, true);
	ck_assert_int_eq(recorder_finish(rec, r.p, NULL), 0);
	char *files = shell("ls -A %s", dir);
	ck_assert_str_eq(files, "r.cresset\n");
	free(files);
	if (system("command -v sqlite3 >/dev/null") == 0) {
		char *said =
			shell("sqlite3 %s 'PRAGMA integrity_check; PRAGMA journal_mode'", path);
		ck_assert_str_eq(said, "ok\ndelete\n");
		free(said);
	}
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* By its name, through a pipe, and compressed. */
START_TEST(it_opens_however_it_comes)
{
	static const char *const ways[] = { "cat", "gzip -c", "zstd -qc", "xz -c" };
	char dir[32], path[64], fifo[64];
	make_path(dir, path);
	snprintf(fifo, sizeof fifo, "%s/fifo", dir);
	struct random_profile r =
		random_profile(9, (struct random_shape){ 50, 2000, true, true, true });
	write_path(r.p, path);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		shell_do("%s %s >%s.packed", ways[i], path, path);
		shell_do("(cat %s.packed >%s) >/dev/null & true", path, fifo);
		struct profile *p = read_path(fifo);
		assert_same_profile(r.p, p, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(p);
	}
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Nothing is written to it or beside it. */
START_TEST(it_opens_in_a_directory_that_is_read_only)
{
	char dir[32], path[64], directory[64], inside[80];
	make_path(dir, path);
	snprintf(directory, sizeof directory, "%s/%s", dir, "50% #?&");
	struct random_profile r =
		random_profile(9, (struct random_shape){ 50, 2000, true, true, true });
	write_path(r.p, path);
	shell_do("chmod 755 %s; mkdir '%s'; mv %s '%s'; chmod 444 '%s'/*; chmod 555 '%s'", dir,
		 directory, path, directory, directory, directory);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	snprintf(inside, sizeof inside, "%s/r.cresset", directory);
	struct profile *p = read_path(inside);
	assert_same_profile(r.p, p, SPELL_TIMES | SPELL_MAPPINGS);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	profile_free(p);
	profile_free(r.p);
	shell_do("chmod -R u+w %s; rm -r %s", dir, dir);
}
END_TEST

/* Opens it when told to, and holds it until told again. It starts before the recorder: SQLite's locks do not survive a fork. */
static _Noreturn void hold_open(const char *path, int in, int out)
{
	const struct db_opts opts = { .schema = &recording_schema, .access = DB_READ };
	struct db *db;
	char c;
	if (read(in, &c, 1) == 1 && db_open(path, &opts, &db, NULL) == 0 &&
	    write(out, &c, 1) == 1 && read(in, &c, 1) == 1)
		_exit(0);
	_exit(1);
}

/* Another process that does not let go of the file costs the name, not the recording. */
START_TEST(a_reader_in_the_way_loses_nothing)
{
	char dir[32], path[64], tmp[80], c = 0;
	struct recorder *rec;
	struct err err = { 0 };
	int to[2], from[2];
	make_path(dir, path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	pid_t pid = fork();
	if (pid == 0)
		hold_open(tmp, to[0], from[1]);
	struct random_profile r =
		random_profile(4, (struct random_shape){ 50, 2000, true, true, true });
	ck_assert_int_eq(recorder_open(path, &rec, &err), 0);
	ck_assert_int_eq(write(to[1], &c, 1), 1);
	ck_assert_int_eq(read(from[0], &c, 1), 1);
	ck_assert_int_eq(recorder_finish(rec, r.p, &err), -EBUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "another process"));
	ck_assert_int_eq(write(to[1], &c, 1), 1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	struct profile *p = read_path(tmp);
	assert_same_profile(r.p, p, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(p);
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* The example of recording.h: one sample of the stack "main", pid 7, cpu 0. */
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

/* The lines of recording.h that look like rows equal those of that file. */
START_TEST(the_documented_rows_are_the_written_ones)
{
	char dir[32], path[64];
	make_path(dir, path);
	if (system("command -v sqlite3 >/dev/null") != 0)
		T_SKIP("no sqlite3");
	struct profile *p = example_profile();
	write_path(p, path);
	char *got = shell(
		"sqlite3 %s 'SELECT id, type, flags, printf(\"%%016x\", sum), lower(hex(data)) "
		"FROM chunk'",
		path);
	char *want = shell("sed -nE 's/^ [*] +([0-9]+([|][0-9]+){2}[|][0-9a-f]{16}[|][0-9a-f]+)$/"
			   "\\1/p' src/store/recording/recording.h");
	ck_assert_str_eq(got, want);
	free(got);
	free(want);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- readings --- */

enum { READ_SERIES = 3, READ_POINTS = 150000 };

static double read_value(int series, int i)
{
	return series == 0 ? 0.25 : series == 1 ? i * 0.1 : i % 7 == 0 ? NAN : -1e300 / (i + 1);
}

/* From point number `first` on, in any order of times, with one point twice. */
static void put_readings(struct profile *p, int first, int end)
{
	struct sink *s = profile_sink(p);
	for (int k = 0; k < READ_SERIES; k++) {
		struct label l = { .key = sink_string(s, "gpu"),
				   .str = sink_string(s, k ? "1" : "0") };
		struct reading_key key = { sink_string(s, k ? "hw_gpu_power" : "hw_gpu_fan"),
					   sink_string(s, k ? "W" : "1"),
					   k < 2 ? s->ops->labels(s, &l, 1) : 0, k == 2 };
		for (int i = first; i < end; i++) {
			struct reading_point point = { i % 100 == 3 ? INT64_MIN + i : i * 1000ll,
						       read_value(k, i) };
			s->ops->readings(s, &key, &point, 1);
		}
	}
}

static void same_readings(const struct profile *a, const struct profile *b)
{
	ck_assert_uint_eq(a->readings.all.n, b->readings.all.n);
	ck_assert_uint_eq(a->readings.n_points, b->readings.n_points);
	for (size_t i = 0; i < a->readings.all.n; i++) {
		const struct reading_series *x = &a->readings.all.v[i], *y = &b->readings.all.v[i];
		ck_assert_str_eq(profile_str(a, x->key.name), profile_str(b, y->key.name));
		ck_assert_str_eq(profile_str(a, x->key.unit), profile_str(b, y->key.unit));
		ck_assert_uint_eq(x->key.labels != 0, y->key.labels != 0);
		ck_assert_uint_eq(x->key.is_counter, y->key.is_counter);
		ck_assert_uint_eq(x->points.n, y->points.n);
		ck_assert_mem_eq(x->points.v, y->points.v, x->points.n * sizeof *x->points.v);
	}
}

/* All at once, and in steps while samples leave the memory: the same points, bit for bit. */
START_TEST(readings_come_back)
{
	char dir[32], path[64];
	struct profile *p = profile_new(), *q;
	struct recorder *r;
	struct err err = { 0 };
	make_path(dir, path);
	ck_assert_int_eq(recorder_open(path, &r, &err), 0);
	for (int i = 0; i < READ_POINTS; i += READ_POINTS / 3) {
		put_readings(p, i, i + READ_POINTS / 3);
		ck_assert_int_eq(recorder_commit(r, p, &err), 0);
		recorder_drop_samples(r, p);
	}
	ck_assert_int_eq(recorder_finish(r, p, &err), 0);
	q = read_path(path);
	same_readings(p, q);
	write_path(q, path);
	profile_free(q);
	q = read_path(path);
	same_readings(p, q);
	ck_assert_uint_eq(q->meta.loss[LOSS_READINGS_FULL], 0);
	profile_free(q);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Readings that do not fit are counted. */
START_TEST(readings_have_an_end)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct reading_key key = { sink_string(s, "hw_gpu_power"), sink_string(s, "W"), 0, false };
	struct reading_point *points = calloc(READINGS_MAX_POINTS, sizeof *points);
	s->ops->readings(s, &key, points, READINGS_MAX_POINTS - 1);
	s->ops->readings(s, &key, points, 3);
	ck_assert_uint_eq(p->readings.n_points, READINGS_MAX_POINTS);
	ck_assert_uint_eq(p->meta.loss[LOSS_READINGS_FULL], 2);
	free(points);
	profile_free(p);
}
END_TEST

UNIT_MAIN("recording", readings_come_back, readings_have_an_end, everything_comes_back,
	  extreme_samples_come_back, large_tables_come_back, an_empty_profile_comes_back,
	  the_same_profile_is_the_same_file, every_commit_can_be_read,
	  an_aborted_recording_leaves_nothing, invalid_files_are_refused,
	  dropped_samples_are_in_the_file_and_come_back, a_recording_without_a_name_leaves_no_file,
	  sqlite_finds_no_fault, it_opens_however_it_comes,
	  it_opens_in_a_directory_that_is_read_only, a_reader_in_the_way_loses_nothing,
	  the_documented_rows_are_the_written_ones)
