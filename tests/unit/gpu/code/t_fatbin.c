// tier: test
/* Fat binaries: those made by NVIDIA's fatbinary, and those that tests/golden/gpu/fatbin.py makes from cubins beside them; broken ones; names of
 * functions as in readelf. */
#include "base/err.h"
#include "gpu/code/cubin.h"
#include "gpu/code/fatbin.h"
#include "shell.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define GPU "tests/golden/gpu/"

static char *read_bytes(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	char *bytes = malloc(1 << 20);

	ck_assert_msg(f, "%s", path);
	*size = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

static struct fatbin *open_good(int fd)
{
	struct fatbin *f;
	struct err err = { 0 };

	ck_assert_msg(fatbin_open(fd, &f, &err) == 0, "%s", err.text);
	return f;
}

/* An image equals that file, byte by byte. */
static void is_file(const struct fatbin *f, uint32_t image, const char *path)
{
	struct err err = { 0 };
	uint32_t n;
	size_t size;
	char *want = read_bytes(path, &size);
	void *got;

	ck_assert_msg(fatbin_unpack(f, image, &got, &err) == 0, "%s: %s", path, err.text);
	ck_assert_uint_eq(fatbin_images(f, &n)[image].size, size);
	ck_assert_mem_eq(got, want, size);
	free(got);
	free(want);
}

/* Made by the compiler's own program, with both of its compressions. */
START_TEST(made_by_fatbinary)
{
	const char *const paths[] = { GPU "lines.speed.fatbin", GPU "lines.default.fatbin" };
	const enum fatbin_packing packings[] = { FATBIN_LZ4, FATBIN_ZSTD };

	for (int i = 0; i < 2; i++) {
		struct fatbin *f = open_good(file_open(paths[i]));
		uint32_t n;
		const struct fatbin_image *v = fatbin_images(f, &n);

		ck_assert_uint_eq(n, 2);
		ck_assert_uint_eq(v[0].sm, 80);
		ck_assert_uint_eq(v[1].sm, 90);
		ck_assert(v[0].packing == packings[i] && v[1].packing == packings[i]);
		ck_assert_uint_eq(fatbin_skipped(f), 0);
		is_file(f, 0, GPU "lines.sm_80.cubin");
		is_file(f, 1, GPU "lines.sm_90.cubin");
		fatbin_close(f);
	}
}
END_TEST

/* A program made by nvcc: one container from its linker, one from its source file. */
START_TEST(in_a_program)
{
	struct fatbin *f = open_good(file_open("tests/doubles/fixture/vector_add"));
	uint32_t n;
	const struct fatbin_image *v = fatbin_images(f, &n);
	struct err err = { 0 };
	struct cubin *c;
	uint32_t text;
	void *bytes;

	ck_assert_uint_eq(n, 3);
	ck_assert(v[0].container == 0 && v[1].container == 1 && v[2].container == 1);
	ck_assert(!v[0].is_ptx && !v[1].is_ptx && v[2].is_ptx);
	ck_assert(v[1].packing == FATBIN_PLAIN && v[2].packing == FATBIN_ZSTD);
	ck_assert_int_eq(fatbin_unpack(f, 2, &bytes, &err), 0);
	ck_assert_ptr_nonnull(memmem(bytes, v[2].size, ".entry _Z10vector_add", 21));
	free(bytes);
	ck_assert_int_eq(fatbin_unpack(f, 1, &bytes, &err), 0);
	ck_assert_int_eq(cubin_open_image(bytes, v[1].size, &c, &err), 0);
	ck_assert(cubin_find(c, "_Z10vector_addPKfS0_Pfi", &text));
	ck_assert(cubin_find(c, "_Z5scalePffi", &text));
	cubin_close(c);
	free(bytes);
	fatbin_close(f);
}
END_TEST

static struct fatbin *made_of(const char *dir, const char *entries)
{
	char path[64];

	shell_do("cd " GPU " && python3 fatbin.py %s/f.fatbin %s", dir, entries);
	snprintf(path, sizeof path, "%s/f.fatbin", dir);
	return open_good(file_open(path));
}

static void is_chosen(const struct fatbin *f, uint32_t sm, const char *want)
{
	char got[128] = "";
	uint32_t n, *v = fatbin_choose(f, sm, &n);

	for (uint32_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), " %u", v[i]);
	ck_assert_str_eq(got, want);
	free(v);
}

