// tier: test
/* A program's reports about its GPU, true or not: this process plays the program, with its own ring. */
#include "map_files.h"
#include "unit.h"

#include "base/clock.h"
#include "collect/gpu/gpu_time.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/resolve/gpu_names.h"
#include "collect/resolve/resolve.h"
#include "gpu/device/backend.h"
#include "gpu/ring/ring_write.h"
#include "gpu/ring/window.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct ring_shape shape = { .buffer_lanes = 1,
					 .buffer_size = 8192,
					 .call_lanes = 1,
					 .call_size = 4096,
					 .names_size = 4096 };

struct world {
	struct profile *profile;
	struct resolver *resolver;
	struct gpu_time *time;
	void *ring;
	struct ring_names names;
	uint64_t now_ns;
};

static void *make_memory(const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, size), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	close(fd);
	return memory;
}

static void make_ring(struct world *w)
{
	w->ring = make_memory(RING_NAME, ring_size(&shape));
	free(w->names.slots);
	ring_lay_out(w->ring, &shape, getpid());
	w->names = (struct ring_names){ .ring = w->ring, .n_slots = 64 };
	w->names.slots = calloc(w->names.n_slots, sizeof *w->names.slots);
	((struct ring_control *)w->ring)->magic = RING_MAGIC;
}

static struct world world_with(double budget)
{
	struct world w = { .profile = profile_new(), .now_ns = clock_mono_ns() };
	struct sink *s = profile_sink(w.profile);
	struct type time = { .name = sink_string(s, "gpu-time") },
		    window = { .name = sink_string(s, "gpu-window") };
	struct resolve_links resolve = { .sink = s };
	struct gpu_time_opts opts = { .sink = s, .budget = budget, .queue_type = TYPE_NONE };

	opts.time_type = resolve.types.gpu.time = s->ops->type(s, &time);
	opts.window_type = resolve.types.gpu.window = s->ops->type(s, &window);
	opts.resolver = w.resolver =
		resolver_new(&(struct resolve_opts){ 0 }, &(struct sampler_opts){ 0 }, &resolve);
	gpu_names_update(resolve_gpu_names(w.resolver), &(struct gpu_machine){ 0 });
	w.time = gpu_time_new(&opts, w.now_ns);
	make_ring(&w);
	gpu_time_expect(w.time, getpid(), w.now_ns);
	gpu_time_run(w.time, w.now_ns);
	return w;
}

static struct world world_new(void)
{
	return world_with(0);
}

/* Acts as the library at the end of its window, so that nobody waits for it in vain. */
static void park(const struct world *w)
{
	struct ring_control *c = w->ring;

	c->seen = c->generation + 1;
}

static struct gpu_time_stats world_end(struct world *w)
{
	struct gpu_time_stats stats;

	park(w);
	gpu_time_stop(w->time);
	gpu_time_flush(w->time);
	gpu_time_get_stats(w->time, &stats);
	gpu_time_free(w->time);
	resolver_free(w->resolver);
	free(w->names.slots);
	munmap(w->ring, ring_size(&shape));
	return stats;
}

static void kernel(struct world *w, const char *name, uint64_t start_ns, uint64_t end_ns)
{
	struct ring_kernel k = { .r = { .type = RING_KERNEL, .correlation = 7 },
				 .start_ns = start_ns,
				 .end_ns = end_ns,
				 .name = ring_name(&w->names, name),
				 .device = 1,
				 .stream = 9 };
	bool shared;
	struct ring_lane *lane = ring_lane_take(w->ring, RING_LANE_BUFFER, gettid(), &shared);

	ring_write(w->ring, lane, shared, &k.r, sizeof k);
}

