/* Encodes strings, functions and entries. */
#include "store/codec/names_chunk.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEVEL = 1,                                              /* of zstd */
	MAX_FUNCTIONS = NAMES_CHUNK_ENTRIES * NAMES_MAX_INLINE, /* one each line */
	MAX_STRINGS = 3 * MAX_FUNCTIONS,
};

void names_chunk_init(struct names_chunk *c)
{
	*c = (struct names_chunk){ 0 };
	strtab_init(&c->strings);
}

void names_chunk_done(struct names_chunk *c)
{
	strtab_done(&c->strings);
	names_done(&c->names);
	vec_done(&c->entries);
}

/* --- lines ------------------------------------------------------------------------------------ */

struct names_lines names_chunk_lines(const struct names_chunk *c, const struct names_entry *e)
{
	return (struct names_lines){ &c->strings, &c->names, c->names.lines.v + e->run.first,
				     e->run.n };
}

void names_copy_init(struct names_copy *c, const struct strtab *strings, const struct names *names)
{
	*c = (struct names_copy){ .from_strings = strings, .from_names = names };
	c->string = xcalloc(strings->all.n, sizeof *c->string);
	c->function = xcalloc(names->functions.n + 1, sizeof *c->function);
}

void names_copy_done(struct names_copy *c)
{
	free(c->string);
	free(c->function);
	*c = (struct names_copy){ 0 };
}

void names_copy_to(struct names_copy *c, struct strtab *strings, struct names *names)
{
	c->strings = strings;
	c->names = names;
	c->alone = false;
	c->turn++;
}

void names_copy_alone(struct names_copy *c, struct names_chunk *into)
{
	names_copy_to(c, &into->strings, &into->names);
	c->alone = true;
}

static bool is_there(const struct names_copy *c, uint64_t noted)
{
	return noted >> 32 == c->turn;
}

static uint64_t note_there(const struct names_copy *c, uint32_t id)
{
	return (uint64_t)c->turn << 32 | id;
}

static uint32_t put_string(struct names_copy *c, uint32_t id)
{
	struct strtab *to = c->strings;

	if (!c->alone)
		return strtab_putn(to, strtab_get(c->from_strings, id),
				   strtab_len(c->from_strings, id));
	vec_push(&to->all, c->from_strings->all.v[id]);
	return to->all.n - 1;
}

static uint32_t put_function(struct names_copy *c, const struct function *f)
{
	if (!c->alone)
		return function_intern(c->names, f);
	vec_push(&c->names->functions, *f);
	return c->names->functions.n - 1;
}

static uint32_t string_there(struct names_copy *c, uint32_t id)
{
	if (id && !is_there(c, c->string[id]))
		c->string[id] = note_there(c, put_string(c, id));
	return id ? c->string[id] : 0;
}

static uint32_t function_there(struct names_copy *c, uint32_t id)
{
	struct function f = c->from_names->functions.v[id];

	if (!is_there(c, c->function[id])) {
		f.name = string_there(c, f.name);
		f.linkage = string_there(c, f.linkage);
		f.file = string_there(c, f.file);
		c->function[id] = note_there(c, put_function(c, &f));
	}
	return c->function[id];
}

void names_copy_lines(struct names_copy *c, const struct names_lines *lines, struct line *out)
{
	for (uint32_t i = 0; i < lines->n; i++) {
		out[i] = lines->lines[i];
		out[i].function = function_there(c, out[i].function);
	}
}

static const struct function *line_function(const struct names_lines *l, uint32_t i)
{
	return &l->names->functions.v[l->lines[i].function];
}

bool names_lines_less(const struct names_lines *a, const struct names_lines *b)
{
	if (a->n != b->n)
		return a->n < b->n;
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t x = line_detail(line_function(a, i), &a->lines[i]);
		uint32_t y = line_detail(line_function(b, i), &b->lines[i]);

		if (x != y)
			return x < y;
	}
	return false;
}

static bool same_string(const struct names_lines *a, uint32_t x, const struct names_lines *b,
			uint32_t y)
{
	uint32_t len = strtab_len(a->strings, x);

	return len == strtab_len(b->strings, y) &&
	       memcmp(strtab_get(a->strings, x), strtab_get(b->strings, y), len) == 0;
}

static bool same_line(const struct names_lines *a, const struct names_lines *b, uint32_t i)
{
	const struct function *x = line_function(a, i), *y = line_function(b, i);

	return a->lines[i].line == b->lines[i].line && a->lines[i].column == b->lines[i].column &&
	       x->start_line == y->start_line && same_string(a, x->name, b, y->name) &&
	       same_string(a, x->file, b, y->file) && same_string(a, x->linkage, b, y->linkage);
}

