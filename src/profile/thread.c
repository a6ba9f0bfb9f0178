/* Adds times of intervals by thread and state. */
#include "profile/thread.h"

struct lookup {
	const struct thread_table *table;
	const struct thread_times *row;
};

static bool is_same(const void *ctx, uint32_t i)
{
	const struct lookup *l = ctx;
	const struct thread_times *have = &l->table->all.v[i];

	return have->pid == l->row->pid && have->tid == l->row->tid &&
	       have->first_ns == l->row->first_ns;
}

void thread_table_put(struct thread_table *t, const struct thread_times *row)
{
	struct lookup l = { t, row };
	uint64_t key = hash_mix((uint64_t)row->pid << 32 | row->tid, row->first_ns);
	uint32_t i = map_intern(&t->index, key, t->all.n, is_same, &l);

	if (i == t->all.n)
		vec_push(&t->all, *row);
	else
		t->all.v[i] = *row;
}

void thread_table_done(struct thread_table *t)
{
	vec_done(&t->all);
	map_done(&t->index);
}
