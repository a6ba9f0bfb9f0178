// tier: test
/* Any bytes as a file with device code for several kinds of devices: what it says is there is read, unpacked and looked through. */
#include "base/err.h"
#include "gpu/code/cubin.h"
#include "gpu/code/fatbin.h"
#include "memory_file.h"

#include <string.h>

enum { UNPACKED_MAX = 1 << 20 }; /* the same code is run for larger ones */

static void add_length(void *ctx, const char *linkage, uint64_t size)
{
	*(uint64_t *)ctx += strlen(linkage) + (size > 0);
}

static void unpack(const struct fatbin *f, uint32_t image, const struct fatbin_image *i)
{
	struct err err = { 0 };
	uint64_t length = 0;
	void *bytes;

	if (i->size > FATBIN_MAX_UNPACKED || i->packed > FATBIN_MAX_UNPACKED)
		abort();
	if (i->size > UNPACKED_MAX)
		return;
	if (fatbin_unpack(f, image, &bytes, &err) < 0) {
		if (!err.code || !*err.text)
			abort();
		return;
	}
	cubin_names(bytes, i->size, add_length, &length);
	free(bytes);
}

/* In order, each once, and none of PTX. */
static void choose(const struct fatbin *f, uint32_t sm)
{
	uint32_t n, n_images, *v = fatbin_choose(f, sm, &n);
	const struct fatbin_image *images = fatbin_images(f, &n_images);

	for (uint32_t i = 0; i < n; i++)
		if (v[i] >= n_images || images[v[i]].is_ptx || (i && v[i] <= v[i - 1]) ||
		    (sm && images[v[i]].sm > sm))
			abort();
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memory_file(data, size);
	struct err err = { 0 };
	struct fatbin *f;
	uint64_t length = 0;
	uint32_t n;

	cubin_names(data, size, add_length, &length);
	if (fatbin_open(fd, &f, &err) < 0) {
		if (!err.code || !*err.text)
			abort();
	} else {
		const struct fatbin_image *images = fatbin_images(f, &n);

		for (uint32_t i = 0; i < n && i < 16; i++)
			unpack(f, i, &images[i]);
		choose(f, 0);
		choose(f, 90);
		fatbin_close(f);
	}
	close(fd);
	return 0;
}
