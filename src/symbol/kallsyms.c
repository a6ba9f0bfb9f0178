/* Compresses the names with zstd, and looks up addresses. */
#include "symbol/kallsyms.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/lines.h"
#include "symbol/name_cache.h"
#include "symbol/symbol.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	/* limit: kernel symbols; a large kernel has 250 000 */
	KALLSYMS_MAX_SYMBOLS = 4 << 20,
	KALLSYMS_MAX_NAMES_BYTES = 256 << 20,
	KALLSYMS_MAX_NAME = 1024, /* twice the kernel's KSYM_NAME_LEN; longer names are truncated */
	KALLSYMS_MODULE_BITS = 12,
	KALLSYMS_SIZE_BITS = 20,
	KALLSYMS_MAX_MODULES = (1 << KALLSYMS_MODULE_BITS) - 1,
	/* The file has no sizes: a symbol reaches to the next one of any kind, but at most this
	 * far, as the last function of a module may be followed by a gap of a gigabyte. */
	KALLSYMS_MAX_SIZE = (1 << KALLSYMS_SIZE_BITS) - 1,
};

struct kallsyms_symbol {
	uint64_t addr;
	uint32_t name; /* offset in text */
	uint32_t size : KALLSYMS_SIZE_BITS;
	uint32_t module : KALLSYMS_MODULE_BITS; /* index in modules, 0 = the kernel itself */
};

struct kallsyms {
	struct symbol_source base;
	VEC(struct kallsyms_symbol) symbols; /* functions by address */
	struct buf text;                     /* NUL-terminated names */
	struct arena module_text;
	VEC(const char *) modules; /* [0] = NULL */
	struct map module_index;
	struct name_cache names;
};

static void kallsyms_close(struct symbol_source *s)
{
	struct kallsyms *k = (struct kallsyms *)s;
	vec_done(&k->symbols);
	buf_done(&k->text);
	arena_done(&k->module_text);
	vec_done(&k->modules);
	map_done(&k->module_index);
	name_cache_done(&k->names);
	free(k);
}

static bool kallsyms_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct kallsyms *k = (struct kallsyms *)s;
	size_t after = vec_upper(&k->symbols, addr, addr);
	const struct kallsyms_symbol *sym = after ? &k->symbols.v[after - 1] : NULL;
	if (!sym || addr - sym->addr >= sym->size)
		return false;
	const struct cached_name *known = name_cache_get(&k->names, sym->name);
	struct cached_name name =
		known ? *known : name_cache_add(&k->names, sym->name, k->text.data + sym->name, "");
	*out = (struct symbol){
		.name = name.name,
		.linkage = name.linkage,
		.module = k->modules.v[sym->module],
		.start = sym->addr,
		.size = sym->size,
	};
	return true;
}

static const struct symbol_source_ops kallsyms_ops = { .lookup = kallsyms_lookup,
						       .close = kallsyms_close };

/* --- reading ---------------------------------------------------------------------------------- */

/* During reading, the size field holds the rank of the symbol as a name for its address. */
enum {
	RANK_DATA = 0, /* ends the previous function, then is dropped */
	RANK_LOCAL = 1 << 12,
	RANK_GLOBAL = 2 << 12, /* minus the length of the name */
};

struct kallsyms_line {
	uint64_t addr;
	char type;
	const char *name, *module; /* module: NULL for the kernel itself */
	size_t name_len;
};

/* "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]" */
static bool kallsyms_parse(char *line, struct kallsyms_line *out)
{
	char *p = line;
	if (!hex_take(&p, &out->addr) || p[0] != ' ' || !p[1] || p[2] != ' ' || !p[3])
		return false;
	out->type = p[1];
	out->name = p + 3;
	out->name_len = strcspn(out->name, "\t");
	out->module = NULL;
	p += 3 + out->name_len;
	if (*p == '\t') {
		*p++ = '\0';
		char *end = strchr(p, ']');
		if (*p != '[' || !end)
			return false;
		*end = '\0';
		out->module = p + 1;
	}
	return out->name_len > 0;
}

