// tier: test
#include "unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Redirects standard error to a file; said() returns what was written since, and starts again. */
struct ear {
	int fd, saved;
	struct buf text;
};

static struct ear listen_here(void)
{
	char path[] = "/tmp/cresset-log-XXXXXX";
	struct ear ear = { .fd = mkstemp(path), .saved = dup(STDERR_FILENO) };
	ck_assert_int_ge(ear.fd, 0);
	unlink(path);
	dup2(ear.fd, STDERR_FILENO);
	return ear;
}

static const char *said(struct ear *ear)
{
	buf_clear(&ear->text);
	lseek(ear->fd, 0, SEEK_SET);
	ck_assert_int_eq(fs_read_fd(ear->fd, 1 << 20, &ear->text, NULL), 0);
	ck_assert_int_eq(ftruncate(ear->fd, 0), 0);
	lseek(ear->fd, 0, SEEK_SET);
	return buf_cstr(&ear->text);
}

static void listen_done(struct ear *ear)
{
	dup2(ear->saved, STDERR_FILENO);
	close(ear->saved);
	close(ear->fd);
	buf_done(&ear->text);
}

START_TEST(words_of_an_error)
{
	struct err err = { 0 };
	ck_assert_int_eq(err_set(&err, EINVAL, "%s: bad byte %d", "x.pb", 7), -EINVAL);
	ck_assert_str_eq(err.text, "x.pb: bad byte 7");
	ck_assert_int_eq(err_hint(&err, "one\n%s", "two"), -EINVAL);
	ck_assert_int_eq(err_prefix(&err, "cannot read %s", "it"), -EINVAL);
	ck_assert_str_eq(err.text, "cannot read it: x.pb: bad byte 7");
	ck_assert_str_eq(err.hint, "one\ntwo");
	ck_assert_int_eq(err_set(&err, ENOENT, "again: %s", err.text), -ENOENT); /* itself */
	ck_assert_str_eq(err.text, "again: cannot read it: x.pb: bad byte 7");
	ck_assert_str_eq(err.hint, "");
	ck_assert_int_eq(err_set(NULL, EINVAL, "%d", 1), -EINVAL);
	ck_assert_int_eq(err_set(&err, 0, "forgotten errno"), -EIO);
}
END_TEST

START_TEST(long_errors_are_cut_at_a_character)
{
	for (size_t shift = 0; shift < 4; shift++) {
		struct err err = { 0 };
		char text[2000] = "aaaa";
		for (size_t i = shift; i + 3 < sizeof text; i += 3)
			memcpy(text + i, "\xe2\x82\xac", 4); /* € */
		err_set(&err, EINVAL, "%s", text);
		size_t len = strlen(err.text);
		ck_assert_uint_ge(len, sizeof err.text - 4);
		ck_assert_uint_lt(len, sizeof err.text);
		ck_assert_str_eq(err.text + len - 3, "\xe2\x80\xa6");
		for (size_t i = 0; i < len; i += utf8_len(err.text + i, len - i))
			ck_assert_uint_gt(utf8_len(err.text + i, len - i), 0);
	}
}
END_TEST

START_TEST(errors_and_hints)
{
	struct ear ear = listen_here();
	struct err err = { 0 };
	err_set(&err, ENOENT, "cannot open %s: %s", "a\x1b[31m\nb\xe2\x80\xae", "gone");
	err_hint(&err, "look there\nor %s", "th\x07re");
	log_set_level(LOG_QUIET);
	log_error(&err);
	ck_assert_str_eq(said(&ear),
			 "cresset: error: cannot open a\xef\xbf\xbd[31m b\xef\xbf\xbd: gone\n"
			 "  look there\n"
			 "  or th\xef\xbf\xbdre\n");
	log_error(&(struct err){ .code = ENOENT });
	ck_assert_str_eq(said(&ear), "cresset: error: No such file or directory\n");
	listen_done(&ear);
}
END_TEST

START_TEST(levels)
{
	static const char *const expected[] = {
		"",
		"cresset: warning: w1\ncresset: i2\n",
		"cresset: warning: w1\ncresset: i2\ncresset: v3\n",
		"cresset: warning: w1\ncresset: i2\ncresset: v3\ncresset: debug: d4\n",
	};
	struct ear ear = listen_here();
	ck_assert_int_eq(log_level(), LOG_NORMAL);
	for (int level = LOG_QUIET; level <= LOG_DEBUG; level++) {
		log_set_level(level);
		ck_assert_int_eq(log_level(), level);
		log_warn("w%d", 1);
		log_info("i%d", 2);
		log_verbose("v%d", 3);
		log_debug("d%d", 4);
		ck_assert_str_eq(said(&ear), expected[level]);
	}
	listen_done(&ear);
}
END_TEST

START_TEST(megabytes_are_cut)
{
	struct ear ear = listen_here();
	char *name = malloc((1 << 20) + 1);
	memset(name, 0x1b, 1 << 20);
	name[1 << 20] = '\0';
	log_warn("%s", name);
	ck_assert_uint_lt(strlen(said(&ear)), 4 * 4096);
	ck_assert_ptr_null(strchr(ear.text.data, 0x1b));
	free(name);
	listen_done(&ear);
}
END_TEST

