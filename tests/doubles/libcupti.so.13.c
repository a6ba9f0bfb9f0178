/* tests/doubles/libcupti.so.13.c: a CUPTI without a GPU: the functions that libcresset-cuda.so uses, with the records
 * of the real one, made of what the driver's double reports (cuda.h).
 *
 * What is behind the parts of a record that are used is filled with 0xa5, times are of CLOCK_REALTIME unless another
 * clock was given before anything was enabled, and what the documentation forbids ends the process with a message.
 *
 *     cupti version N        what cuptiGetVersion says (130101). Below 130001 kernels cannot be switched off: it hangs
 *     cupti busy "…"         subscribing fails with 39, for a tool called so
 *     cupti unknown          every call but the version fails with 999, as without a driver
 *     cupti memory           kernels cannot be enabled: out of memory (8)
 *     cupti drop N           every Nth record is dropped, and counted so
 *     cupti late MS          records are handed over only so long after the last of them
 *     cupti overhead NS      each flush costs that much, and says so
 *     cupti correlation N    ids begin there, and wrap
 *
 * and, of PC sampling (libcupti_stalls.h),
 *
 *     stall KERNEL OFFSET REASON N [M]   each time KERNEL runs in a context that is sampled, N samples at OFFSET with REASON (as
 *                            "long_scoreboard"), of which M in cycles without an instruction issued
 *     module FILE KERNEL…    (libcuda) whose number those samples have
 *     stalls spread N        each stall is at N places instead of one, 16 bytes apart (1)
 *     stalls period N        what the period is, as a power of two cycles (11)
 *     stalls drop N          the samples of every Nth kernel are dropped by the device, and counted so
 *     stalls other N         each kernel is N samples in kernels of the driver's own, too
 *     stalls late            samples come with Disable alone, none before
 *     stalls memory N        the Nth reading says that the device's buffer was full (8); 0: enabling says so
 *     stalls denied          enabling fails for want of a privilege (35)
 *     stalls error CODE      configuring fails so */
// build: -shared -fPIC -O2 -fno-omit-frame-pointer -fvisibility=hidden -Wl,-soname,libcupti.so.13 -ldl
#include "../../src/gpu/inject/cupti_abi.h"
#include "cuda.h"
#include "script.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
	KINDS = 64,
	CBIDS = 1024,
	KERNEL_SIZE = 216,
	OLD_KERNEL_SIZE = 208,
	STREAMS = 256,
	NAMES = 4096
};

struct filled {
	uint8_t *data;
	size_t size, used;
	uint64_t last_ns; /* when the last record was made */
};
static struct {
	pthread_mutex_t lock;
	uint32_t version, drop_every, late_ms, first_correlation;
	uint64_t overhead_ns;
	bool unknown, no_memory;
	char busy[64];
	bool enabled[KINDS], wanted[8][CBIDS], any_enabled;
	cupti_callback *callback;
	void *user;
	cupti_request *request;
	cupti_completed *completed;
	uint64_t (*clock)(void);
	int64_t offset_ns; /* of the clock that was not given */
	struct filled now;
	uint64_t records, dropped;
	struct cupti_graph graphs[STREAMS]; /* being executed */
	bool listens;
	void (*driver_flush)(int force);
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .version = 130101 };

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void forbidden(const char *what)
{
	fprintf(stderr, "libcupti double: %s\n", what);
	abort();
}

#include "libcupti_stalls.h"

/* --- the script --- */

static void statement(int n, char **w)
{
	uint64_t v = n > 2 ? strtoull(w[2], NULL, 0) : 0;

	stalls_statement(n, w);

	if (n < 2 || strcmp(w[0], "cupti"))
		return;
	if (!strcmp(w[1], "version"))
		state.version = v;
	else if (!strcmp(w[1], "drop"))
		state.drop_every = v;
	else if (!strcmp(w[1], "late"))
		state.late_ms = v;
	else if (!strcmp(w[1], "overhead"))
		state.overhead_ns = v;
	else if (!strcmp(w[1], "correlation"))
		state.first_correlation = v;
	else if (!strcmp(w[1], "unknown"))
		state.unknown = true;
	else if (!strcmp(w[1], "memory"))
		state.no_memory = true;
	else if (!strcmp(w[1], "busy"))
		snprintf(state.busy, sizeof state.busy, "%s", n > 2 ? w[2] : "?");
	else
		forbidden(w[1]);
}

