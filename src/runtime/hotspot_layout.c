/* Offsets of HotSpot's structures, from its own tables. */
#include "runtime/hotspot_parts.h"

#include "base/err.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- fields ----------------------------------------------------------------------------------- */

#define FIELD(type, field, member) \
	{ \
		type, field, offsetof(struct hotspot_offsets, member) \
	}

/* Versions have a field in one structure or another, or instead of another field: several rows may
 * have the same member. No version has all of them. */
static const struct {
	const char *type, *field;
	size_t member;
} fields[] = {
	FIELD("JDK_Version", "_major", jdk_major),
	FIELD("GenericGrowableArray", "_len", array_length), /* up to 15 */
	FIELD("GrowableArrayBase", "_len", array_length),
	FIELD("GrowableArray<int>", "_data", array_data),
	FIELD("CodeHeap", "_memory", heap_memory),
	FIELD("CodeHeap", "_segmap", heap_segmap),
	FIELD("CodeHeap", "_log2_segment_size", heap_log2_segment),
	FIELD("VirtualSpace", "_low_boundary", space_low_boundary),
	FIELD("VirtualSpace", "_high_boundary", space_high_boundary),
	FIELD("HeapBlock", "_header", block_header),
	FIELD("HeapBlock::Header", "_length", block_length),
	FIELD("HeapBlock::Header", "_used", block_used),
	FIELD("StubQueue", "_stub_buffer", stubs_buffer),
	FIELD("StubQueue", "_buffer_limit", stubs_limit),

	FIELD("CodeBlob", "_name", blob_name),
	FIELD("CodeBlob", "_size", blob_size),
	FIELD("CodeBlob", "_code_begin", blob_code_begin), /* 9 to 22 */
	FIELD("CodeBlob", "_code_end", blob_code_end),
	FIELD("CodeBlob", "_code_offset", blob_code_offset), /* 8, from 23 on */
	FIELD("CodeBlob", "_data_offset", blob_data_offset),
	FIELD("CodeBlob", "_frame_size", blob_frame_size),
	FIELD("CodeBlob", "_frame_complete_offset", blob_frame_complete),
	FIELD("CodeBlob", "_relocation_size", blob_relocation_size),
	FIELD("CodeBlob", "_mutable_data", blob_mutable_data), /* from 25 on */
	FIELD("CodeBlob", "_mutable_data_size", blob_mutable_size),

	FIELD("nmethod", "_method", nmethod_method),
	FIELD("CompiledMethod", "_method", nmethod_method), /* 9 to 22 */
	FIELD("nmethod", "_compile_id", nmethod_compile_id),
	FIELD("nmethod", "_state", nmethod_state),
	FIELD("nmethod", "_orig_pc_offset", nmethod_orig_pc),
	FIELD("nmethod", "_deoptimize_offset", nmethod_deopt_offset), /* 8 */
	FIELD("nmethod", "_deopt_handler_offset", nmethod_deopt_offset),
	FIELD("nmethod", "_deopt_handler_entry_offset", nmethod_deopt_offset),
	FIELD("CompiledMethod", "_deopt_handler_begin", nmethod_deopt_begin),
	FIELD("nmethod", "_metadata_offset", nmethod_metadata),
	FIELD("nmethod", "_immutable_data", nmethod_immutable_data), /* from 23 on */
	FIELD("nmethod", "_immutable_data_size", nmethod_immutable_size),
	FIELD("CompiledMethod", "_scopes_data_begin", nmethod_scopes_begin),
	FIELD("nmethod", "_scopes_data_offset", nmethod_scopes_offset),
	FIELD("nmethod", "_scopes_pcs_offset", nmethod_pcs),
	FIELD("nmethod", "_dependencies_offset", nmethod_dependencies),
	FIELD("PcDesc", "_pc_offset", pc_offset),
	FIELD("PcDesc", "_scope_decode_offset", pc_scope),

	FIELD("Method", "_constMethod", method_const),
	FIELD("ConstMethod", "_constants", const_pool),
	FIELD("ConstMethod", "_code_size", const_code_size),
	FIELD("ConstMethod", "_constMethod_size", const_size),
	FIELD("ConstMethod", "_name_index", const_name),
	FIELD("ConstMethod", "_signature_index", const_signature),
	FIELD("ConstMethod", "_flags", const_flags),
	FIELD("ConstMethod", "_flags._flags", const_flags), /* from 21 on */
	FIELD("ConstantPool", "_tags", pool_tags),
	FIELD("ConstantPool", "_length", pool_length),
	FIELD("ConstantPool", "_pool_holder", pool_holder),
	FIELD("ConstantPool", "_source_file_name_index", pool_source_file),
	FIELD("InstanceKlass", "_source_file_name_index", class_source_file), /* up to 15 */
	FIELD("Array<u1>", "_data", tags_data),
	FIELD("Klass", "_name", class_name),
	FIELD("Symbol", "_length", symbol_length),
	FIELD("Symbol", "_length_and_refcount", symbol_length_high), /* 12 to 14 */
	FIELD("Symbol", "_body", symbol_body),
};

