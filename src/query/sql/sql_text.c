/* Replacements for SQLite's own functions, which cannot be interrupted. There instr, replace and
 * trim with a set of characters take quadratic time, so one call with two values of the allowed
 * size runs for minutes; printf('%.*c', 1e9, 'x') runs for 15 s although its result exceeds any
 * limit. */
#include "base/buf.h"
#include "base/utf8.h"
#include "query/sql/sql.h"
#include "query/sql/sql_state.h"

#include <ctype.h>
#include <string.h>

struct text {
	const char *s;
	size_t len;
	int type; /* SQLITE_NULL, SQLITE_BLOB; anything else: as text */
};

static struct text text_of(sqlite3_value *v)
{
	struct text t = { .type = sqlite3_value_type(v) };

	t.s = t.type == SQLITE_BLOB ? sqlite3_value_blob(v) : (const char *)sqlite3_value_text(v);
	t.len = sqlite3_value_bytes(v);
	if (!t.s)
		t.s = "";
	return t;
}

static size_t count_chars(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* Returns the position of the second in the first, from 1, in characters (two blobs: in bytes); 0:
 * not found. */
static void sql_instr(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct text in = text_of(argv[0]), what = text_of(argv[1]);

	(void)argc;
	if (in.type == SQLITE_NULL || what.type == SQLITE_NULL)
		return;
	const char *at = memmem(in.s, in.len, what.s, what.len);
	bool is_bytes = in.type == SQLITE_BLOB && what.type == SQLITE_BLOB;
	if (!at)
		sqlite3_result_int(ctx, 0);
	else
		sqlite3_result_int64(
			ctx, 1 + (is_bytes ? (size_t)(at - in.s) : count_chars(in.s, at - in.s)));
}

static void sql_replace(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct text in = text_of(argv[0]), what = text_of(argv[1]), by = text_of(argv[2]);
	struct buf *out = &((struct sql *)sqlite3_user_data(ctx))->text;
	const char *at;

	(void)argc;
	if (in.type == SQLITE_NULL || what.type == SQLITE_NULL || by.type == SQLITE_NULL)
		return;
	buf_clear(out);
	while (what.len && out->len <= SQL_MAX_VALUE &&
	       (at = memmem(in.s, in.len, what.s, what.len))) {
		buf_add(out, in.s, at - in.s);
		buf_add(out, by.s, by.len);
		in.len -= at + what.len - in.s;
		in.s = at + what.len;
	}
	buf_add(out, in.s, in.len);
	sqlite3_result_text64(ctx, out->data ? out->data : "", out->len, SQLITE_TRANSIENT,
			      SQLITE_UTF8);
}

enum { TRIM_LEFT = 1, TRIM_RIGHT = 2, TRIM_BOTH = 3, TRIM_MAX_SET = 64 };

/* Returns the length of the character at s, 0 if it is not in the set. A byte that is not UTF-8 is
 * a character. */
static size_t char_in_set(const char *s, size_t len, const struct text *set)
{
	size_t n = utf8_len(s, len);

	n = n ? n : 1;
	return memmem(set->s, set->len, s, n) ? n : 0;
}

static size_t last_char_len(const char *s, size_t len)
{
	for (size_t n = 1; n <= 4 && n <= len; n++)
		if (utf8_len(s + len - n, n) == n)
			return n;
	return 1;
}

static void trim(sqlite3_context *ctx, sqlite3_value **argv, int sides)
{
	struct text in = text_of(argv[0]), set = text_of(argv[1]);
	size_t n;

	if (in.type == SQLITE_NULL || set.type == SQLITE_NULL)
		return;
	if (set.len > TRIM_MAX_SET) {
		sqlite3_result_error(ctx, "trim: more than 64 bytes of characters", -1);
		return;
	}
	while (sides & TRIM_LEFT && in.len && (n = char_in_set(in.s, in.len, &set))) {
		in.s += n;
		in.len -= n;
	}
	while (sides & TRIM_RIGHT && in.len) {
		n = last_char_len(in.s, in.len);
		if (!char_in_set(in.s + in.len - n, n, &set))
			break;
		in.len -= n;
	}
	sqlite3_result_text64(ctx, in.s, in.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void sql_trim(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	trim(ctx, argv, TRIM_BOTH);
}

static void sql_ltrim(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	trim(ctx, argv, TRIM_LEFT);
}

static void sql_rtrim(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	trim(ctx, argv, TRIM_RIGHT);
}

/* --- printf ----------------------------------------------------------------------------------- */

enum { PRINTF_MAX = 1000 }; /* maximum width and precision */

struct printing {
	sqlite3_str *out;
	sqlite3_value **args;
	int left;
	bool failed;
};
/* The part of a conversion between % and its letter. */
struct layout {
	struct buf spec; /* the same, with numbers instead of * */
	int64_t precision;
};

static sqlite3_value *next_arg(struct printing *p)
{
	if (!p->left)
		return NULL;
	p->left--;
	return *p->args++;
}

/* Reads a width or a precision, from digits or the next argument. */
static int64_t read_number(struct printing *p, const char **at)
{
	int64_t n = 0;

	if (**at == '*') {
		sqlite3_value *v = next_arg(p);
		n = v ? sqlite3_value_int64(v) : 0;
		++*at;
	}
	for (; isdigit((unsigned char)**at); ++*at)
		n = n > PRINTF_MAX ? n : n * 10 + (**at - '0');
	p->failed |= n > PRINTF_MAX || n < -PRINTF_MAX;
	return n;
}

static const char *read_layout(struct printing *p, const char *at, struct layout *out)
{
	buf_adds(&out->spec, "%");
	for (; *at && strchr("-+ 0#!,", *at); at++)
		buf_addc(&out->spec, *at);
	if (*at == '*' || isdigit((unsigned char)*at))
		buf_addf(&out->spec, "%d", (int)read_number(p, &at));
	if (*at == '.') {
		at++;
		out->precision = read_number(p, &at);
		out->precision = llabs(out->precision);
	}
	return at + strspn(at, "l");
}

/* Appends the first character, repeated as the precision says. */
static void add_char(struct printing *p, struct layout *l, const char *text)
{
	size_t n = *text ? utf8_len(text, strlen(text)) : 0;
	struct buf repeated = { 0 };

	n = *text && !n ? 1 : n;
	do
		buf_add(&repeated, text, n);
	while (--l->precision > 0);
	buf_adds(&l->spec, "s");
	sqlite3_str_appendf(p->out, buf_cstr(&l->spec), buf_cstr(&repeated));
	buf_done(&repeated);
}

static void add_arg(struct printing *p, struct layout *l, char type)
{
	sqlite3_value *v = next_arg(p);
	const char *text = v ? (const char *)sqlite3_value_text(v) : NULL;

	if (type == 'c') {
		add_char(p, l, text ? text : "");
		return;
	}
	if (l->precision >= 0)
		buf_addf(&l->spec, ".%d", (int)l->precision);
	buf_addf(&l->spec, "%s%c", strchr("diuxXo", type) ? "ll" : "", type);
	if (strchr("diuxXo", type))
		sqlite3_str_appendf(p->out, buf_cstr(&l->spec), v ? sqlite3_value_int64(v) : 0);
	else if (strchr("feEgG", type))
		sqlite3_str_appendf(p->out, buf_cstr(&l->spec), v ? sqlite3_value_double(v) : 0.0);
	else /* conversions that quote have a text for NULL */
		sqlite3_str_appendf(p->out, buf_cstr(&l->spec),
				    text || strchr("qQw", type) ? text : "");
}

/* Prints one conversion after its %. Returns the text after it, or NULL if it is invalid. */
static const char *print_one(struct printing *p, const char *at)
{
	struct layout l = { .precision = -1 };

	at = read_layout(p, at, &l);
	if (p->failed || !*at || !strchr("diuxXofeEgGsqQwc%", *at))
		at = NULL;
	else if (*at == '%')
		sqlite3_str_appendchar(p->out, 1, '%');
	else
		add_arg(p, &l, *at);
	buf_done(&l.spec);
	return at ? at + 1 : NULL;
}

static void sql_printf(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *at = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	struct printing p = { .args = argv + 1, .left = argc - 1 };

	if (!at)
		return;
	p.out = sqlite3_str_new(sqlite3_context_db_handle(ctx));
	while (at && *at && sqlite3_str_errcode(p.out) == SQLITE_OK) {
		size_t n = strcspn(at, "%");
		sqlite3_str_append(p.out, at, n);
		at = at[n] ? print_one(&p, at + n + 1) : at + n;
	}
	int rc = sqlite3_str_errcode(p.out), len = sqlite3_str_length(p.out);
	char *text = sqlite3_str_finish(p.out);
	if (rc == SQLITE_TOOBIG)
		sqlite3_result_error_toobig(ctx);
	else if (!at)
		sqlite3_result_error(
			ctx, "printf: a conversion that is not known, or wider than 1000", -1);
	else
		sqlite3_result_text(ctx, text ? text : "", len, SQLITE_TRANSIENT);
	sqlite3_free(text);
}

int sql_text_register(struct sql *sql)
{
	static const struct {
		const char *name;
		int args;
		void (*run)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
	} functions[] = {
		{ "instr", 2, sql_instr },    { "replace", 3, sql_replace },
		{ "trim", 2, sql_trim },      { "ltrim", 2, sql_ltrim },
		{ "rtrim", 2, sql_rtrim },    { "printf", -1, sql_printf },
		{ "format", -1, sql_printf },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_function_v2(sql->db, functions[i].name, functions[i].args,
						SQLITE_UTF8 | SQLITE_DETERMINISTIC, sql,
						functions[i].run, NULL, NULL, NULL);
	return rc;
}