__attribute__((constructor)) static void read_script(void)
{
	script_read(statement);
}

/* --- buffers --- */

static void hand_over(struct filled f)
{
	if (f.data)
		state.completed(NULL, 0, f.data, f.size, f.used);
}

/* Room for a record in the buffer at hand; a full one is set aside in *full. The lock is held. */
static void *room(size_t size, struct filled *full)
{
	size_t max_records = 0;

	if (state.now.data && state.now.size - state.now.used < size) {
		*full = state.now;
		state.now = (struct filled){ 0 };
	}
	if (!state.now.data) {
		state.request(&state.now.data, &state.now.size, &max_records);
		state.now.used = 0;
		if (state.now.data && (uintptr_t)state.now.data & 7)
			forbidden("a buffer that is not aligned to 8 bytes");
	}
	if (!state.now.data)
		return NULL;
	void *at = state.now.data + state.now.used;

	state.now.used += size;
	state.now.last_ns = clock_ns(CLOCK_MONOTONIC);
	memset(at, 0xa5, size);
	return at;
}

static void add(const void *record, size_t prefix, size_t size)
{
	uint32_t kind = *(const uint32_t *)record;
	struct filled full = { 0 };

	pthread_mutex_lock(&state.lock);
	if (state.enabled[kind] && state.request) {
		bool drop = state.drop_every && ++state.records % state.drop_every == 0;
		void *to = drop ? NULL : room(size, &full);

		if (to)
			memcpy(to, record, prefix);
		else
			state.dropped++;
	}
	pthread_mutex_unlock(&state.lock);
	hand_over(full);
}

static uint64_t time_of(uint64_t monotonic_ns)
{
	return monotonic_ns + state.offset_ns;
}

/* CUPTI keeps the names of kernels: one place for each. */
static const char *name_kept(const char *name)
{
	static const char *names[NAMES];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < NAMES - 1 && names[i] && strcmp(names[i], name))
		i++;
	if (!names[i])
		names[i] = strdup(name);
	pthread_mutex_unlock(&lock);
	return names[i];
}

static uint32_t id_of(const struct double_cuda_event *e)
{
	return e->correlation + state.first_correlation;
}

static void add_kernel(const struct double_cuda_event *e)
{
	struct cupti_kernel k = {
		.kind = CUPTI_KIND_KERNEL,
		.registers = 32,
		.start = time_of(e->start_ns),
		.end = time_of(e->end_ns),
		.device = e->device,
		.context = e->context,
		.stream = e->stream,
		.grid = { e->grid[0], e->grid[1], e->grid[2] },
		.block = { e->block[0], e->block[1], e->block[2] },
		.shared_dynamic = e->shared_bytes,
		.correlation = id_of(e),
		.name = name_kept(e->name),
		.graph_node = e->graph_node,
		.graph = e->graph,
	};
	add(&k, sizeof k, state.version >= 130000 ? KERNEL_SIZE : OLD_KERNEL_SIZE);
}

static void add_copy(const struct double_cuda_event *e)
{
	struct cupti_copy c = {
		.kind = CUPTI_KIND_MEMCPY,
		.copy_kind = e->copy_kind,
		.from = 1,
		.to = 3,
		.bytes = e->bytes,
		.start = time_of(e->start_ns),
		.end = time_of(e->end_ns),
		.device = e->device,
		.stream = e->stream,
		.correlation = id_of(e),
		.graph = e->graph,
	};
	add(&c, sizeof c, 96);
}

static void add_set(const struct double_cuda_event *e)
{
	struct cupti_set s = {
		.kind = CUPTI_KIND_MEMSET,
		.bytes = e->bytes,
		.start = time_of(e->start_ns),
		.end = time_of(e->end_ns),
		.device = e->device,
		.stream = e->stream,
		.correlation = id_of(e),
		.memory_kind = 3,
		.graph = e->graph,
	};
	add(&s, sizeof s, 88);
}

static void add_sync(const struct double_cuda_event *e)
{
	struct cupti_sync s = {
		.kind = CUPTI_KIND_SYNC,
		.type = 4,
		.start = time_of(e->start_ns),
		.end = time_of(e->end_ns),
		.correlation = id_of(e),
		.stream = e->stream,
	};
	add(&s, sizeof s, 56);
}

