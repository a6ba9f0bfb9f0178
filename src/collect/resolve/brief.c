/* Counts the starts and ends of each process id, and finds the parents of other lives. */
#include "collect/resolve/brief.h"

#include "collect/kernel/side_band.h"

void brief_clear(struct brief *b)
{
	map_clear(&b->by_pid);
	map_clear(&b->needed);
	vec_clear(&b->lives);
	b->n_brief = 0;
	b->has_lost = false;
}

void brief_done(struct brief *b)
{
	map_done(&b->by_pid);
	map_done(&b->needed);
	vec_done(&b->lives);
}

static struct brief_life *find(const struct brief *b, uint32_t pid)
{
	const uint32_t *i = map_get(&b->by_pid, pid);

	return i ? &b->lives.v[*i] : NULL;
}

static struct brief_life *life_of(struct brief *b, uint32_t pid)
{
	struct brief_life *known = find(b, pid);

	if (known)
		return known;
	map_put(&b->by_pid, pid, b->lives.n);
	vec_push(&b->lives, (struct brief_life){ .first_exit_ns = UINT64_MAX });
	return &b->lives.v[b->lives.n - 1];
}

void brief_add(struct brief *b, const struct side_record *r)
{
	bool is_fork = r->kind == SIDE_FORK;

	b->has_lost |= r->kind == SIDE_LOST;
	if (!is_fork && r->kind != SIDE_EXIT)
		return;
	struct brief_life *life = life_of(b, r->pid);
	if (is_fork && r->pid != r->ppid) {
		if (life->starts++) { /* two lives, each read: both parents are */
			brief_need(b, life->parent);
			brief_need(b, r->ppid);
		}
		life->parent = r->ppid;
		life->begin_ns = r->time_ns;
	}
	if (is_fork) {
		life->threads++;
		return;
	}
	life->exits++;
	if (r->time_ns > life->end_ns)
		life->end_ns = r->time_ns;
	if (r->time_ns < life->first_exit_ns)
		life->first_exit_ns = r->time_ns;
}

void brief_need(struct brief *b, uint32_t pid)
{
	map_put(&b->needed, pid, 1);
}

/* An exit before the fork is of another process with this pid. */
static bool is_over(const struct brief_life *life)
{
	return life->starts == 1 && life->threads == life->exits &&
	       life->first_exit_ns >= life->begin_ns;
}

/* The process that it was forked from, and that one's, have mappings that it starts with. */
static void keep_parents(struct brief *b, const struct brief_life *life)
{
	while (life->starts) {
		struct brief_life *parent = find(b, life->parent);

		if (!parent || !parent->is_brief)
			return;
		parent->is_brief = false;
		b->n_brief--;
		life = parent;
	}
}

void brief_find(struct brief *b)
{
	if (b->has_lost)
		return;
	map_each (&b->by_pid, slot) {
		struct brief_life *life = &b->lives.v[slot->value];

		life->is_brief = is_over(life) && !map_get(&b->needed, slot->key);
		b->n_brief += life->is_brief;
	}
	for (size_t i = 0; i < b->lives.n && b->n_brief; i++)
		if (!b->lives.v[i].is_brief)
			keep_parents(b, &b->lives.v[i]);
}

bool brief_has(const struct brief *b, const struct side_record *r)
{
	const struct brief_life *life = b->n_brief ? find(b, r->pid) : NULL;

	return life && life->is_brief && r->kind != SIDE_LOST && r->time_ns >= life->begin_ns &&
	       r->time_ns <= life->end_ns;
}
