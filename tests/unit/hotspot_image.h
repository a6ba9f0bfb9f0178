/* tests/unit/hotspot_image.h: a HotSpot made by hand, as bytes of memory from IMAGE_BASE on: tables as libjvm has them, one code heap, an interpreter, a
 * compiled method with an inlined one, and their methods and classes. In three forms, as the structures changed most between 8, 17 and 25. */
#ifndef CRESSET_TESTS_HOTSPOT_IMAGE_H
#define CRESSET_TESTS_HOTSPOT_IMAGE_H

#include "runtime/hotspot_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	IMAGE_BASE = 0x10000,
	IMAGE_BYTES = 16 << 10,
	IMAGE_FRAMES = 128, /* the words of frames are after libjvm's variables */
	IMAGE_N_FRAMES = 8,
	IMAGE_HEAD = 256,
	IMAGE_HEAP_BYTES = 2048,
	IMAGE_SEGMENT = 64
};

struct image {
	uint16_t version; /* 8, 17, 25 */
	size_t len;
	uint8_t bytes[IMAGE_BYTES];

	struct hotspot_file file; /* its symbols are addresses in the image */
	uint64_t heap, segmap;
	uint64_t stub, interpreter, nmethod; /* blobs */
	uint64_t outer, inner;               /* Methods */
	uint64_t outer_const;
};

static inline int image_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct image *m = ctx;

	if (addr < IMAGE_BASE || addr - IMAGE_BASE > IMAGE_BYTES ||
	    len > IMAGE_BYTES - (addr - IMAGE_BASE))
		return -EFAULT;
	memcpy(out, m->bytes + (addr - IMAGE_BASE), len);
	return 0;
}

/* --- bytes ---------------------------------------------------------------------------------------- */

static inline uint64_t image_space(struct image *m, size_t len, size_t align)
{
	m->len = (m->len + align - 1) / align * align;
	if (m->len + len > IMAGE_BYTES)
		abort();
	m->len += len;
	return IMAGE_BASE + m->len - len;
}

static inline void image_set(struct image *m, uint64_t addr, uint64_t value, size_t size)
{
	memcpy(m->bytes + (addr - IMAGE_BASE), &value, size);
}

static inline uint64_t image_copy(struct image *m, const void *data, size_t len, size_t align)
{
	uint64_t addr = image_space(m, len, align);

	memcpy(m->bytes + (addr - IMAGE_BASE), data, len);
	return addr;
}

static inline uint64_t image_text(struct image *m, const char *text)
{
	return image_copy(m, text, strlen(text) + 1, 1);
}

static inline uint64_t image_word(struct image *m, uint64_t value)
{
	return image_copy(m, &value, sizeof value, 8);
}

/* --- tables --------------------------------------------------------------------------------------- */

/* from, to: the versions that have it, of 8, 17, 25. */
struct image_field {
	const char *type, *field, *c_type;
	unsigned offset;
	uint16_t from, to;
};

