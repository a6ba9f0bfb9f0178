/* Finds the package of a file and the package with its debug symbols, from files of the package
 * managers. */
#include "collect/inspect/remedy.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DPKG_INFO "var/lib/dpkg/info"
#define APT_LISTS "var/lib/apt/lists"
enum {
	REMEDY_MAX_LIST = 16 << 20, /* bytes of the list of files of one package */
	REMEDY_MAX_LISTS = 65536,   /* packages to look at */
	REMEDY_MAX_RELEASE = 64 << 10,
	PACKAGE_MAX = 128,
};

bool remedy_is_wanted(const char *origin)
{
	return !origin || !*origin || strcmp(origin, ".dynsym") == 0 ||
	       strcmp(origin, ".gnu_debugdata") == 0;
}

/* --- which package a file is of --------------------------------------------------------------- */

struct owned {
	struct remedy *r;
	char package[PACKAGE_MAX]; /* "" = none */
	char debug[PACKAGE_MAX];   /* package with its symbols; "" = unknown */
	uint32_t first;            /* the first of these files with the same package */
};
struct search {
	const struct remedy_opts *opts;
	VEC(struct owned) files;
	struct map wanted; /* hash of a line → file, or of a package's name → file */
};

/* The root may be a container's, so names must be safe to print as part of a command. */
static bool is_package_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) &&
		    !memchr("+-.", s[i], 3))
			return false;
	return len > 0 && len < PACKAGE_MAX && s[0] != '-';
}

static void take(char *to, const char *from)
{
	if (to != from)
		memcpy(to, from, PACKAGE_MAX);
}

/* Returns the file that wants this already, else this one. */
static uint32_t want(struct search *s, const char *line, size_t len, uint32_t file)
{
	return map_intern(&s->wanted, hash_bytes(line, len), file, NULL, NULL);
}

/* Lists have paths as packaged: for some packages from before /bin, /lib … became links to
 * /usr/bin, /usr/lib …. */
static const char *without_usr(const char *path)
{
	return str_starts(path, "/usr/") ? path + strlen("/usr") : path;
}

static void want_path(struct search *s, uint32_t file)
{
	const char *path = without_usr(s->files.v[file].r->path);
	char *usr = xasprintf("/usr%s", path);
	s->files.v[file].first = want(s, path, strlen(path), file);
	want(s, usr, strlen(usr), file);
	free(usr);
}

/* NAME.list or NAME:ARCH.list. */
static void read_dpkg_list(struct search *s, int dir, const char *file)
{
	size_t len = strcspn(file, ":");
	len = file[len] ? len : strlen(file) - strlen(".list");
	struct buf b = { 0 };
	struct stat st;
	int fd = is_package_name(file, len) ? root_file_open(dir, file, &st) : -1;
	if (fd >= 0 && fs_read_fd(fd, REMEDY_MAX_LIST, &b, NULL) == 0) {
		struct cur c = cur_of(b.data, b.len);
		const char *line;
		size_t n;
		while (cur_line(&c, &line, &n)) {
			const uint32_t *i = map_get(&s->wanted, hash_bytes(line, n));
			if (i)
				snprintf(s->files.v[*i].package, PACKAGE_MAX, "%.*s", (int)len,
					 file);
		}
	}
	buf_done(&b);
	if (fd >= 0)
		close(fd);
}

static DIR *listing_of(int root, const char *path)
{
	int fd = root_dir_open(root, path);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Returns false when this system does not use dpkg. */
static bool find_packages(struct search *s)
{
	DIR *d = listing_of(s->opts->root, DPKG_INFO);
	uint32_t n = 0;
	if (!d)
		return false;
	for (uint32_t i = 0; i < s->files.n; i++)
		want_path(s, i);
	for (struct dirent *e; (e = readdir(d)) && n < REMEDY_MAX_LISTS;)
		if (str_ends(e->d_name, ".list")) {
			read_dpkg_list(s, dirfd(d), e->d_name);
			n++;
		}
	closedir(d);
	map_clear(&s->wanted);
	for (size_t i = 0; i < s->files.n; i++)
		take(s->files.v[i].package, s->files.v[s->files.v[i].first].package);
	return true;
}

/* --- which package has its symbols ------------------------------------------------------------ */

/* In Debian's main archive; others are mostly called NAME-dbgsym and come from a separate
 * archive. */
static const char *known_debug_package(const char *package)
{
	return strcmp(package, "libc6") == 0 ? "libc6-dbg" : NULL;
}

static void read_apt_list(struct search *s, int dir, const char *name)
{
	static const char key[] = "Package: ";
	char path[64];
	struct input *in;
	const char *line;
	size_t len;
	bool cut;
	struct stat st;
	int fd = root_file_open(dir, name, &st);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd >= 0 && input_open(path, &in, NULL) == 0) {
		while (input_line(in, &line, &len, &cut, NULL) > 0) {
			if (len < sizeof key || memcmp(line, key, sizeof key - 1) != 0)
				continue;
			const char *package = line + sizeof key - 1;
			size_t n = len - (sizeof key - 1);
			const uint32_t *i = map_get(&s->wanted, hash_bytes(package, n));
			if (i && is_package_name(package, n))
				snprintf(s->files.v[*i].debug, PACKAGE_MAX, "%.*s", (int)n,
					 package);
		}
		input_close(in);
	}
	if (fd >= 0)
		close(fd);
}

