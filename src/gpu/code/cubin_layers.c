/* The chain of inlined calls of an instruction. */
#include "gpu/code/cubin.h"

#include "base/buf.h"
#include "gpu/code/sass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DIRECTORIES = 64 }; /* of a path; deeper ones stay one layer */

struct layering {
	unsigned layers;
	cubin_layer_fn *fn;
	void *ctx;
	uint32_t n;
};

static void add(struct layering *l, enum cubin_layer layer, enum frame_kind kind, const char *name,
		const struct cubin_frame *at)
{
	if (!(l->layers & layer))
		return;
	l->fn(l->ctx, kind, name, at ? at->file : NULL, at ? at->line : 0);
	l->n++;
}

static void add_directories(struct layering *l, const char *dir)
{
	struct buf name = { 0 };
	for (unsigned i = 0; dir && *dir; i++) {
		dir += *dir == '/';
		size_t len = i + 1 < MAX_DIRECTORIES ? strcspn(dir, "/") : strlen(dir);
		buf_clear(&name);
		buf_add(&name, dir, len);
		if (len)
			add(l, CUBIN_DIRECTORIES, FRAME_GPU_SOURCE, buf_cstr(&name), NULL);
		dir += len;
	}
	buf_done(&name);
}

static void add_instruction(struct layering *l, struct cubin *c, uint32_t text, uint64_t offset,
			    const char *stall)
{
	uint64_t word[2];
	char unknown[SASS_NAME_MAX], place[24];
	if (cubin_instruction(c, text, offset, word))
		add(l, CUBIN_MNEMONIC, FRAME_GPU_INSTRUCTION, sass_name(cubin_sm(c), word, unknown),
		    NULL);
	if (stall)
		add(l, CUBIN_STALL, FRAME_GPU_STALL, stall, NULL);
	snprintf(place, sizeof place, "0x%" PRIx64, offset);
	add(l, CUBIN_OFFSET, FRAME_GPU_INSTRUCTION, place, NULL);
}

uint32_t cubin_layers(struct cubin *c, uint32_t text, uint64_t offset, const char *stall,
		      unsigned layers, cubin_layer_fn *fn, void *ctx)
{
	struct cubin_frame frames[CUBIN_MAX_DEPTH];
	struct layering l = { layers, fn, ctx, 0 };
	uint32_t n = cubin_lookup(c, text, offset, frames, CUBIN_MAX_DEPTH);
	if (n == 0)
		return 0;
	add_directories(&l, frames[0].dir);
	if (frames[0].file)
		add(&l, CUBIN_FILE, FRAME_GPU_SOURCE, frames[0].file, NULL);
	for (uint32_t i = n; i-- > 0;)
		add(&l, CUBIN_FUNCTIONS, FRAME_GPU_FUNCTION,
		    frames[i].name ? frames[i].name : "[unknown]", &frames[i]);
	add_instruction(&l, c, text, offset, stall);
	return l.n;
}
