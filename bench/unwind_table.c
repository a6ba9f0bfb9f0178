/* Building the unwind table of the largest library here: CPU time against the bytes of call frame information, and the memory that
 * the build takes at its peak. Prints rows of the table.
 *
 *     unwind_table [FILE] */
#include "largest_library.h"

#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15 };

static void die(const struct err *err)
{
	fprintf(stderr, "unwind_table: %s\n", err->text);
	exit(1);
}

static double section_bytes(int fd)
{
	struct elf_file f;
	struct cfi_section section;
	struct buf data = { 0 };
	struct err err = { 0 };

	if (elf_file_open(&f, fd, &err) ||
	    cfi_file_section(&f, CFI_EH_FRAME, &data, &section, &err))
		die(&err);
	elf_file_close(&f);
	buf_done(&data);
	return section.size;
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double build_s(int fd, struct unwind_table *t)
{
	struct err err = { 0 };
	double start_s = cpu_s();

	if (unwind_table_build(fd, t, &err))
		die(&err);
	return cpu_s() - start_s;
}

static long status_kib(const char *key)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

/* In a process of its own, whose peak is not that of something before. */
static long peak_kib(int fd)
{
	int ends[2];
	long kib = 0;

	if (pipe(ends))
		return 0;
	if (fork() == 0) {
		struct unwind_table t = { 0 };
		long before = status_kib("VmRSS:");
		build_s(fd, &t);
		kib = status_kib("VmHWM:") - before;
		_exit(write(ends[1], &kib, sizeof kib) != sizeof kib);
	}
	if (read(ends[0], &kib, sizeof kib) != sizeof kib)
		kib = 0;
	wait(NULL);
	return kib;
}

int main(int argc, char **argv)
{
	char *path = argc > 1 ? strdup(argv[1]) : largest_library();
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct unwind_table t = { 0 };
	double best = 1e9;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double bytes = section_bytes(fd);
	double peak = peak_kib(fd) / 1024.0;

	for (int i = 0; i < ROUNDS; i++) {
		unwind_table_done(&t);
		double s = build_s(fd, &t);
		best = s < best ? s : best;
	}
	double rate = bytes / best / 1e6;
	fprintf(stderr,
		"%s: %.1f MB of .eh_frame, %" PRIu64 " functions, %" PRIu64 " rows, %u rules\n",
		path, bytes / 1e6, t.n_functions, t.n_rows, t.n_rules);
	printf("| unwind table of %s: .eh_frame a second of CPU | ≥ 40 MB | %.0f MB (%.1f MB in "
	       "%.0f "
	       "ms, a table of %.1f MiB) | %s |\n",
	       name, rate, bytes / 1e6, best * 1e3, t.image.len / 1048576.0,
	       rate >= 40 ? "yes" : "no");
	printf("| … peak memory of building it | ≤ 32 MiB | %.1f MiB | %s |\n", peak,
	       peak <= 32 ? "yes" : "no");
	unwind_table_done(&t);
	free(path);
	return 0;
}
