// tier: test
/* Lookups by the BPF code in tables in kernel maps, compared with a linear search of the table as built: on both sides of every page boundary, at
 * random offsets, and outside. */
#include "may_bpf.h"
#include "shell.h"

#include "base/vec.h"
#include "bpf/lookup.h"
#include "bpf/space.h"
#include "collect/walker/table_store.h"
#include "rand.h"
#include "unwind/table.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glob.h>
#include <poll.h>
#include <sys/stat.h>

enum { RANDOM_LOOKUPS = 100000, SEGMENTS = 64 };

struct kernel {
	struct bpf_object *object;
	struct table_store *store;
	struct lookup *lookups; /* these two are mapped by the program */
	struct lookup_run *run;
	int program;
};

static int map_fd(const struct kernel *k, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(k->object, name);

	ck_assert_msg(fd >= 0, "%s", name);
	return fd;
}

static void *map_memory(const struct kernel *k, const char *name, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(k, name), 0);

	ck_assert_msg(p != MAP_FAILED, "%s", name);
	return p;
}

static void kernel_open(struct kernel *k)
{
	const char *build = getenv("BUILD");
	char path[256];

	snprintf(path, sizeof path, "%s/unit/lookup.bpf.o", build ? build : "build");
	k->object = bpf_object__open_file(path, NULL);
	ck_assert_msg(k->object != NULL, "%s", path);
	ck_assert_int_eq(bpf_object__load(k->object), 0);
	k->program = bpf_program__fd(bpf_object__find_program_by_name(k->object, "look_all"));
	k->lookups = map_memory(k, "lookups", LOOKUP_BATCH * sizeof *k->lookups);
	k->run = map_memory(k, ".bss", sizeof *k->run);
	k->store = table_store_new(&(struct table_store_opts){ .tables_fd = map_fd(k, "tables"),
							       .segments_fd = map_fd(k, "segments"),
							       .max_segments = SEGMENTS });
	ck_assert_ptr_nonnull(k->store);
}

static void kernel_close(struct kernel *k)
{
	table_store_free(k->store);
	bpf_object__close(k->object);
}

/* Appends the table of a file to those already there. */
static uint32_t kernel_add(struct kernel *k, const char *path)
{
	uint32_t index = table_store_add(k->store);
	struct pollfd p = { table_store_fd(k->store), POLLIN, 0 };

	table_store_want(k->store, index, file_open(path));
	while (table_store_is_busy(k->store)) {
		poll(&p, 1, 1000);
		table_store_poll(k->store);
	}
	ck_assert_int_eq(table_store_table(k->store, index)->state, TABLE_READY);
	return index;
}

/* --- comparing ----------------------------------------------------------------------------------- */

struct comparison {
	struct kernel *k;
	const struct unwind_table *truth;
	uint32_t index, n;
	uint64_t done, with_rule;
};

static void compare(struct comparison *c)
{
	const struct kernel *k = c->k;

	*k->run = (struct lookup_run){ c->index, c->n };
	ck_assert_int_eq(bpf_prog_test_run_opts(k->program, NULL), 0);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct lookup *got = &k->lookups[i];
		const struct unwind_rule *want = unwind_table_find(c->truth, got->offset);

		ck_assert_msg(got->found == (want != NULL), "offset %llx", got->offset);
		ck_assert_msg(!want || memcmp(want, &got->rule, sizeof *want) == 0, "offset %llx",
			      got->offset);
		c->with_rule += want != NULL;
	}
	c->done += c->n;
	c->n = 0;
}

static void ask(struct comparison *c, uint64_t offset)
{
	c->k->lookups[c->n++] = (struct lookup){ .offset = offset };
	if (c->n == LOOKUP_BATCH)
		compare(c);
}

