/* tests/unit/object_world.h: an object table, and a program whose file it finds. */
#ifndef CRESSET_TESTS_OBJECT_WORLD_H
#define CRESSET_TESTS_OBJECT_WORLD_H

#include "collect/kernel/side_band.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "collect/process/object.h"
#include "program_copy.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

static struct object_table table;
static char dir[32];
static char program[64]; /* a small ELF program with a build id */

static inline void setup(uint32_t max_open)
{
	object_table_init(&table, max_open);
	temp_dir(dir);
	snprintf(program, sizeof program, "%s/program", dir);
	shell_do("cp \"$(readlink -f /bin/true)\" %s", program);
}

static inline void teardown(void)
{
	object_table_done(&table);
	shell_do("rm -rf %s", dir);
}

/* The kernel's record of a file mapped here. */
static inline struct side_record record_of(const char *path, void *addr, size_t len)
{
	struct side_record r = { .kind = SIDE_MMAP, .pid = getpid(), .name = path };
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	r.maj = major(st.st_dev);
	r.min = minor(st.st_dev);
	r.ino = st.st_ino;
	r.start = (uintptr_t)addr;
	r.len = len;
	return r;
}

/* The same of a process that has ended. */
static inline struct side_record record_of_ended(const char *path)
{
	struct side_record r = record_of(path, (void *)0x1000, 4096);

	r.pid = INT32_MAX;
	return r;
}

static inline struct side_record mapped(const char *path, void **addr)
{
	int fd = file_open(path);

	*addr = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(*addr, MAP_FAILED);
	close(fd);
	return record_of(path, *addr, 4096);
}

static inline bool can_use_map_files(void)
{
	struct side_record r;
	struct stat st;
	char path[64];
	void *addr;

	r = mapped("/bin/sh", &addr);
	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", getpid(), (long)r.start,
		 (long)(r.start + r.len));
	int fd = plain_file_open(path, &st);
	munmap(addr, 4096);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static inline struct object *get(uint32_t id)
{
	ck_assert_uint_ne(id, OBJECT_NONE);
	return table.all.v[id];
}

static inline bool same_content(int fd, const char *path)
{
	char *got =
		shell("cmp -s /proc/%d/fd/%d %s && echo same || echo other", getpid(), fd, path);
	bool same = strncmp(got, "same", 4) == 0;

	free(got);
	return same;
}

#endif
