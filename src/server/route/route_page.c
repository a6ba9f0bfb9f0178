/* The page: files embedded in the program at build time (base/asset.h), or those of the directory
 * --ui-dir. */

#include "base/asset.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/server_state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE_MAX_BYTES = 16 << 20 };

/* The page loads only its own files; graphs are frames, and cannot reach it (server/answer.h). */
#define PAGE_POLICY \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " \
	"'self'; " \
	"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* --- which file ------------------------------------------------------------------------------- */

/* Each screen of the page has a separate path; the page finds out itself which one it is. */
static const char *file_of(const char *path)
{
	static const char *const screens[] = { "/",        "/explore", "/timeline",
					       "/compare", "/targets", "/import" };
	for (size_t i = 0; i < sizeof screens / sizeof *screens; i++)
		if (strcmp(path, screens[i]) == 0)
			return "page/index.html";
	return strcmp(path, "/favicon.ico") == 0 ? "page/icon.svg" : path + 1;
}

/* Names of letters, digits, - and _, with single dots inside: no hidden file, no parent
 * directory. */
static bool is_plain(const char *file)
{
	for (const char *s = file; *s; s++) {
		bool begins = s == file || s[-1] == '/';
		if (!isalnum((unsigned char)*s) && (begins || !strchr("-_./", *s)))
			return false;
		if (*s == '.' && s[1] == '.')
			return false;
	}
	return true;
}

bool page_has(const char *path)
{
	const char *file = file_of(path);
	return content_type_of(file) && is_plain(file);
}

/* --- built in --------------------------------------------------------------------------------- */

/* The comparison is weak: the prefix W/ does not count (RFC 9110, 13.1.2). */
static bool is_known(const struct request *r, const char *etag)
{
	const char *known = r->heads.if_none_match;
	return known && (strcmp(known, "*") == 0 || strstr(known, etag + strlen("W/")));
}

static void reply_asset(struct request *r, const struct asset *a)
{
	bool packed = r->heads.takes_gzip;
	struct buf b = { 0 };
	struct err err = { 0 };
	buf_add(&b, a->gz, a->gz_len);
	if (!packed && fs_unpack(&b, PAGE_MAX_BYTES, &err) < 0) {
		buf_done(&b);
		reply_failure(r, &err);
		return;
	}
	reply_body(r, a->type, &b);
	r->reply.policy = PAGE_POLICY;
	r->reply.cache = "no-cache"; /* revalidated each time, sent if changed */
	r->reply.status =
		is_known(r, a->etag) ? 304 : 200; /* its body is not sent, but its length is */
	r->reply.encoding = packed ? "gzip" : NULL;
	r->reply.etag = a->etag;
	r->reply.varies = true;
}

/* --- from a directory ------------------------------------------------------------------------- */

int page_open_dir(const char *dir, int *fd, struct err *err)
{
	*fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? err_set(err, EINVAL, "--ui-dir: cannot open %s: %s", dir, strerror(errno))
		       : 0;
}

/* Symbolic links cannot lead outside of dir. */
static int open_below(int dir, const char *file)
{
	struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	struct stat st;
	int fd = (int)syscall(SYS_openat2, dir, file, &how, sizeof how);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = ENOENT;
		fd = -1;
	}
	return fd;
}

static int read_below(int dir, const char *file, struct buf *out, struct err *err)
{
	int fd = open_below(dir, file);
	if (fd < 0)
		return err_set(err, ENOENT, "%s is missing in --ui-dir: %s", file, strerror(errno));
	int rc = fs_read_fd(fd, PAGE_MAX_BYTES, out, err);
	close(fd);
	return rc;
}

static void reply_file(struct request *r, const char *file)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	if (read_below(r->server->ui_dir, file, &b, &err) < 0) {
		buf_done(&b);
		reply_failure(r, &err);
		return;
	}
	reply_body(r, content_type_of(file), &b);
	r->reply.policy = PAGE_POLICY;
}

void handle_page(struct request *r)
{
	const char *file = file_of(request_param(r, ROUTE_VALUE));
	const struct asset *a = asset_find(file);
	struct err err = { 0 };
	if (r->server->ui_dir >= 0) {
		reply_file(r, file);
	} else if (a) {
		reply_asset(r, a);
	} else {
		err_set(&err, ENOENT, "the page has no %s", file);
		reply_failure(r, &err);
	}
}
