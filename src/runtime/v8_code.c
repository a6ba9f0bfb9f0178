/* Compiled code: from a pc to its Code object, and to the functions inlined there. */
#include "runtime/v8_parts.h"

#include <errno.h>
#include <string.h>

/* MAX_TRIES: words that may lead to a Code; code has few of them. */
enum { ALIGN = 64, PAGE = 4096, MAX_PAGES = 256, MAX_TRIES = 64 };

static bool take_size(const struct v8_reader *r, struct v8_code *c, uint64_t pc)
{
	const struct v8_layout *l = r->layout;
	uint32_t flags;

	if (v8_field32(r, c->code, l->code_size, &c->size) < 0 ||
	    v8_field32(r, c->code, l->code_flags, &flags) < 0)
		return false;
	c->kind = flags & l->kind_mask;
	return pc >= c->start && pc - c->start < c->size;
}

/* Whether code starts there: the word before it leads to a Code that starts there. */
static bool starts(const struct v8_reader *r, uint64_t at, uint64_t word, struct v8_code *out)
{
	const struct v8_layout *l = r->layout;
	uint64_t start;

	out->start = at;
	if (!l->code_start) { /* word: the map of the Code itself */
		out->code = at - l->code_before + 1;
		return v8_is(r, out->code, l->type_code);
	}
	out->code = word;
	return v8_is(r, word, l->type_code) && v8_field(r, word, l->code_start, &start) == 0 &&
	       start == at;
}

static int look_in_page(const struct v8_reader *r, uint64_t page, uint64_t pc, uint32_t *tries,
			struct v8_code *out)
{
	uint64_t words[PAGE / 8], before = r->layout->code_before;
	int rc = r->memory->read(r->memory->ctx, page, words, sizeof words);

	if (rc < 0) /* late reads and refused ones: not now */
		return rc == -EAGAIN || rc == -EBUSY ? -EBUSY : -ESTALE;
	for (uint32_t at = PAGE; at > 0;) {
		at -= ALIGN;
		/* The word is before the code, which may start in the next page. */
		uint64_t start = page + at + ALIGN;
		uint32_t word = (at + ALIGN - before) / 8;

		if (before > ALIGN) {
			start = page + at + before;
			word = at / 8;
		}
		if (start > pc || !v8_is_object(words[word]))
			continue;
		if (++*tries > MAX_TRIES)
			return -ESTALE;
		if (starts(r, start, words[word], out))
			return take_size(r, out, pc) ? 0 : -ESTALE;
	}
	return -EAGAIN;
}

int v8_code_find(const struct v8_reader *r, uint64_t pc, struct v8_code *out)
{
	uint64_t page = pc & ~(uint64_t)(PAGE - 1);
	uint32_t tries = 0;
	int rc = -EAGAIN;

	for (int i = 0; i < MAX_PAGES && rc == -EAGAIN; i++)
		rc = look_in_page(r, page - (uint64_t)i * PAGE, pc, &tries, out);
	return rc == -EAGAIN ? -ESTALE : rc;
}

bool v8_code_is_optimized(const struct v8_layout *l, const struct v8_code *c)
{
	return c->kind == l->kind_turbofan || (l->kind_maglev && c->kind == l->kind_maglev);
}

/* --- inlined functions ------------------------------------------------------------------------ */

enum { MAX_ELEMENTS = 1 << 20 };

static int element(const struct v8_reader *r, uint64_t array, uint32_t i, uint64_t *out)
{
	uint32_t length;
	int rc = v8_array_length(r, array, MAX_ELEMENTS, &length);

	if (rc == 0 && i >= length)
		rc = -EBADMSG;
	return rc < 0 ? rc : v8_field(r, array, V8_ARRAY_HEADER + 8 * i, out);
}

/* A SharedFunctionInfo in an array: weak, or in a wrapper in some versions. */
static int shared_in(const struct v8_reader *r, uint64_t array, uint32_t i, uint64_t *out)
{
	uint64_t at;
	int rc = element(r, array, i, &at);

	if (rc < 0)
		return rc;
	at &= ~2ull;
	if (!v8_is(r, at, r->layout->type_shared) && (rc = v8_field(r, at, 8, &at)) < 0)
		return rc;
	if (!v8_is(r, at, r->layout->type_shared))
		return -EBADMSG;
	*out = at;
	return 0;
}

/* An inlined call: its position, and the index of the called function among the literals; -1: the
 * code's own function. */
struct inlined {
	uint64_t position;
	int32_t function;
	int32_t reserved;
};

static int inlined_at(const struct v8_reader *r, uint64_t deopt, int32_t i, struct inlined *out)
{
	uint64_t all;
	uint32_t bytes;
	int rc = element(r, deopt, r->layout->deopt_inlining, &all);

	rc = rc < 0 ? rc : v8_array_length(r, all, MAX_ELEMENTS, &bytes);
	if (rc < 0)
		return rc;
	if ((uint64_t)i * sizeof *out + sizeof *out > bytes)
		return -EBADMSG;
	return r->memory->read(r->memory->ctx,
			       all - 1 + V8_ARRAY_HEADER + (uint64_t)i * sizeof *out, out,
			       sizeof *out);
}

int v8_code_sites(const struct v8_reader *r, const struct v8_code *c, uint64_t pc,
		  struct v8_site *out, uint32_t max, uint32_t *n)
{
	const struct v8_layout *l = r->layout;
	struct v8_position at = { V8_NO_POSITION, -1 };
	uint64_t table, deopt, literals, root;
	int rc = v8_field(r, c->code, l->code_deopt, &deopt);

	*n = 0;
	rc = rc < 0 ? rc : v8_field(r, c->code, l->code_positions, &table);
	rc = rc < 0 ? rc : shared_in(r, deopt, l->deopt_shared, &root);
	rc = rc < 0 ? rc : element(r, deopt, l->deopt_literals, &literals);
	if (rc < 0)
		return rc;
	if (!l->has_sparse_positions)
		rc = v8_positions_read(r, table, pc - c->start, &at);
	if (rc < 0 && rc != -ENODATA && rc != -EBADMSG)
		return rc;
	while (at.inlining >= 0) {
		struct inlined call;
		uint64_t shared;

		rc = *n + 1 == max ? -E2BIG : inlined_at(r, deopt, at.inlining, &call);
		if (rc < 0)
			return rc;
		if (call.function == -1)
			shared = root;
		else if (call.function < 0)
			rc = -EBADMSG;
		else
			rc = shared_in(r, literals, call.function, &shared);
		if (rc < 0)
			return rc;
		out[(*n)++] = (struct v8_site){ shared, at.offset };
		at = v8_position_of(call.position);
	}
	out[(*n)++] = (struct v8_site){ root, at.offset };
	return 0;
}
