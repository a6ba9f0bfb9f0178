/* Scans /proc for programs with the library, their readers and probes. */
#include "collect/gpu/gpu_survey.h"

#include "attach/attach_library.h"
#include "attach/attach_refuse.h"
#include "base/fs.h"
#include "base/parse.h"
#include "base/str.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "gpu/code/probes.h"
#include "gpu/ring/ring.h"
#include "mem/live/live.h"
#include "symbol/elf/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- owners --- */

/* The library for allocations has probes as well, but not for GPUs. */
static const struct gpu_library *library_of_gpu(const char *path)
{
	const struct gpu_library *l = gpu_library_of(path);

	return l && strcmp(l->name, MEM_LIBRARY) != 0 ? l : NULL;
}

static bool uses_gpu(const char *executable)
{
	return library_of_gpu(executable) != NULL;
}

static bool is_any(const char *executable)
{
	(void)executable;
	return true;
}

const struct gpu_survey_of survey_cuda = { &cuda_attach_library, RING_NAME, uses_gpu };
const struct gpu_survey_of survey_mem = { &mem_attach_library, LIVE_NAME, is_any };

struct look {
	const struct gpu_survey_of *of;
	struct gpu_program *program;
	struct gpu_survey *survey;
};

/* "/memfd:NAME (deleted)" */
static bool is_memfd(const char *mapped, const char *name)
{
	static const char start[] = "/memfd:";
	size_t n = strlen(name);

	return str_starts(mapped, start) && strncmp(mapped + strlen(start), name, n) == 0 &&
	       mapped[strlen(start) + n] == ' ';
}

static bool visit(void *ctx, const struct proc_map *m)
{
	struct look *l = ctx;
	struct gpu_program *p = l->program;

	if (*m->name != '/')
		return true;
	if (is_memfd(m->name, l->of->memory)) {
		p->ring = m->ino;
		vec_push(&l->survey->readers, ((struct gpu_reader){ m->ino, p->pid }));
	}
	if (attach_is_library(m->name, l->of->library->name))
		p->has_library = true;
	else if (m->executable && l->of->is_used_by(m->name))
		p->is_user = true;
	return true;
}

static void look_at(uint32_t pid, const struct gpu_survey_of *of, struct gpu_survey *s)
{
	struct gpu_program p = { .pid = pid };
	struct look l = { of, &p, s };
	char path[32];
	size_t before = s->readers.n;
	int rc = proc_maps_read(pid, visit, &l);

	if (p.has_library)
		s->readers.n = before;
	s->unreadable += rc == -EACCES || rc == -EPERM;
	if (!p.is_user && !p.has_library && !p.ring)
		return;
	snprintf(path, sizeof path, "/proc/%u/comm", pid);
	fs_read_line(path, p.name, sizeof p.name);
	vec_push(&s->all, p);
}

static int by_inode(const void *a, const void *b)
{
	const struct gpu_reader *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* A process with a ring but without the library is a reader of the ring. */
static void find_readers(struct gpu_survey *s)
{
	if (s->readers.n)
		qsort(s->readers.v, s->readers.n, sizeof *s->readers.v, by_inode);
	for (size_t i = 0; s->readers.n && i < s->all.n; i++) {
		struct gpu_program *p = &s->all.v[i];
		const struct gpu_reader key = { .ino = p->ring };
		const struct gpu_reader *found =
			p->has_library && p->ring
				? bsearch(&key, s->readers.v, s->readers.n, sizeof key, by_inode)
				: NULL;

		p->reader = found ? found->pid : 0;
	}
}

static int by_pid(const void *a, const void *b)
{
	uint32_t x = ((const struct gpu_program *)a)->pid, y = ((const struct gpu_program *)b)->pid;

	return (x > y) - (x < y);
}

void gpu_survey(const struct gpu_survey_of *of, struct gpu_survey *out)
{
	DIR *dir = opendir("/proc");
	size_t kept = 0;
	uint64_t pid;

	*out = (struct gpu_survey){ 0 };
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (parse_u64(e->d_name, &pid) == 0 && pid <= INT32_MAX)
			look_at(pid, of, out);
	if (dir)
		closedir(dir);
	find_readers(out);
	for (size_t i = 0; i < out->all.n; i++)
		if (out->all.v[i].has_library || out->all.v[i].is_user)
			out->all.v[kept++] = out->all.v[i];
	out->all.n = kept;
	if (kept)
		qsort(out->all.v, kept, sizeof *out->all.v, by_pid);
}

void gpu_survey_done(struct gpu_survey *s)
{
	vec_done(&s->all);
	vec_done(&s->readers);
}

/* --- probes --- */

struct probed {
	uint32_t pid, places, probed;
	bool failed;
};

static void compare(struct probed *t, const struct proc_map *m, const struct elf_file *f,
		    const struct gpu_place *place)
{
	uint8_t there, here;

	if (place->offset < m->pgoff || place->offset - m->pgoff >= m->end - m->start)
		return;
	if (process_memory_read(t->pid, m->start + place->offset - m->pgoff, &there, 1) < 0 ||
	    !elf_file_read(f, place->offset, &here, 1)) {
		t->failed = true;
		return;
	}
	t->places++;
	t->probed += there != here;
}

static void look_into(struct probed *t, const struct proc_map *m, int fd,
		      const struct gpu_library *library)
{
	struct gpu_places places = { 0 };
	struct elf_file f = { 0 };

	if (elf_file_open(&f, fd, NULL) < 0 ||
	    gpu_places_find(&f, library, UINT32_MAX, &places, NULL) < 0)
		t->failed = true;
	for (size_t i = 0; i < places.all.n; i++)
		compare(t, m, &f, &places.all.v[i]);
	gpu_places_done(&places);
	elf_file_close(&f);
}

static bool visit_code(void *ctx, const struct proc_map *m)
{
	struct probed *t = ctx;
	const struct gpu_library *library =
		m->executable && *m->name == '/' ? library_of_gpu(m->name) : NULL;
	struct mapped_file file = { t->pid, m->start, m->end, m->pgoff, m->name,
				    NULL,   0,        m->maj, m->min,   m->ino };
	struct stat st;

	if (!library)
		return true;
	int fd = mapped_file_open(&file, &st);

	if (fd < 0) {
		t->failed = true;
		return true;
	}
	look_into(t, m, fd, library);
	close(fd);
	return true;
}

bool gpu_probed(uint32_t pid, uint32_t *places, uint32_t *probed)
{
	struct probed t = { .pid = pid };
	int rc = proc_maps_read(pid, visit_code, &t);

	*places = t.places;
	*probed = t.probed;
	return rc == 0 && !t.failed;
}
