#include "unwind/table.h"

#include "base/hash.h"
#include "base/vec.h"
#include "symbol/elf_layout.h"
#include "unwind/cfi_file.h"
#include "unwind/go_rows.h"

#include <errno.h>
#include <string.h>

/* A row is (file offset << 16 | rule): sorted as a number it is sorted by offset. */
enum { ROW_RULE_BITS = 16 };
#define ROW_MAX_OFFSET (1ull << 48)

/* A function's rows. */
struct table_function {
	uint64_t start; /* file offset */
	uint32_t first, n;
};

struct table_build {
	struct elf_layout layout;
	VEC(uint64_t) rows;
	VEC(struct table_function) functions;
	VEC(struct unwind_rule) rules;
	struct map rule_index;
	struct unwind_table *out;
	int rc;
};

static uint64_t row_offset(uint64_t row)
{
	return row >> ROW_RULE_BITS;
}

static uint16_t row_rule(uint64_t row)
{
	return row;
}

/* --- rules ------------------------------------------------------------------------------------- */

static uint8_t packed(enum unwind_kind kind, uint8_t reg)
{
	return kind << 5 | reg;
}

static bool fits_16(int64_t v)
{
	return v == (int16_t)v;
}

static bool fits_32(int64_t v)
{
	return v == (int32_t)v;
}

/* False when a rule cannot say it. */
static bool pack_cfa(const struct cfi_place *p, struct unwind_rule *out)
{
	static const uint8_t kinds[] = {
		[CFI_NONE] = UNWIND_NONE,      [CFI_UNDEFINED] = UNWIND_OTHER,
		[CFI_OFFSET] = UNWIND_REG,     [CFI_VALUE] = UNWIND_OTHER,
		[CFI_REGISTER] = UNWIND_OTHER, [CFI_DEREF] = UNWIND_DEREF,
		[CFI_PLT] = UNWIND_PLT,        [CFI_OTHER] = UNWIND_OTHER,
	};
	if (kinds[p->kind] == UNWIND_OTHER || p->reg > 31 || !fits_32(p->offset) ||
	    !fits_16(p->add))
		return false;
	out->cfa = packed(kinds[p->kind], p->reg);
	out->cfa_offset = p->offset;
	out->cfa_add = p->add;
	return true;
}

static uint8_t pack_register(const struct cfi_place *p)
{
	static const uint8_t kinds[] = {
		[CFI_NONE] = UNWIND_NONE,    [CFI_UNDEFINED] = UNWIND_UNDEFINED,
		[CFI_OFFSET] = UNWIND_CFA,   [CFI_VALUE] = UNWIND_OTHER,
		[CFI_REGISTER] = UNWIND_REG, [CFI_DEREF] = UNWIND_DEREF,
		[CFI_PLT] = UNWIND_OTHER,    [CFI_OTHER] = UNWIND_OTHER,
	};
	return p->reg > 31 ? packed(UNWIND_OTHER, 0) : packed(kinds[p->kind], p->reg);
}

static struct unwind_rule pack_rule(const struct cfi_rule *r)
{
	struct unwind_rule out = { .flags = (r->is_signal ? UNWIND_SIGNAL : 0) |
					    (r->ra_is_signed ? UNWIND_RA_SIGNED : 0) };
	if (!pack_cfa(&r->cfa, &out))
		return (struct unwind_rule){ .cfa = packed(UNWIND_OTHER, 0) };
	out.fp = fits_32(r->fp.offset) ? pack_register(&r->fp) : packed(UNWIND_OTHER, 0);
	out.fp_offset = UNWIND_KIND(out.fp) == UNWIND_OTHER ? 0 : r->fp.offset;
	out.ra = fits_16(r->ra.offset) ? pack_register(&r->ra) : packed(UNWIND_OTHER, 0);
	out.ra_offset = UNWIND_KIND(out.ra) == UNWIND_OTHER ? 0 : r->ra.offset;
	return out;
}

struct rule_key {
	const struct table_build *b;
	const struct unwind_rule *rule;
};

static bool rule_same(const void *ctx, uint32_t id)
{
	const struct rule_key *key = ctx;
	return memcmp(&key->b->rules.v[id], key->rule, sizeof *key->rule) == 0;
}

