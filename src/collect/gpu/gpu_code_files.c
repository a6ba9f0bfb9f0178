/* A thread that opens mapped files, finds device code in them, and passes images to the samples. */
#include "collect/gpu/gpu_code_files.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "collect/gpu/gpu_code_fit.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"
#include "gpu/code/device_file.h"
#include "gpu/code/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NICE = 19, JOIN_NS = 300000000 };

struct job {
	uint32_t pid, model;
	int dir; /* /proc/PID: stays this process's */
};
struct file {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	uint32_t model;
	struct gpu_code_index *index; /* NULL: no device code in it */
};
struct program {
	uint32_t pid, model;
	VEC(uint32_t) files;
};
struct gpu_code_files {
	pthread_t thread;
	pthread_mutex_t lock; /* protects all below; indexes are read-only */
	pthread_cond_t wake, idle;
	VEC(struct job) jobs;
	VEC(struct file) files; /* changed by the thread only, under the lock */
	VEC(struct program) programs;
	uint32_t with_code;
	uint64_t unread;
	bool is_busy;
	atomic_bool stop;
};

/* --- the thread: files ------------------------------------------------------------------------ */

struct opened {
	struct gpu_code_index *index; /* not read yet */
	struct stat st;
};
struct search {
	struct gpu_code_files *f;
	const struct job *job;
	uint64_t dev, ino; /* of the previous mapping */
	VEC(uint32_t) known;
	VEC(struct opened) opened;
};

static bool is_same(const struct file *f, const struct stat *st, uint32_t model)
{
	return f->dev == st->st_dev && f->ino == st->st_ino && f->size == st->st_size &&
	       f->changed.tv_sec == st->st_mtim.tv_sec &&
	       f->changed.tv_nsec == st->st_mtim.tv_nsec && f->model == model;
}

/* Returns UINT32_MAX for a file that was not searched yet. Only the thread changes the list. */
static uint32_t file_of(const struct gpu_code_files *f, const struct stat *st, uint32_t model)
{
	for (uint32_t i = 0; i < f->files.n; i++)
		if (is_same(&f->files.v[i], st, model))
			return i;
	return UINT32_MAX;
}

static void add_known(struct search *s, uint32_t file)
{
	for (size_t i = 0; i < s->known.n; i++)
		if (s->known.v[i] == file)
			return;
	vec_push(&s->known, file);
}

/* Without permission for map_files: opens by path, if that is still the same file. */
static int open_by_path(const struct search *s, const struct proc_map *m, struct stat *st)
{
	int root = m->name[0] == '/' ? openat(s->job->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC)
				     : -1;
	int fd = root < 0 ? -ENOENT : root_file_open(root, m->name, st);

	if (root >= 0)
		close(root);
	if (fd < 0 || st->st_ino == m->ino)
		return fd;
	close(fd);
	return -ESTALE;
}

static bool has_file(const struct search *s, const struct stat *st)
{
	for (size_t i = 0; i < s->opened.n; i++)
		if (s->opened.v[i].st.st_dev == st->st_dev &&
		    s->opened.v[i].st.st_ino == st->st_ino)
			return true;
	return false;
}

/* Takes over the index. */
static void remember(struct search *s, const struct stat *st, struct gpu_code_index *index)
{
	struct gpu_code_files *f = s->f;
	struct file file = {
		st->st_dev, st->st_ino, st->st_size, st->st_mtim, s->job->model, index
	};

	pthread_mutex_lock(&f->lock);
	vec_push(&f->files, file);
	if (index) {
		f->with_code++;
		f->unread += index->unread;
	}
	pthread_mutex_unlock(&f->lock);
	if (index)
		add_known(s, f->files.n - 1);
}

