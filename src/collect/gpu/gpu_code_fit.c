/* Hashes the functions of images, and compares them with the numbers in samples. */
#include "collect/gpu/gpu_code_fit.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "gpu/code/device_code.h"
#include "gpu/code/device_file.h"
#include "profile/frame.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- functions of a file ---------------------------------------------------------------------- */

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

/* --- images that fit -------------------------------------------------------------------------- */

static bool has_function(const struct gpu_code_fitting *at, const struct gpu_code_wanted *w)
{
	const struct gpu_code_function *f = gpu_code_index_find(at->index, w->hash, at->image);

	return f && f->image == at->image && w->offset < f->size;
}

static bool has_all(const struct gpu_code_fitting *at, const struct gpu_code_wanted *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!has_function(at, &w[i]))
			return false;
	return true;
}

void gpu_code_fit_in(const struct gpu_code_index *x, const struct gpu_code_wanted *w, size_t n,
		     struct gpu_code_fitting_images *out)
{
	const struct gpu_code_function *first = gpu_code_index_find(x, w->hash, 0);

	for (; first && !out->is_full; first = gpu_code_index_find(x, w->hash, first->image + 1)) {
		struct gpu_code_fitting at = { x, first->image };

		if (clock_thread_ns() > out->until_ns)
			out->is_full = true;
		if (out->is_full || !has_all(&at, w, n))
			continue;
		if (out->n == GPU_CODE_FITTING)
			out->is_full = true;
		else
			out->v[out->n++] = at;
	}
}

struct image {
	uint64_t hash;
	size_t size;
};

/* Returns false if the image is unavailable, or there is no space. */
static bool open_one(const struct gpu_code_fitting *at, uint64_t max_bytes, struct image *seen,
		     struct gpu_code_found *out)
{
	struct image image;
	struct err err;
	void *bytes;

	if (device_file_unpack(at->index->file, at->image, &bytes, &image.size, &err))
		return false;
	image.hash = hash_bytes(bytes, image.size);
	for (uint32_t i = 0; i < out->n; i++)
		if (seen[i].hash == image.hash && seen[i].size == image.size) {
			free(bytes);
			return true;
		}
	if (out->n == GPU_CODE_ALIKE || image.size > max_bytes - out->bytes) {
		free(bytes);
		return false;
	}
	if (device_code_open(bytes, image.size, &out->code[out->n], &err))
		return false;
	out->bytes += image.size;
	seen[out->n++] = image;
	return true;
}

static void ignore(void *ctx, enum frame_kind kind, const char *name, const char *file,
		   uint32_t line)
{
	(void)ctx, (void)kind, (void)name, (void)file, (void)line;
}

static bool code_has_all(struct device_code *code, const struct gpu_code_wanted *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!device_code_layers(code, w[i].function, w[i].offset, NULL, ignore, NULL))
			return false;
	return true;
}

void gpu_code_found_keep(struct gpu_code_found *f, const struct gpu_code_wanted *w, size_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->n; i++)
		if (code_has_all(f->code[i], w, n))
			f->code[kept++] = f->code[i];
		else
			device_code_close(f->code[i]);
	f->n = kept;
}

void gpu_code_found_done(struct gpu_code_found *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		device_code_close(f->code[i]);
	*f = (struct gpu_code_found){ 0 };
}

void gpu_code_fit_open(const struct gpu_code_fitting_images *fit, uint64_t max_bytes,
		       struct gpu_code_found *out)
{
	struct image seen[GPU_CODE_ALIKE];
	bool is_good = !fit->is_full;

	*out = (struct gpu_code_found){ 0 };
	for (uint32_t i = 0; is_good && i < fit->n; i++)
		is_good = clock_thread_ns() < fit->until_ns &&
			  open_one(&fit->v[i], max_bytes, seen, out);
	if (!is_good)
		gpu_code_found_done(out);
}
