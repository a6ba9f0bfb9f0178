/* Counts starts and ends of threads, from the newest record to the oldest. */
#include "collect/resolve/lives.h"

#include "collect/kernel/side_band.h"

void lives_clear(struct lives *l)
{
	map_clear(&l->by_pid);
	vec_clear(&l->all);
	vec_clear(&l->of);
}

void lives_done(struct lives *l)
{
	map_done(&l->by_pid);
	vec_done(&l->all);
	vec_done(&l->of);
}

/* A process without a thread that has ended continues after the batch. */
static uint32_t life_of(struct lives *l, uint32_t pid, bool has_ended)
{
	const uint32_t *known = map_get(&l->by_pid, pid);
	uint32_t i = l->all.n;

	if (known)
		return *known;
	vec_push(&l->all, (struct life){ .is_needed = !has_ended });
	map_put(&l->by_pid, pid, i);
	return i;
}

void lives_need(struct lives *l, uint32_t pid)
{
	uint32_t i = life_of(l, pid, false);

	l->all.v[i].is_needed = true;
}

static bool is_over(const struct life *life)
{
	return life->has_started && !life->threads;
}

static bool is_brief(const struct life *life)
{
	return is_over(life) && !life->is_needed;
}

/* Records before its fork are of another process with this pid. */
static void begin(struct lives *l, uint32_t i, const struct side_record *r)
{
	l->all.v[i].has_started = true;
	map_del(&l->by_pid, r->pid);
	if (!is_brief(&l->all.v[i]))
		lives_need(l, r->ppid);
}

void lives_add(struct lives *l, const struct side_record *r)
{
	bool is_exit = r->kind == SIDE_EXIT, is_fork = r->kind == SIDE_FORK;
	uint32_t i = r->kind == SIDE_LOST ? LIFE_NONE : life_of(l, r->pid, is_exit);

	vec_push(&l->of, i);
	if (is_exit)
		l->all.v[i].threads++;
	if (is_fork)
		l->all.v[i].threads--;
	if (is_fork && r->pid != r->ppid)
		begin(l, i, r);
}

bool lives_is_brief(const struct lives *l, size_t i)
{
	return l->of.v[i] != LIFE_NONE && is_brief(&l->all.v[l->of.v[i]]);
}

bool lives_is_over(const struct lives *l, size_t i)
{
	return l->of.v[i] != LIFE_NONE && is_over(&l->all.v[l->of.v[i]]);
}
