/* Where kernels stall: CUPTI's PC sampling, in continuous mode, which does not change how kernels
 * run. It is switched on per context. A context created while a window is open is started in the
 * callback, as CUPTI's documentation requires; one that existed before is noticed at a launch, and
 * the helper starts it at its next tick.
 *
 *     FREE → SEEN → ON → FREE
 *                     ↘ GOING: being destroyed; CUPTI is not called about it any more
 *
 * A thread that calls CUPTI about a context holds the lock. Threads of the program take it only
 * when they create or destroy a context: without waiting when creating, and for at most
 * GOING_WAIT_MS when destroying. */
#include "gpu/inject/library.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>

/* --- one context ------------------------------------------------------------------------------ */

/* Memory of a context, switching it on and off, and its samples. Callers hold the lock. */

struct pc_sampled {
	void *context;
	uint32_t id, device;
	struct cupti_pcs *pcs; /* CUPTI's own buffer, while it is on */
};

enum {
	REASONS_MAX = 128,
	PCS = 2048,                /* per call of PCSamplingGetData */
	HARDWARE_BYTES = 32 << 20, /* on the device, per context; CUPTI's default is 512 MB */
	SCRATCH_BYTES = 4 << 20,
	/* On the host, per context, guaranteed: CUPTI's scratch, our two sets of samples. */
	HOST_BYTES_MAX = 16 << 20,
	SM_COUNT = 16, /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, …_CLOCK_RATE */
	CLOCK_KHZ = 13,
	SM_MAJOR = 75,
	SM_MINOR = 76,
};
#define PC_BYTES (sizeof(struct cupti_pc) + REASONS_MAX * sizeof(struct cupti_stall))
_Static_assert(SCRATCH_BYTES + 2 * (sizeof(struct cupti_pcs) + PCS * PC_BYTES) <= HOST_BYTES_MAX,
	       "the promise holds");

static size_t pc_size(void)
{
	return library.version >= CUPTI_WIDE_PCS ? sizeof(struct cupti_pc) : CUPTI_NARROW_PC;
}

static struct cupti_pc *pc_at(const struct cupti_pcs *p, size_t i)
{
	return (struct cupti_pc *)((char *)p->pcs + i * pc_size());
}

static size_t pcs_bytes(void)
{
	return sizeof(struct cupti_pcs) + PCS * PC_BYTES;
}

/* Allocates space for samples. Returns NULL if memory is exhausted. */
static struct cupti_pcs *pcs_make(void)
{
	struct cupti_pcs *p = map_private(pcs_bytes());

	if (!p)
		return NULL;
	p->size = offsetof(struct cupti_pcs, hardware_full) + 1;
	p->room = PCS;
	p->pcs = (void *)(p + 1);
	struct cupti_stall *stalls = (void *)((char *)p->pcs + PCS * sizeof(struct cupti_pc));

	for (size_t i = 0; i < PCS; i++) {
		pc_at(p, i)->size = pc_size();
		pc_at(p, i)->stalls = stalls + i * REASONS_MAX;
	}
	return p;
}

static void pcs_free(struct cupti_pcs *p)
{
	munmap(p, pcs_bytes());
}

static void write_pc(const struct pc_sampled *c, const struct cupti_pc *pc)
{
	struct ring_stall s = {
		.r = { .type = RING_STALL,
		       .correlation = library.version >= CUPTI_WIDE_PCS ? pc->correlation : 0 },
		.crc = pc->crc,
		.offset = pc->offset,
		.name = ring_name(&library.names, pc->name),
		.context = c->id,
	};

	for (size_t i = 0; i < pc->n_stalls && i < REASONS_MAX; i++) {
		s.reason = pc->stalls[i].reason;
		s.samples = pc->stalls[i].samples;
		if (s.samples)
			write_here(&s.r, sizeof s);
	}
}

static void pcs_write(const struct pc_sampled *c, const struct cupti_pcs *p)
{
	struct ring_control *control = ring_control();

	if (!control)
		return;
	for (size_t i = 0; i < p->n && i < PCS; i++)
		write_pc(c, pc_at(p, i));
	__atomic_fetch_add(&control->stall_dropped, p->dropped, __ATOMIC_RELAXED);
	__atomic_fetch_add(&control->stall_other, p->other_samples, __ATOMIC_RELAXED);
}

static void pcs_clear(struct cupti_pcs *p)
{
	p->n = p->remaining = 0;
	p->samples = p->dropped = p->other_samples = 0;
	p->hardware_full = 0;
}

/* Remaining samples arrive in CUPTI's own buffer. Places that it has no space for are lost, each
 * with a sample at least. */
