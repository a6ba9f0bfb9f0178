// tier: test
/* Files are read for names one after another: new ones at once, known ones in turns, and all of these together take a small part of a CPU. */
#include "unit.h"

#include "agent/name_queue.h"
#include "collect/kernel/sampler_opts.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include <fcntl.h>
#include <unistd.h>

enum { FILES = 4 };
#define SECOND 1000000000ull

struct world {
	struct profile *dict;
	struct name_queue naming;
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
	name_queue_init(&w->naming, &(struct name_files_opts){ 0 });
}

static void end(struct world *w)
{
	name_queue_done(&w->naming);
	profile_free(w->dict);
	close(w->fd);
}

/* Adds an unknown frame of each file. */
static void add_frames(struct world *w)
{
	struct sink *s = profile_sink(w->dict);

	for (int i = 0; i < FILES; i++)
		s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
						  .mapping = w->mappings[i],
						  .offset = w->next_offset });
	w->next_offset += 16;
	name_queue_look(&w->naming, w->dict);
}

static uint32_t next(struct world *w, uint64_t now_ns)
{
	return name_queue_next(&w->naming, w->dict, now_ns);
}

static void read_one(struct world *w, uint32_t mapping)
{
	name_queue_file(&w->naming, w->dict, mapping, w->fd);
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
	ck_assert_int_eq(cpu_budget_left(&w.naming.budget, 1), NAME_QUEUE_MOST_NS); /* not theirs */
	end(&w);
}
END_TEST

/* Whatever the time each takes, the one that was due first is next. */
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

/* --- the pace, by clocks that the test plays -------------------------------------------------- */

static uint64_t mono_now, cpu_now, read_costs, cpu_calls;

static uint64_t mono(void)
{
	return mono_now;
}

/* Each read calls this twice, and costs the CPU time set by the test; on the wall clock a hundred times as much, as on a busy machine. */
static uint64_t cpu(void)
{
	if (cpu_calls++ % 2) {
		cpu_now += read_costs;
		mono_now += 100 * read_costs;
	}
	return cpu_now;
}

static void begin_scripted(struct world *w, uint64_t costs_ns)
{
	begin(w);
	mono_now = SECOND;
	cpu_now = cpu_calls = 0;
	read_costs = costs_ns;
	w->naming.clock = (struct name_queue_clock){ mono, cpu };
}

static void read_all_new(struct world *w)
{
	uint32_t mapping;

	add_frames(w);
	while ((mapping = next(w, mono_now)) != MAPPING_NONE)
		read_one(w, mapping);
}

/* Returns how long a new frame waits, checked every millisecond. */
static uint64_t waited_ns(struct world *w, uint32_t mapping)
{
	uint64_t from_ns = mono_now;

	add_frames(w);
	for (; mono_now < from_ns + 100 * SECOND; mono_now += 1000000) {
		uint32_t due = next(w, mono_now);

		if (due == mapping)
			return mono_now - from_ns;
		if (due != MAPPING_NONE)
			read_one(w, due);
	}
	return UINT64_MAX;
}

START_TEST(cpu_time_is_what_counts)
{
	struct world w;

	begin_scripted(&w, 20000000); /* 2 s each on the wall clock */
	read_all_new(&w);
	for (size_t i = 0; i < w.naming.wants.n; i++)
		ck_assert_uint_le(w.naming.wants.v[i].due_ns, mono_now + 4 * SECOND);
	ck_assert_uint_eq(w.naming.spent_ns, FILES * 20000000);
	/* Its turn comes after the others, 2 s each. */
	ck_assert_uint_le(waited_ns(&w, w.mappings[FILES - 1]), 4 * SECOND + FILES * 2 * SECOND);
	end(&w);
}
END_TEST

