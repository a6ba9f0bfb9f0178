// tier: test
/* Recordings that are damaged, truncated, abandoned in a crash, or malicious. */
#include "random_profile.h"
#include "shell.h"
#include "spelled_profile.h"

#include "base/err.h"
#include "base/fs.h"
#include "format/formats.h"
#include "profile/chunk.h"
#include "store/recording/recording.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct buf bytes_of(const char *path)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	ck_assert_msg(fs_read_at(AT_FDCWD, path, 1 << 30, &b, &err) == 0, "%s", err.text);
	return b;
}

static void put_bytes(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ck_assert_int_eq(write(fd, data, len), len);
	close(fd);
}

static void make_path(char dir[32], char path[64])
{
	temp_dir(dir);
	snprintf(path, 64, "%s/r.cresset", dir);
}

/* Samples whose times count from 0, so that each can be identified. */
static void add_samples(struct random_profile *r, uint64_t *count, int n)
{
	for (int i = 0; i < n; i++) {
		random_sample(r, true);
		r->p->samples.time_ns[r->p->samples.n - 1] = (*count)++;
	}
}

/* A sample except for the names of its frames, which may be lost. */
static char *spell_without_names(const struct profile *p, size_t row)
{
	char *text = spell_sample(p, row, SPELL_TIMES | SPELL_MAPPINGS), *to = text;
	int depth = 0;
	for (const char *from = text; *from; from++) {
		depth += *from == '{';
		if (!depth)
			*to++ = *from;
		depth -= *from == '}';
	}
	*to = '\0';
	return text;
}

/* A recording of many commits and pages. */
struct good {
	struct random_profile r;
	struct buf bytes;
	char **spelled; /* by time */
	char *all;
};

static void make_good(struct good *g, const char *path)
{
	enum { COMMITS = 200 };
	struct recorder *rec;
	uint64_t count = 0;
	*g = (struct good){ .r = random_profile(8, (struct random_shape){ 0 }) };
	ck_assert_int_eq(recorder_open(path, &rec, NULL), 0);
	for (int i = 0; i < COMMITS; i++) {
		for (int k = 0; k < 4; k++)
			random_stack(&g->r, g->r.p->stacks.stacks.n);
		add_samples(&g->r, &count, 1);
		ck_assert_int_eq(recorder_commit(rec, g->r.p, NULL), 0);
	}
	ck_assert_int_eq(recorder_finish(rec, g->r.p, NULL), 0);
	g->bytes = bytes_of(path);
	g->spelled = calloc(count, sizeof *g->spelled);
	for (uint64_t i = 0; i < count; i++)
		g->spelled[i] = spell_without_names(g->r.p, i);
	g->all = spelled_profile(g->r.p, SPELL_TIMES | SPELL_MAPPINGS);
}

static void good_done(struct good *g)
{
	for (size_t i = 0; i < g->r.p->samples.n; i++)
		free(g->spelled[i]);
	free(g->spelled);
	free(g->all);
	buf_done(&g->bytes);
	profile_free(g->r.p);
}

/* Either it is refused with a message; or nothing of it is wrong, and missing parts are counted. Returns how many samples there were. */
static size_t check_part(const struct good *g, const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	size_t n = p->samples.n;
	if (rc) {
		ck_assert_int_eq(rc, -EBADMSG);
		ck_assert(err.text[0]);
		profile_free(p);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_lt(p->samples.time_ns[i], g->r.p->samples.n);
		ck_assert(i == 0 || p->samples.time_ns[i - 1] < p->samples.time_ns[i]);
		uint64_t at = p->samples.time_ns[i];
		char *text = spell_without_names(p, i);
		ck_assert_msg(strcmp(text, g->spelled[at]) == 0, "sample %zu", i);
		ck_assert_int_eq(p->samples.value[i], g->r.p->samples.value[at]);
		free(text);
	}
	if (p->meta.loss[LOSS_INPUT_SKIPPED] == 0) {
		char *text = spelled_profile(p, SPELL_TIMES | SPELL_MAPPINGS);
		ck_assert_msg(strcmp(text, g->all) == 0, "it differs, and nothing is counted");
		free(text);
	}
	profile_free(p);
	return n;
}

