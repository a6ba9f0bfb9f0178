/* Reads and writes the file of a build id. */
#include "symbol/disk_cache.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbol/names_file.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct disk_cache {
	struct symbol_source base;
	struct disk_cache_opts opts;
	uint8_t build_id[CACHE_MAX_KEY];
	char suffix[2 + 16]; /* "-" and the identity of the ELF file */
	struct buf bytes;
	struct names_file kept; /* in bytes */
	struct names_maker made;
	struct symbol_source *source; /* NULL until needed, or if none exists */
	int source_rc;
	bool tried;
};

/* Does not include the device: each container has another one for the same file of an image.
 * Includes ctime, which the owner cannot set. */
uint64_t disk_cache_identity(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return 0;
	const int64_t parts[] = { st.st_ino,          st.st_size,        st.st_mtim.tv_sec,
				  st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec };
	return hash_bytes(parts, sizeof parts);
}

/* --- the file --------------------------------------------------------------------------------- */

struct witnesses {
	uint64_t v[DISK_CACHE_MAX_WITNESSES];
	size_t n;
};

static bool has_all(const struct names_file *f, const struct witnesses *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (!names_file_has_witness(f, w->v[i]))
			return false;
	return true;
}

/* Loads the current file; returns false if none exists that is still valid. */
static bool load(const struct disk_cache *c, const struct witnesses *w, struct buf *bytes,
		 struct names_file *out)
{
	struct names_file f;
	int fd = cache_file_open(c->opts.dir, c->build_id, c->opts.build_id_len, c->suffix);
	if (fd < 0)
		return false;
	bool good = fs_read_fd(fd, NAMES_FILE_MAX_BYTES, bytes, NULL) == 0 &&
		    names_file_parse(bytes->data, bytes->len, &f) == 0 && has_all(&f, w);
	close(fd);
	if (good)
		*out = f;
	return good;
}

static void write_file(struct disk_cache *c, const struct buf *b)
{
	struct cache_file f;
	if (cache_file_create(c->opts.dir, c->build_id, c->opts.build_id_len, c->suffix, &f) < 0)
		return;
	for (size_t done = 0; done < b->len;) {
		ssize_t n = write(f.fd, b->data + done, b->len - done);
		if (n < 0 && errno != EINTR) {
			cache_file_abort(&f);
			return;
		}
		done += n > 0 ? n : 0;
	}
	if (cache_file_commit(&f, false) == 0 && c->opts.wrote)
		*c->opts.wrote = true;
}

/* Includes entries that other processes have added in the meantime. */
static void save(struct disk_cache *c)
{
	struct buf now = { 0 }, out = { 0 };
	struct witnesses w;
	struct names_file f;
	w.n = c->opts.witnesses(c->opts.ctx, true, w.v);
	for (size_t i = 0; i < w.n; i++)
		names_maker_witness(&c->made, w.v[i]);
	if (load(c, &w, &now, &f))
		names_maker_add_file(&c->made, &f);
	names_maker_write(&c->made, &out);
	write_file(c, &out);
	buf_done(&now);
	buf_done(&out);
}

/* --- the source ------------------------------------------------------------------------------- */

static struct symbol_source *source_behind(struct disk_cache *c)
{
	if (!c->tried) {
		c->tried = true;
		c->source_rc = c->opts.open(c->opts.ctx, &c->source);
		if (c->source_rc)
			c->source = NULL;
		c->base.skipped = c->source ? c->source->skipped : c->source_rc != -ENODATA;
	}
	return c->source;
}

/* Caches that a file has no names, but not that it could not be read. */
static uint32_t look_up(struct disk_cache *c, uint64_t addr, struct symbol_line *out, uint32_t max)
{
	struct symbol_source *s = source_behind(c);
	uint32_t n = s ? symbol_lines(s, addr, out, max) : 0;
	c->base.origin = n ? s->origin : NULL;
	if (s)
		c->base.skipped = s->skipped;
	if (s || c->source_rc == -ENODATA)
		names_maker_add(&c->made, addr, out, n, n ? s->origin : "");
	return n;
}

static uint32_t disk_cache_lines(struct symbol_source *base, uint64_t addr, struct symbol_line *out,
				 uint32_t max)
{
	struct disk_cache *c = (struct disk_cache *)base;
	uint32_t n;
	if (!names_file_get(&c->kept, addr, out, max, &n, &base->origin))
		return look_up(c, addr, out, max);
	if (n == 0)
		base->origin = NULL;
	return n;
}

/* Symbols' start and size are not cached, so this asks the source. */
static bool disk_cache_lookup(struct symbol_source *base, uint64_t addr, struct symbol *out)
{
	struct symbol_source *s = source_behind((struct disk_cache *)base);
	return s && symbol_lookup(s, addr, out);
}

static void disk_cache_close(struct symbol_source *base)
{
	struct disk_cache *c = (struct disk_cache *)base;
	if (c->made.entries.n)
		save(c);
	symbol_close(c->source);
	names_maker_done(&c->made);
	buf_done(&c->bytes);
	free(c);
}

static const struct symbol_source_ops disk_cache_ops = {
	.lookup = disk_cache_lookup,
	.close = disk_cache_close,
	.lines = disk_cache_lines,
};

struct symbol_source *disk_cache_open(const struct disk_cache_opts *opts)
{
	struct disk_cache *c = xcalloc(1, sizeof *c);
	c->base.ops = &disk_cache_ops;
	c->opts = *opts;
	if (opts->build_id_len <= sizeof c->build_id)
		memcpy(c->build_id, opts->build_id, opts->build_id_len);
	snprintf(c->suffix, sizeof c->suffix, "-%016" PRIx64, disk_cache_identity(opts->fd));
	names_maker_init(&c->made);
	struct witnesses w;
	w.n = opts->witnesses(opts->ctx, false, w.v);
	load(c, &w, &c->bytes, &c->kept);
	return &c->base;
}
