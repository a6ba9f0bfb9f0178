// tier: test
#include "shell.h"

#include "base/err.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <errno.h>

/* The amount read is too much as soon as there is a stack. */
static uint64_t much_with_a_stack(const struct sink *s)
{
	const struct profile *p = (const struct profile *)s;
	return p->stacks.stacks.n > 1 ? FORMAT_MAX_KEPT_BYTES + 1 : 0;
}

/* 3 MB of different stacks, as folded text. */
static void write_stacks(const char *path)
{
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 100000; i++)
		fprintf(f, "main;step_%d;work_%d;leaf_%d 1\n", i % 10, i % 1000, i);
	ck_assert_int_eq(fclose(f), 0);
}

static struct profile *profile_of_path(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	ck_assert_msg(format_read_file(path, NULL, profile_sink(p), &err) == 0, "%s", err.text);
	return p;
}

/* Text may be endless. */
START_TEST(reading_stops_at_the_memory_limit)
{
	static const char *const names[] = { "folded", "perf-script" };
	struct err err = { 0 };
	char dir[32], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/stacks", dir);
	write_stacks(path);
	struct profile *p = profile_of_path(path);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct format *f = format_by_name(names[i]);
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		struct format_write_opts opts = { 0 };
		ck_assert_msg(format_write_file(f, p, &opts, path, &err) == 0, "%s", err.text);
		struct profile *all = profile_of_path(path), *part = profile_new();
		ck_assert_uint_eq(all->stacks.stacks.n, p->stacks.stacks.n);
		struct sink_ops ops = *part->sink.ops;
		ops.kept_bytes = much_with_a_stack;
		part->sink.ops = &ops;
		ck_assert_int_eq(format_read_file(path, NULL, profile_sink(part), &err), -EFBIG);
		ck_assert_msg(strstr(err.text, "4 GiB") != NULL, "%s", err.text);
		ck_assert_uint_lt(part->stacks.stacks.n, p->stacks.stacks.n / 2);
		profile_free(all);
		profile_free(part);
	}
	profile_free(p);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* The figure is that of the tables: it grows with different content, not with the number of samples. */
START_TEST(memory_counts_distinct_data)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint64_t empty = s->ops->kept_bytes(s);
	ck_assert_uint_lt(empty, 64 << 10);
	profile_free(p);
	char dir[32], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/stacks", dir);
	write_stacks(path);
	p = profile_of_path(path);
	s = profile_sink(p);
	uint64_t once = s->ops->kept_bytes(s);
	ck_assert_uint_gt(once, 100000 * (sizeof(struct stack) + sizeof(struct frame)));
	struct err err = { 0 };
	ck_assert_int_eq(format_read_file(path, NULL, s, &err), 0);
	ck_assert_uint_eq(p->samples.n, 200000);
	ck_assert_uint_eq(s->ops->kept_bytes(s), once);
	profile_free(p);
	shell_do("rm -rf %s", dir);
}
END_TEST

UNIT_MAIN("kept", reading_stops_at_the_memory_limit, memory_counts_distinct_data)
