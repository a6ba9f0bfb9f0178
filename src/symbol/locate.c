/* Paths of debug files below a root. */
#include "symbol/symbol.h"

#include "base/buf.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEBUG_DIR "/usr/lib/debug"

enum candidate {
	BY_BUILD_ID,
	BESIDE,
	IN_DOT_DEBUG,
	IN_DEBUG_DIR,
	AS_WRITTEN,
	BELOW_DEBUG_DIR,
	BASENAME_BESIDE,
	PACKAGE,
	CANDIDATES
};
/* The candidates to try for each kind of request, in this order. */
static const bool candidate_fits[][CANDIDATES] = {
	[DEBUG_SEPARATE] = { [BY_BUILD_ID] = true,
			     [BESIDE] = true,
			     [IN_DOT_DEBUG] = true,
			     [IN_DEBUG_DIR] = true },
	[DEBUG_SHARED] = { [BY_BUILD_ID] = true, [AS_WRITTEN] = true, [BELOW_DEBUG_DIR] = true },
	[DEBUG_DWO] = { [AS_WRITTEN] = true, [BASENAME_BESIDE] = true },
	[DEBUG_PACKAGE] = { [PACKAGE] = true },
	[DEBUG_SECTION_CACHE] = { false },
};

static bool link_is_plain_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool build_id_path(const struct debug_request *req, struct buf *path)
{
	if (req->build_id_len < 2)
		return false;
	buf_addf(path, DEBUG_DIR "/.build-id/%02x/", req->build_id[0]);
	for (size_t i = 1; i < req->build_id_len; i++)
		buf_addf(path, "%02x", req->build_id[i]);
	buf_adds(path, ".debug");
	return true;
}

/* Appends the directory of the binary with its last slash; returns false if it is unknown. */
static bool add_directory(const struct debug_root *root, struct buf *path)
{
	const char *slash = root->path ? strrchr(root->path, '/') : NULL;
	if (slash)
		buf_add(path, root->path, slash + 1 - root->path);
	return slash;
}

static bool link_path(const struct debug_root *root, const struct debug_request *req,
		      enum candidate candidate, struct buf *path)
{
	if (!req->debuglink || !link_is_plain_name(req->debuglink))
		return false;
	if (candidate == IN_DEBUG_DIR)
		buf_adds(path, DEBUG_DIR);
	if (!add_directory(root, path))
		return false;
	if (candidate == IN_DOT_DEBUG)
		buf_adds(path, ".debug/");
	buf_adds(path, req->debuglink);
	return true;
}

/* Names in debug information are paths, absolute or relative to some directory. */
static bool named_path(const struct debug_root *root, const struct debug_request *req,
		       enum candidate candidate, struct buf *path)
{
	if (!req->name || !*req->name)
		return false;
	const char *slash = strrchr(req->name, '/');
	const char *base = slash ? slash + 1 : req->name;
	if (candidate == BASENAME_BESIDE) {
		if (!link_is_plain_name(base) || !add_directory(root, path))
			return false;
		buf_adds(path, base);
		return true;
	}
	if (req->name[0] == '/') {
		buf_adds(path, req->name);
		return candidate == AS_WRITTEN;
	}
	if (candidate == BELOW_DEBUG_DIR)
		buf_adds(path, DEBUG_DIR);
	if (candidate == AS_WRITTEN && req->dir) {
		buf_adds(path, req->dir);
		buf_addc(path, '/');
	} else if (!add_directory(root, path)) {
		return false;
	}
	buf_adds(path, req->name);
	return true;
}

static bool candidate_path(const struct debug_root *root, const struct debug_request *req,
			   enum candidate candidate, struct buf *path)
{
	switch (candidate) {
	case BY_BUILD_ID:
		return build_id_path(req, path);
	case PACKAGE:
		if (root->path)
			buf_addf(path, "%s.dwp", root->path);
		return root->path;
	case AS_WRITTEN:
	case BELOW_DEBUG_DIR:
	case BASENAME_BESIDE:
		return named_path(root, req, candidate, path);
	default:
		return link_path(root, req, candidate, path);
	}
}

/* O_NONBLOCK: opening a FIFO must not block. */
static int open_regular_in_root(int root, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	int fd = syscall(SYS_openat2, root, path, &how, sizeof how);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

int debug_locate_in_root(void *ctx, const struct debug_request *req, unsigned attempt)
{
	const struct debug_root *root = ctx;
	struct buf path = { 0 };
	int fd = -1;
	for (enum candidate c = 0; c < CANDIDATES && fd < 0; c++) {
		buf_clear(&path);
		if (candidate_fits[req->kind][c] && candidate_path(root, req, c, &path))
			fd = open_regular_in_root(root->fd, buf_cstr(&path));
		if (fd >= 0 && attempt-- > 0) {
			close(fd);
			fd = -1;
		}
	}
	buf_done(&path);
	return fd;
}
