// tier: test
/* Functions of PHP as the walker sends them: their names, also of files and closures; how they are retained and dropped; and the facts that PHP's own
 * file has. */
#include "base/buf.h"
#include "base/err.h"
#include "bpf/event.h"
#include "collect/walker/interpreted.h"
#include "runtime/php_parts.h"
#include "symbol/elf/elf_file.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void set_text(char *to, size_t size, uint32_t *len, const char *text, size_t n)
{
	*len = n;
	memcpy(to, text, n < size ? n : size);
}

static struct event_function function(const char *scope, const char *name, const char *file,
				      uint32_t line)
{
	struct event_function f = { .kind = EVENT_FUNCTION, .tgid = 1, .line = line };

	f.what = runtime_frame_what(RUNTIME_PHP, file ? PHP_USER : PHP_INTERNAL, 0x1000);
	if (scope)
		set_text(f.scope, sizeof f.scope, &f.scope_len, scope, strlen(scope));
	if (name)
		set_text(f.name, sizeof f.name, &f.name_len, name, strlen(name));
	if (file)
		set_text(f.file, sizeof f.file, &f.file_len, file, strlen(file));
	return f;
}

static void named_as(const struct event_function *f, const char *name, const char *file)
{
	struct buf got_name = { 0 }, got_file = { 0 };

	ck_assert_int_eq(php_runtime.name_function(f, &got_name, &got_file), *name != '\0');
	ck_assert_str_eq(buf_cstr(&got_name), name);
	ck_assert_str_eq(buf_cstr(&got_file), file);
	buf_done(&got_name);
	buf_done(&got_file);
}