/* 200 times its cost, 2 to 15 s. */
START_TEST(a_file_waits_in_proportion_to_its_cost)
{
	static const struct {
		uint64_t costs_ns, waits_ns;
	} all[] = { { 0, 2 * SECOND },
		    { 1000000, 2 * SECOND },
		    { 20000000, 4 * SECOND },
		    { 60000000, 12 * SECOND },
		    { 500000000, 15 * SECOND } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct world w;

		begin_scripted(&w, all[i].costs_ns);
		add_frames(&w);
		read_one(&w, w.mappings[0]);
		ck_assert_uint_eq(w.naming.wants.v[0].due_ns, mono_now + all[i].waits_ns);
		end(&w);
	}
}
END_TEST

/* With any cost, for five minutes of new frames in every file, and with requests: at most the initial amount, the amount that requests may add, and
 * 0.2 % of a CPU. */
static void spend(struct world *w, uint64_t seconds, bool asks)
{
	uint64_t from_ns = mono_now;
	uint32_t mapping;

	for (; mono_now < from_ns + seconds * SECOND; mono_now += SECOND) {
		add_frames(w);
		for (size_t i = 0; asks && i < w->naming.wants.n; i++)
			w->naming.wants.v[i].is_asked = true;
		while ((mapping = next(w, mono_now)) != MAPPING_NONE)
			read_one(w, mapping);
	}
}

START_TEST(all_of_them_have_a_share)
{
	for (int asks = 0; asks < 2; asks++) {
		struct world w;

		begin_scripted(&w, 30000000);
		read_all_new(&w);
		uint64_t first_ns = w.naming.spent_ns, from_ns = mono_now;
		spend(&w, 300, asks);
		uint64_t share_ns = (mono_now - from_ns) / 1000 * 2;
		ck_assert_uint_ge(w.naming.spent_ns - first_ns, share_ns);
		ck_assert_uint_le(w.naming.spent_ns - first_ns,
				  share_ns + NAME_QUEUE_MOST_NS + NAME_QUEUE_ASKED_NS + read_costs);
		end(&w);
	}
}
END_TEST

/* A requested file is next, even when the budget for this second is spent; the others keep waiting. */
START_TEST(requested_frames_go_first)
{
	struct world w;

	begin_scripted(&w, 1000000);
	read_all_new(&w);
	mono_now += 1; /* nobody is due */
	add_frames(&w);
	ck_assert_uint_eq(next(&w, mono_now), MAPPING_NONE);
	cpu_budget_spend(&w.naming.budget, mono_now, NAME_QUEUE_MOST_NS + NAME_QUEUE_LATE_NS + 1);
	struct name_requests *asks;
	ck_assert_int_eq(name_requests_new(&asks, NULL), 0);
	w.naming.asks = asks;
	add_frames(&w);
	uint32_t frame = w.dict->frames.frames.n - 2; /* of the second last file */
	ck_assert(name_requests_wait(asks, w.dict, &frame, 1, 0));
	name_queue_hear(&w.naming);
	ck_assert_uint_eq(next(&w, mono_now), w.mappings[FILES - 2]);
	read_one(&w, w.mappings[FILES - 2]);
	ck_assert_uint_eq(next(&w, mono_now), MAPPING_NONE);
	ck_assert(w.naming.was_asked);
	ck_assert(name_requests_wait(asks, w.dict, &frame, 1, 0)); /* its names are not there yet */
	name_queue_settle(&w.naming);
	ck_assert(!name_requests_wait(asks, w.dict, &frame, 1, 0));
	frame++;
	ck_assert(name_requests_wait(asks, w.dict, &frame, 1, 0));
	name_queue_begin(&w.naming); /* all requests belong to another dictionary */
	ck_assert(!name_requests_has(asks));
	end(&w);
	name_requests_free(asks);
}
END_TEST

UNIT_MAIN("naming", new_files_do_not_wait, others_take_turns, cpu_time_is_what_counts,
	  a_file_waits_in_proportion_to_its_cost, all_of_them_have_a_share,
	  requested_frames_go_first)
