#include "base/utf8.h"
#include "runtime/cpython_code.h"

#include <errno.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd, MAX_CHARS = CPYTHON_MAX_PATH };

/* How its characters are kept. */
struct form {
	uint32_t width; /* bytes a character */
	bool compact, ascii;
};

/* interned:2 kind:3 compact:1 ascii:1, or, from 3.14 on, interned:16 in front. interned is at most 3, so that one of both is not there. */
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

int cpython_str_read(const struct cpython_layout *l, const struct runtime_memory *m, uint64_t addr,
		     uint32_t max_chars, struct buf *out)
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
