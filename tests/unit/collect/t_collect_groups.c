// tier: test
/* A group of programs that the kernel refuses costs only its own feature, and is reported. Refusals are real: the programs are relocated by types
 * with a changed name, and the verifier's are for programs that read invalid memory. */
#include "unit.h"

#include "base/fs.h"
#include "collect/collect.h"
#include "collect/kernel/load.h"
#include "collect/kernel/missing.h"
#include "collect/kernel/sampler_opts.h"
#include "may_bpf.h"
#include "profile/profile.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Writes the running kernel's types to a file, with the last letter of a name changed. Returns the file's name, which the caller frees. */
static char *types_without(const char *name)
{
	struct buf b = { 0 };
	char path[] = "/tmp/cresset-btf.XXXXXX";
	int fd = mkstemp(path);
	size_t len = strlen(name) + 1, found = 0;

	ck_assert_int_eq(fs_read_at(AT_FDCWD, "/sys/kernel/btf/vmlinux", 64 << 20, &b, NULL), 0);
	for (size_t i = 1; i + len <= b.len; i++)
		if (!b.data[i - 1] && !memcmp(b.data + i, name, len)) {
			b.data[i + len - 2] = '~';
			found++;
		}
	ck_assert_uint_gt(found, 0);
	ck_assert_int_eq(write(fd, b.data, b.len), (ssize_t)b.len);
	close(fd);
	buf_done(&b);
	return strdup(path);
}

static struct profile *profile;
static struct collector *collector;
static struct err err;

#define NEEDS_ROOT() \
	if (!may_load_bpf()) \
	T_SKIP("needs root, and a kernel that takes BPF programs")

static struct bpf_object *open_refused(void)
{
	const char *build = getenv("BUILD");
	char path[256];

	snprintf(path, sizeof path, "%s/unit/refused.bpf.o", build ? build : "build");
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	ck_assert_ptr_nonnull(obj);
	return obj;
}

static int open_with(struct sampler_opts asked)
{
	const struct collect_opts opts = { .sampler = asked };

	profile = profile_new();
	err = (struct err){ 0 };
	int rc = collect_open(&opts, profile_sink(profile), &collector, &err);
	if (rc == 0)
		ck_assert_msg(collect_start(collector, &err) == 0, "%s", err.text);
	return rc;
}

static void done(void)
{
	collect_free(collector);
	collector = NULL;
	profile_free(profile);
}

/* Only that group is missing. */
static void check_missing(enum collect_group group, const char *why)
{
	const struct collect_missing *missing;

	ck_assert_uint_eq(collect_get_missing(collector, &missing), 1);
	ck_assert_int_eq(missing[0].group, group);
	ck_assert_msg(strstr(missing[0].why, why), "'%s' does not say '%s'", missing[0].why, why);
}

START_TEST(nothing_is_missing)
{
	NEEDS_ROOT();
	const struct collect_missing *missing;

	ck_assert_int_eq(open_with((struct sampler_opts){ .events = COLLECT_CPU | COLLECT_OFF_CPU,
							  .waits.wakers = true }),
			 0);
	ck_assert_uint_eq(collect_get_missing(collector, &missing), 0);
	done();
}
END_TEST

/* A feature needed only by waits costs only waits: the CPU is recorded. */
START_TEST(waits_are_missing)
{
	NEEDS_ROOT();
	char *types = types_without("run_delay");
	struct collect_stats stats;

	ck_assert_int_eq(open_with((struct sampler_opts){ .events = COLLECT_CPU | COLLECT_OFF_CPU,
							  .waits.wakers = true,
							  .kernel.btf_file = types }),
			 0);
	check_missing(GROUP_WAITS, "sched_info.run_delay");
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(collect_run(collector, 20, &err), 0);
	ck_assert_int_eq(collect_stop(collector, &err), 0);
	collect_get_stats(collector, &stats);
	ck_assert_ptr_null(stats.wait_hook);
	ck_assert_uint_eq(stats.waits, 0);
	ck_assert_uint_eq(profile->series.types.n, 1);
	done();
	unlink(types);
	free(types);
}
END_TEST

START_TEST(wakers_are_missing)
{
	NEEDS_ROOT();
	char *types = types_without("btf_trace_sched_waking");

	ck_assert_int_eq(open_with((struct sampler_opts){ .events = COLLECT_OFF_CPU,
							  .waits.wakers = true,
							  .kernel.btf_file = types }),
			 0);
	check_missing(GROUP_WAKERS, "sched_waking");
	done();
	unlink(types);
	free(types);
}
END_TEST

/* Nothing else was requested. */
START_TEST(nothing_is_left)
{
	NEEDS_ROOT();
	char *types = types_without("run_delay");

	ck_assert_int_eq(open_with((struct sampler_opts){ .events = COLLECT_OFF_CPU,
							  .kernel.btf_file = types }),
			 -EOPNOTSUPP);
	ck_assert_msg(strstr(err.text, "run_delay"), "%s", err.text);
	done();
	unlink(types);
	free(types);
}
END_TEST

/* A feature needed by every program costs all. */
START_TEST(base_is_missing)
{
	NEEDS_ROOT();
	char *types = types_without("map_count");

	ck_assert_int_eq(open_with((struct sampler_opts){ .events = COLLECT_CPU | COLLECT_OFF_CPU,
							  .kernel.btf_file = types }),
			 -EOPNOTSUPP);
	ck_assert_msg(strstr(err.text, "map_count"), "%s", err.text);
	done();
	unlink(types);
	free(types);
}
END_TEST

/* A program refused by the verifier is found among others, with its log. */
START_TEST(the_verifier_refuses)
{
	char program[32], *log;

	NEEDS_ROOT();
	struct bpf_object *obj = open_refused();
	ck_assert_int_ne(load_object(obj, NULL, program, sizeof program), 0);
	ck_assert_str_eq(program, "reads_anywhere");
	bpf_object__close(obj);
	obj = open_refused();
	ck_assert_int_eq(load_alone(obj, program, &log), -EACCES);
	ck_assert_msg(strstr(log, "invalid mem access"), "%s", log);
	free(log);
	bpf_object__close(obj);
	obj = open_refused();
	ck_assert_int_eq(load_alone(obj, "reads_nothing", &log), 0);
	ck_assert_ptr_null(log);
	bpf_object__close(obj);
	obj = open_refused();
	ck_assert_int_eq(load_alone(obj, "is_not_there", &log), -ENOENT);
	bpf_object__close(obj);
}
END_TEST

UNIT_MAIN("collect_groups", nothing_is_missing, waits_are_missing, wakers_are_missing,
	  nothing_is_left, base_is_missing, the_verifier_refuses)
