// tier: test
/* Debug files from a server on this machine that does what servers should do, and everything they should not. */
#include "base/cache_dir.h"
#include "base/clock.h"
#include "debug_server.h"
#include "symbol/debuginfod.h"
#include "symbol/symbol.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	char dir[32];
	struct debug_server server;
	int cache;
	uint8_t id[64];
	size_t id_len;
};

/* The requested file is this program itself. */
static void world_open(struct world *w)
{
	temp_dir(w->dir);
	int fd = file_open("/proc/self/exe");
	w->id_len = elf_build_id(fd, w->id, sizeof w->id);
	ck_assert_int_ge(w->id_len, 8);
	close(fd);
	debug_server_start(&w->server, w->dir, "/proc/self/exe");
	shell_do("cp /bin/true %s/other", w->dir);
	struct err err = { 0 };
	char root[64];
	snprintf(root, sizeof root, "%s/cache", w->dir);
	w->cache = cache_dir_open(root, "debuginfo", &err);
	ck_assert_msg(w->cache >= 0, "%s", err.text);
}

static void world_close(struct world *w)
{
	debug_server_stop(&w->server);
	close(w->cache);
	shell_do("rm -r %s", w->dir);
}

/* Each word of modes is a server. */
static struct debuginfod *client_of(struct world *w, const char *modes)
{
	char urls[512] = "", words[128], *save;
	snprintf(words, sizeof words, "%s", modes);
	for (char *m = strtok_r(words, " ", &save); m; m = strtok_r(NULL, " ", &save)) {
		size_t n = strlen(urls);
		snprintf(urls + n, sizeof urls - n, "http://127.0.0.1:%d/%s ", w->server.port, m);
	}
	struct debuginfod_opts opts = {
		.urls = urls,
		.cache_dir = w->cache,
		.stall_s = 2,
		.total_s = 5,
		.max_bytes = 64 << 20,
	};
	return debuginfod_new(&opts);
}

static unsigned requests(const struct world *w)
{
	char *n = shell("cat %s/log 2>/dev/null | wc -l", w->dir);
	unsigned count = atoi(n);
	free(n);
	return count;
}

static unsigned files_in_cache(const struct world *w)
{
	char *n = shell("find %s/cache/debuginfo -type f | wc -l", w->dir);
	unsigned count = atoi(n);
	free(n);
	return count;
}

START_TEST(off_by_default)
{
	struct debuginfod_opts none = { 0 }, empty = { .urls = "" }, blank = { .urls = " \t" };
	ck_assert_ptr_null(debuginfod_new(&none));
	ck_assert_ptr_null(debuginfod_new(&empty));
	ck_assert_ptr_null(debuginfod_new(&blank));
}
END_TEST

static void same_as_self(int fd)
{
	struct stat a, b;
	ck_assert_int_eq(fstat(fd, &a), 0);
	ck_assert_int_eq(stat("/proc/self/exe", &b), 0);
	ck_assert_int_eq(a.st_size, b.st_size);
	shell_do("cmp /proc/%d/fd/%d /proc/%d/exe", getpid(), fd, getpid());
	close(fd);
}

START_TEST(a_file_is_fetched_once)
{
	static const char *const ways[] = { "good", "moved", "none good",
					    "broken other text good" };
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct world w;
		world_open(&w);
		struct debuginfod *d = client_of(&w, ways[i]);
		int fd = debuginfod_find(d, w.id, w.id_len);
		ck_assert_msg(fd >= 0, "%s: %s", ways[i], debuginfod_stats(d)->first.text);
		same_as_self(fd);
		ck_assert_uint_eq(debuginfod_stats(d)->downloaded, 1);
		ck_assert_uint_eq(files_in_cache(&w), 1);
		unsigned before = requests(&w);
		same_as_self(debuginfod_find(d, w.id, w.id_len));
		debuginfod_free(d);
		d = client_of(&w, "none");
		same_as_self(debuginfod_find(d, w.id, w.id_len));
		ck_assert_uint_eq(requests(&w), before);
		debuginfod_free(d);
		world_close(&w);
	}
}
END_TEST

/* A cached file that does not match its name is fetched again. */
START_TEST(a_damaged_cache_heals)
{
	struct world w;
	world_open(&w);
	struct debuginfod *d = client_of(&w, "good");
	close(debuginfod_find(d, w.id, w.id_len));
	shell_do("for f in $(find %s/cache -name '*.debug'); do echo nonsense >$f; done", w.dir);
	same_as_self(debuginfod_find(d, w.id, w.id_len));
	ck_assert_uint_eq(requests(&w), 2);
	debuginfod_free(d);
	world_close(&w);
}
END_TEST

