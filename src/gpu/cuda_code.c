#include "gpu/cuda_code.h"

#include "gpu/cubin_layers.h"
#include "gpu/cuda_stall.h"

#include <string.h>

_Static_assert((int)CUDA_STALL_MAX <= (int)DEVICE_STALL_MAX, "a name fits");

static int open_cubin(const void *image, size_t size, void **out, struct err *err)
{
	struct cubin *c = NULL;
	int rc = cubin_open_image(image, size, &c, err);

	if (!rc)
		*out = c;
	return rc;
}

static void close_cubin(void *code)
{
	cubin_close(code);
}

static bool find_text(const void *code, const char *function, uint32_t *text)
{
	return cubin_find(code, function, text);
}

static uint32_t add_layers(void *code, uint32_t text, uint64_t offset, const char *stall,
			   device_layer_fn *fn, void *ctx)
{
	return cubin_layers(code, text, offset, stall, CUBIN_ALL_LAYERS, fn, ctx);
}

static const char *stall_words(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued)
{
	return *reason ? cuda_stall_name(reason, text, not_issued) : NULL;
}

const struct device_code_kind cuda_code = {
	.vendor = "nvidia",
	.open = open_cubin,
	.close = close_cubin,
	.find = find_text,
	.layers = add_layers,
	.stall = stall_words,
};