static uint32_t rule_intern(struct table_build *b, const struct unwind_rule *rule)
{
	struct rule_key key = { b, rule };
	uint32_t fresh = b->rules.n;
	uint32_t id =
		map_intern(&b->rule_index, hash_bytes(rule, sizeof *rule), fresh, rule_same, &key);
	if (id == fresh)
		vec_push(&b->rules, *rule);
	return id;
}

/* --- rows -------------------------------------------------------------------------------------- */

static bool add_row(struct table_build *b, uint64_t offset, uint32_t rule)
{
	if (rule >= UNWIND_MAX_RULES || offset >= ROW_MAX_OFFSET || b->rows.n >= UNWIND_MAX_ROWS) {
		b->rc = -E2BIG;
		return false;
	}
	vec_push(&b->rows, offset << ROW_RULE_BITS | rule);
	return true;
}

/* Rows of a function, and its end: rule 0. */
static bool on_fde(void *ctx, const struct cfi_fde *fde)
{
	struct table_build *b = ctx;
	struct table_function f = { .first = b->rows.n, .n = fde->n + 1 };
	if (!elf_layout_offset(&b->layout, fde->start, &f.start)) {
		b->out->skipped++;
		return true;
	}
	for (size_t i = 0; i < fde->n; i++) {
		struct unwind_rule rule = pack_rule(&fde->rows[i].rule);
		if (!add_row(b, f.start + (fde->rows[i].addr - fde->start), rule_intern(b, &rule)))
			return false;
	}
	if (!add_row(b, f.start + (fde->end - fde->start), 0))
		return false;
	vec_push(&b->functions, f);
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct table_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

/* Puts the functions in order. One that reaches into the next is cut there. */
static void sort_rows(struct table_build *b)
{
	uint64_t *sorted = xreallocarray(NULL, b->rows.n, sizeof *sorted);
	size_t n = 0;
	if (b->functions.n)
		qsort(b->functions.v, b->functions.n, sizeof *b->functions.v, by_start);
	for (size_t i = 0; i < b->functions.n; i++) {
		const struct table_function *f = &b->functions.v[i];
		uint64_t end = i + 1 < b->functions.n ? f[1].start : UINT64_MAX;
		for (uint32_t k = f->first; k < f->first + f->n && row_offset(b->rows.v[k]) <= end;
		     k++)
			sorted[n++] = b->rows.v[k];
	}
	free(b->rows.v);
	b->rows.v = sorted;
	b->rows.cap = b->rows.n;
	b->rows.n = n;
}

/* Of rows at one offset the last counts; one that says what the row before says is none. */
static void merge_rows(struct table_build *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->rows.n; i++) {
		uint64_t row = b->rows.v[i];
		if (i + 1 < b->rows.n && row_offset(b->rows.v[i + 1]) == row_offset(row))
			continue;
		if (n ? row_rule(b->rows.v[n - 1]) == row_rule(row) : row_rule(row) == 0)
			continue;
		b->rows.v[n++] = row;
	}
	b->rows.n = n;
}

/* Numbers the rules by how often they are used: those beyond a byte cost more. Rule 0 stays. */
struct rule_use {
	uint64_t used;
	uint32_t rule;
};

