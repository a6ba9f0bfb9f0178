/* Strings of V8: flat, put together from two, part of another, a stand-in, or outside of the
 * heap. */
#include "runtime/v8_parts.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <errno.h>

/* An instance type below 128: the representation in three bits, one for narrow characters, one for
 * strings outside of the heap without their address in the string. */
enum { SEQUENTIAL = 0, CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5 };
enum { REPRESENTATION = 7, IS_NARROW = 8, IS_UNCACHED = 16, FIRST_OTHER_TYPE = 128 };
enum { MAX_STEPS = 1024, MAX_PENDING = 64 };

/* A part of a string that is still to be read. */
struct part {
	uint64_t tagged;
	uint32_t from, n; /* characters */
};
struct search {
	const struct v8_reader *r;
	struct v8_text *out;
	struct part pending[MAX_PENDING];
	uint32_t n;
};

static int push(struct search *s, uint64_t tagged, uint32_t from, uint32_t n)
{
	if (s->n == MAX_PENDING)
		return -E2BIG;
	if (n)
		s->pending[s->n++] = (struct part){ tagged, from, n };
	return 0;
}

static int add_flat(struct search *s, uint64_t at, bool is_wide, const struct part *p)
{
	if (s->out->n == V8_MAX_PIECES)
		return -E2BIG;
	s->out->pieces[s->out->n++] =
		(struct v8_piece){ at + (uint64_t)p->from * (is_wide ? 2 : 1), p->n, is_wide };
	return 0;
}

static int split(struct search *s, const struct part *p)
{
	const struct v8_layout *l = s->r->layout;
	uint64_t first, second;
	uint32_t n = 0, n_second = 0, length = 0;
	int rc = v8_field(s->r, p->tagged, l->cons_first, &first);

	rc = rc < 0 ? rc : v8_field(s->r, p->tagged, l->cons_second, &second);
	rc = rc < 0 ? rc : v8_field32(s->r, p->tagged, l->string_length, &length);
	rc = rc < 0 ? rc : v8_field32(s->r, first, l->string_length, &n);
	rc = rc < 0 ? rc : v8_field32(s->r, second, l->string_length, &n_second);
	if (rc == 0 && (uint64_t)n + n_second != length)
		rc = -EBADMSG;
	if (rc < 0)
		return rc;
	uint32_t left = p->from < n ? n - p->from : 0;
	left = left < p->n ? left : p->n;
	uint32_t right_from = p->from > n ? p->from - n : 0;
	/* The last one pushed is read first. */
	rc = push(s, second, right_from, p->n - left);
	return rc < 0 ? rc : push(s, first, p->from, left);
}

static int follow(struct search *s, const struct part *p, uint32_t offset, uint32_t more)
{
	uint64_t to;
	int rc = v8_field(s->r, p->tagged, offset, &to);

	if (rc == 0 && more > UINT32_MAX - p->from)
		rc = -EBADMSG;
	return rc < 0 ? rc : push(s, to, p->from + more, p->n);
}

static int slice(struct search *s, const struct part *p)
{
	uint64_t offset;
	int rc = v8_field(s->r, p->tagged, s->r->layout->sliced_offset, &offset);

	return rc < 0 ? rc : follow(s, p, s->r->layout->sliced_parent, offset >> 32);
}

static int step(struct search *s, const struct part *p)
{
	const struct v8_layout *l = s->r->layout;
	uint32_t length;
	uint64_t at = p->tagged - 1 + l->chars;
	uint16_t type;
	int rc = v8_type(s->r, p->tagged, &type);

	rc = rc < 0 ? rc : v8_field32(s->r, p->tagged, l->string_length, &length);
	if (rc < 0)
		return rc;
	if (type >= FIRST_OTHER_TYPE || p->from > length || p->n > length - p->from)
		return -EBADMSG;
	switch (type & REPRESENTATION) {
	case SEQUENTIAL:
		return add_flat(s, at, !(type & IS_NARROW), p);
	case CONS:
		return split(s, p);
	case SLICED:
		return slice(s, p);
	case THIN:
		return follow(s, p, l->thin_actual, 0);
	case EXTERNAL:
		if (type & IS_UNCACHED)
			return -EBADMSG;
		rc = v8_field(s->r, p->tagged, l->external_resource + 8, &at);
		return rc < 0 ? rc : add_flat(s, at, !(type & IS_NARROW), p);
	}
	return -EBADMSG;
}

int v8_text_find(const struct v8_reader *r, uint64_t tagged, uint32_t max, struct v8_text *out)
{
	struct search s = { .r = r, .out = out };
	uint32_t length;
	int rc = v8_field32(r, tagged, r->layout->string_length, &length);

	if (rc < 0)
		return rc;
	if (length > max)
		return -E2BIG;
	out->n = 0;
	out->n_characters = length;
	/* An empty string is checked as well. */
	s.pending[s.n++] = (struct part){ tagged, 0, length };
	for (uint32_t steps = 0; s.n && rc == 0; steps++) {
		struct part p = s.pending[--s.n];

		rc = steps == MAX_STEPS ? -E2BIG : step(&s, &p);
	}
	return rc;
}

static void add_wide(const uint16_t *c, uint32_t n, struct buf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c1 = c[i], c2 = i + 1 < n ? c[i + 1] : 0;

		if (c1 >> 10 == 0x36 && c2 >> 10 == 0x37) {
			utf8_add(out, 0x10000 + ((c1 & 0x3ff) << 10) + (c2 & 0x3ff));
			i++;
		} else {
			utf8_add(out, !c1 || c1 >> 11 == 0x1b ? 0xfffd : c1);
		}
	}
}

int v8_text_read(const struct v8_reader *r, uint64_t tagged, uint32_t max, struct buf *out)
{
	enum { AT_ONCE = 512 };
	uint16_t chars[AT_ONCE];
	struct v8_text text = { .n = 0 };
	int rc = v8_text_find(r, tagged, max, &text);

	for (uint32_t i = 0; i < text.n && rc == 0; i++)
		for (uint32_t at = 0; at < text.pieces[i].n && rc == 0; at += AT_ONCE) {
			const struct v8_piece *p = &text.pieces[i];
			uint32_t width = p->is_wide ? 2 : 1;
			uint32_t n = p->n - at < AT_ONCE ? p->n - at : AT_ONCE;

			rc = r->memory->read(r->memory->ctx, p->at + (uint64_t)at * width, chars,
					     (size_t)n * width);
			if (rc == 0 && p->is_wide)
				add_wide(chars, n, out);
			for (uint32_t k = 0; k < n && rc == 0 && !p->is_wide; k++)
				utf8_add(out,
					 ((uint8_t *)chars)[k] ? ((uint8_t *)chars)[k] : 0xfffd);
		}
	return rc;
}
