// tier: test
/* Any bytes as the memory of a process that runs V8: strings, functions, code, position tables, inlined functions, lines; and as a position table. */
#include "../unit/v8_layout.h"
#include "base/buf.h"
#include "memory_file.h"

#include <errno.h>
#include <string.h>

enum { BASE = 0x100000, MAX_READS = 1000000 };

struct memory {
	const uint8_t *data;
	size_t size;
	unsigned reads;
};

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct memory *m = ctx;

	if (++m->reads > MAX_READS)
		abort();
	if (addr < BASE || addr - BASE > m->size || len > m->size - (addr - BASE))
		return -EFAULT;
	memcpy(out, m->data + (addr - BASE), len);
	return 0;
}

static void read_function(const struct v8_reader *r, uint64_t shared, int32_t offset)
{
	struct v8_lines lines = { 0 };
	struct v8_function f;
	uint32_t line, column;

	if (v8_function_read(r, shared, 0, 0, &f) < 0)
		return;
	if (!f.name || strlen(f.name) > 4 * V8_MAX_NAME)
		abort();
	if (v8_line_of(&lines, r, f.script, offset, &line, &column) && (!line || !column))
		abort();
	v8_lines_done(&lines);
	v8_function_done(&f);
}

static void read_code(const struct v8_reader *r, uint64_t pc)
{
	struct v8_site sites[RUNTIME_MAX_INLINED];
	struct v8_code code;
	uint32_t n;

	if (v8_code_find(r, pc, &code) < 0)
		return;
	if (code.start > pc || pc - code.start >= code.size)
		abort();
	if (v8_code_sites(r, &code, pc, sites, RUNTIME_MAX_INLINED, &n) < 0)
		return;
	if (!n || n > RUNTIME_MAX_INLINED)
		abort();
	for (uint32_t i = 0; i < n; i++)
		read_function(r, sites[i].shared, sites[i].offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = { data, size, 0 };
	const struct runtime_memory memory = { read_memory, &m };
	const struct v8_reader r = { &layout, &memory };
	struct v8_position at;
	struct buf text = { 0 };
	uint64_t words[3];

	v8_positions_find(data, size, 100, &at);
	if (size < sizeof words)
		return 0;
	/* A string, a function, and a pc. */
	memcpy(words, data, sizeof words);
	v8_text_read(&r, words[0], V8_MAX_NAME, &text);
	buf_done(&text);
	read_function(&r, words[1], (int32_t)words[0]);
	read_code(&r, words[2]);
	return 0;
}