struct module_name {
	const struct kallsyms *kallsyms;
	const char *name;
};

static bool module_same(const void *ctx, uint32_t module)
{
	const struct module_name *wanted = ctx;
	return strcmp(wanted->kallsyms->modules.v[module], wanted->name) == 0;
}

/* Returns the index of a module, 0 for the kernel itself or if there are too many. */
static uint32_t kallsyms_module(struct kallsyms *k, const char *name)
{
	if (!name || k->modules.n > KALLSYMS_MAX_MODULES)
		return 0;
	struct module_name wanted = { k, name };
	size_t len = strlen(name);
	uint32_t id = map_intern(&k->module_index, hash_bytes(name, len), k->modules.n, module_same,
				 &wanted);
	if (id == k->modules.n)
		vec_push(&k->modules, arena_dup(&k->module_text, name, len));
	return id;
}

/* Of several names at one address a global one wins, then the shortest. ARM's mapping symbols ($a,
 * $d) are not names. */
static uint32_t kallsyms_rank(const struct kallsyms_line *line)
{
	bool function =
		line->type == 't' || line->type == 'T' || line->type == 'w' || line->type == 'W';
	if (!function)
		return RANK_DATA;
	uint32_t base = isupper((unsigned char)line->type) ? RANK_GLOBAL : RANK_LOCAL;
	return base - (line->name_len < KALLSYMS_MAX_NAME ? line->name_len : KALLSYMS_MAX_NAME);
}

static bool kallsyms_add(struct kallsyms *k, char *text, bool *any_address)
{
	struct kallsyms_line line;
	if (!kallsyms_parse(text, &line))
		return false;
	*any_address |= line.addr != 0;
	/* Absolute symbols ('a', and per-CPU offsets) are numbers, not addresses. */
	if ((line.type | 0x20) == 'a' || line.name[0] == '$' || line.addr == 0)
		return true;
	if (k->symbols.n >= KALLSYMS_MAX_SYMBOLS || k->text.len >= KALLSYMS_MAX_NAMES_BYTES)
		return false;
	struct kallsyms_symbol sym = { .addr = line.addr, .size = kallsyms_rank(&line) };
	if (sym.size != RANK_DATA) {
		size_t len = line.name_len;
		sym.name = k->text.len;
		sym.module = kallsyms_module(k, line.module);
		buf_add(&k->text, line.name, len < KALLSYMS_MAX_NAME ? len : KALLSYMS_MAX_NAME);
		buf_addc(&k->text, '\0');
	}
	vec_push(&k->symbols, sym);
	return true;
}

/* Sorts by address, the best name first; equal ranks stay in file order, which is that of the
 * names' offsets. */
static int kallsyms_compare(const void *a, const void *b)
{
	const struct kallsyms_symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Sorts the symbols, retains one function per address and sets sizes. */
static void kallsyms_build(struct kallsyms *k)
{
	struct kallsyms_symbol *v = k->symbols.v;
	size_t n = k->symbols.n, kept = 0;
	if (n)
		qsort(v, n, sizeof *v, kallsyms_compare);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && v[next].addr == v[i].addr;)
			next++;
		if (v[i].size == RANK_DATA)
			continue;
		uint64_t size = next < n ? v[next].addr - v[i].addr : KALLSYMS_MAX_SIZE;
		v[kept] = v[i];
		v[kept++].size = size < KALLSYMS_MAX_SIZE ? size : KALLSYMS_MAX_SIZE;
	}
	k->symbols.n = kept;
	if (kept)
		k->symbols.v = xreallocarray(v, k->symbols.cap = kept, sizeof *v);
}

