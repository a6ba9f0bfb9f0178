/* Encodes and verifies cache files; reads and writes the one of a build id. */
#include "symbol/disk_cache.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/names.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "CRNAMES" /* with its NUL */
enum { SUMMED_FROM = 24, HEADER_BYTES = 48 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "tables are used as they lie in the file");
_Static_assert(sizeof(struct names_entry) == 8 && sizeof(struct names_line) == 8 &&
		       sizeof(struct names_function) == 16,
	       "as in the file");

/* --- reading a file --------------------------------------------------------------------------- */

static bool parse_header(struct cur *c, struct names_file *f)
{
	const char *magic = cur_take(c, sizeof MAGIC);
	uint32_t version = cur_u32(c), reader = cur_u32(c);
	uint64_t sum = cur_u64(c);
	if (c->bad || memcmp(magic, MAGIC, sizeof MAGIC) != 0 || version != NAMES_FILE_VERSION ||
	    reader != NAMES_READER || hash_bytes(c->p, cur_left(c)) != sum)
		return false;
	f->n_witnesses = cur_u32(c);
	f->n_offsets = cur_u32(c);
	f->n_lines = cur_u32(c);
	f->n_functions = cur_u32(c);
	f->n_origins = cur_u32(c);
	f->n_text = cur_u32(c);
	return !c->bad && f->n_witnesses <= NAMES_FILE_MAX_WITNESSES &&
	       f->n_origins <= NAMES_FILE_MAX_ORIGINS;
}

static bool parse_tables(struct cur *c, struct names_file *f)
{
	f->witnesses = cur_take(c, 8ull * f->n_witnesses);
	f->offsets = cur_take(c, 8ull * f->n_offsets);
	f->entries = cur_take(c, 8ull * f->n_offsets);
	f->lines = cur_take(c, 8ull * f->n_lines);
	f->functions = cur_take(c, 16ull * f->n_functions);
	f->origins = cur_take(c, 4ull * f->n_origins);
	f->text = cur_take(c, f->n_text);
	return !c->bad && cur_left(c) == 0 && f->n_text > 0 && f->text[0] == '\0' &&
	       f->text[f->n_text - 1] == '\0';
}

static bool entries_are_sound(const struct names_file *f)
{
	for (uint32_t i = 0; i < f->n_offsets; i++) {
		const struct names_entry *e = &f->entries[i];
		if ((i && f->offsets[i] <= f->offsets[i - 1]) || e->n > NAMES_FILE_MAX_LINES ||
		    e->first > f->n_lines || e->n > f->n_lines - e->first ||
		    e->origin >= f->n_origins)
			return false;
	}
	return true;
}

static bool references_are_sound(const struct names_file *f)
{
	for (uint32_t i = 0; i < f->n_lines; i++)
		if (f->lines[i].function >= f->n_functions)
			return false;
	for (uint32_t i = 0; i < f->n_functions; i++)
		if (f->functions[i].name >= f->n_text || f->functions[i].linkage >= f->n_text ||
		    f->functions[i].file >= f->n_text)
			return false;
	for (uint32_t i = 0; i < f->n_origins; i++)
		if (f->origins[i] >= f->n_text)
			return false;
	return true;
}

int names_file_parse(const void *data, size_t len, struct names_file *out)
{
	struct names_file f = { 0 };
	struct cur c = cur_of(data, len);
	if (len > NAMES_FILE_MAX_BYTES || !parse_header(&c, &f) || !parse_tables(&c, &f) ||
	    !entries_are_sound(&f) || !references_are_sound(&f))
		return -EBADMSG;
	*out = f;
	return 0;
}

bool names_file_has_witness(const struct names_file *f, uint64_t witness)
{
	for (uint32_t i = 0; i < f->n_witnesses; i++)
		if (f->witnesses[i] == witness)
			return true;
	return false;
}

static struct symbol_line line_at(const struct names_file *f, uint32_t i)
{
	const struct names_function *fn = &f->functions[f->lines[i].function];
	return (struct symbol_line){
		.name = f->text + fn->name,
		.linkage = f->text + fn->linkage,
		.file = f->text[fn->file] ? f->text + fn->file : NULL,
		.line = f->lines[i].line,
		.start_line = fn->start_line,
	};
}

