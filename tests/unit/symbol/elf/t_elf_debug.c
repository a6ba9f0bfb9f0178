// tier: test
/* Stripped ELF files with separate and mini debug info: the same names everywhere as in the unstripped original. */
#include "base/err.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <lzma.h>
#include <sys/stat.h>

/* All of these are made from this program, which has its symbols. */
static void make_stripped(const char *dir)
{
	shell_do("cp /proc/%d/exe %s/full && cd %s && objcopy --only-keep-debug full full.debug && "
		 "objcopy --strip-all full bare && "
		 "objcopy --strip-all --add-gnu-debuglink=full.debug full linked",
		 getpid(), dir, dir);
}

/* As Fedora's find-debuginfo makes it, with xz by liblzma: a debug file that has only the functions missing from .dynsym. */
static void make_mini(const char *dir)
{
	shell_do("cd %s && nm -D full --format=posix --defined-only | awk '{print $1}' | sed "
		 "'s/@.*//' | "
		 "sort -u >dynsyms && nm full --format=posix --defined-only | "
		 "awk '$2 ~ /[TtWwi]/ {print $1}' | sed 's/@.*//' | sort -u >funcsyms && "
		 "comm -13 dynsyms funcsyms >keep && "
		 "objcopy -S --remove-section .gdb_index --remove-section .comment "
		 "--keep-symbols=keep full.debug mini",
		 dir);
	char path[64];
	snprintf(path, sizeof path, "%s/mini", dir);
	int fd = file_open(path);
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	size_t cap = lzma_stream_buffer_bound(st.st_size), packed_len = 0;
	uint8_t *plain = malloc(st.st_size), *packed = malloc(cap);
	ck_assert_int_eq(read(fd, plain, st.st_size), st.st_size);
	close(fd);
	ck_assert_int_eq(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, plain, st.st_size,
						 packed, &packed_len, cap),
			 LZMA_OK);
	snprintf(path, sizeof path, "%s/mini.xz", dir);
	FILE *f = fopen(path, "w");
	ck_assert_uint_eq(fwrite(packed, 1, packed_len, f), packed_len);
	fclose(f);
	free(plain);
	free(packed);
	shell_do("cd %s && objcopy --add-section .gnu_debugdata=mini.xz bare with_mini", dir);
}

struct opened {
	int fd;
	struct symbol_source *source;
};

