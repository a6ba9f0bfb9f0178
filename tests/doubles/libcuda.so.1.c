/* tests/doubles/libcuda.so.1.c: a CUDA driver without a device.
 *
 * Its exports begin as those of the real driver (535) do: cmpl $0x321cba00, off(%rip) and then je at +10; cuGetProcAddress answers with
 * the exported addresses; it has a thread cuda-EvtHandlr; and it enters the library that CUDA_INJECTION64_PATH names. The device is a line
 * of time for each stream: a kernel begins when the one before it has ended and takes what the script (script.h) says.
 *
 *     device N name "…" memory BYTES uuid …   there is one of 80 GB unless some are named. CUDA_VISIBLE_DEVICES says which of them the
 *                                       program has, in its own order: numbers, or UUIDs, apart by commas
 *     kernel NAME ns N                  what a kernel takes; NAME * is all others (10000)
 *     copy bytes_per_us N               (20000)
 *     module FILE KERNEL…               these kernels are in that image, which is loaded when the first of them is launched
 *     wait spin|sleep|none              how synchronising calls wait until the device is done (sleep); none: they do not
 *     fail FUNCTION CODE after N        answers CODE from call N on (0), without doing anything
 *     cost FUNCTION ns N                the call takes so much of the CPU
 *
 * Memory of the device is numbers; memory of the host and managed memory are there. Nothing of the vendor's headers is copied. */
// build: -shared -fPIC -O2 -fno-omit-frame-pointer -fvisibility=hidden -fcf-protection=none -Wl,-soname,libcuda.so.1 -ldl
#include "cuda.h"
#include "script.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef u64 addr_t; /* CUdeviceptr */

enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_CONTEXT = 201,
	NOT_FOUND = 500,
	NOT_READY = 600,
};

/* The word that every export compares: 0x321cba00 once the driver is being taken down. */
__attribute__((used, visibility("hidden"))) u32 double_guard;

