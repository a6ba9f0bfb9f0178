// build: -O2 -fno-omit-frame-pointer -Isrc
/* A GPU program of known truth, on the driver's double: what it launches is a function of the scenario alone (the
 * file that CRESSET_DOUBLE names, see tests/doubles), which tests/unit/gpu_answers.py computes by itself.
 *
 *     play threads N             thread T works on device T modulo their number, in a stream of its own
 *     play launches N            of each thread; launch I is of kernel (7 T + 13 I + I / 5) modulo the kernels named
 *     play graph EVERY NODES     each EVERYth launch is a graph of the first NODES kernels instead
 *     play copy EVERY BYTES      each EVERYth launch is followed by a copy to the device
 *     play pace US               a pause after each 64 launches
 *     play waits PERCENT         then also a wait while a lane of the ring is fuller than that, which the library itself never
 *                                does: a reader that is late loses nothing. Not for programs that are detached
 *
 * It says "ready" and then does what it reads, a word a line: go (and says "done"), warm (a kernel of that name in each
 * context), fresh (each kernel once in a context of its own, which is made for that and destroyed), fork (a child that
 * launches and says "child"), end (its contexts), close (all descriptors but the first three, and has their numbers
 * again), exec (itself, from the start, as the same process), watched (nothing, until a window of its ring is open), and
 * ends with the input. With the argument "cupti" it loads CUPTI itself, as a
 * program that profiles itself does; with "late" the library once it is set up. */
#include "../../doubles/script.h"
#include "gpu/ring/ring.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KERNELS = 64, THREADS = 64, DEVICES = 16, DESCRIPTORS = 64 };

static int (*cuInit)(unsigned), (*cuDeviceGetCount)(int *), (*cuCtxCreate)(void **, unsigned, int),
	(*cuCtxSetCurrent)(void *);
static int (*cuCtxSynchronize)(void), (*cuStreamCreate)(void **, unsigned),
	(*cuModuleLoadData)(void **, const void *);
static int (*cuModuleGetFunction)(void **, void *, const char *),
	(*cuGraphCreate)(void **, unsigned), (*cuCtxDestroy)(void *);
static int (*cuGraphAddKernelNode)(uint64_t *, void *, const uint64_t *, size_t, void **);
static int (*cuGraphInstantiate)(void **, void *, uint64_t), (*cuGraphLaunch)(void *, void *);
static int (*cuMemcpyHtoDAsync)(uint64_t, const void *, size_t, void *);
static int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			     unsigned, void *, void **, void **);

static struct {
	char kernel[KERNELS][128];
	int n_kernels, threads, launches, graph_every, nodes, copy_every, copy_bytes, pace_us,
		full_percent;
} script = { .threads = 1 };
static void *contexts[DEVICES], *functions[KERNELS], *graph, *warm_up;
static int n_devices;

static void statement(int n, char **w)
{
	if (n >= 4 && !strcmp(w[0], "kernel") && strcmp(w[1], "*") && script.n_kernels < KERNELS)
		snprintf(script.kernel[script.n_kernels++], 128, "%s", w[1]);
	if (n < 3 || strcmp(w[0], "play"))
		return;
	int a = strtol(w[2], NULL, 10), b = n > 3 ? strtol(w[3], NULL, 10) : 0;

	if (!strcmp(w[1], "threads"))
		script.threads = a;
	else if (!strcmp(w[1], "launches"))
		script.launches = a;
	else if (!strcmp(w[1], "graph"))
		script.graph_every = a, script.nodes = b;
	else if (!strcmp(w[1], "copy"))
		script.copy_every = a, script.copy_bytes = b;
	else if (!strcmp(w[1], "pace"))
		script.pace_us = a;
	else if (!strcmp(w[1], "waits"))
		script.full_percent = a;
}

static void load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(3);
	}
