/* Searches the mappings of processes and the usual directories for GPU libraries. */
#include "collect/gpu/gpu_files.h"

#include "base/err.h"
#include "base/mem.h"
#include "gpu/code/probes.h"
#include "symbol/elf/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const usual_directories[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
						 "/usr/local/cuda/lib64", "/usr/local/lib" };

static void look_into(const char *directory, void (*found)(void *ctx, const char *name, int fd),
		      void *ctx)
{
	DIR *dir = *directory ? opendir(directory) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!gpu_library_of(entry->d_name))
			continue;
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		found(ctx, entry->d_name, fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

void gpu_files_expected(void (*found)(void *ctx, const char *name, int fd), void *ctx)
{
	const char *own = getenv("LD_LIBRARY_PATH");
	char *copy = own ? xstrdup(own) : NULL, *rest = copy;

	for (char *directory; rest && (directory = strsep(&rest, ":"));)
		look_into(directory, found, ctx);
	free(copy);
	for (size_t i = 0; i < sizeof usual_directories / sizeof *usual_directories; i++)
		look_into(usual_directories[i], found, ctx);
}

/* --- check for a usable library --------------------------------------------------------------- */

struct search {
	bool is_good;
	uint32_t files;   /* checked */
	uint32_t stepped; /* launch functions in them that would be single-stepped */
};

static void judge(void *ctx, const char *name, int fd)
{
	struct search *s = ctx;
	struct gpu_places places = { 0 };
	struct elf_file f;
	struct err err = { 0 };

	if (s->is_good || elf_file_open(&f, fd, &err))
		return;
	s->files++;
	if (gpu_places_find(&f, gpu_library_of(name), GPU_LAUNCH, &places, &err) == 0) {
		s->stepped += places.refused;
		s->is_good = places.all.n > 0;
	}
	gpu_places_done(&places);
	elf_file_close(&f);
}

static void judge_mapped(struct search *s, const char *pid)
{
	char path[128], line[PATH_MAX + 256], range[64];
	int at = 0;

	snprintf(path, sizeof path, "/proc/%.16s/maps", pid);
	FILE *f = fopen(path, "re");

	while (f && !s->is_good && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%63s %*s %*s %*s %*s %n", range, &at) != 1 || line[at] != '/' ||
		    !gpu_library_of(line + at))
			continue;
		snprintf(path, sizeof path, "/proc/%.16s/map_files/%.40s", pid, range);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		judge(s, line + at, fd);
		close(fd);
	}
	if (f)
		fclose(f);
}

int gpu_files_check(struct err *err)
{
	struct search s = { 0 };
	struct dirent *entry;

	gpu_files_expected(judge, &s);
	DIR *dir = s.is_good ? NULL : opendir("/proc");
	while (dir && !s.is_good && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			judge_mapped(&s, entry->d_name);
	if (dir)
		closedir(dir);
	if (s.is_good)
		return 0;
	if (s.files)
		return err_set(err, EOPNOTSUPP,
			       "cannot trace GPU launches: none can be probed in %u driver "
			       "libraries (%u would be single-stepped)",
			       s.files, s.stepped);
	err_set(err, EOPNOTSUPP, "cannot trace GPU launches: no driver or runtime library found");
	return err_hint(err, "no process has one mapped, and neither LD_LIBRARY_PATH nor the usual "
			     "directories have one");
}