/* The entry of an export, the driver's 32 bytes, before its body, which it jumps to through a table. */
#define API(name, ...) \
	int name##_body(__VA_ARGS__) __attribute__((used, visibility("hidden"))); \
	asm(".section .data.rel.ro,\"aw\"\n.p2align 3\n" #name "_slot: .quad " #name "_body\n" \
	    ".text\n.p2align 5\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" \
	    ".cfi_startproc\n" \
	    "cmpl $0x321cba00, double_guard(%rip)\n" \
	    ".byte 0x74, 0x0c\n" \
	    "jmp *" #name "_slot(%rip)\n" \
	    ".byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n" \
	    "mov $4, %eax\nret\n.byte 0x66, 0x90\n" \
	    ".cfi_endproc\n.size " #name ", . - " #name "\n"); \
	int name##_body(__VA_ARGS__)

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

#include "libcuda_script.h"

/* --- listeners -------------------------------------------------------------------------------------------------------- */

enum { LISTENERS = 4 };
static struct listener {
	double_cuda_listener call;
	void *ctx;
} listeners[LISTENERS];
static u32 n_listeners; /* a place is never reused for another one before it is NULL */

__attribute__((visibility("default"))) int double_cuda_subscribe(double_cuda_listener call,
								 void *ctx)
{
	for (int i = 0; i < LISTENERS; i++)
		if (!listeners[i].call) {
			listeners[i].ctx = ctx;
			__atomic_store_n(&listeners[i].call, call, __ATOMIC_RELEASE);
			__atomic_add_fetch(&n_listeners, 1, __ATOMIC_RELEASE);
			return 0;
		}
	return -1;
}

__attribute__((visibility("default"))) void double_cuda_unsubscribe(double_cuda_listener call,
								    void *ctx)
{
	for (int i = 0; i < LISTENERS; i++)
		if (listeners[i].call == call && listeners[i].ctx == ctx) {
			__atomic_store_n(&listeners[i].call, (double_cuda_listener)NULL,
					 __ATOMIC_RELEASE);
			__atomic_sub_fetch(&n_listeners, 1, __ATOMIC_RELEASE);
		}
}

static bool is_heard(void)
{
	return __atomic_load_n(&n_listeners, __ATOMIC_ACQUIRE) != 0;
}

static void tell(const struct double_cuda_event *e)
{
	for (int i = 0; i < LISTENERS; i++) {
		double_cuda_listener call = __atomic_load_n(&listeners[i].call, __ATOMIC_ACQUIRE);

		if (call)
			call(listeners[i].ctx, e);
	}
}

/* --- calls ------------------------------------------------------------------------------------------------------------ */

struct context {
	u32 id, device;
	bool is_primary, is_gone;
};
static __thread struct {
	u32 correlation, depth, tid;
	struct context *context;
} self;
static u32 last_correlation;

static u32 own_tid(void)
{
	if (!self.tid)
		self.tid = syscall(SYS_gettid);
	return self.tid;
}

static void tell_call(u32 kind, u32 domain, const char *name, int result)
{
	struct double_cuda_event e = { .kind = kind,
				       .domain = domain,
				       .name = name,
				       .result = result,
				       .correlation = self.correlation,
				       .tid = own_tid() };

	if (self.context) {
		e.device = self.context->device;
		e.context = self.context->id;
		e.handle = self.context;
	}
	if (is_heard())
		tell(&e);
}

static u32 enter(u32 domain, const char *name)
{
	if (!self.depth++)
		self.correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
	tell_call(DOUBLE_CALL_ENTER, domain, name, 0);
	return self.correlation;
}

static int leave(u32 domain, const char *name, int result)
{
	tell_call(DOUBLE_CALL_EXIT, domain, name, result);
	self.depth--;
	return result;
}

__attribute__((visibility("default"))) u32 double_cuda_runtime_enter(const char *name)
{
	return enter(DOUBLE_RUNTIME, name);
}

__attribute__((visibility("default"))) void double_cuda_runtime_exit(const char *name, int result)
{
	leave(DOUBLE_RUNTIME, name, result);
}

static void burn(u64 ns)
{
	for (u64 end = now_ns() + ns; now_ns() < end;)
		;
}

/* What the script has for a call: its cost, then its failure. */
static int scripted(const char *name)
{
	struct named *cost = script.n_costs ? find_named(script.costs, script.n_costs, name) : NULL;
	struct named *fail = script.n_fails ? find_named(script.fails, script.n_fails, name) : NULL;

	if (cost)
		burn(cost->value);
	return fail && __atomic_fetch_add(&fail->calls, 1, __ATOMIC_RELAXED) >= fail->after
		       ? (int)fail->value
		       : OK;
}

/* The body of a call between its beginning and its end. */
#define CALL(name, ...) \
	do { \
		enter(DOUBLE_DRIVER, #name); \
		int result_ = scripted(#name); \
		if (result_ == OK) \
			result_ = (__VA_ARGS__); \
		return leave(DOUBLE_DRIVER, #name, result_); \
	} while (0)

#include "libcuda_device.h"

/* --- the beginning ---------------------------------------------------------------------------------------------------- */

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	if (begin)
		begin();
}

static int initialize(void)
{
	pthread_t thread;

	if (__atomic_exchange_n(&is_initialized, true, __ATOMIC_ACQ_REL))
		return OK;
	wake_fd = eventfd(0, EFD_CLOEXEC);
	if (!pthread_create(&thread, NULL, handle_events, NULL))
		pthread_detach(thread);
	inject();
	return OK;
}

API(cuInit, u32 flags)
{
	CALL(cuInit, flags ? INVALID_VALUE : initialize());
}

API(cuDriverGetVersion, int *version)
{
	CALL(cuDriverGetVersion, (*version = 13000, OK));
}

API(cuDeviceGetCount, int *n)
{
	CALL(cuDeviceGetCount, !is_initialized ? NOT_INITIALIZED : (*n = script.n_devices, OK));
}

API(cuDeviceGet, int *device, int ordinal)
{
	CALL(cuDeviceGet, !is_initialized                    ? NOT_INITIALIZED
			  : (u32)ordinal >= script.n_devices ? 101
							     : (*device = ordinal, OK));
}

static int copy_text(char *to, int size, const char *from)
{
	snprintf(to, size, "%s", from);
	return OK;
}

API(cuDeviceGetName, char *name, int size, int device)
{
	CALL(cuDeviceGetName, copy_text(name, size, script.device[device].name));
}

static int uuid(unsigned char out[16], int device)
{
	u32 n = 0;

	if ((u32)device >= script.n_devices)
		return 101;
	memset(out, 0, 16);
	for (const char *at = script.device[device].uuid + strlen("GPU-"); *at && n < 32; at++)
		if (*at != '-') {
			u32 digit = *at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10;

			out[n / 2] = n % 2 ? out[n / 2] | digit : digit << 4;
			n++;
		}
	return OK;
}

API(cuDeviceGetUuid, unsigned char *out, int device)
{
	CALL(cuDeviceGetUuid, uuid(out, device));
}

API(cuDeviceGetUuid_v2, unsigned char *out, int device)
{
	CALL(cuDeviceGetUuid_v2, uuid(out, device));
}

API(cuDeviceGetAttribute, int *value, int attribute, int device)
{
	/* 16: multiprocessors, 75 and 76: compute capability 9.0, 13: clock in kHz, 33: bus */
	CALL(cuDeviceGetAttribute,
	     (*value = attribute == 16   ? 132
		       : attribute == 33 ? (int)script.device[device].index + 1
		       : attribute == 75 ? 9
		       : attribute == 13 ? 1980000
					 : 0,
	      OK));
}

API(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
	CALL(cuDeviceTotalMem_v2, (*bytes = script.device[device].memory, OK));
}

static int tell_context(const struct context *c, u32 kind)
{
	struct double_cuda_event e = {
		.kind = kind, .device = c->device, .context = c->id, .handle = (void *)c
	};

	if (is_heard())
		tell(&e);
	return OK;
}

static void forget_memory(u32 context);

static int create_context(struct context **out, int device)
{
	pthread_mutex_lock(&lock);
	struct context *c = n_contexts < CONTEXTS ? &contexts[n_contexts++] : NULL;
	if (c)
		*c = (struct context){ ++last_context, device, false, false };
	pthread_mutex_unlock(&lock);
	if (!c)
		return OUT_OF_MEMORY;
	*out = self.context = c;
	return tell_context(c, DOUBLE_CONTEXT_CREATED);
}

static int destroy_context(struct context *c)
{
	if (!c || c->is_gone)
		return INVALID_CONTEXT;
	forget_memory(c->id);
	c->is_gone = true;
	if (self.context == c)
		self.context = NULL;
	return tell_context(c, DOUBLE_CONTEXT_DESTROYED);
}

API(cuCtxCreate_v2, struct context **out, u32 flags, int device)
{
	(void)flags;
	CALL(cuCtxCreate_v2, create_context(out, device));
}

API(cuCtxDestroy_v2, struct context *c)
{
	CALL(cuCtxDestroy_v2, destroy_context(c));
}

API(cuCtxSetCurrent, struct context *c)
{
	CALL(cuCtxSetCurrent, (self.context = c, OK));
}

API(cuCtxGetCurrent, struct context **out)
{
	CALL(cuCtxGetCurrent, (*out = self.context, OK));
}

API(cuCtxPushCurrent_v2, struct context *c)
{
	CALL(cuCtxPushCurrent_v2, (self.context = c, OK));
}

API(cuCtxPopCurrent_v2, struct context **out)
{
	CALL(cuCtxPopCurrent_v2, (out ? (void)(*out = self.context) : (void)0, OK));
}

API(cuCtxGetDevice, int *device)
{
	CALL(cuCtxGetDevice, !current() ? INVALID_CONTEXT : (*device = current()->device, OK));
}

API(cuCtxSynchronize, void)
{
	CALL(cuCtxSynchronize, wait_for_device());
}

static int retain(struct context **out, int device)
{
	struct context *c = &primaries[device];
	bool is_new = !c->id;

	if ((u32)device >= script.n_devices)
		return 101;
	c->id = device + 1;
	c->device = device;
	c->is_primary = true;
	*out = c;
	return is_new ? tell_context(c, DOUBLE_CONTEXT_CREATED) : OK;
}

static int reset(int device)
{
	struct context *c = &primaries[device];

	if (!c->id)
		return OK;
	forget_memory(c->id);
	tell_context(c, DOUBLE_CONTEXT_DESTROYED);
	c->id = 0;
	return OK;
}

API(cuDevicePrimaryCtxRetain, struct context **out, int device)
{
	CALL(cuDevicePrimaryCtxRetain, retain(out, device));
}

static int primary_state(u32 *flags, int *active, int device)
{
	*flags = 0;
	*active = primaries[device].id != 0;
	return OK;
}

API(cuDevicePrimaryCtxGetState, int device, u32 *flags, int *active)
{
	CALL(cuDevicePrimaryCtxGetState, primary_state(flags, active, device));
}

API(cuDevicePrimaryCtxRelease_v2, int device)
{
	(void)device;
	CALL(cuDevicePrimaryCtxRelease_v2, OK);
}

API(cuDevicePrimaryCtxReset_v2, int device)
{
	CALL(cuDevicePrimaryCtxReset_v2, reset(device));
}

/* --- modules ---------------------------------------------------------------------------------------------------------- */

struct module {
	u32 id;
};

__attribute__((visibility("default"))) u32 double_cuda_module(const void *image, size_t bytes)
{
	struct double_cuda_event e = { .kind = DOUBLE_MODULE_LOADED,
				       .image = image,
				       .image_bytes = bytes };

	e.module = __atomic_add_fetch(&last_module, 1, __ATOMIC_RELAXED);
	e.context = current() ? current()->id : 0;
	e.device = current() ? current()->device : 0;
	if (is_heard())
		tell(&e);
	return e.module;
}

static bool has_kernel(const struct lazy_module *m, const char *kernel)
{
	for (u32 i = 0; i < m->n_kernels; i++)
		if (!strcmp(m->kernels[i], kernel))
			return true;
	return false;
}

/* The image is the driver's own for as long as the listeners are told of it: then it is gone. */
static void load_lazily(const char *kernel)
{
	for (u32 i = 0; i < script.n_modules; i++) {
		struct lazy_module *m = &script.modules[i];

		if (!has_kernel(m, kernel) ||
		    __atomic_exchange_n(&m->is_loaded, true, __ATOMIC_ACQ_REL))
			continue;
		FILE *f = fopen(m->path, "re");
		char *image = malloc(1 << 20);
		size_t n = f ? fread(image, 1, 1 << 20, f) : 0;

		double_cuda_module(image, n);
		memset(image, 0, n);
		free(image);
		if (f)
			fclose(f);
	}
}

static struct function *function_of(const char *name, u32 module)
{
	struct function *f = malloc(sizeof *f);

	*f = (struct function){ strdup(name), module };
	return f;
}

__attribute__((visibility("default"))) void *double_cuda_function(const char *name)
{
	return function_of(name, last_module);
}

static int load_module(struct module **out, const void *image)
{
	*out = malloc(sizeof **out);
	(*out)->id = double_cuda_module(image, 0);
	return OK;
}

static int unload_module(struct module *m)
{
	struct double_cuda_event e = { .kind = DOUBLE_MODULE_UNLOADED, .module = m->id };

	if (is_heard())
		tell(&e);
	free(m);
	return OK;
}

API(cuModuleLoadData, struct module **out, const void *image)
{
	CALL(cuModuleLoadData, load_module(out, image));
}

API(cuModuleUnload, struct module *m)
{
	CALL(cuModuleUnload, unload_module(m));
}

API(cuModuleGetFunction, struct function **out, struct module *m, const char *name)
{
	CALL(cuModuleGetFunction, (*out = function_of(name, m ? m->id : 0), OK));
}

#include "libcuda_memory.h"
#include "libcuda_work.h"
