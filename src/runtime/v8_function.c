/* Functions: their name, script and code, from a SharedFunctionInfo. */
#include "runtime/v8_parts.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, MAX_LOCALS = 1 << 16 };
/* Up to this many names of locals are in the ScopeInfo; more are in a table. */
enum { MAX_NAMES_INSIDE = 75 };

void v8_function_done(struct v8_function *f)
{
	free(f->name);
	f->name = NULL;
}

static int small(uint64_t word, uint32_t *out)
{
	if ((uint32_t)word || word >> 63)
		return -EBADMSG;
	*out = word >> 32;
	return 0;
}

static int scope_word(const struct v8_reader *r, uint64_t scope, uint32_t i, uint64_t *out)
{
	return v8_field(r, scope, WORD + i * WORD, out);
}

/* What follows the locals of a function's scope: its name, a slot, an inferred name, and, in
 * versions that have them not before the locals, the positions of its start and end. */
static int read_scope(const struct v8_reader *r, uint64_t scope, uint64_t *name, int32_t *start)
{
	const struct v8_layout *l = r->layout;
	uint64_t word, at;
	uint32_t n, position;
	int rc = scope_word(r, scope, l->scope_locals, &word);

	rc = rc < 0 ? rc : small(word, &n);
	if (rc < 0 || n > MAX_LOCALS)
		return -EBADMSG;
	at = l->scope_first + (n < MAX_NAMES_INSIDE ? n : 1) + n;
	rc = scope_word(r, scope, at, &word);
	if (rc < 0)
		return rc;
	*name = v8_is_object(word) ? word : 0;
	/* From 13 on the positions are in front. */
	at = l->scope_first > l->scope_locals + 1u ? l->scope_first - 2u : at + 3;
	if (scope_word(r, scope, at, &word) == 0 && small(word, &position) == 0)
		*start = position;
	return 0;
}

static int read_name(const struct v8_reader *r, uint64_t at, struct v8_function *out)
{
	struct buf text = { 0 };
	uint64_t name = v8_is_object(at) ? at : 0;
	int rc = 0;

	if (name && v8_is(r, name, r->layout->type_scope))
		rc = read_scope(r, name, &name, &out->start);
	if (rc == 0 && name) /* the name of a class's member may be a symbol */
		rc = v8_text_read(r, name, V8_MAX_NAME, &text);
	if (rc == -EBADMSG || rc == -E2BIG)
		rc = 0, buf_clear(&text);
	if (rc == 0)
		out->name = xstrdup(buf_cstr(&text));
	buf_done(&text);
	return rc;
}

/* The bytecode that the function has, below its baseline code or its own interpreter entry. */
static uint64_t bytecode_of(const struct v8_reader *r, uint64_t data)
{
	const struct v8_layout *l = r->layout;
	uint64_t inner;

	for (int i = 0; i < 3 && v8_is_object(data); i++) {
		if (v8_is(r, data, l->type_bytecode))
			return data;
		if (v8_is(r, data, l->type_interpreter)) {
			if (v8_field(r, data, WORD, &inner) < 0)
				return 0;
		} else if (!v8_is(r, data, l->type_code) ||
			   v8_field(r, data, l->code_deopt, &inner) < 0) {
			return 0;
		}
		data = inner;
	}
	return 0;
}

static int read_stamp(const struct v8_reader *r, uint64_t shared, uint64_t *name, uint64_t *script)
{
	int rc = v8_field(r, shared, r->layout->shared_name, name);

	return rc < 0 ? rc : v8_field(r, shared, r->layout->shared_script, script);
}

/* Whether it is still the same function. */
static int check(const struct v8_reader *r, uint64_t shared, uint32_t stamp, uint32_t mask,
		 uint64_t *name, uint64_t *script)
{
	int rc = read_stamp(r, shared, name, script);

	if (rc < 0)
		return rc;
	if (!v8_is(r, shared, r->layout->type_shared) ||
	    ((v8_stamp(*name, *script) ^ stamp) & mask))
		return -ESTALE;
	return 0;
}

int v8_function_read(const struct v8_reader *r, uint64_t shared, uint32_t stamp, uint32_t mask,
		     struct v8_function *out)
{
	struct v8_function f = { .start = V8_NO_POSITION };
	uint64_t name, script, data = 0;
	int rc = check(r, shared, stamp, mask, &name, &script);

	if (rc < 0)
		return rc;
	if (v8_is(r, script, r->layout->type_script))
		f.script = script;
	if (v8_field(r, shared, r->layout->shared_data, &data) == 0 && v8_is_object(data)) {
		f.data = data;
		f.bytecode = bytecode_of(r, data);
	}
	rc = read_name(r, name, &f);
	f.shared = shared;
	f.stamp = stamp = v8_stamp(name, script);
	rc = rc < 0 ? rc : check(r, shared, stamp, UINT32_MAX, &name, &script);
	if (rc < 0)
		v8_function_done(&f);
	else
		*out = f;
	return rc;
}

int v8_function_check(const struct v8_reader *r, const struct v8_function *f)
{
	uint64_t name, script;
	int rc = check(r, f->shared, f->stamp, UINT32_MAX, &name, &script);

	return rc == 0 && f->script && !v8_is(r, script, r->layout->type_script) ? -ESTALE : rc;
}
