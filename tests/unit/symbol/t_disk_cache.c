// tier: test
/* Names on disk: what comes back equals what was looked up, and only while there is nothing better. */
#include "base/cache_dir.h"
#include "base/fs.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/process/elf_names.h"
#include "debug_server.h"
#include "symbol/disk_cache.h"

#include <errno.h>
#include <sys/stat.h>

/* --- the file --------------------------------------------------------------------------------------------------------- */

static const struct symbol_line chain[] = {
	{ .name = "inner()", .linkage = "_Z5innerv", .file = "a.cc", .line = 7, .start_line = 5 },
	{ .name = "middle",
	  .linkage = "middle",
	  .file = "b.c",
	  .line = 1000000,
	  .start_line = 900 },
	{ .name = "outer\xff\n;", .linkage = "outer", .line = 0, .start_line = 0 },
};

static void make(struct buf *b)
{
	struct names_maker m;
	names_maker_init(&m);
	ck_assert(names_maker_witness(&m, 11));
	ck_assert(names_maker_witness(&m, 22));
	ck_assert(names_maker_witness(&m, 11));
	ck_assert(names_maker_add(&m, 0x9000, chain, 3, "dwarf"));
	ck_assert(names_maker_add(&m, UINT64_MAX, chain + 1, 1, ".symtab"));
	ck_assert(names_maker_add(&m, 0, NULL, 0, ""));
	ck_assert(names_maker_add(&m, 0x9000, chain, 1, ".dynsym")); /* too late */
	names_maker_write(&m, b);
	names_maker_done(&m);
}

START_TEST(round_trip)
{
	struct buf b = { 0 };
	struct names_file f;
	struct symbol_line out[3];
	const char *origin;
	uint32_t n;
	make(&b);
	ck_assert_int_eq(names_file_parse(b.data, b.len, &f), 0);
	ck_assert_uint_eq(f.n_offsets, 3);
	ck_assert(names_file_has_witness(&f, 11) && names_file_has_witness(&f, 22));
	ck_assert(!names_file_has_witness(&f, 0));
	ck_assert(names_file_get(&f, 0x9000, out, 3, &n, &origin));
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(origin, "dwarf");
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(out[i].name, chain[i].name);
		ck_assert_str_eq(out[i].linkage, chain[i].linkage);
		ck_assert_uint_eq(out[i].line, chain[i].line);
		ck_assert_uint_eq(out[i].start_line, chain[i].start_line);
		if (chain[i].file)
			ck_assert_str_eq(out[i].file, chain[i].file);
		else
			ck_assert_ptr_null(out[i].file);
	}
	ck_assert(names_file_get(&f, 0x9000, out, 2, &n, &origin));
	ck_assert_uint_eq(n, 2);
	ck_assert(names_file_get(&f, UINT64_MAX, out, 3, &n, &origin));
	ck_assert_str_eq(origin, ".symtab");
	ck_assert(names_file_get(&f, 0, out, 3, &n, &origin));
	ck_assert_uint_eq(n, 0);
	ck_assert(!names_file_get(&f, 1, out, 3, &n, &origin));
	/* Adding a file to an empty one reproduces it. */
	struct names_maker m;
	struct buf again = { 0 };
	names_maker_init(&m);
	names_maker_add_file(&m, &f);
	names_maker_write(&m, &again);
	ck_assert_int_eq(names_file_parse(again.data, again.len, &f), 0);
	ck_assert_uint_eq(f.n_offsets, 3);
	ck_assert(names_file_get(&f, 0x9000, out, 3, &n, &origin));
	ck_assert_uint_eq(n, 3);
	names_maker_done(&m);
	buf_done(&again);
	buf_done(&b);
}
END_TEST

/* Every truncation and every flipped bit is noticed. */
START_TEST(damage_is_noticed)
{
	struct buf b = { 0 };
	struct names_file f;
	make(&b);
	ck_assert_int_eq(names_file_parse(NULL, 0, &f), -EBADMSG);
	for (size_t len = 0; len < b.len; len++)
		ck_assert_int_eq(names_file_parse(b.data, len, &f), -EBADMSG);
	for (size_t bit = 0; bit < 8 * b.len; bit++) {
		b.data[bit / 8] ^= 1 << bit % 8;
		ck_assert_int_eq(names_file_parse(b.data, b.len, &f), -EBADMSG);
		b.data[bit / 8] ^= 1 << bit % 8;
	}
	buf_addc(&b, 0);
	ck_assert_int_eq(names_file_parse(b.data, b.len, &f), -EBADMSG);
	buf_done(&b);
}
END_TEST