static void add_memory(const struct double_cuda_event *e)
{
	struct cupti_memory m = {
		.kind = CUPTI_KIND_MEMORY,
		.op = e->work == DOUBLE_ALLOC ? 1 : 2,
		.memory_kind = 3,
		.correlation = id_of(e),
		.address = e->address,
		.bytes = e->bytes,
		.time = time_of(e->start_ns),
		.device = e->device,
	};
	add(&m, sizeof m, 128);
}

static void end_graph(uint32_t stream)
{
	struct cupti_graph g = state.graphs[stream];

	memset(&state.graphs[stream], 0, sizeof g);
	if (g.kind)
		add(&g, sizeof g, 56);
}

/* A graph's kernels make one record, as long as all of them, which is complete where other work of the stream
 * begins. */
static void on_graph_node(const struct double_cuda_event *e)
{
	struct cupti_graph *g = &state.graphs[e->stream % STREAMS];

	if (g->kind && g->correlation != id_of(e))
		end_graph(e->stream % STREAMS);
	if (!g->kind)
		*g = (struct cupti_graph){ .kind = CUPTI_KIND_GRAPH,
					   .correlation = id_of(e),
					   .start = time_of(e->start_ns),
					   .end = time_of(e->start_ns),
					   .device = e->device,
					   .graph = e->graph,
					   .context = e->context,
					   .stream = e->stream };
	g->end += e->end_ns - e->start_ns;
}

/* The kernels of a graph have no records of their own while graphs have. */
static void on_work(const struct double_cuda_event *e)
{
	if (e->work == DOUBLE_KERNEL)
		stalls_ran(e);
	if (e->work == DOUBLE_KERNEL && e->graph && state.enabled[CUPTI_KIND_GRAPH]) {
		on_graph_node(e);
		return;
	}
	end_graph(e->stream % STREAMS);
	switch (e->work) {
	case DOUBLE_KERNEL:
		add_kernel(e);
		break;
	case DOUBLE_COPY:
		add_copy(e);
		break;
	case DOUBLE_MEMSET:
		add_set(e);
		break;
	case DOUBLE_SYNC:
		add_sync(e);
		break;
	case DOUBLE_ALLOC:
	case DOUBLE_FREE:
		add_memory(e);
		break;
	}
}

static uint32_t cbid_of(uint32_t domain, const char *name)
{
	static const struct {
		uint16_t domain, cbid;
		const char *name;
	} ids[] = {
		{ 1, 307, "cuLaunchKernel" },
		{ 1, 442, "cuLaunchKernel_ptsz" },
		{ 1, 652, "cuLaunchKernelEx" },
		{ 1, 477, "cuLaunchCooperativeKernel" },
		{ 1, 514, "cuGraphLaunch" },
		{ 1, 276, "cuMemcpyHtoD_v2" },
		{ 1, 277, "cuMemcpyHtoDAsync_v2" },
		{ 1, 278, "cuMemcpyDtoH_v2" },
		{ 1, 279, "cuMemcpyDtoHAsync_v2" },
		{ 1, 280, "cuMemcpyDtoD_v2" },
		{ 1, 281, "cuMemcpyDtoDAsync_v2" },
		{ 1, 305, "cuMemcpy" },
		{ 1, 306, "cuMemcpyAsync" },
		{ 1, 249, "cuMemsetD8_v2" },
		{ 1, 216, "cuMemsetD8Async" },
		{ 1, 251, "cuMemsetD32_v2" },
		{ 1, 322, "cuCtxDestroy_v2" },
		{ 1, 544, "cuDevicePrimaryCtxRelease_v2" },
		{ 1, 545, "cuDevicePrimaryCtxReset_v2" },
		{ 2, 211, "cudaLaunchKernel" },
		{ 2, 430, "cudaLaunchKernelExC" },
		{ 2, 311, "cudaGraphLaunch" },
		{ 2, 31, "cudaMemcpy" },
		{ 2, 41, "cudaMemcpyAsync" },
		{ 2, 49, "cudaMemset" },
		{ 2, 51, "cudaMemsetAsync" },
		{ 2, 164, "cudaDeviceReset" },
	};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		if (ids[i].domain == domain && !strcmp(ids[i].name, name))
			return ids[i].cbid;
	return CBIDS; /* a call that nobody can ask for here */
}

