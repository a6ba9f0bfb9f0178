// tier: test
/* Any bytes as an ELF file with a thread-local variable, and as what the dynamic linker is said to have written. */
#include "bpf/trace.h"
#include "collect/process/thread_context.h"
#include "memory_file.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_tls.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* Memory is the bytes, again and again. */
static int read_bytes(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct bytes *b = ctx;

	if (addr % 16 == 15)
		return -EFAULT;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = b->data[(addr % b->size + i) % b->size];
	return 0;
}

static void check(const struct trace_recipe *r, bool is_program)
{
	bool is_static = r->place == TRACE_STATIC;

	if (is_static ? r->offset >= 0 || r->module : !r->module || r->module > 65535)
		abort();
	if (is_program != !r->proof_at && r->proof_at)
		abort();
}

static void find(const struct elf_tls *tls, const struct bytes *b, uint64_t start)
{
	const struct thread_memory memory = { read_bytes, (void *)b };

	for (int way = 0; way < 4; way++) {
		const struct thread_context_place place = { tls, start, 0, way & 1, way & 2 };
		struct trace_recipe r;

		if (thread_context_recipe(&place, &memory, &r) == 0)
			check(&r, place.is_program);
	}
}

/* All kinds of words, whatever the file has. */
static void find_any(const struct bytes *b)
{
	struct elf_tls tls = { 0 };

	memcpy(&tls.value, b->data, sizeof tls.value);
	memcpy(&tls.program_offset, b->data + 8, sizeof tls.program_offset);
	for (int words = ELF_TLS_NO_WORDS; words <= ELF_TLS_DESCRIPTOR; words++) {
		tls.words = words;
		for (uint64_t start = 0; start < 64; start += 8)
			find(&tls, b, start);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	struct elf_tls tls;
	struct elf_file f;

	if (size < 16)
		return 0;
	find_any(&b);
	int fd = memory_file(data, size);
	if (elf_file_open(&f, fd, NULL) == 0) {
		if (elf_tls_find(&f, THREAD_CONTEXT_VARIABLE, &tls) == 0)
			find(&tls, &b, 0x7f0000000000);
		elf_is_musl(&f);
		elf_file_close(&f);
	}
	close(fd);
	return 0;
}
