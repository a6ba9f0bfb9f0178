/* tests/unit/live_java.h: available Java machines, run with a program, and inspected from outside. */
#ifndef CRESSET_TESTS_LIVE_JAVA_H
#define CRESSET_TESTS_LIVE_JAVA_H

#include "base/err.h"
#include "base/mem.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "runtime/hotspot_parts.h"
#include "shell.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sys/wait.h>

enum { MAX_JAVAS = 16 };

struct java {
	char root[200]; /* "": / */
	char home[200]; /* below root */
};

struct javas {
	struct java v[MAX_JAVAS];
	size_t n;
};

/* .../lib/server/libjvm.so, 8: .../lib/amd64/server/libjvm.so. */
static inline void javas_add_file(struct javas *all, const char *root, const char *file)
{
	char *path = realpath(file, NULL), *end = NULL;
	struct java j;

	ck_assert_ptr_nonnull(path);
	for (char *at = path; (at = strstr(at, "/lib/")); at++)
		end = at;
	*end = '\0';
	snprintf(j.root, sizeof j.root, "%s", root);
	snprintf(j.home, sizeof j.home, "%s", path + strlen(root));
	free(path);
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].root, j.root) == 0 && strcmp(all->v[i].home, j.home) == 0)
			return;
	if (all->n < MAX_JAVAS)
		all->v[all->n++] = j;
}

static inline void javas_add(struct javas *all, const char *root)
{
	static const char *const patterns[] = { "lib/server", "lib/amd64/server",
						"jre/lib/amd64/server" };
	char pattern[400];
	glob_t found;

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		snprintf(pattern, sizeof pattern, "%s/usr/lib/jvm/*/%s/libjvm.so", root,
			 patterns[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			javas_add_file(all, root, found.gl_pathv[k]);
		globfree(&found);
	}
}

/* Finds each JDK of /usr/lib/jvm once, and those in roots below $BUILD/java. */
static inline void javas_find(struct javas *all)
{
	const char *build = getenv("BUILD");
	char pattern[256];
	glob_t roots;

	*all = (struct javas){ .n = 0 };
	javas_add(all, "");
	snprintf(pattern, sizeof pattern, "%s/java/*", build ? build : "build");
	if (glob(pattern, 0, NULL, &roots) != 0)
		return;
	for (size_t i = 0; i < roots.gl_pathc; i++) {
		char *root = realpath(roots.gl_pathv[i], NULL);

		if (root)
			javas_add(all, root);
		free(root);
	}
	globfree(&roots);
}

/* --- a process ----------------------------------------------------------------------------------- */

struct live {
	pid_t pid;
	FILE *out;
	int in;
	char *line;
	size_t cap;

	/* The walker's maps, as filled. */
	struct hotspot_layout layout;
	struct hotspot_process row;
	bool has_row;

	struct runtime_memory memory;
	unsigned long n_reads;
	struct runtime *runtime;
	struct runtime_process *process;
	struct runtime_object *object;
	struct runtime_place place;
	struct hotspot_file file;
	struct hotspot_offsets offsets;
};

static inline int live_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct live *l = ctx;

	l->n_reads++;
	return process_memory_read(l->pid, addr, out, len);
}

static inline int live_put(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	struct live *l = ctx;

	if (strcmp(map, HOTSPOT_LAYOUTS) == 0) {
		ck_assert_uint_eq(key, 0);
		ck_assert_uint_eq(size, sizeof l->layout);
		memcpy(&l->layout, value, size);
		return 0;
	}
	ck_assert_str_eq(map, HOTSPOT_PROCESSES);
	ck_assert_uint_eq(key, l->pid);
	ck_assert_uint_eq(size, sizeof l->row);
	memcpy(&l->row, value, size);
	l->has_row = true;
	return 0;
}

static inline int live_drop(void *ctx, const char *map, uint32_t key)
{
	struct live *l = ctx;

	ck_assert_str_eq(map, HOTSPOT_PROCESSES);
	ck_assert_uint_eq(key, l->pid);
	ck_assert(l->has_row);
	l->has_row = false;
	return 0;
}

