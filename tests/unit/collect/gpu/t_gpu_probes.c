// tier: test
/* Places of probes on GPU libraries: by the first bytes of functions, and in whole files. */
#include "unit.h"

#include "attach/prologue.h"
#include "collect/gpu/gpu_probes.h"
#include "collect/kernel/sampler_opts.h"
#include "gpu/code/probes.h"
#include "symbol/elf/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

static int place(const char *bytes, size_t n)
{
	return prologue_place((const uint8_t *)bytes, n);
}
#define PLACE(bytes) place(bytes, sizeof(bytes) - 1)

START_TEST(entries)
{
	/* Driver 535: cuLaunchKernel: cmpl $0x321cba00,off(%rip); je +0xc; jmp *off(%rip) */
	ck_assert_int_eq(
		PLACE("\x81\x3d\x3e\x93\x8d\x01\x00\xba\x1c\x32\x74\x0c\xff\x25\xc6\x18\x7e\x01"),
		10);
	/* Runtime 13: cudaLaunchKernel: push %rbp; mov %rsp,%rbp */
	ck_assert_int_eq(PLACE("\x55\x48\x89\xe5\x41\x57"), 0);
	ck_assert_int_eq(PLACE("\x41\x57\x41\x56"), 0);                 /* push %r15 */
	ck_assert_int_eq(PLACE("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5"), 4); /* endbr64; push */
	/* endbr64; mov off(%rip),%rax; test %rax,%rax; jne near */
	ck_assert_int_eq(PLACE("\xf3\x0f\x1e\xfa\x48\x8b\x05\x01\x02\x03\x04\x48\x85\xc0\x0f\x85"
			       "\x10\x00\x00\x00"),
			 14);
	ck_assert_int_eq(PLACE("\x83\x3d\x01\x02\x03\x04\x00\x75\x10"),
			 7); /* cmpl $0,off(%rip); jne */
	ck_assert_int_eq(PLACE("\x48\x83\x3d\x01\x02\x03\x04\x00\x75\x10"), 8);
	ck_assert_int_eq(PLACE("\xe9\x01\x02\x03\x04"), 0); /* jmp */
	ck_assert_int_eq(PLACE("\x90\x55"), 0);
}
END_TEST

START_TEST(refused)
{
	ck_assert_int_eq(PLACE("\x48\x83\xec\x18\x55"),
			 -1); /* sub $24,%rsp: arguments further down */
	ck_assert_int_eq(PLACE("\x48\x8b\x3d\x01\x02\x03\x04\x55"),
			 -1); /* mov off(%rip),%rdi: an argument */
	ck_assert_int_eq(PLACE("\xb8\x21\x03\x00\x00\xc3"),
			 -1); /* mov $801,%eax; ret: cuMemGetAttribute */
	ck_assert_int_eq(PLACE("\xff\x25\xc6\x18\x7e\x01"),
			 -1); /* jmp *off(%rip) is not emulated */
	ck_assert_int_eq(PLACE(""), -1);
	/* Truncated anywhere it is no place, and nothing beyond the end is read. */
	const char whole[] = "\xf3\x0f\x1e\xfa\x81\x3d\x3e\x93\x8d\x01\x00\xba\x1c\x32";

	for (size_t n = 0; n < sizeof whole; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, whole, n);
		ck_assert_int_eq(prologue_place(copy, n), -1);
		free(copy);
	}
}
END_TEST

START_TEST(names)
{
	static const char *const are[] = {
		"/usr/lib/libcuda.so.1", "libcuda.so",
		"/x/libcudart.so.13",    "/a/b/libcuda.so.535.261.03",
		"/n/libnccl.so.2",       "/memfd:libcresset-cuda.so (deleted)"
	};
	static const char *const are_not[] = { "/usr/lib/libcuda.so-old",
					       "/libcudadevrt.a",
					       "libcuda.sock",
					       "/memfd:libcuda (deleted)",
					       "/libcuda.so/x",
					       "",
					       "/" };

	for (size_t i = 0; i < sizeof are / sizeof *are; i++)
		ck_assert_msg(gpu_library_of(are[i]) != NULL, "%s", are[i]);
	for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
		ck_assert_msg(gpu_library_of(are_not[i]) == NULL, "%s", are_not[i]);
	ck_assert_ptr_ne(gpu_library_of("libcuda.so.1"), gpu_library_of("libcudart.so.13"));
}
END_TEST

START_TEST(insides)
{
	ck_assert_int_eq(gpu_inside_of("/opt/libcresset-cuda.so"), GPU_INSIDE_TELLER);
	ck_assert_int_eq(gpu_inside_of("/memfd:libcresset-cuda.so (deleted)"), GPU_INSIDE_TELLER);
	ck_assert_int_eq(gpu_inside_of("/x/CUPTI/lib64/libcupti.so.13"), GPU_INSIDE_TELLER);
	ck_assert_int_eq(gpu_inside_of("libcupti.so.2025.3.1"), GPU_INSIDE_TELLER);
	ck_assert_int_eq(gpu_inside_of("/x/libcudart.so.13"), GPU_INSIDE_CALL);
	ck_assert_int_eq(gpu_inside_of("/x/libcuda.so.535.261.03"), GPU_INSIDE_CALL);
	ck_assert_int_eq(gpu_inside_of("/x/libcuptix.so"), GPU_INSIDE_NONE);
	ck_assert_int_eq(gpu_inside_of("/x/libnccl.so.2"), GPU_INSIDE_NONE);
	ck_assert_int_eq(gpu_inside_of("/x/libcupti.so/python"), GPU_INSIDE_NONE);
	ck_assert_int_eq(gpu_inside_of(""), GPU_INSIDE_NONE);
	/* This library is not probed. */
	ck_assert_ptr_null(gpu_library_of("/x/libcupti.so.13"));
}
END_TEST

