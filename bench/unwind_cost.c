/* unwind_cost SECONDS tables|fp|helper|native PID…: watches processes at 999 Hz and prints, for the SECONDS after a warm-up, the run time of
 * the sampling program for one sample in µs, the number of samples, and the mean of steps of a walk. Needs kernel.bpf_stats_enabled.
 *
 * The program also runs at ticks that hit other processes, and returns: what such a run takes is measured before and taken off. */
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/kernel/sampler_opts.h"
#include "profile/profile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RATE_HZ = 999, PIDS_MAX = 64 };

struct cost {
	double ns;
	uint64_t runs, samples, steps;
};

static void run_for(struct collector *c, double seconds)
{
	uint64_t end_ns = clock_mono_ns() + (uint64_t)(seconds * 1e9);
	struct err err = { 0 };

	while (clock_mono_ns() < end_ns)
		if (collect_run(c, 50, &err)) {
			fprintf(stderr, "%s\n", err.text);
			exit(1);
		}
}

static struct cost measure(struct sampler_opts asked, double warm_up_s, double seconds)
{
	struct profile *p = profile_new();
	struct collector *c;
	struct collect_stats a, b;
	struct err err = { 0 };

	if (collect_open(&(struct collect_opts){ .sampler = asked }, profile_sink(p), &c, &err) ||
	    collect_start(c, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	run_for(c, warm_up_s);
	collect_get_stats(c, &a);
	run_for(c, seconds);
	collect_get_stats(c, &b);
	collect_stop(c, &err);
	collect_free(c);
	profile_free(p);
	return (struct cost){
		.ns = b.bpf_ns - a.bpf_ns,
		.runs = b.bpf_runs - a.bpf_runs,
		.samples = b.samples - a.samples,
		.steps = b.frames_by_table - a.frames_by_table + b.frames_by_fp - a.frames_by_fp,
	};
}

/* Of a process that never runs. */
static double ns_without_sample(struct sampler_opts opts)
{
	uint32_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	opts.ids = &child;
	opts.n_ids = 1;
	struct cost c = measure(opts, 0.5, 2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return c.runs ? c.ns / c.runs : 0;
}

int main(int argc, char **argv)
{
	uint32_t pids[PIDS_MAX];
	struct sampler_opts opts = { .target = TARGET_PID, .freq_hz = RATE_HZ };

	if (argc < 4 || argc - 3 > PIDS_MAX)
		return 2;
	opts.unwind = strcmp(argv[2], "fp") ? UNWIND_AUTO : UNWIND_FP;
	opts.plain_walk = strcmp(argv[2], "helper") == 0;
	opts.no_runtimes = strcmp(argv[2], "native") == 0;
	for (int i = 3; i < argc; i++)
		pids[i - 3] = strtoul(argv[i], NULL, 10);
	double other_ns = ns_without_sample(opts);
	opts.ids = pids;
	opts.n_ids = argc - 3;
	struct cost c = measure(opts, 3, strtod(argv[1], NULL));
	if (!c.samples || c.runs < c.samples) {
		fprintf(stderr, "no samples\n");
		return 1;
	}
	double ns = (c.ns - (double)(c.runs - c.samples) * other_ns) / c.samples;
	printf("%.3f %llu %.1f\n", ns / 1000, (unsigned long long)c.samples,
	       (double)c.steps / c.samples);
	return 0;
}