static int by_use(const void *a, const void *b)
{
	const struct rule_use *x = a, *y = b;
	if (x->used != y->used)
		return x->used < y->used ? 1 : -1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static void renumber_rules(struct table_build *b)
{
	size_t n = b->rules.n;
	struct rule_use *use = xcalloc(n, sizeof *use);
	struct unwind_rule *rules = xcalloc(n, sizeof *rules);
	uint16_t *new_id = xcalloc(n, sizeof *new_id);
	for (size_t i = 0; i < n; i++)
		use[i].rule = i;
	for (size_t i = 0; i < b->rows.n; i++)
		use[row_rule(b->rows.v[i])].used++;
	qsort(use + 1, n - 1, sizeof *use, by_use);
	for (size_t i = 0; i < n; i++) {
		new_id[use[i].rule] = i;
		rules[i] = b->rules.v[use[i].rule];
	}
	for (size_t i = 0; i < b->rows.n; i++) {
		uint64_t row = b->rows.v[i];
		b->rows.v[i] = row_offset(row) << ROW_RULE_BITS | new_id[row_rule(row)];
	}
	memcpy(b->rules.v, rules, n * sizeof *rules);
	free(use);
	free(rules);
	free(new_id);
}

/* --- the image --------------------------------------------------------------------------------- */

static void fill_chunk(struct buf *image)
{
	static const char zeros[64];
	while (image->len % UNWIND_CHUNK) {
		size_t more = UNWIND_CHUNK - image->len % UNWIND_CHUNK;
		buf_add(image, zeros, more < sizeof zeros ? more : sizeof zeros);
	}
}

static void put_u32(struct buf *image, size_t at, uint32_t v)
{
	memcpy(image->data + at, &v, sizeof v);
}

static void put_number(struct buf *image, uint16_t v, bool wide)
{
	buf_add(image, &v, wide ? 2 : 1); /* little endian */
}

/* Appends the block of n rows of one page; returns its directory entry. */
static uint32_t put_block(struct buf *image, const uint64_t *rows, size_t n, uint16_t carry)
{
	enum { PAGE_MASK = (1 << UNWIND_PAGE_BITS) - 1 };
	bool wide = carry > UINT8_MAX || n > UINT8_MAX;
	for (size_t i = 0; i < n; i++)
		wide |= row_rule(rows[i]) > UINT8_MAX;
	size_t size = (n + 1) * (wide ? 4 : 2);
	if (image->len % UNWIND_CHUNK + size > UNWIND_CHUNK)
		fill_chunk(image);
	uint32_t entry =
		image->len / UNWIND_CHUNK << UNWIND_DIR_AT_BITS | image->len % UNWIND_CHUNK / 2;
	put_number(image, n, wide);
	put_number(image, carry, wide);
	for (size_t i = 0; i < n; i++) {
		put_number(image, row_offset(rows[i]) & PAGE_MASK, wide);
		put_number(image, row_rule(rows[i]), wide);
	}
	return wide ? entry | UNWIND_DIR_WIDE : entry;
}

static int put_directory(struct table_build *b)
{
	struct unwind_table *t = b->out;
	uint64_t first = row_offset(b->rows.v[0]) >> UNWIND_PAGE_BITS;
	uint64_t last = row_offset(b->rows.v[b->rows.n - 1]) >> UNWIND_PAGE_BITS;
	if (last - first >= (uint64_t)UNWIND_MAX_CHUNKS / 2 * UNWIND_DIR_PER_CHUNK)
		return -E2BIG;
	t->ref.dir_chunk = t->image.len / UNWIND_CHUNK;
	t->ref.first_page = first;
	t->ref.n_pages = last - first + 1;
	size_t bytes = (size_t)t->ref.n_pages * 4;
	buf_reserve(&t->image, bytes);
	memset(t->image.data + t->image.len, 0, bytes);
	t->image.len += bytes;
	fill_chunk(&t->image);
	return 0;
}

static int put_blocks(struct table_build *b)
{
	struct unwind_table *t = b->out;
	size_t dir = (size_t)t->ref.dir_chunk * UNWIND_CHUNK, i = 0;
	uint16_t carry = 0;
	for (uint32_t page = 0; page < t->ref.n_pages; page++) {
		uint64_t end = ((uint64_t)t->ref.first_page + page + 1) << UNWIND_PAGE_BITS;
		size_t from = i;
		while (i < b->rows.n && row_offset(b->rows.v[i]) < end)
			i++;
		uint32_t entry = from == i
					 ? UNWIND_DIR_RULE | carry
					 : put_block(&t->image, &b->rows.v[from], i - from, carry);
		put_u32(&t->image, dir + (size_t)page * 4, entry);
		if (from < i)
			carry = row_rule(b->rows.v[i - 1]);
		if (t->image.len > (uint64_t)UNWIND_MAX_CHUNKS * UNWIND_CHUNK)
			return -E2BIG;
	}
	fill_chunk(&t->image);
	return 0;
}

static int put_image(struct table_build *b, struct err *err)
{
	if (b->rows.n == 0)
		return err_set(err, ENODATA, "no function with call frame information");
	renumber_rules(b);
	b->out->n_functions = b->functions.n;
	b->out->n_rows = b->rows.n;
	b->out->n_rules = b->rules.n;
	buf_add(&b->out->image, b->rules.v, b->rules.n * sizeof *b->rules.v);
	fill_chunk(&b->out->image);
	int rc = put_directory(b);
	if (rc == 0)
		rc = put_blocks(b);
	return rc ? err_set(err, -rc, "its code is spread too far") : 0;
}

/* --- ------------------------------------------------------------------------------------------- */

/* The functions of a Go program; -ENODATA: it is none. */
static int read_go(struct table_build *b, const struct elf_file *f, struct err *err)
{
	struct gopclntab go;
	int rc = gopclntab_open(&go, f, &b->layout, err);
	if (rc)
		return rc;
	rc = go_rows_read(&go, f->header.e_machine, on_fde, b, &b->out->skipped, err);
	gopclntab_close(&go);
	return rc;
}

/* Go's linker writes a .debug_frame that knows less than gopclntab; .eh_frame is of the C in it. */
static int read_cfi(struct table_build *b, const struct elf_file *f, bool is_go, struct err *err)
{
	struct buf data = { 0 };
	struct cfi_section section;
	int rc = cfi_file_section(f, &data, &section, err);
	if (rc == 0 && !(is_go && section.is_debug_frame))
		rc = cfi_read(&section, on_fde, b, &b->out->skipped, err);
	buf_done(&data);
	return rc;
}

static int build_from(struct table_build *b, const struct elf_file *f, struct err *err)
{
	static const struct unwind_rule no_rule;
	int rc = elf_layout_read(&b->layout, f, err);
	if (rc)
		return rc;
	rule_intern(b, &no_rule);
	bool is_go = read_go(b, f, NULL) == 0;
	rc = read_cfi(b, f, is_go, is_go ? NULL : err);
	if (b->rc)
		return err_set(err, -b->rc, "more than %d rows or %d rules", UNWIND_MAX_ROWS,
			       UNWIND_MAX_RULES);
	if (rc && !is_go)
		return rc;
	sort_rows(b);
	merge_rows(b);
	return put_image(b, err);
}

int unwind_table_build(int fd, struct unwind_table *out, struct err *err)
{
	struct elf_file f;
	struct unwind_table t = { 0 };
	struct table_build b = { .out = &t };
	int rc = elf_file_open(&f, fd, err);
	if (rc)
		return rc;
	rc = build_from(&b, &f, err);
	elf_file_close(&f);
	elf_layout_done(&b.layout);
	vec_done(&b.rows);
	vec_done(&b.functions);
	vec_done(&b.rules);
	map_done(&b.rule_index);
	if (rc)
		unwind_table_done(&t);
	else
		*out = t;
	return rc;
}

void unwind_table_done(struct unwind_table *t)
{
	buf_done(&t->image);
	*t = (struct unwind_table){ 0 };
}

static uint16_t number_at(const uint8_t *p, bool wide)
{
	return wide ? p[0] | p[1] << 8 : p[0];
}

/* The rule of the last row at or before lo. */
static uint16_t block_find(const uint8_t *block, bool wide, uint8_t lo)
{
	unsigned size = wide ? 2 : 1, n = number_at(block, wide);
	uint16_t rule = number_at(block + size, wide);
	for (unsigned i = 1; i <= n; i++) {
		const uint8_t *row = block + 2 * (size_t)i * size;
		if (number_at(row, wide) > lo)
			break;
		rule = number_at(row + size, wide);
	}
	return rule;
}

const struct unwind_rule *unwind_table_find(const struct unwind_table *t, uint64_t offset)
{
	const uint8_t *image = (const uint8_t *)t->image.data;
	uint64_t page = (offset >> UNWIND_PAGE_BITS) - t->ref.first_page;
	uint32_t entry, rule;
	if (page >= t->ref.n_pages)
		return NULL;
	memcpy(&entry, image + (size_t)t->ref.dir_chunk * UNWIND_CHUNK + page * 4, sizeof entry);
	if (entry & UNWIND_DIR_RULE) {
		rule = entry & (UNWIND_MAX_RULES - 1);
	} else {
		bool wide = entry & UNWIND_DIR_WIDE;
		uint32_t place = entry & ~UNWIND_DIR_WIDE;
		size_t at = (size_t)(place >> UNWIND_DIR_AT_BITS) * UNWIND_CHUNK +
			    (place & ((1u << UNWIND_DIR_AT_BITS) - 1)) * 2;
		rule = block_find(image + at, wide, offset);
	}
	return rule ? (const struct unwind_rule *)image + rule : NULL;
}
