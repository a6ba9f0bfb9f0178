// tier: test
/* What the probe on HotSpot's sampler has to know, from tables made by hand. */
#include "base/err.h"
#include "hotspot_image.h"
#include "runtime/hotspot_sampler.h"
#include "symbol/elf/elf_file.h"
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

enum { TLAB = 256, ALLOCATED = 376, REFILLS = 72 };

static uint64_t word_at(const struct image *m, uint64_t addr)
{
	uint64_t value;

	memcpy(&value, m->bytes + (addr - IMAGE_BASE), sizeof value);
	return value;
}

static void add(struct image *m, const char *type, const char *field, unsigned offset,
		uint64_t address)
{
	struct image_table t = { .at = word_at(m, m->file.symbols[HOTSPOT_STRUCTS]), .stride = 48 };
	const struct image_field f = {
		.type = type, .field = field, .c_type = "", .offset = offset
	};

	while (word_at(m, t.at + t.n * t.stride))
		t.n++;
	image_struct(m, &t, &f, address);
}

/* without: a field that is left out; NULL: none. Returns the address of two flags. */
static uint64_t make(struct image *m, uint16_t version, const char *without, unsigned allocated)
{
	const struct {
		const char *type, *field;
		unsigned offset;
	} fields[] = {
		{ "Thread", "_tlab", TLAB },
		{ "Thread", "_allocated_bytes", allocated },
		{ "ThreadLocalAllocBuffer", "_start", 0 },
		{ "ThreadLocalAllocBuffer", "_top", 8 },
		{ "ThreadLocalAllocBuffer", "_end", 24 },
		{ "ThreadLocalAllocBuffer", "_number_of_refills", REFILLS },
		{ "Klass", "_layout_helper", 8 },
	};
	const char *base = version < 21 ? "_narrow_klass._base" : "_base";
	const char *shift = version < 21 ? "_narrow_klass._shift" : "_shift";

	image_make(m, version);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!without || strcmp(fields[i].field, without) != 0)
			add(m, fields[i].type, fields[i].field, fields[i].offset, 0);
	if (!without || strcmp("_base", without) != 0)
		add(m, "CompressedKlassPointers", base, 0, image_word(m, 0x7f0000000000));
	add(m, "CompressedKlassPointers", shift, 0, image_word(m, 3));
	return image_word(m, 0);
}

static int read_it(struct image *m, struct hotspot_sampler s, struct java_heap *out)
{
	const struct runtime_memory memory = { image_read, m };
	struct err err = { 0 };

	s.tables = m->file;
	return hotspot_sampler_read(&s, 0, &memory, out, &err);
}

START_TEST(to_24)
{
	struct image m;
	struct java_heap heap;
	const uint64_t narrow = make(&m, 17, NULL, ALLOCATED);

	image_set(&m, narrow, 1, 1);
	const struct hotspot_sampler s = { .narrow_classes = narrow, .has_check = true };
	ck_assert_int_eq(read_it(&m, s, &heap), 0);
	ck_assert_uint_eq(heap.tlab_below, ALLOCATED + 8 - TLAB);
	ck_assert_uint_eq(heap.tlab_start, 0);
	ck_assert_uint_eq(heap.tlab_top, 8);
	ck_assert_uint_eq(heap.tlab_end, 24);
	ck_assert_uint_eq(heap.tlab_since, REFILLS - 8);
	ck_assert_uint_eq(heap.header, JAVA_HEADER_NARROW);
	ck_assert_uint_eq(heap.class_base, 0x7f0000000000);
	ck_assert_uint_eq(heap.class_shift, 3);
	ck_assert_uint_eq(heap.class_layout, 8);
}
END_TEST

START_TEST(from_25)
{
	struct image m;
	struct java_heap heap;
	const uint64_t narrow = make(&m, 25, NULL, ALLOCATED), compact = narrow + 1;
	const struct hotspot_sampler s = { .narrow_classes = narrow, .short_headers = compact };

	ck_assert_int_eq(read_it(&m, s, &heap), 0);
	ck_assert_uint_eq(heap.tlab_since, 0);
	ck_assert_uint_eq(heap.header, JAVA_HEADER_WIDE);
	ck_assert_uint_eq(heap.class_base, 0);
	image_set(&m, narrow, 1, 1);
	ck_assert_int_eq(read_it(&m, s, &heap), 0);
	ck_assert_uint_eq(heap.header, JAVA_HEADER_NARROW);
	image_set(&m, compact, 1, 1);
	ck_assert_int_eq(read_it(&m, s, &heap), 0);
	ck_assert_uint_eq(heap.header, JAVA_HEADER_SHORT);
	ck_assert_uint_eq(heap.class_base, 0x7f0000000000);
}
END_TEST

START_TEST(refused)
{
	static const char *const fields[] = { "_tlab", "_allocated_bytes",   "_top",
					      "_end",  "_number_of_refills", "_layout_helper",
					      "_base" };
	static const unsigned places[] = { TLAB - 8, TLAB, TLAB + REFILLS, 4096, 1 << 20 };
	struct image m;
	struct java_heap heap;
	const uint64_t narrow = make(&m, 25, NULL, ALLOCATED);
	const struct hotspot_sampler s = { .narrow_classes = narrow };

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		make(&m, 25, fields[i], ALLOCATED);
		image_set(&m, narrow, 1, 1);
		ck_assert_msg(read_it(&m, s, &heap) == -ENOTSUP, "without %s", fields[i]);
	}
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		make(&m, 25, NULL, places[i]);
		ck_assert_msg(read_it(&m, s, &heap) == -ENOTSUP, "allocated bytes at %u",
			      places[i]);
	}
	make(&m, 25, NULL, ALLOCATED);
	image_set(&m, m.file.symbols[HOTSPOT_STRUCTS], 0, 8);
	ck_assert_int_eq(read_it(&m, s, &heap), -EAGAIN);
	image_set(&m, m.file.symbols[HOTSPOT_STRUCTS], 0xdead000, 8);
	ck_assert_int_eq(read_it(&m, s, &heap), -EFAULT);
}
END_TEST

START_TEST(other_files)
{
	struct hotspot_sampler s;
	struct elf_file f;
	struct err err = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(elf_file_open(&f, fd, &err), 0);
	ck_assert_int_eq(hotspot_sampler_find(&f, &s, &err), -ENODATA);
	elf_file_close(&f);
	close(fd);
}
END_TEST

UNIT_MAIN("hotspot_sampler", to_24, from_25, refused, other_files)
