#include "symbol/kernel_table.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/varint.h"
#include "base/vec.h"
#include "symbol/kallsyms.h"
#include "symbol/name_cache.h"

#include <string.h>
#include <zstd.h>

enum { LEVEL = 3, NO_BLOCK = UINT32_MAX };

struct kernel_block {
	uint64_t first;
	uint32_t at, packed_bytes, plain_bytes; /* at: in packed */
};
struct kernel_table {
	struct symbol_source base;
	VEC(struct kernel_block) blocks;
	struct buf packed;
	VEC(const char *) modules; /* [0] = NULL: the kernel itself */
	struct arena module_text;
	struct buf plain; /* of the block `open`, or of the one that is being made */
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

/* --- looking up ------------------------------------------------------------------------------- */

/* The last one that begins at or before addr; NO_BLOCK: there is none. */
static uint32_t block_of(const struct kernel_table *t, uint64_t addr)
{
	size_t lo = 0, hi = t->blocks.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->blocks.v[mid].first <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : NO_BLOCK;
}

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

/* False: the block has ended. */
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

/* The last function that begins at or before addr. */
static bool find_entry(struct kernel_table *t, uint64_t addr, struct entry *out)
{
	uint32_t block = block_of(t, addr);
	bool found = false;

	if (block == NO_BLOCK || !open_block(t, block))
		return false;
	struct entry e = { .start = t->blocks.v[block].first };
	struct cur c = cur_of(t->plain.data, t->plain.len);
	while (next_entry(&c, &e) && e.start <= addr) {
		*out = e;
		found = true;
	}
	return found;
}

static struct cached_name name_of(struct kernel_table *t, const struct entry *e)
{
	const struct cached_name *known = name_cache_get(&t->names, e->start);

	if (known)
		return *known;
	const char *copy = name_cache_copy(&t->names, e->name, strlen(e->name));
	return name_cache_add(&t->names, e->start, copy ? copy : "", "");
}

static bool table_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct kernel_table *t = (struct kernel_table *)s;
	struct entry e;

	if (!find_entry(t, addr, &e) || addr - e.start >= e.size || e.module >= t->modules.n)
		return false;
	struct cached_name name = name_of(t, &e);
	*out = (struct symbol){ .name = name.name,
				.linkage = name.linkage,
				.module = t->modules.v[e.module],
				.start = e.start,
				.size = e.size };
	return *name.linkage != '\0';
}

/* --- making ----------------------------------------------------------------------------------- */

struct making {
	struct kernel_table *t;
	ZSTD_CCtx *zstd;
	struct buf block;
	uint64_t first, last;
	uint32_t n; /* functions in the block */
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
	if (ZSTD_isError(len)) /* there is room: only memory can be short */
		mem_gone();
	vec_push(&m->t->blocks, (struct kernel_block){ .first = m->first,
						       .at = packed->len,
						       .packed_bytes = len,
						       .plain_bytes = m->block.len });
	packed->len += len;
	buf_clear(&m->block);
	m->n = 0;
}

/* Modules come one after the other. */
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

static void add_function(void *ctx, const struct symbol *sym)
{
	struct making *m = ctx;

	if (m->n == KERNEL_TABLE_BLOCK)
		end_block(m);
	if (!m->n)
		m->first = m->last = sym->start;
	add_varint(&m->block, sym->start - m->last);
	add_varint(&m->block, sym->size);
	add_varint(&m->block, module_id(m->t, sym->module));
	buf_add(&m->block, sym->linkage, strlen(sym->linkage) + 1);
	m->last = sym->start;
	m->n++;
}

/* Both stay as they are from here on. */
static void fit(struct kernel_table *t)
{
	t->packed.data = xrealloc(t->packed.data, t->packed.cap = t->packed.len);
	t->blocks.v = xreallocarray(t->blocks.v, t->blocks.cap = t->blocks.n, sizeof *t->blocks.v);
}

int symbol_open_kernel_table(int fd, struct symbol_source **out, struct err *err)
{
	static const struct symbol_source_ops ops = { .lookup = table_lookup,
						      .close = table_close };
	struct symbol_source *text;
	int rc = symbol_open_kallsyms(fd, &text, err);

	if (rc)
		return rc;
	struct kernel_table *t = xcalloc(1, sizeof *t);
	struct making m = { .t = t, .zstd = ZSTD_createCCtx() };
	if (!m.zstd)
		mem_gone();
	t->base = (struct symbol_source){ .ops = &ops,
					  .origin = text->origin,
					  .skipped = text->skipped };
	t->open = NO_BLOCK;
	vec_push(&t->modules, NULL);
	kallsyms_each(text, add_function, &m);
	end_block(&m);
	fit(t);
	ZSTD_freeCCtx(m.zstd);
	buf_done(&m.block);
	symbol_close(text);
	*out = &t->base;
	return 0;
}

uint64_t kernel_table_bytes(const struct symbol_source *table)
{
	const struct kernel_table *t = (const struct kernel_table *)table;

	return sizeof *t + vec_size_bytes(&t->blocks) + t->packed.cap + t->plain.cap;
}