static void want_debug_package(struct search *s, uint32_t file)
{
	static const char *const endings[] = { "-dbg", "-dbgsym" };
	struct owned *f = &s->files.v[file];
	const char *known = known_debug_package(f->package);
	f->first = file;
	if (known)
		snprintf(f->debug, sizeof f->debug, "%s", known);
	for (int i = 0; i < 2 && *f->package && !known; i++) {
		char *name = xasprintf("%s%s", f->package, endings[i]);
		f->first = want(s, name, strlen(name), file);
		free(name);
	}
}

static void find_debug_packages(struct search *s)
{
	for (uint32_t i = 0; i < s->files.n; i++)
		want_debug_package(s, i);
	DIR *d = s->wanted.n ? listing_of(s->opts->root, APT_LISTS) : NULL;
	uint32_t n = 0;
	for (struct dirent *e; d && (e = readdir(d)) && n < REMEDY_MAX_LISTS; n++)
		if (strstr(e->d_name, "_Packages"))
			read_apt_list(s, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	for (size_t i = 0; i < s->files.n; i++)
		take(s->files.v[i].debug, s->files.v[s->files.v[i].first].debug);
}

/* --- which server has them -------------------------------------------------------------------- */

/* Finds the value of KEY=value or KEY="value" in os-release(5). */
static void release_value(const char *text, const char *key, char *out, size_t size)
{
	struct cur c = cur_of(text, strlen(text));
	const char *line;
	size_t n, key_len = strlen(key);
	*out = '\0';
	while (cur_line(&c, &line, &n)) {
		if (n <= key_len || memcmp(line, key, key_len) != 0 || line[key_len] != '=')
			continue;
		line += key_len + 1;
		n -= key_len + 1;
		if (n >= 2 && (*line == '"' || *line == '\'')) {
			line++;
			n -= 2;
		}
		snprintf(out, size, "%.*s", (int)n, line);
	}
}

static const char *server_of(int root)
{
	static const struct {
		const char *id, *url;
	} servers[] = {
		{ "debian", "https://debuginfod.debian.net/" },
		{ "ubuntu", "https://debuginfod.ubuntu.com/" },
		{ "fedora", "https://debuginfod.fedoraproject.org/" },
		{ "centos", "https://debuginfod.centos.org/" },
		{ "arch", "https://debuginfod.archlinux.org/" },
		{ "opensuse-tumbleweed", "https://debuginfod.opensuse.org/" },
		{ "opensuse-leap", "https://debuginfod.opensuse.org/" },
	};
	struct buf b = { 0 };
	char id[64] = "";
	const char *url = "https://debuginfod.elfutils.org/";
	struct stat st;
	int fd = root_file_open(root, "etc/os-release", &st);
	if (fd >= 0 && fs_read_fd(fd, REMEDY_MAX_RELEASE, &b, NULL) == 0)
		release_value(buf_cstr(&b), "ID", id, sizeof id);
	for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
		if (strcmp(id, servers[i].id) == 0)
			url = servers[i].url;
	buf_done(&b);
	if (fd >= 0)
		close(fd);
	return url;
}

/* --- words ------------------------------------------------------------------------------------ */

static bool has_program(int root, const char *path)
{
	return faccessat(root, path, F_OK, 0) == 0;
}

/* Returns whether the path is safe between single quotes of a shell. */
static bool is_quotable(const char *path)
{
	for (; *path; path++)
		if (*path == '\'' || (unsigned char)*path < ' ' || *path == 0x7f)
			return false;
	return true;
}

static void say_server(const struct search *s, const char *url, struct remedy *r)
{
	const char *asked = s->opts->debuginfod_urls;
	if (asked && strstr(asked, url))
		return;
	snprintf(r->text, sizeof r->text, "set DEBUGINFOD_URLS='%s%s%s'", asked ? asked : "",
		 asked && *asked ? " " : "", url);
}

static void say(const struct search *s, const struct owned *f, bool is_dpkg, const char *url)
{
	struct remedy *r = f->r;
	bool dnf = !is_dpkg && has_program(s->opts->root, "usr/bin/dnf") && is_quotable(r->path);
	if (*f->debug)
		snprintf(r->text, sizeof r->text, "apt install %s", f->debug);
	else if (dnf)
		snprintf(r->text, sizeof r->text, "dnf debuginfo-install \"$(rpm -qf '%s')\"",
			 r->path);
	else if (is_dpkg && !*f->package)
		snprintf(r->text, sizeof r->text, "build it with -g and leave its symbols in");
	else
		say_server(s, url, r);
}

void remedies_find(const struct remedy_opts *opts, struct remedy *v, size_t n)
{
	struct search s = { .opts = opts };
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		v[i].text[0] = '\0';
		vec_push(&s.files, (struct owned){ .r = &v[i] });
	}
	bool is_dpkg = find_packages(&s);
	if (is_dpkg)
		find_debug_packages(&s);
	const char *url = server_of(opts->root);
	for (size_t i = 0; i < n; i++)
		say(&s, &s.files.v[i], is_dpkg, url);
	vec_done(&s.files);
	map_done(&s.wanted);
}
