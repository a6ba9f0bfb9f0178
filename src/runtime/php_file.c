/* Finds version, symbols and the loop in PHP's file. */
#include "runtime/php_parts.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "runtime/loop_parts.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/cfi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Zend/zend_compile.h and zend_globals.h of each version. */
static const struct {
	uint32_t major, minor;
	uint16_t current;
	uint16_t last, opcodes, file, lines;
} layouts[] = {
	{ 7, 4, 488, 60, 64, 136, 144 }, { 8, 0, 488, 68, 72, 144, 152 },
	{ 8, 1, 488, 68, 72, 144, 152 }, { 8, 2, 488, 80, 88, 152, 160 },
	{ 8, 3, 488, 76, 80, 144, 152 }, { 8, 4, 488, 96, 104, 168, 176 },
};

static int read_layout(struct php_file *out, struct err *err)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		if (layouts[i].major != out->major || layouts[i].minor != out->minor)
			continue;
		out->current = layouts[i].current;
		out->func_last = layouts[i].last;
		out->func_opcodes = layouts[i].opcodes;
		out->func_file = layouts[i].file;
		out->func_lines = layouts[i].lines;
		return 0;
	}
	return err_set(err, ENOTSUP, "PHP %u.%u: not a known version", out->major, out->minor);
}

/* Finds the text "X-Powered-By: PHP/8.2.36". */
static int read_version(const struct elf_file *f, struct php_file *out, struct err *err)
{
	enum { MOST = 64 << 20, VERSION = 16 };
	static const char text[] = "X-Powered-By: PHP/";
	const size_t len = sizeof text - 1;
	GElf_Shdr s;
	int rc = err_set(err, ENOTSUP, "PHP of an unknown version");

	if (!elf_file_section(f, ".rodata", SHT_PROGBITS, &s) || s.sh_size > MOST)
		return rc;
	char *data = xmalloc(s.sh_size + 1);
	if (elf_file_read(f, s.sh_offset, data, s.sh_size)) {
		const char *at = memmem(data, s.sh_size, text, len);

		data[s.sh_size] = '\0';
		if (at && sscanf(at + len, "%u.%u.%u", &out->major, &out->minor, &out->patch) == 3)
			rc = 0;
	}
	free(data);
	return rc;
}

/* zend_vm_kind is `mov $KIND,%eax; ret`, maybe after `endbr64`. */
static enum php_vm read_vm(const struct elf_file *f, const struct elf_layout *layout)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16];
	GElf_Sym sym;
	uint64_t offset;

	if (!elf_find_dynamic(f, "zend_vm_kind", &sym) ||
	    !elf_layout_offset(layout, sym.st_value, &offset) ||
	    !elf_file_read(f, offset, code, sizeof code))
		return PHP_VM_UNKNOWN;
	const uint8_t *at = memcmp(code, endbr, sizeof endbr) == 0 ? code + sizeof endbr : code;
	return at[0] == 0xb8 && at[1] <= PHP_VM_HYBRID && !at[2] && !at[3] && !at[4] &&
			       at[5] == 0xc3
		       ? at[1]
		       : PHP_VM_UNKNOWN;
}

/* The stack frame in the middle of the loop: that of nearly all its code. */
struct body_search {
	uint64_t body;
	const struct cfi_arch *arch;
	uint32_t cfa; /* 0: not found */
	bool is_by_fp;
};

static bool take_body(void *ctx, const struct cfi_fde *fde)
{
	const int64_t most = 1 << 16;
	struct body_search *s = ctx;
	const struct cfi_place *cfa = NULL;

	if (s->body < fde->start || s->body >= fde->end)
		return true;
	for (size_t i = 0; i < fde->n && fde->rows[i].addr <= s->body; i++)
		cfa = &fde->rows[i].rule.cfa;
	if (!cfa || cfa->kind != CFI_OFFSET || cfa->offset <= 0 || cfa->offset >= most ||
	    (cfa->reg != s->arch->sp && cfa->reg != s->arch->fp))
		return false;
	s->cfa = cfa->offset;
	s->is_by_fp = cfa->reg == s->arch->fp;
	return false;
}

static void find_body(const struct elf_file *f, struct php_file *out)
{
	const struct code_range *loop = &out->loop[0];
	struct body_search s = { .body = loop->start + (loop->end - loop->start) / 2 };
	struct cfi_section section;
	struct buf data = { 0 };
	uint64_t skipped = 0;

	if (cfi_file_section(f, CFI_EH_FRAME, &data, &section, NULL) == 0) {
		s.arch = section.arch;
		cfi_read(&section, take_body, &s, &skipped, NULL);
	}
	buf_done(&data);
	out->body = s.cfa ? s.body : 0;
	out->body_cfa = s.cfa;
	out->is_by_fp = s.is_by_fp;
}

static int read_file(const struct elf_file *f, const struct elf_layout *layout,
		     struct php_file *out, struct err *err)
{
	GElf_Sym globals, loop;

	if (!elf_find_dynamic(f, "execute_ex", &loop))
		return err_set(err, ENODATA, "PHP is not in the file");
	if (elf_find_dynamic(f, "executor_globals_offset", &globals))
		return err_set(err, ENOTSUP, "PHP that is built for threads (ZTS)");
	if (!elf_find_dynamic(f, "executor_globals", &globals))
		return err_set(err, ENODATA, "PHP is not in the file");
	int rc = read_version(f, out, err);
	rc = rc ? rc : read_layout(out, err);
	if (rc)
		return rc;
	out->globals = globals.st_value;
	out->vm = read_vm(f, layout);
	out->n_loop = loop_parts_find(f, loop.st_value, loop.st_size, out->loop);
	if (!out->n_loop)
		return err_set(err, ENOTSUP, "PHP without the code of its loop");
	if (out->vm == PHP_VM_HYBRID)
		find_body(f, out);
	mapped_code_read(f, &out->code);
	return 0;
}

int php_file_read(const struct elf_file *f, struct php_file *out, struct err *err)
{
	struct elf_layout layout = { 0 };
	struct php_file file = { .vm = PHP_VM_UNKNOWN };
	int rc = elf_layout_read(&layout, f, NULL);

	rc = rc ? err_set(err, ENODATA, "PHP is not in the file")
		: read_file(f, &layout, &file, err);
	if (rc == 0)
		*out = file;
	elf_layout_done(&layout);
	return rc;
}
