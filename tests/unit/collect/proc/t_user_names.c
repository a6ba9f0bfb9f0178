// tier: test
/* User names from passwd files, good and odd. */
#include "collect/proc/user_names.h"
#include "shell.h"
#include "unit.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#define S 1000000000ull

static const char *name_in(const char *text, uint32_t uid)
{
	static struct user_names u;
	static char digits[16];

	user_names_done(&u);
	user_names_add(&u, text, strlen(text));
	u.looked_ns = 1;
	return user_name(&u, -1, uid, 2, digits);
}

START_TEST(lines)
{
	static const char text[] = "root:x:0:0:root:/root:/bin/sh\n"
				   "toor:x:0:0::/root:/bin/sh\n"
				   "# a comment: 5:6:7\n"
				   "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
				   ":x:44:44:::\n"
				   "+::::::\n"
				   "bad:x:-1:0:::\n"
				   "big:x:4294967296:0:::\n"
				   "none:x:4294967295:0:::\n"
				   "short:x:55\n"
				   "last:x:66:66:::";

	ck_assert_str_eq(name_in(text, 0), "root"); /* the first of two */
	ck_assert_str_eq(name_in(text, 33), "www-data");
	ck_assert_str_eq(name_in(text, 66), "last");
	ck_assert_str_eq(name_in(text, 44), "44");
	ck_assert_str_eq(name_in(text, 55), "55");
	ck_assert_str_eq(name_in(text, UINT32_MAX), "4294967295");
	ck_assert_str_eq(name_in("", 1000), "1000");
}
END_TEST

static void write_passwd(const char *dir, const char *text)
{
	shell_do("mkdir -p %s/etc && echo '%s' >%s/etc/passwd", dir, text, dir);
}

/* A changed file is read after ten seconds; a deleted one changes nothing. */
START_TEST(changes)
{
	struct user_names u = { 0 };
	char dir[32], digits[16];

	temp_dir(dir);
	int root = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_str_eq(user_name(&u, root, 7, S, digits), "7");
	write_passwd(dir, "seven:x:7:7:::");
	ck_assert_str_eq(user_name(&u, root, 7, 2 * S, digits), "7");
	ck_assert_str_eq(user_name(&u, root, 7, 12 * S, digits), "seven");
	write_passwd(dir, "sieben:x:7:7:more:::");
	ck_assert_str_eq(user_name(&u, root, 7, 13 * S, digits), "seven");
	ck_assert_str_eq(user_name(&u, root, 7, 23 * S, digits), "sieben");
	shell_do("rm -rf %s", dir);
	ck_assert_str_eq(user_name(&u, root, 7, 99 * S, digits), "sieben");
	close(root);
	user_names_done(&u);
}
END_TEST

/* The C library agrees about this machine's own file. */
START_TEST(as_the_library)
{
	struct user_names u = { 0 };
	char digits[16];
	int root = open("/", O_RDONLY | O_DIRECTORY);
	FILE *f = fopen("/etc/passwd", "re");

	for (struct passwd *p; f && (p = fgetpwent(f));) {
		const struct passwd *first = getpwuid(p->pw_uid);
		ck_assert_str_eq(user_name(&u, root, first->pw_uid, S, digits), first->pw_name);
	}
	if (f)
		fclose(f);
	close(root);
	user_names_done(&u);
}
END_TEST

UNIT_MAIN("user_names", lines, changes, as_the_library)
