// build: -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic
/* gpu_calls SCENARIO: makes the calls of a GPU's libraries that a file says, a statement a line:
 *
 *     CALLER launch N KERNEL       cudaLaunchKernel          CALLER driver N KERNEL    cuLaunchKernel
 *     CALLER graph N NODES         cudaGraphLaunch           CALLER wait N KERNEL      launches, then cudaDeviceSynchronize, N times
 *     CALLER alloc N BYTES         cudaMalloc, kept          CALLER free N             the last N that were kept
 *     CALLER pitch N WIDTH         cudaMallocPitch, 16 rows  CALLER handle N BYTES     cuMemCreate; CALLER release N
 *     CALLER pool N BYTES          cudaMallocAsync, and cudaFreeAsync at once
 *     CALLER copy N BYTES          cudaMemcpyAsync           CALLER copywait N BYTES   cudaMemcpy
 *     CALLER copy2d N BYTES        cuMemcpy2DAsync_v2, 4 rows
 *     CALLER rect N BYTES          cuMemcpy2D_v2, 4 rows, which waits
 *     CALLER array N WIDTH         cuArrayCreate_v2, 8 rows of two floats       CALLER array3d N WIDTH  cuArray3DCreate_v2, 4 rows, 2 deep, 4 halfs
 *     CALLER mipmap N WIDTH        cuMipmappedArrayCreate, as high, 3 layers of bytes, 3 levels         CALLER sparse N WIDTH  without memory
 *     CALLER unarray N             destroys the last N of these
 *     CALLER mapped N BYTES        cuMemCreate, cuMemMap, cuMemRelease: it stays   CALLER retained N BYTES  … cuMemRetainAllocationHandle, too
 *     CALLER unmap N               cuMemUnmap of the last N of these              CALLER unmapall 1       of all by one call
 *     CALLER allreduce N COUNT     ncclAllReduce of floats   CALLER bcast N COUNT      ncclBcast of halfs
 *     CALLER threads N KERNEL      4 threads, each N times cudaLaunchKernel
 *     CALLER deep N KERNEL         as launch, 20 frames further down
 *     CALLER reset 1               cudaDeviceReset
 *     - clocks 1      prints how long it was in calls that wait so far, and how much of that on a CPU, in ns
 *     - probed SECONDS STATEMENT,…    waits, at most that long, until a profiler has put probes into the functions of these
 *     - sleep MS      - stop 0 (until SIGCONT)      - child 1 (the rest in a child; the parent waits for it)
 *
 * CALLER is one of three functions. The libraries are loaded by their names, as programs do. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 1 << 16, DEPTH = 20, THREADS = 4, PROLOGUE = 32 /* bytes */ };
struct dim {
	unsigned x, y, z;
};
static struct {
	int (*launch)(const void *, struct dim, struct dim, void **, size_t, void *);
	int (*sync)(void);
	int (*alloc)(void **, size_t);
	int (*free)(void *);
	int (*pitch)(void **, size_t *, size_t, size_t);
	int (*alloc_async)(void **, size_t, void *);
	int (*free_async)(void *, void *);
	int (*copy)(void *, const void *, size_t, int);
	int (*copy_async)(void *, const void *, size_t, int, void *);
	int (*reset)(void);
	int (*stream)(void **);
	int (*capture)(void *, int);
	int (*captured)(void *, void **);
	int (*instantiate)(void **, void *, uint64_t);
	int (*graph)(void *, void *);
	void (*add)(void **, const char *, char *, const char *, int, void *, void *, void *,
		    void *, int *);
	int (*driver)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	int (*create)(uint64_t *, size_t, const void *, uint64_t);
	int (*release)(uint64_t);
	int (*copy2d)(const void *, void *);
	int (*copy_rect)(const void *);
	int (*array)(uint64_t *, const void *);
	int (*array3d)(uint64_t *, const void *);
	int (*mipmap)(uint64_t *, const void *, unsigned);
	int (*destroy)(uint64_t);
	int (*reserve)(uint64_t *, size_t, size_t, uint64_t, uint64_t);
	int (*map)(uint64_t, size_t, size_t, uint64_t, uint64_t);
	int (*unmap)(uint64_t, size_t);
	int (*retain)(uint64_t *, uint64_t);
	void *(*function)(const char *);
	int (*allreduce)(const void *, void *, size_t, int, int, void *, void *);
	int (*bcast)(void *, size_t, int, int, void *, void *);
} gpu;