/* A file without device code is recognized by its headers alone. */
static void open_new(struct search *s, int fd, const struct stat *st)
{
	struct gpu_code_files *f = s->f;
	bool has_room = f->files.n + s->opened.n < GPU_CODE_FILES &&
			f->with_code + s->opened.n < GPU_CODE_WITH_CODE;
	struct gpu_code_index *index = has_room ? gpu_code_index_open(fd, s->job->model) : NULL;

	if (index) {
		vec_push(&s->opened, (struct opened){ index, *st });
		return;
	}
	close(fd);
	if (f->files.n + s->opened.n < GPU_CODE_FILES)
		remember(s, st, NULL);
}

static bool on_map(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;
	uint64_t dev = (uint64_t)m->maj << 32 | m->min;
	char name[80];
	struct stat st;

	if (!m->executable || !m->ino || (s->dev == dev && s->ino == m->ino))
		return s->opened.n < GPU_CODE_OPENED;
	s->dev = dev;
	s->ino = m->ino;
	snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	int fd = mapped_file_open_at(s->job->dir, name, &st);

	if (fd < 0)
		fd = open_by_path(s, m, &st);
	if (fd < 0)
		return true;
	uint32_t known = file_of(s->f, &st, s->job->model);

	if (known != UINT32_MAX)
		add_known(s, known);
	if (known != UINT32_MAX || has_file(s, &st))
		close(fd);
	else
		open_new(s, fd, &st);
	return s->opened.n < GPU_CODE_OPENED;
}

static bool is_bypass(void *ctx, const char *variable)
{
	(void)ctx;
	return device_file_is_bypass(variable);
}

/* Opens all files first, because the program may end while they are searched. */
static void find_files(struct search *s)
{
	int maps = environment_any(s->job->dir, is_bypass, NULL)
			   ? -1
			   : openat(s->job->dir, "maps", O_RDONLY | O_CLOEXEC);

	if (maps >= 0) {
		proc_maps_read_fd(maps, on_map, s);
		close(maps);
	}
	for (size_t i = 0; i < s->opened.n; i++) {
		gpu_code_index_read(s->opened.v[i].index, &s->f->stop);
		remember(s, &s->opened.v[i].st, s->opened.v[i].index);
	}
	vec_done(&s->opened);
}

/* --- the thread: programs --------------------------------------------------------------------- */

static struct program *program_of(struct gpu_code_files *f, uint32_t pid, uint32_t model)
{
	for (size_t i = 0; i < f->programs.n; i++)
		if (f->programs.v[i].pid == pid && f->programs.v[i].model == model)
			return &f->programs.v[i];
	return NULL;
}

static void publish(struct gpu_code_files *f, struct search *s)
{
	struct program *p = program_of(f, s->job->pid, s->job->model);

	if (!p && f->programs.n < GPU_CODE_PROGRAMS) {
		vec_push(&f->programs,
			 (struct program){ .pid = s->job->pid, .model = s->job->model });
		p = &f->programs.v[f->programs.n - 1];
	}
	if (p) {
		vec_clear(&p->files);
		vec_append(&p->files, s->known.v, s->known.n);
	}
	vec_done(&s->known);
}

