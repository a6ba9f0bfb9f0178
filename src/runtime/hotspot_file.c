/* Finds the tables of HotSpot in libjvm's file. */
#include "runtime/hotspot_parts.h"

#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"

#include <errno.h>

static const char *const names[HOTSPOT_SYMBOLS] = {
	[HOTSPOT_STRUCTS] = "gHotSpotVMStructs",
	[HOTSPOT_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[HOTSPOT_STRUCT_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
	[HOTSPOT_STRUCT_FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
	[HOTSPOT_STRUCT_FIELD_TYPE] = "gHotSpotVMStructEntryTypeStringOffset",
	[HOTSPOT_STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[HOTSPOT_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[HOTSPOT_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[HOTSPOT_TYPES] = "gHotSpotVMTypes",
	[HOTSPOT_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[HOTSPOT_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[HOTSPOT_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
	[HOTSPOT_INTS] = "gHotSpotVMIntConstants",
	[HOTSPOT_INT_STRIDE] = "gHotSpotVMIntConstantEntryArrayStride",
	[HOTSPOT_INT_NAME] = "gHotSpotVMIntConstantEntryNameOffset",
	[HOTSPOT_INT_VALUE] = "gHotSpotVMIntConstantEntryValueOffset",
};

int hotspot_file_read(const struct elf_file *f, struct hotspot_file *out, struct err *err)
{
	struct hotspot_file file = { .symbols = { 0 } };
	GElf_Sym sym;

	if (f->header.e_ident[EI_CLASS] != ELFCLASS64 || f->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ENODATA, "HotSpot is not in the file");
	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++) {
		if (elf_find_dynamic(f, names[i], &sym))
			file.symbols[i] = sym.st_value;
		else if (!i)
			return err_set(err, ENODATA, "HotSpot is not in the file");
		else
			return err_set(err, ENOTSUP, "HotSpot without the symbol %s", names[i]);
	}
	mapped_code_read(f, &file.code);
	*out = file;
	return 0;
}
