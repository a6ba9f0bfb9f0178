/* Sums the per-CPU counters of the BPF programs. */
#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "collect/kernel/off_cpu.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/sampler_state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <string.h>

/* Counters and resource use of the kernel side. */

uint64_t sampler_count(struct sampler *s, enum counter which)
{
	int n = libbpf_num_possible_cpus();
	uint64_t *values = xcalloc(n > 0 ? n : 1, sizeof *values), sum = 0;
	uint32_t key = which;

	if (n > 0 && !bpf_map__lookup_elem(s->bpf->maps.counters, &key, sizeof key, values,
					   n * sizeof *values, 0))
		for (int i = 0; i < n; i++)
			sum += values[i];
	free(values);
	return sum;
}

static void sum_counters(struct sampler *s, uint64_t *out)
{
	for (int c = 0; c < COUNTERS; c++)
		out[c] = sampler_count(s, c);
}

/* Returns the memory that the kernel charges for a map, from /proc. */
static uint64_t map_bytes(const struct bpf_map *map)
{
	if (bpf_map__fd(map) < 0) /* was not created */
		return 0;
	char path[64];
	struct buf b = { 0 };
	uint64_t bytes = 0;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", bpf_map__fd(map));
	if (!fs_read_at(AT_FDCWD, path, 4096, &b, NULL)) {
		const char *at = strstr(buf_cstr(&b), "memlock:");

		bytes = at ? strtoull(at + 8, NULL, 10) : 0;
	}
	buf_done(&b);
	return bytes;
}

static void sum_programs(struct sampler *s, struct sampler_stats *out)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, s->bpf->obj)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof info;

		if (bpf_program__fd(p) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		out->run_ns += info.run_time_ns;
		out->runs += info.run_cnt;
		/* It skips faults of programs that read memory, its own as well. */
		if (p != s->bpf->progs.fault_kernel)
			out->busy += info.recursion_misses;
	}
}

void sampler_get_stats(struct sampler *s, struct sampler_stats *out)
{
	struct bpf_map *map;

	*out = (struct sampler_stats){
		.cpus = s->events.n,
		.ring_bytes = s->ring_bytes,
		.read_bytes = s->read_bytes,
		.raw_bytes = s->raw_bytes,
		.clock = s->clock,
		.uncounted_ns = s->uncounted_ns,
		.wait_hook = off_cpu_hook(&s->off_cpu),
		.wait_turns = s->off_cpu.turns,
		.fault_pauses = s->unwatched_times,
		.walker = s->program == s->bpf->progs.sample_plain ? "frame pointers (helper)"
			  : s->use_tables                          ? "unwind tables"
								   : "frame pointers",
	};
	for (size_t i = 0; i < s->events.n && s->by_cycles; i++)
		out->uncounted_ns += sampler_uncounted_ns(s->events.v[i].event_fd);
	sum_counters(s, out->counters);
	sum_programs(s, out);
	uint64_t run_ns = out->counters[COUNT_RUN_NS] + off_cpu_run_ns(&s->off_cpu, s->bpf);
	if (out->run_ns < run_ns)
		out->run_ns = run_ns;
	bpf_object__for_each_map(map, s->bpf->obj) out->kernel_map_bytes += map_bytes(map);
}
