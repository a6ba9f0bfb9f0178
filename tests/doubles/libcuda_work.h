/* tests/doubles/libcuda_work.h: the part of libcuda.so.1.c that is work of the device: copies, launches, graphs, streams, events. */

static int copy(u64 bytes, u32 kind, struct stream *stream, bool waits)
{
	struct stream *s = stream_of(stream);
	struct double_cuda_event e = {
		.name = "copy", .work = DOUBLE_COPY, .bytes = bytes, .copy_kind = kind
	};

	pthread_mutex_lock(&lock);
	begin_work(s, &e, bytes * 1000 / (script.copy_bytes_per_us ? script.copy_bytes_per_us : 1));
	u64 end = s->end_ns;
	pthread_mutex_unlock(&lock);
	if (waits)
		until_ns(end);
	return OK;
}

static int fill(u64 bytes, struct stream *stream)
{
	struct stream *s = stream_of(stream);
	struct double_cuda_event e = { .name = "memset", .work = DOUBLE_MEMSET, .bytes = bytes };

	pthread_mutex_lock(&lock);
	begin_work(s, &e, bytes * 1000 / (script.copy_bytes_per_us ? script.copy_bytes_per_us : 1));
	pthread_mutex_unlock(&lock);
	return OK;
}

API(cuMemcpyHtoD_v2, addr_t to, const void *from, size_t bytes)
{
	(void)to, (void)from;
	CALL(cuMemcpyHtoD_v2, copy(bytes, 1, NULL, true));
}

API(cuMemcpyDtoH_v2, void *to, addr_t from, size_t bytes)
{
	(void)to, (void)from;
	CALL(cuMemcpyDtoH_v2, copy(bytes, 2, NULL, true));
}

API(cuMemcpyDtoD_v2, addr_t to, addr_t from, size_t bytes)
{
	(void)to, (void)from;
	CALL(cuMemcpyDtoD_v2, copy(bytes, 3, NULL, false));
}

API(cuMemcpy, addr_t to, addr_t from, size_t bytes)
{
	(void)to, (void)from;
	CALL(cuMemcpy, copy(bytes, 4, NULL, true));
}

API(cuMemcpyHtoDAsync_v2, addr_t to, const void *from, size_t bytes, struct stream *s)
{
	(void)to, (void)from;
	CALL(cuMemcpyHtoDAsync_v2, copy(bytes, 1, s, false));
}

API(cuMemcpyDtoHAsync_v2, void *to, addr_t from, size_t bytes, struct stream *s)
{
	(void)to, (void)from;
	CALL(cuMemcpyDtoHAsync_v2, copy(bytes, 2, s, false));
}

API(cuMemcpyDtoDAsync_v2, addr_t to, addr_t from, size_t bytes, struct stream *s)
{
	(void)to, (void)from;
	CALL(cuMemcpyDtoDAsync_v2, copy(bytes, 3, s, false));
}

API(cuMemcpyAsync, addr_t to, addr_t from, size_t bytes, struct stream *s)
{
	(void)to, (void)from;
	CALL(cuMemcpyAsync, copy(bytes, 4, s, false));
}

struct rect {
	u64 words[14], width, height;
};

API(cuMemcpy2D_v2, const struct rect *r)
{
	CALL(cuMemcpy2D_v2, copy(r->width * r->height, 4, NULL, true));
}

API(cuMemcpy2DAsync_v2, const struct rect *r, struct stream *s)
{
	CALL(cuMemcpy2DAsync_v2, copy(r->width * r->height, 4, s, false));
}

API(cuMemsetD8_v2, addr_t to, unsigned char value, size_t n)
{
	(void)to, (void)value;
	CALL(cuMemsetD8_v2, fill(n, NULL));
}

API(cuMemsetD8Async, addr_t to, unsigned char value, size_t n, struct stream *s)
{
	(void)to, (void)value;
	CALL(cuMemsetD8Async, fill(n, s));
}

API(cuMemsetD32_v2, addr_t to, u32 value, size_t n)
{
	(void)to, (void)value;
	CALL(cuMemsetD32_v2, fill(4 * n, NULL));
}

/* --- launches ---------------------------------------------------------------------------------------------------------- */

API(cuLaunchKernel, struct function *f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared,
    struct stream *s, void **params, void **extra)
{
	(void)params, (void)extra;
	CALL(cuLaunchKernel, launch(f, s, (u32[]){ gx, gy, gz }, (u32[]){ bx, by, bz }, shared));
}