/* --- damage ----------------------------------------------------------------------------------- */

START_TEST(a_file_cut_at_any_page_opens_up_to_there)
{
	enum { PAGE = 4096 };
	char dir[32], path[64];
	struct good g;
	size_t before = 0, most = 0;
	make_path(dir, path);
	make_good(&g, path);
	ck_assert_uint_gt(g.bytes.len, 7 * PAGE);
	for (size_t len = 0; len <= g.bytes.len; len += PAGE / 2) {
		put_bytes(path, g.bytes.data, len);
		before = check_part(&g, path);
		most = len < g.bytes.len && before > most ? before : most;
	}
	ck_assert_uint_eq(before, g.r.p->samples.n);
	ck_assert_uint_gt(most, g.r.p->samples.n / 2);
	good_done(&g);
	shell_do("rm -r %s", dir);
}
END_TEST

/* In all of the first page, and at some other places. */
START_TEST(flipped_bits_are_found)
{
	enum { FIRST = 100, STEP = 61 };
	char dir[32], path[64];
	struct good g;
	uint64_t some = 0, files = 0;
	make_path(dir, path);
	make_good(&g, path);
	for (size_t i = 0; i < g.bytes.len; i += i < FIRST ? 1 : STEP) {
		g.bytes.data[i] ^= 1 << i % 8;
		put_bytes(path, g.bytes.data, g.bytes.len);
		some += check_part(&g, path);
		files++;
		g.bytes.data[i] ^= 1 << i % 8;
	}
	/* One bit seldom costs much. */
	ck_assert_uint_gt(some, files * g.r.p->samples.n / 2);
	good_done(&g);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Several at the same time, whole pages among them. */
START_TEST(random_damage_is_found)
{
	char dir[32], path[64];
	struct good g;
	struct rng rng = { 77 };
	make_path(dir, path);
	make_good(&g, path);
	for (int round = 0; round < 300; round++) {
		char *copy = malloc(g.bytes.len);
		memcpy(copy, g.bytes.data, g.bytes.len);
		for (uint64_t n = 1 + rng_below(&rng, 20); n; n--)
			copy[100 + rng_below(&rng, g.bytes.len - 100)] = (char)rng_next(&rng);
		uint64_t page = 1 + rng_below(&rng, g.bytes.len / 4096 - 1);
		if (round % 3 == 0)
			memset(copy + page * 4096, round, 4096);
		if (round % 3 == 1) /* one replaced by another */
			memcpy(copy + page * 4096,
			       copy + 4096 * (1 + rng_below(&rng, g.bytes.len / 4096 - 1)), 4096);
		put_bytes(path, copy, g.bytes.len);
		check_part(&g, path);
		free(copy);
	}
	good_done(&g);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- crashes ---------------------------------------------------------------------------------- */

enum { PER_COMMIT = 20 };

/* Commits for ever, and reports each commit. */
static _Noreturn void write_for_ever(const char *path, uint64_t seed, int told)
{
	struct random_profile r = random_profile(seed, (struct random_shape){ 0 });
	struct recorder *rec;
	uint64_t count = 0;
	if (recorder_open(path, &rec, NULL) < 0)
		_exit(1);
	for (;;) {
		random_stack(&r, r.p->stacks.stacks.n);
		add_samples(&r, &count, PER_COMMIT);
		if (recorder_commit(rec, r.p, NULL) < 0 ||
		    write(told, &count, sizeof count) != sizeof count)
			_exit(1);
		if (seed % 2)
			recorder_drop_samples(rec, r.p);
	}
}

static void check_crash(const char *tmp, uint64_t seed, uint64_t told)
{
	struct random_profile r = random_profile(seed, (struct random_shape){ 0 });
	struct profile *p = profile_new();
	struct err err = { 0 };
	uint64_t count = 0;
	ck_assert_msg(format_read_file(tmp, NULL, profile_sink(p), &err) == 0, "%s", err.text);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	ck_assert_uint_ge(p->samples.n, told);
	ck_assert_uint_eq(p->samples.n % PER_COMMIT, 0);
	while (count < p->samples.n) {
		random_stack(&r, r.p->stacks.stacks.n);
		add_samples(&r, &count, PER_COMMIT);
	}
	assert_same_profile(r.p, p, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(p);
	profile_free(r.p);
}

/* Killed at any moment: what was committed is there. Without its log, the file has less, but nothing wrong. */
START_TEST(a_killed_writer_leaves_all_it_had_committed)
{
	char dir[32], path[64], tmp[80];
	struct rng rng = { 5 };
	make_path(dir, path);
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	for (uint64_t seed = 0; seed < 20; seed++) {
		uint64_t told = 0, until = PER_COMMIT * (1 + rng_below(&rng, seed % 4 ? 50 : 250));
		int fds[2];
		ck_assert_int_eq(pipe(fds), 0);
		pid_t pid = fork();
		if (pid == 0)
			write_for_ever(path, seed, fds[1]);
		close(fds[1]);
		while (told < until)
			ck_assert_int_eq(read(fds[0], &told, sizeof told), sizeof told);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		while (read(fds[0], &told, sizeof told) == sizeof told)
			;
		close(fds[0]);
		check_crash(tmp, seed, told);
		shell_do("rm %s-wal", tmp);
		struct profile *p = profile_new();
		int rc = format_read_file(tmp, NULL, profile_sink(p), NULL);
		ck_assert(rc == -EBADMSG || (rc == 0 && p->samples.n <= told + PER_COMMIT));
		profile_free(p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

/* Leftovers of a crash do not get in the way of the next recording of that name. */
START_TEST(old_logs_are_not_taken_for_ours)
{
	char dir[32], path[64];
	struct recorder *rec;
	make_path(dir, path);
	shell_do("echo garbage >%s.tmp; echo garbage >%s.tmp-wal; ln -s /etc/passwd %s.tmp-shm",
		 path, path, path);
	struct random_profile r =
		random_profile(4, (struct random_shape){ 5, 20, true, true, false });
	ck_assert_int_eq(recorder_open(path, &rec, NULL), 0);
	ck_assert_int_eq(recorder_finish(rec, r.p, NULL), 0);
	char *files = shell("ls -A %s", dir);
	ck_assert_str_eq(files, "r.cresset\n");
	free(files);
	profile_free(r.p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- files made to harm ----------------------------------------------------------------------- */

static void change(const char *path, const char *sql)
{
	sqlite3 *db;
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
		      sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int read_changed(const char *path, const char *sql, struct profile *p, struct err *err)
{
	struct random_profile r =
		random_profile(4, (struct random_shape){ 5, 20, true, true, false });
	struct recorder *rec;
	ck_assert_int_eq(recorder_open(path, &rec, NULL), 0);
	ck_assert_int_eq(recorder_finish(rec, r.p, NULL), 0);
	profile_free(r.p);
	change(path, sql);
	return format_read_file(path, NULL, profile_sink(p), err);
}

START_TEST(another_schema_is_refused)
{
	static const char *const cases[] = {
		"CREATE TABLE other(a)",
		"CREATE VIEW v AS SELECT * FROM chunk",
		"CREATE TRIGGER t AFTER INSERT ON chunk BEGIN DELETE FROM chunk; END",
		"CREATE INDEX i ON chunk(type)",
		"ALTER TABLE chunk ADD COLUMN more",
		"DROP TABLE chunk",
		"ALTER TABLE chunk RENAME TO c; CREATE VIEW chunk AS SELECT * FROM c",
		"DROP TABLE chunk; CREATE TABLE chunk(id INTEGER PRIMARY KEY, type, flags, sum, "
		"data)",
		"PRAGMA application_id=1",
	};
	char dir[32], path[64];
	make_path(dir, path);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		ck_assert_msg(read_changed(path, cases[i], p, &err) == -EBADMSG, "%s", cases[i]);
		ck_assert(err.text[0]);
		ck_assert_uint_eq(p->samples.n, 0);
		profile_free(p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(a_newer_version_is_refused)
{
	static const char *const cases[] = {
		"PRAGMA user_version=2",
		/* of a type that must be known; the sum is that of type 99 without flags and bytes */
		"INSERT INTO chunk SELECT max(id) + 1, 99, 0, %lld, x'' FROM chunk",
	};
	char dir[32], path[64], sql[200];
	make_path(dir, path);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		snprintf(sql, sizeof sql, cases[i], (long long)chunk_checksum(99, 0, "", 0));
		ck_assert_int_eq(read_changed(path, sql, p, &err), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(err.text, "newer"));
		profile_free(p);
	}
	snprintf(sql, sizeof sql,
		 "UPDATE chunk SET id = id + 1 WHERE type = 12;"
		 "INSERT INTO chunk SELECT max(id) - 1, 99, 2, %lld, x'' FROM chunk",
		 (long long)chunk_checksum(99, CHUNK_OPTIONAL, "", 0));
	struct profile *p = profile_new();
	ck_assert_int_eq(read_changed(path, sql, p, NULL), 0);
	ck_assert_uint_eq(p->samples.n, 20);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Rows of any types and sizes. */
START_TEST(odd_rows_are_left_out)
{
	static const struct {
		const char *sql;
		uint64_t left_out;
	} cases[] = {
		{ "INSERT INTO chunk SELECT max(id) + 1, NULL, NULL, NULL, NULL FROM chunk", 1 },
		{ "INSERT INTO chunk SELECT max(id) + 1, 'x', 'y', 1.5, 7 FROM chunk", 1 },
		{ "INSERT INTO chunk SELECT max(id) + 1, 1 << 40, 0, 0, x'' FROM chunk", 1 },
		{ "INSERT INTO chunk SELECT max(id) + 1, 1, 0, 0, zeroblob(17000000) FROM chunk",
		  1 },
		{ "INSERT INTO chunk VALUES(-5, 1, 0, 0, x'')", 0 },
		{ "DELETE FROM chunk WHERE type=12", 1 },
		{ "INSERT INTO chunk SELECT max(id) + 5, 1, 0, 0, x'' FROM chunk", 5 },
		{ "INSERT INTO chunk VALUES(9223372036854775807, 1, 0, 0, x'')", 1 },
	};
	char dir[32], path[64];
	make_path(dir, path);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		ck_assert_msg(read_changed(path, cases[i].sql, p, &err) == 0, "%s", err.text);
		ck_assert_uint_eq(p->samples.n, 20);
		ck_assert_msg(p->meta.loss[LOSS_INPUT_SKIPPED] >= cases[i].left_out, "%s: %llu",
			      cases[i].sql, (unsigned long long)p->meta.loss[LOSS_INPUT_SKIPPED]);
		profile_free(p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

/* Of the same file: without a table's chunk, and without one of samples. */
START_TEST(dependents_of_a_missing_chunk_are_dropped)
{
	char dir[32], path[64], sql[100];
	struct good g;
	make_path(dir, path);
	make_good(&g, path);
	for (int id = 1; id < 80; id++) {
		put_bytes(path, g.bytes.data, g.bytes.len);
		snprintf(sql, sizeof sql,
			 id % 2 ? "DELETE FROM chunk WHERE id=%d"
				: "UPDATE chunk SET data=x'00' WHERE id=%d",
			 id);
		change(path, sql);
		struct profile *p = profile_new();
		ck_assert_int_eq(format_read_file(path, NULL, profile_sink(p), NULL), 0);
		ck_assert_uint_gt(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		profile_free(p);
		check_part(&g, path);
	}
	good_done(&g);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("recording_damage", a_file_cut_at_any_page_opens_up_to_there, flipped_bits_are_found,
	  random_damage_is_found, a_killed_writer_leaves_all_it_had_committed,
	  old_logs_are_not_taken_for_ours, another_schema_is_refused, a_newer_version_is_refused,
	  odd_rows_are_left_out, dependents_of_a_missing_chunk_are_dropped)
