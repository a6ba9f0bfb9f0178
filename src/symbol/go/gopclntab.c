/* Parses the headers of all versions of the table. */
#include "symbol/go/gopclntab.h"

#include "base/search.h"
#include "symbol/elf/elf_layout.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* The differences of the layouts. Positions are bytes from the start of a record. */
struct go_layout {
	uint32_t magic;
	uint8_t since;      /* Go 1.… */
	uint8_t entry_size; /* 8: addresses; 4: relative to the text */
	/* in a function's record, after the name and the tables of values */
	uint8_t pcdata_n_at;
	uint8_t unit_at, start_line_at; /* 0: missing */
	uint8_t flags_at;               /* id, flags, 0, count of funcdata */
	uint8_t inline_pcdata, inline_funcdata;
	uint8_t inlined_size, inlined_name_at, inlined_call_at, inlined_line_at;
};

enum { GO_HEADER_WORDS = 8, GO_HEADER_BYTES = 8 + 8 * GO_HEADER_WORDS };
enum { GO_FLAG_TOPFRAME = 1, GO_FLAG_SPWRITE = 2 };

static const struct go_layout layouts[] = {
	{ .magic = 0xfffffffb,
	  .since = 2,
	  .entry_size = 8,
	  .pcdata_n_at = 32,
	  .flags_at = 36,
	  .inline_pcdata = 2,
	  .inline_funcdata = 4,
	  .inlined_size = 20,
	  .inlined_name_at = 12,
	  .inlined_call_at = 16 },
	{ .magic = 0xfffffffa,
	  .since = 16,
	  .entry_size = 8,
	  .pcdata_n_at = 32,
	  .unit_at = 36,
	  .flags_at = 40,
	  .inline_pcdata = 2,
	  .inline_funcdata = 3,
	  .inlined_size = 20,
	  .inlined_name_at = 12,
	  .inlined_call_at = 16 },
	{ .magic = 0xfffffff0,
	  .since = 18,
	  .entry_size = 4,
	  .pcdata_n_at = 28,
	  .unit_at = 32,
	  .flags_at = 36,
	  .inline_pcdata = 2,
	  .inline_funcdata = 3,
	  .inlined_size = 20,
	  .inlined_name_at = 12,
	  .inlined_call_at = 16 },
	{ .magic = 0xfffffff1,
	  .since = 20,
	  .entry_size = 4,
	  .pcdata_n_at = 28,
	  .unit_at = 32,
	  .start_line_at = 36,
	  .flags_at = 40,
	  .inline_pcdata = 2,
	  .inline_funcdata = 3,
	  .inlined_size = 16,
	  .inlined_name_at = 4,
	  .inlined_call_at = 8,
	  .inlined_line_at = 12 },
};

uint32_t gopclntab_since(const struct gopclntab *t)
{
	return t->kind->since;
}

uint32_t go_u32(struct gopclntab *t, uint64_t at)
{
	uint32_t v;
	file_pages_read(&t->pages, at, &v, sizeof v);
	return v;
}

static uint64_t go_u64(struct gopclntab *t, uint64_t at)
{
	uint64_t v;
	file_pages_read(&t->pages, at, &v, sizeof v);
	return v;
}

/* --- the header ------------------------------------------------------------------------------- */

static const struct go_layout *layout_of(uint32_t magic)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].magic == magic)
			return &layouts[i];
	return NULL;
}

/* Go 1.2: names, values and paths are relative to the start; the list of paths follows functab. */
static bool parts_of_go12(struct gopclntab *t)
{
	t->functab = t->base + 16;
	uint64_t files = go_u32(t, t->functab + 16ull * t->n_functions + 8);
	t->names = t->values = t->base;
	t->files = t->base + files;
	t->n_files = go_u32(t, t->files);
	return t->files < t->end;
}

static bool parts_of_header(struct gopclntab *t)
{
	bool has_text = t->kind->entry_size == 4;
	uint64_t at = t->base + (has_text ? 32 : 24), size = t->end - t->base, part[5];
	for (int i = 0; i < 5; i++) {
		part[i] = go_u64(t, at + 8ull * i);
		if (part[i] >= size)
			return false;
	}
	t->text = has_text ? go_u64(t, t->base + 24) : 0;
	t->names = t->base + part[0];
	t->units = t->base + part[1];
	t->files = t->base + part[2];
	t->values = t->base + part[3];
	t->functab = t->base + part[4];
	return true;
}