/* argv ends with NULL; root "" is /. Errors go to the file, if there is one. */
static inline void live_start(struct live *l, const char *root, char *const argv[],
			      const char *errors)
{
	int in[2], out[2];

	*l = (struct live){ .pid = 0 };
	l->memory = (struct runtime_memory){ live_read, l };
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	l->pid = fork();
	if (l->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (errors)
			dup2(open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
		if (*root && (chroot(root) < 0 || chdir("/") < 0))
			_exit(126);
		setenv("LC_ALL", "C.UTF-8", 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	l->in = in[1];
	l->out = fdopen(out[0], "r");
}

/* Waits for a line that starts with text. */
static inline void live_until(struct live *l, const char *text)
{
	while (getline(&l->line, &l->cap, l->out) > 0)
		if (strncmp(l->line, text, strlen(text)) == 0)
			return;
	ck_abort_msg("no \"%s\"", text);
}

static inline void live_end(struct live *l)
{
	hotspot_runtime.detach(l->process);
	ck_assert(!l->has_row);
	hotspot_runtime.close(l->runtime);
	hotspot_runtime.object_free(l->object);
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
	fclose(l->out);
	close(l->in);
	free(l->line);
}

/* --- its libjvm ----------------------------------------------------------------------------------- */

static inline bool live_mapping(void *ctx, const struct proc_map *m)
{
	struct live *l = ctx;
	struct err err = { 0 };
	struct elf_file f;

	if (!m->executable || !strstr(m->name, "/libjvm.so"))
		return true;
	int fd = file_open(m->name);
	ck_assert_int_eq(elf_file_open(&f, fd, &err), 0);
	ck_assert_msg(hotspot_runtime.detect(&f, m->name, &l->object, &err) == 0, "%s", err.text);
	ck_assert_int_eq(hotspot_file_read(&f, &l->file, &err), 0);
	elf_file_close(&f);
	close(fd);
	l->place = (struct runtime_place){ l->object, m->start, m->pgoff, m->end };
	return false;
}

static inline int live_try(struct live *l, struct err *err)
{
	const struct runtime_maps maps = { live_put, live_drop, l };

	if (!l->object)
		proc_maps_read(l->pid, live_mapping, l);
	if (!l->object)
		return -EAGAIN;
	if (!l->runtime)
		l->runtime = hotspot_runtime.open(&maps);
	return hotspot_runtime.attach(l->runtime, l->pid, &l->place, 1, &l->memory, &l->process,
				      err);
}

static inline void live_attach(struct live *l)
{
	struct hotspot_at at = { .file = &l->file };
	struct err err = { 0 };
	int rc = live_try(l, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert(l->has_row);
	ck_assert(mapped_code_bias(&l->file.code, l->place.start, l->place.pgoff, &at.bias));
	ck_assert_int_eq(hotspot_offsets_read(&at, &l->memory, &l->offsets, &err), 0);
}

/* --- its code ------------------------------------------------------------------------------------- */

/* Calls fn for every block that is in use. Returns their number. */
static inline size_t live_blobs(struct live *l, void (*fn)(void *ctx, const struct hotspot_blob *b),
				void *ctx)
{
	struct hotspot_blob blob;
	size_t n = 0;

	for (uint32_t i = 0; i < l->row.n_ranges; i++) {
		const struct hotspot_range *r = &l->row.ranges[i];
		uint64_t segments = (r->end - r->start) >> r->log2_segment, at = 0;
		uint8_t *map = xcalloc(1, segments);

		/* The rest of the map is not in memory yet. */
		for (; at < segments; at += 4096 - (r->segmap + at) % 4096) {
			size_t len = 4096 - (r->segmap + at) % 4096;

			len = len < segments - at ? len : segments - at;
			if (live_read(l, r->segmap + at, map + at, len) < 0)
				break;
		}
		segments = at < segments ? at : segments;
		for (uint64_t s = 0; s < segments; s++)
			if (map[s] == 0 && hotspot_blob_read(&l->offsets, &l->memory,
							     r->start + (s << r->log2_segment) +
								     l->offsets.block_bytes,
							     &blob) == 0)
				fn(ctx, &blob), n++;
		free(map);
	}
	return n;
}

static inline enum runtime_named live_name(struct live *l, enum hotspot_frame kind, uint64_t addr,
					   uint32_t stamp, uint32_t offset,
					   struct runtime_frames *out)
{
	const uint64_t words[2] = { runtime_frame_what(RUNTIME_HOTSPOT, kind, addr),
				    runtime_frame_place(stamp, offset) };

	return hotspot_runtime.name_frame(l->process, words, out);
}

#endif