static void pc_switch_off(struct pc_sampled *c)
{
	struct cupti_pc_context off = { .size = sizeof off, .context = c->context };

	pcs_clear(c->pcs);
	if (!library.cupti.PCSamplingDisable(&off)) {
		c->pcs->dropped += c->pcs->remaining;
		pcs_write(c, c->pcs);
	}
	pcs_free(c->pcs);
	c->pcs = NULL;
}

/* Writes names and numbers of the reasons for the reader. */
static int write_names(const struct pc_sampled *c, size_t n)
{
	static char text[REASONS_MAX][CUPTI_STALL_NAME_BYTES];
	static uint32_t indices[REASONS_MAX];
	char *names[REASONS_MAX];
	struct cupti_pc_reasons r = {
		.size = sizeof r, .context = c->context, .n = n, .indices = indices, .names = names
	};

	for (size_t i = 0; i < n; i++)
		names[i] = text[i];
	int rc = library.cupti.PCSamplingGetStallReasons(&r);

	for (size_t i = 0; !rc && i < n; i++) {
		text[i][CUPTI_STALL_NAME_BYTES - 1] = 0;
		struct ring_stall_name name = {
			.r = { .type = RING_STALL_NAME, .correlation = indices[i] },
			.name = ring_name(&library.names, text[i]),
			.context = c->id,
		};

		write_here(&name.r, sizeof name);
	}
	return rc;
}

static int configure(struct pc_sampled *c)
{
	struct cupti_pc_attribute attributes[] = {
		{ .attribute = CUPTI_PC_MODE, .number = CUPTI_PC_CONTINUOUS },
		{ .attribute = CUPTI_PC_SCRATCH_SIZE, .size = SCRATCH_BYTES },
		{ .attribute = CUPTI_PC_HARDWARE_SIZE, .size = HARDWARE_BYTES },
		{ .attribute = CUPTI_PC_FORMAT, .number = CUPTI_PC_PARSED },
		{ .attribute = CUPTI_PC_BUFFER, .buffer = c->pcs },
	};
	struct cupti_pc_configuration p = { .size = sizeof p,
					    .context = c->context,
					    .n = sizeof attributes / sizeof *attributes,
					    .attributes = attributes };

	return library.cupti.PCSamplingSetConfigurationAttribute(&p);
}

/* The period in use, whatever was requested. */
static uint32_t period_of(const struct pc_sampled *c)
{
	struct cupti_pc_attribute a = { .attribute = CUPTI_PC_PERIOD };
	struct cupti_pc_configuration p = {
		.size = sizeof p, .context = c->context, .n = 1, .attributes = &a
	};

	return library.cupti.PCSamplingGetConfigurationAttribute(&p) ? 0 : a.number;
}

/* Returns 0 if the driver does not say. */
static uint32_t device_attribute(uint32_t device, int attribute)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*ask)(int *, int, int) =
		driver ? (int (*)(int *, int, int))dlsym(driver, "cuDeviceGetAttribute") : NULL;
	int value = 0;

	if (!ask || ask(&value, attribute, device) || value < 0)
		return 0;
	return value;
}

static void write_config(const struct pc_sampled *c, size_t reasons)
{
	struct ring_stall_config config = {
		.r = { .type = RING_STALL_CONFIG },
		.time_ns = monotonic_ns(),
		.device = c->device,
		.context = c->id,
		.period = period_of(c),
		.mode = CUPTI_PC_CONTINUOUS,
		.reasons = reasons,
		.multiprocessors = device_attribute(c->device, SM_COUNT),
		.clock_khz = device_attribute(c->device, CLOCK_KHZ),
		.model = 10 * device_attribute(c->device, SM_MAJOR) +
			 device_attribute(c->device, SM_MINOR),
	};

	write_here(&config.r, sizeof config);
}

/* Starts sampling in a context. Returns 0, or CUPTI's error code with everything undone. CUPTI
 * returns nothing about a context before Enable. */
static int pc_switch_on(struct pc_sampled *c)
{
	struct cupti_pc_context on = { .size = sizeof on, .context = c->context };
	size_t n = 0;
	struct cupti_pc_reason_count count = { .size = sizeof count,
					       .context = c->context,
					       .n = &n };

	c->device = UINT32_MAX;
	if (library.cupti.GetDeviceId)
		library.cupti.GetDeviceId(c->context, &c->device);
	c->pcs = pcs_make();
	int rc = c->pcs ? library.cupti.PCSamplingEnable(&on) : CUPTI_OUT_OF_MEMORY;
	bool is_on = c->pcs && !rc;

	if (!rc)
		rc = library.cupti.PCSamplingGetNumStallReasons(&count);
	if (!rc && n > REASONS_MAX)
		rc = CUPTI_UNKNOWN;
	if (!rc)
		rc = configure(c);
	if (!rc)
		rc = write_names(c, n);
	if (!rc) {
		write_config(c, n);
		return 0;
	}
	if (is_on)
		library.cupti.PCSamplingDisable(&on);
	if (c->pcs)
		pcs_free(c->pcs);
	c->pcs = NULL;
	return rc;
}

