// tier: test
#include "collect/inspect/remedy.h"
#include "shell.h"

static int root_of(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void put(const char *dir, const char *path, const char *text)
{
	shell_do("mkdir -p \"$(dirname '%s/%s')\" && printf '%s' >'%s/%s'", dir, path, text, dir,
		 path);
}

START_TEST(debian)
{
	char dir[32];
	temp_dir(dir);
	put(dir, "etc/os-release", "NAME=x\\nID=debian\\n");
	put(dir, "var/lib/dpkg/info/libc6:amd64.list", "/.\\n/lib\\n/lib/x/libc.so.6\\n");
	put(dir, "var/lib/dpkg/info/redis-server.list", "/usr/bin/redis-server\\n");
	put(dir, "var/lib/dpkg/info/redis-tools.list",
	    "/usr/bin/redis-cli\\n/usr/bin/redis-benchmark\\n");
	put(dir, "var/lib/dpkg/info/$(evil).list", "/usr/bin/evil\\n");
	put(dir, "var/lib/dpkg/info/nginx.list", "/usr/sbin/nginx\\n");
	put(dir, "var/lib/apt/lists/deb_main_Packages",
	    "Package: redis-tools-dbgsym\\nVersion: 1\\n\\nPackage: redis\\n");
	put(dir, "var/lib/apt/lists/other_Packages", "Package: redis-server-dbg\\n");
	shell_do("gzip %s/var/lib/apt/lists/other_Packages", dir);
	struct remedy r[] = { { .path = "/usr/lib/x/libc.so.6" },
			      { .path = "/lib/x/libc.so.6" },
			      { .path = "/usr/bin/redis-server" },
			      { .path = "/usr/bin/redis-cli" },
			      { .path = "/usr/bin/redis-benchmark" },
			      { .path = "/usr/sbin/nginx" },
			      { .path = "/opt/own" },
			      { .path = "/usr/bin/evil" } };
	struct remedy_opts opts = { .root = root_of(dir) };
	remedies_find(&opts, r, 8);
	ck_assert_str_eq(r[0].text, "apt install libc6-dbg");
	ck_assert_str_eq(r[1].text, "apt install libc6-dbg");
	ck_assert_str_eq(r[2].text, "apt install redis-server-dbg");
	ck_assert_str_eq(r[3].text, "apt install redis-tools-dbgsym");
	ck_assert_str_eq(r[4].text, "apt install redis-tools-dbgsym");
	ck_assert_str_eq(r[5].text, "set DEBUGINFOD_URLS='https://debuginfod.debian.net/'");
	ck_assert_str_eq(r[6].text, "build it with -g and leave its symbols in");
	ck_assert_str_eq(r[7].text, r[6].text);
	opts.debuginfod_urls = "https://example.org/";
	remedies_find(&opts, r + 5, 1);
	ck_assert_str_eq(
		r[5].text,
		"set DEBUGINFOD_URLS='https://example.org/ https://debuginfod.debian.net/'");
	opts.debuginfod_urls = "https://debuginfod.debian.net/ https://example.org/";
	remedies_find(&opts, r + 5, 1);
	ck_assert_str_eq(r[5].text, "");
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(others)
{
	char dir[32];
	temp_dir(dir);
	struct remedy r[] = { { .path = "/usr/bin/x" }, { .path = "/usr/bin/it's" } };
	struct remedy_opts opts = { .root = root_of(dir) };
	remedies_find(&opts, r, 2);
	ck_assert_str_eq(r[0].text, "set DEBUGINFOD_URLS='https://debuginfod.elfutils.org/'");
	put(dir, "etc/os-release", "ID=\"fedora\"\\n");
	put(dir, "usr/bin/dnf", "");
	remedies_find(&opts, r, 2);
	ck_assert_str_eq(r[0].text, "dnf debuginfo-install \"$(rpm -qf '/usr/bin/x')\"");
	ck_assert_str_eq(r[1].text, "set DEBUGINFOD_URLS='https://debuginfod.fedoraproject.org/'");
	shell_do("rm -r %s", dir);
}
END_TEST

/* With any libc. */
START_TEST(this_machine)
{
	struct remedy r = { .path = "/usr/lib/x86_64-linux-gnu/libc.so.6" };
	struct remedy_opts opts = { .root = root_of("/") };
	char *owner = shell("dpkg -S libc.so.6 2>/dev/null | grep -c "
			    "'^libc6:.*/x86_64-linux-gnu/libc.so.6$' || true");
	if (atoi(owner) == 0)
		T_SKIP("no Debian with libc6 here");
	free(owner);
	remedies_find(&opts, &r, 1);
	ck_assert_str_eq(r.text, "apt install libc6-dbg");
}
END_TEST

UNIT_MAIN("remedy", debian, others, this_machine)
