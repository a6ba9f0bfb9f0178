/* The tokenizer: one window of the input, refilled as needed. */
#include "base/json/json_read.h"

#include "base/buf.h"
#include "base/decimal.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>

enum { JSON_CHUNK = 16 * 1024 };

/* The tokens that may come next. */
enum json_state {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END, /* just after [ */
	EXPECT_KEY,
	EXPECT_KEY_OR_END,   /* just after { */
	EXPECT_COMMA_OR_END, /* after a value in an array or object */
	EXPECT_NOTHING,      /* after the outermost value */
};

struct json_reader {
	struct input *in;
	const char *name; /* of the input */
	char *p, *end;    /* the unread part of chunk */
	uint64_t before;  /* bytes of the text before chunk */
	struct buf text;
	enum json_state state;
	int depth;
	uint64_t is_object[JSON_MAX_NESTING / 64]; /* bit per level */
	bool lenient, was_cut, input_ended;
	bool has_ahead; /* a token was read and put back */
	struct json_value ahead;
	struct err failure; /* sticky */
	char chunk[JSON_CHUNK];
};

struct json_reader *json_reader_new(struct input *in)
{
	struct json_reader *r = xmalloc(sizeof *r);
	memset(r, 0, offsetof(struct json_reader, chunk));
	r->in = in;
	r->name = input_name(in);
	r->p = r->end = r->chunk;
	return r;
}

void json_reader_free(struct json_reader *r)
{
	if (!r)
		return;
	buf_done(&r->text);
	free(r);
}

void json_set_lenient(struct json_reader *r)
{
	r->lenient = true;
}

bool json_was_cut(const struct json_reader *r)
{
	return r->was_cut;
}

int json_depth(const struct json_reader *r)
{
	return r->depth;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static int json_bad(struct json_reader *r, const char *what)
{
	return err_set(&r->failure, EBADMSG, "%s: bad JSON at byte %llu: %s", r->name,
		       (unsigned long long)(r->before + (r->p - r->chunk)), what);
}

/* Makes p < end. Returns 1, 0 at the end of the input, or -errno. */
static int json_fill(struct json_reader *r)
{
	if (r->p < r->end)
		return 1;
	if (r->input_ended)
		return 0;
	long n = input_read(r->in, r->chunk, JSON_CHUNK, &r->failure);
	if (n < 0)
		return n;
	r->before += r->end - r->chunk;
	r->p = r->chunk;
	r->end = r->chunk + n;
	r->input_ended = n == 0;
	return n > 0;
}

static bool json_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Returns 1 with *c = the next character that is not blank, which stays unread. */
static int json_look(struct json_reader *r, char *c)
{
	for (;;) {
		while (r->p < r->end && json_is_blank(*r->p))
			r->p++;
		int rc = json_fill(r);
		if (rc <= 0)
			return rc;
		if (!json_is_blank(*r->p)) {
			*c = *r->p;
			return 1;
		}
	}
}

/* Skips a byte order mark. */
static int json_start(struct json_reader *r)
{
	static const char mark[] = "\xef\xbb\xbf";
	int rc = json_fill(r);
	if (rc > 0 && r->end - r->p >= 3 && memcmp(r->p, mark, 3) == 0)
		r->p += 3;
	return rc;
}

/* --- scalars ----------------------------------------------------------------------------------
 * These return 1, 0 when the input ends inside, or -errno. */

static int json_hex4(struct json_reader *r, uint32_t *out)
{
	uint32_t v = 0;
	for (int i = 0; i < 4; i++) {
		int rc = json_fill(r);
		if (rc <= 0)
			return rc;
		char c = *r->p++, low = c | 0x20;
		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (uint32_t)(low - 'a' + 10);
		else
			return json_bad(r, "expected four hexadecimal digits after \\u");
	}
	*out = v;
	return 1;
}

enum { JSON_REPLACEMENT = 0xfffd };

/* Reads the digits after \u. A high surrogate needs a low one as its second half; *pending retains
 * it until then. */
static int json_unicode(struct json_reader *r, uint32_t *pending)
{
	uint32_t c = 0;
	int rc = json_hex4(r, &c);
	if (rc <= 0)
		return rc;
	bool is_high = c >= 0xd800 && c < 0xdc00, is_low = c >= 0xdc00 && c < 0xe000;
	if (*pending && is_low) {
		utf8_add(&r->text, 0x10000 + ((*pending - 0xd800) << 10) + (c - 0xdc00));
		*pending = 0;
		return 1;
	}
	if (*pending)
		utf8_add(&r->text, JSON_REPLACEMENT);
	*pending = is_high ? c : 0;
	if (!is_high)
		utf8_add(&r->text, is_low ? JSON_REPLACEMENT : c);
	return 1;
}

static int json_escape(struct json_reader *r, uint32_t *pending)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int rc = json_fill(r);
	if (rc <= 0)
		return rc;
	char c = *r->p++;
	if (c == 'u')
		return json_unicode(r, pending);
	const char *known = c ? strchr(from, c) : NULL;
	if (!known)
		return json_bad(r, "unknown escape in a string");
	if (*pending)
		utf8_add(&r->text, JSON_REPLACEMENT);
	*pending = 0;
	buf_addc(&r->text, to[known - from]);
	return 1;
}