static void ask_all(struct comparison *c)
{
	const struct unwind_table_ref *ref = &c->truth->ref;
	uint64_t first = (uint64_t)ref->first_page << UNWIND_PAGE_BITS;
	uint64_t bytes = (uint64_t)ref->n_pages << UNWIND_PAGE_BITS;
	struct rng rng = { 1 };

	for (uint64_t at = first; at <= first + bytes; at += 1 << UNWIND_PAGE_BITS)
		for (int d = -1; d <= 1; d++)
			ask(c, at + d);
	for (int i = 0; i < RANDOM_LOOKUPS; i++)
		ask(c, first + rng_below(&rng, bytes));
	ask(c, 0);
	ask(c, first + 2 * bytes);
	ask(c, UINT64_MAX);
	ask(c, (uint64_t)UINT32_MAX << UNWIND_PAGE_BITS);
	compare(c);
}

static uint64_t count_wide(const struct unwind_table *t)
{
	const uint32_t *dir =
		(const uint32_t *)(t->image.data + (size_t)t->ref.dir_chunk * UNWIND_CHUNK);
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->ref.n_pages; i++)
		n += !(dir[i] & UNWIND_DIR_RULE) && (dir[i] & UNWIND_DIR_WIDE);
	return n;
}

/* Returns the number of wide blocks. */
static uint64_t check_file(struct kernel *k, const char *path)
{
	struct unwind_table truth;
	struct comparison c = { .k = k, .truth = &truth, .index = kernel_add(k, path) };
	int fd = file_open(path);

	ck_assert_int_eq(unwind_table_build(fd, &truth, NULL), 0);
	close(fd);
	ask_all(&c);
	uint64_t wide = count_wide(&truth), chunks = truth.image.len / UNWIND_CHUNK;
	printf("# %lu lookups, %lu with a rule: %u pages, %lu wide, %lu chunks from %u on: %s\n",
	       c.done, c.with_rule, truth.ref.n_pages, wide, chunks,
	       table_store_table(k->store, c.index)->ref.chunk, path);
	fflush(stdout);
	ck_assert_uint_gt(c.with_rule, RANDOM_LOOKUPS / 10);
	unwind_table_done(&truth);
	return wide;
}

/* --- files --------------------------------------------------------------------------------------- */

static char *largest_library(void)
{
	const char *found = NULL;
	off_t most = 0;
	struct stat st;
	glob_t g;

	ck_assert_int_eq(glob("/usr/lib/*/lib*.so*", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		if (stat(g.gl_pathv[i], &st) == 0 && st.st_size > most) {
			most = st.st_size;
			found = g.gl_pathv[i];
		}
	char *path = realpath(found, NULL);
	globfree(&g);
	return path;
}

/* More rules than one byte can number, in pages of all kinds: functions of many sizes, some far apart. */
static void make_many_rules(const char *path)
{
	enum { FUNCTIONS = 3000, RULES = 700 };
	char source[80];

	snprintf(source, sizeof source, "%s.s", path);
	FILE *f = fopen(source, "w");
	for (int i = 0; i < FUNCTIONS; i++) {
		fprintf(f, ".p2align 4\n.cfi_startproc\n");
		for (int k = 0; k < i % 7; k++)
			fprintf(f, "nop\n.cfi_def_cfa_offset %d\n", (i * 7 + k) % RULES * 8 + 16);
		fprintf(f, ".fill %d, 1, 0x90\n.cfi_endproc\n", i % 5 ? i % 40 + 1 : i);
	}
	fclose(f);
	shell_do("gcc -shared -nostdlib -o %s %s", path, source);
}

START_TEST(same_in_the_kernel)
{
	struct kernel k = { 0 };
	char dir[32], many[64];

	T_NEEDS_BPF();
	kernel_open(&k);
	temp_dir(dir);
	snprintf(many, sizeof many, "%s/many.so", dir);
	make_many_rules(many);
	char *libc = shell(
		"ldd /bin/true | sed -n 's,.* \\(/[^ ]*libc.so[^ ]*\\).*,\\1,p' | tr -d '\\n'");
	char *largest = largest_library();
	check_file(&k, libc);
	ck_assert_uint_gt(check_file(&k, many), 100);
	check_file(&k, largest);
	shell_do("rm -rf %s", dir);
	free(libc);
	free(largest);
	kernel_close(&k);
}
END_TEST

UNIT_MAIN("kernel_lookup", same_in_the_kernel)
