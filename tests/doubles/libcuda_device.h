/* tests/doubles/libcuda_device.h: the part of libcuda.so.1.c that is the device: contexts, and streams as lines of time. */

struct stream {
	u32 id, device, context;
	u64 end_ns;
	struct graph *captures;
};
struct function {
	char *name;
	u32 module;
};
struct graph {
	u32 id, n, room;
	struct function **kernels;
};
struct work_queue {
	struct double_cuda_event *v;
	size_t n, room;
};
enum { CONTEXTS = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream defaults[DEVICES];
static struct context primaries[DEVICES], contexts[CONTEXTS];
static u32 n_contexts, last_stream, last_graph, last_module, last_context = DEVICES;
static struct work_queue queue;
static int wake_fd = -1;
static bool is_initialized;
static u64 used_bytes[DEVICES];

static struct context *current(void)
{
	return self.context;
}

static struct stream *stream_of(struct stream *s)
{
	u32 device = current() ? current()->device : 0;

	if ((uintptr_t)s > 2)
		return s;
	defaults[device].device = device;
	defaults[device].context = current() ? current()->id : 0;
	return &defaults[device];
}

/* The work of a call in its stream; under the lock. */
static void begin_work(struct stream *s, struct double_cuda_event *e, u64 takes_ns)
{
	u64 now = now_ns();

	e->kind = DOUBLE_WORK;
	e->start_ns = s->end_ns > now ? s->end_ns : now;
	e->end_ns = s->end_ns = e->start_ns + takes_ns;
	e->device = s->device;
	e->context = s->context;
	e->stream = s->id;
	e->correlation = self.correlation;
	e->tid = own_tid();
	if (!is_heard())
		return;
	if (queue.n == queue.room) {
		queue.room = queue.room ? 2 * queue.room : 256;
		queue.v = realloc(queue.v, queue.room * sizeof *queue.v);
	}
	queue.v[queue.n++] = *e;
	if (queue.n == 1 && wake_fd >= 0)
		eventfd_write(wake_fd, 1);
}

/* Hands out what is done by then, in order: when it returns, no other thread is still at it. */
static void hand_out(u64 until_ns)
{
	static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
	struct work_queue done = { 0 };
	size_t kept = 0;

	pthread_mutex_lock(&telling);
	pthread_mutex_lock(&lock);
	if (queue.n)
		done.v = malloc(queue.n * sizeof *done.v);
	for (size_t i = 0; i < queue.n; i++)
		if (queue.v[i].end_ns <= until_ns)
			done.v[done.n++] = queue.v[i];
		else
			queue.v[kept++] = queue.v[i];
	queue.n = kept;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < done.n; i++)
		tell(&done.v[i]);
	pthread_mutex_unlock(&telling);
	free(done.v);
}

__attribute__((visibility("default"))) void double_cuda_flush(int force)
{
	hand_out(force ? UINT64_MAX : now_ns());
}

static void *handle_events(void *unused)
{
	struct pollfd p = { .fd = wake_fd, .events = POLLIN };
	eventfd_t n;

	(void)unused;
	prctl(PR_SET_NAME, "cuda-EvtHandlr");
	for (;;) {
		pthread_mutex_lock(&lock);
		int wait_ms = queue.n ? 1 : -1;
		pthread_mutex_unlock(&lock);
		if (poll(&p, 1, wait_ms) > 0)
			eventfd_read(wake_fd, &n);
		hand_out(now_ns());
	}
	return NULL;
}

static void until_ns(u64 end_ns)
{
	struct timespec t = { end_ns / 1000000000, end_ns % 1000000000 };

	if (script.wait == WAIT_SPIN)
		while (now_ns() < end_ns)
			;
	else if (script.wait == WAIT_SLEEP)
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
	if (is_heard())
		hand_out(script.wait == WAIT_NONE ? UINT64_MAX : now_ns());
}

/* A synchronising call: device UINT32_MAX: of the one stream. */
static int wait_for(struct stream *s)
{
	struct double_cuda_event e = { .name = "sync", .work = DOUBLE_SYNC };

	pthread_mutex_lock(&lock);
	u64 end = s->end_ns, begin = now_ns();
	pthread_mutex_unlock(&lock);
	until_ns(end);
	if (!is_heard())
		return OK;
	e.kind = DOUBLE_WORK;
	e.device = s->device;
	e.context = s->context;
	e.stream = s->id;
	e.correlation = self.correlation;
	e.tid = own_tid();
	e.start_ns = begin;
	e.end_ns = now_ns();
	tell(&e);
	return OK;
}

enum { STREAMS = 4096 };
static struct stream *streams[STREAMS];

static int wait_for_device(void)
{
	struct stream *last = stream_of(NULL);

	pthread_mutex_lock(&lock);
	for (u32 i = 0; i < STREAMS && i <= last_stream; i++)
		if (streams[i] && streams[i]->device == last->device &&
		    streams[i]->end_ns > last->end_ns)
			last = streams[i];
	pthread_mutex_unlock(&lock);
	return wait_for(last);
}

static int launch_one(struct stream *s, struct function *f, struct double_cuda_event *e)
{
	e->name = f->name;
	e->work = DOUBLE_KERNEL;
	e->module = f->module;
	begin_work(s, e, double_cuda_kernel_ns(f->name));
	return OK;
}

static void load_lazily(const char *kernel);

static int launch(struct function *f, struct stream *stream, const u32 grid[3], const u32 block[3],
		  u32 shared)
{
	struct stream *s = stream_of(stream);
	struct double_cuda_event e = { .shared_bytes = shared };

	if (!f)
		return INVALID_VALUE;
	if (script.n_modules)
		load_lazily(f->name);
	memcpy(e.grid, grid, sizeof e.grid);
	memcpy(e.block, block, sizeof e.block);
	pthread_mutex_lock(&lock);
	if (s->captures) {
		struct graph *g = s->captures;

		if (g->n == g->room) {
			g->room = g->room ? 2 * g->room : 16;
			g->kernels = realloc(g->kernels, g->room * sizeof *g->kernels);
		}
		g->kernels[g->n++] = f;
	} else {
		launch_one(s, f, &e);
	}
	pthread_mutex_unlock(&lock);
	return OK;
}
