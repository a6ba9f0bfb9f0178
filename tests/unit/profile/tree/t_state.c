// tier: test
/* The meaning of markers, and the states of stacks and trees from them. */
#include "unit.h"

#include "waits_profile.h"

#include "profile/state.h"
#include "profile/tree/tree.h"

START_TEST(markers_say_what_a_thread_did)
{
	static const struct {
		const char *name;
		enum thread_state state;
		const char *reason;
	} cases[] = {
		{ "[blocked: futex/lock]", STATE_OFF_CPU, "futex/lock" },
		{ "[blocked: pipe/socket read]", STATE_OFF_CPU, "pipe/socket read" },
		{ "[blocked: ]", STATE_OFF_CPU, "" },
		{ "[off-CPU below 1ms]", STATE_OFF_CPU, NULL },
		{ "[off-CPU below 500us]", STATE_OFF_CPU, NULL },
		{ "[off-CPU]", STATE_OFF_CPU, NULL },
		{ "[sched-wait]", STATE_SCHED_WAIT, NULL },
		{ "[on-CPU, not sampled]", STATE_ON_CPU, NULL },
		{ "[waiting for GPU]", STATE_GPU_WAIT, NULL },
		{ "[waiting for GPU below 1ms]", STATE_GPU_WAIT, NULL },
		{ "[waiting for", STATE_UNSAID, NULL },
		{ "[woken by: bash (1)]", STATE_UNSAID, NULL },
		{ "[truncated: depth]", STATE_UNSAID, NULL },
		{ "-", STATE_UNSAID, NULL },
		{ "", STATE_UNSAID, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t len = strlen(cases[i].name), n = 0;
		const char *reason = state_reason(cases[i].name, len, &n);
		ck_assert_int_eq(state_of_marker(cases[i].name, len), cases[i].state);
		if (!cases[i].reason) {
			ck_assert_ptr_null(reason);
			continue;
		}
		ck_assert_ptr_nonnull(reason);
		ck_assert_uint_eq(n, strlen(cases[i].reason));
		ck_assert_mem_eq(reason, cases[i].reason, n);
	}
	/* Truncated anywhere it is a marker or not, and nothing beyond is read. */
	static const char whole[] = "[blocked: x]";
	for (size_t len = 0; len < strlen(whole); len++) {
		size_t n;
		char *cut = malloc(len + 1); /* for sanitizers */
		memcpy(cut, whole, len);
		cut[len] = '\0';
		ck_assert_ptr_null(state_reason(cut, len, &n));
		ck_assert_int_eq(state_of_marker(cut, len),
				 len >= strlen("[blocked: ") ? STATE_OFF_CPU : STATE_UNSAID);
		free(cut);
	}
}
END_TEST

/* The text is a contract: it is in files and in users' filters. */
START_TEST(words_are_fixed)
{
	static const char *const reasons[WAIT_REASONS] = {
		"other",      "futex/lock",       "sleep/timer",
		"poll/epoll", "pipe/socket read", "pipe/socket write",
		"disk I/O",   "page fault",       "wait for child",
		"stopped",
	};
	static const char *const states[THREAD_STATES] = { "", "on-cpu", "off-cpu", "sched-wait",
							   "gpu-wait" };
	for (int i = 0; i < WAIT_REASONS; i++)
		ck_assert_str_eq(wait_reason_names[i], reasons[i]);
	for (int i = 0; i < THREAD_STATES; i++)
		ck_assert_str_eq(thread_state_names[i], states[i]);
	ck_assert_int_eq(state_of_type("wall"), STATE_ON_CPU);
	ck_assert_int_eq(state_of_type("cpu"), STATE_ON_CPU);
	ck_assert_int_eq(state_of_type("off-cpu"), STATE_OFF_CPU);
	ck_assert_int_eq(state_of_type("sched-wait"), STATE_SCHED_WAIT);
	ck_assert_int_eq(state_of_type("alloc"), STATE_UNSAID);
	ck_assert_int_eq(state_of_type("gpu-wait"),
			 STATE_UNSAID); /* cpu and off-cpu have that time, too */
}
END_TEST

static uint32_t frame_called(struct profile *p, const char *name)
{
	struct sink *s = profile_sink(p);
	struct frame f = { .kind = name[0] == '[' ? FRAME_MARKER : FRAME_NATIVE,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, name) };
	return s->ops->frame(s, &f);
}

/* Frames are separated by semicolons. */
static uint32_t stack_of(struct profile *p, const char *text)
{
	uint32_t frames[8], n = 0;
	char copy[128];
	snprintf(copy, sizeof copy, "%s", text);
	for (char *at = strtok(copy, ";"); at; at = strtok(NULL, ";"))
		frames[n++] = frame_called(p, at);
	return profile_sink(p)->ops->stack(profile_sink(p), frames, n);
}

