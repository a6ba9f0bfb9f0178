/* Sums the run time of each kernel by launching stack. */
#include "collect/gpu/gpu_stall_runs.h"

#include "base/mem.h"
#include "gpu/code/stall_split.h"

#include <stdlib.h>

enum { NO_RUN = UINT32_MAX };

static const double z95 = 1.96; /* for the intervals of shares (gpu/ring/join.h) */

void gpu_stall_runs_clear(struct gpu_stall_runs *r)
{
	vec_clear(&r->groups);
	vec_clear(&r->runs);
	map_clear(&r->group_of);
	map_clear(&r->run_of);
	r->is_full = false;
}

void gpu_stall_runs_done(struct gpu_stall_runs *r)
{
	vec_done(&r->groups);
	vec_done(&r->runs);
	map_done(&r->group_of);
	map_done(&r->run_of);
}

static const struct gpu_stall_group *find_group(const struct gpu_stall_runs *r, uint32_t pid,
						uint32_t gpu, uint32_t kernel)
{
	const uint32_t *known = map_get(&r->group_of, hash_mix(hash_mix(pid, gpu), kernel));

	return known ? &r->groups.v[*known] : NULL;
}

static uint32_t add_group(struct gpu_stall_runs *r, uint32_t pid, uint32_t gpu, uint32_t kernel)
{
	const struct gpu_stall_group *known = find_group(r, pid, gpu, kernel);

	if (known)
		return known - r->groups.v;
	map_put(&r->group_of, hash_mix(hash_mix(pid, gpu), kernel), r->groups.n);
	vec_push(&r->groups, (struct gpu_stall_group){ pid, gpu, kernel, NO_RUN });
	return r->groups.n - 1;
}

static void add_run(struct gpu_stall_runs *r, const struct gpu_share *share, uint32_t gpu,
		    uint32_t kernel)
{
	if (r->runs.n >= GPU_STALL_RUNS) {
		r->is_full = true;
		return;
	}
	uint32_t group = add_group(r, share->pid, gpu, kernel);
	uint64_t key = (uint64_t)group << 32 | share->stack;
	const uint32_t *known = map_get(&r->run_of, key);
	uint32_t at = known ? *known : r->runs.n;
	double error = share->is_exact ? 0 : (double)(share->high_ns - share->low_ns) / 2 / z95;

	if (!known) {
		map_put(&r->run_of, key, at);
		vec_push(&r->runs, (struct gpu_stall_run){ .stack = share->stack,
							   .next = r->groups.v[group].first });
		r->groups.v[group].first = at;
	}
	r->runs.v[at].ns += (double)share->ns;
	r->runs.v[at].variance += error * error;
}

void gpu_stall_runs_add(struct gpu_stall_runs *r, const struct gpu_share *share, uint32_t gpu,
			uint32_t kernel)
{
	if (kernel != GPU_STALL_ALL)
		add_run(r, share, gpu, kernel);
	add_run(r, share, gpu, GPU_STALL_ALL);
}

struct stall_stack *gpu_stall_runs_get(const struct gpu_stall_runs *r, uint32_t pid, uint32_t gpu,
				       uint32_t kernel, uint32_t *n)
{
	const struct gpu_stall_group *g = find_group(r, pid, gpu, kernel);
	uint32_t count = 0;

	if (!g)
		g = find_group(r, pid, gpu, GPU_STALL_ALL);
	for (uint32_t at = g ? g->first : NO_RUN; at != NO_RUN; at = r->runs.v[at].next)
		count++;
	*n = count ? count : 1;
	struct stall_stack *out = xcalloc(*n, sizeof *out);

	for (uint32_t at = g ? g->first : NO_RUN; at != NO_RUN; at = r->runs.v[at].next) {
		const struct gpu_stall_run *run = &r->runs.v[at];

		out[--count] = (struct stall_stack){ run->stack, run->ns, run->variance };
	}
	return out;
}
