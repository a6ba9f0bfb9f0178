/* The table of file kinds, and calls through it. */
#include "gpu/code/device_file.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct device_file_kind *const device_file_kinds[] = { &cuda_file, NULL };

struct device_file {
	const struct device_file_kind *kind;
	void *file;
};

bool device_file_is_bypass(const char *variable)
{
	for (size_t i = 0; device_file_kinds[i]; i++)
		if (device_file_kinds[i]->bypass &&
		    strcmp(device_file_kinds[i]->bypass, variable) == 0)
			return true;
	return false;
}

int device_file_open(int fd, struct device_file **out, struct err *err)
{
	int rc = -ENOEXEC;
	void *file = NULL;

	for (size_t i = 0; rc && device_file_kinds[i]; i++) {
		rc = device_file_kinds[i]->open(fd, &file, err);
		if (rc)
			continue;
		*out = xcalloc(1, sizeof **out);
		**out = (struct device_file){ device_file_kinds[i], file };
	}
	return rc;
}

void device_file_close(struct device_file *f)
{
	if (!f)
		return;
	f->kind->close(f->file);
	free(f);
}

uint64_t device_file_skipped(const struct device_file *f)
{
	return f->kind->skipped(f->file);
}

uint32_t *device_file_choose(const struct device_file *f, uint32_t model, uint32_t *n)
{
	return f->kind->choose(f->file, model, n);
}

int device_file_unpack(const struct device_file *f, uint32_t image, void **out, size_t *size,
		       struct err *err)
{
	return f->kind->unpack(f->file, image, out, size, err);
}

bool device_file_functions(const struct device_file *f, const void *image, size_t size,
			   device_function_fn *fn, void *ctx)
{
	return f->kind->functions(image, size, fn, ctx);
}