static const struct image_field image_fields[] = {
	{ "JDK_Version", "_major", "unsigned char", 0, 8, 17 },
	{ "GrowableArrayBase", "_len", "int", 0, 17, 25 },
	{ "GrowableArray<int>", "_data", "int*", 8, 17, 25 },
	{ "CodeHeap", "_memory", "VirtualSpace", 8, 8, 25 },
	{ "CodeHeap", "_segmap", "VirtualSpace", 40, 8, 25 },
	{ "CodeHeap", "_log2_segment_size", "int", 72, 8, 25 },
	{ "VirtualSpace", "_low_boundary", "char*", 0, 8, 25 },
	{ "VirtualSpace", "_high_boundary", "char*", 8, 8, 25 },
	{ "HeapBlock", "_header", "HeapBlock::Header", 0, 8, 25 },
	{ "HeapBlock::Header", "_length", "size_t", 0, 8, 17 },
	{ "HeapBlock::Header", "_used", "bool", 8, 8, 17 },
	{ "HeapBlock::Header", "_length", "uint32_t", 0, 25, 25 },
	{ "HeapBlock::Header", "_used", "bool", 4, 25, 25 },
	{ "StubQueue", "_stub_buffer", "address", 8, 8, 25 },
	{ "StubQueue", "_buffer_limit", "int", 20, 8, 25 },
	{ "CodeBlob", "_name", "const char*", 8, 8, 25 },
	{ "CodeBlob", "_size", "int", 16, 8, 25 },
	{ "CodeBlob", "_frame_size", "int", 20, 8, 25 },
	{ "CodeBlob", "_frame_complete_offset", "int", 24, 8, 17 },
	{ "CodeBlob", "_frame_complete_offset", "int16_t", 24, 25, 25 },
	{ "CodeBlob", "_code_begin", "address", 32, 17, 17 },
	{ "CodeBlob", "_code_offset", "int", 32, 8, 8 },
	{ "CodeBlob", "_code_offset", "int", 32, 25, 25 },
	{ "CodeBlob", "_relocation_size", "int", 36, 25, 25 },
	{ "CodeBlob", "_mutable_data", "address", 40, 25, 25 },
	{ "CodeBlob", "_mutable_data_size", "int", 48, 25, 25 },
	{ "nmethod", "_method", "Method*", 56, 8, 8 },
	{ "CompiledMethod", "_method", "Method*", 56, 17, 17 },
	{ "nmethod", "_method", "Method*", 56, 25, 25 },
	{ "nmethod", "_compile_id", "int", 64, 8, 25 },
	{ "nmethod", "_state", "volatile signed char", 68, 17, 25 },
	{ "nmethod", "_orig_pc_offset", "int", 72, 8, 25 },
	{ "nmethod", "_scopes_pcs_offset", "int", 76, 8, 25 },
	{ "nmethod", "_dependencies_offset", "int", 80, 8, 17 },
	{ "nmethod", "_metadata_offset", "int", 84, 8, 17 },
	{ "CompiledMethod", "_scopes_data_begin", "address", 88, 17, 17 },
	{ "nmethod", "_scopes_data_offset", "int", 88, 8, 8 },
	{ "nmethod", "_scopes_data_offset", "int", 88, 25, 25 },
	{ "CompiledMethod", "_deopt_handler_begin", "address", 96, 17, 17 },
	{ "nmethod", "_deoptimize_offset", "int", 96, 8, 8 },
	{ "nmethod", "_deopt_handler_offset", "int", 96, 25, 25 },
	{ "nmethod", "_immutable_data", "address", 104, 25, 25 },
	{ "nmethod", "_immutable_data_size", "int", 112, 25, 25 },
	{ "PcDesc", "_pc_offset", "int", 0, 8, 25 },
	{ "PcDesc", "_scope_decode_offset", "int", 4, 8, 25 },
	{ "Method", "_constMethod", "ConstMethod*", 8, 8, 25 },
	{ "ConstMethod", "_constants", "ConstantPool*", 8, 8, 25 },
	{ "ConstMethod", "_constMethod_size", "int", 16, 8, 25 },
	{ "ConstMethod", "_flags", "u2", 20, 8, 17 },
	{ "ConstMethod", "_flags._flags", "u4", 20, 25, 25 },
	{ "ConstMethod", "_code_size", "u2", 24, 8, 25 },
	{ "ConstMethod", "_name_index", "u2", 26, 8, 25 },
	{ "ConstMethod", "_signature_index", "u2", 28, 8, 25 },
	{ "ConstantPool", "_tags", "Array<u1>*", 8, 8, 25 },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", 16, 8, 25 },
	{ "ConstantPool", "_length", "int", 24, 8, 25 },
	{ "ConstantPool", "_source_file_name_index", "u2", 28, 17, 25 },
	{ "InstanceKlass", "_source_file_name_index", "u2", 32, 8, 8 },
	{ "Array<u1>", "_data", "", 4, 8, 25 },
	{ "Klass", "_name", "Symbol*", 24, 8, 25 },
	{ "Symbol", "_length", "unsigned short", 4, 8, 25 },
	{ "Symbol", "_body", "", 6, 8, 25 },
};

static const struct {
	const char *type;
	unsigned size;
} image_sizes[] = {
	{ "nmethod", 128 },
	{ "PcDesc", 16 },
	{ "ConstMethod", 32 },
	{ "ConstantPool", 32 },
};

static inline unsigned image_block(const struct image *m)
{
	return m->version == 25 ? 8 : 16;
}

/* Three tables, each with an empty entry at its end. */
struct image_table {
	uint64_t at;
	size_t n, stride;
};

