/* Files with NVIDIA's device code as a row of device_file_kinds[]. */
#include "gpu/code/cubin.h"
#include "gpu/code/device_file.h"
#include "gpu/code/fatbin.h"

static int open_fatbin(int fd, void **out, struct err *err)
{
	struct fatbin *f = NULL;
	int rc = fatbin_open(fd, &f, err);

	if (!rc)
		*out = f;
	return rc;
}

static void close_fatbin(void *file)
{
	fatbin_close(file);
}

static uint64_t skipped(const void *file)
{
	return fatbin_skipped(file);
}

static uint32_t *choose(const void *file, uint32_t model, uint32_t *n)
{
	return fatbin_choose(file, model, n);
}

static int unpack(const void *file, uint32_t image, void **out, size_t *size, struct err *err)
{
	uint32_t n;
	int rc = fatbin_unpack(file, image, out, err);

	if (!rc)
		*size = fatbin_images(file, &n)[image].size;
	return rc;
}

const struct device_file_kind cuda_file = {
	.vendor = "nvidia",
	.bypass = "CUDA_FORCE_PTX_JIT=1",
	.open = open_fatbin,
	.close = close_fatbin,
	.skipped = skipped,
	.choose = choose,
	.unpack = unpack,
	.functions = cubin_names,
};
