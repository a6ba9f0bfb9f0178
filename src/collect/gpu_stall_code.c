#include "collect/gpu_stall_code.h"

#include "base/mem.h"
#include "gpu/device_code.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static void close_module(struct gpu_stall_module *m)
{
	free(m->image);
	device_code_close(m->code);
}

void gpu_stall_code_done(struct gpu_stall_code *c)
{
	for (size_t i = 0; i < c->modules.n; i++)
		close_module(&c->modules.v[i]);
	vec_done(&c->modules);
	map_done(&c->index);
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
			c->bytes -= m.size;
			close_module(&m);
			continue;
		}
		map_put(&c->index, hash_mix(m.pid, m.crc), n);
		c->modules.v[n++] = m;
	}
	c->modules.n = n;
}

uint32_t gpu_stall_code_sampled(struct gpu_stall_code *c, uint32_t pid, uint64_t crc)
{
	uint32_t i = module_of(c, pid, crc);

	if (i != GPU_STALL_NO_MODULE && !c->modules.v[i].is_sampled)
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

void gpu_stall_code_read(struct gpu_stall_code *c, uint32_t pid, struct ring_reader *ring)
{
	bool others = false;

	if (c->is_pending) /* before it ends */
		ring_has_cubins(ring);
	for (size_t i = 0; c->is_pending && i < c->modules.n; i++) {
		struct gpu_stall_module *m = &c->modules.v[i];

		if (m->is_done || !m->is_sampled || !m->is_placed)
			continue;
		if (m->pid == pid)
			copy_image(c, m, ring);
		else
			others = true;
	}
	c->is_pending = others;
}

struct device_code *gpu_stall_code_get(struct gpu_stall_code *c, uint32_t module)
{
	struct gpu_stall_module *m = module == GPU_STALL_NO_MODULE ? NULL : &c->modules.v[module];
	struct err err;

	if (m && m->image) {
		void *image = m->image;

		m->image = NULL;
		if (device_code_open(image, m->size, &m->code, &err))
			m->code = NULL;
	}
	return m ? m->code : NULL;
}