static int kallsyms_read(struct kallsyms *k, int fd, struct err *err)
{
	struct lines *lines = xcalloc(1, sizeof *lines);
	lines->fd = fd;
	bool any_address = false;
	char *line;
	size_t len, taken = 0;
	int rc;
	while ((rc = lines_next(lines, &line, &len, err)) > 0) {
		bool good = kallsyms_add(k, line, &any_address);
		taken += good;
		k->base.skipped += !good && len > 0;
	}
	free(lines);
	if (rc < 0)
		return rc;
	if (taken && !any_address) {
		err_set(err, EPERM, "the kernel hides the addresses of its symbols");
		err_hint(err, "run as root, or: sysctl kernel.kptr_restrict=0");
		return -EPERM;
	}
	return 0;
}

int symbol_open_kallsyms(int fd, struct symbol_source **out, struct err *err)
{
	struct kallsyms *k = xcalloc(1, sizeof *k);
	k->base = (struct symbol_source){ .ops = &kallsyms_ops, .origin = "kallsyms" };
	vec_push(&k->modules, NULL);
	int rc = kallsyms_read(k, fd, err);
	if (rc == 0) {
		kallsyms_build(k);
		if (k->symbols.n == 0)
			rc = err_set(err, ENODATA, "no kernel symbols");
	}
	if (rc < 0)
		symbol_close(&k->base);
	else
		*out = &k->base;
	return rc;
}

/* --- the table -------------------------------------------------------------------------------- */

enum { LEVEL = 3, NO_BLOCK = UINT32_MAX };

struct kernel_block {
	uint64_t first;
	uint32_t at, packed_bytes, plain_bytes; /* at: in packed */
};
struct kernel_table {
	struct symbol_source base;
	uint64_t start; /* addresses are less this */
	VEC(struct kernel_block) blocks;
	struct buf packed;
	VEC(const char *) modules; /* [0] = NULL: the kernel itself */
	struct arena module_text;
	struct buf plain; /* of the block `open`, or of the one being made */
	uint32_t open;
	struct name_cache names; /* by address */
};

static void table_close(struct symbol_source *s)
{
	struct kernel_table *t = (struct kernel_table *)s;

	vec_done(&t->blocks);
	buf_done(&t->packed);
	vec_done(&t->modules);
	arena_done(&t->module_text);
	buf_done(&t->plain);
	name_cache_done(&t->names);
	free(t);
}

/* --- lookup ----------------------------------------------------------------------------------- */

static bool open_block(struct kernel_table *t, uint32_t block)
{
	const struct kernel_block *b = &t->blocks.v[block];

	if (t->open == block)
		return true;
	t->open = NO_BLOCK;
	buf_clear(&t->plain);
	buf_reserve(&t->plain, b->plain_bytes);
	if (ZSTD_decompress(t->plain.data, b->plain_bytes, t->packed.data + b->at,
			    b->packed_bytes) != b->plain_bytes)
		return false;
	t->plain.len = b->plain_bytes;
	t->open = block;
	return true;
}

struct entry {
	uint64_t start, size, module;
	const char *name;
};

/* Returns false at the end of the block. */
static bool next_entry(struct cur *c, struct entry *e)
{
	if (!cur_left(c))
		return false;
	e->start += cur_varint(c);
	e->size = cur_varint(c);
	e->module = cur_varint(c);
	e->name = (const char *)c->p;
	return cur_take(c, strnlen(e->name, cur_left(c)) + 1) != NULL;
}

/* Finds the last function that starts at or before addr. */
static bool find_entry(struct kernel_table *t, uint64_t addr, struct entry *out)
{
	size_t after = vec_upper(&t->blocks, first, addr);
	bool found = false;

	if (!after || !open_block(t, after - 1))
		return false;
	struct entry e = { .start = t->blocks.v[after - 1].first };
	struct cur c = cur_of(t->plain.data, t->plain.len);
	while (next_entry(&c, &e) && e.start <= addr) {
		*out = e;
		found = true;
	}
	return found;
}

