// build: -O1 -g
/* gpu_entry [LIBRARY]: the first bytes of the driver's functions that put work on a GPU or wait for it, a line each: NAME BYTES same|other|-: whether
 * cuGetProcAddress, by which the runtime finds them, gives the same address. Needs no GPU, only the library (libcuda.so.1). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 32, VERSION = 12000 };
static const char *const names[] = {
	"cuLaunchKernel",       "cuLaunchKernel_ptsz",
	"cuLaunchKernelEx",     "cuLaunchCooperativeKernel",
	"cuGraphLaunch",        "cuCtxSynchronize",
	"cuStreamSynchronize",  "cuEventSynchronize",
	"cuMemAlloc_v2",        "cuMemFree_v2",
	"cuMemAllocAsync",      "cuMemFreeAsync",
	"cuMemAllocManaged",    "cuMemCreate",
	"cuMemRelease",         "cuMemcpyHtoD_v2",
	"cuMemcpyDtoH_v2",      "cuMemcpyHtoDAsync_v2",
	"cuMemcpyDtoHAsync_v2", "cuMemcpyAsync",
	"cuCtxDestroy_v2",      "cuDevicePrimaryCtxReset_v2",
};

static const char *by_table(int (*get)(const char *, void **, int, uint64_t), const char *name,
			    const void *exported)
{
	char base[64];
	void *p = NULL;

	snprintf(base, sizeof base, "%s", name);
	for (const char *const *end = (const char *const[]){ "_v2", "_ptsz", NULL }; *end; end++)
		if (strlen(base) > strlen(*end) &&
		    !strcmp(base + strlen(base) - strlen(*end), *end))
			base[strlen(base) - strlen(*end)] = '\0';
	if (!get || strstr(name, "_ptsz") || get(base, &p, VERSION, 0) || !p)
		return "-";
	return p == exported ? "same" : "other";
}

int main(int argc, char **argv)
{
	void *cuda = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
	int (*get)(const char *, void **, int, uint64_t);

	if (!cuda) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	*(void **)&get = dlsym(cuda, "cuGetProcAddress");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const uint8_t *code = dlsym(cuda, names[i]);

		if (!code)
			continue;
		printf("%s ", names[i]);
		for (int k = 0; k < BYTES; k++)
			printf("%02x", code[k]);
		printf(" %s\n", by_table(get, names[i], code));
	}
	return 0;
}
