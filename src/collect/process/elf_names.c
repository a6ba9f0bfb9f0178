/* Tries the sources of symbols in order, and caches names on disk. */
#include "collect/process/elf_names.h"

#include "base/cache_dir.h"
#include "base/hash.h"
#include "symbol/debuginfod.h"
#include "symbol/disk_cache.h"
#include "symbol/dwarf/section_cache.h"
#include "symbol/elf/elf_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* --- shared by a run -------------------------------------------------------------------------- */

void name_files_open(struct name_files *f, const struct name_files_opts *opts)
{
	*f = (struct name_files){ .names_dir = -1, .debug_dir = -1, .sections_dir = -1 };
	if (!opts->cache_dir)
		return;
	f->names_dir = cache_dir_open(opts->cache_dir, NAME_FILES_CACHE, NULL);
	f->sections_dir = cache_dir_open(opts->cache_dir, SECTION_CACHE, NULL);
	if (!opts->debuginfod.urls || !*opts->debuginfod.urls)
		return;
	f->debug_dir = cache_dir_open(opts->cache_dir, "debuginfo", NULL);
	struct debuginfod_opts web = opts->debuginfod;
	web.cache_dir = f->debug_dir;
	if (f->debug_dir >= 0)
		f->debuginfod = debuginfod_new(&web);
}

void name_files_failures(const struct name_files *f, struct name_failures *out)
{
	*out = (struct name_failures){ 0 };
	if (f->debuginfod)
		*out = (struct name_failures){ debuginfod_stats(f->debuginfod)->failed,
					       debuginfod_stats(f->debuginfod)->first };
}

void name_files_close(struct name_files *f)
{
	if (f->debuginfod && debuginfod_stats(f->debuginfod)->downloaded)
		cache_dir_trim(f->debug_dir, DEBUGINFOD_CACHE_MAX_BYTES);
	if (f->kept_names)
		cache_dir_trim(f->names_dir, DISK_CACHE_MAX_BYTES);
	if (f->gave_sections)
		cache_dir_trim(f->sections_dir, SECTION_CACHE_MAX_BYTES);
	debuginfod_free(f->debuginfod);
	if (f->names_dir >= 0)
		close(f->names_dir);
	if (f->sections_dir >= 0)
		close(f->sections_dir);
	if (f->debug_dir >= 0)
		close(f->debug_dir);
}

/* --- separate debug files --------------------------------------------------------------------- */