static bool table_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct kernel_table *t = (struct kernel_table *)s;
	uint64_t at = addr - t->start;
	struct entry e;

	if (addr < t->start || !find_entry(t, at, &e) || at - e.start >= e.size ||
	    e.module >= t->modules.n)
		return false;
	const struct cached_name *known = name_cache_get(&t->names, e.start);
	const char *copy = known ? NULL : name_cache_copy(&t->names, e.name, strlen(e.name));
	struct cached_name name =
		known ? *known : name_cache_add(&t->names, e.start, copy ? copy : "", "");
	*out = (struct symbol){ .name = name.name,
				.linkage = name.linkage,
				.module = t->modules.v[e.module],
				.start = t->start + e.start,
				.size = e.size };
	return *name.linkage != '\0';
}

/* --- making ----------------------------------------------------------------------------------- */

struct making {
	struct kernel_table *t;
	ZSTD_CCtx *zstd;
	struct buf block;
	uint64_t first, last; /* less the table's start */
	uint32_t n;           /* functions in the block */
};

static void end_block(struct making *m)
{
	struct buf *packed = &m->t->packed;

	if (!m->n)
		return;
	buf_reserve(packed, ZSTD_compressBound(m->block.len));
	size_t len =
		ZSTD_compressCCtx(m->zstd, packed->data + packed->len, packed->cap - packed->len,
				  m->block.data, m->block.len, LEVEL);
	if (ZSTD_isError(len)) /* the buffer is large enough: only memory can be short */
		mem_exhausted();
	vec_push(&m->t->blocks, (struct kernel_block){ .first = m->first,
						       .at = packed->len,
						       .packed_bytes = len,
						       .plain_bytes = m->block.len });
	packed->len += len;
	buf_clear(&m->block);
	m->n = 0;
}

/* Symbols are grouped by module, so the last ones are searched first. */
static uint32_t module_id(struct kernel_table *t, const char *module)
{
	if (!module)
		return 0;
	for (size_t i = t->modules.n; i-- > 1;)
		if (strcmp(t->modules.v[i], module) == 0)
			return i;
	vec_push(&t->modules, arena_dup(&t->module_text, module, strlen(module)));
	return t->modules.n - 1;
}

static void add_varint(struct buf *b, uint64_t v)
{
	char bytes[VARINT_MAX_BYTES];

	buf_add(b, bytes, varint_write(bytes, v));
}

static void add_function(struct making *m, const struct kallsyms *k,
			 const struct kallsyms_symbol *sym)
{
	const char *name = k->text.data + sym->name;
	uint64_t at = sym->addr - m->t->start;

	if (m->n == KERNEL_TABLE_BLOCK)
		end_block(m);
	if (!m->n)
		m->first = m->last = at;
	add_varint(&m->block, at - m->last);
	add_varint(&m->block, sym->size);
	add_varint(&m->block, module_id(m->t, k->modules.v[sym->module]));
	buf_add(&m->block, name, strlen(name) + 1);
	m->last = at;
	m->n++;
}

static const struct symbol_source_ops table_ops = { .lookup = table_lookup, .close = table_close };

static struct kernel_table *table_new(uint64_t start, uint64_t skipped)
{
	struct kernel_table *t = xcalloc(1, sizeof *t);

	t->base = (struct symbol_source){ .ops = &table_ops,
					  .origin = "kallsyms",
					  .skipped = skipped };
	t->start = start;
	t->open = NO_BLOCK;
	vec_push(&t->modules, NULL);
	return t;
}

/* Takes all functions; with end, only the kernel's own, from start to end. */
static struct kernel_table *make_table(const struct kallsyms *all, uint64_t start, uint64_t end)
{
	struct kernel_table *t = table_new(start, all->base.skipped);
	struct making m = { .t = t, .zstd = ZSTD_createCCtx() };

	if (!m.zstd)
		mem_exhausted();
	for (size_t i = 0; i < all->symbols.n; i++) {
		const struct kallsyms_symbol *sym = &all->symbols.v[i];

		if (!end || (!sym->module && sym->addr >= start && sym->addr < end))
			add_function(&m, all, sym);
	}
	end_block(&m);
	ZSTD_freeCCtx(m.zstd);
	buf_done(&m.block);
	return t;
}