#define GET(f, name) *(void **)&f = dlsym(lib, name)
	GET(cuInit, "cuInit"), GET(cuDeviceGetCount, "cuDeviceGetCount"),
		GET(cuCtxCreate, "cuCtxCreate_v2");
	GET(cuCtxSetCurrent, "cuCtxSetCurrent"), GET(cuCtxSynchronize, "cuCtxSynchronize");
	GET(cuStreamCreate, "cuStreamCreate"), GET(cuModuleLoadData, "cuModuleLoadData");
	GET(cuModuleGetFunction, "cuModuleGetFunction"), GET(cuGraphCreate, "cuGraphCreate");
	GET(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2"),
		GET(cuGraphInstantiate, "cuGraphInstantiateWithFlags");
	GET(cuGraphLaunch, "cuGraphLaunch"), GET(cuLaunchKernel, "cuLaunchKernel");
	GET(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"), GET(cuCtxDestroy, "cuCtxDestroy_v2");
}

static void set_up(void)
{
	void *module, *made;

	cuInit(0);
	cuDeviceGetCount(&n_devices);
	for (int i = 0; i < n_devices; i++)
		cuCtxCreate(&contexts[i], 0, i);
	cuModuleLoadData(&module, NULL);
	cuGraphCreate(&made, 0);
	for (int i = 0; i < script.n_kernels; i++)
		cuModuleGetFunction(&functions[i], module, script.kernel[i]);
	for (int i = 0; i < script.nodes; i++) {
		uint64_t node;
		void *params[8] = { functions[i] };

		cuGraphAddKernelNode(&node, made, NULL, 0, params);
	}
	cuGraphInstantiate(&graph, made, 0);
	cuModuleGetFunction(&warm_up, module, "warm");
}

/* Two ways to a launch, so that stacks can be told apart: even and odd ones. */
static __attribute__((noinline)) void launch_even(void *f, void *stream)
{
	cuLaunchKernel(f, 64, 2, 1, 256, 1, 1, 1024, stream, NULL, NULL);
	__asm__ volatile("/* even */"); /* not one function with the other */
}
static __attribute__((noinline)) void launch_odd(void *f, void *stream)
{
	cuLaunchKernel(f, 64, 2, 1, 256, 1, 1, 1024, stream, NULL, NULL);
	__asm__ volatile("");
}

static void one(int t, int i, void *stream)
{
	int k = (7 * t + 13 * i + i / 5) % script.n_kernels;

	if (script.graph_every && i % script.graph_every == script.graph_every - 1)
		cuGraphLaunch(graph, stream);
	else if (i & 1)
		launch_odd(functions[k], stream);
	else
		launch_even(functions[k], stream);
	if (script.copy_every && i % script.copy_every == script.copy_every - 1)
		cuMemcpyHtoDAsync(0x1000, NULL, script.copy_bytes, stream);
}

/* Returns the ring of the library in this process, or NULL. */
static const volatile struct ring_control *own_ring(void)
{
	char line[512];
	unsigned long start = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !start && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:cresset-ring"))
			start = strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	return (const void *)start;
}

static bool is_full(const volatile struct ring_control *ring)
{
	const volatile struct ring_lane *lanes =
		(const volatile void *)((const volatile char *)ring + RING_LANES_AT);

	for (uint32_t i = 0; i < ring->lanes; i++)
		if ((lanes[i].head - lanes[i].tail) * 100 >
		    (uint64_t)lanes[i].size * script.full_percent)
			return true;
	return false;
}

/* Work that has not run yet is in no lane, and may come with all the rest. */
static void wait_for_reader(const volatile struct ring_control *ring)
{
	cuCtxSynchronize();
	while (is_full(ring))
		usleep(1000);
}

static void *work(void *arg)
{
	int t = (int)(intptr_t)arg;
	const volatile struct ring_control *ring = script.full_percent ? own_ring() : NULL;
	void *stream;

	cuCtxSetCurrent(contexts[t % n_devices]);
	cuStreamCreate(&stream, 0);
	for (int i = 0; i < script.launches; i++) {
		one(t, i, stream);
		if (i % 64 == 63 && script.pace_us)
			usleep(script.pace_us);
		if (i % 64 == 63 && ring)
			wait_for_reader(ring);
	}
	return NULL;
}

static void play(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < script.threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	for (int i = 0; i < script.threads; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < n_devices; i++) {
		cuCtxSetCurrent(contexts[i]);
		cuCtxSynchronize();
	}
	puts("done");
}

static void warm(void)
{
	for (int i = 0; i < n_devices; i++) {
		cuCtxSetCurrent(contexts[i]);
		launch_even(warm_up, NULL);
		cuCtxSynchronize();
	}
	puts("warm");
}

static void play_fresh(void)
{
	void *context, *stream;

	cuCtxCreate(&context, 0, 0);
	cuStreamCreate(&stream, 0);
	for (int i = 0; i < script.n_kernels; i++)
		launch_odd(functions[i], stream);
	cuCtxSynchronize();
	cuCtxDestroy(context);
	puts("fresh");
}

static void play_in_child(void)
{
	pid_t child = fork();

	if (!child) {
		work(0);
		_exit(0);
	}
	int status = -1;

	waitpid(child, &status, 0);
	puts(status ? "child failed" : "child");
}

static void close_all(void)
{
	for (int fd = 3; fd < 3 + DESCRIPTORS; fd++) {
		int null = open("/dev/null", O_RDONLY);

		dup2(null, fd);
		if (null != fd && (null < 3 || null >= 3 + DESCRIPTORS))
			close(null);
	}
	puts("closed");
}

/* Loads the library as an agent has it loaded into a program that runs: dlopen, nothing else; and then a copy of it. */
static void load_late(void)
{
	const char *path = getenv("CRESSET_LATE"), *copy = getenv("CRESSET_LATE_COPY");

	if (!path || !copy || !dlopen(path, RTLD_NOW))
		_exit(4);
	usleep(100000); /* the first one's thread makes its ring */
	if (!dlopen(copy, RTLD_NOW))
		_exit(4);
}

/* Also if its window cannot open. */
static bool is_watched(const volatile struct ring_control *ring)
{
	return ring && (ring->state > RING_PARKED || ring->error_part);
}

/* At most two minutes. */
static void wait_until_watched(void)
{
	for (int i = 0; i < 120000 && !is_watched(own_ring()); i++)
		usleep(1000);
}

int main(int argc, char **argv)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	script_read(statement);
	if (argc > 1 && !strcmp(argv[1], "cupti") && !dlopen("libcupti.so.13", RTLD_NOW))
		return 3;
	load();
	set_up();
	if (argc > 1 && !strcmp(argv[1], "late"))
		load_late();
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		if (!strcmp(line, "go\n"))
			play();
		else if (!strcmp(line, "warm\n"))
			warm();
		else if (!strcmp(line, "fresh\n"))
			play_fresh();
		else if (!strcmp(line, "fork\n"))
			play_in_child();
		else if (!strcmp(line, "exec\n"))
			execv(argv[0], argv);
		else if (!strcmp(line, "watched\n"))
			wait_until_watched();
		else if (!strcmp(line, "close\n"))
			close_all();
		else if (!strcmp(line, "end\n")) {
			for (int i = 0; i < n_devices; i++)
				cuCtxDestroy(contexts[i]);
			puts("ended");
		}
	}
	return 0;
}