API(cuLaunchKernel_ptsz, struct function *f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz,
    u32 shared, struct stream *s, void **params, void **extra)
{
	(void)params, (void)extra;
	CALL(cuLaunchKernel_ptsz,
	     launch(f, s, (u32[]){ gx, gy, gz }, (u32[]){ bx, by, bz }, shared));
}

API(cuLaunchCooperativeKernel, struct function *f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz,
    u32 shared, struct stream *s, void **params)
{
	(void)params;
	CALL(cuLaunchCooperativeKernel,
	     launch(f, s, (u32[]){ gx, gy, gz }, (u32[]){ bx, by, bz }, shared));
}

struct launch_config {
	u32 grid[3], block[3], shared;
	struct stream *stream;
	void *attributes;
	u32 n_attributes;
};

API(cuLaunchKernelEx, const struct launch_config *c, struct function *f, void **params,
    void **extra)
{
	(void)params, (void)extra;
	CALL(cuLaunchKernelEx, launch(f, c->stream, c->grid, c->block, c->shared));
}

/* --- graphs ------------------------------------------------------------------------------------------------------------ */

static struct graph *graph_new(void)
{
	struct graph *g = calloc(1, sizeof *g);

	g->id = __atomic_add_fetch(&last_graph, 1, __ATOMIC_RELAXED);
	return g;
}

static int add_node(u64 *node, struct graph *g, struct function *f)
{
	pthread_mutex_lock(&lock);
	if (g->n == g->room) {
		g->room = g->room ? 2 * g->room : 16;
		g->kernels = realloc(g->kernels, g->room * sizeof *g->kernels);
	}
	g->kernels[g->n++] = f;
	*node = (u64)g->id << 32 | g->n;
	pthread_mutex_unlock(&lock);
	return OK;
}

static int instantiate(struct graph **out, const struct graph *from)
{
	struct graph *g = graph_new();

	g->n = g->room = from->n;
	g->kernels = calloc(g->n ? g->n : 1, sizeof *g->kernels);
	memcpy(g->kernels, from->kernels, g->n * sizeof *g->kernels);
	*out = g;
	return OK;
}

/* All its kernels have the launch's correlation id. */
static int launch_graph(struct graph *g, struct stream *stream)
{
	struct stream *s = stream_of(stream);

	pthread_mutex_lock(&lock);
	for (u32 i = 0; i < g->n; i++) {
		struct double_cuda_event e = { .graph = g->id,
					       .graph_node = (u64)g->id << 32 | (i + 1) };

		launch_one(s, g->kernels[i], &e);
	}
	pthread_mutex_unlock(&lock);
	return OK;
}

static int free_graph(struct graph *g)
{
	free(g->kernels);
	free(g);
	return OK;
}

static int end_capture(struct stream *s, struct graph **out)
{
	*out = s->captures;
	s->captures = NULL;
	return *out ? OK : INVALID_VALUE;
}

API(cuGraphCreate, struct graph **out, u32 flags)
{
	(void)flags;
	CALL(cuGraphCreate, (*out = graph_new(), OK));
}

struct kernel_node {
	struct function *function;
};

API(cuGraphAddKernelNode_v2, u64 *node, struct graph *g, const u64 *needs, size_t n,
    const struct kernel_node *params)
{
	(void)needs, (void)n;
	CALL(cuGraphAddKernelNode_v2, add_node(node, g, params->function));
}

API(cuGraphInstantiateWithFlags, struct graph **out, struct graph *g, u64 flags)
{
	(void)flags;
	CALL(cuGraphInstantiateWithFlags, instantiate(out, g));
}

API(cuGraphLaunch, struct graph *g, struct stream *s)
{
	CALL(cuGraphLaunch, launch_graph(g, s));
}

API(cuGraphDestroy, struct graph *g)
{
	CALL(cuGraphDestroy, free_graph(g));
}

API(cuGraphExecDestroy, struct graph *g)
{
	CALL(cuGraphExecDestroy, free_graph(g));
}

API(cuStreamBeginCapture_v2, struct stream *s, u32 mode)
{
	(void)mode;
	CALL(cuStreamBeginCapture_v2, (s->captures = graph_new(), OK));
}

API(cuStreamEndCapture, struct stream *s, struct graph **out)
{
	CALL(cuStreamEndCapture, end_capture(s, out));
}

/* --- streams and events ------------------------------------------------------------------------------------------------ */

static int create_stream(struct stream **out)
{
	struct context *c = current();
	struct stream *s = calloc(1, sizeof *s);

	s->device = c ? c->device : 0;
	s->context = c ? c->id : 0;
	pthread_mutex_lock(&lock);
	s->id = ++last_stream;
	if (s->id < STREAMS)
		streams[s->id] = s;
	pthread_mutex_unlock(&lock);
	*out = s;
	return OK;
}