#define STATIC(type, field, member) \
	{ \
		type, field, offsetof(struct hotspot_offsets, member) \
	}
static const struct {
	const char *type, *field;
	size_t member;
} statics[] = {
	STATIC("JDK_Version", "_current", jdk_version_at), /* up to 22 */
	STATIC("Abstract_VM_Version", "_vm_major_version", vm_major_at),
	STATIC("Abstract_VM_Version", "_s_vm_release", vm_release_at),
	STATIC("CodeCache", "_heap", heap_at), /* 8 */
	STATIC("CodeCache", "_heaps", heaps_at),
	STATIC("AbstractInterpreter", "_code", interpreter_at),
	STATIC("Threads", "_number_of_threads", n_threads_at),
};

static const struct {
	const char *type;
	size_t member;
} sizes[] = {
	{ "HeapBlock", offsetof(struct hotspot_offsets, block_bytes) },
	{ "nmethod", offsetof(struct hotspot_offsets, nmethod_bytes) },
	{ "PcDesc", offsetof(struct hotspot_offsets, pc_bytes) },
	{ "ConstMethod", offsetof(struct hotspot_offsets, const_bytes) },
	{ "ConstantPool", offsetof(struct hotspot_offsets, pool_bytes) },
	{ "ContinuationEntry", offsetof(struct hotspot_offsets, entry_bytes) },
};

/* How wide fields are; all others are words. */
static const struct {
	const char *type;
	uint8_t size;
	bool is_signed;
} widths[] = {
	{ "bool", 1, false },
	{ "u1", 1, false },
	{ "unsigned char", 1, false },
	{ "volatile unsigned char", 1, false },
	{ "signed char", 1, true },
	{ "volatile signed char", 1, true },
	{ "u2", 2, false },
	{ "unsigned short", 2, false },
	{ "uint16_t", 2, false },
	{ "short", 2, true },
	{ "int16_t", 2, true },
	{ "u4", 4, false },
	{ "juint", 4, false },
	{ "uint", 4, false },
	{ "unsigned int", 4, false },
	{ "uint32_t", 4, false },
	{ "int", 4, true },
	{ "jint", 4, true },
	{ "const int", 4, true },
	{ "const uint", 4, false },
};

static struct hotspot_field field_of(const char *type, uint64_t offset)
{
	struct hotspot_field f = { .at = offset, .size = 8 };

	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
		if (strcmp(widths[i].type, type) == 0) {
			f.size = widths[i].size;
			f.is_signed = widths[i].is_signed;
		}
	return f;
}

static void *member_of(struct hotspot_offsets *o, size_t member)
{
	return (char *)o + member;
}

static void take_field(void *ctx, const struct hotspot_entry *e)
{
	struct hotspot_offsets *o = ctx;

	if (e->is_static) {
		for (size_t i = 0; i < sizeof statics / sizeof *statics; i++)
			if (strcmp(statics[i].type, e->type) == 0 &&
			    strcmp(statics[i].field, e->field) == 0)
				*(uint64_t *)member_of(o, statics[i].member) = e->address;
		return;
	}
	if (e->offset > HOTSPOT_MAX_OFFSET)
		return;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strcmp(fields[i].type, e->type) == 0 && strcmp(fields[i].field, e->field) == 0)
			*(struct hotspot_field *)member_of(o, fields[i].member) =
				field_of(e->field_type, e->offset);
}

static void take_type(void *ctx, const char *type, uint64_t size)
{
	struct hotspot_offsets *o = ctx;

	if (size > HOTSPOT_MAX_OFFSET)
		return;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (strcmp(sizes[i].type, type) == 0)
			*(uint16_t *)member_of(o, sizes[i].member) = size;
}

static void take_constant(void *ctx, const char *name, int32_t value)
{
	struct hotspot_offsets *o = ctx;

	if (strcmp(name, "ConstMethod::_has_linenumber_table") == 0 ||
	    strcmp(name, "ConstMethodFlags::_misc_has_linenumber_table") == 0)
		o->has_lines = value;
}

/* --- checks ----------------------------------------------------------------------------------- */

#define NEED(member) \
	{ \
		offsetof(struct hotspot_offsets, member), #member \
	}
