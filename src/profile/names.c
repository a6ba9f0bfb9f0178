/* A table of names by frame, with lines in a shared array. */
#include "profile/names.h"

#include <assert.h>
#include <string.h>

/* These are hashed and compared as bytes. */
_Static_assert(sizeof(struct function) == 4 * sizeof(uint32_t), "no padding");
_Static_assert(sizeof(struct line) == 3 * sizeof(uint32_t), "no padding");

void names_done(struct names *t)
{
	vec_done(&t->functions);
	vec_done(&t->lines);
	vec_done(&t->by_frame);
	vec_done(&t->changes);
	map_done(&t->function_index);
}

struct function_key {
	const struct names *t;
	const struct function *f;
};

static bool function_same(const void *ctx, uint32_t id)
{
	const struct function_key *key = ctx;
	return memcmp(&key->t->functions.v[id], key->f, sizeof *key->f) == 0;
}

uint32_t function_intern(struct names *t, const struct function *f)
{
	struct function_key key = { t, f };
	uint32_t fresh = t->functions.n;
	uint32_t id = map_intern(&t->function_index, hash_bytes(f, sizeof *f), fresh, function_same,
				 &key);
	if (id == fresh)
		vec_push(&t->functions, *f);
	return id;
}

void names_set(struct names *t, uint32_t frame, const struct line *lines, uint32_t n)
{
	n = n < NAMES_MAX_INLINE ? n : NAMES_MAX_INLINE;
	for (uint32_t i = 0; i < n; i++)
		assert(lines[i].function < t->functions.n);
	vec_reserve(&t->by_frame, (size_t)frame + 1);
	vec_reserve(&t->changes, (size_t)frame + 1);
	while (t->by_frame.n <= frame) {
		t->by_frame.v[t->by_frame.n++] = (struct line_run){ 0 };
		t->changes.v[t->changes.n++] = 0;
	}
	struct line_run *run = &t->by_frame.v[frame];
	if (n <= run->n) {
		if (n)
			memcpy(&t->lines.v[run->first], lines, n * sizeof *lines);
	} else {
		run->first = t->lines.n;
		vec_append(&t->lines, lines, n);
	}
	run->n = n;
	t->changes.v[frame]++;
	t->all_changes++;
}

uint32_t names_get(const struct names *t, uint32_t frame, const struct line **lines)
{
	if (frame >= t->by_frame.n || t->by_frame.v[frame].n == 0)
		return 0;
	*lines = &t->lines.v[t->by_frame.v[frame].first];
	return t->by_frame.v[frame].n;
}