static inline void image_struct(struct image *m, struct image_table *t, const struct image_field *f,
				uint64_t address)
{
	uint64_t entry = t->at + t->n++ * t->stride;
	uint64_t type = image_text(m, f->type), field = image_text(m, f->field);
	uint64_t c_type = *f->c_type ? image_text(m, f->c_type) : 0;

	image_set(m, entry, type, 8);
	image_set(m, entry + 8, field, 8);
	image_set(m, entry + 16, c_type, 8);
	image_set(m, entry + 24, address != 0, 4);
	image_set(m, entry + 32, f->offset, 8);
	image_set(m, entry + 40, address, 8);
}

static inline void image_static(struct image *m, struct image_table *t, const char *type,
				const char *field, uint64_t address)
{
	const struct image_field f = { .type = type, .field = field, .c_type = "" };

	image_struct(m, t, &f, address);
}

static inline void image_type(struct image *m, struct image_table *t, const char *type,
			      unsigned size)
{
	uint64_t entry = t->at + t->n++ * t->stride;
	uint64_t name = image_text(m, type);

	image_set(m, entry, name, 8);
	image_set(m, entry + 32, size, 8);
}

static inline void image_symbols(struct image *m, const struct image_table tables[3])
{
	const uint64_t values[HOTSPOT_SYMBOLS] = {
		[HOTSPOT_STRUCTS] = tables[0].at,
		[HOTSPOT_STRUCT_STRIDE] = tables[0].stride,
		[HOTSPOT_STRUCT_FIELD] = 8,
		[HOTSPOT_STRUCT_FIELD_TYPE] = 16,
		[HOTSPOT_STRUCT_IS_STATIC] = 24,
		[HOTSPOT_STRUCT_OFFSET] = 32,
		[HOTSPOT_STRUCT_ADDRESS] = 40,
		[HOTSPOT_TYPES] = tables[1].at,
		[HOTSPOT_TYPE_STRIDE] = tables[1].stride,
		[HOTSPOT_TYPE_SIZE] = 32,
		[HOTSPOT_INTS] = tables[2].at,
		[HOTSPOT_INT_STRIDE] = tables[2].stride,
		[HOTSPOT_INT_VALUE] = 8,
	};

	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++)
		image_set(m, m->file.symbols[i], values[i], 8);
}

/* --- structures ----------------------------------------------------------------------------------- */

static inline uint64_t image_symbol(struct image *m, const char *text)
{
	uint64_t addr = image_space(m, 6 + strlen(text), 8);

	image_set(m, addr + 4, strlen(text), 2);
	memcpy(m->bytes + (addr + 6 - IMAGE_BASE), text, strlen(text));
	return addr;
}

/* UNSIGNED5 of a number below 191. */
static inline uint8_t image_number(const struct image *m, unsigned n)
{
	return n + (m->version >= 20);
}

/* A class with one method of 20 bytes of bytecode: line at bci 0, line + 3 at bci 8. */
static inline uint64_t image_method(struct image *m, const char *class_name, const char *name,
				    const char *signature, unsigned line, uint64_t *constant)
{
	enum { CODE = 20 };
	const uint8_t tags[] = { 4, 0, 0, 0, 0, 1, 1, 1 }; /* length, then none, Utf8 … */
	/* A pair of 8 and 3 has its own form: 0x43. */
	uint8_t lines[] = { 255, image_number(m, 0), 0, 0, 0x43, 0 };
	uint64_t klass = image_space(m, 64, 8), pool = image_space(m, 32 + 4 * 8, 8);
	uint64_t method = image_space(m, 32, 8),
		 c = image_space(m, 32 + CODE + sizeof lines + 6, 8);
	unsigned twice = line * 2, low = 192 - (m->version >= 20);

	/* line in two bytes: low + rest, then rest / 64; up to 6 000 */
	lines[2] = image_number(m, low + (twice - low) % 64);
	lines[3] = image_number(m, (twice - low) / 64);
	image_set(m, klass + 24, image_symbol(m, class_name), 8);
	image_set(m, klass + 32, 3, 2);
	image_set(m, pool + 8, image_copy(m, tags, sizeof tags, 8), 8);
	image_set(m, pool + 16, klass, 8);
	image_set(m, pool + 24, 4, 4);
	image_set(m, pool + 28, 3, 2);
	image_set(m, pool + 32 + 8, image_symbol(m, name), 8);
	image_set(m, pool + 32 + 16, image_symbol(m, signature), 8);
	image_set(m, pool + 32 + 24, image_symbol(m, "Made.java"), 8);
	image_set(m, method + 8, c, 8);
	image_set(m, c + 8, pool, 8);
	image_set(m, c + 16, (32 + CODE + sizeof lines + 6) / 8, 4);
	image_set(m, c + 20, 1, 2);
	image_set(m, c + 24, CODE, 2);
	image_set(m, c + 26, 1, 2);
	image_set(m, c + 28, 2, 2);
	memcpy(m->bytes + (c + 32 + CODE - IMAGE_BASE), lines, sizeof lines);
	*constant = c;
	return method;
}

