// tier: test
/* Names of GPUs: the driver's, by UUID, else by bus address; of other GPUs the program's number, unless another one has it. */
#include "unit.h"

#include "collect/resolve/gpu_names.h"
#include "gpu/device/backend.h"

static struct ring_device with_uuid(uint8_t first)
{
	struct ring_device d = { .flags = RING_DEVICE_UUID | RING_DEVICE_CONTEXT };
	for (int i = 0; i < 16; i++)
		d.uuid[i] = (uint8_t)(first + i);
	return d;
}

static void tell(struct gpu_names *n, const struct gpu_device *devices, size_t count)
{
	struct gpu_machine m = { 0 };
	vec_append(&m.devices, devices, count);
	gpu_names_update(n, &m);
	vec_done(&m.devices);
}

static void check(const struct gpu_names *n, uint32_t gpu, const char *label, const char *uuid)
{
	const struct gpu_name *name = gpu_names_get(n, gpu);
	ck_assert_ptr_nonnull(name);
	ck_assert_str_eq(name->label, label);
	ck_assert_str_eq(name->uuid, uuid);
}

#define UUID_10 "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f"
#define UUID_80 "GPU-80818283-8485-8687-8889-8a8b8c8d8e8f"

START_TEST(as_the_driver_has_them)
{
	struct gpu_names n = { 0 };
	const struct gpu_device devices[] = {
		{ .label = "0", .uuid = UUID_80, .bus = "00000000:1B:00.0" },
		{ .label = "0:1",
		  .is_instance = true,
		  .uuid = "MIG-20212223-2425-2627-2829-2a2b2c2d2e2f",
		  .bus = "" },
		{ .label = "1", .uuid = "GPU-10111213-1415-1617-1819-1A1B1C1D1E1F" },
	};
	struct ring_device first = with_uuid(0x10), second = with_uuid(0x80);
	struct ring_device part = with_uuid(0x20),
			   placed = { .flags = RING_DEVICE_BUS, .bus = 0x1b };
	tell(&n, devices, 3);
	check(&n, gpu_names_put(&n, 0, &first), "1", devices[2].uuid);
	check(&n, gpu_names_put(&n, 1, &second), "0", UUID_80);
	part.flags |= RING_DEVICE_INSTANCE;
	check(&n, gpu_names_put(&n, 0, &part), "0:1", devices[1].uuid);
	check(&n, gpu_names_put(&n, 5, &placed), "0", UUID_80);
	/* The same, for any number, and with or without a context. */
	first.flags &= ~(uint32_t)RING_DEVICE_CONTEXT;
	ck_assert_uint_eq(gpu_names_put(&n, 7, &first), 1);
	ck_assert_uint_eq(n.all.n, 4);
	gpu_names_done(&n);
}
END_TEST

START_TEST(without_a_driver)
{
	struct gpu_names n = { 0 };
	const struct ring_device first = with_uuid(0x10), second = with_uuid(0x80);
	tell(&n, NULL, 0);
	check(&n, gpu_names_put(&n, 0, &first), "0", UUID_10);
	check(&n, gpu_names_put(&n, 0, &second), "GPU-80818283", UUID_80);
	check(&n, gpu_names_put(&n, 1, &first), "0", UUID_10);
	check(&n, gpu_names_put(&n, 0, NULL), "0", "");
	check(&n, gpu_names_put(&n, 4000000000u, NULL), "4000000000", "");
	ck_assert_ptr_null(gpu_names_get(&n, 0));
	gpu_names_done(&n);
}
END_TEST

/* The driver starts late, goes away, and returns: names follow it, and no more of them are used. */
START_TEST(a_driver_comes)
{
	struct gpu_names n = { 0 };
	const struct gpu_device device = { .label = "3", .uuid = UUID_10 };
	const struct ring_device first = with_uuid(0x10);
	uint32_t early = gpu_names_put(&n, 0, &first);
	check(&n, early, "0", UUID_10);
	tell(&n, &device, 1);
	uint32_t late = gpu_names_put(&n, 0, &first);
	check(&n, late, "3", UUID_10);
	check(&n, early, "0", UUID_10);
	tell(&n, NULL, 0);
	ck_assert_uint_eq(gpu_names_put(&n, 0, &first), late);
	const struct gpu_device other = { .label = "4", .uuid = UUID_10 };
	for (int i = 0; i < 2000; i++) {
		tell(&n, i % 2 ? &device : &other, 1);
		check(&n, gpu_names_put(&n, 0, &first), i % 2 ? "3" : "4", UUID_10);
	}
	ck_assert_uint_le(n.all.n, 3);
	gpu_names_done(&n);
}
END_TEST

/* A program may report anything. */
START_TEST(too_many)
{
	struct gpu_names n = { 0 };
	for (uint32_t i = 0; i < GPU_NAMES_MAX; i++)
		ck_assert_uint_eq(gpu_names_put(&n, i, NULL), i + 1);
	ck_assert_uint_eq(gpu_names_put(&n, GPU_NAMES_MAX, NULL), 0);
	ck_assert_uint_eq(gpu_names_put(&n, 7, NULL), 8);
	gpu_names_done(&n);
}
END_TEST

UNIT_MAIN("gpu-names", as_the_driver_has_them, without_a_driver, a_driver_comes, too_many)