START_TEST(no_is_remembered)
{
	struct world w;
	world_open(&w);
	struct debuginfod *d = client_of(&w, "none");
	ck_assert(!debuginfod_has_none(d, w.id, w.id_len));
	ck_assert_int_eq(debuginfod_find(d, w.id, w.id_len), -1);
	ck_assert_int_eq(debuginfod_find(d, w.id, w.id_len), -1);
	ck_assert(debuginfod_has_none(d, w.id, w.id_len));
	ck_assert_uint_eq(requests(&w), 1);
	ck_assert_uint_eq(debuginfod_stats(d)->failed, 0);
	debuginfod_free(d);
	/* That server's no; another server is asked. */
	d = client_of(&w, "good");
	same_as_self(debuginfod_find(d, w.id, w.id_len));
	debuginfod_free(d);
	/* The no is valid for a day. */
	shell_do("rm $(find %s/cache -name '*.debug')", w.dir);
	d = client_of(&w, "none");
	ck_assert(debuginfod_has_none(d, w.id, w.id_len));
	shell_do("touch -d '25 hours ago' $(find %s/cache -name '*.none')", w.dir);
	ck_assert(!debuginfod_has_none(d, w.id, w.id_len));
	debuginfod_free(d);
	world_close(&w);
}
END_TEST

/* Each of them costs one request and a bounded time, leaves nothing behind, and is not asked again; none of these answers counts as a no. */
START_TEST(hostile_servers_cost_little)
{
	static const char *const modes[] = { "broken", "other",   "text",    "cut",
					     "silent", "drip",    "headers", "file",
					     "big",    "endless", "loop" };
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		struct world w;
		world_open(&w);
		struct debuginfod *d = client_of(&w, modes[i]);
		uint64_t start_ns = clock_mono_ns();
		ck_assert_msg(debuginfod_find(d, w.id, w.id_len) == -1, "%s", modes[i]);
		unsigned asked = requests(&w);
		ck_assert_int_eq(debuginfod_find(d, w.id, w.id_len), -1);
		ck_assert_msg(clock_mono_ns() - start_ns < t_slow_ns(8000000000), "%s took long",
			      modes[i]);
		ck_assert_uint_eq(requests(&w), asked);
		ck_assert_uint_le(asked, strcmp(modes[i], "loop") ? 1 : 6);
		ck_assert_uint_eq(debuginfod_stats(d)->downloaded, 0);
		ck_assert_uint_eq(debuginfod_stats(d)->failed, 2);
		ck_assert_msg(*debuginfod_stats(d)->first.text, "%s", modes[i]);
		ck_assert_msg(files_in_cache(&w) == 0, "%s left a file", modes[i]);
		ck_assert(!debuginfod_has_none(d, w.id, w.id_len));
		debuginfod_free(d);
		world_close(&w);
	}
}
END_TEST

/* Ten silent servers cost the time of one budget, not ten times a time-out. */
START_TEST(all_together_have_one_budget)
{
	struct world w;
	world_open(&w);
	struct debuginfod *d = client_of(&w, "silent silent silent silent silent silent");
	uint64_t start_ns = clock_mono_ns();
	ck_assert_int_eq(debuginfod_find(d, w.id, w.id_len), -1);
	ck_assert_uint_lt(clock_mono_ns() - start_ns, t_slow_ns(8000000000));
	debuginfod_free(d);
	world_close(&w);
}
END_TEST

START_TEST(odd_addresses)
{
	struct world w;
	world_open(&w);
	static const char *const urls[] = { "http://127.0.0.1:1/",
					    "file:///etc",
					    "ftp://127.0.0.1",
					    "http://[::1",
					    "nonsense",
					    "http://",
					    "http://no.such.host.invalid/" };
	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		struct debuginfod_opts opts = { .urls = urls[i],
						.cache_dir = w.cache,
						.total_s = 5 };
		struct debuginfod *d = debuginfod_new(&opts);
		ck_assert_int_eq(debuginfod_find(d, w.id, w.id_len), -1);
		ck_assert_uint_eq(debuginfod_stats(d)->failed, 1);
		ck_assert_uint_eq(files_in_cache(&w), 0);
		/* Build ids that identify nothing. */
		ck_assert_int_eq(debuginfod_find(d, w.id, 0), -1);
		ck_assert_int_eq(debuginfod_find(d, w.id, 4), -1);
		debuginfod_free(d);
	}
	world_close(&w);
}
END_TEST

UNIT_MAIN("debuginfod", off_by_default, a_file_is_fetched_once, a_damaged_cache_heals,
	  no_is_remembered, hostile_servers_cost_little, all_together_have_one_budget,
	  odd_addresses)