START_TEST(a_file_has_an_end)
{
	struct names_maker m;
	char name[60000];
	struct symbol_line line = { .name = name, .linkage = name };
	struct buf b = { 0 };
	struct names_file f;
	uint64_t n = 0;
	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = '\0';
	names_maker_init(&m);
	do
		snprintf(name, 20, "%019lu", (unsigned long)n);
	while (name[19] = 'x', n++ < 1 << 20 && names_maker_add(&m, n, &line, 1, "x"));
	ck_assert_uint_gt(n, 500);
	ck_assert_uint_lt(n, 2000);
	names_maker_write(&m, &b);
	ck_assert_uint_le(b.len, NAMES_FILE_MAX_BYTES);
	ck_assert_int_eq(names_file_parse(b.data, b.len, &f), 0);
	buf_done(&b);
	names_maker_done(&m);
	names_maker_init(&m);
	for (int i = 0; i < NAMES_FILE_MAX_WITNESSES; i++)
		ck_assert(names_maker_witness(&m, i));
	ck_assert(!names_maker_witness(&m, 1 << 20));
	for (int i = 0; i < NAMES_FILE_MAX_ORIGINS; i++) {
		snprintf(name, sizeof name, "%d", i);
		ck_assert(names_maker_add(&m, i, &line, 1, name));
	}
	ck_assert(!names_maker_add(&m, 100, &line, 1, "one more"));
	ck_assert(!names_maker_add(&m, 100, &line, NAMES_FILE_MAX_LINES + 1, "1"));
	names_maker_done(&m);
}
END_TEST

/* --- the source ------------------------------------------------------------------------------------------------------- */

/* This program, stripped, and its debug file, in a directory. */
struct world {
	char dir[32], file[64], cache[64];
	struct name_files_opts opts;
};

static void world_open(struct world *w)
{
	temp_dir(w->dir);
	snprintf(w->file, sizeof w->file, "%s/linked", w->dir);
	snprintf(w->cache, sizeof w->cache, "%s/cache", w->dir);
	w->opts = (struct name_files_opts){ .cache_dir = w->cache };
	shell_do("cp /proc/%d/exe %s/full && cd %s && objcopy --only-keep-debug full hidden && "
		 "objcopy --strip-all full linked && cp hidden linked.debug && "
		 "objcopy --add-gnu-debuglink=linked.debug linked && rm linked.debug",
		 getpid(), w->dir, w->dir);
}

static void world_close(struct world *w)
{
	shell_do("rm -r %s", w->dir);
}

struct answer {
	char name[200], origin[20]; /* "": none */
};
enum { ANSWERS = 500 };

/* The names of 500 addresses all over the file; *opened: whether its symbols were read. */
static void ask_file(struct world *w, const char *path, struct answer *answers, bool *opened)
{
	struct name_files files;
	struct elf_names names;
	struct stat st;
	int fd = file_open(path);
	ck_assert_int_eq(fstat(fd, &st), 0);
	name_files_open(&files, &w->opts);
	ck_assert_int_eq(elf_names_open(&names, &files, fd, path, 0), 0);
	for (int i = 0; i < ANSWERS; i++) {
		struct symbol_line l[4];
		uint32_t n = symbol_lines(names.source, st.st_size / ANSWERS * i, l, 4);
		snprintf(answers[i].name, sizeof answers[i].name, "%s", n ? l[0].name : "");
		snprintf(answers[i].origin, sizeof answers[i].origin, "%s",
			 n ? names.source->origin : "");
	}
	files.kept_names = false;
	elf_names_close(&names);
	*opened = files.kept_names;
	name_files_close(&files);
	close(fd);
}

static bool ask(struct world *w, struct answer *answers)
{
	bool opened;
	ask_file(w, w->file, answers, &opened);
	return opened;
}

static void same(struct answer *a, struct answer *b)
{
	for (int i = 0; i < ANSWERS; i++) {
		ck_assert_str_eq(a[i].name, b[i].name);
		ck_assert_str_eq(a[i].origin, b[i].origin);
	}
}

static unsigned from(const struct answer *a, const char *origin)
{
	unsigned n = 0;
	for (int i = 0; i < ANSWERS; i++)
		n += strcmp(a[i].origin, origin) == 0;
	return n;
}

START_TEST(the_second_time_comes_from_disk)
{
	struct world w;
	struct answer first[ANSWERS], second[ANSWERS];
	world_open(&w);
	shell_do("cp %s/full %s", w.dir, w.file);
	ck_assert(ask(&w, first));
	ck_assert_uint_gt(from(first, "DWARF") + from(first, ".symtab"), ANSWERS / 10);
	ck_assert(!ask(&w, second));
	same(first, second);
	/* Another file with the same build id has its own names. */
	shell_do("cd %s && objcopy --strip-all full linked", w.dir);
	ck_assert(ask(&w, second));
	ck_assert_uint_lt(from(second, "DWARF"), from(first, "DWARF"));
	/* Nothing is kept without a directory. */
	w.opts.cache_dir = NULL;
	shell_do("cp %s/full %s", w.dir, w.file);
	ck_assert(!ask(&w, second));
	same(first, second);
	world_close(&w);
}
END_TEST