static int destroy_stream(struct stream *s)
{
	pthread_mutex_lock(&lock);
	if (s->id < STREAMS)
		streams[s->id] = NULL;
	pthread_mutex_unlock(&lock);
	free(s);
	return OK;
}

struct event {
	struct stream at; /* as of when it was recorded */
};

static int record_event(struct event *e, struct stream *stream)
{
	pthread_mutex_lock(&lock);
	e->at = *stream_of(stream);
	pthread_mutex_unlock(&lock);
	return OK;
}

static int stream_waits(struct stream *stream, const struct event *e)
{
	struct stream *s = stream_of(stream);

	pthread_mutex_lock(&lock);
	if (s->end_ns < e->at.end_ns)
		s->end_ns = e->at.end_ns;
	pthread_mutex_unlock(&lock);
	return OK;
}

API(cuStreamCreate, struct stream **out, u32 flags)
{
	(void)flags;
	CALL(cuStreamCreate, create_stream(out));
}

API(cuStreamDestroy_v2, struct stream *s)
{
	CALL(cuStreamDestroy_v2, destroy_stream(s));
}

API(cuStreamSynchronize, struct stream *s)
{
	CALL(cuStreamSynchronize, wait_for(stream_of(s)));
}

API(cuStreamQuery, struct stream *s)
{
	CALL(cuStreamQuery, stream_of(s)->end_ns <= now_ns() ? OK : NOT_READY);
}

API(cuStreamWaitEvent, struct stream *s, struct event *e, u32 flags)
{
	(void)flags;
	CALL(cuStreamWaitEvent, stream_waits(s, e));
}

API(cuEventCreate, struct event **out, u32 flags)
{
	(void)flags;
	CALL(cuEventCreate, (*out = calloc(1, sizeof **out)) ? OK : OUT_OF_MEMORY);
}

API(cuEventDestroy_v2, struct event *e)
{
	CALL(cuEventDestroy_v2, (free(e), OK));
}

API(cuEventRecord, struct event *e, struct stream *s)
{
	CALL(cuEventRecord, record_event(e, s));
}

API(cuEventSynchronize, struct event *e)
{
	CALL(cuEventSynchronize, wait_for(&e->at));
}

API(cuEventQuery, struct event *e)
{
	CALL(cuEventQuery, e->at.end_ns <= now_ns() ? OK : NOT_READY);
}

API(cuEventElapsedTime, float *ms, struct event *from, struct event *to)
{
	CALL(cuEventElapsedTime,
	     (*ms = ((double)to->at.end_ns - (double)from->at.end_ns) / 1e6, OK));
}

/* --- addresses --------------------------------------------------------------------------------------------------------- */

/* The newest version that there is, as the real one answers for a new enough one that is asked for. */
static int address_of(const char *name, void **out, u64 flags)
{
	static const char *const endings[] = { "_v3", "_v2", "" };
	enum { PER_THREAD_STREAM = 2 };
	char full[128];
	Dl_info own;
	void *self_handle;

	*out = NULL;
	if (!dladdr((void *)address_of, &own))
		return NOT_FOUND;
	self_handle = dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (flags & PER_THREAD_STREAM) {
		snprintf(full, sizeof full, "%s_ptsz", name);
		*out = dlsym(self_handle, full);
	}
	for (size_t i = 0; !*out && i < sizeof endings / sizeof *endings; i++) {
		snprintf(full, sizeof full, "%s%s", name, endings[i]);
		*out = dlsym(self_handle, full);
	}
	dlclose(self_handle);
	return *out ? OK : NOT_FOUND;
}

API(cuGetProcAddress, const char *name, void **out, int version, u64 flags)
{
	(void)version;
	CALL(cuGetProcAddress, address_of(name, out, flags));
}

API(cuGetProcAddress_v2, const char *name, void **out, int version, u64 flags, int *status)
{
	(void)version;
	int unused;
	CALL(cuGetProcAddress_v2,
	     (*(status ? status : &unused) = address_of(name, out, flags) == OK ? 0 : 1, OK));
}

static int error_name(int code, const char **out)
{
	*out = code == OK ? "CUDA_SUCCESS" : "CUDA_ERROR";
	return OK;
}

API(cuGetErrorName, int code, const char **out)
{
	CALL(cuGetErrorName, error_name(code, out));
}

API(cuGetErrorString, int code, const char **out)
{
	CALL(cuGetErrorString, error_name(code, out));
}
