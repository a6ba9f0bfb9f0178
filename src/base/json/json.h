/* base/json/json.h: writes JSON as a stream, without a tree; handles commas and escaping.
 *
 *     json_obj(j); json_key(j, "pid"); json_u64(j, 42); json_end(j);
 *
 * Nesting is limited to 64. Misuse, such as a value without a key inside an object, is a
 * programming error and asserts. */
#ifndef CRESSET_BASE_JSON_JSON_H
#define CRESSET_BASE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

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

/* NULL writes null; invalid UTF-8 becomes U+FFFD. */
void json_str(struct json *j, const char *s);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);

/* Writes the shortest form that reads back; null for NaN and infinities. Needs LC_NUMERIC "C", as
 * does all our output. */
void json_num(struct json *j, double v);
void json_bool(struct json *j, bool v);

/* Writes a value that is already JSON, without a trailing newline. */
void json_raw(struct json *j, const char *text, size_t len);

/* These write a key and its value. */
void json_key_str(struct json *j, const char *key, const char *value);
void json_key_text(struct json *j, const char *key, const char *value); /* "" writes null, too */
void json_key_u64(struct json *j, const char *key, uint64_t value);
void json_key_i64(struct json *j, const char *key, int64_t value);
void json_key_num(struct json *j, const char *key, double value);
void json_key_bool(struct json *j, const char *key, bool value);

#endif
