/* From starting the program to the first sample in its recording, with every program loaded: median and worst of ten starts, while a
 * CPU is busy; and … of the release program, in turn. Prints rows of the table. */
#include "base/clock.h"
#include "base/err.h"
#include "format/formats.h"
#include "profile/profile.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTS = 10 };

static pid_t run(char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Time of the first sample of a recording, on CLOCK_MONOTONIC. */
static int64_t first_sample_ns(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int64_t first = INT64_MAX;

	if (format_read_file(path, NULL, profile_sink(p), &err))
		fprintf(stderr, "%s\n", err.text);
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.time_ns[i] < first)
			first = p->samples.time_ns[i];
	profile_free(p);
	return first;
}

static double start_once(char *cresset, char *path)
{
	char *argv[] = {
		cresset, "record", "-q", "-a", "-F", "999", "-d", "0.3", "-o", path, NULL
	};
	uint64_t start_ns = clock_mono_ns();

	waitpid(run(argv), NULL, 0);
	int64_t first_ns = first_sample_ns(path);
	if (first_ns == INT64_MAX) {
		fprintf(stderr, "no sample was recorded\n");
		exit(1);
	}
	return (first_ns - (int64_t)start_ns) / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

int main(void)
{
	const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
	char cresset[512], release[512], burn[512], path[] = "/tmp/cresset-startup-XXXXXX.cresset";
	double ms[STARTS], release_ms[STARTS];

	snprintf(cresset, sizeof cresset, "%s/cresset", build);
	snprintf(release, sizeof release, "%s/portable/cresset", build);
	snprintf(burn, sizeof burn, "%s/live/burn", build);
	close(mkstemps(path, 8));
	char *busy[] = { burn, "busy", "60", NULL };
	pid_t load = run(busy);
	for (int i = 0; i < STARTS; i++) {
		ms[i] = start_once(cresset, path);
		release_ms[i] = start_once(release, path);
	}
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
	unlink(path);
	qsort(ms, STARTS, sizeof *ms, by_value);
	qsort(release_ms, STARTS, sizeof *release_ms, by_value);
	printf("| from start to first sample, all programs loaded (%d starts) | ≤ 150 ms | median "
	       "%.0f ms, worst %.0f ms | %s |\n",
	       STARTS, ms[STARTS / 2], ms[STARTS - 1], ms[STARTS - 1] <= 150 ? "yes" : "no");
	double ratio = release_ms[STARTS / 2] / ms[STARTS / 2];
	printf("| … of the release program, with its libraries linked in | ≤ 1.03 × | "
	       "median "
	       "%.0f ms, %.2f × | %s |\n",
	       release_ms[STARTS / 2], ratio, ratio <= 1.03 ? "yes" : "no");
	return 0;
}
