/* Lines of scripts, by counting the ends of lines in their source. */
#include "runtime/v8_parts.h"

#include <errno.h>

enum { MAX_SCRIPTS = 256, MAX_ENDS = 1 << 20, AT_ONCE = 1 << 15 };

static void done(struct v8_script_lines *s)
{
	vec_done(&s->ends);
}

void v8_lines_done(struct v8_lines *l)
{
	for (size_t i = 0; i < l->all.n; i++)
		done(&l->all.v[i]);
	vec_done(&l->all);
	l->n_ends = 0;
}

/* JavaScript's ends of lines. */
static bool is_end(uint32_t c, uint32_t after)
{
	return c == '\n' || (c == '\r' && after != '\n') || c == 0x2028 || c == 0x2029;
}

static int count_piece(const struct v8_reader *r, const struct v8_piece *p, uint32_t first,
		       struct v8_script_lines *out)
{
	static const uint32_t most = AT_ONCE / 2;
	uint16_t chars[AT_ONCE / 2];
	uint32_t width = p->is_wide ? 2 : 1;

	for (uint32_t at = 0; at < p->n; at += most) {
		uint32_t n = p->n - at < most ? p->n - at : most;
		int rc = r->memory->read(r->memory->ctx, p->at + (uint64_t)at * width, chars,
					 (size_t)n * width);

		if (rc < 0)
			return rc;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t c = p->is_wide ? chars[i] : ((uint8_t *)chars)[i];
			uint32_t after = i + 1 == n   ? 0
					 : p->is_wide ? chars[i + 1]
						      : ((uint8_t *)chars)[i + 1];

			if (is_end(c, after))
				vec_push(&out->ends, first + at + i);
		}
		if (out->ends.n > MAX_ENDS)
			return -E2BIG;
	}
	return 0;
}

static int count_lines(const struct v8_reader *r, struct v8_script_lines *out)
{
	struct v8_text text;
	uint32_t first = 0;
	int rc = v8_text_find(r, out->source, V8_MAX_SOURCE / 2, &text);

	for (uint32_t i = 0; rc == 0 && i < text.n; i++) {
		rc = count_piece(r, &text.pieces[i], first, out);
		first += text.pieces[i].n;
	}
	return rc;
}

/* Returns the lines of a script with its current source, and counts them the first time. They are
 * empty for a source that cannot be read. */
static const struct v8_script_lines *lines_of(struct v8_lines *l, const struct v8_reader *r,
					      uint64_t script)
{
	struct v8_script_lines s = { .script = script };

	if (v8_field(r, script, r->layout->script_source, &s.source) < 0 ||
	    v8_field32(r, s.source, r->layout->string_length, &s.n_characters) < 0)
		return NULL;
	for (size_t i = 0; i < l->all.n; i++) {
		const struct v8_script_lines *kept = &l->all.v[i];

		if (kept->script == script && kept->source == s.source &&
		    (kept->n_characters == s.n_characters || !kept->n_characters))
			return kept;
	}
	if (l->all.n == MAX_SCRIPTS || l->n_ends > MAX_ENDS)
		v8_lines_done(l);
	if (count_lines(r, &s) < 0) {
		done(&s);
		s.n_characters = 0;
	}
	l->n_ends += s.ends.n;
	vec_push(&l->all, s);
	return &l->all.v[l->all.n - 1];
}

bool v8_line_of(struct v8_lines *l, const struct v8_reader *r, uint64_t script, int32_t position,
		uint32_t *line, uint32_t *column)
{
	const struct v8_script_lines *s = script ? lines_of(l, r, script) : NULL;
	size_t low = 0, high = s ? s->ends.n : 0;

	if (!s || position < 0 || (uint32_t)position > s->n_characters || !s->n_characters)
		return false;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->ends.v[middle] < (uint32_t)position)
			low = middle + 1;
		else
			high = middle;
	}
	*line = low + 1;
	*column = position - (low ? s->ends.v[low - 1] + 1 : 0) + 1;
	return true;
}
