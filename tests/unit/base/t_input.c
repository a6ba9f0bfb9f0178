// tier: test
#include "shell.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"

#include <errno.h>
#include <sys/resource.h>

static struct input *open_text(const char *text)
{
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, NULL), 0);
	return in;
}

/* All lines, each followed by '|'. */
static char *lines_of(struct input *in)
{
	struct buf b = { 0 };
	const char *line;
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, NULL)) > 0) {
		buf_add(&b, line, len);
		buf_adds(&b, cut ? "…|" : "|");
	}
	ck_assert_int_eq(rc, 0);
	return buf_steal(&b);
}

START_TEST(lines_end_in_lf_or_crlf)
{
	static const struct {
		const char *text, *lines;
	} cases[] = {
		{ "", "" },
		{ "\n", "|" },
		{ "a", "a|" },
		{ "a\n", "a|" },
		{ "a\r\nb\r\n", "a|b|" },
		{ "a\n\nb", "a||b|" },
		{ "a\rb\r\r\n", "a\rb\r|" },
		{ "\r", "|" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct input *in = open_text(cases[i].text);
		char *lines = lines_of(in);
		ck_assert_str_eq(lines, cases[i].lines);
		free(lines);
		input_close(in);
	}
}
END_TEST

/* A file of numbered lines, longer than the window and the peek. */
enum { NUMBERED_LINES = 100000 };

static void write_numbered(const char *dir)
{
	shell_do("seq 1 %d >%s/plain && cd %s && gzip -k plain && zstd -q plain && xz -k plain && "
		 "(head -n 50000 plain | gzip; tail -n +50001 plain | gzip) >members.gz",
		 NUMBERED_LINES, dir, dir);
}

static void check_numbered(struct input *in)
{
	char want[16];
	const char *line;
	size_t len;
	bool cut;
	for (int i = 1; i <= NUMBERED_LINES; i++) {
		snprintf(want, sizeof want, "%d", i);
		ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 1);
		ck_assert(len == strlen(want) && memcmp(line, want, len) == 0 && !cut);
	}
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 0);
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 0);
}

START_TEST(compressed_files_read_like_plain_ones)
{
	static const char *const names[] = { "plain", "plain.gz", "plain.zst", "plain.xz",
					     "members.gz" };
	char dir[32], path[64];
	temp_dir(dir);
	write_numbered(dir);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct input *in;
		struct err err = { 0 };
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		ck_assert_msg(input_open(path, &in, &err) == 0, "%s", err.text);
		ck_assert_str_eq(input_name(in), path);
		check_numbered(in);
		input_close(in);
	}
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(compressed_memory_reads_like_plain)
{
	char dir[32], path[64];
	struct buf b = { 0 };
	temp_dir(dir);
	write_numbered(dir);
	snprintf(path, sizeof path, "%s/plain.gz", dir);
	int fd = file_open(path);
	struct input *in;
	char chunk[4096];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof chunk)) > 0)
		buf_add(&b, chunk, n);
	close(fd);
	ck_assert_int_eq(input_open_memory(b.data, b.len, &in, NULL), 0);
	check_numbered(in);
	input_close(in);
	buf_done(&b);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* A pipe delivers its first bytes one by one: its format is still detected. */
