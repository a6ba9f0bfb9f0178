/* tests/unit/live_python.h: available interpreters, run with a script, and inspected from outside.
 *
 * These are pyenv's, Debian's, and those in roots below $BUILD/python (tests/live/lib_python_roots.sh fetches them). */
#ifndef CRESSET_TESTS_LIVE_PYTHON_H
#define CRESSET_TESTS_LIVE_PYTHON_H

#include "base/err.h"
#include "base/mem.h"
#include "bpf/cpython.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "runtime/cpython_parts.h"
#include "shell.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sys/wait.h>

enum { MAX_PYTHONS = 32, MAX_LIBRARIES = 8 };

struct python {
	char root[200]; /* "": / */
	char path[200]; /* below root */
	int minor;
};

struct pythons {
	struct python v[MAX_PYTHONS];
	size_t n;
};

static inline void pythons_add(struct pythons *all, const char *root, const char *pattern)
{
	char text[512];
	glob_t found;

	snprintf(text, sizeof text, "%s%s", root, pattern);
	if (glob(text, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && all->n < MAX_PYTHONS; i++) {
		struct python *p = &all->v[all->n];
		const char *name = strstr(strrchr(found.gl_pathv[i], '/'), "python3.");
		char *end;

		p->minor = strtol(name + strlen("python3."), &end, 10);
		if (*end)
			continue; /* python3.11-config */
		snprintf(p->root, sizeof p->root, "%s", root);
		snprintf(p->path, sizeof p->path, "%s", found.gl_pathv[i] + strlen(root));
		all->n++;
	}
	globfree(&found);
}

static inline void pythons_find(struct pythons *all)
{
	const char *home = getenv("HOME"), *build = getenv("BUILD");
	char pattern[256];
	glob_t roots;

	*all = (struct pythons){ .n = 0 };
	snprintf(pattern, sizeof pattern, "%s/.pyenv/versions/3.*/bin/python3.*", home ? home : "");
	pythons_add(all, "", pattern);
	pythons_add(all, "", "/usr/bin/python3.*");
	snprintf(pattern, sizeof pattern, "%s/python/*", build ? build : "build");
	if (glob(pattern, 0, NULL, &roots) != 0)
		return;
	for (size_t i = 0; i < roots.gl_pathc; i++) {
		char *root = realpath(roots.gl_pathv[i], NULL);

		if (root)
			pythons_add(all, root, "/usr/bin/python3.*");
		free(root);
	}
	globfree(&roots);
}

/* --- a process ----------------------------------------------------------------------------------- */

struct live {
	pid_t child;  /* that was started */
	uint32_t pid; /* inspected: the child, or the one that it names */
	FILE *out;
	int in;
	char *line;
	size_t cap;

	/* The walker's maps, as filled. */
	struct cpython_layout layouts[CPYTHON_MAX_LAYOUTS];
	struct cpython_process row;
	bool has_row;

	struct runtime *runtime;
	struct runtime_process *process;
	struct runtime_object *objects[MAX_LIBRARIES];
	struct runtime_place places[MAX_LIBRARIES];
	size_t n_places;
	char name[600]; /* of the file that was looked at last */
};

static inline int live_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct live *l = ctx;

	return process_memory_read(l->pid, addr, out, len);
}

static inline int live_put(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	struct live *l = ctx;

	if (strcmp(map, CPYTHON_LAYOUTS) == 0) {
		ck_assert_uint_lt(key, CPYTHON_MAX_LAYOUTS);
		ck_assert_uint_eq(size, sizeof *l->layouts);
		memcpy(&l->layouts[key], value, size);
		return 0;
	}
	ck_assert_str_eq(map, CPYTHON_PROCESSES);
	ck_assert_uint_eq(key, l->pid);
	ck_assert_uint_eq(size, sizeof l->row);
	memcpy(&l->row, value, size);
	l->has_row = true;
	return 0;
}

static inline int live_drop(void *ctx, const char *map, uint32_t key)
{
	struct live *l = ctx;

	ck_assert_str_eq(map, CPYTHON_PROCESSES);
	ck_assert_uint_eq(key, l->pid);
	ck_assert(l->has_row);
	l->has_row = false;
	return 0;
}

