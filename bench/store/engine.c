#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const question_names[QUESTIONS] = {
	[Q_TREE] = "tree",
	[Q_DIFF] = "diff",
	[Q_SOME_MERGE] = "some-merge",
	[Q_SOME_STEPS] = "some-steps",
	[Q_MERGE] = "merge",
	[Q_ROWS] = "rows",
	[Q_STEPS] = "steps",
	[Q_TREE_ALL] = "tree-all",
	[Q_FILTER] = "filter",
};

void answer_add(struct answer *a, uint64_t key, int64_t value)
{
	a->n++;
	a->sum += value;
	a->check += hash_mix(key, value);
}

uint64_t name_key(const char *name, const char *binary, const char *file)
{
	const char *slash = strrchr(binary, '/');
	const char *base = slash ? slash + 1 : binary;

	return hash_mix(hash_mix(hash_bytes(name, strlen(name)), hash_bytes(base, strlen(base))),
			hash_bytes(file, strlen(file)));
}

void name_tree_add(struct name_tree *t, const uint64_t *name_keys, const uint32_t *frames,
		   uint32_t n, int64_t value)
{
	uint64_t key = 0;
	for (uint32_t i = 0; i < n; i++) {
		key = node_key(key, name_keys[frames[i] / MODEL_FRAMES_PER_FUNCTION]);
		uint32_t node = map_intern(&t->nodes, key, t->totals.n, NULL, NULL);
		if (node == t->totals.n) {
			vec_push(&t->totals, 0);
			vec_push(&t->keys, key);
		}
		t->totals.v[node] += value;
	}
}

void name_tree_answer(const struct name_tree *t, int64_t min_total, struct answer *out)
{
	for (size_t i = 0; i < t->totals.n; i++)
		if (t->totals.v[i] >= min_total)
			answer_add(out, t->keys.v[i], t->totals.v[i]);
}

void name_tree_done(struct name_tree *t)
{
	map_done(&t->nodes);
	vec_done(&t->totals);
	vec_done(&t->keys);
}

void bench_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("bench/store: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}