static void on_call(const struct double_cuda_event *e)
{
	struct cupti_call call = { .site = e->kind == DOUBLE_CALL_EXIT,
				   .function = e->name,
				   .correlation = id_of(e),
				   .context = e->handle,
				   .context_id = e->context };
	cupti_callback *callback = __atomic_load_n(&state.callback, __ATOMIC_ACQUIRE);
	uint32_t cbid = callback ? cbid_of(e->domain, e->name) : CBIDS;

	if (cbid < CBIDS && state.wanted[e->domain][cbid])
		callback(state.user, e->domain, cbid, &call);
}

static pthread_mutex_t in_order = PTHREAD_MUTEX_INITIALIZER;

static void end_graphs(void)
{
	pthread_mutex_lock(&in_order);
	for (uint32_t i = 0; i < STREAMS; i++)
		end_graph(i);
	pthread_mutex_unlock(&in_order);
}

static void on_resource(const struct double_cuda_event *e)
{
	struct cupti_module module = { e->module, 0, e->image_bytes, e->image };
	struct cupti_resource r = { .context = e->handle };
	cupti_callback *callback = __atomic_load_n(&state.callback, __ATOMIC_ACQUIRE);
	uint32_t cbid = e->kind == DOUBLE_CONTEXT_CREATED     ? CUPTI_RESOURCE_CONTEXT_CREATED
			: e->kind == DOUBLE_CONTEXT_DESTROYED ? CUPTI_RESOURCE_CONTEXT_GOING
							      : CUPTI_RESOURCE_MODULE_LOADED;

	if (e->kind == DOUBLE_MODULE_LOADED)
		r.descriptor = &module;
	if (callback && state.wanted[CUPTI_DOMAIN_RESOURCE][cbid])
		callback(state.user, CUPTI_DOMAIN_RESOURCE, cbid, &r);
	if (e->kind == DOUBLE_CONTEXT_DESTROYED)
		stalls_gone(e->handle);
}

static void on_event(void *ctx, const struct double_cuda_event *e)
{
	(void)ctx;
	if (e->kind == DOUBLE_CALL_ENTER || e->kind == DOUBLE_CALL_EXIT)
		on_call(e);
	if (e->kind == DOUBLE_CONTEXT_CREATED || e->kind == DOUBLE_CONTEXT_DESTROYED ||
	    e->kind == DOUBLE_MODULE_LOADED)
		on_resource(e);
	if (e->kind != DOUBLE_WORK)
		return;
	pthread_mutex_lock(&in_order);
	on_work(e);
	pthread_mutex_unlock(&in_order);
}

static void listen_to_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*subscribe)(double_cuda_listener, void *) =
		driver ? (int (*)(double_cuda_listener, void *))dlsym(driver,
								      "double_cuda_subscribe")
		       : NULL;

	if (state.listens || !subscribe || subscribe(on_event, NULL))
		return;
	state.driver_flush = (void (*)(int))dlsym(driver, "double_cuda_flush");
	state.listens = true;
}

/* --- the interface --- */

API int cuptiGetVersion(uint32_t *version);
API int cuptiGetVersion(uint32_t *version)
{
	*version = state.version;
	return 0;
}

API int cuptiSubscribe_v2(void **subscriber, cupti_callback *fn, void *user,
			  struct cupti_subscriber_params *params);
