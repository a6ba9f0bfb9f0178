/* Names for 100 000 addresses all over the largest library here: the first time, and the second time from the cache on disk,
 * beside llvm-symbolizer in the same run. Prints a row of the table. */
#include "base/clock.h"
#include "base/vec.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/process/elf_names.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESSES = 100000, RUNS = 5 };

struct place {
	uint64_t offset, vaddr;
};

/* The first line that a command prints, without its newline; "" when it prints none. */
static void first_line(const char *command, char *line, size_t size)
{
	FILE *p = popen(command, "r");
	if (!p || !fgets(line, size, p))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (p)
		pclose(p);
}

/* Evenly over the code that has names. */
static void choose(int fd, struct place *places)
{
	enum { STEP = 32 };
	struct elf_file f = { 0 };
	struct elf_layout l = { 0 };
	struct symbol_source *source;
	struct symbol symbol;
	VEC(struct place) all = { 0 };
	if (elf_file_open(&f, fd, NULL) || elf_layout_read(&l, &f, NULL) ||
	    symbol_open_elf(fd, NULL, NULL, &source, NULL))
		exit(1);
	for (size_t i = 0; i < l.segments.n; i++) {
		const struct elf_segment *s = &l.segments.v[i];
		for (uint64_t at = 0; s->executable && at < s->size; at += STEP)
			if (symbol_lookup(source, s->offset + at, &symbol))
				vec_push(&all, (struct place){ s->offset + at, s->vaddr + at });
	}
	if (all.n < ADDRESSES)
		exit(1);
	for (size_t i = 0; i < ADDRESSES; i++)
		places[i] = all.v[i * all.n / ADDRESSES];
	vec_done(&all);
	symbol_close(source);
	elf_layout_done(&l);
	elf_file_close(&f);
}

/* Opening to closing; *named: addresses with a name. */
static uint64_t symbolize_ns(const char *path, int fd, const char *cache,
			     const struct place *places, uint64_t *named)
{
	struct name_files_opts opts = { .cache_dir = cache };
	struct name_files files;
	struct elf_names names;
	struct symbol_line lines[256];
	uint64_t start_ns = clock_mono_ns();
	*named = 0;
	name_files_open(&files, &opts);
	if (elf_names_open(&names, &files, fd, path, 0))
		exit(1);
	for (int i = 0; i < ADDRESSES; i++)
		*named += symbol_lines(names.source, places[i].offset, lines, 256) > 0;
	elf_names_close(&names);
	name_files_close(&files);
	return clock_mono_ns() - start_ns;
}

static uint64_t llvm_ns(const char *path, const char *dir, const struct place *places)
{
	char command[1024];
	snprintf(command, sizeof command, "%s/addresses", dir);
	FILE *f = fopen(command, "w");
	for (int i = 0; i < ADDRESSES; i++)
		fprintf(f, "0x%" PRIx64 "\n", places[i].vaddr);
	fclose(f);
	snprintf(command, sizeof command,
		 "$(command -v llvm-symbolizer llvm-symbolizer-19 llvm-symbolizer-14 | head -1) "
		 "--obj=%s <%s/addresses "
		 ">%s/llvm",
		 path, dir, dir);
	uint64_t start_ns = clock_mono_ns();
	if (system(command) != 0)
		exit(1);
	return clock_mono_ns() - start_ns;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int main(void)
{
	struct place *places = calloc(ADDRESSES, sizeof *places);
	char path[4096], dir[] = "/tmp/cresset-names-XXXXXX", cache[64], command[128];
	uint64_t first_named, named, again[RUNS];
	first_line("find -L /usr/lib /usr/lib64 -name '*.so*' -type f -size +1M -printf '%s %p\\n' "
		   "2>/dev/null | sort -rn | "
		   "head -1 | cut -d' ' -f2-",
		   path, sizeof path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !mkdtemp(dir))
		return 1;
	snprintf(cache, sizeof cache, "%s/cache", dir);
	choose(fd, places);
	uint64_t peer_ns = llvm_ns(path, dir, places);
	uint64_t first_ns = symbolize_ns(path, fd, cache, places, &first_named);
	for (int i = 0; i < RUNS; i++)
		again[i] = symbolize_ns(path, fd, cache, places, &named);
	qsort(again, RUNS, sizeof *again, by_time);
	double ratio = (double)peer_ns / again[RUNS / 2];
	fprintf(stderr, "%s: %" PRIu64 " of %d addresses have a name, from the cache %" PRIu64 "\n",
		path, first_named, ADDRESSES, named);
	printf("| names of %d addresses of %s, second time, against llvm-symbolizer "
	       "| ≥ 50× | %.0f×: %.1f ms "
	       "(the first time %.0f ms, llvm-symbolizer %.0f ms) | %s |\n",
	       ADDRESSES, strrchr(path, '/') + 1, ratio, again[RUNS / 2] / 1e6, first_ns / 1e6,
	       peer_ns / 1e6, ratio >= 50 && named == first_named ? "yes" : "no");
	snprintf(command, sizeof command, "rm -r %s", dir);
	free(places);
	return system(command) != 0;
}