static struct symbol_source *open_fd(int fd, debug_locate_fn *locate, void *ctx)
{
	struct symbol_source *s;
	struct err err = { 0 };
	int rc = symbol_open_elf(fd, locate, ctx, &s, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return s;
}

static struct opened open_in(const char *dir, const char *name, debug_locate_fn *locate, void *ctx)
{
	char path[64];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = file_open(path);
	return (struct opened){ fd, open_fd(fd, locate, ctx) };
}

static void close_opened(struct opened *o)
{
	symbol_close(o->source);
	close(o->fd);
}

/* Looks up every 16 bytes of the file: both give the same answer. */
static size_t same_names(struct symbol_source *a, struct symbol_source *b, int fd)
{
	struct stat st;
	size_t named = 0;
	ck_assert_int_eq(fstat(fd, &st), 0);
	for (off_t at = 0; at < st.st_size; at += 16) {
		struct symbol x, y;
		bool in_a = symbol_lookup(a, at, &x), in_b = symbol_lookup(b, at, &y);
		ck_assert_msg(in_a == in_b, "%#lx: %s and %s", (long)at, in_a ? x.name : "nothing",
			      in_b ? y.name : "nothing");
		if (!in_a)
			continue;
		ck_assert_str_eq(x.linkage, y.linkage);
		ck_assert_str_eq(x.name, y.name);
		ck_assert_uint_eq(x.start, y.start);
		ck_assert_uint_eq(x.size, y.size);
		named++;
	}
	return named;
}

START_TEST(mini_debug_info_names_the_same)
{
	char dir[32];
	temp_dir(dir);
	make_stripped(dir);
	make_mini(dir);
	struct opened full = open_in(dir, "full", NULL, NULL);
	struct opened mini = open_in(dir, "with_mini", NULL, NULL);
	ck_assert_str_eq(full.source->origin, ".symtab");
	ck_assert_str_eq(mini.source->origin, ".gnu_debugdata");
	ck_assert_uint_gt(same_names(full.source, mini.source, full.fd), 1000);
	close_opened(&full);
	close_opened(&mini);
	shell_do("rm -r %s", dir);
}
END_TEST

static void build_id_path(const char *dir, const char *file, char *path, size_t size)
{
	char *hex = shell("readelf -n %s/%s | sed -n 's/ *Build ID: //p'", dir, file);
	hex[strcspn(hex, "\n")] = '\0';
	ck_assert_uint_ge(strlen(hex), 8); /* gcc asks the linker for one */
	snprintf(path, size, "usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	free(hex);
}

/* Found by debuglink in each of its places, and by build id, below another root. */
START_TEST(separate_debug_file_names_the_same)
{
	char dir[32], by_build_id[128];
	temp_dir(dir);
	make_stripped(dir);
	build_id_path(dir, "full", by_build_id, sizeof by_build_id);
	const char *const places[] = { "opt/app/full.debug", "opt/app/.debug/full.debug",
				       "usr/lib/debug/opt/app/full.debug", by_build_id };
	struct debug_root root = { open(dir, O_PATH | O_DIRECTORY), "/opt/app/linked" };
	struct opened full = open_in(dir, "full", NULL, NULL);
	for (int i = 0; i < 4; i++) {
		shell_do("cd %s && mkdir -p $(dirname %s) && cp full.debug %s", dir, places[i],
			 places[i]);
		struct opened stripped =
			open_in(dir, i < 3 ? "linked" : "bare", debug_locate_in_root, &root);
		ck_assert_str_eq(stripped.source->origin, "debug file");
		ck_assert_uint_gt(same_names(full.source, stripped.source, full.fd), 1000);
		close_opened(&stripped);
		shell_do("rm %s/%s", dir, places[i]);
	}
	/* Now there is nothing left to find. */
	struct opened dynsym = open_in(dir, "linked", debug_locate_in_root, &root);
	ck_assert_str_eq(dynsym.source->origin, ".dynsym");
	close_opened(&dynsym);
	close(root.fd);
	close_opened(&full);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- which files are taken ------------------------------------------------------------------------------------------- */

struct offers {
	const char *paths[4]; /* NULL at the end */
	unsigned asked;
	struct debug_request last;
	char debuglink[64];
};

static int offer(void *ctx, const struct debug_request *req, unsigned attempt)
{
	struct offers *o = ctx;
	ck_assert_uint_eq(attempt, o->asked);
	o->asked++;
	o->last = *req;
	snprintf(o->debuglink, sizeof o->debuglink, "%s", req->debuglink ? req->debuglink : "");
	return o->paths[attempt] ? file_open(o->paths[attempt]) : -1;
}

START_TEST(other_files_are_refused)
{
	char dir[32], right[64];
	temp_dir(dir);
	make_stripped(dir);
	snprintf(right, sizeof right, "%s/full.debug", dir);
	/* No symbols; symbols of another build id; not ELF; then the right one. */
	struct offers offers = { .paths = { "/bin/sh", "tests/golden/elf/gnu_exe",
					    "tests/golden/elf/malformed_elf", right } };
	struct opened o = open_in(dir, "linked", offer, &offers);
	ck_assert_str_eq(o.source->origin, "debug file");
	ck_assert_uint_eq(offers.asked, 4);
	ck_assert_str_eq(offers.debuglink, "full.debug");
	ck_assert_uint_eq(offers.last.build_id_len, 20);
	close_opened(&o);
	/* A file with symbols does not ask. */
	struct offers unasked = { 0 };
	o = open_in(dir, "full", offer, &unasked);
	ck_assert_uint_eq(unasked.asked, 0);
	close_opened(&o);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Without a build id, the CRC of the whole file decides. */
START_TEST(crc_decides_without_build_id)
{
	char dir[32], path[64];
	temp_dir(dir);
	shell_do("cd %s && echo '.globl f; .type f,@function; f: .skip 16; .size f, 16' | as -o "
		 "f.o && "
		 "ld --build-id=none -e 0 -o full f.o && objcopy --only-keep-debug full full.debug "
		 "&& "
		 "objcopy --strip-all --add-gnu-debuglink=full.debug full linked && "
		 "(cat full.debug; printf x) >longer.debug",
		 dir);
	snprintf(path, sizeof path, "%s/full.debug", dir);
	struct offers right = { .paths = { path } };
	struct opened o = open_in(dir, "linked", offer, &right);
	ck_assert_str_eq(o.source->origin, "debug file");
	ck_assert_uint_eq(right.last.build_id_len, 0);
	close_opened(&o);

	snprintf(path, sizeof path, "%s/longer.debug", dir);
	struct offers wrong = { .paths = { path } };
	snprintf(path + strlen(dir), sizeof path - strlen(dir), "/linked");
	int fd = file_open(path);
	snprintf(path + strlen(dir), sizeof path - strlen(dir), "/longer.debug");
	struct symbol_source *s;
	ck_assert_int_eq(symbol_open_elf(fd, offer, &wrong, &s, NULL), -ENODATA);
	ck_assert_uint_eq(wrong.asked, 2);
	close(fd);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- locate ---------------------------------------------------------------------------------------------------------- */

static int locate(struct debug_root *root, const char *debuglink, unsigned attempt, char text[8])
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef };
	struct debug_request req = { .build_id = id,
				     .build_id_len = sizeof id,
				     .debuglink = debuglink };
	int fd = debug_locate_in_root(root, &req, attempt);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 7);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

START_TEST(places_in_order)
{
	char dir[32], text[8];
	temp_dir(dir);
	shell_do("cd %s && mkdir -p usr/lib/debug/.build-id/ab usr/lib/debug/app app/.debug && "
		 "printf 0 >usr/lib/debug/.build-id/ab/cdef.debug && printf 1 >app/x.debug && "
		 "printf 2 >app/.debug/x.debug && printf 3 >usr/lib/debug/app/x.debug",
		 dir);
	struct debug_root root = { open(dir, O_PATH | O_DIRECTORY), "/app/x" };
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(locate(&root, "x.debug", i, text), 0);
		ck_assert_int_eq(text[0], '0' + (int)i);
	}
	ck_assert_int_eq(locate(&root, "x.debug", 4, text), -1);
	/* A missing file is passed over without counting. */
	shell_do("rm %s/app/x.debug", dir);
	ck_assert_int_eq(locate(&root, "x.debug", 1, text), 0);
	ck_assert_str_eq(text, "2");
	root.path = NULL;
	ck_assert_int_eq(locate(&root, "x.debug", 1, text), -1);
	close(root.fd);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(root_is_not_left)
{
	char dir[32], text[8];
	temp_dir(dir);
	shell_do("cd %s && printf out >secret && mkdir -p root/app root/app/dir.debug && cd "
		 "root/app && "
		 "ln -s ../../secret up.debug && ln -s /secret absolute.debug && "
		 "ln -s ../in.debug inside.debug && printf in >../in.debug && mkfifo pipe.debug && "
		 "printf in >../secret",
		 dir);
	char path[64];
	snprintf(path, sizeof path, "%s/root", dir);
	struct debug_root root = { open(path, O_PATH | O_DIRECTORY), "/app/x" };
	/* Links resolve as in the container: both of these are its own /secret. */
	ck_assert_int_eq(locate(&root, "up.debug", 0, text), 0);
	ck_assert_str_eq(text, "in");
	ck_assert_int_eq(locate(&root, "absolute.debug", 0, text), 0);
	ck_assert_str_eq(text, "in");
	ck_assert_int_eq(locate(&root, "inside.debug", 0, text), 0);
	ck_assert_str_eq(text, "in");
	static const char *const refused[] = { "../secret", "/secret",    "..",       ".",
					       "",          "pipe.debug", "dir.debug" };
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		ck_assert_int_eq(locate(&root, refused[i], 0, text), -1);
	close(root.fd);
	shell_do("rm -r %s", dir);
}
END_TEST

UNIT_MAIN("elf_debug", mini_debug_info_names_the_same, separate_debug_file_names_the_same,
	  other_files_are_refused, crc_decides_without_build_id, places_in_order, root_is_not_left)