START_TEST(names)
{
	static const struct {
		const char *scope, *name, *file, *as;
	} cases[] = {
		{ NULL, "burn", "/srv/a.php", "burn" },
		{ "App\\Work", "run", "/srv/a.php", "App\\Work::run" },
		{ NULL, NULL, "/srv/index.php", "index.php" },
		{ NULL, NULL, "/srv/a.php(12) : eval()'d code", "a.php(12) : eval()'d code" },
		{ NULL, NULL, "Command line code", "Command line code" },
		{ NULL, "{closure}", "/srv/a.php", "{closure:a.php:7}" },
		{ "App\\Work", "App\\{closure}", "/srv/a.php", "App\\Work::{closure:a.php:7}" },
		{ NULL, "{closure:/srv/a.php:7}", "/srv/a.php", "{closure:a.php:7}" },
		{ NULL, "{closure:App\\Work::run():7}", "/srv/a.php", "{closure:a.php:7}" },
		{ NULL, "usort", NULL, "usort" },
		{ "Generator", "next", NULL, "Generator::next" },
		{ NULL, "größe", "/srv/ä.php", "größe" },
		{ NULL, "bad\xff", "/srv/a.php", "bad\uFFFD" },
		{ NULL, NULL, NULL, "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct event_function f = function(cases[i].scope, cases[i].name, cases[i].file, 7);

		named_as(&f, cases[i].as, cases[i].file ? cases[i].file : "");
	}
}
END_TEST

START_TEST(long_texts)
{
	struct event_function f = function(NULL, "x", "/srv/a.php", 7);
	char name[FUNCTION_NAME + 4] = "", file[FUNCTION_FILE + 4] = "…";

	/* The start of a name, the end of a path. */
	memset(f.name, 'n', sizeof f.name);
	memset(f.file, 'f', sizeof f.file);
	f.name_len = FUNCTION_NAME + 1;
	f.file_len = FUNCTION_FILE + 1;
	memset(name, 'n', FUNCTION_NAME);
	strcpy(name + FUNCTION_NAME, "…");
	memset(file + 3, 'f', FUNCTION_FILE);
	named_as(&f, name, file);
	f.name_len = FUNCTION_NAME;
	f.file_len = FUNCTION_FILE;
	name[FUNCTION_NAME] = '\0';
	named_as(&f, name, file + 3);
	f.name_len = f.file_len = f.scope_len = UINT32_MAX;
	struct buf any[2] = { { 0 } };
	ck_assert(php_runtime.name_function(&f, &any[0], &any[1]));
	buf_done(&any[0]);
	buf_done(&any[1]);
}
END_TEST

START_TEST(anonymous_class)
{
	static const char class[] = "class@anonymous\0/srv/a.php:3$0";
	struct event_function f = function(NULL, "run", "/srv/a.php", 7);

	set_text(f.scope, sizeof f.scope, &f.scope_len, class, sizeof class - 1);
	named_as(&f, "class@anonymous::run", "/srv/a.php");
}
END_TEST

/* --- retained ------------------------------------------------------------------------------------------- */

static int put(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	(void)ctx, (void)map, (void)key, (void)value, (void)size;
	return 0;
}

static int drop(void *ctx, const char *map, uint32_t key)
{
	(void)ctx, (void)map, (void)key;
	return 0;
}

static const struct runtime_maps no_maps = { put, drop, NULL };

static struct interpreted_frames frames(struct interpreted *in, uint32_t pid,
					const struct event_function *f, uint32_t line)
{
	const uint64_t words[2] = { f->what, runtime_frame_place(f->stamp, line) };
	struct interpreted_frames out;

	interpreted_frames(in, pid, words, &out);
	return out;
}

START_TEST(retained)
{
	struct interpreted *in = interpreted_new(&no_maps, NULL);
	struct event_function f = function("App", "run", "/srv/a.php", 7);
	struct interpreted_stats stats;

	f.stamp = 99;
	ck_assert(!interpreted_told(in, &f));
	for (uint32_t line = 8; line < 10; line++) {
		struct interpreted_frames got = frames(in, 1, &f, line);

		ck_assert_int_eq(got.named, RUNTIME_NAMED);
		ck_assert_uint_eq(got.n, 1);
		ck_assert_str_eq(got.v[0].name, "App::run");
		ck_assert_str_eq(got.v[0].file, "/srv/a.php");
		ck_assert_uint_eq(got.v[0].line, line);
	}
	/* Another process; another function at the same address; a runtime that sends none. */
	ck_assert_int_eq(frames(in, 2, &f, 8).named, RUNTIME_GONE);
	f.stamp = 98;
	ck_assert_int_eq(frames(in, 1, &f, 8).named, RUNTIME_GONE);
	interpreted_get_stats(in, &stats);
	ck_assert_uint_eq(stats.unnamed, 2);
	f.what = runtime_frame_what(RUNTIME_V8, 1, 0x1000);
	ck_assert(!interpreted_told(in, &f));
	f.what = runtime_frame_what(15, 1, 0x1000);
	ck_assert(!interpreted_told(in, &f));
	interpreted_free(in);
}
END_TEST

START_TEST(forgotten)
{
	struct interpreted *in = interpreted_new(&no_maps, NULL);
	struct event_function first = function(NULL, "first", "/srv/a.php", 7),
			      f = function(NULL, "later", "/srv/a.php", 7);
	uint32_t n_over = 0;

	first.stamp = UINT32_MAX;
	ck_assert(!interpreted_told(in, &first));
	for (uint32_t i = 0; n_over < 2 && i < 1 << 20; i++) {
		f.stamp = i;
		n_over += interpreted_told(in, &f);
		ck_assert_int_eq(frames(in, 1, &f, 7).named, RUNTIME_NAMED);
		if (n_over < 2)
			ck_assert_int_eq(frames(in, 1, &first, 7).named, RUNTIME_NAMED);
	}
	ck_assert_uint_eq(n_over, 2);
	ck_assert_int_eq(frames(in, 1, &first, 7).named, RUNTIME_GONE);
	interpreted_free(in);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------------ */

static int read_file(const char *path, struct php_file *out, struct err *err)
{
	struct elf_file f;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	int rc = php_file_read(&f, out, err);
	elf_file_close(&f);
	close(fd);
	return rc;
}

START_TEST(not_php)
{
	struct php_file file;
	struct err err = { 0 };

	ck_assert_int_eq(read_file("/proc/self/exe", &file, &err), -ENODATA);
}
END_TEST

START_TEST(installed_php)
{
	struct php_file file;
	struct err err = { 0 };

	if (access("/usr/bin/php", R_OK))
		T_SKIP("no /usr/bin/php");
	ck_assert_int_eq(read_file("/usr/bin/php", &file, &err), 0);
	ck_assert_uint_ge(file.major, 7);
	ck_assert_uint_ge(file.n_loop, 1);
	ck_assert_uint_gt(file.loop[0].end, file.loop[0].start);
	ck_assert_int_eq(file.vm, PHP_VM_HYBRID);
	ck_assert(file.body > file.loop[0].start && file.body < file.loop[0].end);
	ck_assert_uint_ge(file.body_cfa, 8);
	/* As read up to PHP_FUNC_BYTES by the walker. */
	ck_assert(file.func_lines + 8 <= PHP_FUNC_BYTES && file.func_last >= PHP_FUNC_HEAD);
}
END_TEST

UNIT_MAIN("php", names, long_texts, anonymous_class, retained, forgotten, not_php, installed_php)