static int open_double(const char *name)
{
	const char *build = getenv("BUILD");
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/doubles/%s", build ? build : "build", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void find(const char *name, uint32_t wanted, struct gpu_places *out)
{
	struct elf_file f;
	int fd = open_double(name);

	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	ck_assert_int_eq(gpu_places_find(&f, gpu_library_of(name), wanted, out, NULL), 0);
	elf_file_close(&f);
	close(fd);
}

/* The bytes at each place, and that each is in the library's own code. */
START_TEST(in_files)
{
	struct gpu_places driver = { 0 }, runtime = { 0 };

	find("libcuda.so.1", GPU_LAUNCH, &driver);
	ck_assert_uint_eq(
		driver.all.n,
		5); /* cuLaunchKernel and its _ptsz, …Ex, cuGraphLaunch, the cooperative one */
	ck_assert_uint_eq(driver.refused, 0);
	for (size_t i = 0; i < driver.all.n; i++) {
		const struct gpu_place *p = &driver.all.v[i];

		ck_assert(!p->is_stepped);
		ck_assert_uint_eq(p->offset, p->entry_offset + 10);
		ck_assert_uint_eq(p->row.skipped, 10);
		ck_assert_uint_eq(p->row.what, GPU_LAUNCH);
		ck_assert_uint_gt(p->row.below, 10);
		ck_assert_uint_gt(p->row.beyond, 10);
	}
	find("libcudart.so.13", ~0u, &runtime);
	ck_assert_uint_gt(runtime.all.n, 10);
	for (size_t i = 0; i < runtime.all.n; i++)
		ck_assert_uint_eq(runtime.all.v[i].row.skipped, 0);
	gpu_places_done(&driver);
	gpu_places_done(&runtime);
}
END_TEST

/* A process of another user, until its pipe is closed. */
static pid_t start_of_other_user(int *end)
{
	int ready[2], stay[2];
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(stay), 0);
	pid_t child = fork();
	if (child == 0) {
		close(stay[1]);
		if (setgid(65534) || setuid(65534) || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(stay[0], &c, 1) != 0);
	}
	close(ready[1]);
	close(stay[0]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*end = stay[1];
	return child;
}

static int new_file(void)
{
	int fd = memfd_create("libcuda.so.1", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* A file like the library, but another one. */
static int new_library(void)
{
	int from = open_double("libcuda.so.1"), to = new_file();

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	close(from);
	return to;
}

static uint64_t n_refused(struct gpu_probes *g)
{
	struct gpu_probes_stats stats;

	gpu_probes_get_stats(g, &stats);
	return stats.refused_files;
}

/* A user with a full share maps a library of others first: it is tried again for them. */
START_TEST(a_full_share_refuses_no_files_of_others)
{
	if (getuid())
		T_SKIP("needs root");
	struct gpu_probes *g = gpu_probes_new(NULL, &(struct sampler_opts){ 0 }, NULL);
	int end;
	pid_t other = start_of_other_user(&end);

	for (size_t i = 0; i <= GPU_MAX_FILES / 2; i++) {
		int fd = new_library();

		ck_assert_uint_eq(n_refused(g), 0);

		gpu_probes_add(g, other, "libcuda.so.1", fd);
		close(fd);
	}
	ck_assert_uint_eq(n_refused(g), 1);
	int fd = new_file();
	gpu_probes_add(g, other, "libcuda.so.1", fd);
	ck_assert_uint_eq(n_refused(g), 2);
	gpu_probes_add(g, other, "libcuda.so.1", fd); /* not again for the same user */
	ck_assert_uint_eq(n_refused(g), 2);
	gpu_probes_add(g, getpid(), "libcuda.so.1", fd); /* refused: not an ELF file */
	ck_assert_uint_eq(n_refused(g), 3);
	close(fd);
	close(end);
	waitpid(other, NULL, 0);
	gpu_probes_free(g);
}
END_TEST

/* A file is recognized by its place, whatever its owner, so calls are counted once. */
START_TEST(a_changed_file_is_the_same)
{
	struct gpu_probes *g = gpu_probes_new(NULL, &(struct sampler_opts){ 0 }, NULL);
	int fd = new_library();

	if (getuid())
		T_SKIP("needs root");
	for (uid_t owner = 0; owner <= GPU_MAX_FILES; owner++) {
		ck_assert_int_eq(fchown(fd, owner, (gid_t)-1), 0);
		gpu_probes_add(g, 0, "libcuda.so.1", fd);
	}
	ck_assert_uint_eq(n_refused(g), 0);
	close(fd);
	gpu_probes_free(g);
}
END_TEST

UNIT_MAIN("gpu_probes", entries, refused, names, insides, in_files, a_changed_file_is_the_same,
	  a_full_share_refuses_no_files_of_others)