/* Frees the unused capacity. */
static void shrink(struct kernel_table *t)
{
	t->packed.data = xrealloc(t->packed.data, t->packed.cap = t->packed.len);
	t->blocks.v = xreallocarray(t->blocks.v, t->blocks.cap = t->blocks.n, sizeof *t->blocks.v);
}

int symbol_open_kernel_table(int fd, struct symbol_source **out, struct err *err)
{
	struct symbol_source *text;
	int rc = symbol_open_kallsyms(fd, &text, err);

	if (rc)
		return rc;
	struct kernel_table *t = make_table((const struct kallsyms *)text, 0, 0);
	shrink(t);
	symbol_close(text);
	*out = &t->base;
	return 0;
}

int kernel_table_of(const struct symbol_source *kallsyms, uint64_t start, uint64_t end,
		    struct symbol_source **out)
{
	struct kernel_table *t = make_table((const struct kallsyms *)kallsyms, start, end);

	if (!t->blocks.n) {
		table_close(&t->base);
		return -ENODATA;
	}
	*out = &t->base;
	return 0;
}

/* --- stored ----------------------------------------------------------------------------------- */

static const char table_magic[8] = "CRKSYMS\1";
enum { STORED_BLOCK_BYTES = 16, STORED_MAX_PLAIN = 1 << 20 };

static void add_u32(struct buf *b, uint32_t v)
{
	v = htole32(v);
	buf_add(b, &v, sizeof v);
}

static void add_u64(struct buf *b, uint64_t v)
{
	v = htole64(v);
	buf_add(b, &v, sizeof v);
}

void kernel_table_write(const struct symbol_source *table, struct buf *out)
{
	const struct kernel_table *t = (const struct kernel_table *)table;
	struct buf body = { 0 };

	add_u32(&body, t->blocks.n);
	for (size_t i = 0; i < t->blocks.n; i++) {
		add_u64(&body, t->blocks.v[i].first);
		add_u32(&body, t->blocks.v[i].packed_bytes);
		add_u32(&body, t->blocks.v[i].plain_bytes);
	}
	buf_add(&body, t->packed.data, t->packed.len);
	buf_add(out, table_magic, sizeof table_magic);
	add_u64(out, hash_bytes(body.data, body.len));
	buf_add(out, body.data, body.len);
	buf_done(&body);
}

static bool read_blocks(struct kernel_table *t, struct cur *c)
{
	uint32_t n = cur_u32(c), at = 0;

	if (!n || n > cur_left(c) / STORED_BLOCK_BYTES)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct kernel_block b = { .first = cur_u64(c), .at = at };

		b.packed_bytes = cur_u32(c);
		b.plain_bytes = cur_u32(c);
		if (b.plain_bytes > STORED_MAX_PLAIN ||
		    __builtin_add_overflow(at, b.packed_bytes, &at))
			return false;
		vec_push(&t->blocks, b);
	}
	if (cur_left(c) != at)
		return false;
	buf_add(&t->packed, c->p, at);
	return true;
}

int kernel_table_read(const void *data, size_t len, uint64_t start, struct symbol_source **out)
{
	struct cur c = cur_of(data, len);
	const void *magic = cur_take(&c, sizeof table_magic);
	uint64_t hash = cur_u64(&c);

	if (c.bad || memcmp(magic, table_magic, sizeof table_magic) != 0 ||
	    hash != hash_bytes(c.p, cur_left(&c)))
		return -EBADMSG;
	struct kernel_table *t = table_new(start, 0);
	if (!read_blocks(t, &c)) {
		table_close(&t->base);
		return -EBADMSG;
	}
	*out = &t->base;
	return 0;
}

uint64_t kernel_table_size_bytes(const struct symbol_source *table)
{
	const struct kernel_table *t = (const struct kernel_table *)table;

	return sizeof *t + vec_size_bytes(&t->blocks) + t->packed.cap + t->plain.cap;
}