/* Lookups are mostly in order of address, so the entry after the last answer is checked first. */
static const struct names_entry *find_entry(struct names_file *f, uint64_t offset)
{
	if (f->next < f->n_offsets && f->offsets[f->next] == offset)
		return &f->entries[f->next++];
	uint32_t at = search_first(i, 0, f->n_offsets, f->offsets[i] >= offset);
	f->next = at + 1;
	return at < f->n_offsets && f->offsets[at] == offset ? &f->entries[at] : NULL;
}

bool names_file_get(struct names_file *f, uint64_t offset, struct symbol_line *out, uint32_t max,
		    uint32_t *n, const char **origin)
{
	const struct names_entry *e = find_entry(f, offset);
	if (!e)
		return false;
	*n = e->n < max ? e->n : max;
	*origin = f->text + f->origins[e->origin];
	for (uint32_t i = 0; i < *n; i++)
		out[i] = line_at(f, e->first + i);
	return true;
}

/* --- making ----------------------------------------------------------------------------------- */

void names_maker_init(struct names_maker *m)
{
	*m = (struct names_maker){ 0 };
	strtab_init(&m->text);
}

void names_maker_done(struct names_maker *m)
{
	strtab_done(&m->text);
	map_done(&m->function_index);
	vec_done(&m->functions);
	vec_done(&m->lines);
	vec_done(&m->entries);
	vec_done(&m->witnesses);
	vec_done(&m->origins);
}

bool names_maker_witness(struct names_maker *m, uint64_t witness)
{
	for (size_t i = 0; i < m->witnesses.n; i++)
		if (m->witnesses.v[i] == witness)
			return true;
	if (m->witnesses.n >= NAMES_FILE_MAX_WITNESSES)
		return false;
	vec_push(&m->witnesses, witness);
	return true;
}

struct wanted_function {
	const struct names_maker *m;
	struct names_function f;
};

static bool same_function(const void *ctx, uint32_t i)
{
	const struct wanted_function *w = ctx;
	return memcmp(&w->m->functions.v[i], &w->f, sizeof w->f) == 0;
}

static uint32_t function_of(struct names_maker *m, const struct symbol_line *l)
{
	struct wanted_function w = { .m = m,
				     .f = { .name = strtab_put(&m->text, l->name),
					    .linkage = strtab_put(&m->text, l->linkage),
					    .file = strtab_put(&m->text, l->file),
					    .start_line = l->start_line } };
	uint32_t i = map_intern(&m->function_index, hash_bytes(&w.f, sizeof w.f), m->functions.n,
				same_function, &w);
	if (i == m->functions.n)
		vec_push(&m->functions, w.f);
	return i;
}

/* Returns the number of an origin; one past the last if there are too many. */
static uint32_t origin_of(struct names_maker *m, const char *origin)
{
	uint32_t id = strtab_put(&m->text, origin), i = 0;
	while (i < m->origins.n && m->origins.v[i] != id)
		i++;
	if (i == m->origins.n && i < NAMES_FILE_MAX_ORIGINS)
		vec_push(&m->origins, id);
	return i;
}

bool names_maker_add(struct names_maker *m, uint64_t offset, const struct symbol_line *lines,
		     uint32_t n, const char *origin)
{
	enum { ARENA_BLOCK = 1 << 20 }; /* upper limit of the arena's growth by the next text */
	/* An upper estimate: the arena is a little larger than the text. */
	uint64_t bytes = HEADER_BYTES + 8 * m->witnesses.n + 16ull * m->entries.n +
			 8ull * m->lines.n + 16ull * m->functions.n + m->text.arena.total;
	if (bytes > NAMES_FILE_MAX_BYTES - ARENA_BLOCK - NAMES_FILE_MAX_LINES * 256 ||
	    n > NAMES_FILE_MAX_LINES)
		return false;
	struct names_made e = {
		.offset = offset,
		.entry = { .first = m->lines.n, .n = n, .origin = origin_of(m, origin) },
		.order = m->entries.n,
	};
	if (e.entry.origin >= m->origins.n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&m->lines,
			 (struct names_line){ function_of(m, &lines[i]), lines[i].line });
	vec_push(&m->entries, e);
	return true;
}

