// tier: test
/* Another process is read by a worker: a process that makes the worker wait makes nobody else wait, and is left alone. */
#include "collect/worker/proc_reader.h"

#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_owner.h"
#include "collect/worker/helper.h"
#include "shell.h"
#include "unit.h"
#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static struct helper *helper;
static struct proc_reader *reader;
static const char said[] = "what a process has in its memory";
static char *page; /* at the same place in children */

static void begin(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(helper_new(&helper), 0);
	reader = proc_reader_new(helper);
}

static void end(void)
{
	proc_reader_free(reader);
	helper_free(helper);
}

/* A child that has text in page, or, without rights, asks a userfaultfd that nobody serves for it. Returns once it has. */
static pid_t begin_child(bool hangs)
{
	int ready[2];
	char byte = 0;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct uffdio_api api = { .api = UFFD_API };
		struct uffdio_register all = { .range = { (uintptr_t)page, 4096 },
					       .mode = UFFDIO_REGISTER_MODE_MISSING };
		int fd = hangs ? (int)syscall(SYS_userfaultfd, O_CLOEXEC) : -1;

		if (hangs &&
		    (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &all)))
			_exit(1);
		if (hangs && !geteuid() && (setgid(65534) || setuid(65534)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		if (!hangs)
			memcpy(page, said, sizeof said);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ssize_t n = read(ready[0], &byte, 1);
	close(ready[0]);
	if (n == 1)
		return pid;
	waitpid(pid, NULL, 0);
	return 0;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* An answer may be late on a busy machine; the same question is then asked again. */
static int read_there(pid_t pid, const void *there, char *out, size_t len)
{
	int rc = -EAGAIN;

	for (int i = 0; i < WORKERS_TRIES && rc == -EAGAIN; i++) {
		if (i)
			poll(NULL, 0, WORKERS_PAUSE_MS);
		rc = proc_reader_memory(reader, pid, (uintptr_t)there, out, len);
	}
	return rc;
}

static int read_page(pid_t pid, char *out, size_t len)
{
	return read_there(pid, page, out, len);
}

static uint64_t ends(enum helper_end how)
{
	struct helper_stats s;

	helper_get_stats(helper, &s);
	return s.ends[HELPER_READ][how];
}

static pid_t worker(void)
{
	return await_child(await_child(getpid(), "cresset-nursery"), "cresset-read");
}

struct seen {
	uint64_t n, not_executable, name_bytes;
	uint32_t others;
	bool has_program; /* of the code of this test */
};

static bool count(void *ctx, const struct proc_map *m)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->not_executable += !m->executable;
	seen->name_bytes += strlen(m->name);
	seen->has_program |= m->start <= (uintptr_t)worker && (uintptr_t)worker < m->end;
	return true;
}

static int read_maps_of(pid_t pid, struct seen *seen)
{
	int rc = -EAGAIN;

	for (int i = 0; i < WORKERS_TRIES && rc == -EAGAIN; i++) {
		if (i)
			poll(NULL, 0, WORKERS_PAUSE_MS);
		*seen = (struct seen){ 0 };
		rc = proc_reader_maps(reader, pid, count, seen, &seen->others);
	}
	return rc;
}

START_TEST(memory_mappings_and_files_are_read)
{
	char text[sizeof said];
	struct seen seen;
	uint64_t addr = 1;
	struct stat st, own;
	int fd;

	begin();
	pid_t pid = begin_child(false);
	ck_assert_int_eq(read_page(pid, text, sizeof text), 0);
	ck_assert_str_eq(text, said);
	ck_assert_int_eq(proc_reader_memory(reader, pid, 4096, text, sizeof text), -EFAULT);
	ck_assert_int_eq(read_maps_of(pid, &seen), 0);
	ck_assert(seen.has_program);
	ck_assert_uint_gt(seen.others, 0);
	ck_assert_uint_eq(seen.not_executable, 0);
	ck_assert_int_eq(stat("/proc/self/exe", &own), 0);
	fd = proc_reader_open_program(reader, pid, &st);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(st.st_ino, own.st_ino);
	ck_assert_uint_eq(st.st_dev, own.st_dev);
	close(fd);
	ck_assert_int_eq(proc_reader_find_context(reader, pid, &addr), 0);
	ck_assert_uint_eq(addr, 0);
	end_child(pid);
	ck_assert_int_lt(proc_reader_memory(reader, pid, (uintptr_t)page, text, sizeof text), 0);
	end();
}
END_TEST

START_TEST(a_large_piece_is_read_whole)
{
	enum { LEN = 3 * READ_MAX_DATA + 5 };
	char *there = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *here = malloc(LEN);

	begin();
	for (size_t i = 0; i < LEN; i++)
		there[i] = (char)(i * 31 >> 3);
	pid_t pid = begin_child(false);
	ck_assert_int_eq(read_there(pid, there, here, LEN), 0);
	ck_assert_int_eq(memcmp(here, there, LEN), 0);
	end_child(pid);
	free(here);
	end();
}
END_TEST

START_TEST(a_worker_that_dies_is_replaced_within_the_request)
{
	char text[sizeof said];

	begin();
	pid_t pid = begin_child(false);
	ck_assert_int_eq(read_page(pid, text, sizeof text), 0);
	ck_assert_int_eq(kill(worker(), SIGKILL), 0);
	ck_assert_int_eq(read_page(pid, text, sizeof text), 0);
	ck_assert_str_eq(text, said);
	ck_assert_uint_eq(ends(HELPER_DIED), 1);
	end_child(pid);
	end();
}
END_TEST

/* What the kernel does with a read that does not return, SIGSTOP does here: the caller goes on, the process is left alone, and so is its user. */
START_TEST(a_worker_that_sleeps_is_abandoned)
{
	char text[sizeof said];
	struct proc_reader_stats stats;
	uint32_t user;

	begin();
	pid_t bad = begin_child(false), other = begin_child(false);
	ck_assert_int_eq(read_page(bad, text, sizeof text), 0);
	stop_child(worker(), await_child(getpid(), "cresset-nursery"), "cresset-read");
	ck_assert_int_eq(proc_reader_memory(reader, bad, (uintptr_t)page, text, sizeof text),
			 -EAGAIN);
	ck_assert_int_eq(read_page(bad, text, sizeof text), -EBUSY);
	ck_assert_uint_eq(ends(HELPER_STUCK), 1);
	ck_assert_int_eq(proc_owner(other, &user), 0);
	ck_assert_int_eq(read_page(other, text, sizeof text), user ? -EBUSY : 0);
	proc_reader_get_stats(reader, &stats);
	ck_assert_uint_ge(stats.late, 1);
	ck_assert_uint_eq(stats.refused, user ? 2 : 1);
	end_child(bad);
	end_child(other);
	end();
}
END_TEST

/* Enters directories with long names, so that a file there has a path of some 3 KiB. */
static void enter_deep(void)
{
	enum { DEPTH = 12, NAME = 250 };
	char name[NAME + 1], dir[] = "/tmp/cresset-deep-XXXXXX";

	memset(name, 'd', NAME);
	name[NAME] = '\0';
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!chmod(dir, 0755) && !chdir(dir));
	for (int i = 0; i < DEPTH; i++)
		ck_assert(!mkdir(name, 0755) && !chdir(name));
}