static bool pc_has_functions(void)
{
	const struct cupti *c = &library.cupti;

	return c->PCSamplingEnable && c->PCSamplingDisable &&
	       c->PCSamplingSetConfigurationAttribute && c->PCSamplingGetConfigurationAttribute &&
	       c->PCSamplingGetData && c->PCSamplingGetNumStallReasons &&
	       c->PCSamplingGetStallReasons && c->GetCubinCrc;
}

/* --- all contexts ----------------------------------------------------------------------------- */

/* limit CONTEXTS: sampled contexts of a program; others launch unsampled */
enum { CONTEXTS = 16, ROUNDS = 64, READER_WAITS = 25 /* of 2 ms */, GOING_WAIT_MS = 200 };
enum context_state { FREE, TAKEN, SEEN, ON, GOING };
struct context {
	struct pc_sampled at;
	uint32_t state;
};
static struct {
	struct context contexts[CONTEXTS];
	struct cupti_pcs *pcs; /* receives the samples of a call */
	uint32_t lock;
} sampling;

static bool lock_at_once(void)
{
	return !__atomic_exchange_n(&sampling.lock, 1, __ATOMIC_ACQ_REL);
}
static bool lock_within(unsigned ms)
{
	struct timespec one = { .tv_nsec = 1000000 };

	while (!lock_at_once())
		if (!ms--)
			return false;
		else
			nanosleep(&one, NULL);
	return true;
}
static void unlock(void)
{
	__atomic_store_n(&sampling.lock, 0, __ATOMIC_RELEASE);
}

static uint32_t state_of(const struct context *c)
{
	return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
}
static void set_state(struct context *c, uint32_t state)
{
	__atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
}
static bool change_state(struct context *c, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&c->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* --- ending --- */

/* Ends sampling in all contexts, until the next window. */
static void end_stalls(enum ring_part part, int code)
{
	struct ring_control *c = ring_control_or_nowhere();

	c->stall_code = code;
	c->stall_part = part;
	__atomic_store_n(&library.stalls, 0, __ATOMIC_RELEASE);
}

static void give_up(int code)
{
	end_stalls(code == CUPTI_OUT_OF_MEMORY ? RING_PART_STALLS_MEMORY
		   : code == CUPTI_INSUFFICIENT_PRIVILEGES || code == CUPTI_VIRTUALIZED_PRIVILEGES
			   ? RING_PART_STALLS_DENIED
			   : RING_PART_STALLS,
		   code);
}

void pc_sampling_forbid(void)
{
	__atomic_store_n(&library.graphs, 1, __ATOMIC_RELEASE);
	if (library.stalls)
		end_stalls(RING_PART_STALLS_GRAPHS, 0);
}

/* --- samples --- */

/* Gives the reader time. Only for the helper: threads of the program must not wait. */
static void wait_for_reader(void)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	bool shared;
	const struct ring_lane *lane =
		ring_lane_take(library.ring, RING_LANE_BUFFER, thread_id(), &shared);

	for (int i = 0; i < READER_WAITS; i++) {
		uint64_t tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);

		if (lane->head - tail < lane->size / 4)
			return;
		nanosleep(&pause, NULL);
	}
}

/* Hands over all samples. Returns 0 or CUPTI's code. */
static int drain(struct context *c, bool is_helper)
{
	struct cupti_pcs *p = sampling.pcs;
	struct cupti_pc_get get = { .size = sizeof get, .context = c->at.context, .pcs = p };
	int rc = 0;

	for (int i = 0; !rc && i < ROUNDS && state_of(c) == ON; i++) {
		if (is_helper)
			wait_for_reader();
		pcs_clear(p);
		rc = library.cupti.PCSamplingGetData(&get);
		if (!rc || rc == CUPTI_OUT_OF_MEMORY)
			pcs_write(&c->at, p);
		if (!rc && p->hardware_full)
			rc = CUPTI_OUT_OF_MEMORY;
		if (!p->remaining)
			break;
	}
	return rc;
}

static void switch_off(struct context *c)
{
	pc_switch_off(&c->at);
	__atomic_fetch_sub(&ring_control_or_nowhere()->contexts, 1, __ATOMIC_RELAXED);
	set_state(c, FREE);
}

/* --- switching on --- */

/* Two threads may have seen the same context at the same time. */
static bool is_on_already(const struct context *c)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (state_of(&sampling.contexts[i]) == ON &&
		    sampling.contexts[i].at.context == c->at.context)
			return true;
	return false;
}