void names_maker_add_file(struct names_maker *m, const struct names_file *f)
{
	struct symbol_line lines[NAMES_FILE_MAX_LINES];
	for (uint32_t i = 0; i < f->n_witnesses; i++)
		names_maker_witness(m, f->witnesses[i]);
	for (uint32_t i = 0; i < f->n_offsets; i++) {
		const struct names_entry *e = &f->entries[i];
		for (uint32_t k = 0; k < e->n; k++)
			lines[k] = line_at(f, e->first + k);
		if (!names_maker_add(m, f->offsets[i], lines, e->n,
				     f->text + f->origins[e->origin]))
			return;
	}
}

/* --- writing ---------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
	const struct names_made *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Of several entries with one offset the first is retained. */
static void sort_entries(struct names_maker *m)
{
	size_t n = 0;
	if (m->entries.n)
		qsort(m->entries.v, m->entries.n, sizeof *m->entries.v, by_offset);
	for (size_t i = 0; i < m->entries.n; i++)
		if (n == 0 || m->entries.v[n - 1].offset != m->entries.v[i].offset)
			m->entries.v[n++] = m->entries.v[i];
	m->entries.n = n;
}

static void put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof v);
}

static void put_header(const struct names_maker *m, uint32_t text_bytes, struct buf *b)
{
	buf_add(b, MAGIC, sizeof MAGIC);
	put_u32(b, NAMES_FILE_VERSION);
	put_u32(b, NAMES_READER);
	buf_add(b, &(uint64_t){ 0 }, 8);
	put_u32(b, m->witnesses.n);
	put_u32(b, m->entries.n);
	put_u32(b, m->lines.n);
	put_u32(b, m->functions.n);
	put_u32(b, m->origins.n);
	put_u32(b, text_bytes);
}

static void put_tables(struct names_maker *m, const uint32_t *at, struct buf *b)
{
	buf_add(b, m->witnesses.v, 8 * m->witnesses.n);
	for (size_t i = 0; i < m->entries.n; i++)
		buf_add(b, &m->entries.v[i].offset, 8);
	for (size_t i = 0; i < m->entries.n; i++)
		buf_add(b, &m->entries.v[i].entry, sizeof m->entries.v[i].entry);
	buf_add(b, m->lines.v, m->lines.n * sizeof *m->lines.v);
	for (size_t i = 0; i < m->functions.n; i++) {
		struct names_function *f = &m->functions.v[i];
		put_u32(b, at[f->name]);
		put_u32(b, at[f->linkage]);
		put_u32(b, at[f->file]);
		put_u32(b, f->start_line);
	}
	for (size_t i = 0; i < m->origins.n; i++)
		put_u32(b, at[m->origins.v[i]]);
}

void names_maker_write(struct names_maker *m, struct buf *b)
{
	size_t start = b->len;
	uint32_t *at = xreallocarray(NULL, m->text.all.n, sizeof *at), text_bytes = 0;
	for (uint32_t i = 0; i < m->text.all.n; i++) {
		at[i] = text_bytes;
		text_bytes += strtab_len(&m->text, i) + 1;
	}
	sort_entries(m);
	put_header(m, text_bytes, b);
	put_tables(m, at, b);
	for (uint32_t i = 0; i < m->text.all.n; i++)
		buf_add(b, strtab_get(&m->text, i), strtab_len(&m->text, i) + 1);
	free(at);
	char *head = b->data + start;
	uint64_t sum = hash_bytes(head + SUMMED_FROM, b->len - start - SUMMED_FROM);
	memcpy(head + SUMMED_FROM - sizeof sum, &sum, sizeof sum);
}

/* --- the cache -------------------------------------------------------------------------------- */

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
