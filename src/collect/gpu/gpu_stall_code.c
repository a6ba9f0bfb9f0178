/* Copies images of device code from a ring, and opens the ones that have samples. */
#include "collect/gpu/gpu_stall_code.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "collect/gpu/gpu_code_files.h"
#include "collect/gpu/gpu_code_fit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void close_module(struct gpu_stall_module *m)
{
	free(m->image);
	device_code_close(m->code);
	gpu_code_found_done(&m->found);
	vec_done(&m->functions);
}

void gpu_stall_code_done(struct gpu_stall_code *c)
{
	for (size_t i = 0; i < c->modules.n; i++)
		close_module(&c->modules.v[i]);
	vec_done(&c->modules);
	map_done(&c->index);
	gpu_code_files_free(c->files);
}

static uint32_t module_of(struct gpu_stall_code *c, uint32_t pid, uint64_t crc)
{
	uint64_t key = hash_mix(pid, crc);
	const uint32_t *known = map_get(&c->index, key);

	if (known)
		return *known;
	if (c->modules.n >= GPU_STALL_MODULES)
		return GPU_STALL_NO_MODULE;
	map_put(&c->index, key, c->modules.n);
	vec_push(&c->modules, (struct gpu_stall_module){ .crc = crc, .pid = pid });
	return c->modules.n - 1;
}

void gpu_stall_code_forget_ended(struct gpu_stall_code *c)
{
	size_t n = 0;

	map_clear(&c->index);
	for (size_t i = 0; i < c->modules.n; i++) {
		struct gpu_stall_module m = c->modules.v[i];

		if (kill(m.pid, 0) && errno == ESRCH) {
			c->bytes -= m.size + m.found.bytes;
			close_module(&m);
			continue;
		}
		map_put(&c->index, hash_mix(m.pid, m.crc), n);
		c->modules.v[n++] = m;
	}
	c->modules.n = n;
	if (c->files)
		gpu_code_files_forget_ended(c->files);
}

uint32_t gpu_stall_code_sampled(struct gpu_stall_code *c, uint32_t pid, uint64_t crc,
				uint32_t model)
{
	uint32_t i = module_of(c, pid, crc);

	if (i == GPU_STALL_NO_MODULE || c->modules.v[i].is_sampled)
		return i;
	c->modules.v[i].model = model;
	c->modules.v[i].is_sampled = c->is_pending = true;
	return i;
}

void gpu_stall_code_placed(struct gpu_stall_code *c, uint32_t pid, const struct ring_module *m)
{
	uint32_t i = module_of(c, pid, m->crc);

	if (i == GPU_STALL_NO_MODULE || c->modules.v[i].is_done)
		return;
	c->modules.v[i].place = *m;
	c->modules.v[i].is_placed = c->is_pending = true;
}

static void copy_image(struct gpu_stall_code *c, struct gpu_stall_module *m,
		       struct ring_reader *ring)
{
	uint64_t size = m->place.size;

	m->is_done = true;
	if (size > CUBINS_SIZE || c->bytes + size > GPU_STALL_CODE_BYTES)
		return;
	m->image = xmalloc(size + 1);
	if (!ring_module_copy(ring, &m->place, m->image)) {
		free(m->image);
		m->image = NULL;
		return;
	}
	m->size = size;
	c->bytes += size;
	c->copied++;
}

/* Searches the files already: the program may still hand it over, but files take longer. */
static void want_files(struct gpu_stall_code *c, struct gpu_stall_module *m)
{
	m->is_wanted = true;
	if (!c->files)
		c->files = gpu_code_files_new();
	if (c->files)
		gpu_code_files_want(c->files, m->pid, m->model);
}

void gpu_stall_code_read(struct gpu_stall_code *c, uint32_t pid, struct ring_reader *ring)
{
	bool others = false;

	if (c->is_pending) /* before the program ends */
		ring_has_cubins(ring);
	for (size_t i = 0; c->is_pending && i < c->modules.n; i++) {
		struct gpu_stall_module *m = &c->modules.v[i];

		if (m->is_done || !m->is_sampled || (m->is_wanted && !m->is_placed))
			continue;
		if (m->pid != pid)
			others = true;
		else if (m->is_placed)
			copy_image(c, m, ring);
		else
			want_files(c, m);
	}
	c->is_pending = others;
}

/* --- naming ----------------------------------------------------------------------------------- */

