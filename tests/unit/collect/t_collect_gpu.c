// tier: test
/* Calls of GPU libraries on the running kernel, by every method of tracing, including those for older kernels. Their content is tested in
 * tests/live/gpu_calls.sh. */
#include "base/buf.h"
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/sampler_opts.h"
#include "may_bpf.h"
#include "profile/copy.h"
#include "profile/profile.h"
#include "profile/state.h"
#include "unit.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCHES = 70, BLOCKS = 5, BLOCK = 4096, MS = 1000000, WAIT_MS = 60 };

/* Maps the driver's double and, when told, makes its calls until it is killed. */
static pid_t start_caller(int go_fd, int done_fd)
{
	const char *build = getenv("BUILD");
	char path[256], byte = 0;
	void *function, *driver, *context;
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*alloc)(uint64_t *, size_t), (*release)(uint64_t), (*init)(unsigned);
	int (*retain)(void **, int), (*use)(void *), (*synchronize)(void);
	void *(*kernel)(const char *);
	uint64_t address[BLOCKS];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(path, sizeof path, "%s/doubles/libcuda.so.1", build ? build : "build");
	driver = dlopen(path, RTLD_NOW);
	if (!driver)
		_exit(1);
#define GET(what, name) *(void **)&what = dlsym(driver, name)
	GET(launch, "cuLaunchKernel"), GET(kernel, "double_cuda_function"), GET(init, "cuInit");
	GET(alloc, "cuMemAlloc_v2"), GET(release, "cuMemFree_v2");
	GET(synchronize, "cuCtxSynchronize"), GET(retain, "cuDevicePrimaryCtxRetain"),
		GET(use, "cuCtxSetCurrent");
	function = kernel("k");
	if (init(0) || retain(&context, 0) || use(context) || write(done_fd, &byte, 1) != 1 ||
	    read(go_fd, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < LAUNCHES; i++)
		launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	for (int i = 0; i < BLOCKS; i++)
		alloc(&address[i], BLOCK);
	release(address[0]);
	synchronize();
	launch(kernel("slow"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	synchronize();
	if (write(done_fd, &byte, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int64_t sum_of(struct profile *p, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++) {
		const struct series *s = &p->series.series.v[p->samples.series[i]];
		uint32_t type = p->series.types.v[s->type].name;

		if (strcmp(profile_str(p, type), name) == 0)
			sum += p->samples.value[i];
	}
	return sum;
}

/* A thread's `wall` values whose leaf begins with this. */
static int64_t wall_of(struct profile *p, uint32_t tid, const char *leaf)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++) {
		const struct series *s = &p->series.series.v[p->samples.series[i]];
		uint32_t at = stack_leaf(&p->stacks, p->samples.stack[i]);
		const struct frame *f = at == UINT32_MAX ? NULL : &p->frames.frames.v[at];
		const char *name =
			f && f->mapping == MAPPING_NONE ? profile_str(p, f->function) : "";

		if (p->samples.tid[i] == tid &&
		    strcmp(profile_str(p, p->series.types.v[s->type].name), "wall") == 0 &&
		    strncmp(name, leaf, strlen(leaf)) == 0)
			sum += p->samples.value[i];
	}
	return sum;
}

/* It waits for WAIT_MS, on the CPU as scheduled; its times add up to its life, to the nanosecond. */
static void check_wall(struct profile *p, uint32_t tid)
{
	int64_t ready = wall_of(p, tid, "[sched-wait]"),
		waits = wall_of(p, tid, "[waiting for GPU"), life = 0;

	for (size_t i = 0; i < p->threads.all.n; i++) {
		const struct thread_times *t = &p->threads.all.v[i];

		if (t->tid == tid)
			life = t->on_ns + t->off_ns + t->wait_ns + t->stopped_ns;
	}
	ck_assert_int_gt(life, WAIT_MS * MS);
	ck_assert_int_eq(wall_of(p, tid, ""), life);
	ck_assert_int_ge(waits + ready, WAIT_MS * MS - MS);
	ck_assert_int_le(waits, WAIT_MS * MS + 100 * MS);
}

/* The script of the driver's double. */
static void write_script(char *path)
{
	static const char text[] = "kernel slow ns 60000000\nkernel * ns 1000\nwait spin\n";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
	close(fd);
	setenv("CRESSET_DOUBLE", path, 1);
}

static bool kernel_has(uint32_t feature, uint32_t without)
{
	struct kernel_features kernel;

	kernel_features_find(NULL, without, &kernel);
	return kernel.has & feature;
}

static void check_way(uint32_t without)
{
	char script[] = "/tmp/cresset-double.XXXXXX";
	int go[2], done[2];
	struct err err = { 0 };
	struct collector *c = NULL;
	struct collect_stats stats;
	struct profile *p = profile_new();
	char byte = 0;

	write_script(script);
	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(done), 0);
	uint32_t pid = start_caller(go[0], done[1]);
	struct collect_opts opts = { .sampler = { .target = TARGET_PID,
						  .ids = &pid,
						  .n_ids = 1,
						  .events = COLLECT_GPU_LAUNCH | COLLECT_HBM_ALLOC |
							    COLLECT_HBM_INUSE | COLLECT_WALL,
						  .waits.min_block_ns = WAIT_MIN_BLOCK_NS,
						  .kernel.without = without } };

	ck_assert_int_eq(read(done[0], &byte, 1), 1);
	ck_assert_msg(collect_open(&opts, profile_sink(p), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	ck_assert_int_eq(write(go[1], &byte, 1), 1);
	ck_assert_int_eq(read(done[0], &byte, 1), 1);
	for (uint64_t end_ns = clock_mono_ns() + 300ull * MS; clock_mono_ns() < end_ns;)
		ck_assert_int_eq(collect_run(c, 20, &err), 0);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_symbolize(c);
	collect_get_stats(c, &stats);
	unlink(script);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	ck_assert_msg(!stats.gpu.problem[0], "%s", stats.gpu.problem);
	ck_assert_str_eq(stats.gpu.how,
			 kernel_has(FEATURE_UPROBE_MULTI, without) ? "uprobe.multi" : "uprobes");
	ck_assert_uint_eq(stats.gpu.files, 1);
	ck_assert_uint_eq(stats.lost, 0);
	ck_assert_uint_eq(stats.gpu.counters[GPU_COUNT_LAUNCHES], LAUNCHES + 1);
	ck_assert_int_eq(sum_of(p, "gpu-launch"), LAUNCHES + 1);
	ck_assert_int_eq(sum_of(p, "hbm-alloc"), BLOCKS * BLOCK);
	ck_assert_int_eq(sum_of(p, "hbm-inuse"), (BLOCKS - 1) * BLOCK);
	ck_assert_int_eq(sum_of(p, "hbm-inuse-objects"), BLOCKS - 1);
	check_wall(p, pid);
	collect_free(c);
	profile_free(p);
	close(go[0]), close(go[1]), close(done[0]), close(done[1]);
}

/* --- stacks that a library in the program asks for ------------------------------------------------------------------------- */

enum { ASKED = 40 };

/* When told, reports launches 0 … ASKED - 1, each with a weight one more; later none, as nobody is attached. Answers each time with the number
 * attached. */
static pid_t start_teller(int go_fd, int done_fd)
{
	const char *build = getenv("BUILD");
	char path[256];
	int (*tell)(uint32_t, uint32_t, uint32_t), attached = 0, byte;
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(path, sizeof path, "%s/doubles/libcresset-cuda.so", build ? build : "build");
	void *library = dlopen(path, RTLD_NOW);
	if (!library)
		_exit(1);
	*(void **)&tell = dlsym(library, "double_launch");
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < (round == 1 ? ASKED : 1); i++)
			attached = tell(i, 7, i + 1);
		if (write(done_fd, &attached, sizeof attached) < 0 || read(go_fd, &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

struct told {
	uint32_t pid, n;
	uint64_t correlations, weights;
};

static void on_stack(void *ctx, uint32_t pid, uint32_t tid, uint32_t correlation, uint32_t stack,
		     uint32_t weight)
{
	struct told *t = ctx;

	ck_assert_uint_eq(pid, t->pid);
	ck_assert_uint_eq(tid, t->pid);
	ck_assert_uint_ne(stack, 0);
	ck_assert_uint_eq(weight, correlation + 1);
	t->n++;
	t->correlations += correlation;
	t->weights += weight;
}

static int next_round(const int go[2], const int done[2])
{
	int attached = -1;

	if (go)
		ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(read(done[0], &attached, sizeof attached), sizeof attached);
	return attached;
}

START_TEST(requested)
{
	int go[2], done[2];
	struct err err = { 0 };
	struct collector *c = NULL;
	struct told told = { 0 };

	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(done), 0);
	struct profile *p = profile_new();
	told.pid = start_teller(go[0], done[1]);
	struct collect_opts opts = { .sampler = { .target = TARGET_PID,
						  .ids = &told.pid,
						  .n_ids = 1,
						  .events = COLLECT_GPU_STACK },
				     .gpu = { .stack = on_stack, .stack_ctx = &told } };

	int others = next_round(NULL, done); /* that watch this machine */
	ck_assert_msg(collect_open(&opts, profile_sink(p), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	ck_assert_int_gt(next_round(go, done), others);
	for (int round = 0; told.n < ASKED && round < 1500; round++)
		ck_assert_int_eq(collect_run(c, 20, &err), 0);
	ck_assert_int_eq(collect_run(c, 20, &err), 0); /* no more than that */
	ck_assert_int_eq(collect_stop(c, &err), 0);
	ck_assert_int_eq(next_round(go, done), others);
	ck_assert_uint_eq(told.n, ASKED);
	ck_assert_uint_eq(told.correlations, ASKED * (ASKED - 1) / 2);
	ck_assert_uint_eq(told.weights, ASKED * (ASKED + 1) / 2);
	kill(told.pid, SIGKILL);
	waitpid(told.pid, NULL, 0);
	collect_free(c);
	profile_free(p);
	close(go[0]), close(go[1]), close(done[0]), close(done[1]);
}
END_TEST

/* --- one sink after the other ---------------------------------------------------------------------------------------------- */

static void run_for(struct collector *c, uint64_t ms)
{
	struct err err = { 0 };

	for (uint64_t end_ns = clock_mono_ns() + ms * MS; clock_mono_ns() < end_ns;)
		ck_assert_int_eq(collect_run(c, 20, &err), 0);
	ck_assert_msg(collect_cut(c, &err) == 0, "%s", err.text);
}

/* The frames of the only stack with memory in use, as text. */
static void stack_in_use(struct profile *p, struct buf *out)
{
	uint32_t frames[512], stack = 0;

	for (size_t i = 0; i < p->samples.n; i++) {
		const struct series *s = &p->series.series.v[p->samples.series[i]];

		if (strcmp(profile_str(p, p->series.types.v[s->type].name), "hbm-inuse") == 0)
			stack = p->samples.stack[i];
	}
	ck_assert_uint_gt(stack_depth(&p->stacks, stack), 2);
	ck_assert_uint_le(stack_depth(&p->stacks, stack), 512);
	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < stack_depth(&p->stacks, stack); i++) {
		const struct frame *f = &p->frames.frames.v[frames[i]];

		if (f->mapping == MAPPING_NONE)
			buf_addf(out, "%s;", profile_str(p, f->function));
		else
			buf_addf(out, "%s+%llx;",
				 profile_str(p, p->frames.mappings.v[f->mapping].name),
				 (unsigned long long)f->offset);
	}
}

/* Memory in use is in each interval with its current value, in the next sink under the same stack; and as zero, once, when its process is gone. */
START_TEST(memory_over_sinks)
{
	int go[2], done[2];
	struct err err = { 0 };
	struct collector *c = NULL;
	struct profile *p[2] = { profile_new(), profile_new() };
	struct profile_copy copy;
	struct buf stacks[2] = { 0 };
	char byte = 0;

	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(done), 0);
	uint32_t pid = start_caller(go[0], done[1]);
	struct collect_opts opts = { .sampler = { .target = TARGET_PID,
						  .ids = &pid,
						  .n_ids = 1,
						  .events = COLLECT_HBM_INUSE },
				     .gpu.budget = 0.001 };

	ck_assert_int_eq(read(done[0], &byte, 1), 1);
	ck_assert_msg(collect_open(&opts, profile_sink(p[0]), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	ck_assert_int_eq(write(go[1], &byte, 1), 1);
	ck_assert_int_eq(read(done[0], &byte, 1), 1);
	run_for(c, 300);
	ck_assert_int_eq(sum_of(p[0], "hbm-inuse"), (BLOCKS - 1) * BLOCK);
	run_for(c, 50);
	ck_assert_int_eq(sum_of(p[0], "hbm-inuse"), 2 * (BLOCKS - 1) * BLOCK);
	/* Ids of the first sink are invalid in the second. */
	for (int i = 0; i < 100; i++) {
		char text[16];
		snprintf(text, sizeof text, "other %d", i);
		struct frame f = { .kind = FRAME_MARKER,
				   .mapping = MAPPING_NONE,
				   .function = sink_string(profile_sink(p[1]), text) };
		uint32_t frame = profile_sink(p[1])->ops->frame(profile_sink(p[1]), &f);
		profile_sink(p[1])->ops->stack(profile_sink(p[1]), &frame, 1);
	}
	profile_copy_init(&copy, p[0], p[1]);
	ck_assert_msg(collect_set_sink(c, profile_sink(p[1]), &copy, &err) == 0, "%s", err.text);
	profile_copy_done(&copy);
	run_for(c, 50);
	ck_assert_int_eq(sum_of(p[1], "hbm-inuse"), (BLOCKS - 1) * BLOCK);
	stack_in_use(p[0], &stacks[0]);
	stack_in_use(p[1], &stacks[1]);
	ck_assert_str_eq(buf_cstr(&stacks[0]), buf_cstr(&stacks[1]));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	p[1]->samples.n = 0;
	for (int i = 0; i < 100 && !p[1]->samples.n; i++) {
		run_for(c, 100);
		if (sum_of(p[1], "hbm-inuse")) /* its end is not known yet */
			p[1]->samples.n = 0;
	}
	ck_assert_uint_eq(p[1]->samples.n, 2); /* no bytes, no objects */
	run_for(c, 100);
	ck_assert_uint_eq(p[1]->samples.n, 2);
	collect_free(c);
	for (int i = 0; i < 2; i++) {
		buf_done(&stacks[i]);
		profile_free(p[i]);
	}
	close(go[0]), close(go[1]), close(done[0]), close(done[1]);
}
END_TEST

#define WAY(name, without) \
	START_TEST(name) \
	{ \
		if (!may_load_bpf()) \
			T_SKIP("needs root, and a kernel that takes BPF programs"); \
		check_way(without); \
	} \
	END_TEST
WAY(multi, 0)
WAY(one_by_one, FEATURE_UPROBE_MULTI)
WAY(growing_tables, FEATURE_GROWING_TABLES)
WAY(hash_tables, FEATURE_TASK_STORAGE)

UNIT_MAIN("collect_gpu", multi, one_by_one, growing_tables, hash_tables, requested,
	  memory_over_sinks)