/* argv ends with NULL; root "" is /. */
static inline void live_start(struct live *l, const char *root, char *const argv[])
{
	int in[2], out[2];

	*l = (struct live){ .child = 0 };
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	l->child = fork();
	if (l->child == 0) {
		setpgid(0, 0);
		if (*root && (chroot(root) < 0 || chdir("/") < 0))
			_exit(126);
		dup2(in[0], 0);
		dup2(out[1], 1);
		setenv("LC_ALL", "C.UTF-8", 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	l->in = in[1];
	l->out = fdopen(out[0], "r");
	l->pid = l->child;
}

/* A line without its newline; false at the end of the output. */
static inline bool live_line(struct live *l)
{
	ssize_t n = getline(&l->line, &l->cap, l->out);

	if (n > 0 && l->line[n - 1] == '\n')
		l->line[n - 1] = '\0';
	return n > 0;
}

static inline void live_end(struct live *l)
{
	cpython_runtime.detach(l->process);
	ck_assert(!l->has_row);
	cpython_runtime.close(l->runtime);
	for (size_t i = 0; i < l->n_places; i++)
		cpython_runtime.object_free(l->objects[i]);
	kill(-l->child, SIGKILL);
	waitpid(l->child, NULL, 0);
	fclose(l->out);
	close(l->in);
	free(l->line);
}

/* --- its mappings --------------------------------------------------------------------------------- */

static inline int live_detect(const char *file, const char *name, struct runtime_object **out,
			      struct err *err)
{
	struct elf_file f;
	int fd = open(file, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = elf_file_open(&f, fd, err);
	if (rc == 0) {
		rc = cpython_runtime.detect(&f, name, out, err);
		elf_file_close(&f);
	}
	close(fd);
	return rc;
}

static inline bool live_mapping(void *ctx, const struct proc_map *m)
{
	struct live *l = ctx;
	struct err err = { 0 };

	/* In a root of its own, too: the kernel names files from our view. */
	if (!m->executable || *m->name != '/' || strcmp(m->name, l->name) == 0 ||
	    l->n_places == MAX_LIBRARIES)
		return true;
	snprintf(l->name, sizeof l->name, "%s", m->name);
	int rc = live_detect(m->name, m->name, &l->objects[l->n_places], &err);
	if (rc == 0) {
		l->places[l->n_places] = (struct runtime_place){ l->objects[l->n_places], m->start,
								 m->pgoff, m->end };
		l->n_places++;
	} else {
		ck_assert_msg(rc == -ENODATA || rc == -ENOEXEC || rc == -ENOENT, "%s: %s", m->name,
			      err.text);
	}
	return true;
}

static inline int live_try(struct live *l, struct err *err)
{
	const struct runtime_maps maps = { live_put, live_drop, l };
	const struct runtime_memory memory = { live_read, l };

	if (!l->n_places)
		ck_assert_int_eq(proc_maps_read(l->pid, live_mapping, l), 0);
	ck_assert_uint_ge(l->n_places, 1);
	if (!l->runtime)
		l->runtime = cpython_runtime.open(&maps);
	return cpython_runtime.attach(l->runtime, l->pid, l->places, l->n_places, &memory,
				      &l->process, err);
}

static inline void live_attach(struct live *l)
{
	struct err err = { 0 };
	int rc = live_try(l, &err);

	ck_assert_msg(rc == 0, "%s: %s", l->name, err.text);
	ck_assert(l->has_row);
	for (uint32_t i = 0; i < l->row.n; i++)
		ck_assert_uint_ne(l->layouts[l->row.runtimes[i].layout].version, 0);
}

/* Waits until its script has printed everything. */
static inline void live_ready(struct live *l)
{
	while (live_line(l) && *l->line != 'E')
		;
	live_attach(l);
}

/* A script of tests/unit/python. */
static inline void live_python(struct live *l, const struct python *p, const char *script,
			       const char *argument)
{
	char *text = shell("cat tests/unit/python/%s", script);
	char *argv[] = { (char *)p->path, "-c", text, (char *)argument, NULL };

	live_start(l, p->root, argv);
	free(text);
}

/* --- the scripts' output --------------------------------------------------------------------------- */

static inline const struct cpython_layout *layout_of(const struct live *l, uint32_t i)
{
	return &l->layouts[l->row.runtimes[i].layout];
}

static inline unsigned nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* In place. */
static inline void unhex(char *text)
{
	size_t n = 0;

	for (; text[n * 2]; n++)
		text[n] = nibble(text[n * 2]) << 4 | nibble(text[n * 2 + 1]);
	text[n] = '\0';
}

static inline void stamped(struct live *l, uint64_t code, uint32_t offset, uint64_t words[2])
{
	const struct cpython_layout *layout = layout_of(l, 0);
	__u64 stamp[CPYTHON_MAX_STAMP];

	ck_assert_int_eq(live_read(l, code + layout->stamp_at, stamp, layout->stamp_words * 8), 0);
	words[0] = cpython_frame_code(code);
	words[1] = cpython_frame_place(cpython_stamp(stamp, layout->stamp_words), offset);
}

struct told { /* a code object, as its interpreter describes it */
	unsigned long addr;
	char *name, *file;
	unsigned first_line, bytes, begins;
};

static inline bool take_told(const char *line, struct told *out)
{
	return sscanf(line, "C %lu %ms %ms %u %u %u", &out->addr, &out->name, &out->file,
		      &out->first_line, &out->bytes, &out->begins) == 6;
}

#endif
