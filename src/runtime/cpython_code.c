/* Reads code objects from a process. */
#include "runtime/cpython_parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "runtime/cpython_layout.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- strings ---------------------------------------------------------------------------------- */

enum { REPLACEMENT = 0xfffd, MAX_CHARS = CPYTHON_MAX_PATH };

/* How a string's characters are stored. */
struct form {
	uint32_t width; /* bytes per character */
	bool compact, ascii;
};

/* interned:2 kind:3 compact:1 ascii:1, or, from 3.14 on, interned:16 first. interned is at most 3,
 * so only one of the two forms matches. */
static bool take_form(uint32_t state, struct form *out)
{
	static const int shifts[] = { 2, 16 };

	for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
		uint32_t bits = state >> shifts[i];

		*out = (struct form){ bits & 7, bits >> 3 & 1, bits >> 4 & 1 };
		if (out->width == 1 || ((out->width == 2 || out->width == 4) && !out->ascii))
			return true;
	}
	return false;
}

static void add_chars(struct buf *out, const uint8_t *data, uint32_t width, size_t n)
{
	uint16_t c2;
	uint32_t c;

	for (size_t i = 0; i < n; i++) {
		if (width == 1) {
			c = data[i];
		} else if (width == 2) {
			memcpy(&c2, data + i * 2, 2);
			c = c2;
		} else {
			memcpy(&c, data + i * 4, 4);
		}
		if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = REPLACEMENT;
		utf8_add(out, c);
	}
}

/* Appends the text of a str object; a longer one is cut and ends in "…". Returns -EBADMSG if it
 * is not a str. */
static int cpython_str_read(const struct cpython_layout *l, const struct runtime_memory *m,
			    uint64_t addr, uint32_t max_chars, struct buf *out)
{
	uint8_t data[MAX_CHARS * 4];
	struct form form;
	uint64_t length, text;
	uint32_t state;
	int rc = m->read(m->ctx, addr + l->str_length, &length, sizeof length);

	if (rc == 0)
		rc = m->read(m->ctx, addr + l->str_state, &state, sizeof state);
	if (rc < 0)
		return rc;
	if (!take_form(state, &form) || length > INT64_MAX)
		return -EBADMSG;
	text = addr + (form.ascii ? l->str_ascii : l->str_compact);
	if (!form.compact && (rc = m->read(m->ctx, addr + l->str_compact, &text, sizeof text)) < 0)
		return rc;
	max_chars = max_chars < MAX_CHARS ? max_chars : MAX_CHARS;
	size_t n = length < max_chars ? length : max_chars;
	if (n && (rc = m->read(m->ctx, text, data, n * form.width)) < 0)
		return rc;
	add_chars(out, data, form.width, n);
	if (length > n)
		buf_adds(out, "…");
	return 0;
}

/* --- the result ------------------------------------------------------------------------------- */

void cpython_code_done(struct cpython_code *c)
{
	free(c->name);
	free(c->file);
	free(c->lines);
	*c = (struct cpython_code){ .name = NULL };
}

size_t cpython_code_size(const struct cpython_code *c)
{
	return sizeof *c + strlen(c->name) + (c->file ? strlen(c->file) : 0) + c->lines_size;
}

/* --- the object ------------------------------------------------------------------------------- */

/* The part of the object before its instructions. */
struct object {
	uint8_t bytes[CPYTHON_MAX_CODE];
};

static uint64_t word_at(const struct object *o, uint16_t at)
{
	uint64_t v;

	memcpy(&v, o->bytes + at, sizeof v);
	return v;
}

static uint32_t int_at(const struct object *o, uint16_t at)
{
	uint32_t v;

	memcpy(&v, o->bytes + at, sizeof v);
	return v;
}

static size_t object_size(const struct cpython_layout *l)
{
	if (l->code_instr)
		return l->code_instr;
	return l->stamp_at + l->stamp_words * 8u;
}

/* The allocator of small objects links freed ones through their first word: a reference count is
 * zero in these bits. */
static bool is_alive(const struct object *o)
{
	uint64_t count = word_at(o, 0);

	return (uint32_t)count && !(count >> 32 & 0xffff);
}

static int read_object(const struct cpython_layout *l, const struct runtime_memory *m,
		       uint64_t addr, uint32_t stamp, uint64_t type, struct object *out)
{
	__u64 words[CPYTHON_MAX_STAMP];
	int rc = m->read(m->ctx, addr, out->bytes, object_size(l));

	if (rc < 0)
		return rc;
	memcpy(words, out->bytes + l->stamp_at, l->stamp_words * sizeof *words);
	if (cpython_stamp(words, l->stamp_words) != stamp || !is_alive(out) ||
	    (type && word_at(out, l->type) != type))
		return -ESTALE;
	return 0;
}

/* --- what it points to ------------------------------------------------------------------------ */

static int read_name(const struct cpython_layout *l, const struct runtime_memory *m,
		     const struct object *o, char **out)
{
	uint16_t at = l->code_qualname ? l->code_qualname : l->code_name;
	struct buf text = { 0 };
	int rc = cpython_str_read(l, m, word_at(o, at), CPYTHON_MAX_NAME, &text);

	if (rc == 0 && !text.len)
		rc = -EBADMSG;
	if (rc == 0)
		*out = buf_steal(&text);
	buf_done(&text);
	return rc;
}

static void read_file(const struct cpython_layout *l, const struct runtime_memory *m,
		      const struct object *o, char **out)
{
	struct buf text = { 0 };

	if (cpython_str_read(l, m, word_at(o, l->code_file), CPYTHON_MAX_PATH, &text) == 0 &&
	    text.len)
		*out = buf_steal(&text);
	buf_done(&text);
}

static void read_lines(const struct cpython_layout *l, const struct runtime_memory *m,
		       const struct object *o, struct cpython_code *out)
{
	uint64_t addr = word_at(o, l->code_lines), size;

	if (m->read(m->ctx, addr + l->bytes_size, &size, sizeof size) < 0 ||
	    size > CPYTHON_MAX_LINES)
		return;
	/* An empty table is valid as well. */
	uint8_t *lines = xmalloc(size + 1);
	if (size && m->read(m->ctx, addr + l->bytes_data, lines, size) < 0) {
		free(lines);
		return;
	}
	out->lines = lines;
	out->lines_size = size;
}

int cpython_code_read(const struct cpython_layout *l, const struct runtime_memory *m, uint64_t addr,
		      uint32_t stamp, uint64_t type, struct cpython_code *out)
{
	struct cpython_code code = { .name = NULL };
	struct object o, again;
	int rc = read_object(l, m, addr, stamp, type, &o);

	if (rc < 0)
		return rc;
	rc = read_name(l, m, &o, &code.name);
	read_file(l, m, &o, &code.file);
	read_lines(l, m, &o, &code);
	code.first_line = int_at(&o, l->code_first_line);
	if (l->code_first_traced)
		code.first_traced = int_at(&o, l->code_first_traced) * 2;
	int now = read_object(l, m, addr, stamp, type, &again);
	if (now < 0 || rc < 0) {
		cpython_code_done(&code);
		return now < 0 ? now : rc;
	}
	*out = code;
	return 0;
}