START_TEST(a_pipe_that_drips_is_recognized)
{
	int fds[2];
	char dir[32], path[64];
	temp_dir(dir);
	write_numbered(dir);
	snprintf(path, sizeof path, "%s/plain.gz", dir);
	int file = file_open(path);
	ck_assert_int_eq(pipe(fds), 0);
	pid_t child = fork();
	if (child == 0) {
		char byte;
		while (read(file, &byte, 1) == 1)
			if (write(fds[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(fds[1]);
	ck_assert_int_eq(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	struct input *in;
	ck_assert_int_eq(input_open("-", &in, NULL), 0);
	ck_assert_str_eq(input_name(in), "standard input");
	check_numbered(in);
	input_close(in);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(a_peek_consumes_nothing)
{
	char dir[32], path[64];
	const char *head;
	size_t len;
	struct input *in = open_text("short");
	ck_assert_int_eq(input_peek(in, &head, &len, NULL), 0);
	ck_assert(len == 5 && memcmp(head, "short", 5) == 0);
	char *lines = lines_of(in);
	ck_assert_str_eq(lines, "short|");
	free(lines);
	input_close(in);

	temp_dir(dir);
	write_numbered(dir);
	snprintf(path, sizeof path, "%s/plain.xz", dir);
	ck_assert_int_eq(input_open(path, &in, NULL), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(input_peek(in, &head, &len, NULL), 0);
		ck_assert_uint_eq(len, INPUT_PEEK);
		ck_assert_int_eq(memcmp(head, "1\n2\n3\n", 6), 0);
	}
	check_numbered(in);
	ck_assert_int_eq(input_peek(in, &head, &len, NULL), 0);
	ck_assert_uint_eq(len, 0);
	input_close(in);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut)
{
	enum { LONG = INPUT_MAX_LINE + 12345 };
	char *text = malloc(2 * (size_t)LONG + 64);
	memset(text, 'x', LONG);
	memcpy(text + LONG, "\nnext\n", 6);
	memset(text + LONG + 6, 'y', INPUT_MAX_LINE);
	memcpy(text + LONG + 6 + INPUT_MAX_LINE, "\nlast", 6);
	int fd = file_of(text, strlen(text));
	char path[32];
	const char *line;
	size_t len;
	bool cut;
	struct input *in;
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	ck_assert_int_eq(input_open(path, &in, NULL), 0);
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 1);
	ck_assert(cut && len == INPUT_MAX_LINE && line[0] == 'x' && line[len - 1] == 'x');
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 1);
	ck_assert(!cut && len == 4 && memcmp(line, "next", 4) == 0);
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 1);
	ck_assert(!cut && len == INPUT_MAX_LINE && line[0] == 'y');
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 1);
	ck_assert(!cut && len == 4 && memcmp(line, "last", 4) == 0);
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 0);
	input_close(in);
	free(text);
}
END_TEST

START_TEST(all_of_it_up_to_a_limit)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	struct input *in = open_text("0123456789");
	buf_adds(&b, ">");
	ck_assert_int_eq(input_all(in, 10, &b, &err), 0);
	ck_assert_str_eq(buf_cstr(&b), ">0123456789");
	input_close(in);
	in = open_text("0123456789");
	b.len = 1;
	ck_assert_int_eq(input_all(in, 9, &b, &err), -EFBIG);
	ck_assert_uint_eq(b.len, 1);
	input_close(in);
	buf_done(&b);
}
END_TEST

START_TEST(reads_have_any_size)
{
	char byte;
	struct input *in = open_text("abc");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(input_read(in, &byte, 1, NULL), 1);
		ck_assert_int_eq(byte, 'a' + i);
	}
	ck_assert_int_eq(input_read(in, &byte, 1, NULL), 0);
	input_close(in);
}
END_TEST