static char *json_string_end(char *p, const char *end)
{
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Reads a string with escapes, or one that crosses chunks. */
static int json_long_string(struct json_reader *r, struct json_value *v)
{
	uint32_t pending = 0;
	buf_clear(&r->text);
	for (;;) {
		int rc = json_fill(r);
		if (rc <= 0)
			return rc;
		char *stop = json_string_end(r->p, r->end);
		if (pending && stop > r->p) {
			utf8_add(&r->text, JSON_REPLACEMENT);
			pending = 0;
		}
		buf_add(&r->text, r->p, stop - r->p);
		if (r->text.len > JSON_MAX_STRING)
			return json_bad(r, "a string is longer than 16 MiB");
		r->p = stop;
		if (stop == r->end)
			continue;
		r->p++;
		if (*stop == '"')
			break;
		rc = json_escape(r, &pending);
		if (rc <= 0)
			return rc;
	}
	if (pending)
		utf8_add(&r->text, JSON_REPLACEMENT);
	v->len = r->text.len;
	v->text = buf_cstr(&r->text);
	return 1;
}

/* Reads a string after its opening quote. Most strings are in one chunk and need no copy: the NUL
 * replaces their closing quote. */
static int json_string(struct json_reader *r, struct json_value *v)
{
	char *stop = json_string_end(r->p, r->end);
	if (stop == r->end || *stop != '"')
		return json_long_string(r, v);
	*stop = '\0';
	v->text = r->p;
	v->len = stop - r->p;
	r->p = stop + 1;
	return 1;
}

/* Collects the letters and digits of a number or a word in text. */
static int json_word(struct json_reader *r)
{
	buf_clear(&r->text);
	for (;;) {
		int rc = json_fill(r);
		if (rc < 0)
			return rc;
		char *from = r->p;
		while (r->p < r->end && (*r->p == '-' || *r->p == '+' || *r->p == '.' ||
					 (*r->p >= '0' && *r->p <= '9') ||
					 ((*r->p | 0x20) >= 'a' && (*r->p | 0x20) <= 'z')))
			r->p++;
		buf_add(&r->text, from, r->p - from);
		if (r->text.len > JSON_MAX_STRING)
			return json_bad(r, "a number is longer than 16 MiB");
		if (r->p < r->end)
			return 1;
		if (rc == 0) /* only the outermost value may end with the text */
			return r->depth == 0;
	}
}

static const char *json_digits(const char *s)
{
	while (*s >= '0' && *s <= '9')
		s++;
	return s;
}

/* RFC 8259: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static bool json_is_number(const char *s, bool *is_whole)
{
	s += *s == '-';
	const char *end = json_digits(s);
	if (end == s || (*s == '0' && end != s + 1))
		return false;
	*is_whole = *end == '\0';
	if (*end == '.') {
		s = end + 1;
		end = json_digits(s);
		if (end == s)
			return false;
	}
	if (*end == 'e' || *end == 'E') {
		s = end + 1;
		s += *s == '+' || *s == '-';
		end = json_digits(s);
		if (end == s)
			return false;
	}
	return *end == '\0';
}

static void json_whole(struct json_value *v, const char *s)
{
	bool negative = *s == '-';
	int64_t n = 0;
	for (s += negative; *s; s++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_sub_overflow(n, *s - '0', &n)) /* negative range: one more number */
			return;
	if (!negative && __builtin_sub_overflow(0, n, &n))
		return;
	v->is_integer = true;
	v->integer = n;
}

