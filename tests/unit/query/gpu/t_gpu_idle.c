// tier: test
/* When GPUs were idle, from readings of their driver, also with records of a part of the time. tests/cli/gpu_idle*.sh have the rest. */
#include "unit.h"

#include "base/err.h"
#include "profile/tree/tree.h"
#include "query/gpu/gpu_idle.h"
#include "query/gpu/gpu_idle_work.h"
#include "store/codec/metric.h"

#include <errno.h>

#define S INT64_C(1000000000)

struct world {
	struct profile *p;
	struct gpu_idle_readings readings;
	struct gpu_idle_opts opts;
	struct gpu_idle idle;
	uint32_t wall;
};

static uint32_t text(struct world *w, const char *s)
{
	return sink_string(profile_sink(w->p), s);
}

static uint32_t type(struct world *w, const char *name)
{
	struct type t = { .name = text(w, name),
			  .sample_type = text(w, name),
			  .unit = text(w, "nanoseconds") };
	return type_intern(&w->p->series, &t);
}

/* gpu, uuid: NULL: no such label. */
static void sample_of(struct world *w, const char *type_name, uint32_t pid, const char *gpu,
		      const char *uuid, int64_t from_ns, int64_t length_ns)
{
	struct sink *s = profile_sink(w->p);
	struct frame f = { .mapping = MAPPING_NONE, .function = text(w, type_name) };
	uint32_t frame = s->ops->frame(s, &f);
	struct label l[2] = { { .key = text(w, "gpu"), .str = gpu ? text(w, gpu) : 0 },
			      { .key = text(w, "uuid"), .str = uuid ? text(w, uuid) : 0 } };
	struct series series = { .type = type(w, type_name),
				 .labels = s->ops->labels(s, l,
							  !gpu   ? 0
							  : uuid ? 2
								 : 1) };
	struct sample one = { .time_ns = from_ns,
			      .length_ns = length_ns,
			      .value = length_ns ? length_ns : S / 10,
			      .series = s->ops->series(s, &series),
			      .stack = s->ops->stack(s, &frame, 1),
			      .pid = pid,
			      .tid = pid,
			      .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &one);
}

static void sample(struct world *w, const char *type_name, uint32_t pid, const char *gpu,
		   int64_t from_ns, int64_t length_ns)
{
	sample_of(w, type_name, pid, gpu, NULL, from_ns, length_ns);
}

static struct world world_new(int64_t duration_s)
{
	struct world w = { .p = profile_new() };
	w.p->meta.duration_ns = duration_s * S;
	w.wall = type(&w, "wall");
	w.readings.label = text(&w, "0");
	return w;
}

static void reading(struct world *w, int64_t at_ns, double share)
{
	vec_push(&w->readings.points, (struct metric_point){ at_ns, share });
}

static int build(struct world *w, struct err *err)
{
	struct tree_opts tree = { .type = w->wall };
	w->opts.readings = &w->readings;
	w->opts.n_readings = 1;
	return gpu_idle_build(w->p, &tree, &w->opts, &w->idle, err);
}

static void world_free(struct world *w)
{
	gpu_idle_done(&w->idle);
	vec_done(&w->readings.points);
	vec_done(&w->readings.listed);
	profile_free(w->p);
}

static void check_times(const struct gpu_idle_device *d, int64_t watched, int64_t busy,
			int64_t idle)
{
	ck_assert_int_eq(interval_set_sum(&d->watched), watched);
	ck_assert_int_eq(interval_set_sum(&d->busy), busy);
	ck_assert_int_eq(interval_set_sum(&d->idle), idle);
}

/* Each reading is for the time since the previous one, unless that is too long ago; the part outside of the range is cut. */
START_TEST(readings_that_are_far_apart)
{
	struct world w = world_new(60);
	reading(&w, -2 * S, 1);
	reading(&w, 2 * S, 0.049); /* idle for 4 s, of which 2 are in the range */
	reading(&w, 3 * S, 0.05);  /* busy for 1 s */
	reading(&w, 14 * S, 0);    /* unknown for 11 s */
	reading(&w, 24 * S, 0);    /* idle for 10 s */
	reading(&w, 25 * S, 1);    /* busy for 1 s */
	ck_assert_int_eq(build(&w, NULL), 0);
	ck_assert_uint_eq(w.idle.devices.n, 1);
	const struct gpu_idle_device *d = &w.idle.devices.v[0];
	ck_assert_int_eq(d->source, GPU_IDLE_READINGS);
	check_times(d, 14 * S, 2 * S, 12 * S);
	ck_assert_uint_eq(d->idle.all.n, 2);
	ck_assert_int_eq(d->period_ns, 4 * S); /* of 1, 1, 4, 10 and 11 */
	ck_assert_int_eq(d->uncertain_ns, 2 * 4 * S);
	ck_assert_uint_eq(d->longest.n, 2);
	ck_assert_int_eq(d->longest.v[0].from_ns, 14 * S);
	ck_assert(d->classes.v[0].is_over && d->classes.v[0].name == 0);
	ck_assert_uint_eq(d->classes.n, 1);
	world_free(&w);
}
END_TEST

