/* Hashes names along a path. */
#include "profile/tree/tree_path.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "profile/frame.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <string.h>

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)
#define LOW_48     ((UINT64_C(1) << 48) - 1)

static void add_text(struct buf *b, const struct tree *t, uint32_t id)
{
	esc_utf8(b, strtab_get(&t->strings, id), strtab_len(&t->strings, id), TREE_TEXT_MAX);
	buf_addc(b, 0);
}

uint64_t tree_func_number(const struct tree *t, uint32_t func)
{
	const struct tree_func *f = &t->funcs.v[func];
	struct buf b = { 0 };
	uint64_t h = FNV_OFFSET;
	add_text(&b, t, f->name);
	add_text(&b, t, f->binary);
	add_text(&b, t, f->file);
	buf_add(&b, frame_kinds[f->kind].name, strlen(frame_kinds[f->kind].name) + 1);
	buf_add(&b, f->inlined ? "1" : "", f->inlined ? 2 : 1);
	for (size_t i = 0; i < b.len; i++)
		h = (h ^ (uint8_t)b.data[i]) * FNV_PRIME;
	buf_done(&b);
	return h >> 48 ^ (h & LOW_48);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int tree_path_parse(const char *text, struct tree_path *out, struct err *err)
{
	struct tree_path p = { 0 };
	size_t n = strlen(text);
	bool is_good = n % TREE_PATH_DIGITS == 0;
	for (size_t i = 0; i < n && is_good; i++) {
		if (i % TREE_PATH_DIGITS == 0)
			vec_push(&p.funcs, 0);
		is_good = digit(text[i]) >= 0;
		p.funcs.v[p.funcs.n - 1] = p.funcs.v[p.funcs.n - 1] << 4 | (digit(text[i]) & 15);
	}
	if (!is_good) {
		tree_path_done(&p);
		return err_set(err, EINVAL, "a path has %d hex digits for each function on it",
			       TREE_PATH_DIGITS);
	}
	*out = p;
	return 0;
}

void tree_path_done(struct tree_path *p)
{
	vec_done(&p->funcs);
}

uint32_t tree_path_step(const struct tree_path *p, uint32_t parent_step, const struct tree *t,
			uint32_t func)
{
	if (!p || parent_step == PATH_OFF || parent_step == p->funcs.n)
		return p ? parent_step : PATH_OFF;
	return tree_func_number(t, func) == p->funcs.v[parent_step] ? parent_step + 1 : PATH_OFF;
}
