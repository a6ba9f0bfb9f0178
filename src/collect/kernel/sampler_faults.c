/* Watches page faults: which ones are sent, and whether at all. */
#include "bpf/fault_event.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/sampler_state.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void sampler_detach_faults(struct sampler *s)
{
	for (int i = 0; i < SAMPLER_FAULT_PROGRAMS; i++) {
		bpf_link__destroy(s->faults[i]); /* NULL is fine */
		s->faults[i] = NULL;
	}
}

int sampler_attach_faults(struct sampler *s, const char **refused)
{
	struct bpf_program *progs[SAMPLER_FAULT_PROGRAMS] = { s->bpf->progs.fault_user,
							      s->bpf->progs.fault_kernel };

	for (int i = 0; i < SAMPLER_FAULT_PROGRAMS; i++) {
		if (!(s->opts.events & COLLECT_FAULTS))
			continue;
		s->faults[i] = bpf_program__attach(progs[i]);
		*refused = bpf_program__name(progs[i]);
		if (!s->faults[i])
			return -errno;
	}
	return 0;
}

void sampler_prepare_faults(struct sampler *s)
{
	const uint32_t bits = s->opts.is_always ? FAULT_PACE_ALWAYS_BITS : FAULT_PACE_LEAST_BITS;
	struct sample_bpf__rodata *k = s->bpf->rodata;

	k->want_faults = (s->opts.events & COLLECT_PAGE_FAULT) != 0;
	k->want_resident = (s->opts.events & COLLECT_RSS) != 0;
	bpf_program__set_autoload(s->bpf->progs.fault_user, s->opts.events & COLLECT_FAULTS);
	bpf_program__set_autoload(s->bpf->progs.fault_kernel, s->opts.events & COLLECT_FAULTS);
	s->bpf->data->fault_bits = s->bpf->data->resident_bits = bits;
	s->fault_pace = (struct fault_pace){
		.least_bits = bits,
		.most = s->opts.is_always ? FAULT_PACE_ALWAYS_MOST : FAULT_PACE_MOST,
	};
	s->fault_budget = (struct fault_budget){ .share = s->opts.fault_budget };
}

/* Returns the page faults of the machine so far; 0: unknown. */
static uint64_t machine_faults(void)
{
	uint64_t n = 0;
	char line[128];
	FILE *f = fopen("/proc/vmstat", "re");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "pgfault %" SCNu64, &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* If faults cannot be watched again, the next look tries. */
static void watch(struct sampler *s, bool on)
{
	const char *refused;

	if (!on) {
		sampler_detach_faults(s);
		s->machine_faults = machine_faults();
	} else if (sampler_attach_faults(s, &refused)) {
		sampler_detach_faults(s);
		return;
	} else {
		s->faults_unwatched += machine_faults() - s->machine_faults;
	}
	s->is_unwatched = !on;
	s->unwatched_times += !on;
}

void sampler_pace_faults(struct sampler *s, uint64_t now_ns)
{
	if (!(s->opts.events & COLLECT_FAULTS))
		return;
	s->bpf->data->fault_bits = fault_pace_look(&s->fault_pace, s->faults_seen, now_ns);
	if (!(s->opts.fault_budget > 0) || (!s->faults[0] && !s->is_unwatched))
		return;
	uint64_t spent_ns = sampler_count(s, COUNT_FAULTS_SEEN) * FAULT_SEEN_NS +
			    sampler_count(s, COUNT_FAULTS_NS);
	bool on = fault_budget_look(&s->fault_budget, s->n_cpus, spent_ns, now_ns);

	if (on == s->is_unwatched)
		watch(s, on);
}

uint64_t sampler_take_unwatched_faults(struct sampler *s)
{
	uint64_t n = s->faults_unwatched;

	if (s->is_unwatched) {
		uint64_t all = machine_faults();

		n += all - s->machine_faults;
		s->machine_faults = all;
	}
	s->faults_unwatched = 0;
	return n;
}

void sampler_choose_pages(void *ctx, uint32_t bits)
{
	struct sampler *s = ctx;

	s->bpf->data->resident_bits = bits;
}

uint32_t sampler_page_bits(const struct sampler *s)
{
	return s->bpf->data->resident_bits;
}
