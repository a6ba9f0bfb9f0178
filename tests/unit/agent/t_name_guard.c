// tier: test
/* A file that crashes the processes reading it is left alone after some of them, and other files are not. */
#include "unit.h"

#include "agent/name_guard.h"
#include "agent/name_queue.h"
#include "collect/kernel/sampler_opts.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct name_guard *guard_new(void)
{
	struct name_guard *g = NULL;

	ck_assert_int_eq(name_guard_new(&g, NULL), 0);
	return g;
}

/* In a separate process, as for reading names. */
static void read_one(struct name_guard *g, uint64_t key, bool dies)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		name_guard_look(g);
		if (name_guard_allows(g, key)) {
			name_guard_begin(g, key);
			if (dies)
				_exit(1);
			name_guard_end(g);
		}
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

START_TEST(files_that_crash_processes_are_skipped)
{
	struct name_guard *g = guard_new();

	for (uint32_t i = 1; i <= 5; i++) {
		read_one(g, 7, true);
		read_one(g, 8, false);
		ck_assert_uint_eq(name_guard_ends(g, 7), i < NAME_GUARD_ENDS ? i : NAME_GUARD_ENDS);
	}
	ck_assert(!name_guard_allows(g, 7));
	ck_assert(name_guard_allows(g, 8));
	ck_assert_uint_eq(name_guard_look(g), 1);
	ck_assert_uint_eq(name_guard_left_alone(g), 1);
	ck_assert_uint_eq(name_guard_left_alone(NULL), 0);
	name_guard_free(g);
}
END_TEST

START_TEST(one_that_reads_well_starts_over)
{
	struct name_guard *g = guard_new();

	for (int i = 0; i < 5; i++) {
		read_one(g, 7, true);
		read_one(g, 7, true);
		read_one(g, 7, false);
		ck_assert_uint_eq(name_guard_ends(g, 7), 0);
	}
	name_guard_free(g);
}
END_TEST

START_TEST(many_files_fit)
{
	struct name_guard *g = guard_new();

	for (uint64_t key = 1; key <= 1000; key++) {
		name_guard_begin(g, key);
		ck_assert_uint_eq(name_guard_look(g), 0);
		ck_assert_uint_eq(name_guard_ends(g, key), 1);
	}
	ck_assert_uint_eq(name_guard_ends(g, 1000 - NAME_GUARD_FILES), 0);
	ck_assert_uint_eq(name_guard_look(NULL), 0);
	ck_assert(name_guard_allows(NULL, 1));
	name_guard_free(g);
}
END_TEST

/* --- in naming -------------------------------------------------------------------------------- */

/* A frame of this program. */
static struct profile *own_frame(uint32_t *mapping)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, "/proc/self/exe"), .identity = 1 };
	*mapping = s->ops->mapping(s, &m);
	/* Any address in its code will do: its start files have names. */
	for (uint64_t offset = 0x2000; offset < 0x100000; offset += 0x400) {
		struct frame f = { .kind = FRAME_NATIVE, .mapping = *mapping, .offset = offset };
		s->ops->frame(s, &f);
	}
	return p;
}

static bool is_named(struct name_guard *g, struct profile *p, uint32_t mapping)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct name_queue n;

	name_queue_init(&n, &(struct name_files_opts){ 0 });
	n.guard = g;
	name_queue_look(&n, p);
	ck_assert_uint_eq(name_queue_next(&n, p, 1), mapping);
	bool named = name_queue_file(&n, p, mapping, fd);
	ck_assert_uint_eq(name_queue_next(&n, p, 1), MAPPING_NONE); /* done, either way */
	name_queue_done(&n);
	close(fd);
	return named;
}

START_TEST(symbolizing_consults_it)
{
	struct name_guard *g = guard_new();
	uint32_t mapping;
	struct profile *p = own_frame(&mapping);
	uint64_t key = name_mapping_key(p, mapping);

	for (int i = 0; i < NAME_GUARD_ENDS - 1; i++)
		read_one(g, key, true);
	name_guard_look(g);
	ck_assert(is_named(g, p, mapping));
	ck_assert_uint_eq(name_guard_ends(g, key), 0);
	for (int i = 0; i < NAME_GUARD_ENDS; i++)
		read_one(g, key, true);
	name_guard_look(g);
	ck_assert(!is_named(g, p, mapping));
	ck_assert_uint_eq(g->reading, 0);
	name_guard_free(g);
	profile_free(p);
}
END_TEST

UNIT_MAIN("name_guard", files_that_crash_processes_are_skipped, one_that_reads_well_starts_over,
	  many_files_fit, symbolizing_consults_it)