bool names_lines_equal(const struct names_lines *a, const struct names_lines *b)
{
	bool same = a->n == b->n;

	for (uint32_t i = 0; same && i < a->n; i++)
		same = same_line(a, b, i);
	return same;
}

/* --- entries ---------------------------------------------------------------------------------- */

void names_chunk_append(struct names_chunk *c, uint64_t offset, const struct names_lines *lines,
			struct names_copy *from)
{
	struct line copy[NAMES_MAX_INLINE];
	struct names_entry e = { offset, { c->names.lines.n, lines->n } };

	names_copy_lines(from, lines, copy);
	vec_append(&c->names.lines, copy, lines->n);
	vec_push(&c->entries, e);
}

const struct names_entry *names_chunk_find(const struct names_chunk *c, uint64_t offset)
{
	size_t i = vec_lower(&c->entries, offset, offset);

	return i < c->entries.n && c->entries.v[i].offset == offset ? &c->entries.v[i] : NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_tables(const struct names_chunk *c, struct buf *b)
{
	pb_put_varint(b, c->strings.all.n - 1);
	for (uint32_t i = 1; i < c->strings.all.n; i++) {
		pb_put_varint(b, strtab_len(&c->strings, i));
		buf_add(b, strtab_get(&c->strings, i), strtab_len(&c->strings, i));
	}
	pb_put_varint(b, c->names.functions.n);
	for (size_t i = 0; i < c->names.functions.n; i++) {
		const struct function *f = &c->names.functions.v[i];

		pb_put_varint(b, f->name);
		pb_put_varint(b, f->linkage);
		pb_put_varint(b, f->file);
		pb_put_varint(b, f->start_line);
	}
}

static void put_entries(const struct names_chunk *c, struct buf *b)
{
	uint64_t before = 0;

	pb_put_varint(b, c->entries.n);
	for (size_t i = 0; i < c->entries.n; i++) {
		const struct names_entry *e = &c->entries.v[i];
		const struct line *l = c->names.lines.v + e->run.first;

		pb_put_varint(b, e->offset - before);
		before = e->offset;
		pb_put_varint(b, e->run.n);
		for (uint32_t k = 0; k < e->run.n; k++) {
			pb_put_varint(b, l[k].function);
			pb_put_varint(b, l[k].line);
			pb_put_varint(b, l[k].column);
		}
	}
}

static void pack(struct names_packer *p)
{
	const struct buf *raw = &p->raw;
	struct buf *out = &p->packed;

	if (!p->zstd)
		p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		mem_exhausted();
	buf_clear(out);
	buf_reserve(out, ZSTD_compressBound(raw->len));
	out->len = ZSTD_compressCCtx(p->zstd, out->data, out->cap, raw->data, raw->len, LEVEL);
	if (ZSTD_isError(out->len)) /* space is available, so this is out of memory */
		mem_exhausted();
}

void names_packer_done(struct names_packer *p)
{
	ZSTD_freeCCtx(p->zstd);
	buf_done(&p->raw);
	buf_done(&p->packed);
	buf_done(&p->strings.bytes);
	buf_done(&p->functions.bytes);
	buf_done(&p->entries.bytes);
	*p = (struct names_packer){ 0 };
}

static bool pack_if_it_fits(struct names_packer *p, size_t entries)
{
	if (p->raw.len > NAMES_CHUNK_MAX_BYTES && entries > 1)
		return false;
	pack(p);
	return true;
}

bool names_chunk_encode(const struct names_chunk *c, struct names_packer *p)
{
	buf_clear(&p->raw);
	put_tables(c, &p->raw);
	put_entries(c, &p->raw);
	return pack_if_it_fits(p, c->entries.n);
}

/* --- writing lists without a chunk ------------------------------------------------------------ */

static void table_begin(struct names_pack_table *t)
{
	buf_clear(&t->bytes);
	t->n = 0;
}

static void table_end(const struct names_pack_table *t, struct buf *raw)
{
	pb_put_varint(raw, t->n);
	buf_add(raw, t->bytes.data, t->bytes.len);
}

void names_pack_begin(struct names_packer *p, struct names_copy *from)
{
	names_copy_to(from, NULL, NULL);
	table_begin(&p->strings);
	table_begin(&p->functions);
	table_begin(&p->entries);
	p->before = 0;
}

static uint32_t pack_string(struct names_packer *p, struct names_copy *from, uint32_t id)
{
	struct buf *b = &p->strings.bytes;

	if (id == 0)
		return 0;
	if (!is_there(from, from->string[id])) {
		struct strtab_entry e = from->from_strings->all.v[id];

		pb_put_varint(b, e.len);
		buf_add(b, e.s, e.len);
		from->string[id] = note_there(from, ++p->strings.n);
	}
	return from->string[id];
}

static uint32_t pack_function(struct names_packer *p, struct names_copy *from, uint32_t id)
{
	const struct function *f = &from->from_names->functions.v[id];
	struct buf *b = &p->functions.bytes;

	if (!is_there(from, from->function[id])) {
		pb_put_varint(b, pack_string(p, from, f->name));
		pb_put_varint(b, pack_string(p, from, f->linkage));
		pb_put_varint(b, pack_string(p, from, f->file));
		pb_put_varint(b, f->start_line);
		from->function[id] = note_there(from, p->functions.n++);
	}
	return from->function[id];
}

void names_pack_add(struct names_packer *p, uint64_t offset, const struct names_lines *lines,
		    struct names_copy *from)
{
	struct buf *b = &p->entries.bytes;

	pb_put_varint(b, offset - p->before);
	pb_put_varint(b, lines->n);
	for (uint32_t i = 0; i < lines->n; i++) {
		pb_put_varint(b, pack_function(p, from, lines->lines[i].function));
		pb_put_varint(b, lines->lines[i].line);
		pb_put_varint(b, lines->lines[i].column);
	}
	p->before = offset;
	p->entries.n++;
}

bool names_pack_end(struct names_packer *p)
{
	struct buf *raw = &p->raw;

	buf_clear(raw);
	buf_reserve(raw, p->strings.bytes.len + p->functions.bytes.len + p->entries.bytes.len +
				 3 * VARINT_MAX_BYTES);
	table_end(&p->strings, raw);
	table_end(&p->functions, raw);
	table_end(&p->entries, raw);
	return pack_if_it_fits(p, p->entries.n);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A number below the limit. */
static uint32_t get_below(struct cur *c, uint64_t limit)
{
	uint64_t v = cur_varint(c);

	if (v >= limit)
		cur_fail(c);
	return c->bad ? 0 : v;
}

/* Builds no index, as strings are only read: an index costs more than all else here. */
static bool get_strings(struct cur *c, struct strtab *t)
{
	uint32_t n = get_below(c, MAX_STRINGS + 1);

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		uint32_t len = get_below(c, STRTAB_MAX_LEN + 1);
		const void *s = cur_take(c, len);

		if (s)
			vec_push(&t->all,
				 (struct strtab_entry){ arena_dup(&t->arena, s, len), len });
	}
	return !c->bad;
}

static bool get_functions(struct cur *c, struct names_chunk *into)
{
	uint32_t n = get_below(c, MAX_FUNCTIONS + 1);

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		struct function f;

		f.name = get_below(c, into->strings.all.n);
		f.linkage = get_below(c, into->strings.all.n);
		f.file = get_below(c, into->strings.all.n);
		f.start_line = get_below(c, 1ull << 32);
		if (!c->bad)
			vec_push(&into->names.functions, f);
	}
	return !c->bad;
}

