/* Joins GPU work with the stacks of its launches. */
#include "gpu/ring/join.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

/* limit MAX_LAUNCHES: launches waiting for their work, of all programs */
enum { MAX_LAUNCHES = 1 << 17, NO_PART = UINT32_MAX };
#define HOLD_NS 2000000000ull

struct launch {
	uint64_t key, time_ns;
	uint32_t tid, stack, weight;
};
struct waiting {
	uint64_t key, since_ns, start_ns, ns;
	uint32_t pid, work;
};
/* The sampled launches of a group with the same stack. */
struct part {
	uint32_t stack, next;
	double sum, squares;
};
/* tid 0 stands for the whole process. */
struct group {
	uint32_t pid, tid, work, parts;
	uint64_t ns, launches; /* to be shared out */
};
struct gpu_join {
	struct gpu_join_opts opts;
	gpu_share_fn *fn;
	void *ctx;
	struct launch *launches; /* a ring buffer: the oldest is overwritten */
	uint64_t n_launches;
	struct map launch_of;
	VEC(struct waiting) waiting;
	size_t first_waiting;
	VEC(struct group) groups;
	struct map group_of;
	VEC(struct part) parts;
	struct map part_of; /* group and stack */
	struct gpu_join_counts counts;
};

struct gpu_join *gpu_join_new(const struct gpu_join_opts *opts, gpu_share_fn *fn, void *ctx)
{
	struct gpu_join *j = xcalloc(1, sizeof *j);

	j->opts = *opts;
	if (!j->opts.max_launches)
		j->opts.max_launches = MAX_LAUNCHES;
	if (!j->opts.hold_ns)
		j->opts.hold_ns = HOLD_NS;
	if (!(j->opts.z > 0))
		j->opts.z = 1.96;
	j->fn = fn;
	j->ctx = ctx;
	j->launches = xcalloc(j->opts.max_launches, sizeof *j->launches);
	return j;
}

void gpu_join_free(struct gpu_join *j)
{
	if (!j)
		return;
	free(j->launches);
	map_done(&j->launch_of);
	map_done(&j->group_of);
	map_done(&j->part_of);
	vec_done(&j->waiting);
	vec_done(&j->groups);
	vec_done(&j->parts);
	free(j);
}

static uint64_t key_of(uint32_t pid, uint32_t correlation)
{
	return (uint64_t)pid << 32 | correlation;
}

/* --- launches --- */

static struct launch *find_launch(const struct gpu_join *j, uint64_t key)
{
	uint32_t *at = map_get(&j->launch_of, key);

	return at ? &j->launches[*at] : NULL;
}

static struct launch *add_launch(struct gpu_join *j, uint64_t key)
{
	struct launch *l = find_launch(j, key);

	if (l)
		return l;
	uint32_t at = j->n_launches % j->opts.max_launches;

	l = &j->launches[at];
	if (j->n_launches++ >= j->opts.max_launches) {
		map_del(&j->launch_of, l->key);
		j->counts.forgotten++;
	}
	*l = (struct launch){ .key = key };
	map_put(&j->launch_of, key, at);
	return l;
}

void gpu_join_stack(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t stack,
		    uint32_t weight, uint64_t time_ns)
{
	struct launch *l = add_launch(j, key_of(pid, correlation));

	l->stack = stack;
	l->weight = weight ? weight : 1;
	l->time_ns = time_ns;
}

void gpu_join_call(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t tid)
{
	add_launch(j, key_of(pid, correlation))->tid = tid;
}

/* --- groups --- */

static bool is_group(const void *ctx, uint32_t value)
{
	const struct group *const *want = ctx;
	const struct group *g = &want[1][value];

	return g->pid == want[0]->pid && g->tid == want[0]->tid && g->work == want[0]->work;
}