/* Returns the code that the program handed over; NULL: none, or it is invalid. */
static struct device_code *handed_over(struct gpu_stall_module *m)
{
	struct err err;
	void *image = m->image;

	m->image = NULL;
	if (image && device_code_open(image, m->size, &m->code, &err))
		m->code = NULL;
	return m->code;
}

void gpu_stall_code_need(struct gpu_stall_code *c, uint32_t module, const char *function,
			 uint64_t offset)
{
	struct gpu_stall_module *m = module == GPU_STALL_NO_MODULE ? NULL : &c->modules.v[module];
	struct gpu_code_wanted *last;

	if (!m || !m->is_wanted || m->is_refuted || handed_over(m))
		return;
	last = m->functions.n ? &m->functions.v[m->functions.n - 1] : NULL;
	if (!last || strcmp(last->function, function) != 0)
		vec_push(&m->functions,
			 (struct gpu_code_wanted){ function, gpu_code_hash(function), offset });
	else if (last->offset < offset)
		last->offset = offset;
}

static void find_in_files(struct gpu_stall_code *c, struct gpu_stall_module *m, uint64_t until_ns)
{
	if (!c->files || c->bytes >= GPU_STALL_CODE_BYTES)
		return;
	gpu_code_files_find(c->files, m->pid, m->model, m->functions.v, m->functions.n,
			    GPU_STALL_CODE_BYTES - c->bytes, until_ns, &m->found);
	c->bytes += m->found.bytes;
	c->in_files += m->found.n > 0;
}

/* Code found by other functions must have these as well; otherwise it is the wrong code, and is
 * dropped. */
static void keep_what_fits(struct gpu_stall_code *c, struct gpu_stall_module *m)
{
	gpu_code_found_keep(&m->found, m->functions.v, m->functions.n);
	if (m->found.n)
		return;
	m->is_refuted = true;
	c->bytes -= m->found.bytes;
	c->in_files--;
	gpu_code_found_done(&m->found);
}

void gpu_stall_code_search(struct gpu_stall_code *c, bool wait)
{
	uint64_t until_ns =
		clock_thread_ns() + 1000000ull * (wait ? GPU_CODE_WAIT_MS : GPU_CODE_SEARCH_MS);

	if (c->files && wait)
		gpu_code_files_wait(c->files, GPU_CODE_WAIT_MS);
	for (size_t i = 0; i < c->modules.n; i++) {
		struct gpu_stall_module *m = &c->modules.v[i];

		if (!m->functions.n)
			continue;
		if (m->found.n)
			keep_what_fits(c, m);
		else
			find_in_files(c, m, until_ns);
		vec_done(&m->functions);
	}
}

static void spell_layer(void *ctx, enum frame_kind kind, const char *name, const char *file,
			uint32_t line)
{
	buf_addf(ctx, "%d %s %s %u\n", kind, name, file ? file : "", line);
}

/* Returns whether all candidates agree on the place. */
static bool are_alike(const struct gpu_code_found *f, const char *function, uint64_t offset,
		      const char *stall)
{
	struct buf first = { 0 }, other = { 0 };
	bool alike = true;

	for (uint32_t i = 0; f->n > 1 && alike && i < f->n; i++) {
		buf_clear(&other);
		device_code_layers(f->code[i], function, offset, stall, spell_layer,
				   i ? &other : &first);
		alike = !i || strcmp(buf_cstr(&first), buf_cstr(&other)) == 0;
	}
	buf_done(&first);
	buf_done(&other);
	return alike;
}

uint32_t gpu_stall_code_layers(struct gpu_stall_code *c, uint32_t module, const char *function,
			       uint64_t offset, const char *stall, device_layer_fn *fn, void *ctx,
			       bool *is_unclear)
{
	struct gpu_stall_module *m = module == GPU_STALL_NO_MODULE ? NULL : &c->modules.v[module];
	struct device_code *code = m ? handed_over(m) : NULL;

	*is_unclear = false;
	if (!code && m && m->found.n) {
		*is_unclear = !are_alike(&m->found, function, offset, stall);
		code = *is_unclear ? NULL : m->found.code[0];
	}
	return code ? device_code_layers(code, function, offset, stall, fn, ctx) : 0;
}

uint64_t gpu_stall_code_unread(const struct gpu_stall_code *c)
{
	return c->files ? gpu_code_files_unread(c->files) : 0;
}