START_TEST(the_threshold_is_an_option)
{
	struct world w = world_new(10);
	for (int i = 0; i <= 10; i++)
		reading(&w, i * S, i % 2 ? 0.3 : 0.8);
	w.opts.threshold = 0.5;
	ck_assert_int_eq(build(&w, NULL), 0);
	check_times(&w.idle.devices.v[0], 10 * S, 5 * S, 5 * S);
	world_free(&w);
}
END_TEST

START_TEST(one_reading_is_not_enough)
{
	struct world w = world_new(10);
	struct err err = { 0 };
	reading(&w, S, 0);
	ck_assert_int_eq(build(&w, &err), -ENODATA);
	world_free(&w);
}
END_TEST

/* The callers of a GPU library, if the driver lists no process; and their activity while it was idle. */
START_TEST(owners_are_the_callers)
{
	struct world w = world_new(10);
	for (int i = 0; i <= 10; i++)
		reading(&w, i * S, i <= 5);
	sample(&w, "gpu-launch", 7, NULL, S, 0);
	sample(&w, "gpu-launch", 7, NULL, 2 * S, 0);
	for (int i = 0; i < 10; i++)
		for (uint32_t pid = 7; pid < 9; pid++)
			sample(&w, "wall", pid, NULL, i * S, 0);
	ck_assert_int_eq(build(&w, NULL), 0);
	const struct gpu_idle_device *d = &w.idle.devices.v[0];
	ck_assert_int_eq(d->owned, GPU_OWNED_CALLED);
	ck_assert_uint_eq(d->owners.n, 1);
	ck_assert_uint_eq(d->owners.v[0].pid, 7);
	ck_assert_uint_eq(d->busy_samples, 5);
	ck_assert_uint_eq(d->idle_samples, 5);
	world_free(&w);
}
END_TEST

/* Windows over a small part of the time are exact for that part; readings cover the rest. Windows over most of the time leave nothing to readings. */
START_TEST(records_of_a_part)
{
	for (int window_s = 4; window_s <= 5; window_s++) {
		struct world w = world_new(10);
		for (int i = 0; i <= 10; i++)
			reading(&w, i * S, 1);
		sample(&w, "gpu-window", 7, NULL, 0, window_s * S);
		sample(&w, "gpu-time", 7, "0", S, S);
		ck_assert_int_eq(build(&w, NULL), 0);
		ck_assert_uint_eq(w.idle.devices.n, window_s < 5 ? 2 : 1);
		const struct gpu_idle_device *records = &w.idle.devices.v[window_s < 5];
		check_times(records, window_s * S, S, (window_s - 1) * S);
		ck_assert_int_eq(records->source, GPU_IDLE_RECORDS);
		ck_assert(records->is_part == (window_s < 5));
		if (window_s < 5)
			check_times(&w.idle.devices.v[0], 10 * S, 10 * S, 0);
		world_free(&w);
	}
}
END_TEST

static const struct gpu_idle_device *device(const struct world *w, const char *label)
{
	const struct gpu_idle_device *found = NULL;
	for (size_t i = 0; i < w->idle.devices.n; i++) {
		const struct gpu_idle_device *d = &w->idle.devices.v[i];
		if (strcmp(profile_str(w->p, d->label), label) != 0)
			continue;
		ck_assert_ptr_null(found); /* each once */
		found = d;
	}
	ck_assert_ptr_nonnull(found);
	return found;
}

