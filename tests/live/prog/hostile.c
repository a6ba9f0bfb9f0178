/* What a user without any right can do to whoever watches the machine.
 *
 *     hostile entries N     runs code made at run time, whose perf map has N entries; prints its name
 *     hostile sparse BYTES  the same with a perf map of that size and no disk
 *     hostile maps          maps and unmaps a page of the C library without end
 *     hostile short         begins processes that live for 5 ms, without end
 *     hostile names PREFIX  works under another name, PREFIX and a number, every 12 ms of CPU time, without end
 *     hostile work SECONDS  what is to be seen all the same: hostile_work() */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* --- code made at run time ------------------------------------------------------------------------------------------------ */

/* jmp . */
static void *make_code(void)
{
#if defined __x86_64__
	static const unsigned char loop[] = { 0xeb, 0xfe };
#elif defined __aarch64__
	static const unsigned char loop[] = { 0x00, 0x00, 0x00, 0x14 };
#else
#error "write a loop"
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(1);
	memcpy(page, loop, sizeof loop);
	__builtin___clear_cache(page, (char *)page + sizeof loop);
	return page;
}

static char map_path[64];

static void remove_map(void)
{
	unlink(map_path);
}

static FILE *open_map(void)
{
	snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(map_path, "w");

	if (!f)
		exit(1);
	atexit(remove_map);
	return f;
}

static void write_entries(void *code, long n)
{
	static const char script[] = "file:///srv/app/node_modules/some/module.js";
	FILE *f = open_map();

	for (long i = 1; i < n; i++)
		fprintf(f, "%" PRIx64 " 40 LazyCompile:~function_number_%ld %s:%ld:1\n",
			0x100000000000 + i * 64, i, script, i % 1000);
	fprintf(f, "%" PRIxPTR " 40 LazyCompile:~hostile_code\n", (uintptr_t)code);
	fclose(f);
}

static int run_code(const char *how, const char *arg)
{
	void *code = make_code();

	if (!strcmp(how, "entries"))
		write_entries(code, atol(arg));
	if (!strcmp(how, "sparse") && ftruncate(fileno(open_map()), atoll(arg)))
		return 1;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	((void (*)(void))code)();
	return 0;
}

/* --- storms ----------------------------------------------------------------------------------------------------------------- */

static int map_for_ever(void)
{
	char path[256] = "";
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "libc.so") && sscanf(line, "%*s %*s %*s %*s %*s %255s", path) == 1)
			break;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			return 1;
		munmap(p, 4096);
	}
}

static int fork_for_ever(void)
{
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			nap(5);
			_exit(0);
		}
		if (pid < 0)
			nap(5);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static int rename_for_ever(const char *prefix)
{
	enum { SLICE = CLOCKS_PER_SEC / 1000 * 12 };
	char name[16];

	for (unsigned i = 0;; i++) {
		snprintf(name, sizeof name, "%s%u", prefix, i);
		prctl(PR_SET_NAME, name);
		for (clock_t begin = clock(); clock() < begin + SLICE;)
			;
	}
}

/* --- what is to be seen ------------------------------------------------------------------------------------------------------ */

__attribute__((noinline)) uint64_t hostile_work(uint64_t x)
{
	for (int i = 0; i < 1000000; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

static int work(double seconds)
{
	struct timespec now, end;
	volatile uint64_t x = 1;

	clock_gettime(CLOCK_MONOTONIC, &end);
	double end_s = end.tv_sec + end.tv_nsec / 1e9 + seconds;
	do {
		x = hostile_work(x);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec + now.tv_nsec / 1e9 < end_s);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "0";

	if (!strcmp(how, "maps"))
		return map_for_ever();
	if (!strcmp(how, "short"))
		return fork_for_ever();
	if (!strcmp(how, "names"))
		return rename_for_ever(arg);
	if (!strcmp(how, "work"))
		return work(atof(arg));
	return run_code(how, arg);
}
