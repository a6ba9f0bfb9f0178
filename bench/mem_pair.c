/* What a pair of malloc and free costs in a program with watched memory: without the library, with the library parked, and sampling. The program
 * (tests/live/prog/mem_sites.c) prints how long its pairs took; rounds alternate, and differences are medians over rounds.
 *
 *     mem_pair [ROUNDS [PAIRS]] */
#include "base/clock.h"
#include "base/err.h"
#include "mem/live/live_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct program {
	FILE *in, *out;
	pid_t pid;
};

static void begin(struct program *p, const char *preload)
{
	char line[64];
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		exit(1);
	p->pid = fork();
	if (p->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execl("build/live/mem_sites", "mem_sites", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = fdopen(in[1], "w");
	p->out = fdopen(out[0], "r");
	if (!fgets(line, sizeof line, p->out))
		exit(1);
}

static double ask(struct program *p, const char *what)
{
	char line[512];

	fprintf(p->in, "%s\n", what);
	fflush(p->in);
	if (!fgets(line, sizeof line, p->out))
		exit(1);
	return atof(line);
}

static void want(const struct live *l, bool on)
{
	live_want(l, on, 0, clock_mono_ns() + 3600ull * 1000000000);
	while (live_look(l).state != (on ? LIVE_RUNNING : LIVE_PARKED))
		usleep(1000);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, double *v, int n)
{
	qsort(v, n, sizeof *v, compare);
	printf("%-44s %+.2f ns (quartiles %+.2f to %+.2f)\n", what, v[n / 2], v[n / 4],
	       v[n - 1 - n / 4]);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 41;
	struct program without, with;
	struct live live = { 0 };
	struct err err;
	char command[64];
	double *plain = calloc(rounds, sizeof *plain), *parked = calloc(rounds, sizeof *plain),
	       *on = calloc(rounds, sizeof *plain);

	snprintf(command, sizeof command, "pairs %s", argc > 2 ? argv[2] : "2000000");
	begin(&without, NULL);
	begin(&with, "build/libcresset-mem.so");
	while (live_open(with.pid, &live, &err))
		usleep(1000);
	for (int i = 0; i < rounds; i++) {
		plain[i] = ask(&without, command);
		double now = ask(&with, command);
		parked[i] = now - plain[i];
		want(&live, true);
		on[i] = ask(&with, command) - now;
		want(&live, false);
	}
	say("malloc+free of 64 bytes", plain, rounds);
	say("… more with the library parked", parked, rounds);
	say("… more with the library sampling than parked", on, rounds);
	live_close(&live);
	fputs("end\n", without.in);
	fputs("end\n", with.in);
	fclose(without.in);
	fclose(with.in);
	waitpid(without.pid, NULL, 0);
	waitpid(with.pid, NULL, 0);
	return 0;
}