START_TEST(clocks)
{
	uint64_t mono = clock_mono_ns(), wall = clock_wall_ns(), cpu = clock_cpu_ns();
	int64_t offset = clock_wall_offset_ns();
	ck_assert_int_lt(llabs((int64_t)(wall - mono) - offset), 1000000000);
	ck_assert_int_lt(llabs((int64_t)(wall / 1000000000) - time(NULL)), 2);
	for (volatile int i = 0; i < 20000000; i++)
		;
	uint64_t ran = clock_cpu_ns() - cpu, passed = clock_mono_ns() - mono;
	ck_assert_uint_gt(ran, 0);
	ck_assert_uint_le(ran, passed + 10000000); /* one thread; 10 ms for other clock sources */
}
END_TEST

static size_t fill(int fd)
{
	static const char block[4096];
	size_t n = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (ssize_t w; (w = write(fd, block, sizeof block)) > 0;)
		n += w;
	fcntl(fd, F_SETFL, 0);
	return n;
}

static void drain(int fd, size_t n)
{
	char block[4096];

	for (ssize_t r; n && (r = read(fd, block, n < sizeof block ? n : sizeof block)) > 0;)
		n -= r;
	ck_assert_uint_eq(n, 0);
}

/* Without the limit the second message would wait for ever. */
START_TEST(full_pipes_delay_no_process)
{
	int saved = dup(STDERR_FILENO), ends[2];
	char text[512] = "";

	ck_assert_int_eq(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	log_set_wait_ms(1);
	log_info("first");
	size_t n = fill(ends[1]);
	for (int i = 0; i < 100; i++)
		log_info("lost %d", i);
	drain(ends[0], strlen("cresset: first\n") + n);
	log_info("last");
	dup2(saved, STDERR_FILENO);
	log_set_wait_ms(-1);
	ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
	ck_assert_str_eq(text,
			 "cresset: warning: 100 messages were dropped: standard error was full\n"
			 "cresset: last\n");
	close(ends[0]);
	close(ends[1]);
	close(saved);
}
END_TEST

static void nothing(int signal)
{
	(void)signal;
}

/* A signal that ends the wait does not make space: without the limit this waits for ever. */
START_TEST(signals_do_not_empty_full_pipes)
{
	const struct itimerval soon = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	int saved = dup(STDERR_FILENO), ends[2];
	char text[512] = "";

	ck_assert_int_eq(pipe(ends), 0);
	size_t n = fill(ends[1]);
	dup2(ends[1], STDERR_FILENO);
	log_set_wait_ms(60000);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = nothing }, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	log_info("lost");
	setitimer(ITIMER_REAL, &never, NULL);
	drain(ends[0], n);
	log_info("last");
	dup2(saved, STDERR_FILENO);
	log_set_wait_ms(-1);
	ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
	ck_assert_ptr_nonnull(strstr(text, ": 1 messages were dropped: "));
	close(ends[0]);
	close(ends[1]);
	close(saved);
}
END_TEST

/* The text that is in the pipe. */
static const char *heard(int fd, char *text, size_t size)
{
	ssize_t n = read(fd, text, size - 1);

	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	return text;
}

static void end_well(pid_t pid)
{
	int status = -1;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(a_fork_does_not_report_earlier_drops)
{
	int saved = dup(STDERR_FILENO), ends[2];
	char text[512];

	ck_assert_int_eq(pipe(ends), 0);
	size_t n = fill(ends[1]);
	dup2(ends[1], STDERR_FILENO);
	log_set_wait_ms(1);
	for (int i = 0; i < 3; i++)
		log_info("lost");
	drain(ends[0], n);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		log_info("child");
		_exit(0);
	}
	end_well(pid);
	ck_assert_str_eq(heard(ends[0], text, sizeof text), "cresset: child\n");
	log_info("parent");
	dup2(saved, STDERR_FILENO);
	log_set_wait_ms(-1);
	ck_assert_str_eq(heard(ends[0], text, sizeof text),
			 "cresset: warning: 3 messages were dropped: standard error was full\n"
			 "cresset: parent\n");
	close(ends[0]);
	close(ends[1]);
	close(saved);
}
END_TEST

/* Waits until a process sleeps, for 60 s. */
static void until_sleeping(pid_t pid)
{
	char path[32], text[512];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 60000; i++) {
		fs_read_line(path, text, sizeof text);
		const char *end = strrchr(text, ')');
		if (end && end[1] == ' ' && end[2] == 'S')
			return;
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
}

/* Another process with the same pipe may have set this. */
START_TEST(full_pipes_that_do_not_block_are_waited_for)
{
	int saved = dup(STDERR_FILENO), ends[2];
	char text[512];
	pid_t parent = getpid();

	ck_assert_int_eq(pipe(ends), 0);
	size_t n = fill(ends[1]);
	dup2(ends[1], STDERR_FILENO);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		until_sleeping(parent);
		drain(ends[0], n);
		_exit(0);
	}
	log_info("all of it");
	dup2(saved, STDERR_FILENO);
	end_well(pid);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	ck_assert_str_eq(heard(ends[0], text, sizeof text), "cresset: all of it\n");
	close(ends[0]);
	close(ends[1]);
	close(saved);
}
END_TEST

UNIT_MAIN("log", words_of_an_error, long_errors_are_cut_at_a_character, errors_and_hints, levels,
	  megabytes_are_cut, clocks, full_pipes_delay_no_process, signals_do_not_empty_full_pipes,
	  a_fork_does_not_report_earlier_drops, full_pipes_that_do_not_block_are_waited_for)
