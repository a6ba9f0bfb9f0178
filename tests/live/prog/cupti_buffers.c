// build: -shared -fPIC -O1 -g -fvisibility=hidden -Isrc
/* cupti_buffers: goes into a GPU program by CUDA_INJECTION64_PATH, and writes CUPTI's buffers as they are to the file that CRESSET_BUFFERS names, to be kept as
 * a fixture: "CUPT", u32 version, then for each buffer u32 length and its bytes. At most 1 MiB of them. */
#include "gpu/inject/cupti_abi.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, MOST = 1 << 20 };
static const uint32_t kinds[] = { CUPTI_KIND_KERNEL,  CUPTI_KIND_GRAPH, CUPTI_KIND_MEMCPY,
				  CUPTI_KIND_MEMSET,  CUPTI_KIND_SYNC,  CUPTI_KIND_MEMORY,
				  CUPTI_KIND_OVERHEAD };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*flush)(uint32_t);
static int file = -1;
static size_t written;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = *buffer ? BUFFER : 0;
	*max_records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint32_t len = valid;

	(void)context, (void)stream, (void)size;
	pthread_mutex_lock(&lock);
	if (valid && written + valid + sizeof len <= MOST) {
		written += valid + sizeof len;
		if (write(file, &len, sizeof len) != sizeof len ||
		    write(file, buffer, valid) != (ssize_t)valid)
			abort();
	}
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void at_end(void)
{
	flush(CUPTI_FLUSH_FORCED);
}

static void nothing(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

static void *cupti(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW);
	return library;
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	const char *path = getenv("CRESSET_BUFFERS");
	void *library = path ? cupti() : NULL;
	int (*get)(uint32_t *), (*enable)(uint32_t),
		(*callbacks)(cupti_request *, cupti_completed *);
	int (*subscribe)(void **, cupti_callback *, void *);
	void *subscriber;
	uint32_t version = 0;

	if (!library)
		return 0;
	*(void **)&get = dlsym(library, "cuptiGetVersion");
	*(void **)&subscribe = dlsym(library, "cuptiSubscribe");
	*(void **)&enable = dlsym(library, "cuptiActivityEnable");
	*(void **)&callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
	*(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0 || get(&version) || subscribe(&subscriber, nothing, NULL) ||
	    write(file, "CUPT", 4) != 4 ||
	    write(file, &version, sizeof version) != sizeof version ||
	    callbacks(request, completed))
		return 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		enable(kinds[i]);
	atexit(at_end);
	return 1;
}
