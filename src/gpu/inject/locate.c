/* Which CUPTI: the one that the program has mapped, else the one that lies beside its CUDA runtime, else the dynamic
 * loader's of the driver's major version. Two of different majors in one process end badly, so one that is mapped
 * decides. */
#include "gpu/inject/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The number after "libcudart.so."; 0 when the name has none. */
static int major_of(const char *path, const char *library)
{
	const char *at = strrchr(path, '/');

	at = strstr(at ? at : path, library);
	return at ? (int)strtol(at + strlen(library), NULL, 10) : 0;
}

static void *open_in(const char *runtime, const char *folder, int major)
{
	char path[PATH_MAX];
	const char *slash = strrchr(runtime, '/');
	int len = slash ? (int)(slash - runtime) : 0;

	if (!len || snprintf(path, sizeof path, "%.*s/%slibcupti.so.%d", len, runtime, folder,
			     major) >= PATH_MAX)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The toolkit's folders, and those of the wheels: nvidia/cuXX/lib has both, nvidia/cuda_runtime/lib stands beside
 * nvidia/cuda_cupti. */
static void *open_beside(const char *runtime)
{
	static const char *const folders[] = { "", "../../cuda_cupti/lib/",
					       "../extras/CUPTI/lib64/",
					       "../../../extras/CUPTI/lib64/" };
	int major = major_of(runtime, "libcudart.so.");
	void *found = NULL;

	for (size_t i = 0; major > 0 && !found && i < sizeof folders / sizeof *folders; i++)
		found = open_in(runtime, folders[i], major);
	return found;
}

/* Programs with the runtime linked in: the driver says which major it speaks, the loader knows the places. */
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

enum ring_part locate_cupti(struct cupti *out, uint32_t *version)
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
