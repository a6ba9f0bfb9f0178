/* What a program says of its GPU, true or not: this process plays the program, with a ring of its own. */
#include "unit.h"

#include "base/clock.h"
#include "collect/gpu_time.h"
#include "gpu/ring_write.h"
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

static void make_ring(struct world *w)
{
	int fd = memfd_create(RING_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	size_t size = ring_size(&shape);

	ck_assert_int_eq(ftruncate(fd, size), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	w->ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(w->ring, MAP_FAILED);
	ring_lay_out(w->ring, &shape, getpid());
	w->names = (struct ring_names){ .ring = w->ring, .n_slots = 64 };
	w->names.slots = calloc(w->names.n_slots, sizeof *w->names.slots);
	((struct ring_control *)w->ring)->magic = RING_MAGIC;
}

static struct world world_new(void)
{
	struct world w = { .profile = profile_new(), .now_ns = clock_mono_ns() };
	struct sink *s = profile_sink(w.profile);
	struct type time = { .name = sink_string(s, "gpu-time") },
		    window = { .name = sink_string(s, "gpu-window") };
	struct resolve_opts resolve = { .sink = s };
	struct gpu_time_opts opts = { .sink = s };

	opts.time_type = resolve.types.gpu.time = s->ops->type(s, &time);
	opts.window_type = resolve.types.gpu.window = s->ops->type(s, &window);
	opts.resolver = w.resolver = resolver_new(&resolve);
	w.time = gpu_time_new(&opts, w.now_ns);
	make_ring(&w);
	gpu_time_expect(w.time, getpid(), w.now_ns);
	gpu_time_run(w.time, w.now_ns);
	return w;
}

/* What the library does when its window is over: nobody waits for it in vain. */
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

	ring_write(w->ring, ring_lane_take(w->ring, RING_LANE_BUFFER, gettid(), &shared), shared,
		   &k.r, sizeof k);
}

/* Without a stack, in its place in time, by its plain name. */
START_TEST(without_a_stack)
{
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

/* Times that cannot be: counted, and nowhere else. */
START_TEST(lies)
{
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

/* A lane that is full: what did not fit is counted. */
START_TEST(full)
{
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

UNIT_MAIN("gpu_time", without_a_stack, lies, full)