static int json_number(struct json_reader *r, struct json_value *v)
{
	bool is_whole = false;
	int64_t n;
	if (!json_is_number(v->text, &is_whole))
		return json_bad(r, "not a value");
	v->token = JSON_NUMBER;
	if (is_whole) {
		json_whole(v, v->text);
	} else if (decimal_parse_shifted(v->text, v->len, 0, &n, &is_whole) && is_whole) {
		v->is_integer = true;
		v->integer = n;
	}
	return 1;
}

double json_double(const struct json_value *v)
{
	return v->is_integer ? (double)v->integer : strtod(v->text, NULL);
}

bool json_decimal(const struct json_value *v, struct decimal *out)
{
	if (v->token == JSON_NUMBER && v->is_integer) {
		*out = decimal_of(v->integer);
		return true;
	}
	return (v->token == JSON_NUMBER || v->token == JSON_STRING) &&
	       decimal_parse(v->text, v->len, out);
}

static int json_literal(struct json_reader *r, struct json_value *v)
{
	static const char *const words[] = { "false", "true", "null" };
	int i = 0;
	while (i < 3 && strcmp(v->text, words[i]) != 0)
		i++;
	if (i == 3)
		return json_bad(r, "not a value");
	v->token = i == 2 ? JSON_NULL : JSON_BOOL;
	v->boolean = i == 1;
	return 1;
}

static int json_plain(struct json_reader *r, struct json_value *v)
{
	int rc = json_word(r);
	if (rc <= 0)
		return rc;
	v->len = r->text.len;
	v->text = buf_cstr(&r->text);
	if (v->text[0] == 't' || v->text[0] == 'f' || v->text[0] == 'n')
		return json_literal(r, v);
	return json_number(r, v);
}

/* --- structure -------------------------------------------------------------------------------- */

static bool json_in_object(const struct json_reader *r)
{
	int level = r->depth - 1;
	return r->depth && (r->is_object[level / 64] >> level % 64 & 1);
}