/* The CUDA programming guide, "binary compatibility": code runs on the same major version with the same or a higher minor version. */
START_TEST(code_per_device)
{
	char dir[32];

	temp_dir(dir);
	struct fatbin *f = made_of(
		dir,
		"lz4:80:lines.sm_80.cubin zstd:86:lines.sm_86.cubin plain:90:lines.sm_90.cubin "
		"ptx:zstd:90:lines.cu / lz4:75:lines.sm_75.cubin plain:89:lines.sm_89.cubin "
		"zstd:80:ops.sm_80.cubin zstd:120:ops.sm_120.cubin");

	is_file(f, 0, GPU "lines.sm_80.cubin");
	is_file(f, 1, GPU "lines.sm_86.cubin");
	is_file(f, 2, GPU "lines.sm_90.cubin");
	is_file(f, 3, GPU "lines.cu");
	is_file(f, 7, GPU "ops.sm_120.cubin");
	is_chosen(f, 70, "");
	is_chosen(f, 75, " 4");
	is_chosen(f, 80, " 0 6");
	is_chosen(f, 86, " 1 6");
	is_chosen(f, 87, " 1 6");
	is_chosen(f, 89, " 1 5");
	is_chosen(f, 90, " 2");
	is_chosen(f, 100, "");
	is_chosen(f, 121, " 7");
	is_chosen(f, 0, " 0 1 2 4 5 6 7");
	fatbin_close(f);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(broken_ones_are_counted)
{
	struct err err = { 0 };
	char dir[32];
	uint32_t n;
	void *bytes;

	temp_dir(dir);
	struct fatbin *f = made_of(dir, "cut-lz4:90:lines.sm_90.cubin cut-zstd:90:ops.sm_90.cubin "
					"lz4:90:ops.sm_90.cubin --broken");

	fatbin_images(f, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(fatbin_unpack(f, 0, &bytes, &err), -EBADMSG);
	ck_assert_int_eq(fatbin_unpack(f, 1, &bytes, &err), -EBADMSG);
	ck_assert_int_eq(fatbin_unpack(f, 3, &bytes, &err), -EINVAL);
	is_file(f, 2, GPU "ops.sm_90.cubin");
	ck_assert_uint_eq(fatbin_skipped(f), 1);
	fatbin_close(f);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* Truncated anywhere: complete entries are read, others are counted. */
START_TEST(cut_short)
{
	size_t size;
	char *bytes = read_bytes(GPU "lines.default.fatbin", &size);

	for (size_t cut = 16; cut < size; cut += 97) {
		int fd = file_of(bytes, cut);
		struct fatbin *f = open_good(fd);
		uint32_t n;

		fatbin_images(f, &n);
		ck_assert_uint_eq(n, 0); /* the container claims to be longer */
		ck_assert_uint_eq(fatbin_skipped(f), 1);
		fatbin_close(f);
		close(fd);
	}
	free(bytes);
}
END_TEST

/* Sizes beyond any possible code, at their places in the first entry. */
START_TEST(sizes_that_cannot_be)
{
	const struct {
		size_t at;
		uint64_t value;
	} lies[] = { { 16 + 56, UINT64_MAX },      { 16 + 56, 0 },      { 16 + 56, 1ull << 29 },
		     { 16 + 56, 200ull << 20 },    { 16 + 8, 1 << 30 }, { 16 + 4, 16 },
		     { 16 + 4, 0xffffffffffffull } };
	size_t size;
	char *bytes = read_bytes(GPU "lines.default.fatbin", &size);

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		char *copy = malloc(size);
		uint32_t n;

		memcpy(copy, bytes, size);
		memcpy(copy + lies[i].at, &lies[i].value, lies[i].at == 16 + 4 ? 4 : 8);
		int fd = file_of(copy, size);
		struct fatbin *f = open_good(fd);

		fatbin_images(f, &n);
		ck_assert_uint_lt(n, 2);
		ck_assert_uint_eq(fatbin_skipped(f), 1);
		fatbin_close(f);
		close(fd);
		free(copy);
	}
	free(bytes);
}
END_TEST

START_TEST(invalid_files)
{
	struct fatbin *f;
	struct err err = { 0 };

	ck_assert_int_eq(fatbin_open(file_open(GPU "lines.cu"), &f, &err), -ENOEXEC);
	ck_assert_int_eq(fatbin_open(file_open("/proc/self/exe"), &f, &err), -ENODATA);
	ck_assert_int_eq(fatbin_open(file_open(GPU), &f, &err), -ENOEXEC);
}
END_TEST

static void spell(void *ctx, const char *linkage, uint64_t size)
{
	char *text = ctx;

	snprintf(text + strlen(text), 8192 - strlen(text), "%s %lu\n", linkage, (long)size);
}

START_TEST(names_of_functions)
{
	static const char *const cubins[] = { "lines.sm_90", "lines-abi7.sm_70", "linked.sm_90",
					      "ops.sm_120", "pc_sample_toy" };

	for (size_t i = 0; i < sizeof cubins / sizeof *cubins; i++) {
		char path[64], got[8192] = "";
		size_t size;

		snprintf(path, sizeof path, GPU "%s.cubin", cubins[i]);
		char *bytes = read_bytes(path, &size);
		char *want = shell(
			"readelf -SW %s | sed -n 's/.* \\.text\\.\\([^ ]*\\) *PROGBITS *[0-9a-f]* "
			"*[0-9a-f]* *\\([0-9a-f]*\\) .*/\\1 0x\\2/p' | while read -r name size; do "
			"echo $name $((size)); done",
			path);

		ck_assert(cubin_names(bytes, size, spell, got));
		ck_assert_str_eq(got, want);
		ck_assert_uint_gt(strlen(want), 8);
		for (size_t cut = 0; cut < size; cut += 997)
			cubin_names(bytes, cut, spell, (char[8192]){ 0 });
		free(bytes);
		free(want);
	}
	ck_assert(!cubin_names("\177ELF", 4, spell, NULL));
}
END_TEST

/* NVIDIA's own libraries, if installed: every container is read, and every image is a cubin of the kind that its entry names (e_flags, see
 * gpu/code/cubin.h). */
START_TEST(real_libraries)
{
	char *paths = shell(
		     "ls /usr/local/cuda/lib*/libcublas.so.* /usr/local/cuda/lib*/libcurand.so.* "
		     "2>/dev/null | xargs -r readlink -f | sort -u"),
	     *rest = paths;
	int n_files = 0;

	for (char *path; (path = strsep(&rest, "\n")) && *path; n_files++) {
		struct fatbin *f = open_good(file_open(path));
		uint32_t n, n_all, *v = fatbin_choose(f, 0, &n);
		const struct fatbin_image *images = fatbin_images(f, &n_all);

		ck_assert_uint_eq(fatbin_skipped(f), 0);
		ck_assert_uint_gt(n, 50);
		for (uint32_t i = 0; i < n; i++) {
			struct err err = { 0 };
			Elf64_Ehdr *h;
			void *bytes;

			ck_assert_msg(fatbin_unpack(f, v[i], &bytes, &err) == 0, "%s", err.text);
			h = bytes;
			ck_assert_int_eq(h->e_machine, EM_CUDA);
			ck_assert_uint_eq(h->e_flags >> (h->e_ident[EI_ABIVERSION] >= 8 ? 8 : 0) &
						  0xff,
					  images[v[i]].sm);
			free(bytes);
		}
		free(v);
		fatbin_close(f);
	}
	free(paths);
	if (!n_files)
		T_SKIP("no library of CUDA's is installed");
}
END_TEST

UNIT_MAIN("fatbin", made_by_fatbinary, in_a_program, code_per_device, broken_ones_are_counted,
	  cut_short, sizes_that_cannot_be, invalid_files, names_of_functions, real_libraries)
