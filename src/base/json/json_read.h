/* base/json/json_read.h: reads JSON as a stream of tokens, without a tree. Memory is one window,
 * whatever the size of the file.
 *
 * Read either token by token:
 *
 *     struct json_reader *r = json_reader_new(in);
 *     while ((rc = json_next(r, &v, err)) > 0) …
 *
 * or, if the caller knows what to expect, with calls that skip the rest:
 *
 *     json_enter(r, JSON_OBJECT, err)
 *     while ((rc = json_key_next(r, &key, err)) > 0) {
 *             if (json_is(&key, "name"))  rc = json_scalar(r, &name, err);
 *             else                        rc = json_skip(r, err);
 *     }
 *
 * The grammar is RFC 8259's, plus deviations found in real files: a leading byte order mark,
 * blanks and NULs after the end, control characters in strings, and in lenient mode a comma before
 * a closing bracket and a text that ends inside arrays or objects (trace viewers accept both).
 * Escapes are decoded to UTF-8; an unpaired surrogate becomes U+FFFD; invalid UTF-8 is passed on
 * unchanged. */
#ifndef CRESSET_BASE_JSON_JSON_READ_H
#define CRESSET_BASE_JSON_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct decimal;
struct err;
struct input;

enum {
	JSON_MAX_NESTING = 512,     /* limit: nesting of read JSON; deeper is -EBADMSG */
	JSON_MAX_STRING = 16 << 20, /* limit: bytes of a JSON string, decoded; longer is -EBADMSG */
};

enum json_token {
	JSON_END = 0, /* of the text */
	JSON_OBJECT,  /* { */
	JSON_OBJECT_END,
	JSON_ARRAY, /* [ */
	JSON_ARRAY_END,
	JSON_KEY,    /* text: the key */
	JSON_STRING, /* text: decoded */
	JSON_NUMBER, /* text: as in the file; integer when is_integer; else json_double */
	JSON_BOOL,   /* boolean */
	JSON_NULL,
};

/* The last token. text is valid until the next call and NUL-terminated. */
struct json_value {
	enum json_token token;
	const char *text;
	size_t len;
	bool is_integer; /* fits int64_t exactly */
	int64_t integer;
	bool boolean;
};

struct json_reader;

/* Reads from the input's current position; the input stays the caller's and must outlive the
 * reader. */
struct json_reader *json_reader_new(struct input *in);
void json_reader_free(struct json_reader *r); /* NULL is fine */

/* Accepts a comma before a closing bracket, and a text that ends inside arrays or objects: these
 * are then closed (a key without a value gets null), and json_was_cut returns true afterwards. */
void json_set_lenient(struct json_reader *r);
bool json_was_cut(const struct json_reader *r);

/* Reads the next token into *out. Returns > 0 with a token, 0 at the end of the text, or -EBADMSG
 * with the position (byte) and what was expected, or the input's error. After an error every call
 * returns it again. */
int json_next(struct json_reader *r, struct json_value *out, struct err *err);

/* Returns the number of open arrays and objects. */
int json_depth(const struct json_reader *r);

/* --- reading expected structures ---------------------------------------------------------------
 * All return 1, 0 where stated, or -errno. A value of another kind than requested is no error: it
 * is skipped, and the call returns 0. */

/* Enters the next value if it is an object (or array). */
int json_enter(struct json_reader *r, enum json_token what, struct err *err);

/* Reads the next key of the object entered last; returns 0 after reading its end. The value comes
 * next. key: as in json_next. */
int json_key_next(struct json_reader *r, struct json_value *key, struct err *err);

/* Returns 1 if the array entered last has one more item, which comes next; 0 after reading its
 * end. */
int json_item_next(struct json_reader *r, struct err *err);

/* Reads the next value and returns 1 if it is a scalar (string, number, boolean, null). Skips an
 * object or array and returns 0. */
int json_scalar(struct json_reader *r, struct json_value *out, struct err *err);

/* Skips the next value. */
int json_skip(struct json_reader *r, struct err *err);

/* Goes to the next of several texts in a row (JSON Lines). After a bad text it goes to the end of
 * the line first. Call before each text. Returns 1, 0 at the end of the input, or -errno. */
int json_next_text(struct json_reader *r, struct err *err);

double json_double(const struct json_value *v); /* of a JSON_NUMBER */

/* Reads a number, or a string that is one, exactly. Returns false for any other value. */
bool json_decimal(const struct json_value *v, struct decimal *out);

static inline bool json_is(const struct json_value *v, const char *text)
{
	size_t len = strlen(text);
	return v->len == len && memcmp(v->text, text, len) == 0;
}

/* --- reading the start of a text -----------------------------------------------------------------
 * For detecting formats: reads the first bytes of a text, which may be truncated anywhere, and
 * calls on_key for each key of the outermost object, or of the first object in an outermost array,
 * with the first token of its value. depth 1: the outermost object; 2: inside an outermost array.
 * Stops when on_key returns false. Returns whether the bytes start like JSON. */
typedef bool json_key_fn(void *ctx, const struct json_value *key, const struct json_value *value,
			 int depth);
bool json_peek_keys(const char *head, size_t len, json_key_fn *on_key, void *ctx);

#endif
