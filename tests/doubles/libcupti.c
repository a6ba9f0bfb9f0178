/* A CUPTI without a GPU: the functions that libcresset-cuda.so uses, with the records of the real one, made of what a fake driver reports
 * (tests/doubles/libcupti.h: double_cupti_api, double_cupti_done; where a libcuda double is loaded, it is asked to report here).
 *
 * What is behind the parts of a record that are used is filled with 0xa5, times are of CLOCK_REALTIME unless another clock was given before
 * anything was enabled, and what the documentation forbids ends the process with a message.
 *
 * Statements in the file named by CRESSET_DOUBLE; lines of others are passed over:
 *
 *     cupti version N      what cuptiGetVersion says; 130101 by itself. Below 130001 kernels cannot be switched off: it hangs
 *     cupti busy NAME      subscribing fails with 39, for a tool called NAME
 *     cupti unknown        every call but the version fails with 999, as without a driver
 *     cupti memory         kernels cannot be enabled: out of memory (8)
 *     cupti drop N         every Nth record is dropped, and counted so
 *     cupti late MS        records are handed over only so long after the work
 *     cupti overhead NS    each flush costs that much, and says so */
#include "doubles/libcupti.h"

#include "gpu/inject/cupti_abi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { KINDS = 64, CBIDS = 1024, RECORD_MAX = 256, KERNEL_SIZE = 216, OLD_KERNEL_SIZE = 208, QUEUE = 64, NAMES = 4096 };

struct filled {
	uint8_t *data;
	size_t size, used;
	uint64_t last_ns; /* when the last record was made */
};
static struct {
	pthread_mutex_t lock;
	uint32_t version, drop_every, late_ms;
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

/* --- the script --- */

static void statement(const char *line)
{
	unsigned long long n;

	if (sscanf(line, "cupti version %llu", &n) == 1)
		state.version = n;
	else if (sscanf(line, "cupti drop %llu", &n) == 1)
		state.drop_every = n;
	else if (sscanf(line, "cupti late %llu", &n) == 1)
		state.late_ms = n;
	else if (sscanf(line, "cupti overhead %llu", &n) == 1)
		state.overhead_ns = n;
	else if (!strncmp(line, "cupti unknown", 13))
		state.unknown = true;
	else if (!strncmp(line, "cupti memory", 12))
		state.no_memory = true;
	else if (sscanf(line, "cupti busy %63[^\n]", state.busy) != 1 && !strncmp(line, "cupti", 5))
		forbidden(line);
}

__attribute__((constructor)) static void read_script(void)
{
	const char *path = getenv("CRESSET_DOUBLE");
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[512];

	while (f && fgets(line, sizeof line, f))
		statement(line);
	if (f)
		fclose(f);
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

static void add_kernel(const struct double_done *d)
{
	struct cupti_kernel k = {
		.kind = CUPTI_KIND_KERNEL, .registers = 32, .start = time_of(d->start_ns), .end = time_of(d->end_ns),
		.device = d->device, .context = 1 + d->device, .stream = d->stream, .grid = { 64, 2, 1 },
		.block = { 256, 1, 1 }, .shared_dynamic = 1024, .correlation = d->correlation,
		.name = name_kept(d->name), .graph_node = d->graph_node, .graph = d->graph,
	};
	add(&k, sizeof k, state.version >= 130000 ? KERNEL_SIZE : OLD_KERNEL_SIZE);
}

static void add_copy(const struct double_done *d)
{
	struct cupti_copy c = {
		.kind = d->work == DOUBLE_COPY ? CUPTI_KIND_MEMCPY : 0, .copy_kind = d->kind, .from = 1, .to = 3,
		.bytes = d->bytes, .start = time_of(d->start_ns), .end = time_of(d->end_ns), .device = d->device,
		.stream = d->stream, .correlation = d->correlation, .graph = d->graph,
	};
	add(&c, sizeof c, 96);
}

static void add_set(const struct double_done *d)
{
	struct cupti_set s = {
		.kind = CUPTI_KIND_MEMSET, .bytes = d->bytes, .start = time_of(d->start_ns),
		.end = time_of(d->end_ns), .device = d->device, .stream = d->stream,
		.correlation = d->correlation, .memory_kind = 3, .graph = d->graph,
	};
	add(&s, sizeof s, 88);
}

static void add_sync(const struct double_done *d)
{
	struct cupti_sync s = {
		.kind = CUPTI_KIND_SYNC, .type = d->kind, .start = time_of(d->start_ns), .end = time_of(d->end_ns),
		.correlation = d->correlation, .stream = d->stream,
	};
	add(&s, sizeof s, 56);
}

static void add_graph(const struct double_done *d)
{
	struct cupti_graph g = {
		.kind = CUPTI_KIND_GRAPH, .correlation = d->correlation, .start = time_of(d->start_ns),
		.end = time_of(d->end_ns), .device = d->device, .graph = d->graph, .stream = d->stream,
	};
	add(&g, sizeof g, 56);
}

static void add_memory(const struct double_done *d)
{
	struct cupti_memory m = {
		.kind = CUPTI_KIND_MEMORY, .op = d->kind, .memory_kind = 3, .correlation = d->correlation,
		.address = d->address, .bytes = d->bytes, .time = time_of(d->start_ns), .device = d->device,
	};
	add(&m, sizeof m, 128);
}

/* The kernels of a graph have no records of their own while graphs have. */
API void double_cupti_done(const struct double_done *d)
{
	switch (d->work) {
	case DOUBLE_KERNEL:
		if (!d->graph || !state.enabled[CUPTI_KIND_GRAPH])
			add_kernel(d);
		break;
	case DOUBLE_COPY: add_copy(d); break;
	case DOUBLE_SET: add_set(d); break;
	case DOUBLE_SYNC: add_sync(d); break;
	case DOUBLE_GRAPH: add_graph(d); break;
	case DOUBLE_MEMORY: add_memory(d); break;
	}
}

API void double_cupti_api(uint32_t site, uint32_t domain, uint32_t cbid, const char *name, uint32_t correlation)
{
	struct cupti_call call = { .site = site, .function = name, .correlation = correlation };
	cupti_callback *callback = __atomic_load_n(&state.callback, __ATOMIC_ACQUIRE);

	if (callback && domain < 8 && cbid < CBIDS && state.wanted[domain][cbid])
		callback(state.user, domain, cbid, &call);
}

/* --- the interface --- */

API int cuptiGetVersion(uint32_t *version);
API int cuptiGetVersion(uint32_t *version)
{
	*version = state.version;
	return 0;
}

API int cuptiSubscribe_v2(void **subscriber, cupti_callback *fn, void *user, struct cupti_subscriber_params *params);
API int cuptiSubscribe_v2(void **subscriber, cupti_callback *fn, void *user, struct cupti_subscriber_params *params)
{
	if (state.unknown)
		return CUPTI_UNKNOWN;
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
	struct cupti_overhead o = { .kind = CUPTI_KIND_OVERHEAD, .overhead_kind = 1 << 16, .start = from,
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
	case CUPTI_KIND_KERNEL: return state.version >= 130000 ? KERNEL_SIZE : OLD_KERNEL_SIZE;
	case CUPTI_KIND_MEMCPY: return 96;
	case CUPTI_KIND_MEMSET: return 88;
	case CUPTI_KIND_SYNC: case CUPTI_KIND_GRAPH: case CUPTI_KIND_OVERHEAD: return 56;
	case CUPTI_KIND_MEMORY: return 128;
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
