/* The layout of V8's objects: from the symbols that V8 has for debuggers, or from a table. */
#include "runtime/v8_parts.h"

#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/cfi.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define V V8_VERSION

/* --- by version ------------------------------------------------------------------------------- */

/* clang-format off */
#define FROM_10 \
	.map_type = 12, .bytecode_header = 54, .script_source = 8, .script_name = 16, \
	.scope_locals = 2, .shared_data = 8, .kind_mask = 15, .string_length = 12, \
	.cons_first = 16, .cons_second = 24, .sliced_parent = 16, .sliced_offset = 24, \
	.thin_actual = 16, .external_resource = 16, .chars = 16
#define FROM_12 \
	FROM_10, .function_shared = 32, .bytecode_positions = 24, .code_before = 24, \
	.code_start = 40, .code_positions = 16, .code_deopt = 8
#define FROM_13 \
	FROM_12, .shared_name = 24, .shared_script = 40, .scope_first = 5, .code_size = 56, \
	.code_flags = 52, .deopt_shared = 7, .deopt_literals = 3, .deopt_inlining = 8
#define TO_11 \
	FROM_10, .function_shared = 24, .shared_name = 16, .shared_script = 32, \
	.scope_first = 3, .bytecode_positions = 32, .code_flags = 48, .code_positions = 24, \
	.code_deopt = 16, .kind_baseline = 11, .kind_turbofan = 13, \
	.deopt_shared = 6, .deopt_literals = 2, .deopt_inlining = 7

static const struct v8_layout layouts[] = {
	{ TO_11, .version = V(10, 2), .code_before = 128, .code_size = 40 },
	{ TO_11, .version = V(11, 3), .code_before = 8, .code_start = 40, .code_size = 56,
	  .kind_maglev = 12 },
	{ FROM_12, .version = V(12, 4), .shared_name = 16, .shared_script = 32, .scope_first = 3,
	  .code_size = 52, .code_flags = 48, .kind_baseline = 10, .kind_maglev = 11,
	  .kind_turbofan = 12, .deopt_shared = 6, .deopt_literals = 2, .deopt_inlining = 7 },
	{ FROM_13, .version = V(13, 6), .kind_baseline = 10, .kind_maglev = 11,
	  .kind_turbofan = 12 },
	{ FROM_13, .version = V(14, 6), .kind_baseline = 11, .kind_maglev = 12,
	  .kind_turbofan = 13, .has_sparse_positions = true },
};
/* clang-format on */

/* The row of the version's major, or of the nearest older one, else the oldest. */
static struct v8_layout by_version(uint16_t version)
{
	const size_t n = sizeof layouts / sizeof *layouts;
	size_t i = n - 1;

	while (i && layouts[i].version >> 8 > version >> 8)
		i--;
	struct v8_layout out = layouts[i];
	out.is_known = out.version == version;
	out.version = version;
	return out;
}

/* --- by symbols ------------------------------------------------------------------------------- */

#define FIELD(name, field) \
	{ \
		"v8dbg_" name, offsetof(struct v8_layout, field), 0 \
	}
#define NEEDED(name, field) \
	{ \
		"v8dbg_" name, offsetof(struct v8_layout, field), 1 \
	}
static const struct {
	const char *name;
	size_t field;
	bool is_needed; /* numbers of types are in no table: they change with each version */
} constants[] = {
	NEEDED("type_JSFunction__JS_FUNCTION_TYPE", type_function),
	FIELD("LastJSFunctionType", last_function),
	NEEDED("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", type_shared),
	NEEDED("type_Script__SCRIPT_TYPE", type_script),
	NEEDED("type_ScopeInfo__SCOPE_INFO_TYPE", type_scope),
	NEEDED("type_Code__CODE_TYPE", type_code),
	NEEDED("type_BytecodeArray__BYTECODE_ARRAY_TYPE", type_bytecode),
	FIELD("type_InterpreterData__INTERPRETER_DATA_TYPE", type_interpreter),
	FIELD("class_Map__instance_type__uint16_t", map_type),
	FIELD("class_JSFunction__shared__SharedFunctionInfo", function_shared),
	FIELD("class_SharedFunctionInfo__function_data__Object", shared_data),
	FIELD("class_SharedFunctionInfo__name_or_scope_info__Object", shared_name),
	FIELD("class_SharedFunctionInfo__script_or_debug_info__HeapObject", shared_script),
	FIELD("class_BytecodeArray__data__uintptr_t", bytecode_header),
	FIELD("class_Script__source__Object", script_source),
	FIELD("class_Script__name__Object", script_name),
	FIELD("scopeinfo_idx_first_vars", scope_first),
	FIELD("scopeinfo_idx_ncontextlocals", scope_locals),
	FIELD("class_Code__instruction_size__int", code_size),
	FIELD("class_Code__flags__uint32_t", code_flags),
	FIELD("class_Code__source_position_table__ByteArray", code_positions),
	FIELD("class_Code__deoptimization_data__FixedArray", code_deopt),
	FIELD("CodeKindFieldMask", kind_mask),
	FIELD("CodeKindBaseline", kind_baseline),
	FIELD("DeoptimizationDataSharedFunctionInfoIndex", deopt_shared),
	FIELD("DeoptimizationDataWrappedSharedFunctionInfoIndex", deopt_shared),
	FIELD("DeoptimizationDataLiteralArrayIndex", deopt_literals),
	FIELD("DeoptimizationDataInliningPositionsIndex", deopt_inlining),
	FIELD("class_String__length__int32_t", string_length),
	FIELD("class_ConsString__first__String", cons_first),
	FIELD("class_ConsString__second__String", cons_second),
	FIELD("class_SlicedString__parent__String", sliced_parent),
	FIELD("class_SlicedString__offset__SMI", sliced_offset),
	FIELD("class_ThinString__actual__String", thin_actual),
	FIELD("class_ExternalString__resource__Object", external_resource),
	FIELD("class_SeqOneByteString__chars__char", chars),
};

