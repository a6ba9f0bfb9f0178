// tier: test
/* Stored types that lack what the kernel has (collect/kernel/types_part.c): all types of the kernel are read before anything is reported or left out. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/types_part.h"
#include "may_bpf.h"
#include "unit.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
/* Numbers of the file's header, after the magic. */
enum { NEEDS = 1, WHOLE_BYTES, SUM, HEADER = 4 * 8 };

static char dir[64];

static void stored_path(char *path, size_t size)
{
	struct types_part t;
	char pattern[128];
	glob_t files;

	types_part_open(&t, dir);
	ck_assert_str_ne(t.path, "");
	types_part_close(&t);
	snprintf(pattern, sizeof pattern, "%s/kernel-types/*/*", dir);
	ck_assert_int_eq(glob(pattern, 0, NULL, &files), 0);
	ck_assert_uint_eq(files.gl_pathc, 1);
	snprintf(path, size, "%s", files.gl_pathv[0]);
	globfree(&files);
}

static void get_stored(struct buf *b)
{
	char path[256];

	stored_path(path, sizeof path);
	ck_assert_int_eq(fs_read_at(AT_FDCWD, path, 1 << 24, b, NULL), 0);
	ck_assert_uint_gt(b->len, HEADER);
}

/* Puts the sum right, so that the file is taken for a good one. */
static void put_stored(struct buf *b)
{
	uint64_t words[HEADER / 8];
	char path[256];

	stored_path(path, sizeof path);
	memcpy(words, b->data, HEADER);
	words[SUM] = hash_mix(hash_mix(words[NEEDS], words[WHOLE_BYTES]),
			      hash_bytes(b->data + HEADER, b->len - HEADER));
	memcpy(b->data, words, HEADER);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_eq(write(fd, b->data, b->len), b->len);
	close(fd);
}

static void store_nothing(void)
{
	struct btf *empty = btf__new_empty();
	struct buf b = { 0 };
	__u32 len;
	const void *types = btf__raw_data(empty, &len);

	get_stored(&b);
	b.len = HEADER;
	buf_add(&b, types, len);
	put_stored(&b);
	buf_done(&b);
	btf__free(empty);
}

static void store_without(const char *name)
{
	struct buf b = { 0 };

	get_stored(&b);
	char *at = memmem(b.data, b.len, name, strlen(name) + 1);
	ck_assert_ptr_nonnull(at);
	*at = 'X';
	put_stored(&b);
	buf_done(&b);
}

struct seen {
	struct kernel_features kernel;
	size_t n_missing;
};

static struct seen open_with(const char *cache)
{
	uint32_t self = getpid();
	struct sampler_opts opts = { .target = TARGET_PID,
				     .ids = &self,
				     .n_ids = 1,
				     .events = COLLECT_CPU | COLLECT_OFF_CPU,
				     .kernel = { .types_cache = cache } };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct sampler *sampler;
	const struct collect_missing *missing;
	struct err err = { 0 };
	struct seen seen;

	sampler_opts_settle(&opts);
	ck_assert_msg(sampler_open(&opts, epoll_fd, 1, &sampler, &err) == 0, "%s", err.text);
	seen.kernel = *sampler_kernel(sampler);
	seen.n_missing = sampler_get_missing(sampler, &missing);
	sampler_close(sampler);
	close(epoll_fd);
	return seen;
}

static void is_as_without_cache(void)
{
	struct seen truth = open_with(NULL), seen = open_with(dir);

	ck_assert_uint_eq(seen.kernel.has, truth.kernel.has);
	for (int g = 0; g <= COLLECT_GROUPS; g++)
		ck_assert_str_eq(seen.kernel.why_not[g], truth.kernel.why_not[g]);
	ck_assert_uint_eq(seen.n_missing, truth.n_missing);
}

START_TEST(stored_types_have_no_last_word)
{
	char command[128];

	T_NEEDS_BPF();
	if (access(KERNEL_BTF, R_OK) || access("/sys/kernel/notes", R_OK))
		T_SKIP("no " KERNEL_BTF " or /sys/kernel/notes");
	snprintf(dir, sizeof dir, "/tmp/types-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	is_as_without_cache();
	store_without("run_delay"); /* of waits */
	is_as_without_cache();
	store_nothing();
	is_as_without_cache();
	snprintf(command, sizeof command, "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

UNIT_MAIN("types_part", stored_types_have_no_last_word)