static void get_lines(struct cur *c, struct names_chunk *into, struct names_entry *e)
{
	e->run.first = into->names.lines.n;
	e->run.n = get_below(c, NAMES_MAX_INLINE + 1);
	for (uint32_t k = 0; k < e->run.n && !c->bad; k++) {
		struct line l;

		l.function = get_below(c, into->names.functions.n);
		l.line = get_below(c, 1ull << 32);
		l.column = get_below(c, 1ull << 32);
		vec_push(&into->names.lines, l);
	}
}

static bool get_entries(struct cur *c, struct names_chunk *into)
{
	uint32_t n = get_below(c, NAMES_CHUNK_ENTRIES + 1);
	uint64_t offset = 0;

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		uint64_t gap = cur_varint(c);
		struct names_entry e;

		if ((gap == 0 && i > 0) || offset + gap < offset)
			cur_fail(c);
		offset += gap;
		e.offset = offset;
		get_lines(c, into, &e);
		vec_push(&into->entries, e);
	}
	return !c->bad && cur_left(c) == 0;
}

int names_chunk_decode(const void *data, size_t len, struct names_chunk *into, struct err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(data, len);
	struct buf raw = { 0 };
	bool good = false;

	if (size <= NAMES_CHUNK_MAX_BYTES) { /* unknown and error are huge */
		buf_reserve(&raw, size + 1);
		if (ZSTD_decompress(raw.data, size, data, len) == size) {
			struct cur c = cur_of(raw.data, size);
			good = get_strings(&c, &into->strings) && get_functions(&c, into) &&
			       get_entries(&c, into);
		}
	}
	buf_done(&raw);
	return good ? 0 : err_set(err, EBADMSG, "damaged names");
}
