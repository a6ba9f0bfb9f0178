/* Lines of scripts, by counting the ends of lines in their source. */
#include "runtime/v8_parts.h"

#include "base/clock.h"

#include <errno.h>

enum { AT_ONCE = 1 << 15 };
/* limit: scripts of a Node process with stored ends of lines; then all are dropped */
enum { MAX_SCRIPTS = 256 };
/* limit: ends of lines stored of a Node process; then all are dropped */
enum { MAX_ENDS = 1 << 20 };
/* limit: ends of lines stored of all Node processes; then further scripts have no lines */
enum { MAX_ALL_ENDS = 4 << 20 };
/* limit MAX_CHARACTERS: characters of source read of a Node process, at first; then one each µs */
enum { MAX_CHARACTERS = 32 << 20, NS_PER_CHARACTER = 1000 };

static void done(struct v8_script_lines *s)
{
	vec_done(&s->ends);
}

void v8_lines_done(struct v8_lines *l)
{
	for (size_t i = 0; i < l->all.n; i++)
		done(&l->all.v[i]);
	vec_done(&l->all);
	if (l->n_all)
		*l->n_all -= l->n_ends;
	l->n_ends = 0;
}

/* JavaScript's ends of lines; in CR LF it is the LF. before: the character before c. */
static void add_end(struct v8_script_lines *to, uint32_t before, uint32_t c, uint32_t at)
{
	if (before == '\r' && c != '\n')
		vec_push(&to->ends, at - 1);
	if (c == '\n' || c == 0x2028 || c == 0x2029)
		vec_push(&to->ends, at);
}

static int count_piece(const struct v8_reader *r, const struct v8_piece *p, uint32_t first,
		       uint32_t *before, struct v8_script_lines *out)
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

			add_end(out, *before, c, first + at + i);
			*before = c;
		}
		if (out->ends.n > MAX_ENDS)
			return -E2BIG;
	}
	return 0;
}

static int count_lines(const struct v8_reader *r, struct v8_script_lines *out)
{
	struct v8_text text;
	uint32_t first = 0, before = 0;
	int rc = v8_text_find(r, out->source, V8_MAX_SOURCE / 2, &text);

	for (uint32_t i = 0; rc == 0 && i < text.n; i++) {
		rc = count_piece(r, &text.pieces[i], first, &before, out);
		first += text.pieces[i].n;
	}
	if (rc == 0)
		add_end(out, before, 0, first);
	return rc;
}

/* Whether a source may be read now. */
static bool may_count(struct v8_lines *l, uint32_t n_characters)
{
	l->characters.share = NS_PER_CHARACTER;
	l->characters.most_ns = MAX_CHARACTERS;
	if (allowance_left(&l->characters, clock_mono_ns()) <= 0)
		return false;
	allowance_spend(&l->characters, n_characters < V8_MAX_SOURCE ? n_characters : 0);
	return true;
}

/* Returns the lines of a script with its current source, and counts them the first time. They are
 * empty for a source that is too long. NULL: it could not be read now. */
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
		    kept->n_characters == s.n_characters)
			return kept;
	}
	if (!may_count(l, s.n_characters))
		return NULL;
	int rc = count_lines(r, &s);
	s.is_unreadable = rc == -E2BIG || rc == -EBADMSG;
	if (rc < 0)
		done(&s);
	if (rc < 0 && !s.is_unreadable)
		return NULL;
	if (l->all.n == MAX_SCRIPTS || l->n_ends + s.ends.n > MAX_ENDS)
		v8_lines_done(l);
	if (l->n_all && *l->n_all + s.ends.n > MAX_ALL_ENDS) {
		done(&s);
		return NULL;
	}
	l->n_ends += s.ends.n;
	if (l->n_all)
		*l->n_all += s.ends.n;
	vec_push(&l->all, s);
	return &l->all.v[l->all.n - 1];
}

bool v8_line_of(struct v8_lines *l, const struct v8_reader *r, uint64_t script, int32_t position,
		uint32_t *line, uint32_t *column)
{
	const struct v8_script_lines *s = script ? lines_of(l, r, script) : NULL;
	size_t low = 0, high = s ? s->ends.n : 0;

	if (!s || position < 0 || (uint32_t)position > s->n_characters || s->is_unreadable)
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
