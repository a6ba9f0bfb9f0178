/* Prints a list of checks as aligned text, or as JSON. */
#include "cmd/doctor/show_checks.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "cmd/cli/term.h"

#include <string.h>

static const struct {
	const char *json, *utf8, *ascii;
	enum paint paint;
} states[] = {
	[CHECK_OK] = { "ok", "✓", "ok", PAINT_GREEN },
	[CHECK_LIMITED] = { "limited", "–", "-", PAINT_YELLOW },
	[CHECK_MISSING] = { "missing", "✗", "X", PAINT_RED },
};

const char *check_word(enum check_state state)
{
	return states[state].json;
}

void term_check(struct buf *b, const struct term *term, enum check_state state)
{
	term_paint(b, term->color_out, states[state].paint,
		   term->utf8 ? states[state].utf8 : states[state].ascii);
	buf_adds(b, state == CHECK_OK && !term->utf8 ? "" : " ");
}

void hint_text(struct buf *b, const char *indent, const char *hint)
{
	enum { LINE_MAX_BYTES = 1024 };
	struct cur lines = cur_of(hint, strlen(hint));
	const char *line;
	size_t len;
	while (cur_line(&lines, &line, &len)) {
		if (memmem(line, len, "cresset doctor", strlen("cresset doctor")))
			continue;
		buf_adds(b, indent);
		esc_term(b, line, len, LINE_MAX_BYTES);
		buf_addc(b, '\n');
	}
}

void check_row(struct buf *b, const struct term *term, enum check_state state, const char *name,
	       const char *detail)
{
	enum { NAME_COLUMN = 26, TEXT_MAX = 1024 };
	buf_addc(b, ' ');
	term_check(b, term, state);
	buf_addc(b, ' ');
	size_t start = b->len;
	esc_term(b, name, strlen(name), TEXT_MAX);
	do
		buf_addc(b, ' ');
	while (b->len - start < NAME_COLUMN);
	esc_term(b, detail, strlen(detail), TEXT_MAX);
	buf_addc(b, '\n');
}

/* Whole lines, split at blanks: a remedy is a command to copy, so it starts on a line of its
 * own. */
void checks_text(struct buf *b, const struct term *term, const struct check *checks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_row(b, term, checks[i].state, checks[i].name, checks[i].detail);
		hint_text(b, "       ", checks[i].remedy);
	}
}

void checks_json(struct json *j, const struct check *checks, size_t n)
{
	json_key(j, "checks");
	json_arr(j);
	for (size_t i = 0; i < n; i++) {
		struct buf remedy = { 0 };
		json_obj(j);
		json_key_str(j, "name", checks[i].name);
		json_key_str(j, "state", check_word(checks[i].state));
		json_key_str(j, "detail", checks[i].detail);
		hint_text(&remedy, "", checks[i].remedy);
		if (remedy.len)
			remedy.len--; /* the last newline */
		json_key_str(j, "remedy", buf_cstr(&remedy));
		buf_done(&remedy);
		json_end(j);
	}
	json_end(j);
}