static struct group *group_of(struct gpu_join *j, uint32_t pid, uint32_t tid, uint32_t work)
{
	struct group want = { .pid = pid, .tid = tid, .work = work, .parts = NO_PART };
	const struct group *ctx[] = { &want, j->groups.v };
	uint64_t key = hash_mix(hash_mix(pid, tid), work);
	uint32_t at = map_intern(&j->group_of, key, j->groups.n, is_group, ctx);

	if (at == j->groups.n)
		vec_push(&j->groups, want);
	return &j->groups.v[at];
}

static void add_part(struct gpu_join *j, struct group *g, uint32_t stack, double x)
{
	uint64_t key = (uint64_t)(g - j->groups.v) << 32 | stack;
	uint32_t *known = map_get(&j->part_of, key), at = known ? *known : j->parts.n;

	if (!known) {
		map_put(&j->part_of, key, at);
		vec_push(&j->parts, (struct part){ .stack = stack, .next = g->parts });
		g->parts = at;
	}
	j->parts.v[at].sum += x;
	j->parts.v[at].squares += x * x;
}

/* --- work --- */

static void tell_exact(struct gpu_join *j, const struct launch *l, const struct waiting *w)
{
	double x = (double)w->ns * l->weight;

	add_part(j, group_of(j, w->pid, l->tid, w->work), l->stack, x);
	if (l->tid)
		add_part(j, group_of(j, w->pid, 0, w->work), l->stack, x);
	j->counts.exact_ns += w->ns;
	j->fn(j->ctx, &(struct gpu_share){ .pid = w->pid,
					   .stack = l->stack,
					   .work = w->work,
					   .ns = w->ns,
					   .low_ns = w->ns,
					   .high_ns = w->ns,
					   .start_ns = w->start_ns,
					   .launch_ns = l->time_ns,
					   .is_exact = true });
}

/* Settles work that has waited: its launch has a stack by now, or it counts as having none. */
static void settle_one(struct gpu_join *j, const struct waiting *w)
{
	const struct launch *l = find_launch(j, w->key);

	if (l && l->stack) {
		tell_exact(j, l, w);
		return;
	}
	struct group *g = group_of(j, w->pid, l ? l->tid : 0, w->work);

	g->ns += w->ns;
	g->launches++;
	if (j->opts.held)
		j->opts.held(j->ctx, w->pid, w->work, w->start_ns, w->ns);
}

static void drop_settled(struct gpu_join *j)
{
	if (j->first_waiting < 1024 || j->first_waiting < j->waiting.n / 2)
		return;
	j->waiting.n -= j->first_waiting;
	memmove(j->waiting.v, j->waiting.v + j->first_waiting, j->waiting.n * sizeof *j->waiting.v);
	j->first_waiting = 0;
}

void gpu_join_work(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t work,
		   uint64_t start_ns, uint64_t ns, uint64_t now_ns)
{
	struct waiting w = { key_of(pid, correlation), now_ns, start_ns, ns, pid, work };
	const struct launch *l = find_launch(j, w.key);

	if (l && l->stack) {
		tell_exact(j, l, &w);
		return;
	}
	if (j->waiting.n - j->first_waiting >= j->opts.max_launches)
		settle_one(j, &j->waiting.v[j->first_waiting++]);
	drop_settled(j);
	vec_push(&j->waiting, w);
}

void gpu_join_finish(struct gpu_join *j, uint64_t now_ns)
{
	while (j->first_waiting < j->waiting.n) {
		struct waiting w = j->waiting.v[j->first_waiting];

		if (now_ns < w.since_ns || now_ns - w.since_ns < j->opts.hold_ns)
			break;
		j->first_waiting++;
		settle_one(j, &w);
	}
	drop_settled(j);
}

void gpu_join_forget(struct gpu_join *j, uint32_t pid)
{
	size_t kept = j->first_waiting;

	for (size_t i = j->first_waiting; i < j->waiting.n; i++) {
		struct waiting w = j->waiting.v[i];

		if (w.pid == pid)
			settle_one(j, &w);
		else
			j->waiting.v[kept++] = w;
	}
	j->waiting.n = kept;
	/* A forgotten slot has no process in its key. */
	for (uint32_t i = 0; i < j->opts.max_launches && i < j->n_launches; i++) {
		struct launch *l = &j->launches[i];

		if (l->key >> 32 != pid)
			continue;
		map_del(&j->launch_of, l->key);
		*l = (struct launch){ 0 };
	}
}