static void *need(void *library, const char *name)
{
	void *p = library ? dlsym(library, name) : NULL;

	if (!p) {
		fprintf(stderr, "gpu_calls: %s: %s\n", name, dlerror());
		exit(1);
	}
	return p;
}

static void load(void)
{
	void *rt = dlopen("libcudart.so.13", RTLD_NOW), *cu = dlopen("libcuda.so.1", RTLD_NOW),
	     *nccl = dlopen("libnccl.so.2", RTLD_NOW);
#define GET(member, library, name) *(void **)&gpu.member = need(library, name)
	GET(launch, rt, "cudaLaunchKernel"), GET(sync, rt, "cudaDeviceSynchronize");
	GET(alloc, rt, "cudaMalloc"), GET(free, rt, "cudaFree");
	GET(pitch, rt, "cudaMallocPitch"), GET(alloc_async, rt, "cudaMallocAsync");
	GET(free_async, rt, "cudaFreeAsync"), GET(copy, rt, "cudaMemcpy");
	GET(copy_async, rt, "cudaMemcpyAsync"), GET(reset, rt, "cudaDeviceReset");
	GET(stream, rt, "cudaStreamCreate"), GET(capture, rt, "cudaStreamBeginCapture");
	GET(captured, rt, "cudaStreamEndCapture");
	GET(instantiate, rt, "cudaGraphInstantiate"), GET(graph, rt, "cudaGraphLaunch");
	GET(add, rt, "__cudaRegisterFunction"), GET(driver, cu, "cuLaunchKernel");
	GET(create, cu, "cuMemCreate"), GET(release, cu, "cuMemRelease");
	GET(copy2d, cu, "cuMemcpy2DAsync_v2"), GET(function, cu, "double_cuda_function");
	GET(copy_rect, cu, "cuMemcpy2D_v2"), GET(array, cu, "cuArrayCreate_v2");
	GET(array3d, cu, "cuArray3DCreate_v2"), GET(mipmap, cu, "cuMipmappedArrayCreate");
	GET(destroy, cu, "cuArrayDestroy"), GET(reserve, cu, "cuMemAddressReserve");
	GET(map, cu, "cuMemMap"), GET(unmap, cu, "cuMemUnmap");
	GET(retain, cu, "cuMemRetainAllocationHandle");
	GET(allreduce, nccl, "ncclAllReduce"), GET(bcast, nccl, "ncclBcast");
}

static uint64_t arrays[KEPT];
static struct {
	uint64_t at, bytes;
} mapped[KEPT];
static int n_arrays, n_mapped;

static const struct dim one = { 1, 1, 1 };
static long long in_calls_ns, in_calls_cpu_ns;

static long long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline __attribute__((always_inline)) void begin_wait(void)
{
	in_calls_cpu_ns -= clock_ns(CLOCK_THREAD_CPUTIME_ID);
	in_calls_ns -= clock_ns(CLOCK_MONOTONIC);
}