/* A user without rights whose mappings have MAPPINGS lines of that length, half of them executable. */
static pid_t begin_wordy(void)
{
	enum { MAPPINGS = 6000, PAGES = 2 };
	int ready[2];
	char byte = 0;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		enter_deep();
		int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0 || ftruncate(fd, 4096 * PAGES) ||
		    (geteuid() == 0 && (setgid(65534) || setuid(65534))))
			_exit(1);
		for (int i = 0; i < MAPPINGS; i++)
			if (mmap(NULL, 4096 * PAGES, PROT_READ | (i % 2 ? PROT_EXEC : 0),
				 MAP_PRIVATE, fd, 0) == MAP_FAILED)
				_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* What the caller has to parse is bounded in bytes, not only in lines; the result shows that there is more. */
START_TEST(text_of_mappings_is_bounded)
{
	struct seen seen;

	begin();
	pid_t pid = begin_wordy();
	ck_assert_int_eq(read_maps_of(pid, &seen), 1);
	ck_assert_uint_gt(seen.n, 1000);
	ck_assert_uint_gt(seen.others, 1000);
	ck_assert_uint_eq(seen.not_executable, 0);
	ck_assert_uint_le(seen.name_bytes, PROC_READER_MAX_MAPS);
	end_child(pid);
	end();
}
END_TEST

