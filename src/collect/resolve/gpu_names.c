/* Matches device numbers of programs with the driver's list, by UUID or PCI address. */
#include "collect/resolve/gpu_names.h"

#include "gpu/device/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_UUID = 12 }; /* "GPU-" and 8 digits */

void gpu_names_done(struct gpu_names *n)
{
	vec_done(&n->all);
	vec_done(&n->told);
}

/* --- the driver's devices --------------------------------------------------------------------- */

static bool same_devices(const struct gpu_names *n, const struct gpu_machine *m)
{
	if (n->told.n != m->devices.n)
		return false;
	for (size_t i = 0; i < n->told.n; i++)
		if (strcmp(n->told.v[i].uuid, m->devices.v[i].uuid) != 0 ||
		    strcmp(n->told.v[i].bus, m->devices.v[i].bus) != 0 ||
		    strcmp(n->told.v[i].label, m->devices.v[i].label) != 0)
			return false;
	return true;
}

void gpu_names_update(struct gpu_names *n, const struct gpu_machine *m)
{
	bool is_same = same_devices(n, m) || !m->devices.n; /* a driver that no longer responds */

	n->is_told = true;
	if (is_same)
		return;
	vec_clear(&n->told);
	vec_append(&n->told, m->devices.v, m->devices.n);
	n->since = (uint32_t)n->all.n;
}

static void uuid_text(const struct ring_device *d, char out[64])
{
	const __u8 *u = d->uuid;

	snprintf(out, 64, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 d->flags & RING_DEVICE_INSTANCE ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4],
		 u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static bool is_on_bus(const struct gpu_device *d, const struct ring_device *is)
{
	unsigned domain, bus, slot;

	return !d->is_instance && sscanf(d->bus, "%x:%x:%x", &domain, &bus, &slot) == 3 &&
	       domain == is->domain && bus == is->bus && slot == is->slot;
}

static const struct gpu_device *find_told(const struct gpu_names *n, const struct ring_device *is)
{
	char uuid[64];

	uuid_text(is, uuid);
	for (size_t i = 0; is->flags & RING_DEVICE_UUID && i < n->told.n; i++)
		if (strcasecmp(n->told.v[i].uuid, uuid) == 0)
			return &n->told.v[i];
	for (size_t i = 0; i < n->told.n; i++)
		if (is->flags & RING_DEVICE_BUS && !(is->flags & RING_DEVICE_INSTANCE) &&
		    is_on_bus(&n->told.v[i], is))
			return &n->told.v[i];
	return NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool same_device(const struct ring_device *a, const struct ring_device *b)
{
	uint32_t said = RING_DEVICE_UUID | RING_DEVICE_BUS | RING_DEVICE_INSTANCE;

	if ((a->flags & said) != (b->flags & said))
		return false;
	if (a->flags & RING_DEVICE_UUID)
		return memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
	return a->domain == b->domain && a->bus == b->bus && a->slot == b->slot;
}

/* Returns whether another GPU has the label. */
static bool is_taken(const struct gpu_names *n, const char *label)
{
	for (size_t i = 0; i < n->told.n; i++)
		if (strcmp(n->told.v[i].label, label) == 0)
			return true;
	for (size_t i = n->since; i < n->all.n; i++)
		if (n->all.v[i].is.flags && strcmp(n->all.v[i].label, label) == 0)
			return true;
	return false;
}

static struct gpu_name make_name(const struct gpu_names *n, uint32_t number,
				 const struct ring_device *is)
{
	struct gpu_name name = { .number = number };
	const struct gpu_device *told = is ? find_told(n, is) : NULL;

	snprintf(name.label, sizeof name.label, "%" PRIu32, number);
	if (!is)
		return name;
	name.is = *is;
	if (is->flags & RING_DEVICE_UUID)
		uuid_text(is, name.uuid);
	if (told) {
		snprintf(name.label, sizeof name.label, "%s", told->label);
		if (*told->uuid)
			snprintf(name.uuid, sizeof name.uuid, "%.*s", (int)sizeof name.uuid - 1,
				 told->uuid);
	} else if (*name.uuid && is_taken(n, name.label)) {
		snprintf(name.label, sizeof name.label, "%.*s", SHORT_UUID, name.uuid);
	}
	return name;
}

static bool is_named_so(const struct gpu_name *a, const struct gpu_name *b)
{
	return strcmp(a->label, b->label) == 0 && strcmp(a->uuid, b->uuid) == 0;
}

uint32_t gpu_names_put(struct gpu_names *n, uint32_t number, const struct ring_device *is)
{
	for (size_t i = n->since; i < n->all.n; i++) {
		const struct gpu_name *have = &n->all.v[i];
		bool is_same = is ? have->is.flags && same_device(&have->is, is)
				  : !have->is.flags && have->number == number;

		if (is_same)
			return (uint32_t)i + 1;
	}
	const struct gpu_name name = make_name(n, number, is);

	for (size_t i = 0; i < n->since; i++)
		if (is_named_so(&n->all.v[i], &name))
			return (uint32_t)i + 1;
	if (n->all.n >= GPU_NAMES_MAX)
		return 0;
	vec_push(&n->all, name);
	return (uint32_t)n->all.n;
}

const struct gpu_name *gpu_names_get(const struct gpu_names *n, uint32_t gpu)
{
	return gpu && gpu <= n->all.n ? &n->all.v[gpu - 1] : NULL;
}
