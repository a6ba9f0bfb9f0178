// tier: test
/* Device code from the files that a process has mapped. The process is this one: it maps programs made by tests/golden/gpu/fatbin.py, as the loader
 * would. */
#include "base/clock.h"
#include "collect/gpu/gpu_code_files.h"
#include "collect/gpu/gpu_code_fit.h"
#include "gpu/code/device_code.h"
#include "map_files.h"
#include "shell.h"

#include <string.h>

#define GPU   "tests/golden/gpu/"
#define SAXPY "_Z5saxpyPfPKffi"
#define SUM   "_Z3sumIdEvPT_PKS0_i"
#define HEAVY "_ZN4deep5heavyEfi" /* only linked.sm_90 has it as a separate text */
enum { MODEL = 90 };

static char dir[32];
static int n_programs;

/* Maps a program with this code. */
static void map_program(const char *entries)
{
	char path[64];

	snprintf(path, sizeof path, "%s/program%d", dir, n_programs++);
	shell_do("me=$(readlink -f /bin/true); cd " GPU " && python3 fatbin.py %s ELF:$me %s", path,
		 entries);
	int fd = file_open(path);

	ck_assert_ptr_ne(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	close(fd);
}

static struct gpu_code_files *world(const char *entries)
{
	temp_dir(dir);
	map_program(entries);
	struct gpu_code_files *f = gpu_code_files_new();

	ck_assert_ptr_nonnull(f);
	return f;
}

static void world_end(struct gpu_code_files *f)
{
	gpu_code_files_free(f);
	shell_do("rm -rf %s", dir);
}

static void look(struct gpu_code_files *f, uint32_t model)
{
	gpu_code_files_want(f, getpid(), model);
	gpu_code_files_wait(f, GPU_CODE_WAIT_MS);
}

static struct gpu_code_found find_some(struct gpu_code_files *f, uint32_t model,
				       const struct gpu_code_wanted *w, size_t n, uint64_t max)
{
	struct gpu_code_found found;

	gpu_code_files_find(f, getpid(), model, w, n, max, UINT64_MAX, &found);
	return found;
}

/* The number of different images with that function, at an offset. */
static uint32_t fit(struct gpu_code_files *f, const char *function, uint64_t offset)
{
	const struct gpu_code_wanted w = { function, gpu_code_hash(function), offset };
	struct gpu_code_found found = find_some(f, MODEL, &w, 1, UINT32_MAX);
	uint32_t n = found.n;

	gpu_code_found_done(&found);
	return n;
}

static void note_line(void *ctx, enum frame_kind kind, const char *name, const char *file,
		      uint32_t line)
{
	(void)name, (void)file;
	if (kind == FRAME_GPU_FUNCTION && line)
		*(uint32_t *)ctx = line;
}

START_TEST(the_one_that_fits)
{
	struct gpu_code_files *f = world("lz4:80:lines.sm_80.cubin zstd:90:lines.sm_90.cubin / "
					 "lz4:90:ops.sm_90.cubin");
	const struct gpu_code_wanted w = { SAXPY, gpu_code_hash(SAXPY), 0x100 };
	uint32_t line = 0;

	look(f, MODEL);
	struct gpu_code_found found = find_some(f, MODEL, &w, 1, UINT32_MAX);

	ck_assert_uint_eq(found.n, 1);
	ck_assert_uint_eq(found.bytes, 40072); /* of lines.sm_90.cubin */
	ck_assert_uint_gt(device_code_layers(found.code[0], SAXPY, 0x100, NULL, note_line, &line),
			  3);
	ck_assert_uint_eq(line, 4); /* scale.cuh:4, innermost */
	gpu_code_found_done(&found);
	ck_assert_uint_eq(fit(f, SAXPY, 1919), 1);
	ck_assert_uint_eq(fit(f, SAXPY, 1920), 0); /* its length */
	ck_assert_uint_eq(fit(f, "_Z4none", 0), 0);
	ck_assert_uint_eq(gpu_code_files_unread(f), 0);
	world_end(f);
}
END_TEST

START_TEST(other_model)
{
	struct gpu_code_files *f = world("lz4:80:lines.sm_80.cubin / zstd:100:lines.sm_100.cubin");
	const struct gpu_code_wanted w = { SAXPY, gpu_code_hash(SAXPY), 0 };

	look(f, MODEL);
	ck_assert_uint_eq(fit(f, SAXPY, 0), 0);
	look(f, 86); /* runs code for sm_80 */
	struct gpu_code_found found = find_some(f, 86, &w, 1, UINT32_MAX);

	ck_assert_uint_eq(found.n, 1);
	gpu_code_found_done(&found);
	look(f, 0); /* not known: either */
	found = find_some(f, 0, &w, 1, UINT32_MAX);
	ck_assert_uint_eq(found.n, 2);
	gpu_code_found_done(&found);
	world_end(f);
}
END_TEST

/* All functions sampled under one number are in one image. */
START_TEST(by_all_its_functions)
{
	struct gpu_code_files *f = world(
		"lz4:90:lines.sm_90.cubin / lz4:90:linked.sm_90.cubin / lz4:90:lines.sm_90.cubin");
	const struct gpu_code_wanted two[] = { { SAXPY, gpu_code_hash(SAXPY), 0x40 },
					       { HEAVY, gpu_code_hash(HEAVY), 0x40 } };

	look(f, MODEL);
	ck_assert_uint_eq(fit(f, SAXPY, 0), 2);   /* the same image twice is one */
	ck_assert_uint_eq(fit(f, SAXPY, 896), 1); /* it is 896 bytes in linked.sm_90.cubin */
	struct gpu_code_found found = find_some(f, MODEL, two, 2, UINT32_MAX);

	ck_assert_uint_eq(found.n, 1);
	ck_assert_uint_eq(found.bytes, 43488);
	gpu_code_found_done(&found);
	world_end(f);
}
END_TEST

/* Later samples: one of two images fits, then none. */
START_TEST(stored_code)
{
	struct gpu_code_files *f = world("lz4:90:lines.sm_90.cubin / lz4:90:linked.sm_90.cubin");
	const struct gpu_code_wanted saxpy = { SAXPY, gpu_code_hash(SAXPY), 0 },
				     heavy = { HEAVY, 0, 16 }, end = { SAXPY, 0, 896 };

	look(f, MODEL);
	struct gpu_code_found found = find_some(f, MODEL, &saxpy, 1, UINT32_MAX);

	gpu_code_found_keep(&found, &saxpy, 1);
	ck_assert_uint_eq(found.n, 2);
	gpu_code_found_keep(&found, &heavy, 1);
	ck_assert_uint_eq(found.n, 1);
	gpu_code_found_keep(&found, &end, 1);
	ck_assert_uint_eq(found.n, 0);
	gpu_code_found_done(&found);
	world_end(f);
}
END_TEST

START_TEST(too_much_of_it)
{
	struct gpu_code_files *f = world("lz4:90:lines.sm_90.cubin / lz4:90:linked.sm_90.cubin");
	const struct gpu_code_wanted w = { SAXPY, gpu_code_hash(SAXPY), 0 };

	look(f, MODEL);
	for (uint64_t max = 0; max < 40072 + 43488; max += 5000) {
		struct gpu_code_found found = find_some(f, MODEL, &w, 1, max);

		ck_assert_uint_eq(found.n, 0); /* choosing one of two would be a guess */
		ck_assert_uint_eq(found.bytes, 0);
	}
	world_end(f);
}
END_TEST

START_TEST(out_of_time)
{
	struct gpu_code_files *f = world("lz4:90:lines.sm_90.cubin");
	const struct gpu_code_wanted w = { SAXPY, gpu_code_hash(SAXPY), 0 };
	struct gpu_code_found found;

	look(f, MODEL);
	gpu_code_files_find(f, getpid(), MODEL, &w, 1, UINT32_MAX, clock_thread_ns() - 1, &found);
	ck_assert_uint_eq(found.n, 0);
	ck_assert_uint_eq(fit(f, SAXPY, 0), 1);
	world_end(f);
}
END_TEST

START_TEST(broken_files)
{
	struct gpu_code_files *f = world("cut-lz4:90:lines.sm_90.cubin plain:90:lines.cu "
					 "cut-zstd:90:ops.sm_90.cubin --broken");

	look(f, MODEL);
	ck_assert_uint_eq(fit(f, SAXPY, 0), 0);
	ck_assert_uint_eq(gpu_code_files_unread(f), 4);
	look(f, MODEL); /* each file once */
	ck_assert_uint_eq(gpu_code_files_unread(f), 4);
	world_end(f);
}
END_TEST

/* A file mapped later is found by the next request. */
START_TEST(mapped_later)
{
	T_NEEDS_MAP_FILES();
	struct gpu_code_files *f = world("lz4:90:ops.sm_90.cubin");

	look(f, MODEL);
	ck_assert_uint_eq(fit(f, SUM, 0), 0);
	map_program("plain:90:lines.sm_90.cubin");
	ck_assert_uint_eq(fit(f, SUM, 0), 0);
	look(f, MODEL);
	ck_assert_uint_eq(fit(f, SUM, 0), 1);
	shell_do("rm -rf %s/*", dir); /* deleted files are still mapped */
	map_program("plain:90:linked.sm_90.cubin");
	look(f, MODEL);
	ck_assert_uint_eq(fit(f, SUM, 0), 2);
	world_end(f);
}
END_TEST

START_TEST(unowned_code)
{
	struct gpu_code_files *f = world("lz4:90:lines.sm_90.cubin");
	const struct gpu_code_wanted w = { SAXPY, gpu_code_hash(SAXPY), 0 };
	struct gpu_code_found found;

	look(f, MODEL);
	gpu_code_files_want(f, 1 << 30, MODEL); /* no process has that number */
	gpu_code_files_want(f, 1, MODEL);
	gpu_code_files_wait(f, GPU_CODE_WAIT_MS);
	gpu_code_files_find(f, 1, MODEL, &w, 1, UINT32_MAX, UINT64_MAX,
			    &found); /* not in the mappings of others */
	ck_assert_uint_eq(found.n, 0);
	gpu_code_files_forget_ended(f);
	ck_assert_uint_eq(fit(f, SAXPY, 0), 1);
	world_end(f);
}
END_TEST

UNIT_MAIN("gpu_code_files", the_one_that_fits, other_model, by_all_its_functions, stored_code,
	  too_much_of_it, out_of_time, broken_files, mapped_later, unowned_code)
