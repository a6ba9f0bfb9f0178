/* Switches CUPTI on and off. Everything except session_flush_now runs in the helper's thread. */
#include "gpu/inject/cupti_abi.h"
#include "gpu/inject/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- finding CUPTI ---------------------------------------------------------------------------- */

/* The CUPTI that the program has mapped, else the one next to its CUDA runtime, else the one that
 * the dynamic loader finds for the driver's major version. Two major versions in one process end
 * badly, so a mapped one takes precedence. */
struct mapped {
	char cupti[PATH_MAX], runtime[PATH_MAX], driver[PATH_MAX];
};

static void keep(char *to, const char *path, const char *base, const char *prefix)
{
	size_t len = strlen(path);

	if (!*to && !strncmp(base, prefix, strlen(prefix)) && len < PATH_MAX)
		memcpy(to, path, len + 1);
}

static int look(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct mapped *m = ctx;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	keep(m->cupti, info->dlpi_name, base, "libcupti.so");
	keep(m->runtime, info->dlpi_name, base, "libcudart.so");
	keep(m->driver, info->dlpi_name, base, "libcuda.so");
	return 0;
}

/* Returns the number after "libcudart.so.", 0 if the name has none. */
static int major_of(const char *path, const char *library)
{
	const char *at = strrchr(path, '/');

	at = strstr(at ? at : path, library);
	return at ? (int)strtol(at + strlen(library), NULL, 10) : 0;
}

