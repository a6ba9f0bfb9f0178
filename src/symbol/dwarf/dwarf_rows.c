/* Runs the line program of a unit. */
#include "symbol/dwarf/dwarf_rows.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/dwarf/dwarf_abbrev.h"
#include "symbol/dwarf/dwarf_die.h"
#include "symbol/dwarf/dwarf_spec.h"
#include "symbol/elf/elf_layout.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FORMS = 16, MAX_OPCODES = 256 };

/* --- header ----------------------------------------------------------------------------------- */

struct line_header {
	struct dwarf_sizes sizes;
	uint8_t min_instruction, max_operations, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[MAX_OPCODES];   /* of each standard opcode */
	uint8_t operations[MAX_OPCODES]; /* advance of each special opcode */
	int16_t lines[MAX_OPCODES];
	const uint8_t *table;  /* after its length */
	uint8_t *copy;         /* owned copy of the table, or NULL */
	uint64_t table_offset; /* in .debug_line */
	struct cur program;
};

/* Opens the whole table, after its length. */
static struct cur table_open(struct dwarf_sections *s, uint64_t offset, struct line_header *h)
{
	struct cur c = sections_cur(s, DWARF_LINE, offset, 12);
	const uint8_t *start = c.p;
	uint64_t length = cur_u32(&c);
	h->sizes.offset = length == UINT32_MAX ? 8 : 4;
	if (length == UINT32_MAX)
		length = cur_u64(&c);
	uint64_t behind = offset + (c.p - start);
	if (c.bad || length > DWARF_MAX_UNIT) {
		cur_fail(&c);
		return c;
	}
	h->table = sections_keep(s, DWARF_LINE, behind, length, &h->copy);
	h->table_offset = behind;
	return cur_of(h->table, h->table ? length : 0);
}

static struct dwarf_path inline_path(const struct line_header *h, struct cur *c)
{
	struct dwarf_path p = { .section = DWARF_LINE,
				.offset = h->table_offset + (c->p - h->table) };
	const uint8_t *nul = memchr(c->p, '\0', cur_left(c));
	if (nul)
		c->p = nul + 1;
	else
		cur_fail(c);
	return p;
}

/* Before version 5: strings, ended by an empty one. */
static void read_old_paths(struct dwarf_rows *rows, const struct line_header *h, struct cur *c)
{
	const struct dwarf_path none = { .section = DWARF_SECTIONS };
	vec_push(&rows->dirs, none);
	while (!c->bad && cur_left(c) && *c->p && rows->dirs.n < DWARF_MAX_FILES)
		vec_push(&rows->dirs, inline_path(h, c));
	cur_u8(c);
	vec_push(&rows->files, none);
	while (!c->bad && cur_left(c) && *c->p && rows->files.n < DWARF_MAX_FILES) {
		struct dwarf_path file = inline_path(h, c);
		file.dir = cur_varint(c);
		cur_varint(c); /* time */
		cur_varint(c); /* size */
		vec_push(&rows->files, file);
	}
	cur_u8(c);
}

struct entry_format {
	unsigned n;
	struct {
		uint64_t content;
		struct dwarf_attr attr;
	} v[MAX_FORMS];
};

static void read_format(struct cur *c, const struct dwarf_sizes *sizes, struct entry_format *f)
{
	f->n = cur_u8(c);
	if (f->n > MAX_FORMS)
		cur_fail(c);
	for (unsigned i = 0; i < f->n && !c->bad; i++) {
		f->v[i].content = cur_varint(c);
		uint64_t form = cur_varint(c);
		f->v[i].attr =
			(struct dwarf_attr){ .form = form, .size = dwarf_form_size(form, sizes) };
		if (form > UINT16_MAX || form == DW_FORM_implicit_const)
			cur_fail(c);
	}
}

static void set_path(struct dwarf_path *p, const struct line_header *h, const struct dwarf_value *v)
{
	p->offset = v->n;
	if (v->form == DW_FORM_string) {
		p->section = DWARF_LINE;
		p->offset = h->table_offset + (v->p - h->table);
	} else if (v->form == DW_FORM_line_strp) {
		p->section = DWARF_LINE_STR;
	} else if (v->form == DW_FORM_strp) {
		p->section = DWARF_STR;
	}
}

static struct dwarf_path read_entry(const struct line_header *h, struct cur *c,
				    const struct entry_format *f)
{
	struct dwarf_path p = { .section = DWARF_SECTIONS };
	for (unsigned i = 0; i < f->n && !c->bad; i++) {
		struct dwarf_value v;
		dwarf_value_read(&h->sizes, c, &f->v[i].attr, &v);
		if (f->v[i].content == DW_LNCT_path)
			set_path(&p, h, &v);
		else if (f->v[i].content == DW_LNCT_directory_index)
			p.dir = v.n;
	}
	return p;
}