/* A GPU on which a process has a window is watched, and idle if nothing runs on it; windows of another GPU do not count. */
START_TEST(windows_alone)
{
	struct world w = world_new(10);
	sample(&w, "gpu-window", 7, "0", S, 4 * S);
	sample(&w, "gpu-window", 7, "1", 0, 8 * S);
	sample(&w, "gpu-window", 8, "1", 2 * S, 8 * S);
	sample(&w, "gpu-time", 7, "0", 2 * S, S);
	sample(&w, "wall", 7, NULL, 5 * S, 0);
	sample(&w, "wall", 8, NULL, 5 * S, 0);
	sample(&w, "wall", 9, NULL, 5 * S, 0);
	ck_assert_int_eq(build(&w, NULL), 0);
	ck_assert_uint_eq(w.idle.devices.n, 2);
	check_times(device(&w, "0"), 4 * S, S, 3 * S);
	ck_assert_uint_eq(device(&w, "0")->owners.n, 1);
	const struct gpu_idle_device *d = device(&w, "1");
	check_times(d, 6 * S, 0, 6 * S);
	ck_assert_int_eq(d->source, GPU_IDLE_RECORDS);
	ck_assert_uint_eq(d->owners.n, 2);
	ck_assert_uint_eq(d->idle_samples, 2);
	ck_assert_uint_eq(d->classes.n, 1);
	ck_assert(!d->classes.v[0].is_over);
	world_free(&w);
}
END_TEST

/* Two programs that number the same two GPUs in opposite order; the driver has its own names for them. */
START_TEST(numbers_swapped)
{
	struct world w = world_new(10);
	struct gpu_idle_readings readings[2] = {
		{ .label = text(&w, "0"), .uuid = text(&w, "GPU-a"), .model = text(&w, "First") },
		{ .label = text(&w, "1"), .uuid = text(&w, "GPU-b"), .model = text(&w, "Second") }
	};
	struct tree_opts tree = { .type = w.wall };
	struct gpu_idle_opts opts = { .readings = readings, .n_readings = 2 };
	for (int i = 0; i <= 10; i++)
		for (int k = 0; k < 2; k++)
			vec_push(&readings[k].points, (struct metric_point){ i * S, 1 });
	sample_of(&w, "gpu-time", 7, "0", "GPU-a", S, S);
	sample_of(&w, "gpu-time", 7, "1", "GPU-b", 3 * S, S);
	sample_of(&w, "gpu-time", 8, "1", "GPU-a", 5 * S, 2 * S);
	sample_of(&w, "gpu-time", 8, "0", "GPU-b", 7 * S, 3 * S);
	ck_assert_int_eq(gpu_idle_build(w.p, &tree, &opts, &w.idle, NULL), 0);
	ck_assert_uint_eq(w.idle.devices.n, 2);
	check_times(device(&w, "0"), 10 * S, 3 * S, 7 * S);
	check_times(device(&w, "1"), 10 * S, 4 * S, 6 * S);
	ck_assert_str_eq(profile_str(w.p, device(&w, "1")->model), "Second");
	ck_assert_str_eq(profile_str(w.p, device(&w, "1")->uuid), "GPU-b");
	vec_done(&readings[0].points);
	vec_done(&readings[1].points);
	world_free(&w);
}
END_TEST

/* Records whose windows are elsewhere do not affect readings; nor are two GPUs with one number merged. */
START_TEST(readings_alone)
{
	struct world w = world_new(10);
	for (int i = 0; i <= 10; i++)
		reading(&w, i * S, i % 2);
	w.readings.uuid = text(&w, "GPU-a");
	sample_of(&w, "gpu-window", 7, "3", "GPU-a", 20 * S, S);
	sample_of(&w, "gpu-window", 7, "0", "GPU-b", 0, 10 * S);
	ck_assert_int_eq(build(&w, NULL), 0);
	ck_assert_uint_eq(w.idle.devices.n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct gpu_idle_device *d = &w.idle.devices.v[i];
		bool is_a = strcmp(profile_str(w.p, d->uuid), "GPU-a") == 0;
		ck_assert_str_eq(profile_str(w.p, d->label), "0");
		ck_assert_int_eq(d->source, is_a ? GPU_IDLE_READINGS : GPU_IDLE_RECORDS);
		check_times(d, 10 * S, is_a ? 5 * S : 0, is_a ? 5 * S : 10 * S);
	}
	world_free(&w);
}
END_TEST

