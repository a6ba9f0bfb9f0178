// tier: test
/* Any bytes as a file of names. The checksum is put right, so that the fuzzer gets past it. */
#include "base/buf.h"
#include "base/hash.h"
#include "symbol/disk_cache.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct names_file *f)
{
	struct symbol_line lines[NAMES_FILE_MAX_LINES];
	const char *origin;
	uint32_t n;
	size_t text = 0;
	for (uint32_t i = 0; i < f->n_offsets; i++) {
		if (!names_file_get(f, f->offsets[i], lines, NAMES_FILE_MAX_LINES, &n, &origin))
			abort();
		text += strlen(origin);
		for (uint32_t k = 0; k < n; k++)
			text += strlen(lines[k].name) + strlen(lines[k].linkage) +
				(lines[k].file ? strlen(lines[k].file) : 0);
	}
	if (names_file_get(f, 0x1234567, lines, 1, &n, &origin) && n > 1)
		abort();
}

/* What was read can be written, and read again. */
static void write_again(const struct names_file *f)
{
	struct names_maker m;
	struct names_file again;
	struct buf b = { 0 };
	names_maker_init(&m);
	names_maker_add_file(&m, f);
	names_maker_write(&m, &b);
	if (names_file_parse(b.data, b.len, &again) || again.n_offsets > f->n_offsets)
		abort();
	use(&again);
	names_maker_done(&m);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { SUM_AT = 16, SUMMED_FROM = 24 };
	struct names_file f;
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, data, size);
	if (size >= SUMMED_FROM) {
		uint64_t sum = hash_bytes(copy + SUMMED_FROM, size - SUMMED_FROM);
		memcpy(copy + SUM_AT, &sum, sizeof sum);
	}
	if (names_file_parse(copy, size, &f) == 0) {
		use(&f);
		write_again(&f);
	}
	free(copy);
	return 0;
}