/* Version 5: a list of the contents and forms of entries; then the entries. */
static void read_paths(struct dwarf_rows *rows, const struct line_header *h, struct cur *c)
{
	for (unsigned list = 0; list < 2 && !c->bad; list++) {
		struct entry_format format;
		read_format(c, &h->sizes, &format);
		uint64_t n = cur_varint(c);
		if (n > DWARF_MAX_FILES || (n && format.n == 0))
			cur_fail(c);
		for (uint64_t i = 0; i < n && !c->bad; i++) {
			struct dwarf_path p = read_entry(h, c, &format);
			if (list == 0)
				vec_push(&rows->dirs, p);
			else
				vec_push(&rows->files, p);
		}
	}
}

static bool header_read(struct dwarf_rows *rows, struct dwarf_sections *s, uint64_t offset,
			const struct dwarf_sizes *sizes, struct line_header *h)
{
	struct cur c = table_open(s, offset, h);
	h->sizes.version = cur_u16(&c);
	h->sizes.address = sizes->address;
	if (h->sizes.version >= 5) {
		h->sizes.address = cur_u8(&c);
		cur_u8(&c); /* size of segment selectors */
	}
	uint64_t length = h->sizes.offset == 8 ? cur_u64(&c) : cur_u32(&c);
	if (c.bad || h->sizes.version < 2 || h->sizes.version > 5 || length > cur_left(&c))
		return false;
	h->program = cur_of(c.p + length, cur_left(&c) - length);
	c.end = c.p + length;
	h->min_instruction = cur_u8(&c);
	h->max_operations = h->sizes.version >= 4 ? cur_u8(&c) : 1;
	cur_u8(&c); /* default_is_stmt */
	h->line_base = cur_u8(&c);
	h->line_range = cur_u8(&c);
	h->opcode_base = cur_u8(&c);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->operands[i] = cur_u8(&c);
	if (c.bad || h->line_range == 0 || h->opcode_base == 0)
		return false;
	for (unsigned i = h->opcode_base; i < MAX_OPCODES; i++) {
		h->operations[i] = (i - h->opcode_base) / h->line_range;
		h->lines[i] = h->line_base + (i - h->opcode_base) % h->line_range;
	}
	if (h->sizes.version < 5)
		read_old_paths(rows, h, &c);
	else
		read_paths(rows, h, &c);
	rows->skipped |= c.bad;
	return true;
}

/* --- program ---------------------------------------------------------------------------------- */

/* Rows up to an end_sequence, with ascending addresses. */
struct sequence {
	uint64_t low;
	size_t first, n;
};

/* The registers of the line number state machine. */
struct line_state {
	uint64_t addr, line, file;
	uint32_t operation;
};

struct line_program {
	const struct line_header *h;
	const struct elf_layout *layout;
	struct dwarf_rows *rows;
	VEC(struct sequence) sequences;
	size_t first;               /* first row of the current sequence */
	bool falls;                 /* its addresses are not ascending: the rest of it is dropped */
	struct dwarf_call_row call; /* context and name for the next rows */
	size_t first_call;          /* of the current sequence */
};

static struct line_state program_reset(struct line_program *p)
{
	p->first = p->rows->v.n;
	p->falls = false;
	p->call = (struct dwarf_call_row){ 0 };
	p->first_call = p->rows->calls.n;
	return (struct line_state){ .line = 1, .file = 1 };
}

static inline struct line_state program_advance(const struct line_header *h, struct line_state at,
						uint64_t operations)
{
	if (h->max_operations > 1) {
		operations += at.operation;
		at.operation = operations % h->max_operations;
		operations /= h->max_operations;
	}
	at.addr += operations * h->min_instruction;
	return at;
}

static void program_keep(struct line_program *p, uint64_t addr, uint32_t file, uint32_t line)
{
	struct dwarf_call_row row = { addr, p->call.name, file, line, p->call.context };
	if (p->rows->calls.n < p->rows->keep_calls)
		vec_push(&p->rows->calls, row);
	else
		p->falls = p->rows->skipped = true;
}