static void *open_in(const char *runtime, const char *directory, int major)
{
	char path[PATH_MAX];
	const char *slash = strrchr(runtime, '/');
	int len = slash ? (int)(slash - runtime) : 0;

	if (!len || snprintf(path, sizeof path, "%.*s/%slibcupti.so.%d", len, runtime, directory,
			     major) >= PATH_MAX)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Directories of the toolkit, and of the Python wheels: nvidia/cuXX/lib has both,
 * nvidia/cuda_runtime/lib is next to nvidia/cuda_cupti. */
static void *open_beside(const char *runtime)
{
	static const char *const directories[] = { "", "../../cuda_cupti/lib/",
						   "../extras/CUPTI/lib64/",
						   "../../../extras/CUPTI/lib64/" };
	int major = major_of(runtime, "libcudart.so.");
	void *found = NULL;

	for (size_t i = 0; major > 0 && !found && i < sizeof directories / sizeof *directories; i++)
		found = open_in(runtime, directories[i], major);
	return found;
}

/* For programs with the runtime linked in: the driver reports its major version, the loader knows
 * the directories. */
static void *open_for_driver(const char *driver)
{
	char name[32];
	int version = 0;
	void *lib = dlopen(driver, RTLD_NOW | RTLD_NOLOAD);
	int (*get)(int *) = lib ? (int (*)(int *))dlsym(lib, "cuDriverGetVersion") : NULL;

	if (!get || get(&version) || version < 11000 || version > 99000)
		return NULL;
	snprintf(name, sizeof name, "libcupti.so.%d", version / 1000);
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *open_cupti(void)
{
	static struct mapped m;

	memset(&m, 0, sizeof m);
	dl_iterate_phdr(look, &m);
	if (*m.cupti)
		return dlopen(m.cupti, RTLD_NOW | RTLD_NOLOAD);
	if (*m.runtime)
		return open_beside(m.runtime);
	return *m.driver ? open_for_driver(m.driver) : NULL;
}

/* Finds CUPTI and its functions. Returns 0, or what is missing. */
static enum ring_part locate_cupti(struct cupti *out, uint32_t *version)
{
	void *lib = open_cupti();

	if (!lib)
		return RING_PART_NO_CUPTI;
#define MUST(name, ...) \
	*(void **)&out->name = dlsym(lib, "cupti" #name); \
	if (!out->name) \
		return RING_PART_SYMBOLS;
#define MAY(name, ...) *(void **)&out->name = dlsym(lib, "cupti" #name);
	CUPTI_FUNCTIONS(MUST, MAY)
#undef MUST
#undef MAY
	if (out->GetVersion(version) || *version < CUPTI_OLDEST)
		return RING_PART_TOO_OLD;
	return RING_PART_NONE;
}

/* --- on and off ------------------------------------------------------------------------------- */

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* The records that each RING_WANT_* bit enables. Graphs are recorded as a whole: recording their
 * kernels one by one would cost the program the benefit of graphs. */
static const struct {
	uint32_t want, kind;
} kinds[] = {
	{ RING_WANT_KERNELS, CUPTI_KIND_KERNEL }, { RING_WANT_KERNELS, CUPTI_KIND_GRAPH },
	{ RING_WANT_COPIES, CUPTI_KIND_MEMCPY },  { RING_WANT_COPIES, CUPTI_KIND_MEMCPY_PEER },
	{ RING_WANT_COPIES, CUPTI_KIND_MEMSET },  { RING_WANT_SYNCS, CUPTI_KIND_SYNC },
	{ RING_WANT_MEMORY, CUPTI_KIND_MEMORY },  { RING_WANT_ALL, CUPTI_KIND_OVERHEAD },
};

static const uint16_t stall_events[] = { CUPTI_RESOURCE_CONTEXT_CREATED,
					 CUPTI_RESOURCE_CONTEXT_GOING,
					 CUPTI_RESOURCE_MODULE_LOADED };

/* One thread at a time: the helper, or a thread of the program that ends a context. */
static bool enter_at_once(void)
{
	return !__atomic_exchange_n(&library.in_cupti, 1, __ATOMIC_ACQ_REL);
}
static void session_enter(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	while (!enter_at_once())
		nanosleep(&ms, NULL);
}
static void session_leave(void)
{
	__atomic_store_n(&library.in_cupti, 0, __ATOMIC_RELEASE);
}

static bool can_switch_off(void)
{
	return library.version >= CUPTI_SWITCHES_OFF;
}

/* One tool at a time: the several subscribers that CUPTI 13.3 allows are not used. */
static int subscribe(void)
{
	struct ring_control *c = ring_control();
	struct cupti_subscriber_params params = { sizeof params, "cresset", c->other,
						  sizeof c->other };

	if (library.subscriber)
		return 0;
	if (library.cupti.Subscribe_v2)
		return library.cupti.Subscribe_v2(&library.subscriber, on_call, NULL, &params);
	return library.cupti.Subscribe(&library.subscriber, on_call, NULL);
}

static void switch_calls(bool on, uint32_t domain, const uint16_t *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		library.cupti.EnableCallback(on, library.subscriber, domain, calls[i]);
}

static void switch_callbacks(bool on, uint32_t want)
{
	struct cupti *c = &library.cupti;

	if (want & RING_WANT_CALLS) {
		switch_calls(on, CUPTI_DOMAIN_RUNTIME, launch_calls_runtime,
			     LENGTH(launch_calls_runtime));
		switch_calls(on, CUPTI_DOMAIN_DRIVER, launch_calls_driver,
			     LENGTH(launch_calls_driver));
	}
	if (want & RING_WANT_CALLS && want & RING_WANT_COPIES) {
		switch_calls(on, CUPTI_DOMAIN_RUNTIME, copy_calls_runtime,
			     LENGTH(copy_calls_runtime));
		switch_calls(on, CUPTI_DOMAIN_DRIVER, copy_calls_driver, LENGTH(copy_calls_driver));
	}
	switch_calls(on, CUPTI_DOMAIN_RUNTIME, ending_calls_runtime, LENGTH(ending_calls_runtime));
	switch_calls(on, CUPTI_DOMAIN_DRIVER, ending_calls_driver, LENGTH(ending_calls_driver));
	if (want & RING_WANT_STALLS) {
		switch_calls(on, CUPTI_DOMAIN_RESOURCE, stall_events, LENGTH(stall_events));
		if (!(want & RING_WANT_CALLS)) { /* which show the contexts */
			switch_calls(on, CUPTI_DOMAIN_RUNTIME, launch_calls_runtime,
				     LENGTH(launch_calls_runtime));
			switch_calls(on, CUPTI_DOMAIN_DRIVER, launch_calls_driver,
				     LENGTH(launch_calls_driver));
		}
	}
	c->EnableCallback(on, library.subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL);
}

/* Once per process. The clock must be set before anything is enabled. */
static int register_callbacks(void)
{
	struct cupti *c = &library.cupti;

	if (library.registered)
		return 0;
	if (c->ActivityRegisterTimestampCallback)
		c->ActivityRegisterTimestampCallback(monotonic_ns);
	int rc = c->ActivityRegisterCallbacks(on_buffer_request, on_buffer_completed);

	if (rc)
		return rc;
	if (c->ActivityEnableAllSyncRecords)
		c->ActivityEnableAllSyncRecords(0);
	library.registered = true;
	return 0;
}

/* Kernels are required. CUPTI may lack other kinds: the window continues without them. */
static int enable(uint32_t want)
{
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		uint32_t bit = 1u << i;

		if (!(kinds[i].want & want) || library.enabled & bit)
			continue;
		int rc = library.cupti.ActivityEnable(kinds[i].kind);

		if (!rc)
			library.enabled |= bit;
		else if (kinds[i].kind == CUPTI_KIND_KERNEL || rc == CUPTI_OUT_OF_MEMORY)
			return rc;
	}
	return 0;
}

enum ring_part session_open(uint32_t want, uint32_t *code)
{
	enum ring_part part = RING_PART_NONE;

	session_enter();
	if (!library.found) {
		part = locate_cupti(&library.cupti, &library.version);
		ring_control()->cupti_version = library.version;
		library.found = !part;
		*code = part == RING_PART_TOO_OLD ? library.version : 0;
	}
	if (!part && want & RING_WANT_OFF_AFTER && !library.enabled && !can_switch_off()) {
		part = RING_PART_STAYS_ON;
		*code = library.version;
	}
	if (!part && (*code = subscribe()))
		part = RING_PART_SUBSCRIBE;
	if (!part && (*code = register_callbacks()))
		part = RING_PART_CALLBACKS;
	if (!part) {
		if (library.muted) /* what was recorded in the meantime */
			library.cupti.ActivityFlushAll(CUPTI_FLUSH_FORCED);
		__atomic_store_n(&library.muted, 0, __ATOMIC_RELEASE);
		switch_callbacks(true, want);
		if ((*code = enable(want)))
			part = RING_PART_ENABLE;
	}
	session_leave();
	return part;
}

void session_flush(bool forced)
{
	session_enter();
	library.cupti.ActivityFlushAll(forced ? CUPTI_FLUSH_FORCED : 0);
	session_leave();
}

void session_flush_now(bool forced)
{
	if (!enter_at_once())
		return;
	library.cupti.ActivityFlushAll(forced ? CUPTI_FLUSH_FORCED : 0);
	session_leave();
}

static void disable(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (library.enabled & 1u << i)
			library.cupti.ActivityDisable(kinds[i].kind);
	library.enabled = 0;
}

void session_close(void)
{
	struct cupti *c = &library.cupti;

	if (!library.found)
		return;
	session_enter();
	if (library.subscriber)
		switch_callbacks(false, RING_WANT_ANY);
	if (library.enabled && can_switch_off())
		disable();
	if (library.registered)
		c->ActivityFlushAll(CUPTI_FLUSH_FORCED);
	if (library.enabled)
		__atomic_store_n(&library.muted, 1, __ATOMIC_RELEASE);
	/* Other tools can have CUPTI between two windows, if subscribing again does no harm. */
	if (library.subscriber && library.version >= CUPTI_RESUBSCRIBES) {
		c->Unsubscribe(library.subscriber);
		library.subscriber = NULL;
	}
	session_leave();
}