/* Without a stack, in its place in time, by its plain name. */
START_TEST(without_a_stack)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_new();
	uint32_t frames[8];

	kernel(&w, "_Z4axpyPfS_f", w.now_ns + 100, w.now_ns + 400);
	kernel(&w, "_Z4axpyPfS_f", w.now_ns + 500, w.now_ns + 1200);
	struct gpu_time_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.programs, 1);
	ck_assert_uint_eq(stats.unknown_ns, 1000);
	ck_assert_uint_eq(stats.exact_ns + stats.estimated_ns + stats.bad + stats.dropped, 0);
	ck_assert_uint_eq(w.profile->samples.n, 2);
	ck_assert_int_eq(w.profile->samples.time_ns[1], w.now_ns + 500);
	ck_assert_int_eq(sample_length_ns(&w.profile->samples, 1), 700);
	ck_assert_int_eq(w.profile->samples.value[1], 700);
	uint32_t stack = w.profile->samples.stack[1];

	ck_assert_uint_eq(stack_depth(&w.profile->stacks, stack), 2);
	stack_frames(&w.profile->stacks, stack, frames);
	ck_assert_str_eq(profile_str(w.profile, w.profile->frames.frames.v[frames[0]].function),
			 "[no stack]");
	ck_assert_str_eq(profile_str(w.profile, w.profile->frames.frames.v[frames[1]].function),
			 "axpy(float*, float*, float)");
	profile_free(w.profile);
}
END_TEST

/* Impossible times are only counted. */
START_TEST(lies)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_new();

	kernel(&w, "k", w.now_ns + 400, w.now_ns + 100);
	kernel(&w, "k", 0, w.now_ns);
	kernel(&w, "k", w.now_ns, UINT64_MAX);
	kernel(&w, "k", UINT64_MAX - 5, UINT64_MAX);
	kernel(&w, "k", 0, UINT64_MAX);
	kernel(&w, "k", w.now_ns, w.now_ns + 20);
	struct gpu_time_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.bad, 5);
	ck_assert_uint_eq(stats.records, 1);
	ck_assert_uint_eq(stats.unknown_ns, 20);
	ck_assert_uint_eq(w.profile->samples.n, 1);
	profile_free(w.profile);
}
END_TEST

/* A full lane: records that did not fit are counted. */
START_TEST(full)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_new();

	for (int i = 0; i < 1000; i++)
		kernel(&w, "k", w.now_ns, w.now_ns + 1);
	struct gpu_time_stats stats = world_end(&w);

	ck_assert_uint_gt(stats.dropped, 0);
	ck_assert_uint_eq(stats.records + stats.dropped, 1000);
	ck_assert_uint_eq(stats.unknown_ns, stats.records);
	profile_free(w.profile);
}
END_TEST

static int64_t sum_of(const struct profile *p)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++)
		sum += p->samples.value[i];
	return sum;
}

/* More records in an interval than are kept one by one: the rest is one sum, and nothing is missing; the next interval starts afresh. */
START_TEST(density)
{
	T_NEEDS_MAP_FILES();
	enum { N = GPU_TIME_EXACT + 3000 };
	struct world w = world_with(1);

	for (int i = 0; i < N; i++) {
		kernel(&w, "k", w.now_ns, w.now_ns + 3);
		if (i % 64 == 63)
			gpu_time_read(w.time, w.now_ns);
	}
	gpu_time_read(w.time, w.now_ns);
	ck_assert(gpu_time_waits(w.time)); /* for stacks, of which there are none */
	ck_assert_uint_eq(w.profile->samples.n, 0);
	gpu_time_cut(w.time, w.now_ns, true);
	ck_assert(!gpu_time_waits(w.time));
	ck_assert_uint_eq(w.profile->samples.n, GPU_TIME_EXACT + 1);
	ck_assert_int_eq(sum_of(w.profile), 3 * N);
	ck_assert_int_eq(sample_length_ns(&w.profile->samples, GPU_TIME_EXACT), 0);
	kernel(&w, "k", w.now_ns, w.now_ns + 5);
	gpu_time_read(w.time, w.now_ns);
	gpu_time_cut(w.time, w.now_ns, true);
	ck_assert_uint_eq(w.profile->samples.n, GPU_TIME_EXACT + 2);
	ck_assert_int_eq(sample_length_ns(&w.profile->samples, GPU_TIME_EXACT + 1), 5);
	struct gpu_time_stats stats = world_end(&w);
	ck_assert_uint_eq(stats.dropped + stats.bad, 0);
	profile_free(w.profile);
}
END_TEST