static void *run(void *arg)
{
	struct gpu_code_files *f = arg;

	setpriority(PRIO_PROCESS, 0, NICE); /* affects this thread only */
	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		if (!f->jobs.n) {
			f->is_busy = false;
			pthread_cond_broadcast(&f->idle);
			pthread_cond_wait(&f->wake, &f->lock);
			continue;
		}
		struct job job = f->jobs.v[0];
		struct search s = { .f = f, .job = &job };

		f->jobs.n--;
		memmove(f->jobs.v, f->jobs.v + 1, f->jobs.n * sizeof job);
		pthread_mutex_unlock(&f->lock);
		find_files(&s);
		close(job.dir);
		mem_trim();
		pthread_mutex_lock(&f->lock);
		publish(f, &s);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

struct gpu_code_files *gpu_code_files_new(void)
{
	struct gpu_code_files *f = xcalloc(1, sizeof *f);
	pthread_condattr_t monotonic;

	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&f->wake, NULL);
	pthread_cond_init(&f->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (thread_start(&f->thread, run, f) == 0)
		return f;
	free(f);
	return NULL;
}

static void forget_all(struct gpu_code_files *f)
{
	for (size_t i = 0; i < f->files.n; i++)
		gpu_code_index_free(f->files.v[i].index);
	for (size_t i = 0; i < f->programs.n; i++)
		vec_done(&f->programs.v[i].files);
	vec_clear(&f->files);
	vec_clear(&f->programs);
	f->with_code = 0;
}

void gpu_code_files_free(struct gpu_code_files *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	if (!thread_join_within(f->thread, JOIN_NS)) /* it waits for a program */
		return;
	forget_all(f);
	for (size_t i = 0; i < f->jobs.n; i++)
		close(f->jobs.v[i].dir);
	vec_done(&f->jobs);
	vec_done(&f->files);
	vec_done(&f->programs);
	pthread_cond_destroy(&f->wake);
	pthread_cond_destroy(&f->idle);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static bool is_waiting(const struct gpu_code_files *f, uint32_t pid, uint32_t model)
{
	for (size_t i = 0; i < f->jobs.n; i++)
		if (f->jobs.v[i].pid == pid && f->jobs.v[i].model == model)
			return true;
	return false;
}

void gpu_code_files_want(struct gpu_code_files *f, uint32_t pid, uint32_t model)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	pthread_mutex_lock(&f->lock);
	if (f->jobs.n < GPU_CODE_PROGRAMS && !is_waiting(f, pid, model)) {
		vec_push(&f->jobs, (struct job){ pid, model, dir });
		dir = -1;
		f->is_busy = true;
		pthread_cond_signal(&f->wake);
	}
	pthread_mutex_unlock(&f->lock);
	if (dir >= 0)
		close(dir);
}

void gpu_code_files_wait(struct gpu_code_files *f, uint64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	pthread_mutex_lock(&f->lock);
	while (f->is_busy && pthread_cond_timedwait(&f->idle, &f->lock, &until) == 0)
		;
	pthread_mutex_unlock(&f->lock);
}

static bool has_ended(uint32_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Programs refer to files by number, so files are forgotten all at the same time: when there are
 * too many and no program is left. */
void gpu_code_files_forget_ended(struct gpu_code_files *f)
{
	size_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->programs.n; i++)
		if (has_ended(f->programs.v[i].pid))
			vec_done(&f->programs.v[i].files);
		else
			f->programs.v[n++] = f->programs.v[i];
	f->programs.n = n;
	if (!f->is_busy && !n &&
	    (f->files.n >= GPU_CODE_FILES / 2 || f->with_code >= GPU_CODE_WITH_CODE / 2))
		forget_all(f);
	pthread_mutex_unlock(&f->lock);
}

uint64_t gpu_code_files_unread(struct gpu_code_files *f)
{
	pthread_mutex_lock(&f->lock);
	uint64_t unread = f->unread;
	pthread_mutex_unlock(&f->lock);
	return unread;
}

void gpu_code_files_find(struct gpu_code_files *f, uint32_t pid, uint32_t model,
			 const struct gpu_code_wanted *wanted, size_t n, uint64_t max_bytes,
			 uint64_t until_ns, struct gpu_code_found *out)
{
	struct gpu_code_fitting_images fit = { .until_ns = until_ns };

	pthread_mutex_lock(&f->lock);
	const struct program *p = n ? program_of(f, pid, model) : NULL;

	for (size_t i = 0; p && i < p->files.n; i++)
		if (f->files.v[p->files.v[i]].index)
			gpu_code_fit_in(f->files.v[p->files.v[i]].index, wanted, n, &fit);
	pthread_mutex_unlock(&f->lock);
	gpu_code_fit_open(&fit, max_bytes, out);
}
