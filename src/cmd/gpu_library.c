#include "cmd/gpu_library.h"

#include "gpu/cuda_attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACE_MAX = 512 };

int gpu_library_path(const char *name, char path[GPU_LIBRARY_PATH_MAX], struct err *err)
{
	static const char *const folders[] = { "", "../lib/cresset/" };
	char self[PLACE_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n < 0 ? 0 : n] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, GPU_LIBRARY_PATH_MAX, "%s%s%s", self, folders[i], name);
		if (access(path, F_OK) == 0)
			return 0;
	}
	err_set(err, ENOENT, "%s is not there", name);
	return err_hint(err, "looked beside this program, and in ../lib/cresset from "
			     "there\n--library FILE names another place");
}

int gpu_library_inject(struct err *err)
{
	const char *there = getenv(CUDA_INJECTION_VARIABLE);
	char path[GPU_LIBRARY_PATH_MAX];

	if (there && *there)
		return 0;
	int rc = gpu_library_path(cuda_attach_library.name, path, err);
	if (rc)
		return err_hint(err, "looked beside this program, and in ../lib/cresset from "
				     "there\n" CUDA_INJECTION_VARIABLE " names another place");
	return setenv(CUDA_INJECTION_VARIABLE, path, 1)
		       ? err_set(err, errno, "cannot set a variable: %s", strerror(errno))
		       : 0;
}