/* One sink after another: a record that waits for its stack goes to the second one, once, with the names there. */
START_TEST(another_sink)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_with(1);
	struct profile *first = w.profile, *second = profile_new();
	struct sink *s = profile_sink(second);
	struct type other = { .name = sink_string(s, "cpu") },
		    time = { .name = sink_string(s, "gpu-time") },
		    window = { .name = sink_string(s, "gpu-window") };
	struct resolve_types types = { 0 };
	uint32_t frames[8];

	kernel(&w, "first", w.now_ns, w.now_ns + 3);
	gpu_time_read(w.time, w.now_ns);
	gpu_time_cut(w.time, w.now_ns, true);
	kernel(&w, "second", w.now_ns, w.now_ns + 7);
	gpu_time_read(w.time, w.now_ns);
	gpu_time_cut(w.time, w.now_ns, false);
	ck_assert_int_eq(sum_of(first), 3);
	types.cpu = s->ops->type(s, &other);
	types.gpu.time = s->ops->type(s, &time);
	types.gpu.window = s->ops->type(s, &window);
	gpu_time_set_sink(w.time, s, &types.gpu);
	resolve_set_sink(w.resolver, s, &types, NULL);
	gpu_time_cut(w.time, w.now_ns, true);
	ck_assert_int_eq(sum_of(first), 3);
	ck_assert_uint_eq(second->samples.n, 1);
	ck_assert_int_eq(second->samples.value[0], 7);
	stack_frames(&second->stacks, second->samples.stack[0], frames);
	ck_assert_str_eq(profile_str(second, second->frames.frames.v[frames[1]].function),
			 "second");
	world_end(&w);
	profile_free(first);
	profile_free(second);
}
END_TEST

/* Acts as the library: reports the requested window as open until its deadline, at the given cost. */
static void play_window(struct world *w, uint64_t cost_ns)
{
	struct ring_control *c = w->ring;

	c->opened_ns = w->now_ns;
	c->closed_ns = w->now_ns = c->deadline_ns;
	c->helper_ns += cost_ns;
	c->seen = c->generation;
}

/* Returns the milliseconds until another window is requested, at most max_ms. */
static int next_window_ms(struct world *w, int max_ms)
{
	struct ring_control *c = w->ring;
	uint32_t generation = c->generation;

	for (int ms = 0; ms < max_ms; ms++, w->now_ns += 1000000) {
		gpu_time_run(w->time, w->now_ns);
		if (c->generation != generation)
			return ms;
	}
	return max_ms;
}

/* Windows are spaced by the budget: 20 ms that cost 1 ms, with a budget of 1 %, begin 100 ms apart, plus or minus a quarter of the gap of 80 ms. */
START_TEST(windows)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_with(0.01);
	struct ring_control *c = w.ring;

	ck_assert_uint_ne(c->generation, 0);
	ck_assert_uint_eq(c->want, RING_WANT_KERNELS | RING_WANT_COPIES | RING_WANT_CALLS |
					   RING_WANT_OFF_AFTER);
	ck_assert_uint_eq(c->deadline_ns - w.now_ns, WINDOW_FIRST_NS);
	w.now_ns += 1000000;
	ck_assert_int_eq(next_window_ms(&w, 10), 10); /* this one is open */
	w.now_ns = c->deadline_ns - WINDOW_FIRST_NS;
	play_window(&w, 1000000);
	int ms = next_window_ms(&w, 1000);
	ck_assert_int_ge(ms, 59);
	ck_assert_int_le(ms, 121); /* checked at most every 20 ms while one is open */
	/* A library that cannot stop recording is not asked again; the log says so once. */
	c->error_part = RING_PART_STAYS_ON;
	play_window(&w, 0);
	ck_assert_int_eq(next_window_ms(&w, 120000), 120000);
	struct gpu_time_stats stats;
	gpu_time_get_stats(w.time, &stats);
	ck_assert_uint_eq(stats.given_up, 1);
	ck_assert_uint_eq(stats.problems, 1);
	ck_assert_ptr_ne(strstr(stats.recent[0], "too old to be switched off"), NULL);
	world_end(&w);
	profile_free(w.profile);
}
END_TEST

static uint32_t watching(struct world *w)
{
	struct gpu_time_stats stats;

	gpu_time_run(w->time, w->now_ns);
	gpu_time_get_stats(w->time, &stats);
	ck_assert_uint_eq(stats.problems, 0);
	return stats.watching;
}