/* The processes of a user have a share of the worker's time; root's, and other users', are read meanwhile. */
START_TEST(a_user_has_a_share_of_the_worker)
{
	char text[sizeof said];
	struct seen seen = { 0 };
	int rc = 1; /* there is more than is read */

	if (geteuid())
		T_SKIP("another user's processes need root");
	begin();
	pid_t good = begin_child(false), bad = begin_wordy();
	for (int i = 0; i < WORKERS_TRIES && rc != -EBUSY; i++) {
		ck_assert(rc == 1 || rc == -EAGAIN);
		if (rc < 0)
			poll(NULL, 0, WORKERS_PAUSE_MS);
		rc = proc_reader_maps(reader, bad, count, &seen, &seen.others);
	}
	ck_assert_int_eq(rc, -EBUSY);
	if (ends(HELPER_STUCK))
		T_SKIP("the worker had no CPU for seconds");
	ck_assert_int_eq(read_page(good, text, sizeof text), 0);
	ck_assert_str_eq(text, said);
	end_child(good);
	end_child(bad);
	end();
}
END_TEST

/* A page that a userfaultfd does not serve: the read never returns. Needs root, or vm.unprivileged_userfaultfd. */
START_TEST(a_process_that_hangs_its_readers_is_left_alone)
{
	char text[sizeof said];

	begin();
	pid_t bad = begin_child(true);
	if (!bad)
		T_SKIP("no userfaultfd for this user");
	pid_t good = begin_child(false);
	ck_assert_int_eq(read_page(good, text, sizeof text), 0); /* there is a worker */
	ck_assert_int_eq(read_page(bad, text, sizeof text), -EBUSY);
	ck_assert_uint_eq(ends(HELPER_STUCK), 1);
	if (geteuid() == 0) {
		ck_assert_int_eq(read_page(good, text, sizeof text), 0);
		ck_assert_str_eq(text, said);
	}
	end_child(bad);
	end_child(good);
	end();
}
END_TEST

/* Ids within a user namespace are those of whoever made it. */
START_TEST(the_creator_of_a_namespace_owns_it)
{
	uint32_t owner, ours;
	int ready[2];
	char byte = 0;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 &&
		    (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		if (syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */) ||
		    write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		T_SKIP("no user namespaces for this user");
	close(ready[0]);
	ck_assert_int_eq(proc_owner(getpid(), &ours), 0);
	ck_assert_uint_eq(ours, geteuid());
	ck_assert_int_eq(proc_owner(pid, &owner), 0);
	ck_assert_uint_eq(owner, geteuid() ? geteuid() : 65534);
	end_child(pid);
}
END_TEST

struct hidden_file {
	uint64_t start, ino;
	dev_t dev;
};

/* Maps a file of a file system in memory that only this process has mounted. */
static bool map_hidden_file(const char *dir, struct hidden_file *out)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "%s/file", dir);
	if (syscall(SYS_unshare, CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		return false;
	int fd = open(path, O_RDWR | O_CREAT, 0700);
	void *at = ftruncate(fd, 4096)
			   ? MAP_FAILED
			   : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED || fstat(fd, &st))
		return false;
	*out = (struct hidden_file){ (uintptr_t)at, st.st_ino, st.st_dev };
	return true;
}

/* As a container has them. */
START_TEST(files_of_private_mounts_are_opened)
{
	struct hidden_file file;
	struct stat st;
	char dir[32];
	int ready[2];

	begin();
	temp_dir(dir);
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (!map_hidden_file(dir, &file) ||
		    write(ready[1], &file, sizeof file) != sizeof file)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ssize_t n = read(ready[0], &file, sizeof file);
	close(ready[0]);
	if (n == sizeof file) {
		const struct mapped_file f = { .pid = (uint32_t)pid,
					       .start = file.start,
					       .end = file.start + 4096,
					       .path = "/file",
					       .maj = major(file.dev),
					       .min = minor(file.dev),
					       .ino = file.ino };
		int fd = proc_reader_open(reader, &f, &st);

		ck_assert_int_ge(fd, 0);
		ck_assert_uint_eq(st.st_dev, file.dev);
		close(fd);
	}
	end_child(pid);
	rmdir(dir);
	end();
	if (n != sizeof file)
		T_SKIP("no right to mount file systems");
}
END_TEST

UNIT_MAIN("proc_reader", files_of_private_mounts_are_opened, text_of_mappings_is_bounded,
	  a_user_has_a_share_of_the_worker, memory_mappings_and_files_are_read,
	  a_large_piece_is_read_whole, a_worker_that_dies_is_replaced_within_the_request,
	  a_worker_that_sleeps_is_abandoned, a_process_that_hangs_its_readers_is_left_alone,
	  the_creator_of_a_namespace_owns_it)