static const struct {
	size_t member;
	const char *name;
} needed[] = {
	NEED(heap_memory),
	NEED(heap_segmap),
	NEED(heap_log2_segment),
	NEED(space_low_boundary),
	NEED(space_high_boundary),
	NEED(block_length),
	NEED(block_used),
	NEED(stubs_buffer),
	NEED(stubs_limit),
	NEED(blob_name),
	NEED(blob_size),
	NEED(blob_frame_size),
	NEED(blob_frame_complete),
	NEED(nmethod_method),
	NEED(nmethod_compile_id),
	NEED(nmethod_orig_pc),
	NEED(nmethod_pcs),
	NEED(pc_offset),
	NEED(pc_scope),
	NEED(method_const),
	NEED(const_pool),
	NEED(const_code_size),
	NEED(const_size),
	NEED(const_name),
	NEED(const_signature),
	NEED(const_flags),
	NEED(pool_tags),
	NEED(pool_length),
	NEED(pool_holder),
	NEED(tags_data),
	NEED(class_name),
	NEED(symbol_body),
};

static const char *missing(const struct hotspot_offsets *o)
{
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		const struct hotspot_field *f = (const void *)((const char *)o + needed[i].member);

		if (!f->size)
			return needed[i].name;
	}
	if (!o->heap_at && !(o->heaps_at && o->array_length.size && o->array_data.size))
		return "heaps";
	if (!o->interpreter_at)
		return "interpreter";
	if (!o->blob_code_begin.size && !o->blob_code_offset.size)
		return "blob_code";
	if (!o->nmethod_scopes_begin.size && !o->nmethod_scopes_offset.size)
		return "nmethod_scopes";
	if (!o->nmethod_metadata.size && !o->blob_mutable_data.size)
		return "nmethod_metadata";
	if (!o->nmethod_immutable_data.size && !o->nmethod_dependencies.size)
		return "nmethod_pcs_end";
	if (!o->symbol_length.size && !o->symbol_length_high.size)
		return "symbol_length";
	if (!o->block_bytes || !o->nmethod_bytes || !o->pc_bytes || !o->const_bytes ||
	    !o->pool_bytes)
		return "sizes";
	return NULL;
}

#define OF(member) offsetof(struct hotspot_offsets, member)
/* The head of a structure is read in one piece, and must have these fields in it. */
static const size_t in_blob[] = {
	OF(blob_name),
	OF(blob_size),
	OF(blob_code_begin),
	OF(blob_code_end),
	OF(blob_code_offset),
	OF(blob_data_offset),
	OF(blob_frame_size),
	OF(blob_frame_complete),
	OF(blob_relocation_size),
	OF(blob_mutable_data),
	OF(blob_mutable_size),
	OF(nmethod_method),
	OF(nmethod_compile_id),
	OF(nmethod_state),
	OF(nmethod_orig_pc),
	OF(nmethod_deopt_begin),
	OF(nmethod_deopt_offset),
	OF(nmethod_metadata),
	OF(nmethod_pcs),
	OF(nmethod_scopes_begin),
	OF(nmethod_scopes_offset),
	OF(nmethod_dependencies),
	OF(nmethod_immutable_data),
	OF(nmethod_immutable_size),
};
static const size_t in_pc[] = { OF(pc_offset), OF(pc_scope) };
static const size_t in_const[] = { OF(const_pool), OF(const_code_size), OF(const_size),
				   OF(const_name), OF(const_signature), OF(const_flags) };
static const size_t in_pool[] = { OF(pool_tags), OF(pool_length), OF(pool_holder),
				  OF(pool_source_file) };
#undef OF

static bool has_room(const struct hotspot_offsets *o, const size_t *members, size_t n,
		     unsigned size, unsigned max)
{
	for (size_t i = 0; i < n; i++) {
		const struct hotspot_field *f = (const void *)((const char *)o + members[i]);

		if (f->at + f->size > size)
			return false;
	}
	return size <= max;
}

#define HAS_ROOM(o, members, size, max) \
	has_room(o, members, sizeof(members) / sizeof *(members), size, max)

static bool fits(const struct hotspot_offsets *o)
{
	return HAS_ROOM(o, in_blob, o->nmethod_bytes, HOTSPOT_BLOB_BYTES) &&
	       HAS_ROOM(o, in_pc, o->pc_bytes, HOTSPOT_MAX_HEADER) &&
	       HAS_ROOM(o, in_const, o->const_bytes, HOTSPOT_MAX_HEADER) &&
	       HAS_ROOM(o, in_pool, o->pool_bytes, HOTSPOT_MAX_HEADER) &&
	       o->block_header.at + o->block_used.at + o->block_used.size <= o->block_bytes &&
	       o->block_bytes <= HOTSPOT_MAX_HEADER;
}