static int locate_here(struct elf_names *e, const struct debug_request *req, unsigned attempt)
{
	if (attempt == 0)
		e->root = e->first_attempt = 0;
	for (; e->root < NAME_ROOTS; e->root++, e->first_attempt = attempt) {
		struct debug_root *root = &e->roots[e->root];
		int fd = root->fd < 0 ? -1
				      : debug_locate_in_root(root, req, attempt - e->first_attempt);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

static int give_sections(struct name_files *f)
{
	if (f->sections_dir < 0)
		return -1;
	f->gave_sections = true;
	return fcntl(f->sections_dir, F_DUPFD_CLOEXEC, 0);
}

/* Asks the servers last, and only once: their response has been compared already. */
int elf_names_locate(void *ctx, const struct debug_request *req, unsigned attempt)
{
	struct elf_names *e = ctx;
	if (req->kind == DEBUG_SECTION_CACHE)
		return give_sections(e->files);
	if (attempt == 0)
		e->asked_now = false;
	int fd = locate_here(e, req, attempt);
	if (fd >= 0 || e->asked_now || !e->files->debuginfod)
		return fd;
	e->asked_now = e->asked = true;
	return debuginfod_find(e->files->debuginfod, req->build_id, req->build_id_len);
}

/* --- the cache -------------------------------------------------------------------------------- */

enum server_state { STATE_KEPT = 1, STATE_NONE, STATE_UNASKED };

static uint64_t state_witness(const struct elf_names *e, enum server_state state)
{
	return hash_mix(debuginfod_urls_hash(e->files->debuginfod), state);
}

/* Returns what the servers said. "Unasked" is saved if the names did not need a server, but not if
 * one failed: the next run must try again. */
static size_t server_witnesses(struct elf_names *e, bool saving, uint64_t *out)
{
	struct debuginfod *d = e->files->debuginfod;
	const struct debug_request *req = &e->wanted.req;
	int fd = debuginfod_kept(d, req->build_id, req->build_id_len);
	bool none = fd < 0 && debuginfod_has_none(d, req->build_id, req->build_id_len);
	size_t n = 0;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || none)
		out[n++] = state_witness(e, none ? STATE_NONE : STATE_KEPT);
	if (saving ? !e->asked : n == 0)
		out[n++] = state_witness(e, STATE_UNASKED);
	return n;
}

/* Returns every debug file that could be used, whether it fits or not. */
static size_t witnesses(void *ctx, bool saving, uint64_t *out)
{
	enum { SERVER_WITNESSES = 2 };
	struct elf_names *e = ctx;
	size_t n = 0;
	for (int fd; n < DISK_CACHE_MAX_WITNESSES - SERVER_WITNESSES; close(fd)) {
		fd = locate_here(e, &e->wanted.req, n);
		if (fd < 0)
			break;
		out[n++] = disk_cache_identity(fd);
	}
	return e->files->debuginfod ? n + server_witnesses(e, saving, out + n) : n;
}

static int open_behind(void *ctx, struct symbol_source **out)
{
	struct elf_names *e = ctx;
	return symbol_open_elf(e->fd, elf_names_locate, e, out, NULL);
}

/* --- a file ----------------------------------------------------------------------------------- */

static void close_roots(struct elf_names *e)
{
	for (int i = 0; i < NAME_ROOTS; i++)
		if (e->roots[i].fd >= 0)
			close(e->roots[i].fd);
}

static void open_roots(struct elf_names *e, const char *path, uint32_t pid)
{
	char root[32];
	snprintf(root, sizeof root, "/proc/%" PRIu32 "/root", pid);
	e->roots[0] = (struct debug_root){ open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), path };
	e->roots[1] = (struct debug_root){ -1, path };
	if (pid)
		e->roots[1].fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Returns whether to use the cache: only a file with a path is still the same in the next run. */
static bool is_kept(const struct elf_names *e, const char *path)
{
	return e->files->names_dir >= 0 && path[0] == '/' && e->wanted.req.build_id_len;
}

static struct symbol_source *open_kept(struct elf_names *e)
{
	struct disk_cache_opts opts = {
		.dir = e->files->names_dir,
		.fd = e->fd,
		.build_id = e->wanted.req.build_id,
		.build_id_len = e->wanted.req.build_id_len,
		.witnesses = witnesses,
		.open = open_behind,
		.ctx = e,
		.wrote = &e->files->kept_names,
	};
	return disk_cache_open(&opts);
}

int elf_names_init(struct elf_names *e, struct name_files *files, int fd, const char *path,
		   uint32_t pid)
{
	struct elf_file elf;
	*e = (struct elf_names){ .files = files,
				 .fd = fd,
				 .roots = { { .fd = -1 }, { .fd = -1 } } };
	int rc = elf_file_open(&elf, fd, NULL);
	if (rc)
		return rc;
	elf_debug_want(&elf, &e->wanted);
	elf_file_close(&elf);
	open_roots(e, path, pid);
	return 0;
}

int elf_names_open(struct elf_names *e, struct name_files *files, int fd, const char *path,
		   uint32_t pid)
{
	int rc = elf_names_init(e, files, fd, path, pid);
	if (rc)
		return rc;
	if (is_kept(e, path))
		e->source = open_kept(e);
	else
		rc = open_behind(e, &e->source);
	if (rc)
		close_roots(e);
	return rc;
}

void elf_names_close(struct elf_names *e)
{
	symbol_close(e->source);
	close_roots(e);
}