/* The caller holds the lock. */
static void begin(struct context *c)
{
	if (is_on_already(c)) {
		set_state(c, FREE);
		return;
	}
	int rc = pc_switch_on(&c->at);

	if (rc)
		give_up(rc);
	else
		__atomic_fetch_add(&ring_control_or_nowhere()->contexts, 1, __ATOMIC_RELAXED);
	if (rc || !change_state(c, SEEN, ON)) {
		if (!rc) /* it is being destroyed already */
			switch_off(c);
		set_state(c, FREE);
	}
}

/* --- contexts --- */

static struct context *find(const void *context)
{
	for (int i = 0; i < CONTEXTS; i++) {
		uint32_t state = state_of(&sampling.contexts[i]);

		if (state >= SEEN && sampling.contexts[i].at.context == context)
			return &sampling.contexts[i];
	}
	return NULL;
}

/* Returns NULL if there are too many contexts: those launch unsampled. */
static struct context *add(void *context, uint32_t id)
{
	for (int i = 0; i < CONTEXTS; i++) {
		struct context *c = &sampling.contexts[i];

		if (!change_state(c, FREE, TAKEN))
			continue;
		c->at.context = context;
		c->at.id = id ? id : (uint32_t)(i + 1) << 16;
		set_state(c, SEEN);
		return c;
	}
	return NULL;
}

void pc_sampling_seen(void *context, uint32_t id)
{
	if (context && library.stalls && !find(context))
		add(context, id);
}

void pc_sampling_created(void *context)
{
	if (!context || !library.stalls || find(context))
		return;
	struct context *c = add(context, 0);

	if (c && lock_at_once()) {
		if (library.stalls)
			begin(c);
		unlock();
	}
}

void pc_sampling_destroying(void *context)
{
	struct context *c = library.inert ? NULL : find(context);

	if (!c) /* or in a child of fork, where CUPTI must not be called */
		return;
	if (lock_within(GOING_WAIT_MS)) {
		if (state_of(c) == ON) {
			drain(c, false);
			switch_off(c);
		} else {
			set_state(c, FREE);
		}
		unlock();
	} else {
		set_state(c, GOING);
	}
}

/* --- windows --- */

void pc_sampling_open(void)
{
	struct ring_control *c = ring_control();

	c->stall_part = !pc_has_functions() ? RING_PART_STALLS_ABSENT
			: library.graphs    ? RING_PART_STALLS_GRAPHS
					    : RING_PART_NONE;
	c->stall_code = 0;
	if (c->stall_part)
		return;
	if (!sampling.pcs)
		sampling.pcs = pcs_make();
	if (!sampling.pcs) {
		give_up(CUPTI_OUT_OF_MEMORY);
		return;
	}
	cubins_open();
	cubins_announce();
	__atomic_store_n(&library.stalls, 1, __ATOMIC_RELEASE);
}

static void run_one(struct context *c)
{
	if (state_of(c) == GOING) {
		c->at.pcs = NULL; /* CUPTI may still write there: it is not freed */
		set_state(c, FREE);
		return;
	}
	if (state_of(c) == SEEN && library.stalls)
		begin(c);
	int rc = state_of(c) == ON ? drain(c, true) : 0;

	if (rc) { /* its samples are lost or stuck; only Disable helps */
		give_up(rc);
		switch_off(c);
	}
}

void pc_sampling_run(void)
{
	for (int i = 0; i < CONTEXTS; i++) {
		if (state_of(&sampling.contexts[i]) < SEEN || !lock_within(GOING_WAIT_MS))
			continue;
		run_one(&sampling.contexts[i]);
		unlock();
	}
	if (!library.stalls)
		pc_sampling_close();
}

static void close_one(struct context *c, bool is_helper)
{
	if (state_of(c) == ON) {
		drain(c, is_helper);
		switch_off(c);
	} else if (state_of(c) >= SEEN) {
		c->at.pcs = NULL;
		set_state(c, FREE);
	}
}

static void close_all(bool is_helper)
{
	__atomic_store_n(&library.stalls, 0, __ATOMIC_RELEASE);
	for (int i = 0; i < CONTEXTS; i++) {
		if (state_of(&sampling.contexts[i]) < SEEN || !lock_within(GOING_WAIT_MS))
			continue;
		close_one(&sampling.contexts[i], is_helper);
		unlock();
	}
}

void pc_sampling_close(void)
{
	close_all(true);
}

bool pc_sampling_release(void)
{
	bool is_off = true;

	close_all(true);
	for (int i = 0; i < CONTEXTS; i++)
		is_off &= state_of(&sampling.contexts[i]) < SEEN;
	if (!is_off || !lock_within(GOING_WAIT_MS))
		return false;
	if (sampling.pcs)
		pcs_free(sampling.pcs);
	sampling.pcs = NULL;
	unlock();
	return true;
}

void pc_sampling_exit(void)
{
	if (library.stalls)
		close_all(false);
}