/* Acts as the library on detach, and sets up what remains afterwards. */
static struct ring_control *give_back(struct world *w)
{
	struct ring_control *ring = w->ring, *stub = make_memory(RING_STUB_NAME, RING_NAMES_AT);

	ring->detach = 1;
	*stub = *ring;
	stub->magic = RING_STUB_MAGIC;
	stub->size = RING_NAMES_AT;
	munmap(w->ring, ring_size(&shape));
	return stub;
}

/* A detached program is waited for without a limit; after a reattach it is found, with any budget. */
static void comes_back(double budget)
{
	struct world w = world_with(budget);

	ck_assert_uint_eq(watching(&w), 1);
	kernel(&w, "k", w.now_ns, w.now_ns + 3);
	gpu_time_read(w.time, w.now_ns);
	struct ring_control *stub = give_back(&w);

	w.now_ns += 1500000000;
	ck_assert_uint_eq(watching(&w), 0);
	for (int s = 0; s < 120; s++, w.now_ns += 1000000000)
		ck_assert_uint_eq(watching(&w), 0);
	munmap(stub, RING_NAMES_AT);
	make_ring(&w);
	w.now_ns += 1500000000;
	ck_assert_uint_eq(watching(&w), 1);
	ck_assert_uint_ne(((struct ring_control *)w.ring)->generation, 0);
	kernel(&w, "k", w.now_ns, w.now_ns + 5);
	gpu_time_read(w.time, w.now_ns);
	struct gpu_time_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.records, 2);
	ck_assert_uint_eq(stats.unknown_ns, 8);
	profile_free(w.profile);
}

START_TEST(given_back)
{
	T_NEEDS_MAP_FILES();
	comes_back(0);
	comes_back(0.01);
	comes_back(1);
}
END_TEST

/* Another program under the same pid: the previous one's ring is read to its end, and the new one has another ring. */
START_TEST(exec)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_with(1);

	kernel(&w, "before", w.now_ns, w.now_ns + 3);
	gpu_time_exec(w.time, getpid(), w.now_ns);
	ck_assert_uint_eq(watching(&w), 0);
	munmap(w.ring, ring_size(&shape));
	w.now_ns += 1000000;
	gpu_time_expect(w.time, getpid(), w.now_ns);
	ck_assert_uint_eq(watching(&w), 0);
	make_ring(&w);
	w.now_ns += 1500000000;
	ck_assert_uint_eq(watching(&w), 1);
	kernel(&w, "after", w.now_ns, w.now_ns + 5);
	gpu_time_read(w.time, w.now_ns);
	struct gpu_time_stats stats = world_end(&w);

	ck_assert_uint_eq(stats.programs, 2);
	ck_assert_uint_eq(stats.records, 2);
	ck_assert_uint_eq(stats.unknown_ns, 8);
	profile_free(w.profile);
}
END_TEST

/* A library whose agent was not scheduled has closed the window that was to stay: it is opened again, and the missing time counts. */
START_TEST(not_let_run)
{
	T_NEEDS_MAP_FILES();
	struct world w = world_with(0);
	struct ring_control *c = w.ring;
	struct gpu_time_stats stats;
	uint32_t first = c->generation;

	ck_assert_uint_ne(first, 0);
	ck_assert_int_eq(next_window_ms(&w, 100), 100); /* not while it is open */
	c->state = RING_PARKED;
	c->closed_ns = w.now_ns;
	c->seen = first;
	w.now_ns += 300000000;
	gpu_time_run(w.time, w.now_ns);
	ck_assert_uint_eq(c->generation, first + 1);
	ck_assert_uint_eq(c->deadline_ns, UINT64_MAX);
	ck_assert_int_eq(next_window_ms(&w, 100), 100);
	gpu_time_get_stats(w.time, &stats);
	ck_assert_uint_eq(stats.closed_ns, 300000000);
	/* Not for a library that has no window to open. */
	c->state = RING_INERT;
	c->seen = c->generation;
	ck_assert_int_eq(next_window_ms(&w, 100), 100);
	world_end(&w);
	profile_free(w.profile);
}
END_TEST

UNIT_MAIN("gpu_time", without_a_stack, lies, full, density, another_sink, windows, not_let_run,
	  given_back, exec)