/* --- estimates --- */

static void tell_unknown(struct gpu_join *j, const struct group *g)
{
	j->counts.unknown_ns += g->ns;
	j->fn(j->ctx,
	      &(struct gpu_share){
		      .pid = g->pid, .work = g->work, .ns = g->ns, .low_ns = 0, .high_ns = g->ns });
}

/* Shares g out by the parts from first on, rounded so that the sum is exact. */
static void share_out(struct gpu_join *j, const struct group *g, uint32_t first)
{
	double sum = 0, squares = 0, before = 0, z = j->opts.z;
	uint64_t told = 0;

	for (uint32_t at = first; at != NO_PART; at = j->parts.v[at].next) {
		sum += j->parts.v[at].sum;
		squares += j->parts.v[at].squares;
	}
	if (!(sum > 0)) { /* work without duration */
		tell_unknown(j, g);
		return;
	}
	double n = 1 / (squares / (sum * sum) + 1.0 / g->launches);

	for (uint32_t at = first; at != NO_PART; at = j->parts.v[at].next) {
		double p = j->parts.v[at].sum / sum;

		before += p;
		uint64_t end =
			j->parts.v[at].next == NO_PART ? g->ns : (uint64_t)llround(before * g->ns);

		if (end > g->ns)
			end = g->ns;
		uint64_t ns = end > told ? end - told : 0;
		double centre = (p + z * z / (2 * n)) / (1 + z * z / n);
		double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
		double low = (centre - half) * g->ns, high = (centre + half) * g->ns;

		told += ns;
		j->fn(j->ctx,
		      &(struct gpu_share){ .pid = g->pid,
					   .stack = j->parts.v[at].stack,
					   .work = g->work,
					   .ns = ns,
					   .samples = n < 1     ? 1
						      : n > 1e9 ? 1000000000
								: (uint32_t)n,
					   .low_ns = low > 0 ? (low < ns ? (uint64_t)low : ns) : 0,
					   .high_ns = high > ns ? (uint64_t)ceil(high) : ns });
	}
	j->counts.estimated_ns += g->ns;
}

void gpu_join_flush(struct gpu_join *j)
{
	while (j->first_waiting < j->waiting.n) {
		struct waiting w = j->waiting.v[j->first_waiting++];

		settle_one(j, &w);
	}
	vec_clear(&j->waiting);
	j->first_waiting = 0;
	gpu_join_share(j);
}

bool gpu_join_waits(const struct gpu_join *j)
{
	return j->first_waiting < j->waiting.n;
}

void gpu_join_rename(struct gpu_join *j, uint32_t (*to)(void *ctx, uint32_t stack), void *ctx)
{
	uint64_t n = j->n_launches < j->opts.max_launches ? j->n_launches : j->opts.max_launches;

	for (uint64_t i = 0; i < n; i++)
		if (j->launches[i].stack)
			j->launches[i].stack = to(ctx, j->launches[i].stack);
}

void gpu_join_share(struct gpu_join *j)
{
	for (size_t i = 0, n = j->groups.n; i < n; i++) {
		struct group g = j->groups.v[i];

		if (!g.launches)
			continue;
		if (g.parts == NO_PART)
			g.parts = group_of(j, g.pid, 0, g.work)->parts;
		if (g.parts == NO_PART)
			tell_unknown(j, &g);
		else
			share_out(j, &g, g.parts);
	}
	vec_clear(&j->groups);
	vec_clear(&j->parts);
	map_clear(&j->part_of);
	map_clear(&j->group_of);
}

struct gpu_join_counts gpu_join_counts(const struct gpu_join *j)
{
	return j->counts;
}
