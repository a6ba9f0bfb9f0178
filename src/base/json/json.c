/* Writes tokens with commas and escaping, and checks the nesting. */
#include "base/json/json.h"

#include "base/buf.h"
#include "base/escape.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_MAX_DEPTH = 64 }; /* limit: nesting of written JSON */

static uint64_t json_bit(const struct json *j)
{
	return 1ull << (j->depth - 1);
}

static bool json_in_array(const struct json *j)
{
	return j->depth > 0 && (j->is_array & json_bit(j));
}

static void json_comma(struct json *j)
{
	if (j->depth == 0)
		return;
	if (j->has_items & json_bit(j))
		buf_addc(j->out, ',');
	j->has_items |= json_bit(j);
}

/* Called before every value: writes the comma in an array; in an object the key must have been
 * written. */
static void json_value(struct json *j)
{
	assert(j->depth == 0 || json_in_array(j) || j->after_key);
	if (!j->after_key)
		json_comma(j);
	j->after_key = false;
}

static void json_open(struct json *j, char c)
{
	json_value(j);
	assert(j->depth < JSON_MAX_DEPTH);
	j->depth++;
	j->has_items &= ~json_bit(j);
	j->is_array &= ~json_bit(j);
	if (c == '[')
		j->is_array |= json_bit(j);
	buf_addc(j->out, c);
}

void json_obj(struct json *j)
{
	json_open(j, '{');
}

void json_arr(struct json *j)
{
	json_open(j, '[');
}

void json_end(struct json *j)
{
	assert(j->depth > 0 && !j->after_key);
	buf_addc(j->out, json_in_array(j) ? ']' : '}');
	j->depth--;
}

/* Characters that esc_json never escapes: printable ASCII except " < \. */
static const bool is_plain[256] = {
	[0x20 ... 0x21] = true,
	[0x23 ... 0x3b] = true,
	[0x3d ... 0x5b] = true,
	[0x5d ... 0x7e] = true,
};

static void json_quoted(struct json *j, const char *s)
{
	size_t len = strlen(s), plain = 0;
	buf_reserve(j->out, len + 2);
	char *to = j->out->data + j->out->len;
	*to++ = '"';
	for (; plain < len && is_plain[(uint8_t)s[plain]]; plain++)
		to[plain] = s[plain];
	if (plain == len) {
		to[len] = '"';
		j->out->len += len + 2;
		return;
	}
	j->out->len++;
	esc_json(j->out, s, len, SIZE_MAX);
	buf_addc(j->out, '"');
}

void json_key(struct json *j, const char *key)
{
	assert(j->depth > 0 && !json_in_array(j) && !j->after_key);
	json_comma(j);
	json_quoted(j, key);
	buf_addc(j->out, ':');
	j->after_key = true;
}

void json_str(struct json *j, const char *s)
{
	json_value(j);
	if (s)
		json_quoted(j, s);
	else
		buf_adds(j->out, "null");
}

void json_u64(struct json *j, uint64_t v)
{
	json_value(j);
	buf_addu(j->out, v);
}

void json_i64(struct json *j, int64_t v)
{
	json_value(j);
	if (v < 0)
		buf_addc(j->out, '-');
	buf_addu(j->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Writes numbers with up to four digits after the point and 15 in all, such as percentages. The
 * code below would give the same in ten times the time. */
static bool json_short_num(struct json *j, double v)
{
	if (!(fabs(v) < 1e11) || (v == 0 && signbit(v)))
		return false;
	int64_t parts = (int64_t)nearbyint(fabs(v) * 1e4), behind = parts % 10000;
	if ((double)parts / 1e4 != fabs(v))
		return false;
	if (v < 0)
		buf_addc(j->out, '-');
	buf_addu(j->out, (uint64_t)parts / 10000);
	if (!behind)
		return true;
	char digits[] = { '.', '0' + behind / 1000, '0' + behind / 100 % 10, '0' + behind / 10 % 10,
			  '0' + behind % 10 };
	size_t n = sizeof digits;
	while (digits[n - 1] == '0')
		n--;
	buf_add(j->out, digits, n);
	return true;
}

/* A decimal of up to 15 digits survives conversion to a normal double and back, so if 15 digits
 * read back, %.15g is the shortest form; 17 digits always read back. Subnormal numbers have fewer
 * digits, so the search starts at one. */
void json_num(struct json *j, double v)
{
	char text[40];
	json_value(j);
	if (!isfinite(v)) {
		buf_adds(j->out, "null");
		return;
	}
	if (json_short_num(j, v))
		return;
	int digits = fpclassify(v) == FP_SUBNORMAL ? 1 : 15;
	do
		snprintf(text, sizeof text, "%.*g", digits, v);
	while (strtod(text, NULL) != v && digits++ < 17);
	buf_adds(j->out, text);
}

void json_bool(struct json *j, bool v)
{
	json_value(j);
	buf_adds(j->out, v ? "true" : "false");
}

void json_raw(struct json *j, const char *text, size_t len)
{
	json_value(j);
	buf_add(j->out, text, len);
}

void json_key_str(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_str(j, value);
}

void json_key_text(struct json *j, const char *key, const char *value)
{
	json_key_str(j, key, value && *value ? value : NULL);
}

void json_key_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

void json_key_i64(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_i64(j, value);
}

void json_key_num(struct json *j, const char *key, double value)
{
	json_key(j, key);
	json_num(j, value);
}

void json_key_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}