START_TEST(unreadable_input_gives_a_reason)
{
	char dir[32], path[64], text[64];
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open("/no/such/file", &in, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/no/such/file"));
	ck_assert_int_eq(input_open("/tmp", &in, &err), -EISDIR);
	temp_dir(dir);
	write_numbered(dir);
	shell_do("head -c 10000 %s/plain.gz >%s/cut.gz", dir, dir);
	snprintf(path, sizeof path, "%s/cut.gz", dir);
	ck_assert_int_eq(input_open(path, &in, &err), 0);
	long n;
	while ((n = input_read(in, text, sizeof text, &err)) > 0)
		;
	ck_assert_int_eq(n, -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_ptr_nonnull(strstr(err.text, "gzip"));
	err = (struct err){ 0 };
	ck_assert_int_eq(input_read(in, text, 1, &err), -EBADMSG); /* for ever */
	ck_assert_ptr_nonnull(strstr(err.text, "gzip"));
	input_close(in);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* 1 GiB from a file of 1 MB: memory does not grow with it. */
START_TEST(memory_is_one_window)
{
	char dir[32], path[64], text[65536];
	struct rusage before, after;
	struct input *in;
	temp_dir(dir);
	/* 1 GiB: to pack all of it takes longer than to read it */
	shell_do("cd %s && head -c 64M /dev/zero | gzip -1 >part && for _ in $(seq 16); do cat "
		 "part; done >zeros.gz",
		 dir);
	snprintf(path, sizeof path, "%s/zeros.gz", dir);
	memset(text, 1, sizeof text); /* faults in its pages first */
	getrusage(RUSAGE_SELF, &before);
	ck_assert_int_eq(input_open(path, &in, NULL), 0);
	uint64_t total = 0;
	long n;
	while ((n = input_read(in, text, sizeof text, NULL)) > 0)
		total += n;
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_eq(n, 0);
	ck_assert_uint_eq(total, 1ull << 30);
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 4096); /* KiB */
	input_close(in);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* Exact size, for the sanitizer: after a mark comes text, even if it looks like another mark. */
START_TEST(one_byte_order_mark_is_taken)
{
	static const struct {
		const char *text, *want;
		size_t len, want_len;
	} cases[] = {
		{ "\xef\xbb\xbf\xff\xfe;", "\xff\xfe;", 6, 3 },
		{ "\xff\xfe\xff\xfe", "\ufeff", 4, 3 },
		{ "\xef\xbb", "\xef\xbb", 2, 2 },
		{ "\xff\xfe", "", 2, 0 },
		{ "\xfe\xff\0", "\ufffd", 3, 3 },
		{ "\xff", "\xff", 1, 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *exact = malloc(cases[i].len);
		struct input *in;
		struct buf all = { 0 };
		memcpy(exact, cases[i].text, cases[i].len);
		ck_assert_int_eq(input_open_memory(exact, cases[i].len, &in, NULL), 0);
		ck_assert_int_eq(input_all(in, 100, &all, NULL), 0);
		ck_assert_uint_eq(all.len, cases[i].want_len);
		ck_assert(all.len == 0 || memcmp(all.data, cases[i].want, all.len) == 0);
		input_close(in);
		buf_done(&all);
		free(exact);
	}
}
END_TEST

/* --- watchers --- */

struct watch {
	uint32_t asked, most;
};

static int count_to(void *ctx, const char *name, struct err *err)
{
	struct watch *w = ctx;
	return ++w->asked > w->most ? err_set(err, ECANCELED, "%s is too much", name) : 0;
}

/* A watched reader gets memory in pieces: the same bytes, also in lines across two pieces, or an end in the middle. */
START_TEST(memory_is_requested_piece_by_piece)
{
	enum { LINES = 100000 };
	struct buf text = { 0 };
	struct watch all = { 0, UINT32_MAX }, some = { 0, 2 };
	struct input *in;
	struct err err;
	const char *line;
	size_t len;
	bool cut;
	int rc;
	for (int i = 0; i < LINES; i++)
		buf_addf(&text, "line %06d\n", i);
	ck_assert_int_eq(input_open_memory(text.data, text.len, &in, NULL), 0);
	input_watch(in, count_to, &all);
	for (int i = 0; i < LINES; i++) {
		char want[16];
		snprintf(want, sizeof want, "line %06d", i);
		ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 1);
		ck_assert_uint_eq(len, strlen(want));
		ck_assert(memcmp(line, want, len) == 0);
	}
	ck_assert_int_eq(input_line(in, &line, &len, &cut, NULL), 0);
	ck_assert_uint_ge(all.asked, text.len >> 18);
	input_close(in);

	ck_assert_int_eq(input_open_memory(text.data, text.len, &in, NULL), 0);
	input_watch(in, count_to, &some);
	int n = 0;
	while ((rc = input_line(in, &line, &len, &cut, &err)) > 0)
		n++;
	ck_assert_int_eq(rc, -ECANCELED);
	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, LINES);
	input_close(in);
	buf_done(&text);
}
END_TEST

UNIT_MAIN("input", lines_end_in_lf_or_crlf, compressed_files_read_like_plain_ones,
	  compressed_memory_reads_like_plain, a_pipe_that_drips_is_recognized,
	  a_peek_consumes_nothing, a_line_that_is_too_long_is_cut, all_of_it_up_to_a_limit,
	  reads_have_any_size, unreadable_input_gives_a_reason, memory_is_one_window,
	  one_byte_order_mark_is_taken, memory_is_requested_piece_by_piece)
