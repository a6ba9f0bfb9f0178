// tier: test
/* Any bytes as the memory of a process that runs CPython of some version: threads, frames, code objects, strings, line tables; and as the ELF
 * file that has it. */
#include "memory_file.h"
#include "runtime/cpython_layout.h"
#include "runtime/cpython_parts.h"
#include "runtime/runtime.h"
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <string.h>

enum { BASE = 0x10000, MAX_THREADS = 16, MAX_FRAMES = 32, MAX_READS = 100000 };

struct image {
	const uint8_t *data;
	size_t size;
	unsigned reads;
};

static int read_image(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct image *i = ctx;

	if (++i->reads > MAX_READS)
		abort();
	if (addr < BASE || addr - BASE > i->size || len > i->size - (addr - BASE))
		return -EFAULT;
	memcpy(out, i->data + (addr - BASE), len);
	return 0;
}

static void check_code(const struct cpython_code *c)
{
	/* At most four bytes a character. */
	if (!*c->name || strlen(c->name) > CPYTHON_MAX_NAME * 4 + 3 ||
	    (c->file && strlen(c->file) > CPYTHON_MAX_PATH * 4 + 3) ||
	    c->lines_size > CPYTHON_MAX_LINES)
		abort();
}

static void read_frame(const struct cpython_layout *l, const struct runtime_memory *m,
		       const struct cpython_frame *f)
{
	struct cpython_code c;

	if (!(f->words[0] & CPYTHON_FRAME) || f->words[0] >> 63)
		abort();
	if (cpython_code_read(l, m, f->words[0] & CPYTHON_ADDRESS, f->words[1] >> 32, 0, &c) < 0)
		return;
	check_code(&c);
	if (c.lines)
		for (uint32_t offset = 0; offset < 64; offset += 2)
			cpython_line(l->version, c.lines, c.lines_size, c.first_line, offset);
	cpython_code_done(&c);
}

static void read_threads(const struct cpython_layout *l, struct image *image)
{
	const struct runtime_memory m = { read_image, image };
	struct cpython_thread threads[MAX_THREADS];
	struct cpython_frame frames[MAX_FRAMES];

	cpython_threads_check(l, BASE, &m);
	size_t n = cpython_threads(l, BASE, &m, threads, MAX_THREADS);
	for (size_t i = 0; i < n; i++) {
		size_t k = cpython_frames(l, threads[i].state, &m, frames, MAX_FRAMES);

		for (size_t f = 0; f < k; f++)
			read_frame(l, &m, &frames[f]);
	}
}

static void read_said(struct image *image)
{
	uint64_t said[CPYTHON_SAID_WORDS];
	struct cpython_shape s;

	if (image->size < sizeof said)
		return;
	memcpy(said, image->data, sizeof said);
	if (cpython_layout_said(said, &s, NULL) < 0)
		return;
	/* What lies behind the words is the memory. */
	image->data += sizeof said;
	image->size -= sizeof said;
	read_threads(&s.layout, image);
}

static void read_elf(const uint8_t *data, size_t size)
{
	struct cpython_file file;
	struct elf_file f;
	uint64_t bias;
	int fd = memory_file(data, size);

	if (elf_file_open(&f, fd, NULL) == 0) {
		if (cpython_file_read(&f, "libpython3.9.so", &file, NULL) == 0) {
			if (file.n_loops > LOOP_PARTS_MAX || file.code.n > MAPPED_CODE_MAX ||
			    file.version < CPYTHON_VERSION(3, 6))
				abort();
			mapped_code_bias(&file.code, 0x7f0000000000, 0x1000, &bias);
		}
		elf_file_close(&f);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpython_shape s;

	if (size < 4)
		return 0;
	if (memcmp(data, "\177ELF", 4) == 0) {
		read_elf(data, size);
		return 0;
	}
	struct image image = { data + 1, size - 1, 0 };
	if (cpython_layout_of(CPYTHON_VERSION(3, *data), &s))
		read_threads(&s.layout, &image);
	else
		read_said(&image);
	for (unsigned minor = 9; minor <= 11; minor++)
		for (uint32_t offset = 0; offset < 512; offset += 34)
			cpython_line(CPYTHON_VERSION(3, minor), data, size, *data, offset);
	return 0;
}
