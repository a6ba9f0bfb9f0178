/* A flame graph of 1 M samples over 200 000 distinct stacks, generated: time from the profile in memory to the SVG file, beside
 * the classic Perl script on the same stacks (Debian ships it inside libdevel-nytprof-perl). Prints rows of the table. */
#include "base/clock.h"
#include "base/err.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACKS = 200000, SAMPLES = 1000000, FUNCTIONS = 8000, MAX_DEPTH = 48, ROUNDS = 5 };

static const char *const perl_scripts[] = {
	"/usr/share/perl5/Devel/NYTProf/flamegraph.pl",
	"/usr/share/frama-c/analysis-scripts/flamegraph.pl",
};

static uint32_t make_frame(struct sink *s, uint32_t i)
{
	char name[48];

	snprintf(name, sizeof name, "function_%u_of_module_%u", i, i % 97);
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, name) };
	return s->ops->frame(s, &f);
}

/* A program's shape: stacks branch off earlier ones, mostly near their leaf; functions are popular by a power law. */
static void generate(struct sink *s)
{
	static uint32_t frames[FUNCTIONS], stack[MAX_DEPTH], ids[STACKS];
	uint32_t depth = 0;
	unsigned seed = 1;

	for (uint32_t i = 0; i < FUNCTIONS; i++)
		frames[i] = make_frame(s, i);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type), .period = 10101010 };
	uint32_t series_id = s->ops->series(s, &series);
	for (uint32_t n = 0; n < STACKS;) {
		uint32_t keep = depth ? depth - rand_r(&seed) % (depth < 9 ? depth : 9) : 0;
		uint32_t want = keep + 1 + rand_r(&seed) % 8;

		for (depth = keep; depth < want && depth < MAX_DEPTH; depth++) {
			double u = (rand_r(&seed) % 100000 + 1) / 100000.0;
			stack[depth] = frames[(uint32_t)(u * u * (FUNCTIONS - 1))];
		}
		uint32_t id = s->ops->stack(s, stack, depth);
		if (!n || id > ids[n - 1]) /* a new one: ids rise */
			ids[n++] = id;
	}
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct sample sample = {
			.time_ns = i,
			.value = 1,
			.series = series_id,
			.stack = ids[i < STACKS ? i : (uint32_t)rand_r(&seed) % STACKS],
			.pid = 1,
			.tid = 1,
			.cpu = 0
		};
		s->ops->sample(s, &sample);
	}
}

static double write_seconds(struct profile *p, const char *format, const char *path)
{
	struct format_write_opts opts = { .min_width_px = 0.1, .force = true };
	struct err err = { 0 };
	uint64_t start_ns = clock_mono_ns();

	if (format_write_file(format_by_name(format), p, &opts, path, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return (clock_mono_ns() - start_ns) / 1e9;
}

static double perl_seconds(const char *folded)
{
	char command[1024];

	for (size_t i = 0; i < sizeof perl_scripts / sizeof *perl_scripts; i++) {
		if (access(perl_scripts[i], R_OK))
			continue;
		snprintf(command, sizeof command, "perl %s %s >/dev/null 2>&1", perl_scripts[i],
			 folded);
		uint64_t start_ns = clock_mono_ns();
		if (system(command) == 0)
			return (clock_mono_ns() - start_ns) / 1e9;
	}
	return 0;
}

int main(void)
{
	char svg[] = "/tmp/cresset-flame-XXXXXX.svg", folded[] = "/tmp/cresset-flame-XXXXXX.folded";
	struct profile *p = profile_new();
	double best = 1e9;

	close(mkstemps(svg, 4));
	close(mkstemps(folded, 7));
	generate(profile_sink(p));
	fprintf(stderr, "%zu distinct stacks, %zu samples\n", p->stacks.stacks.n - 1, p->samples.n);
	for (int i = 0; i < ROUNDS; i++) {
		double s = write_seconds(p, "svg", svg);
		best = s < best ? s : best;
		fprintf(stderr, "svg %.3f s\n", s);
	}
	write_seconds(p, "folded", folded);
	double perl = perl_seconds(folded);
	printf("| `flame`: 1 M samples, %zu distinct stacks, to SVG, after reading | ≤ 0.3 s | "
	       "%.3f s | %s |\n",
	       p->stacks.stacks.n - 1, best, best <= 0.3 ? "yes" : "no");
	if (perl > 0)
		printf("| … against the classic Perl script, from folded stacks | ≥ 20× | "
		       "%.0f× (%.1f s) | %s |\n",
		       perl / best, perl, perl / best >= 20 ? "yes" : "no");
	else
		printf("| … against the classic Perl script | ≥ 20× | script not on this "
		       "machine | - |\n");
	unlink(svg);
	unlink(folded);
	profile_free(p);
	return 0;
}
