/* Hashes the functions of images, for lookup. */
#include "collect/gpu/gpu_code_index.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "gpu/code/device_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t gpu_code_hash(const char *function)
{
	return hash_bytes(function, strlen(function));
}

struct listing {
	struct gpu_code_index *x;
	uint32_t image;
};

static void add_function(void *ctx, const char *name, uint64_t size)
{
	struct listing *l = ctx;

	if (l->x->functions.n < GPU_CODE_FUNCTIONS)
		vec_push(&l->x->functions,
			 (struct gpu_code_function){ gpu_code_hash(name), l->image,
						     size < UINT32_MAX ? size : UINT32_MAX });
}

static bool read_image(struct gpu_code_index *x, uint32_t image)
{
	struct listing l = { x, image };
	struct err err;
	size_t size;
	void *bytes;

	if (device_file_unpack(x->file, image, &bytes, &size, &err))
		return false;
	bool is_good = device_file_functions(x->file, bytes, size, add_function, &l);
	free(bytes);
	return is_good;
}

static int by_hash(const void *a, const void *b)
{
	const struct gpu_code_function *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->image < y->image ? -1 : x->image > y->image;
}

void gpu_code_index_read(struct gpu_code_index *x, const atomic_bool *stop)
{
	uint64_t until_ns = clock_thread_ns() + GPU_CODE_FILE_MS * 1000000ull;
	uint32_t n, *images = device_file_choose(x->file, x->model, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (*stop || x->functions.n >= GPU_CODE_FUNCTIONS || clock_thread_ns() > until_ns) {
			x->unread += n - i;
			break;
		}
		if (!read_image(x, images[i]))
			x->unread++;
	}
	free(images);
	if (x->functions.n)
		qsort(x->functions.v, x->functions.n, sizeof *x->functions.v, by_hash);
}

struct gpu_code_index *gpu_code_index_open(int fd, uint32_t model)
{
	struct device_file *file;
	struct err err;

	if (device_file_open(fd, &file, &err))
		return NULL;
	struct gpu_code_index *x = xcalloc(1, sizeof *x);

	x->fd = fd;
	x->model = model;
	x->file = file;
	x->unread = device_file_skipped(file);
	return x;
}

void gpu_code_index_free(struct gpu_code_index *x)
{
	if (!x)
		return;
	device_file_close(x->file);
	close(x->fd);
	vec_done(&x->functions);
	free(x);
}

const struct gpu_code_function *gpu_code_index_find(const struct gpu_code_index *x, uint64_t hash,
						    uint32_t image)
{
	const struct gpu_code_function wanted = { .hash = hash, .image = image };
	size_t i = search_first(at, 0, x->functions.n, by_hash(&x->functions.v[at], &wanted) >= 0);

	return i < x->functions.n && x->functions.v[i].hash == hash ? &x->functions.v[i] : NULL;
}
