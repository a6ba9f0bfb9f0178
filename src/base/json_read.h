/* base/json_read.h: JSON read as a stream of tokens: no tree, memory is one window whatever the size of the file.
 *
 * Either token by token:
 *
 *     struct json_reader *r = json_reader_new(in);
 *     while ((rc = json_next(r, &v, err)) > 0) …
 *
 * or, by who knows what to expect, with calls that step over what nobody asked for:
 *
 *     json_enter(r, JSON_OBJECT, err)
 *     while ((rc = json_key_next(r, &key, err)) > 0) {
 *             if (json_is(&key, "name"))  rc = json_scalar(r, &name, err);
 *             else                        rc = json_skip(r, err);
 *     }
 *
 * The grammar is RFC 8259's with liberties that real files take: a byte order mark in front, blanks and NULs behind the end,
 * control characters in strings, and, where lenient is set, a comma before a closing bracket and a text that ends inside arrays
 * or objects (trace viewers accept both). Escapes are decoded to UTF-8; half of a surrogate pair becomes U+FFFD; bytes that are no
 * UTF-8 are passed on as they are. */
#ifndef CRESSET_BASE_JSON_READ_H
#define CRESSET_BASE_JSON_READ_H

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_MAX_NESTING = 512,     /* deeper is -EBADMSG */
	JSON_MAX_STRING = 16 << 20, /* bytes of one string, decoded; longer is -EBADMSG */
};

enum json_token {
	JSON_END = 0, /* of the text */
	JSON_OBJECT,  /* { */
	JSON_OBJECT_END,
	JSON_ARRAY, /* [ */
	JSON_ARRAY_END,
	JSON_KEY,    /* text: the key */
	JSON_STRING, /* text: decoded */
	JSON_NUMBER, /* text: as in the file; number, and integer when is_integer */
	JSON_BOOL,   /* boolean */
	JSON_NULL,
};

/* What the last token says. text is valid until the next call and followed by a NUL. */
struct json_value {
	enum json_token token;
	const char *text;
	size_t len;
	double number;
	bool is_integer; /* fits int64_t exactly */
	int64_t integer;
	bool boolean;
};

struct json_reader;

/* Reads from the input's place on; the input stays the caller's and must outlive the reader. */
struct json_reader *json_reader_new(struct input *in);
void json_reader_free(struct json_reader *r); /* NULL is fine */

/* Accept a comma before a closing bracket, and that the text ends inside arrays or objects: what is open is then closed (a key
 * without a value gets null), and json_was_cut is true afterwards. */
void json_set_lenient(struct json_reader *r);
bool json_was_cut(const struct json_reader *r);

/* The next token into *out. > 0: there is one; 0: the end of the text; < 0: -EBADMSG with the place (byte) and what was
 * expected, or the input's error. After an error every call gives it again. */
int json_next(struct json_reader *r, struct json_value *out, struct err *err);

/* How many arrays and objects are open. */
int json_depth(const struct json_reader *r);

/* --- stepping through what is expected ---------------------------------------------------------
 * All give 1, 0 where said, or -errno. A value of another kind than asked for is no error: it is stepped over whole, and the call
 * gives 0. */

/* Steps into the next value if it is an object (or array). */
int json_enter(struct json_reader *r, enum json_token what, struct err *err);

/* The next key of the object entered last; 0: its end, which is then behind us. The value comes next. key: as in json_next. */
int json_key_next(struct json_reader *r, struct json_value *key, struct err *err);

/* Whether the array entered last has one more item, which comes next; 0: its end, which is then behind us. */
int json_item_next(struct json_reader *r, struct err *err);

/* The next value, if it is a scalar (string, number, boolean, null): 1. An object or array is stepped over: 0. */
int json_scalar(struct json_reader *r, struct json_value *out, struct err *err);

/* Steps over the next value, whatever it is. */
int json_skip(struct json_reader *r, struct err *err);

static inline bool json_is(const struct json_value *v, const char *text)
{
	size_t len = strlen(text);
	return v->len == len && memcmp(v->text, text, len) == 0;
}

/* --- looking at the beginning of a text ----------------------------------------------------------
 * For detecting formats: walks the first bytes of a text, which may be cut anywhere, and calls on_key for each key of the
 * outermost object with the first token of its value; of an array at the top, for each key of its first object. depth 1: the
 * outermost object; 2: inside a leading array. Stops when on_key gives false. Returns whether the bytes begin like JSON. */
typedef bool json_key_fn(void *ctx, const struct json_value *key, const struct json_value *value,
			 int depth);
bool json_peek_keys(const char *head, size_t len, json_key_fn *on_key, void *ctx);

#endif