/* A blob in the heap, from a segment on. Returns its address. */
static inline uint64_t image_blob(struct image *m, unsigned segment, unsigned segments,
				  const char *name)
{
	uint64_t block = m->heap + segment * IMAGE_SEGMENT, blob = block + image_block(m);

	for (unsigned i = 0; i < segments; i++)
		image_set(m, m->segmap + segment + i, i, 1);
	image_set(m, block, segments, m->version == 25 ? 4 : 8);
	image_set(m, block + (m->version == 25 ? 4 : 8), 1, 1);
	image_set(m, blob + 8, image_text(m, name), 8);
	image_set(m, blob + 16, segments * IMAGE_SEGMENT - image_block(m), 4);
	image_set(m, blob + 32, m->version == 17 ? blob + 128 : 128, m->version == 17 ? 8 : 4);
	return blob;
}

static inline void image_pc(struct image *m, uint64_t at, int offset, unsigned scope)
{
	image_set(m, at, (uint32_t)offset, 4);
	image_set(m, at + 4, scope, 4);
}

/* outer at bci 8, which calls inner, inlined, at bci 0: offsets 16 (outer alone) and 32 (both). */
static inline void image_nmethod(struct image *m)
{
	const uint8_t scopes[] = {
		0xff, /* offset 0: none */
		image_number(m, 0),
		image_number(m, 1),
		image_number(m, 9), /* at 1 */
		image_number(m, 1),
		image_number(m, 2),
		image_number(m, 1), /* at 4 */
	};
	uint64_t n = m->nmethod, data = m->version == 25 ? image_space(m, 128, 8) : n + 256;
	uint64_t metadata = m->version == 25 ? image_space(m, 32, 8) : n + 224;
	uint64_t pcs = data + 16, dependencies = pcs + 4 * 16;

	if (m->version == 25)
		pcs = data, dependencies = data + 64, data = dependencies;
	memcpy(m->bytes + (data - IMAGE_BASE), scopes, sizeof scopes);
	image_pc(m, pcs, -1, 0);
	image_pc(m, pcs + 16, 16, 1);
	image_pc(m, pcs + 32, 32, 4);
	image_pc(m, pcs + 48, 1 << 20, 0);
	image_set(m, n + 56, m->outer, 8);
	image_set(m, n + 64, 77, 4);
	if (m->version == 25) {
		image_set(m, n + 36, 16, 4); /* of relocations */
		image_set(m, n + 40, metadata, 8);
		image_set(m, n + 48, 32, 4);
		image_set(m, n + 76, 0, 4);
		image_set(m, n + 88, 64, 4);
		image_set(m, n + 104, pcs, 8);
		image_set(m, n + 112, 64 + sizeof scopes, 4);
		metadata += 16;
	} else {
		image_set(m, n + 76, pcs - n, 4);
		image_set(m, n + 80, dependencies - n, 4);
		image_set(m, n + 84, metadata - n, 4);
		image_set(m, n + 88, m->version == 17 ? data : data - n, m->version == 17 ? 8 : 4);
	}
	image_set(m, metadata, m->outer, 8);
	image_set(m, metadata + 8, m->inner, 8);
}

static inline uint64_t image_heaps(struct image *m)
{
	uint64_t code_heap = image_space(m, 80, 8), pointers, array;

	m->segmap = image_space(m, IMAGE_HEAP_BYTES / IMAGE_SEGMENT, 8);
	memset(m->bytes + (m->segmap - IMAGE_BASE), 255, IMAGE_HEAP_BYTES / IMAGE_SEGMENT);
	image_set(m, code_heap + 8, m->heap, 8);
	image_set(m, code_heap + 16, m->heap + IMAGE_HEAP_BYTES, 8);
	image_set(m, code_heap + 40, m->segmap, 8);
	image_set(m, code_heap + 48, m->segmap + IMAGE_HEAP_BYTES / IMAGE_SEGMENT, 8);
	image_set(m, code_heap + 72, 6, 4);
	if (m->version == 8)
		return image_word(m, code_heap);
	pointers = image_word(m, code_heap);
	array = image_space(m, 16, 8);
	image_set(m, array, 1, 4);
	image_set(m, array + 8, pointers, 8);
	return image_word(m, array);
}