START_TEST(the_marker_nearest_to_the_leaf_counts)
{
	struct profile *p = profile_new();
	static const struct {
		const char *stack;
		enum thread_state state;
		const char *reason;
	} cases[] = {
		{ "main;read;[blocked: disk I/O]", STATE_OFF_CPU, "disk I/O" },
		{ "main;[blocked: other];[woken by: a (1)];waker", STATE_OFF_CPU, "other" },
		{ "[blocked: other];main;[sched-wait]", STATE_SCHED_WAIT, "" },
		{ "[truncated: depth];main;work", STATE_UNSAID, "" },
		{ "main;work", STATE_UNSAID, "" },
		{ "", STATE_UNSAID, "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct stack_state s = state_of_stack(p, stack_of(p, cases[i].stack));
		ck_assert_int_eq(s.state, cases[i].state);
		ck_assert_str_eq(profile_str(p, s.reason), cases[i].reason);
	}
	/* A function with a marker's name is not a marker. */
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = MAPPING_NONE,
			   .function = strtab_put(&p->strings, "[sched-wait]") };
	uint32_t frame = frame_intern(&p->frames, &f);
	ck_assert_int_eq(state_of_stack(p, stack_intern(&p->stacks, &frame, 1)).state,
			 STATE_UNSAID);
	profile_free(p);
}
END_TEST

/* By node of a tree as by stack of the profile, for either root. */
START_TEST(trees_know_the_states_of_stacks)
{
	static const struct {
		const char *stack;
		enum thread_state state;
	} cases[] = {
		{ "main;read;[blocked: disk I/O]", STATE_OFF_CPU },
		{ "main;[blocked: other];[woken by: a (1)];waker", STATE_OFF_CPU },
		{ "main;[blocked: other];[sched-wait]", STATE_SCHED_WAIT },
		{ "main;read", STATE_ON_CPU },
		{ "main", STATE_ON_CPU },
		{ "", STATE_ON_CPU },
	};
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "wall"),
			     .sample_type = sink_string(s, "wall"),
			     .unit = sink_string(s, "nanoseconds") };
	struct series series = { .type = s->ops->type(s, &type) };
	struct sample sample = { .series = s->ops->series(s, &series) };
	int64_t want[THREAD_STATES] = { 0 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sample.stack = stack_of(p, cases[i].stack);
		sample.value = 1 << i;
		s->ops->sample(s, &sample);
		want[cases[i].state] += sample.value;
	}
	for (int inverted = 0; inverted < 2; inverted++) {
		struct tree_opts opts = { .inverted = inverted };
		int64_t got[THREAD_STATES] = { 0 };
		struct tree *t;
		ck_assert_int_eq(tree_build(p, &opts, &t, NULL), 0);
		uint8_t *states = tree_states(t);
		for (uint32_t i = 0; i < t->nodes.n; i++)
			got[states[i]] += t->nodes.v[i].self;
		ck_assert_mem_eq(got, want, sizeof got);
		free(states);
		tree_free(t);
	}
	profile_free(p);
}
END_TEST

/* A row that sums waits of less than a millisecond is not one wait of half a second. */
START_TEST(sums_of_short_waits_scatter_little)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} cases[] = {
		{ "[off-CPU below 1ms]", 1000000 },
		{ "[off-CPU below 500us]", 500000 },
		{ "[off-CPU below ]", 0 },
		{ "[off-CPU below x]", 0 },
		{ "[off-CPU below 1ms", 0 },
		{ "[off-CPU]", 0 },
		{ "[off-CPU below 99999999999999999999999999999999999999ms]", 0 },
		{ "[off-CPU below ", 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_uint_eq(state_below_ns(cases[i].name, strlen(cases[i].name)),
				  cases[i].ns);
	struct profile *p = waits_profile(WAITS_WALL);
	struct tree_opts opts = { .with_spread = true };
	struct tree *t;
	ck_assert_int_eq(tree_build(p, &opts, &t, NULL), 0);
	int met = 0;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		const struct tree_spread *s = &t->spreads.v[i].self;
		if (tree_func_is_marker(t, t->nodes.v[i].func, "[off-CPU below 1ms]")) {
			met++;
			ck_assert_double_eq(s->n, 600);
			ck_assert_double_eq(s->squares, 600 * 1e6 * 1e6);
		}
		if (tree_func_is_marker(t, t->nodes.v[i].func, "[blocked: disk I/O]")) {
			met++;
			ck_assert_double_eq(s->n, 5);
			ck_assert_double_eq(s->squares, 5 * 500e6 * 500e6);
		}
	}
	ck_assert_int_eq(met, 2);
	tree_free(t);
	profile_free(p);
}
END_TEST

UNIT_MAIN("state", markers_say_what_a_thread_did, words_are_fixed,
	  the_marker_nearest_to_the_leaf_counts, trees_know_the_states_of_stacks,
	  sums_of_short_waits_scatter_little)
