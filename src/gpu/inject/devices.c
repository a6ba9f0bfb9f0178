/* Identifies the GPUs: the program's numbers for them follow CUDA_VISIBLE_DEVICES, and mean nothing
 * to other processes. */
#include "gpu/inject/library.h"

#include <dlfcn.h>
#include <string.h>

enum { PCI_BUS = 33, PCI_DEVICE = 34, PCI_DOMAIN = 50 }; /* CU_DEVICE_ATTRIBUTE_… */

static struct driver {
	int (*count)(int *n);
	int (*get)(int *device, int ordinal);
	int (*attribute)(int *value, int attribute, int device);
	int (*uuid)(uint8_t *out, int device);     /* of an instance, its own … */
	int (*gpu_uuid)(uint8_t *out, int device); /* … and of the GPU that it belongs to */
	int (*primary)(int device, unsigned *flags, int *active);
	bool is_there;
} driver;

static bool find_driver(void)
{
	void *lib = driver.is_there ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!lib)
		return driver.is_there;
	*(void **)&driver.count = dlsym(lib, "cuDeviceGetCount");
	*(void **)&driver.get = dlsym(lib, "cuDeviceGet");
	*(void **)&driver.attribute = dlsym(lib, "cuDeviceGetAttribute");
	*(void **)&driver.uuid = dlsym(lib, "cuDeviceGetUuid_v2");
	*(void **)&driver.gpu_uuid = dlsym(lib, "cuDeviceGetUuid");
	*(void **)&driver.primary = dlsym(lib, "cuDevicePrimaryCtxGetState");
	driver.is_there = driver.count && driver.get;
	return driver.is_there;
}

static struct ring_device *place_of(void *ring, uint32_t number)
{
	return (struct ring_device *)((char *)ring + RING_DEVICES_AT) + number;
}

static uint32_t read_uuid(struct ring_device *out, int device)
{
	uint8_t whole[16];

	if (!driver.uuid || driver.uuid(out->uuid, device)) {
		memset(out->uuid, 0, sizeof out->uuid);
		if (!driver.gpu_uuid || driver.gpu_uuid(out->uuid, device))
			return 0;
		return RING_DEVICE_UUID;
	}
	if (driver.gpu_uuid && !driver.gpu_uuid(whole, device) &&
	    memcmp(whole, out->uuid, sizeof whole))
		return RING_DEVICE_UUID | RING_DEVICE_INSTANCE;
	return RING_DEVICE_UUID;
}

static uint32_t read_bus(struct ring_device *out, int device)
{
	int domain = 0, bus = 0, slot = 0;

	if (!driver.attribute || driver.attribute(&bus, PCI_BUS, device) ||
	    driver.attribute(&slot, PCI_DEVICE, device) ||
	    driver.attribute(&domain, PCI_DOMAIN, device))
		return 0;
	out->domain = domain;
	out->bus = bus;
	out->slot = slot;
	return RING_DEVICE_BUS;
}

/* Sees the primary context only: one of cuCtxCreate counts once something ran in it
 * (devices_ran). */
static bool has_context(int device)
{
	unsigned flags;
	int active = 0;

	return driver.primary && !driver.primary(device, &flags, &active) && active;
}

/* Fields filled in once are not changed. */
static void tell(void *ring, uint32_t number)
{
	struct ring_device *to = place_of(ring, number), d = { 0 };
	uint32_t flags = __atomic_load_n(&to->flags, __ATOMIC_ACQUIRE);
	int device;

	if (driver.get(&device, number))
		return;
	if (!(flags & (RING_DEVICE_UUID | RING_DEVICE_BUS))) {
		d.flags = read_uuid(&d, device) | read_bus(&d, device);
		memcpy(to, &d, offsetof(struct ring_device, flags));
		__atomic_fetch_or(&to->flags, d.flags, __ATOMIC_RELEASE);
	}
	if (!(flags & RING_DEVICE_CONTEXT) && has_context(device))
		__atomic_fetch_or(&to->flags, RING_DEVICE_CONTEXT, __ATOMIC_RELEASE);
}

bool devices_tell(void)
{
	int n = 0;

	if (!find_driver() || driver.count(&n) || n <= 0)
		return false;
	for (int i = 0; i < n && i < RING_DEVICES_MAX; i++)
		tell(library.ring, i);
	return true;
}

void devices_ran(void *ring, uint32_t number)
{
	struct ring_device *to = place_of(ring, number);

	if (number < RING_DEVICES_MAX &&
	    !(__atomic_load_n(&to->flags, __ATOMIC_RELAXED) & RING_DEVICE_CONTEXT))
		__atomic_fetch_or(&to->flags, RING_DEVICE_CONTEXT, __ATOMIC_RELEASE);
}
