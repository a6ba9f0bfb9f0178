// tier: test
/* Any bytes as device code: every place of it is looked up. */
#include "base/buf.h"
#include "base/err.h"
#include "gpu/code/cubin.h"
#include "memory_file.h"

#include <string.h>

enum { MAX_PLACES = 256 };

static void count_layer(void *ctx, enum frame_kind kind, const char *name, const char *file,
			uint32_t line)
{
	size_t *len = ctx;
	(void)kind, (void)line;
	*len += strlen(name) + (file ? strlen(file) : 0);
}

static void look_up(struct cubin *c, uint32_t text, const struct cubin_text *t)
{
	struct cubin_frame f[3];
	uint64_t word[2], step = t->size / MAX_PLACES + 1;
	size_t len = strlen(t->name) + strlen(t->linkage);
	for (uint64_t at = 0; at < t->size; at += step) {
		uint32_t n = cubin_lookup(c, text, at, f, 3);
		if (n == 0 || n > 3 ||
		    cubin_layers(c, text, at, "stall", CUBIN_ALL_LAYERS, count_layer, &len) < 3)
			abort();
		cubin_instruction(c, text, at, word);
	}
	if (cubin_lookup(c, text, t->size, f, 3) || !len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cubin *c;
	struct err err = { 0 };
	uint32_t n;
	if (cubin_open_image(data, size, &c, &err) < 0) {
		if (!err.code || !*err.text)
			abort();
		return 0;
	}
	const struct cubin_text *t = cubin_texts(c, &n);
	for (uint32_t i = 0; i < n && i < 64; i++)
		look_up(c, i, &t[i]);
	cubin_close(c);
	return 0;
}