static inline void program_add(struct line_program *p, uint64_t addr, uint32_t file, uint32_t line)
{
	struct dwarf_rows *rows = p->rows;
	struct dwarf_row *last = rows->v.n > p->first ? &rows->v.v[rows->v.n - 1] : NULL;
	if ((last && addr < last->addr) || rows->v.n >= DWARF_MAX_ROWS)
		p->falls = rows->skipped = true;
	if (p->falls)
		return;
	struct dwarf_row row = { addr, file, line };
	if (last && last->addr == addr)
		*last = row;
	else if (!last || last->file != file || last->line != line)
		vec_push(&rows->v, row);
}

static inline void program_row(struct line_program *p, struct line_state at)
{
	if (p->rows->keep_calls)
		program_keep(p, at.addr, at.file, at.line);
	program_add(p, at.addr, at.file, at.line);
}

static struct line_state program_end_sequence(struct line_program *p, uint64_t addr)
{
	struct dwarf_rows *rows = p->rows;
	size_t n = rows->v.n - p->first;
	if (rows->keep_calls)
		program_keep(p, addr, ROW_GAP, 0);
	if (n && !elf_layout_code_end(p->layout, rows->v.v[p->first].addr)) {
		rows->v.n = p->first;
	} else if (n) {
		p->falls = false;
		program_add(p, addr, ROW_GAP, 0);
		struct sequence made = { rows->v.v[p->first].addr, p->first, rows->v.n - p->first };
		vec_push(&p->sequences, made);
	}
	return program_reset(p);
}

static struct line_state program_extended(struct line_program *p, const uint8_t *body, uint64_t len,
					  struct line_state at)
{
	struct cur in = cur_of(body, len);
	switch (cur_u8(&in)) {
	case DW_LNE_end_sequence:
		return program_end_sequence(p, at.addr);
	case DW_LNE_set_address:
		at.addr = len - 1 == 8 ? cur_u64(&in) : cur_u32(&in);
		at.operation = 0;
		break;
	case DW_LNE_define_file: {
		struct dwarf_path file = inline_path(p->h, &in);
		file.dir = cur_varint(&in);
		if (!in.bad && p->rows->files.n < DWARF_MAX_FILES)
			vec_push(&p->rows->files, file);
		break;
	}
	case DW_LNE_NVIDIA_inlined_call: {
		uint64_t context = cur_varint(&in);
		p->call.context =
			context && context <= DWARF_MAX_ROWS ? p->first_call + context : 0;
		p->call.name = cur_varint(&in);
		break;
	}
	case DW_LNE_NVIDIA_set_function_name:
		p->call.name = cur_varint(&in);
		break;
	}
	return at;
}

static inline struct line_state program_standard(struct line_program *p, struct cur *c,
						 uint8_t opcode, struct line_state at)
{
	const struct line_header *h = p->h;
	switch (opcode) {
	case DW_LNS_extended_op: {
		uint64_t len = cur_varint(c);
		const uint8_t *body = cur_take(c, len);
		return body && len ? program_extended(p, body, len, at) : at;
	}
	case DW_LNS_copy:
		program_row(p, at);
		break;
	case DW_LNS_advance_pc:
		return program_advance(h, at, cur_varint(c));
	case DW_LNS_advance_line:
		at.line += dwarf_sleb(c);
		break;
	case DW_LNS_set_file:
		at.file = cur_varint(c);
		break;
	case DW_LNS_const_add_pc:
		return program_advance(h, at, h->operations[MAX_OPCODES - 1]);
	case DW_LNS_fixed_advance_pc:
		at.addr += cur_u16(c);
		at.operation = 0;
		break;
	default: /* unused or unknown opcodes */
		for (unsigned i = 0; i < h->operands[opcode]; i++)
			cur_varint(c);
	}
	return at;
}

/* One iteration per byte or two of the table: state and cursor are passed by value or inlined, so
 * that they stay in registers. */
static void program_run(struct line_program *p)
{
	const struct line_header *h = p->h;
	const uint8_t opcode_base = h->opcode_base;
	struct cur c = h->program;
	struct line_state at = program_reset(p);
	while (c.p < c.end) {
		uint8_t opcode = *c.p++;
		if (opcode >= opcode_base) {
			at = program_advance(h, at, h->operations[opcode]);
			at.line += h->lines[opcode];
			program_row(p, at);
		} else {
			at = program_standard(p, &c, opcode, at);
		}
	}
	p->rows->skipped |= c.bad || p->rows->v.n > p->first;
	p->rows->v.n = p->first; /* drop a sequence without end */
}

