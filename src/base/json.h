/* base/json.h: JSON written as a stream: no tree, commas and escaping looked after.
 *
 *     json_obj(j); json_key(j, "pid"); json_u64(j, 42); json_end(j);
 *
 * Nesting is bounded at 64; a value without key inside an object or the like is a programming error and asserts. */
#ifndef CRESSET_BASE_JSON_H
#define CRESSET_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct json {
	struct buf *out;
	int depth;
	uint64_t is_array, has_items; /* bit per level */
	bool after_key;
};

static inline struct json json_to(struct buf *out)
{
	return (struct json){ .out = out };
}
void json_obj(struct json *j);
void json_arr(struct json *j);

/* Ends the innermost object or array. */
void json_end(struct json *j);
void json_key(struct json *j, const char *key);

/* NULL writes null; what is not UTF-8 becomes U+FFFD. */
void json_str(struct json *j, const char *s);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);

/* Shortest form that reads back; NaN and infinities write null. Needs LC_NUMERIC to be "C", as all of our output does. */
void json_num(struct json *j, double v);
void json_bool(struct json *j, bool v);

/* A value that is JSON already, without a newline at its end. */
void json_raw(struct json *j, const char *text, size_t len);

/* A key with its value. */
void json_key_str(struct json *j, const char *key, const char *value);
void json_key_text(struct json *j, const char *key, const char *value); /* "" is null, too */
void json_key_u64(struct json *j, const char *key, uint64_t value);
void json_key_i64(struct json *j, const char *key, int64_t value);
void json_key_num(struct json *j, const char *key, double value);
void json_key_bool(struct json *j, const char *key, bool value);

#endif