API int cuptiSubscribe_v2(void **subscriber, cupti_callback *fn, void *user,
			  struct cupti_subscriber_params *params)
{
	if (state.unknown)
		return CUPTI_UNKNOWN;
	listen_to_driver();
	if (*state.busy || state.callback) {
		if (params && params->other_name && params->other_size)
			snprintf(params->other_name, params->other_size, "%s", state.busy);
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	}
	state.user = user;
	__atomic_store_n(&state.callback, fn, __ATOMIC_RELEASE);
	*subscriber = &state;
	return 0;
}
API int cuptiSubscribe(void **subscriber, cupti_callback *fn, void *user);
API int cuptiSubscribe(void **subscriber, cupti_callback *fn, void *user)
{
	return cuptiSubscribe_v2(subscriber, fn, user, NULL);
}
API int cuptiUnsubscribe(void *subscriber);
API int cuptiUnsubscribe(void *subscriber)
{
	if (subscriber != &state)
		return 1;
	memset(state.wanted, 0, sizeof state.wanted);
	__atomic_store_n(&state.callback, NULL, __ATOMIC_RELEASE);
	return 0;
}
API int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
API int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (subscriber != &state || domain >= 8 || cbid >= CBIDS)
		return 1;
	state.wanted[domain][cbid] = enable;
	return 0;
}
API int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void));
API int cuptiActivityRegisterTimestampCallback(uint64_t (*fn)(void))
{
	if (!state.any_enabled)
		state.clock = fn;
	return 0;
}
API int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_completed *completed);
API int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_completed *completed)
{
	if (state.unknown)
		return CUPTI_UNKNOWN;
	state.request = request;
	state.completed = completed;
	return 0;
}
API int cuptiActivityEnable(uint32_t kind);
API int cuptiActivityEnable(uint32_t kind)
{
	if (state.unknown)
		return CUPTI_UNKNOWN;
	if (kind >= KINDS)
		return 21;
	if (state.no_memory && kind == CUPTI_KIND_KERNEL)
		return CUPTI_OUT_OF_MEMORY;
	if (!state.any_enabled && !state.clock)
		state.offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	state.any_enabled = true;
	pthread_mutex_lock(&state.lock);
	state.enabled[kind] = true;
	pthread_mutex_unlock(&state.lock);
	return 0;
}
API int cuptiActivityDisable(uint32_t kind);
API int cuptiActivityDisable(uint32_t kind)
{
	if (kind >= KINDS)
		return 21;
	while (kind == CUPTI_KIND_KERNEL && state.version < CUPTI_SWITCHES_OFF)
		pause();
	if (state.driver_flush)
		state.driver_flush(1); /* what was begun before is recorded */
	if (kind == CUPTI_KIND_GRAPH)
		end_graphs();
	pthread_mutex_lock(&state.lock);
	state.enabled[kind] = false;
	pthread_mutex_unlock(&state.lock);
	return 0;
}
API int cuptiActivityEnableAllSyncRecords(uint8_t enable);
API int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	(void)enable;
	return 0;
}

static void add_overhead(uint64_t from)
{
	struct cupti_overhead o = { .kind = CUPTI_KIND_OVERHEAD,
				    .overhead_kind = 1 << 16,
				    .start = from,
				    .end = from + state.overhead_ns };
	if (state.overhead_ns)
		add(&o, sizeof o, 56);
}

API int cuptiActivityFlushAll(uint32_t flag);
API int cuptiActivityFlushAll(uint32_t flag)
{
	struct filled f = { 0 };
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!state.request)
		return 2;
	if (state.driver_flush)
		state.driver_flush(flag);
	if (flag)
		end_graphs();
	pthread_mutex_lock(&state.lock);
	if (state.now.used && (flag || now - state.now.last_ns >= state.late_ms * 1000000ull)) {
		f = state.now;
		state.now = (struct filled){ 0 };
	}
	pthread_mutex_unlock(&state.lock);
	hand_over(f);
	if (f.data)
		add_overhead(now);
	return 0;
}

static size_t record_size(uint32_t kind)
{
	switch (kind) {
	case CUPTI_KIND_KERNEL:
		return state.version >= 130000 ? KERNEL_SIZE : OLD_KERNEL_SIZE;
	case CUPTI_KIND_MEMCPY:
		return 96;
	case CUPTI_KIND_MEMSET:
		return 88;
	case CUPTI_KIND_SYNC:
	case CUPTI_KIND_GRAPH:
	case CUPTI_KIND_OVERHEAD:
		return 56;
	case CUPTI_KIND_MEMORY:
		return 128;
	}
	forbidden("a record of no kind");
	return 0;
}

API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + record_size(*(uint32_t *)*record) : buffer;

	if (at >= buffer + valid)
		return CUPTI_MAX_LIMIT;
	*record = at;
	return 0;
}
API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = __atomic_exchange_n(&state.dropped, 0, __ATOMIC_RELAXED);
	return 0;
}