static inline __attribute__((always_inline)) void end_wait(void)
{
	in_calls_ns += clock_ns(CLOCK_MONOTONIC);
	in_calls_cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void *kept[KEPT];
static uint64_t handles[KEPT];
static int n_kept, n_handles;

/* A kernel's stand-in on the host: its address is what the runtime knows it by. */
static const char *kernel_of(const char *name)
{
	static char names[16][64];
	static int n;

	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return names[i];
	snprintf(names[n], sizeof names[n], "%s", name);
	gpu.add(NULL, names[n], NULL, names[n], 0, NULL, NULL, NULL, NULL, NULL);
	return names[n++];
}

static void *graph_of(int nodes)
{
	void *stream, *graph, *exec;
	const char *k = kernel_of("node");

	gpu.stream(&stream);
	gpu.capture(stream, 0);
	for (int i = 0; i < nodes; i++)
		gpu.launch(k, one, one, NULL, 0, stream);
	gpu.captured(stream, &graph);
	gpu.instantiate(&exec, graph, 0);
	return exec;
}

static __attribute__((noinline)) int launch_deep(const char *kernel, int depth)
{
	char room[64] = { depth };

	if (depth)
		return launch_deep(kernel, depth - 1) + room[0];
	return gpu.launch(kernel, one, one, NULL, 0, NULL) + room[0];
}

struct thread_work {
	const char *kernel;
	int n;
};
static void *thread_launches(void *arg)
{
	const struct thread_work *w = arg;

	for (int i = 0; i < w->n; i++)
		gpu.launch(w->kernel, one, one, NULL, 0, NULL);
	return NULL;
}

static void launch_in_threads(const char *kernel, int n)
{
	pthread_t threads[THREADS];
	struct thread_work w = { kernel, n };

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_launches, &w);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void alloc_some(int n, size_t bytes)
{
	for (int i = 0; i < n; i++)
		gpu.alloc(&kept[n_kept++], bytes);
}

struct array_2d {
	uint64_t width, height;
	uint32_t format, channels;
};
struct array_3d {
	uint64_t width, height, depth;
	uint32_t format, channels, flags;
};
enum { HALFS = 0x10, FLOATS = 0x20, BYTES = 0x01, LAYERED = 1, SPARSE = 0x40 };

/* Where the next one of so many bytes goes: all of them are beside each other. */
static uint64_t next_address(size_t bytes)
{
	static uint64_t at;

	if (!at)
		gpu.reserve(&at, (size_t)1 << 40, 0, 0, 0);
	mapped[n_mapped].bytes = bytes;
	mapped[n_mapped].at = at;
	at += bytes;
	return mapped[n_mapped++].at;
}

static void unmap_all(void)
{
	gpu.unmap(mapped[0].at,
		  mapped[n_mapped - 1].at + mapped[n_mapped - 1].bytes - mapped[0].at);
	n_mapped = 0;
}

/* One that is there in each function that calls it, so that its frame is that function's. */
static inline __attribute__((always_inline)) void act(const char *what, int n, const char *with)
{
	uint64_t rect[16] = { [14] = strtoull(with, NULL, 0), [15] = 4 };
	const char *kernel = !strcmp(what, "launch") || !strcmp(what, "wait") ||
					     !strcmp(what, "threads") || !strcmp(what, "deep")
				     ? kernel_of(with)
				     : NULL;
	void *function = !strcmp(what, "driver") ? gpu.function(with) : NULL;
	void *exec = !strcmp(what, "graph") ? graph_of(atoi(with)) : NULL;
	size_t bytes = strtoull(with, NULL, 0), pitch;
	struct array_2d flat = { bytes, 8, FLOATS, 2 };
	struct array_3d deep = { bytes, 4, 2, HALFS, 4, 0 };
	struct array_3d layers = { bytes, bytes, 3, BYTES, 1, LAYERED };
	struct array_3d sparse = { bytes, bytes, 3, BYTES, 1, SPARSE };
	uint64_t handle;
	void *p;

	if (!strcmp(what, "threads"))
		launch_in_threads(kernel, n);
	for (int i = 0; i < n; i++) {
		if (!strcmp(what, "launch"))
			gpu.launch(kernel, one, one, NULL, 0, NULL);
		else if (!strcmp(what, "driver"))
			gpu.driver(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		else if (!strcmp(what, "graph"))
			gpu.graph(exec, NULL);
		else if (!strcmp(what, "deep"))
			launch_deep(kernel, DEPTH);
		else if (!strcmp(what, "wait"))
			gpu.launch(kernel, one, one, NULL, 0, NULL), begin_wait(), gpu.sync(),
				end_wait();
		else if (!strcmp(what, "alloc"))
			gpu.alloc(&kept[n_kept++], bytes);
		else if (!strcmp(what, "free"))
			gpu.free(kept[--n_kept]);
		else if (!strcmp(what, "pitch"))
			gpu.pitch(&kept[n_kept++], &pitch, bytes, 16);
		else if (!strcmp(what, "handle"))
			gpu.create(&handles[n_handles++], bytes, NULL, 0);
		else if (!strcmp(what, "release"))
			gpu.release(handles[--n_handles]);
		else if (!strcmp(what, "pool"))
			gpu.alloc_async(&p, bytes, NULL), gpu.free_async(p, NULL);
		else if (!strcmp(what, "copy"))
			gpu.copy_async(kept, kept, bytes, 1, NULL);
		else if (!strcmp(what, "copywait"))
			begin_wait(), gpu.copy(kept, kept, bytes, 2), end_wait();
		else if (!strcmp(what, "copy2d"))
			gpu.copy2d(rect, NULL);
		else if (!strcmp(what, "rect"))
			begin_wait(), gpu.copy_rect(rect), end_wait();
		else if (!strcmp(what, "array"))
			gpu.array(&arrays[n_arrays++], &flat);
		else if (!strcmp(what, "array3d"))
			gpu.array3d(&arrays[n_arrays++], &deep);
		else if (!strcmp(what, "mipmap"))
			gpu.mipmap(&arrays[n_arrays++], &layers, 3);
		else if (!strcmp(what, "sparse"))
			gpu.array3d(&arrays[n_arrays++], &sparse);
		else if (!strcmp(what, "unarray"))
			gpu.destroy(arrays[--n_arrays]);
		else if (!strcmp(what, "mapped"))
			gpu.create(&handle, bytes, NULL, 0),
				gpu.map(next_address(bytes), bytes, 0, handle, 0),
				gpu.release(handle);
		else if (!strcmp(what, "retained"))
			gpu.create(&handle, bytes, NULL, 0),
				gpu.map(next_address(bytes), bytes, 0, handle, 0),
				gpu.retain(&handle, mapped[n_mapped - 1].at), gpu.release(handle);
		else if (!strcmp(what, "unmap"))
			n_mapped--, gpu.unmap(mapped[n_mapped].at, mapped[n_mapped].bytes);
		else if (!strcmp(what, "unmapall"))
			unmap_all();
		else if (!strcmp(what, "allreduce"))
			gpu.allreduce(NULL, NULL, bytes, 7, 0, NULL, NULL);
		else if (!strcmp(what, "bcast"))
			gpu.bcast(NULL, bytes, 6, 0, NULL, NULL);
		else if (!strcmp(what, "reset"))
			gpu.reset(), n_kept = 0;
	}
}

#define CALLER(name) \
	static __attribute__((noinline)) void name(const char *what, int n, const char *with) \
	{ \
		act(what, n, with); \
		asm volatile("" ::"r"(what)); \
	}
CALLER(train)
CALLER(infer)
CALLER(setup)

/* A uprobe is a breakpoint among a function's first bytes (src/attach/prologue.h). */
static int has_probe(const char *statement)
{
	const struct {
		const char *name;
		const void *function;
	} all[] = {
		{ "launch", gpu.launch },   { "driver", gpu.driver },
		{ "graph", gpu.graph },     { "wait", gpu.sync },
		{ "alloc", gpu.alloc },     { "free", gpu.free },
		{ "pitch", gpu.pitch },     { "pool", gpu.alloc_async },
		{ "handle", gpu.create },   { "release", gpu.release },
		{ "copy", gpu.copy_async }, { "copywait", gpu.copy },
		{ "copy2d", gpu.copy2d },   { "rect", gpu.copy_rect },
		{ "array", gpu.array },     { "array3d", gpu.array3d },
		{ "mipmap", gpu.mipmap },   { "unarray", gpu.destroy },
		{ "mapped", gpu.map },      { "unmap", gpu.unmap },
		{ "retained", gpu.retain }, { "allreduce", gpu.allreduce },
		{ "bcast", gpu.bcast },     { "reset", gpu.reset },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, statement))
			return memchr(all[i].function, 0xcc, PROLOGUE) != NULL;
	return 1;
}

/* Waits until the functions of these statements, with commas between them, have probes. */
static void until_probed(const char *statements, int seconds)
{
	char text[256];

	snprintf(text, sizeof text, "%s", statements);
	for (char *s = strtok(text, ","); s; s = strtok(NULL, ","))
		for (int tries = 0; !has_probe(s) && tries < 100 * seconds; tries++)
			usleep(10000);
}

static void pause_here(const char *what, int n, const char *with)
{
	const char *slower = getenv("CRESSET_SLOW"); /* tests/live/lib.sh */
	int status;

	if (!strcmp(what, "sleep"))
		usleep(n * 1000 * (slower ? atoi(slower) : 1));
	else if (!strcmp(what, "probed"))
		until_probed(with, n);
	else if (!strcmp(what, "clocks"))
		printf("%lld %lld\n", in_calls_ns, in_calls_cpu_ns), fflush(stdout);
	else if (!strcmp(what, "stop"))
		raise(SIGSTOP);
	else if (!strcmp(what, "child") && fork()) {
		wait(&status);
		exit(WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
	char caller[32], what[32], with[192], line[256];
	int n;

	if (!f)
		return 2;
	load();
	alloc_some(0, 0);
	while (fgets(line, sizeof line, f)) {
		snprintf(with, sizeof with, "0");
		if (sscanf(line, "%31s %31s %d %191s", caller, what, &n, with) < 3)
			continue;
		if (caller[0] == '-')
			pause_here(what, n, with);
		else if (!strcmp(caller, "train"))
			train(what, n, with);
		else if (!strcmp(caller, "infer"))
			infer(what, n, with);
		else
			setup(what, n, with);
	}
	return 0;
}
