/* Finds version and symbols in the interpreter's file. */
#include "runtime/cpython_parts.h"

#include "base/err.h"
#include "runtime/cpython_layout.h"
#include "runtime/loop_parts.h"
#include "runtime/mapped_code.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"
#include "symbol/elf/elf_layout.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define V CPYTHON_VERSION

/* Finds a symbol in the file's symbol table. */
typedef bool find_fn(const struct elf_file *f, const char *name, GElf_Sym *out);

static uint64_t address_of(const struct elf_file *f, find_fn *find, const char *name)
{
	GElf_Sym sym;

	return find && find(f, name, &sym) ? sym.st_value : 0;
}

static bool read_at(const struct elf_file *f, uint64_t addr, void *out, size_t len)
{
	struct elf_layout layout = { 0 };
	uint64_t offset;
	bool ok = addr && elf_layout_read(&layout, f, NULL) == 0 &&
		  elf_layout_offset(&layout, addr, &offset) && elf_file_read(f, offset, out, len);

	elf_layout_done(&layout);
	return ok;
}

/* --- finding CPython -------------------------------------------------------------------------- */

/* Only programs may have a CPython that is not exported: other programs could not load it. */
static bool is_program(const struct elf_file *f)
{
	GElf_Phdr p;
	size_t n = 0;

	if (f->header.e_type == ET_EXEC)
		return true;
	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, i, &p) && p.p_type == PT_INTERP)
			return true;
	return false;
}

/* Finds CPython, and sets *find to the lookup of its symbols, NULL if none exists. Returns false
 * if it is not in the file. */
static bool find_runtime(const struct elf_file *f, struct cpython_file *out, find_fn **find)
{
	GElf_Shdr section;

	*find = elf_find_dynamic;
	out->runtime = address_of(f, elf_find_dynamic, "_PyRuntime");
	if (out->runtime)
		return true;
	out->current = address_of(f, elf_find_dynamic, "_PyThreadState_Current");
	if (out->current) {
		out->runtime = address_of(f, elf_find_static, "interp_head");
		return true;
	}
	if (!is_program(f))
		return false;
	*find = elf_find_static;
	if (elf_file_section(f, ".PyRuntime", SHT_NULL, &section) && section.sh_addr) {
		out->runtime = section.sh_addr;
		return true;
	}
	out->runtime = address_of(f, elf_find_static, "_PyRuntime");
	return out->runtime != 0;
}

/* --- its version ------------------------------------------------------------------------------ */

/* libpython3.9.so.1.0, python3.9, python3.9d: the names used by the build. */
static uint16_t version_of_name(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;
	unsigned minor = 0;

	name = name ? name + 1 : path;
	name = name ? strstr(name, "python3.") : NULL;
	if (!name)
		return 0;
	for (name += strlen("python3."); isdigit((unsigned char)*name) && minor < 100; name++)
		minor = minor * 10 + (*name - '0');
	return minor >= 6 && minor < 100 ? V(3, minor) : 0;
}

/* A function that each version added, and every build exports. */
static uint16_t version_of_functions(const struct elf_file *f, find_fn *find)
{
	static const struct {
		const char *name;
		uint16_t version;
	} brought[] = {
		{ "PyIter_Send", V(3, 10) },
		{ "PyFrame_GetBack", V(3, 9) },
		{ "PyCode_NewWithPosOnlyArgs", V(3, 8) },
		{ "PyContext_New", V(3, 7) },
	};

	for (size_t i = 0; i < sizeof brought / sizeof *brought; i++)
		if (address_of(f, find, brought[i].name))
			return brought[i].version;
	return 0;
}

static bool find_version(const struct elf_file *f, find_fn *find, const char *path,
			 struct cpython_file *out)
{
	uint64_t said[CPYTHON_SAID_WORDS];

	if (out->runtime && !out->current && read_at(f, out->runtime, said, sizeof said) &&
	    cpython_says(said, &out->hex))
		out->by = "_Py_DebugOffsets";
	else if (read_at(f, address_of(f, find, "Py_Version"), &out->hex, sizeof out->hex) &&
		 out->hex >> 24 == 3)
		out->by = "Py_Version";
	else
		out->hex = 0;
	if (out->hex)
		out->version = out->hex >> 16;
	else if (out->current)
		out->version = V(3, 6), out->by = "_PyThreadState_Current";
	else if ((out->version = version_of_functions(f, find)))
		out->by = "the functions it exports";
	else if ((out->version = version_of_name(path)))
		out->by = "the file's name";
	return out->version != 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static void find_loop(const struct elf_file *f, find_fn *find, struct cpython_file *out)
{
	GElf_Sym sym;

	if (find && find(f, "_PyEval_EvalFrameDefault", &sym))
		out->n_loops = loop_parts_find(f, sym.st_value, sym.st_size, out->loops);
}

int cpython_file_read(const struct elf_file *f, const char *path, struct cpython_file *out,
		      struct err *err)
{
	struct cpython_file file = { .by = "" };
	find_fn *find;

	if (f->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    f->header.e_ident[EI_DATA] != ELFDATA2LSB || !find_runtime(f, &file, &find))
		return err_set(err, ENODATA, "CPython is not in the file");
	if (!find_version(f, find, path, &file))
		return err_set(err, ENOTSUP, "CPython of an unknown version");
	if (file.version < V(3, 6))
		return err_set(err, ENOTSUP, "CPython 3.%u is not walked", file.version & 255);
	file.code_type = address_of(f, find, "PyCode_Type");
	mapped_code_read(f, &file.code);
	if (file.version <= V(3, 10))
		find_loop(f, find, &file);
	if (file.version <= V(3, 10) && !file.n_loops)
		return err_set(err, ENOTSUP, "CPython 3.%u without the code of its loop",
			       file.version & 255);
	*out = file;
	return 0;
}
