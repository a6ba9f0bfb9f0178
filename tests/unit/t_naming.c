/* Files are read for names one after another: new ones at once, those that were read before in turns, and all of these together take a small
 * part of a CPU. */
#include "unit.h"

#include "agent/naming.h"
#include "base/clock.h"

#include <fcntl.h>
#include <unistd.h>

enum { FILES = 4 };

struct world {
	struct profile *dict;
	struct naming naming;
	uint32_t mappings[FILES];
	uint64_t next_offset;
	int fd; /* of this program, which all of them are */
};

static void begin(struct world *w)
{
	*w = (struct world){ .dict = profile_new(), .next_offset = 0x2000 };
	struct sink *s = profile_sink(w->dict);

	for (int i = 0; i < FILES; i++) {
		struct mapping m = { .name = sink_string(s, "/proc/self/exe"), .identity = i + 1 };
		w->mappings[i] = s->ops->mapping(s, &m);
	}
	w->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(w->fd, 0);
	naming_init(&w->naming, &(struct name_files_opts){ 0 });
}

static void end(struct world *w)
{
	naming_done(&w->naming);
	profile_free(w->dict);
	close(w->fd);
}

/* A frame of each file that is not known yet. */
static void add_frames(struct world *w)
{
	struct sink *s = profile_sink(w->dict);

	for (int i = 0; i < FILES; i++)
		s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
						  .mapping = w->mappings[i],
						  .offset = w->next_offset });
	w->next_offset += 16;
	naming_look(&w->naming, w->dict);
}

static uint32_t next(struct world *w, uint64_t now_ns)
{
	return naming_next(&w->naming, w->dict, now_ns);
}

static void read_one(struct world *w, uint32_t mapping)
{
	naming_file(&w->naming, w->dict, mapping, w->fd);
}

START_TEST(new_files_do_not_wait)
{
	struct world w;

	begin(&w);
	add_frames(&w);
	for (int i = 0; i < FILES; i++) {
		uint32_t mapping = next(&w, 1);
		ck_assert_uint_ne(mapping, MAPPING_NONE);
		read_one(&w, mapping);
	}
	ck_assert_uint_eq(next(&w, UINT64_MAX - 1), MAPPING_NONE);
	ck_assert_uint_eq(w.naming.again_ns, 0);
	end(&w);
}
END_TEST

/* However long each of them takes: who was due first is next. */
START_TEST(others_take_turns)
{
	struct world w;
	uint32_t reads[FILES] = { 0 };

	begin(&w);
	for (uint64_t i = 1; i <= 5 * FILES; i++) {
		add_frames(&w);
		uint32_t mapping = next(&w, UINT64_MAX - 1);
		ck_assert_uint_ne(mapping, MAPPING_NONE);
		read_one(&w, mapping);
		for (int k = 0; k < FILES; k++)
			reads[k] += w.mappings[k] == mapping;
		for (size_t k = 0; k < w.naming.wants.n; k++)
			if (w.naming.wants.v[k].mapping == mapping)
				w.naming.wants.v[k].due_ns = i;
	}
	for (int k = 0; k < FILES; k++)
		ck_assert_uint_eq(reads[k], 5);
	end(&w);
}
END_TEST

START_TEST(all_of_them_wait_for_what_one_cost)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < FILES; i++) {
		add_frames(&w);
		read_one(&w, w.mappings[i]);
	}
	add_frames(&w);
	uint64_t begin_ns = clock_mono_ns();
	read_one(&w, w.mappings[0]);
	uint64_t end_ns = clock_mono_ns(), again_ns = w.naming.again_ns;
	/* Less is not what it takes: a read of this program's symbols is no matter of nanoseconds. */
	ck_assert_uint_gt(again_ns, end_ns);
	ck_assert_uint_le(again_ns, end_ns + 500 * (end_ns - begin_ns));
	for (size_t i = 0; i < w.naming.wants.n; i++) /* by themselves they might be read */
		w.naming.wants.v[i].due_ns = 0;
	add_frames(&w);
	ck_assert_uint_eq(next(&w, again_ns - 1), MAPPING_NONE);
	ck_assert_uint_ne(next(&w, again_ns), MAPPING_NONE);
	ck_assert_uint_ne(next(&w, UINT64_MAX), MAPPING_NONE);
	end(&w);
}
END_TEST

UNIT_MAIN("naming", new_files_do_not_wait, others_take_turns, all_of_them_wait_for_what_one_cost)
