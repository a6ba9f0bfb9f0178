/* Makes a symbol table from a Go table, debug information or ELF symbols. */
#include "symbol/symbol_table.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "profile/names.h"
#include "profile/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { PACK_LEVEL = 3, LINES_MAX = 256 };

struct making {
	struct symbol_source *source;
	uint64_t lines_until_ns;
	struct strtab strings;
	struct names functions;
	VEC(struct symbol_table_range) ranges;
};

static void add_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_addc(b, (char)(v | 0x80));
	buf_addc(b, (char)v);
}

/* --- functions -------------------------------------------------------------------------------- */

/* File and first line are those of the outermost function at the symbol's start. */
static struct function describe(struct making *m, const struct symbol *sym, uint64_t offset)
{
	struct function f = { .name = strtab_put(&m->strings, sym->name),
			      .linkage = strtab_put(&m->strings, sym->linkage) };
	struct symbol_line lines[LINES_MAX];
	uint32_t n = 0;

	if (clock_mono_ns() < m->lines_until_ns)
		n = symbol_lines(m->source, offset, lines, LINES_MAX);
	if (n) {
		f.file = strtab_put(&m->strings, lines[n - 1].file);
		f.start_line = lines[n - 1].start_line;
	}
	return f;
}

/* A function interrupted by another one has several pieces. */
static void add_piece(struct making *m, uint64_t start, uint64_t end)
{
	struct symbol_table_range *last = m->ranges.n ? &m->ranges.v[m->ranges.n - 1] : NULL;
	struct symbol sym;

	if (!symbol_lookup(m->source, start, &sym) || !*sym.name)
		return;
	struct function f = describe(m, &sym, start);
	uint32_t id = function_intern(&m->functions, &f);
	if (end - start > UINT32_MAX)
		end = start + UINT32_MAX;
	if (last && last->function == id && last->start + last->size == start &&
	    last->size + (end - start) <= UINT32_MAX)
		last->size += (uint32_t)(end - start);
	else
		vec_push(&m->ranges,
			 (struct symbol_table_range){ start, (uint32_t)(end - start), id });
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int collect(struct making *m, struct err *err)
{
	struct symbol_edges edges = { 0 };
	bool too_many;

	if (!m->source->ops->edges)
		return err_set(err, ENODATA, "a file without function symbols");
	m->source->ops->edges(m->source, &edges);
	too_many = edges.n > 2 * SYMBOL_TABLE_MAX_RANGES;
	if (edges.n && !too_many)
		qsort(edges.v, edges.n, sizeof *edges.v, by_value);
	for (size_t i = 0; i + 1 < edges.n && !too_many; i++)
		if (edges.v[i] < edges.v[i + 1])
			add_piece(m, edges.v[i], edges.v[i + 1]);
	vec_done(&edges);
	if (too_many || m->ranges.n > SYMBOL_TABLE_MAX_RANGES)
		return err_set(err, EFBIG, "the file has more than %d functions",
			       SYMBOL_TABLE_MAX_RANGES);
	return m->ranges.n ? 0 : err_set(err, ENODATA, "the file has no functions");
}

/* --- bytes ------------------------------------------------------------------------------------ */

static void write_plain(const struct making *m, const struct symbol_table_opts *o, struct buf *b)
{
	uint64_t at = 0;
	uint16_t version = htole16(SYMBOL_TABLE_VERSION);

	buf_adds(b, SYMBOL_TABLE_MAGIC);
	buf_add(b, &version, sizeof version);
	buf_addc(b, (char)o->build_id_len);
	buf_add(b, o->build_id, o->build_id_len);
	add_varint(b, m->strings.all.n - 1);
	for (uint32_t i = 1; i < m->strings.all.n; i++) {
		add_varint(b, strtab_len(&m->strings, i));
		buf_add(b, strtab_get(&m->strings, i), strtab_len(&m->strings, i));
	}
	add_varint(b, m->functions.functions.n);
	for (size_t i = 0; i < m->functions.functions.n; i++) {
		const struct function *f = &m->functions.functions.v[i];

		add_varint(b, f->name);
		add_varint(b, f->linkage);
		add_varint(b, f->file);
		add_varint(b, f->start_line);
	}
	add_varint(b, m->ranges.n);
	for (size_t i = 0; i < m->ranges.n; i++) {
		const struct symbol_table_range *r = &m->ranges.v[i];

		add_varint(b, r->start - at);
		add_varint(b, r->size);
		add_varint(b, r->function);
		at = r->start + r->size;
	}
}

static int pack(const struct buf *plain, struct buf *out, struct err *err)
{
	size_t before = out->len;
	ZSTD_CCtx *z = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, PACK_LEVEL);
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	buf_reserve(out, ZSTD_compressBound(plain->len));
	size_t n =
		ZSTD_compress2(z, out->data + before, out->cap - before, plain->data, plain->len);
	ZSTD_freeCCtx(z);
	if (ZSTD_isError(n))
		return err_set(err, ENOMEM, "zstd: %s", ZSTD_getErrorName(n));
	if (n > SYMBOL_TABLE_MAX_PACKED || plain->len > SYMBOL_TABLE_MAX_BYTES)
		return err_set(err, EFBIG, "the symbol table is too large");
	out->len = before + n;
	return 0;
}

int symbol_table_make(int fd, const struct symbol_table_opts *o, struct buf *out, struct err *err)
{
	struct making m = { .lines_until_ns = clock_mono_ns() + o->lines_ns };
	struct buf plain = { 0 };
	int rc = symbol_open_elf(fd, o->locate, o->ctx, &m.source, err);

	if (rc)
		return rc;
	strtab_init(&m.strings);
	rc = collect(&m, err);
	if (rc == 0) {
		write_plain(&m, o, &plain);
		rc = pack(&plain, out, err);
	}
	buf_done(&plain);
	vec_done(&m.ranges);
	names_done(&m.functions);
	strtab_done(&m.strings);
	symbol_close(m.source);
	return rc;
}