bool go_header_read(struct gopclntab *t)
{
	uint8_t h[16];
	if (file_pages_read(&t->pages, t->base, h, sizeof h) < sizeof h)
		return false;
	t->kind = layout_of(go_u32(t, t->base));
	uint64_t n = go_u64(t, t->base + 8);
	if (!t->kind || h[4] || h[5] || (h[6] != 1 && h[6] != 4) || h[7] != 8 || n == 0 ||
	    n > GO_MAX_FUNCTIONS)
		return false;
	t->is_relative = t->kind->entry_size == 4;
	t->quantum = h[6];
	t->n_functions = n;
	if (!(t->kind->unit_at ? parts_of_header(t) : parts_of_go12(t)))
		return false;
	uint64_t bytes = (2 * n + 1) * t->kind->entry_size;
	return t->functab <= t->end && bytes <= t->end - t->functab;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Returns field k of functab: even fields are entries, odd fields offsets of records. */
static uint64_t functab_field(struct gopclntab *t, uint64_t k)
{
	unsigned size = t->kind->entry_size;
	return size == 8 ? go_u64(t, t->functab + k * 8) : go_u32(t, t->functab + k * 4);
}

static uint64_t function_start(struct gopclntab *t, uint32_t i)
{
	return t->text + functab_field(t, 2ull * i);
}

static uint32_t record_u32(const uint8_t *record, unsigned at)
{
	uint32_t v;
	memcpy(&v, record + at, sizeof v);
	return v;
}

/* Funcdata are pointers up to Go 1.17, later offsets from inline_base. */
static uint64_t inline_tree_of(struct gopclntab *t, uint64_t pcdata, uint32_t n_pcdata)
{
	uint64_t at = pcdata + 4ull * n_pcdata;
	unsigned k = t->kind->inline_funcdata;
	if (t->kind->entry_size == 8)
		return go_u64(t, at + (-at & 7) + 8ull * k);
	uint32_t relative = go_u32(t, at + 4ull * k);
	return t->inline_base && relative != UINT32_MAX ? t->inline_base + relative : 0;
}

bool gopclntab_function(struct gopclntab *t, uint32_t i, struct go_function *out)
{
	enum { RECORD_BYTES = 44 };
	const struct go_layout *k = t->kind;
	uint8_t record[RECORD_BYTES];
	if (i >= t->n_functions)
		return false;
	uint64_t at = functab_field(t, 2ull * i + 1);
	/* In Go 1.2 from the start of the table, else from functab. */
	uint64_t from = k->unit_at ? t->functab : t->base;
	if (at >= t->end - from)
		return false;
	at += from;
	file_pages_read(&t->pages, at, record, sizeof record);
	const uint8_t *flags = record + k->flags_at;
	uint32_t n_pcdata = record_u32(record, k->pcdata_n_at), n_funcdata = flags[3];
	*out = (struct go_function){
		.start = function_start(t, i),
		.end = function_start(t, i + 1),
		.name = record_u32(record, k->entry_size),
		.depths = record_u32(record, k->entry_size + 12),
		.file_ids = record_u32(record, k->entry_size + 16),
		.lines = record_u32(record, k->entry_size + 20),
		.unit = k->unit_at ? record_u32(record, k->unit_at) : 0,
		.start_line = k->start_line_at ? record_u32(record, k->start_line_at) : 0,
		.is_outermost = flags[1] & GO_FLAG_TOPFRAME,
		.writes_sp = flags[1] & GO_FLAG_SPWRITE,
	};
	if (out->start >= out->end)
		return false;
	at += k->flags_at + 4;
	if (n_pcdata > k->inline_pcdata && n_funcdata > k->inline_funcdata) {
		out->inline_ids = go_u32(t, at + 4ull * k->inline_pcdata);
		out->inline_tree = inline_tree_of(t, at, n_pcdata);
	}
	return true;
}

bool gopclntab_find(struct gopclntab *t, uint64_t addr, struct go_function *out)
{
	uint32_t after = search_first(i, 0, t->n_functions, function_start(t, i) > addr);
	return after > 0 && gopclntab_function(t, after - 1, out) && addr >= out->start &&
	       addr < out->end;
}

/* Entries are relative to the text in moduledata. To verify it, the first functions must be in
 * code, start where their records say and have names. */
bool go_header_proven(struct gopclntab *t)
{
	enum { PROVED = 4 };
	struct go_function f;
	char name[8];
	for (uint32_t i = 0; i < PROVED && i < t->n_functions; i++)
		if (!gopclntab_function(t, i, &f) || !elf_layout_code_end(t->layout, f.start) ||
		    gopclntab_name(t, f.name, name, sizeof name) == 0)
			return false;
	return true;
}

/* --- values ----------------------------------------------------------------------------------- */

void go_values_begin(struct go_values *v, struct gopclntab *t, const struct go_function *f,
		     uint32_t table)
{
	*v = (struct go_values){ .t = t,
				 .at = t->values + table,
				 .from = f->start,
				 .to = f->start,
				 .end = table ? f->end : f->start,
				 .value = -1 };
}

static uint8_t values_byte(struct go_values *v)
{
	if (v->used == v->n) {
		uint64_t left = v->at < v->t->end ? v->t->end - v->at : 0;
		v->used = 0;
		v->n = sizeof v->bytes < left ? sizeof v->bytes : left;
		if (v->n == 0)
			return 0; /* a 0 ends any table */
		file_pages_read(&v->t->pages, v->at, v->bytes, v->n);
		v->at += v->n;
	}
	return v->bytes[v->used++];
}

static uint32_t values_varint(struct go_values *v)
{
	uint32_t out = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t b = values_byte(v);
		out |= (uint32_t)(b & 0x7f) << shift;
		if (b < 0x80)
			break;
	}
	return out;
}