static int sequence_compare(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Sorts sequences by address; the table has them in any order. */
static void sort_sequences(struct line_program *p)
{
	struct dwarf_rows *rows = p->rows;
	bool sorted = true;
	for (size_t i = 1; i < p->sequences.n; i++)
		sorted &= p->sequences.v[i - 1].low <= p->sequences.v[i].low;
	if (sorted)
		return;
	qsort(p->sequences.v, p->sequences.n, sizeof *p->sequences.v, sequence_compare);
	struct dwarf_row *v = xreallocarray(NULL, rows->v.n, sizeof *v);
	size_t n = 0;
	for (size_t i = 0; i < p->sequences.n; i++) {
		const struct sequence *q = &p->sequences.v[i];
		memcpy(v + n, rows->v.v + q->first, q->n * sizeof *v);
		n += q->n;
	}
	free(rows->v.v);
	rows->v.v = v;
	rows->v.n = rows->v.cap = n;
}

uint64_t rows_next(struct dwarf_sections *s, uint64_t offset)
{
	struct cur c = sections_cur(s, DWARF_LINE, offset, 12);
	const uint8_t *start = c.p;
	uint64_t length = cur_u32(&c), size = s->s[DWARF_LINE].size;
	if (length == UINT32_MAX)
		length = cur_u64(&c);
	uint64_t behind = offset + (c.p - start);
	return c.bad || length >= size || behind >= size - length ? 0 : behind + length;
}

void rows_read(struct dwarf_rows *rows, struct dwarf_sections *s, uint64_t offset,
	       const struct dwarf_sizes *sizes, const char *comp_dir, size_t comp_dir_len,
	       const struct elf_layout *layout)
{
	struct line_header h = { 0 };
	struct line_program p = { .h = &h, .layout = layout, .rows = rows };
	if (header_read(rows, s, offset, sizes, &h)) {
		/* Since version 5 the compilation directory is the first directory. */
		if (comp_dir && h.sizes.version < 5)
			rows->comp_dir = arena_dup(&rows->text, comp_dir, comp_dir_len);
		program_run(&p);
		sort_sequences(&p);
		rows->v.v = xreallocarray(rows->v.v, rows->v.n ? rows->v.n : 1, sizeof *rows->v.v);
		rows->v.cap = rows->v.n;
	} else {
		rows->skipped = true;
	}
	vec_done(&p.sequences);
	free(h.copy);
}

void rows_done(struct dwarf_rows *rows)
{
	vec_done(&rows->v);
	vec_done(&rows->dirs);
	vec_done(&rows->files);
	vec_done(&rows->calls);
	free(rows->paths);
	arena_done(&rows->text);
}

size_t rows_bytes(const struct dwarf_rows *rows)
{
	return rows->v.cap * sizeof *rows->v.v + rows->text.total +
	       (rows->dirs.cap + rows->files.cap) * sizeof *rows->files.v;
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* If sequences overlap, the later one counts. */
const struct dwarf_row *rows_find(const struct dwarf_rows *rows, uint64_t addr)
{
	size_t after = vec_upper(&rows->v, addr, addr);
	return after && rows->v.v[after - 1].file != ROW_GAP ? &rows->v.v[after - 1] : NULL;
}

static void path_add(struct buf *b, const char *part, size_t len)
{
	if (!part || len == 0)
		return;
	if (*part == '/')
		buf_clear(b);
	else if (b->len && b->data[b->len - 1] != '/')
		buf_addc(b, '/');
	buf_add(b, part, len);
}

static void path_add_entry(struct buf *b, struct dwarf_sections *s, const struct dwarf_path *p)
{
	size_t len = 0;
	const char *text = p->section < DWARF_SECTIONS
				   ? sections_string(s, p->section, p->offset, &len)
				   : NULL;
	path_add(b, text, len);
}

const char *rows_path(struct dwarf_rows *rows, struct dwarf_sections *s, uint32_t file)
{
	if (file >= rows->files.n || rows->files.v[file].section == DWARF_SECTIONS)
		return NULL;
	if (!rows->paths)
		rows->paths = xcalloc(rows->files.n, sizeof *rows->paths);
	if (rows->paths[file])
		return rows->paths[file];
	const struct dwarf_path *p = &rows->files.v[file];
	struct buf b = { 0 };
	if (rows->comp_dir)
		path_add(&b, rows->comp_dir, strlen(rows->comp_dir));
	if (p->dir < rows->dirs.n) {
		if (p->dir)
			path_add_entry(&b, s, &rows->dirs.v[0]);
		path_add_entry(&b, s, &rows->dirs.v[p->dir]);
	}
	path_add_entry(&b, s, p);
	b.len = b.len < DWARF_MAX_PATH ? b.len : DWARF_MAX_PATH;
	if (b.len)
		rows->paths[file] = arena_dup(&rows->text, b.data, b.len);
	buf_done(&b);
	return rows->paths[file];
}