/* Sums over windows of time are no records: knowledge begins after them. */
START_TEST(sums_are_not_exact)
{
	struct world w = world_new(20);
	struct idle_scope scope = { .ids_say_exact = true };
	struct tree_opts tree = { .type = w.wall };
	sample(&w, "gpu-time", SAMPLE_NO_ID, "0", 0, 10 * S);
	sample(&w, "gpu-time", 7, "0", 12 * S, S);
	sample(&w, "wall", SAMPLE_NO_ID, NULL, 15 * S, 0);
	sample(&w, "wall", 7, NULL, 15 * S, 0);
	ck_assert_int_eq(idle_build_in(w.p, &tree, &w.opts, &scope, &w.idle, NULL), 0);
	ck_assert_int_eq(w.idle.exact_from_ns, 10 * S);
	check_times(&w.idle.devices.v[0], 10 * S, S, 9 * S);
	ck_assert_uint_eq(w.idle.devices.v[0].idle_samples, 1);
	world_free(&w);
}
END_TEST

/* Summed operations have no times: nothing is known of their second. */
START_TEST(sums_of_works)
{
	struct world w = world_new(20);
	sample(&w, "gpu-time", 7, "0", 12 * S, S);
	sample(&w, "gpu-time", 7, "0", 3 * S, 0);
	sample(&w, "gpu-time", 7, "0", 3 * S + S / 10, 0);
	ck_assert_int_eq(build(&w, NULL), 0);
	check_times(&w.idle.devices.v[0], 20 * S - IDLE_SUM_NS - S / 10, S,
		    19 * S - IDLE_SUM_NS - S / 10);
	ck_assert_uint_eq(w.idle.devices.v[0].idle.all.n, 3);
	world_free(&w);
}
END_TEST

START_TEST(sums_only)
{
	struct world w = world_new(20);
	struct idle_scope scope = { .ids_say_exact = true };
	struct tree_opts tree = { .type = w.wall };
	struct err err = { 0 };
	sample(&w, "gpu-time", SAMPLE_NO_ID, "0", 0, 10 * S);
	ck_assert_int_eq(idle_build_in(w.p, &tree, &w.opts, &scope, &w.idle, &err), -ENODATA);
	ck_assert_ptr_nonnull(strstr(err.text, "as sums over time only"));
	world_free(&w);
}
END_TEST

/* A profile with readings gives the same as separate readings: times, and the listed processes. */
START_TEST(readings_of_a_recording)
{
	struct world w = world_new(10);
	struct sink *s = profile_sink(w.p);
	struct tree_opts tree = { .type = w.wall };
	struct label labels[] = { { .key = text(&w, "gpu"), .str = text(&w, "0") },
				  { .key = text(&w, "task"), .str = text(&w, "general") },
				  { .key = text(&w, "process"), .str = text(&w, "train") } };
	struct label encoder[] = { labels[0],
				   { .key = labels[1].key, .str = text(&w, "encoder") } };
	const struct reading_key keys[] = {
		{ text(&w, "hw_gpu_utilization"), text(&w, "1"), s->ops->labels(s, labels, 2), 0 },
		{ text(&w, "hw_gpu_utilization"), text(&w, "1"), s->ops->labels(s, encoder, 2), 0 },
	};
	labels[1] = labels[2];
	const struct reading_key listed = { text(&w, "process_gpu_memory_usage"), text(&w, "By"),
					    s->ops->labels(s, labels, 2), 0 };
	for (int i = 10; i >= 0; i--) { /* in no order */
		struct reading_point busy = { i * S, i > 3 ? 0.9 : 0.01 }, always = { i * S, 1 };
		struct reading_point memory = { i * S, 1e9 };
		s->ops->readings(s, &keys[0], &busy, 1);
		s->ops->readings(s, &keys[1], &always, 1);
		s->ops->readings(s, &listed, &memory, 1);
	}
	struct err err = { 0 };
	ck_assert_msg(gpu_idle_of_file(w.p, &tree, 0, &w.idle, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(w.idle.devices.n, 1);
	const struct gpu_idle_device *d = &w.idle.devices.v[0];
	ck_assert_int_eq(d->source, GPU_IDLE_READINGS);
	check_times(d, 10 * S, 7 * S, 3 * S);
	ck_assert_int_eq(d->owned, GPU_OWNED_LISTED);
	world_free(&w);
}
END_TEST

UNIT_MAIN("gpu-idle", readings_that_are_far_apart, the_threshold_is_an_option,
	  one_reading_is_not_enough, owners_are_the_callers, records_of_a_part, windows_alone,
	  numbers_swapped, readings_alone, sums_are_not_exact, sums_of_works, sums_only,
	  readings_of_a_recording)