/* Reads an int that a symbol of the file is at. Returns false if it has no such symbol or the file
 * not its value, which is then 0. */
static bool read_int(const struct elf_file *f, const struct elf_layout *layout, const char *name,
		     int32_t *out)
{
	GElf_Sym sym;
	uint64_t offset;

	return elf_find_dynamic(f, name, &sym) &&
	       elf_layout_offset(layout, sym.st_value, &offset) &&
	       elf_file_read(f, offset, out, sizeof *out);
}

static int read_constants(const struct elf_file *f, const struct elf_layout *layout,
			  struct v8_layout *out, struct err *err)
{
	int32_t value;

	if (read_int(f, layout, "v8dbg_TaggedSize", &value) && value != 8)
		return err_set(err, ENOTSUP, "V8 with compressed pointers");
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
		uint16_t *field = (uint16_t *)((char *)out + constants[i].field);

		if (read_int(f, layout, constants[i].name, &value) && value >= 0 && value < 4096)
			*field = value;
		else if (constants[i].is_needed)
			return err_set(err, ENOTSUP, "V8 without the symbol %s", constants[i].name);
	}
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

#define VERSION_SYMBOL(part) "_ZN2v88internal7Version6" part "_E"

static int read_version(const struct elf_file *f, const struct elf_layout *layout,
			struct v8_file *out, struct err *err)
{
	int32_t major, minor, build = 0, patch = 0;

	if (!read_int(f, layout, VERSION_SYMBOL("major"), &major) ||
	    !read_int(f, layout, VERSION_SYMBOL("minor"), &minor))
		return err_set(err, ENODATA, "V8 is not in the file");
	read_int(f, layout, VERSION_SYMBOL("build"), &build);
	read_int(f, layout, VERSION_SYMBOL("patch"), &patch);
	if (major < 10 || major > 255 || minor < 0 || minor > 255)
		return err_set(err, ENOTSUP, "V8 %d.%d: older than all known versions", major,
			       minor);
	out->layout = by_version(V(major, minor));
	out->build = build;
	out->patch = patch;
	return 0;
}

/* In a file without symbols the builtins are the longest code without call frame information: 1.4
 * to 2.2 MB, while the next such piece has some hundred bytes. */
static void find_builtins_by_gap(const struct elf_file *f, const struct elf_layout *layout,
				 struct v8_file *out)
{
	enum { LEAST = 512 << 10, TIMES_NEXT = 4 };
	struct cfi_gap gap;
	uint64_t offset;

	if (cfi_file_gap(f, layout, &gap) == 0 && gap.end - gap.start >= LEAST &&
	    (gap.end - gap.start) / TIMES_NEXT >= gap.next_bytes &&
	    elf_layout_code_end(layout, gap.start) >= gap.end &&
	    elf_layout_offset(layout, gap.start, &offset)) {
		out->blob = offset;
		out->blob_bytes = gap.end - gap.start;
	}
}

static void find_builtins(const struct elf_file *f, const struct elf_layout *layout,
			  struct v8_file *out)
{
	GElf_Sym code, size;
	uint64_t offset;
	uint32_t bytes;

	/* Where both exist the shorter name is a pointer. */
	if ((elf_find_static(f, "v8_Default_embedded_blob_code_data_", &code) ||
	     elf_find_static(f, "v8_Default_embedded_blob_code_", &code)) &&
	    elf_find_static(f, "v8_Default_embedded_blob_code_size_", &size) &&
	    elf_layout_offset(layout, size.st_value, &offset) &&
	    elf_file_read(f, offset, &bytes, sizeof bytes) &&
	    elf_layout_offset(layout, code.st_value, &offset)) {
		out->blob = offset;
		out->blob_bytes = bytes;
	} else {
		find_builtins_by_gap(f, layout, out);
	}
}

int v8_file_read(const struct elf_file *f, struct v8_file *out, struct err *err)
{
	struct elf_layout layout = { 0 };
	struct v8_file file = { .build = 0 };
	int rc = elf_layout_read(&layout, f, NULL);

	if (rc == 0)
		rc = read_version(f, &layout, &file, err);
	else
		rc = err_set(err, ENODATA, "V8 is not in the file");
	if (rc == 0)
		rc = read_constants(f, &layout, &file.layout, err);
	if (rc == 0) {
		find_builtins(f, &layout, &file);
		mapped_code_read(f, &file.code);
		*out = file;
	}
	elf_layout_done(&layout);
	return rc;
}