int hotspot_offsets_read(const struct hotspot_at *at, const struct runtime_memory *memory,
			 struct hotspot_offsets *out, struct err *err)
{
	struct hotspot_offsets o = { .has_lines = 1 };
	const struct hotspot_reader reader = { take_field, take_type, take_constant, &o };
	int rc = hotspot_tables_read(at, memory, &reader, err);

	if (rc < 0)
		return rc;
	const char *name = missing(&o);
	if (name)
		return err_set(err, ENOTSUP, "HotSpot of an unknown version: its tables lack %s",
			       name);
	if (!fits(&o))
		return err_set(err, ENOTSUP, "HotSpot's tables have invalid offsets");
	*out = o;
	return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

uint64_t hotspot_get(const uint8_t *structure, struct hotspot_field f)
{
	uint64_t v = 0;
	unsigned unused = 64 - f.size * 8;

	if (!f.size)
		return 0;
	memcpy(&v, structure + f.at, f.size);
	return f.is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

int hotspot_read(const struct runtime_memory *m, uint64_t addr, struct hotspot_field f,
		 uint64_t *out)
{
	uint8_t bytes[8] = { 0 };
	int rc = m->read(m->ctx, addr + f.at, bytes, f.size);

	if (rc < 0)
		return rc;
	f.at = 0;
	*out = hotspot_get(bytes, f);
	return 0;
}

/* --- the walker's layout ---------------------------------------------------------------------- */

/* JDK_Version came before Abstract_VM_Version, which then had HotSpot's own numbers (8: 25). */
int hotspot_version_read(const struct hotspot_offsets *o, const struct runtime_memory *m,
			 uint16_t *version)
{
	uint64_t v = 0;
	int32_t major = 0;
	int rc;

	if (o->jdk_version_at && o->jdk_major.size) {
		rc = hotspot_read(m, o->jdk_version_at, o->jdk_major, &v);
		major = v;
	} else if (o->vm_major_at) {
		rc = m->read(m->ctx, o->vm_major_at, &major, sizeof major);
	} else {
		return -ENOTSUP;
	}
	if (rc < 0)
		return rc;
	if (!major)
		return -EAGAIN;
	if (major < HOTSPOT_FIRST_VERSION || major > HOTSPOT_MAX_VERSION)
		return -ENOTSUP;
	*version = major;
	return 0;
}

/* Words from the frame pointer: in no table. All versions agree, except on the bytecode pointer:
 * the mirror of the method's class moved it in 9. */
enum { SLOT_SENDER_SP = -1, SLOT_METHOD = -3, SLOT_BCP_8 = -7, SLOT_BCP = -8 };

bool hotspot_layout_of(const struct hotspot_offsets *o, uint16_t version,
		       struct hotspot_layout *out)
{
	bool by_offset = !o->blob_code_begin.size, deopt_by_offset = !o->nmethod_deopt_begin.size;
	struct hotspot_field deopt =
		deopt_by_offset ? o->nmethod_deopt_offset : o->nmethod_deopt_begin;

	*out = (struct hotspot_layout){
		.version = version,
		.flags = (by_offset ? HOTSPOT_CODE_BY_OFFSET : 0) |
			 (o->blob_frame_complete.size == 2 ? HOTSPOT_COMPLETE_IS_SHORT : 0) |
			 (deopt_by_offset ? HOTSPOT_DEOPT_BY_OFFSET : 0),
		.block_header = o->block_bytes,
		.blob_name = o->blob_name.at,
		.blob_code = by_offset ? o->blob_code_offset.at : o->blob_code_begin.at,
		.blob_frame_size = o->blob_frame_size.at,
		.blob_frame_complete = o->blob_frame_complete.at,
		.nmethod_compile_id = o->nmethod_compile_id.at,
		.nmethod_deopt = deopt.at,
		.nmethod_orig_pc = o->nmethod_orig_pc.at,
		.frame_method = SLOT_METHOD * 8,
		.frame_bcp = (version < 9 ? SLOT_BCP_8 : SLOT_BCP) * 8,
		.frame_sender_sp = SLOT_SENDER_SP * 8,
		.method_const = o->method_const.at,
		.const_code = o->const_bytes,
		.const_code_size = o->const_code_size.at,
		.entry_bytes = version >= 21 ? o->entry_bytes : 0,
	};
	return o->blob_frame_size.size == 4 && o->nmethod_compile_id.size == 4 &&
	       o->nmethod_orig_pc.size == 4 && o->const_code_size.size == 2 &&
	       (o->blob_frame_complete.size == 2 || o->blob_frame_complete.size == 4) &&
	       (!deopt_by_offset || !deopt.size || deopt.size == 4);
}