/* A package with debug files is installed, and removed again. */
START_TEST(better_files_are_noticed)
{
	struct world w;
	struct answer bare[ANSWERS], good[ANSWERS], again[ANSWERS];
	world_open(&w);
	ck_assert(ask(&w, bare));
	ck_assert(!ask(&w, again));
	same(bare, again);
	shell_do("cp %s/hidden %s/linked.debug", w.dir, w.dir);
	ck_assert(ask(&w, good));
	ck_assert_uint_gt(from(good, "debug file"), from(bare, ".dynsym"));
	ck_assert(!ask(&w, again));
	same(good, again);
	/* A file that does not match is examined once. */
	shell_do("mkdir %s/.debug && cp /bin/true %s/.debug/linked.debug", w.dir, w.dir);
	ck_assert(ask(&w, again));
	same(good, again);
	ck_assert(!ask(&w, again));
	/* Names outlive the file they came from. */
	shell_do("rm -r %s/linked.debug %s/.debug", w.dir, w.dir);
	ck_assert(!ask(&w, again));
	same(good, again);
	world_close(&w);
}
END_TEST

START_TEST(servers_are_queried_once)
{
	struct world w;
	struct debug_server server;
	struct answer bare[ANSWERS], good[ANSWERS], again[ANSWERS];
	char urls[64];
	world_open(&w);
	ck_assert(ask(&w, bare));
	shell_do("mkdir %s/served", w.dir);
	char served[64], hidden[64];
	snprintf(served, sizeof served, "%s/served", w.dir);
	snprintf(hidden, sizeof hidden, "%s/hidden", w.dir);
	debug_server_start(&server, served, hidden);
	/* A server that fails is asked again in the next run. */
	w.opts.debuginfod.urls = urls;
	snprintf(urls, sizeof urls, "http://127.0.0.1:%d/broken", server.port);
	for (int i = 0; i < 2; i++) {
		ck_assert(ask(&w, again));
		same(bare, again);
	}
	shell_do("test $(wc -l <%s/log) = 2", served);
	/* One that says no is not asked again. */
	snprintf(urls, sizeof urls, "http://127.0.0.1:%d/none", server.port);
	for (int i = 0; i < 2; i++) {
		ck_assert(ask(&w, again) == (i == 0));
		same(bare, again);
	}
	shell_do("test $(wc -l <%s/log) = 3", served);
	snprintf(urls, sizeof urls, "http://127.0.0.1:%d/good", server.port);
	for (int i = 0; i < 2; i++)
		ck_assert(ask(&w, i ? again : good) == (i == 0));
	same(good, again);
	ck_assert_uint_gt(from(good, "debug file"), from(bare, ".dynsym"));
	shell_do("test $(wc -l <%s/log) = 4", served);
	/* A fetched file is used without a server, too. */
	debug_server_stop(&server);
	ck_assert(!ask(&w, again));
	w.opts.debuginfod.urls = NULL;
	ck_assert(!ask(&w, again));
	same(good, again);
	/* A program with its own symbols needs none of it. */
	shell_do("rm -r %s/debuginfo && cp %s/full %s", w.cache, w.dir, w.file);
	w.opts.debuginfod.urls = urls;
	for (int i = 0; i < 2; i++)
		ck_assert(ask(&w, again) == (i == 0));
	ck_assert_uint_gt(from(again, "DWARF") + from(again, ".symtab"), ANSWERS / 10);
	world_close(&w);
}
END_TEST

START_TEST(damaged_files_are_replaced)
{
	static const char *const damages[] = {
		"truncate -s 100",           "truncate -s 0",           "chmod o+w",
		"sed -i s/CRNAMES/XXNAMES/", "sed -i s/symtab/smytab/", "truncate -s 1G"
	};
	struct world w;
	struct answer first[ANSWERS], second[ANSWERS];
	world_open(&w);
	shell_do("cp %s/full %s", w.dir, w.file);
	ck_assert(ask(&w, first));
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		shell_do("%s $(find %s/names -type f)", damages[i], w.cache);
		ck_assert_msg(ask(&w, second), "%s", damages[i]);
		same(first, second);
		ck_assert_msg(!ask(&w, second), "%s", damages[i]);
		same(first, second);
	}
	world_close(&w);
}
END_TEST

UNIT_MAIN("disk_cache", round_trip, damage_is_noticed, a_file_has_an_end,
	  the_second_time_comes_from_disk, better_files_are_noticed, servers_are_queried_once,
	  damaged_files_are_replaced)