/* The first difference may be 0, later ones must not be; each step covers at least one pc. */
bool go_values_next(struct go_values *v)
{
	if (v->to >= v->end || v->steps >= GO_MAX_STEPS)
		return false;
	uint32_t zigzag = values_varint(v);
	if (zigzag == 0 && v->steps > 0)
		return false;
	uint64_t distance = (uint64_t)values_varint(v) * v->t->quantum;
	if (distance == 0)
		return false;
	v->steps++;
	v->value = (uint32_t)v->value + (zigzag >> 1 ^ -(zigzag & 1));
	v->from = v->to;
	v->to = distance < v->end - v->from ? v->from + distance : v->end;
	return true;
}

bool gopclntab_value(struct gopclntab *t, const struct go_function *f, uint32_t table,
		     uint64_t addr, int32_t *value)
{
	struct go_values v;
	go_values_begin(&v, t, f, table);
	while (go_values_next(&v))
		if (addr < v.to) {
			*value = v.value;
			return true;
		}
	return false;
}

/* --- names ------------------------------------------------------------------------------------ */

size_t gopclntab_text(struct gopclntab *t, uint64_t at, char *text, size_t size)
{
	if (at >= t->end)
		return 0;
	uint64_t max = t->end - at < size - 1 ? t->end - at : size - 1;
	size_t n = 0;
	while (n < max) {
		size_t part = max - n < 64 ? max - n : 64;
		file_pages_read(&t->pages, at + n, text + n, part);
		size_t len = strnlen(text + n, part);
		n += len;
		if (len < part)
			break;
	}
	text[n] = 0;
	return n;
}

size_t gopclntab_name(struct gopclntab *t, uint32_t name, char *text, size_t size)
{
	return gopclntab_text(t, t->names + name, text, size);
}

uint64_t gopclntab_file(struct gopclntab *t, const struct go_function *f, int32_t file_id)
{
	uint32_t at;
	if (file_id < 0)
		return 0;
	if (t->kind->unit_at) {
		at = go_u32(t, t->units + 4 * ((uint64_t)f->unit + file_id));
		return at == UINT32_MAX ? 0 : t->files + at;
	}
	at = (uint32_t)file_id < t->n_files ? go_u32(t, t->files + 4ull * file_id) : 0;
	return at ? t->base + at : 0;
}

/* Checks that the name starts right after the end of another one: in a tree of another program it
 * would not. */
bool gopclntab_inlined(struct gopclntab *t, const struct go_function *f, int32_t index,
		       struct go_inlined *out)
{
	enum { MAX_INLINED = 1 << 20 };
	const struct go_layout *k = t->kind;
	uint8_t entry[20], before;
	uint64_t at;
	if (!f->inline_tree || index < 0 || index >= MAX_INLINED ||
	    !elf_layout_offset(t->layout, f->inline_tree, &at))
		return false;
	at += (uint64_t)index * k->inlined_size;
	if (file_pages_read(&t->pages, at, entry, k->inlined_size) < k->inlined_size)
		return false;
	uint32_t call = record_u32(entry, k->inlined_call_at);
	out->name = record_u32(entry, k->inlined_name_at);
	out->start_line = k->inlined_line_at ? record_u32(entry, k->inlined_line_at) : 0;
	out->call = f->start + call;
	if (call >= f->end - f->start || t->names + out->name >= t->end)
		return false;
	file_pages_read(&t->pages, t->names + out->name - 1, &before, 1);
	return before == 0 || out->name == 0;
}

void gopclntab_close(struct gopclntab *t)
{
	file_pages_done(&t->pages);
}