static void json_after_value(struct json_reader *r)
{
	r->state = r->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static int json_open(struct json_reader *r, struct json_value *v, bool object)
{
	if (r->depth == JSON_MAX_NESTING)
		return json_bad(r, "nested deeper than 512");
	int level = r->depth++;
	uint64_t bit = 1ull << level % 64;
	r->is_object[level / 64] =
		object ? r->is_object[level / 64] | bit : r->is_object[level / 64] & ~bit;
	r->state = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
	v->token = object ? JSON_OBJECT : JSON_ARRAY;
	return 1;
}

static int json_close(struct json_reader *r, struct json_value *v)
{
	v->token = json_in_object(r) ? JSON_OBJECT_END : JSON_ARRAY_END;
	r->depth--;
	json_after_value(r);
	return 1;
}

static int json_value_at(struct json_reader *r, struct json_value *v, char c)
{
	int rc;
	if (c == '{' || c == '[') {
		r->p++;
		return json_open(r, v, c == '{');
	}
	if (c == '"') {
		r->p++;
		v->token = JSON_STRING;
		rc = json_string(r, v);
	} else {
		rc = json_plain(r, v);
	}
	if (rc > 0)
		json_after_value(r);
	return rc;
}

static int json_key_at(struct json_reader *r, struct json_value *v, char c)
{
	char colon = 0;
	if (c != '"')
		return json_bad(r, "a key in quotes was expected");
	r->p++;
	v->token = JSON_KEY;
	int rc = json_string(r, v);
	if (rc <= 0)
		return rc;
	if (r->p < r->end && *r->p == ':') { /* nearly always */
		r->p++;
		r->state = EXPECT_VALUE;
		return 1;
	}
	/* The search for the colon may replace the chunk that contains the key. */
	if (v->text != r->text.data) {
		buf_clear(&r->text);
		buf_add(&r->text, v->text, v->len);
		v->text = buf_cstr(&r->text);
	}
	rc = json_look(r, &colon);
	if (rc <= 0)
		return rc;
	if (colon != ':')
		return json_bad(r, "expected a colon after a key");
	r->p++;
	r->state = EXPECT_VALUE;
	return 1;
}

/* Reads what follows the outermost value: only blanks, or the NUL that some writers end with. */
static int json_tail(struct json_reader *r)
{
	char c = 0;
	int rc;
	while ((rc = json_look(r, &c)) > 0) {
		if (c)
			return json_bad(r, "unexpected data after the end");
		r->p++;
	}
	return rc;
}

/* Reads a member after a comma or an opening bracket. */
static int json_member(struct json_reader *r, struct json_value *v, char c)
{
	bool may_end =
		r->lenient || r->state == EXPECT_VALUE_OR_END || r->state == EXPECT_KEY_OR_END;
	bool wants_key = r->state == EXPECT_KEY || r->state == EXPECT_KEY_OR_END;
	if (may_end && r->depth && c == (wants_key ? '}' : ']') && wants_key == json_in_object(r)) {
		r->p++;
		return json_close(r, v);
	}
	return wants_key ? json_key_at(r, v, c) : json_value_at(r, v, c);
}

/* Returns 1 after a comma, 2 when *v is the end of the array or object. */
static int json_separator(struct json_reader *r, struct json_value *v, char c)
{
	bool object = json_in_object(r);
	r->p++;
	if (c == (object ? '}' : ']'))
		return json_close(r, v) < 0 ? -1 : 2;
	if (c == ',') {
		r->state = object ? EXPECT_KEY : EXPECT_VALUE;
		return 1;
	}
	r->p--;
	return json_bad(r, object ? "a comma or } was expected" : "a comma or ] was expected");
}

/* Reads one token; returns 0 when the text ends before it is complete. */
static int json_read_token(struct json_reader *r, struct json_value *v)
{
	char c = 0;
	int rc = json_look(r, &c);
	if (rc <= 0)
		return rc;
	if (r->state == EXPECT_COMMA_OR_END) {
		rc = json_separator(r, v, c);
		if (rc < 0 || rc == 2)
			return rc < 0 ? rc : 1;
		rc = json_look(r, &c);
		if (rc <= 0)
			return rc;
	}
	return json_member(r, v, c);
}

/* The text ended too early: in lenient mode, closes what is open. */
static int json_cut(struct json_reader *r, struct json_value *v)
{
	if (!r->lenient || r->depth == 0)
		return json_bad(r, "the text ends too early");
	r->was_cut = true;
	*v = (struct json_value){ .text = "" };
	if (r->state == EXPECT_VALUE && json_in_object(r)) {
		v->token = JSON_NULL;
		json_after_value(r);
		return 1;
	}
	return json_close(r, v);
}

static int json_advance(struct json_reader *r, struct json_value *v)
{
	*v = (struct json_value){ .text = "" };
	if (r->failure.code)
		return -r->failure.code;
	if (r->before == 0 && r->end == r->chunk && json_start(r) < 0)
		return -r->failure.code;
	if (r->state == EXPECT_NOTHING)
		return json_tail(r);
	int rc = json_read_token(r, v);
	return rc ? rc : json_cut(r, v);
}

int json_next(struct json_reader *r, struct json_value *out, struct err *err)
{
	int rc = 1;
	if (r->has_ahead)
		*out = r->ahead;
	else
		rc = json_advance(r, out);
	r->has_ahead = false;
	if (rc < 0 && err)
		*err = r->failure;
	return rc;
}

static int json_skip_line(struct json_reader *r)
{
	int rc;
	while ((rc = json_fill(r)) > 0) {
		char *newline = memchr(r->p, '\n', r->end - r->p);
		r->p = newline ? newline + 1 : r->end;
		if (newline)
			return 1;
	}
	return rc;
}

int json_next_text(struct json_reader *r, struct err *err)
{
	bool is_bad = r->failure.code == EBADMSG || r->depth;
	int rc = 1;
	char c;
	if (is_bad)
		r->failure = (struct err){ 0 };
	r->state = EXPECT_VALUE;
	r->depth = 0;
	r->has_ahead = false;
	if (is_bad)
		rc = json_skip_line(r);
	if (rc > 0)
		rc = r->failure.code ? -r->failure.code : json_look(r, &c);
	if (rc < 0 && err)
		*err = r->failure;
	return rc;
}

/* --- reading expected structures -------------------------------------------------------------- */

static void json_put_back(struct json_reader *r, const struct json_value *v)
{
	r->ahead = *v;
	r->has_ahead = true;
}

/* Skips the rest of the object or array that the last token opened. */
static int json_leave(struct json_reader *r, struct err *err)
{
	struct json_value v;
	int rc, level = 1;
	while (level > 0) {
		rc = json_next(r, &v, err);
		if (rc <= 0)
			return rc;
		level += (v.token == JSON_OBJECT || v.token == JSON_ARRAY) -
			 (v.token == JSON_OBJECT_END || v.token == JSON_ARRAY_END);
	}
	return 1;
}

int json_enter(struct json_reader *r, enum json_token what, struct err *err)
{
	struct json_value v;
	int rc = json_next(r, &v, err);
	if (rc <= 0 || v.token == what)
		return rc;
	rc = v.token == JSON_OBJECT || v.token == JSON_ARRAY ? json_leave(r, err) : 1;
	return rc < 0 ? rc : 0;
}

int json_key_next(struct json_reader *r, struct json_value *key, struct err *err)
{
	int rc = json_next(r, key, err);
	return rc <= 0 ? rc : key->token == JSON_KEY;
}

int json_item_next(struct json_reader *r, struct err *err)
{
	struct json_value v;
	int rc = json_next(r, &v, err);
	if (rc <= 0 || v.token == JSON_ARRAY_END)
		return rc < 0 ? rc : 0;
	json_put_back(r, &v);
	return 1;
}

int json_scalar(struct json_reader *r, struct json_value *out, struct err *err)
{
	int rc = json_next(r, out, err);
	if (rc <= 0 || (out->token != JSON_OBJECT && out->token != JSON_ARRAY))
		return rc;
	rc = json_leave(r, err);
	return rc < 0 ? rc : 0;
}

int json_skip(struct json_reader *r, struct err *err)
{
	struct json_value v;
	int rc = json_scalar(r, &v, err);
	return rc < 0 ? rc : 1;
}

/* --- reading the start of a text -------------------------------------------------------------- */

struct json_peek {
	struct json_reader *r;
	json_key_fn *on_key;
	void *ctx;
	int object_depth; /* json_depth() inside the object being read */
};

/* Reads keys until the text ends or on_key returns false. */
static void json_peek_object(struct json_peek *k)
{
	struct json_value v, value;
	struct buf key = { 0 };
	bool go_on = true;
	while (go_on && json_next(k->r, &v, NULL) > 0 && v.token == JSON_KEY) {
		buf_clear(&key);
		buf_add(&key, v.text, v.len);
		v.text = buf_cstr(&key);
		if (json_next(k->r, &value, NULL) <= 0)
			break;
		go_on = k->on_key(k->ctx, &v, &value, k->object_depth);
		if (value.token == JSON_OBJECT || value.token == JSON_ARRAY)
			go_on = go_on && json_leave(k->r, NULL) > 0;
	}
	buf_done(&key);
}

bool json_peek_keys(const char *head, size_t len, json_key_fn *on_key, void *ctx)
{
	struct input *in = NULL;
	struct json_value v;
	if (input_open_memory(head, len, &in, NULL) < 0)
		return false;
	struct json_peek k = { json_reader_new(in), on_key, ctx, 1 };
	bool is_json =
		json_next(k.r, &v, NULL) > 0 && (v.token == JSON_OBJECT || v.token == JSON_ARRAY);
	bool in_object = is_json && v.token == JSON_OBJECT;
	if (is_json && !in_object) {
		k.object_depth = 2;
		in_object = json_next(k.r, &v, NULL) > 0 && v.token == JSON_OBJECT;
	}
	if (in_object)
		json_peek_object(&k);
	json_reader_free(k.r);
	input_close(in);
	return is_json;
}