/* Of each kind. */
static inline void image_frames(struct image *m)
{
	const struct {
		enum hotspot_frame kind;
		uint64_t addr;
		uint32_t stamp, offset;
	} frames[IMAGE_N_FRAMES] = {
		{ HOTSPOT_INTERPRETED, m->outer, m->outer_const, 9 },
		{ HOTSPOT_INTERPRETED, m->outer, m->outer_const, UINT32_MAX },
		{ HOTSPOT_COMPILED, m->nmethod, 77, 16 },
		{ HOTSPOT_COMPILED, m->nmethod, 77, 32 },
		{ HOTSPOT_COMPILED_LEAF, m->nmethod, 77, 16 },
		{ HOTSPOT_COMPILED_LEAF, m->nmethod, 77, 40 },
		{ HOTSPOT_STUB, m->stub, 0, 5 },
		{ HOTSPOT_STUB, m->interpreter, 0, 7 },
	};

	for (size_t i = 0; i < IMAGE_N_FRAMES; i++) {
		uint64_t at = IMAGE_BASE + IMAGE_FRAMES + i * 16;

		image_set(m, at,
			  runtime_frame_what(RUNTIME_HOTSPOT, frames[i].kind, frames[i].addr), 8);
		image_set(m, at + 8, runtime_frame_place(frames[i].stamp, frames[i].offset), 8);
	}
}

static inline void image_make(struct image *m, uint16_t version)
{
	struct image_table t[3] = { { .stride = 48 }, { .stride = 40 }, { .stride = 16 } };
	uint64_t inner_const, queue;

	*m = (struct image){ .version = version, .len = IMAGE_HEAD };
	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++)
		m->file.symbols[i] = IMAGE_BASE + i * 8;
	m->heap = image_space(m, IMAGE_HEAP_BYTES, IMAGE_SEGMENT);
	t[0].at = image_space(m, 90 * t[0].stride, 8);
	t[1].at = image_space(m, 8 * t[1].stride, 8);
	t[2].at = image_space(m, 2 * t[2].stride, 8);
	for (size_t i = 0; i < sizeof image_fields / sizeof *image_fields; i++)
		if (image_fields[i].from <= version && version <= image_fields[i].to)
			image_struct(m, &t[0], &image_fields[i], 0);
	for (size_t i = 0; i < sizeof image_sizes / sizeof *image_sizes; i++)
		image_type(m, &t[1], image_sizes[i].type, image_sizes[i].size);
	image_type(m, &t[1], "HeapBlock", image_block(m));
	image_set(m, t[2].at, image_text(m, "ConstMethod::_has_linenumber_table"), 8);
	image_set(m, t[2].at + 8, 1, 4);

	image_static(m, &t[0], "CodeCache", version == 8 ? "_heap" : "_heaps", image_heaps(m));
	image_static(m, &t[0], version == 25 ? "Abstract_VM_Version" : "JDK_Version",
		     version == 25 ? "_vm_major_version" : "_current", image_word(m, version));
	m->outer = image_method(m, "p/q/Made", "outer", "(I[Ljava/lang/String;)V", 200,
				&m->outer_const);
	m->inner = image_method(m, "p/q/Made$$Lambda$7+0x0000000801000c10", "inner", "()J", 1000,
				&inner_const);
	m->stub = image_blob(m, 1, 3, "StubRoutines (1)");
	m->interpreter = image_blob(m, 4, 14, "Interpreter");
	m->nmethod = image_blob(m, 20, 8, "nmethod");
	image_nmethod(m);
	queue = image_space(m, 48, 8);
	image_set(m, queue + 8, m->interpreter + 128, 8);
	image_set(m, queue + 20, 512, 4);
	image_static(m, &t[0], "AbstractInterpreter", "_code", image_word(m, queue));
	image_symbols(m, t);
	image_frames(m);
}

#endif
