/* Builds pages and blocks from rows. */
#include "unwind/table.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/go/gopclntab.h"
#include "unwind/cfi.h"
#include "unwind/go_rows.h"
#include "unwind/rule_set.h"

#include <errno.h>
#include <string.h>

/* A row is (file offset << 16 | rule): sorting the numbers sorts by offset. */
enum { ROW_RULE_BITS = 16 };
#define ROW_MAX_OFFSET (1ull << 48)

/* The rows of a function, packed into two to three bytes each: a large library has a million rows,
 * and they are most of the memory that the collector briefly needs.
 *
 *     varint size of the function, then for each row: varint bytes since the previous row (first:
 *     0), varint rule */
struct table_function {
	uint64_t start; /* file offset */
	uint32_t at, n; /* at: in rows */
};

struct table_build {
	struct elf_layout layout;
	struct buf rows;
	uint32_t n_rows;
	uint64_t last; /* offset of the previous row */
	VEC(struct table_function) functions;
	struct rule_set rules;
	uint16_t *number;          /* new number of each rule, by use */
	uint16_t gap;              /* the rule of gaps */
	bool has_signals;          /* a signal's frame is described */
	bool needs_bx, follows_bx; /* needs_bx: a CFA is on rbx; follows_bx: rules give its place */
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

/* --- rows ------------------------------------------------------------------------------------- */

static void put(struct table_build *b, uint64_t v)
{
	if (b->rows.cap - b->rows.len < VARINT_MAX_BYTES)
		buf_reserve(&b->rows, VARINT_MAX_BYTES);
	b->rows.len += varint_write(b->rows.data + b->rows.len, v);
}

/* Its n rows follow. */
static void begin_function(struct table_build *b, uint64_t start, uint64_t size, uint32_t n)
{
	vec_push(&b->functions, (struct table_function){ start, b->rows.len, n });
	put(b, size);
	b->last = start;
}

static bool add_row(struct table_build *b, uint64_t offset, uint32_t rule)
{
	if (rule >= UNWIND_MAX_RULES || b->n_rows >= UNWIND_MAX_ROWS) {
		b->rc = -E2BIG;
		return false;
	}
	put(b, offset - b->last);
	put(b, rule);
	b->last = offset;
	b->n_rows++;
	return true;
}

/* Finds a function's place in the file; false if any part of it has none. */
static bool find_function(const struct table_build *b, const struct cfi_fde *fde, uint64_t *start)
{
	uint64_t last;
	return elf_layout_offset(&b->layout, fde->start, start) &&
	       elf_layout_offset(&b->layout, fde->end - 1, &last) &&
	       last - *start == fde->end - 1 - fde->start && last < ROW_MAX_OFFSET - 1;
}

/* Adds the rows of a function, and its end as rule 0. */
static bool on_fde(void *ctx, const struct cfi_fde *fde)
{
	struct table_build *b = ctx;
	uint64_t start, size = fde->end - fde->start;
	if (!find_function(b, fde, &start)) {
		b->out->skipped++;
		return true;
	}
	begin_function(b, start, size, fde->n + 1);
	b->has_signals |= fde->rows[0].rule.is_signal;
	for (size_t i = 0; i < fde->n; i++) {
		b->needs_bx |= fde->rows[i].rule.cfa.kind == CFI_OFFSET &&
			       fde->rows[i].rule.cfa.reg == CFI_BX;
		uint32_t rule = rule_set_add(&b->rules, &fde->rows[i].rule);
		if (!add_row(b, start + (fde->rows[i].addr - fde->start), rule))
			return false;
	}
	return add_row(b, start + size, 0);
}

static int by_start(const void *a, const void *b)
{
	const struct table_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static void sort_functions(struct table_build *b)
{
	size_t i = 1;
	while (i < b->functions.n && b->functions.v[i - 1].start <= b->functions.v[i].start)
		i++;
	if (i < b->functions.n)
		qsort(b->functions.v, b->functions.n, sizeof *b->functions.v, by_start);
}

/* Iterates over all rows in order. A function that extends into the next one is cut there. Of rows
 * at one offset the last counts. A row that repeats the previous rule is left out. */
struct row_walk {
	const struct table_build *b;
	size_t function;
	uint32_t k;       /* index in its rows */
	struct cur rows;  /* the rows from there on */
	uint64_t offset;  /* of the previous row */
	uint64_t waiting; /* the last row read: the next may be at the same offset */
	bool has_waiting;
	uint16_t rule; /* of the last row returned */
};

/* Returns the next row of the functions one after another. A gap that is just padding before the
 * next function is never run: it is treated as part of the previous function, which saves one row
 * in eight. A gap of a few instructions has code from linkers and the C library's start files;
 * longer gaps have code of other kinds. */
enum { PADDING = 15, GAP_MAX = 256, FUNCTIONS_PER_GAP = 16 };

static struct cur rows_of(const struct table_build *b, const struct table_function *f,
			  uint64_t *size)
{
	struct cur c = cur_of(b->rows.data + f->at, b->rows.len - f->at);
	*size = cur_varint(&c);
	return c;
}

static uint64_t end_of(const struct table_build *b, const struct table_function *f)
{
	uint64_t size;
	rows_of(b, f, &size);
	return f->start + size;
}

static uint64_t read_row(struct row_walk *w, const struct table_function *f)
{
	uint64_t size;
	if (w->k++ == 0) {
		w->rows = rows_of(w->b, f, &size);
		w->offset = f->start;
	}
	w->offset += cur_varint(&w->rows);
	return w->offset << ROW_RULE_BITS | cur_varint(&w->rows);
}

static bool next_raw_row(struct row_walk *w, uint64_t *row)
{
	const struct table_build *b = w->b;
	for (; w->function < b->functions.n; w->function++, w->k = 0) {
		const struct table_function *f = &b->functions.v[w->function];
		uint64_t end = w->function + 1 < b->functions.n ? f[1].start : UINT64_MAX;
		if (w->k == f->n)
			continue;
		*row = read_row(w, f);
		bool is_last = w->k == f->n;
		if (row_offset(*row) > end || (is_last && end - row_offset(*row) <= PADDING)) {
			w->k = f->n;
			continue;
		}
		if (is_last && (end - row_offset(*row) <= GAP_MAX || end == UINT64_MAX))
			*row |= b->gap;
		return true;
	}
	return false;
}

static bool next_row(struct row_walk *w, uint64_t *out)
{
	uint64_t row = 0;
	for (bool more = true; more;) {
		uint64_t last = w->waiting;
		more = next_raw_row(w, &row);
		bool counts = w->has_waiting && row_rule(last) != w->rule &&
			      !(more && row_offset(row) == row_offset(last));
		w->waiting = row;
		w->has_waiting = more;
		if (!counts)
			continue;
		w->rule = row_rule(last);
		*out = last;
		return true;
	}
	return false;
}

/* --- the image -------------------------------------------------------------------------------- */

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

static uint8_t *put_pair(uint8_t *to, uint16_t a, uint16_t b, bool wide)
{
	if (!wide) {
		to[0] = a;
		to[1] = b;
		return to + 2;
	}
	to[0] = a;
	to[1] = a >> 8;
	to[2] = b;
	to[3] = b >> 8;
	return to + 4;
}

struct page_row {
	uint8_t lo; /* byte of the page */
	uint16_t rule;
};

/* Appends the block of n rows of one page; returns its directory entry. */
static uint32_t put_block(struct buf *image, const struct page_row *rows, size_t n, uint16_t carry)
{
	bool wide = carry > UINT8_MAX || n > UINT8_MAX;
	for (size_t i = 0; i < n; i++)
		wide |= rows[i].rule > UINT8_MAX;
	size_t size = (n + 1) * (wide ? 4 : 2);
	if (wide && image->len % 4)
		buf_add(image, "\0", 2);
	if (image->len % UNWIND_CHUNK + size > UNWIND_CHUNK)
		fill_chunk(image);
	uint32_t entry =
		image->len / UNWIND_CHUNK << UNWIND_DIR_AT_BITS | image->len % UNWIND_CHUNK / 2;
	buf_reserve(image, size);
	uint8_t *to = put_pair((uint8_t *)image->data + image->len, n, carry, wide);
	for (size_t i = 0; i < n; i++)
		to = put_pair(to, rows[i].lo, rows[i].rule, wide);
	image->len += size;
	return wide ? entry | UNWIND_DIR_WIDE : entry;
}

static int put_directory(struct table_build *b)
{
	struct unwind_table *t = b->out;
	const struct table_function *end = &b->functions.v[b->functions.n - 1];
	uint64_t first = b->functions.v[0].start >> UNWIND_PAGE_BITS;
	uint64_t last = end_of(b, end) >> UNWIND_PAGE_BITS;
	first -= first > 0; /* for the gaps before and after */
	last++;
	if (last - first >= UNWIND_MAX_IMAGE / 2 / 4)
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
	struct row_walk w = { .b = b };
	struct page_row rows[1 << UNWIND_PAGE_BITS];
	size_t dir = (size_t)t->ref.dir_chunk * UNWIND_CHUNK;
	uint16_t carry = b->number[b->gap];
	uint64_t row;
	bool more = next_row(&w, &row);
	for (uint32_t page = 0; page < t->ref.n_pages; page++) {
		uint64_t end = ((uint64_t)t->ref.first_page + page + 1) << UNWIND_PAGE_BITS;
		size_t n = 0;
		for (; more && row_offset(row) < end; more = next_row(&w, &row), t->n_rows++)
			rows[n++] = (struct page_row){ row_offset(row), b->number[row_rule(row)] };
		uint32_t entry = n ? put_block(&t->image, rows, n, carry) : UNWIND_DIR_RULE | carry;
		put_u32(&t->image, dir + (size_t)page * 4, entry);
		carry = n ? rows[n - 1].rule : carry;
		if (t->image.len > UNWIND_MAX_IMAGE)
			return -E2BIG;
	}
	fill_chunk(&t->image);
	return 0;
}

static int put_image(struct table_build *b, struct err *err)
{
	if (b->functions.n == 0)
		return err_set(err, ENODATA, "no function with call frame information");
	sort_functions(b);
	b->gap = rule_set_add_gap(&b->rules, b->functions.n / FUNCTIONS_PER_GAP);
	b->number = rule_set_sort(&b->rules);
	b->out->n_functions = b->functions.n;
	b->out->n_rules = b->rules.rules.n;
	buf_add(&b->out->image, b->rules.rules.v, b->rules.rules.n * sizeof *b->rules.rules.v);
	fill_chunk(&b->out->image);
	int rc = put_directory(b);
	if (rc == 0)
		rc = put_blocks(b);
	return rc ? err_set(err, -rc, "a table of more than %d MiB", UNWIND_MAX_IMAGE >> 20) : 0;
}

/* --- reading a file --------------------------------------------------------------------------- */

static int read_section(struct table_build *b, const struct elf_file *f, enum cfi_file_kind kind,
			struct err *err)
{
	struct buf data = { 0 };
	struct cfi_section section;
	uint64_t skipped = 0;
	int rc = cfi_file_section(f, kind, &data, &section, err);
	if (rc == 0 && b->follows_bx)
		section.arch = cfi_arch_with_bx(section.arch);
	if (rc == 0) {
		/* Untouched memory costs nothing, but growing copies it. The rows are a third of
		 * the section. */
		buf_reserve(&b->rows, section.size);
		rc = cfi_read(&section, on_fde, b, &skipped, err);
	}
	b->out->skipped += skipped;
	buf_done(&data);
	return rc;
}

static bool is_covered(const struct table_build *b, uint64_t offset)
{
	for (size_t i = 0; i < b->functions.n; i++) {
		const struct table_function *f = &b->functions.v[i];
		if (f->start <= offset && end_of(b, f) > offset)
			return true;
	}
	return false;
}

static bool add_function(struct table_build *b, uint64_t start, uint64_t end, uint32_t rule)
{
	begin_function(b, start, end - start, 2);
	return add_row(b, start, rule) && add_row(b, end, 0);
}

/* The lookup for the caller of a signal handler uses the byte before the handler's return
 * address. */
static void add_restorers(struct table_build *b, const struct elf_file *f)
{
	uint64_t offsets[RESTORER_MAX];
	struct cfi_rule rule = restorer_rule();
	size_t n = b->has_signals ? 0 : restorer_find(f, &b->layout, offsets);
	for (size_t i = 0; i < n; i++) {
		uint32_t id = rule_set_add(&b->rules, &rule);
		uint64_t start = offsets[i];
		if (start && !is_covered(b, start - 1) && !add_function(b, start - 1, start, id))
			return;
		if (!add_function(b, start, start + RESTORER_SIZE, id))
			return;
	}
}

/* The information that Go's linker writes for debuggers leaves out the frame pointer: the line
 * table, or frame pointers, are better. Other linkers, used for programs that contain C, drop the
 * section of the line table, but not this one. */
static bool is_go(const struct elf_file *f)
{
	GElf_Shdr shdr;
	return elf_file_section(f, ".go.buildinfo", SHT_NULL, &shdr) ||
	       elf_file_section(f, ".note.go.buildid", SHT_NULL, &shdr);
}

/* Reads the functions of its line table. Returns -ENODATA if it lacks one. */
static int read_go(struct table_build *b, const struct elf_file *f)
{
	struct gopclntab go;
	int rc = gopclntab_open(&go, f, &b->layout, NULL);
	if (rc)
		return rc;
	rc = go_rows_read(&go, f->header.e_machine, on_fde, b, &b->out->skipped, NULL);
	gopclntab_close(&go);
	return rc;
}

/* Of two functions at one place the later one counts: that of .eh_frame. In most files it has all
 * functions, but in files compiled without it only the few of the C library's startup code. */
static int read_frames(struct table_build *b, const struct elf_file *f, struct err *err)
{
	bool go = read_go(b, f) == 0 || is_go(f);
	struct err debug_err = { 0 };
	int debug_rc = go ? -ENODATA : read_section(b, f, CFI_DEBUG_FRAME, &debug_err);
	int rc = read_section(b, f, CFI_EH_FRAME, err);
	if (!go && b->rc == 0)
		add_restorers(b, f);
	if (b->rc)
		return err_set(err, -b->rc, "more than %d rows or %d rules", UNWIND_MAX_ROWS,
			       UNWIND_MAX_RULES);
	if (b->functions.n) {
		b->out->skipped += rc && rc != -ENODATA; /* the rest of a damaged section */
		return 0;
	}
	if (rc == -ENODATA && debug_rc != -ENODATA) {
		rc = debug_rc;
		if (err)
			*err = debug_err;
	}
	return rc;
}

static int read_again_with_bx(struct table_build *b, const struct elf_file *f, struct err *err)
{
	b->rows.len = b->functions.n = b->n_rows = 0;
	b->out->skipped = 0;
	b->follows_bx = true;
	rule_set_done(&b->rules);
	memset(&b->rules, 0, sizeof b->rules);
	rule_set_init(&b->rules);
	return read_frames(b, f, err);
}

static int build_from(struct table_build *b, const struct elf_file *f, struct err *err)
{
	int rc = elf_layout_read(&b->layout, f, err);
	if (rc)
		return rc;
	rule_set_init(&b->rules);
	rc = read_frames(b, f, err);
	if (rc == 0 && b->needs_bx && f->header.e_machine == EM_X86_64)
		rc = read_again_with_bx(b, f, err);
	return rc ? rc : put_image(b, err);
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
	buf_done(&b.rows);
	vec_done(&b.functions);
	rule_set_done(&b.rules);
	free(b.number);
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

/* Returns the rule of the last row at or before lo. */
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
