/* tests/unit/core_relocations.h: the needs of a BPF object, read from its ELF file: the fields that it is relocated for (.BTF.ext), the helpers that
 * it calls, and the programs that need each, also through calls of functions and callbacks; and a field's offset in the types of any kernel. It does
 * not use libbpf's own relocation, which it is compared with. */
#ifndef CRESSET_TESTS_CORE_RELOCATIONS_H
#define CRESSET_TESTS_CORE_RELOCATIONS_H

#include "shell.h"

#include <bpf/btf.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <stdbool.h>

enum {
	CORE_MAX_FUNCTIONS = 256,
	CORE_MAX_RELOCATIONS = 4096,
	CORE_MAX_CALLS = 4096,
	CORE_MAX_IMPORTS = 64
};

struct core_function {
	char name[64], section[64];
	size_t section_at;
	uint64_t start, size;
	bool is_program;
	uint32_t users; /* its programs: what core_read's caller returned for each */
};

struct core_field {
	char name[128];   /* "task_struct.sched_info.run_delay", the flavour of the type left out */
	__u32 root, type; /* of the object's types */
	const char *path;
	enum bpf_core_relo_kind kind;
	struct bpf_insn insn;
	const struct core_function *in;
	size_t insn_at; /* in that function */
};

struct core_call {
	int helper;
	const struct core_function *in;
};

/* A function of the kernel other than a helper. */
struct core_import {
	char name[64];
	const struct core_function *in;
};

struct core_object {
	int fd;
	Elf *elf;
	struct btf *btf;
	struct core_function functions[CORE_MAX_FUNCTIONS];
	size_t n_functions;
	struct core_field fields[CORE_MAX_RELOCATIONS];
	size_t n_fields;
	struct core_call calls[CORE_MAX_CALLS];
	size_t n_calls;
	struct core_import imports[CORE_MAX_IMPORTS];
	size_t n_imports;
};

/* --- the file ---------------------------------------------------------------------------------- */

static inline Elf_Data *core_section(struct core_object *o, const char *name, size_t *at)
{
	size_t strings;

	ck_assert_int_eq(elf_getshdrstrndx(o->elf, &strings), 0);
	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		GElf_Shdr h;

		gelf_getshdr(s, &h);
		if (strcmp(elf_strptr(o->elf, strings, h.sh_name), name))
			continue;
		*at = elf_ndxscn(s);
		return elf_rawdata(s, NULL);
	}
	ck_abort_msg("no section %s", name);
}

static inline struct core_function *core_function_at(struct core_object *o, size_t section,
						     uint64_t at)
{
	for (size_t i = 0; i < o->n_functions; i++) {
		struct core_function *f = &o->functions[i];

		if (f->section_at == section && at >= f->start && at < f->start + f->size)
			return f;
	}
	ck_abort_msg("no function at %zu+%llu", section, (unsigned long long)at);
}

static inline Elf_Data *core_symbols(struct core_object *o, GElf_Shdr *h)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));)
		if (gelf_getshdr(s, h) && h->sh_type == SHT_SYMTAB)
			return elf_getdata(s, NULL);
	ck_abort_msg("no symbols");
}

static inline void core_read_functions(struct core_object *o,
				       uint32_t (*users)(const char *section, const char *name))
{
	GElf_Shdr h, code;
	Elf_Data *symbols = core_symbols(o, &h);
	size_t strings;
	GElf_Sym sym;

	elf_getshdrstrndx(o->elf, &strings);
	for (int i = 0; gelf_getsym(symbols, i, &sym); i++) {
		struct core_function *f = &o->functions[o->n_functions];

		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC)
			continue;
		ck_assert_uint_lt(++o->n_functions, CORE_MAX_FUNCTIONS);
		gelf_getshdr(elf_getscn(o->elf, sym.st_shndx), &code);
		*f = (struct core_function){ .section_at = sym.st_shndx,
					     .start = sym.st_value,
					     .size = sym.st_size };
		snprintf(f->name, sizeof f->name, "%s", elf_strptr(o->elf, h.sh_link, sym.st_name));
		snprintf(f->section, sizeof f->section, "%s",
			 elf_strptr(o->elf, strings, code.sh_name));
		f->is_program = strcmp(f->section, ".text") != 0;
		f->users = f->is_program ? users(f->section, f->name) : 0;
	}
}

/* --- the call graph ---------------------------------------------------------------------------- */

/* The function that an instruction calls or takes the address of, or NULL. target: from a relocation's symbol, in section. */
static inline struct core_function *core_callee(struct core_object *o, const struct bpf_insn *insn,
						size_t section, uint64_t symbol)
{
	GElf_Shdr h;

	gelf_getshdr(elf_getscn(o->elf, section), &h);
	if (!(h.sh_flags & SHF_EXECINSTR))
		return NULL;
	if (insn->code == (BPF_JMP | BPF_CALL))
		return core_function_at(o, section, symbol + (insn->imm + 1) * 8ll);
	return core_function_at(o, section, symbol + insn->imm);
}

static inline bool core_spread(struct core_function *from, struct core_function *to)
{
	bool is_new = to && (from->users & ~to->users);

	if (is_new)
		to->users |= from->users;
	return is_new;
}

/* By relocations: calls of functions of other sections, and callbacks. */
static inline bool core_spread_relocated(struct core_object *o, Elf_Scn *s, const GElf_Shdr *h)
{
	GElf_Shdr ignored;
	Elf_Data *code = elf_rawdata(elf_getscn(o->elf, h->sh_info), NULL),
		 *d = elf_getdata(s, NULL);
	Elf_Data *symbols = core_symbols(o, &ignored);
	bool changed = false;
	GElf_Rel rel;

	for (int i = 0; gelf_getrel(d, i, &rel); i++) {
		const struct bpf_insn *insn = (void *)((char *)code->d_buf + rel.r_offset);
		GElf_Sym sym;

		gelf_getsym(symbols, GELF_R_SYM(rel.r_info), &sym);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE)
			continue;
		changed |= core_spread(core_function_at(o, h->sh_info, rel.r_offset),
				       core_callee(o, insn, sym.st_shndx, sym.st_value));
	}
	return changed;
}

/* Calls within a section may have no relocation: then the instruction itself has the target. */
static inline bool core_is_relocated(struct core_object *o, size_t section, uint64_t at)
{
	GElf_Shdr h;
	GElf_Rel rel;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		gelf_getshdr(s, &h);
		if (h.sh_type != SHT_REL || h.sh_info != section)
			continue;
		for (int i = 0; gelf_getrel(elf_getdata(s, NULL), i, &rel); i++)
			if (rel.r_offset == at)
				return true;
	}
	return false;
}

static inline const struct bpf_insn *core_code(struct core_object *o, const struct core_function *f)
{
	Elf_Data *d = elf_rawdata(elf_getscn(o->elf, f->section_at), NULL);

	return (void *)((char *)d->d_buf + f->start);
}

static inline bool core_spread_in_section(struct core_object *o, struct core_function *f)
{
	const struct bpf_insn *insn = core_code(o, f);
	bool changed = false;

	for (size_t i = 0; i < f->size / 8; i++) {
		uint64_t at = f->start + i * 8;

		if (insn[i].code == (BPF_JMP | BPF_CALL) && insn[i].src_reg == BPF_PSEUDO_CALL &&
		    !core_is_relocated(o, f->section_at, at))
			changed |= core_spread(
				f, core_function_at(o, f->section_at, at + 8 + insn[i].imm * 8ll));
	}
	return changed;
}

static inline void core_spread_users(struct core_object *o)
{
	GElf_Shdr h;
	bool changed;

	do {
		changed = false;
		for (size_t i = 0; i < o->n_functions; i++)
			changed |= core_spread_in_section(o, &o->functions[i]);
		for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
			GElf_Shdr of;

			gelf_getshdr(s, &h);
			if (h.sh_type == SHT_REL &&
			    gelf_getshdr(elf_getscn(o->elf, h.sh_info), &of) &&
			    of.sh_flags & SHF_EXECINSTR)
				changed |= core_spread_relocated(o, s, &h);
		}
	} while (changed);
}

static inline void core_read_calls(struct core_object *o)
{
	for (size_t k = 0; k < o->n_functions; k++) {
		const struct core_function *f = &o->functions[k];
		const struct bpf_insn *insn = core_code(o, f);

		for (size_t i = 0; i < f->size / 8; i++) {
			if (insn[i].code != (BPF_JMP | BPF_CALL) || insn[i].src_reg)
				continue;
			ck_assert_uint_lt(o->n_calls, CORE_MAX_CALLS);
			o->calls[o->n_calls++] = (struct core_call){ insn[i].imm, f };
		}
	}
}

static inline void core_read_imports_of(struct core_object *o, Elf_Scn *s, const GElf_Shdr *h)
{
	Elf_Data *d = elf_getdata(s, NULL);
	GElf_Shdr names;
	Elf_Data *symbols = core_symbols(o, &names);
	GElf_Rel rel;

	for (int i = 0; gelf_getrel(d, i, &rel); i++) {
		struct core_import *import = &o->imports[o->n_imports];
		GElf_Sym sym;

		gelf_getsym(symbols, GELF_R_SYM(rel.r_info), &sym);
		if (sym.st_shndx != SHN_UNDEF)
			continue;
		ck_assert_uint_lt(++o->n_imports, CORE_MAX_IMPORTS);
		import->in = core_function_at(o, h->sh_info, rel.r_offset);
		snprintf(import->name, sizeof import->name, "%s",
			 elf_strptr(o->elf, names.sh_link, sym.st_name));
	}
}

static inline void core_read_imports(struct core_object *o)
{
	GElf_Shdr h, of;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		gelf_getshdr(s, &h);
		if (h.sh_type == SHT_REL && gelf_getshdr(elf_getscn(o->elf, h.sh_info), &of) &&
		    of.sh_flags & SHF_EXECINSTR)
			core_read_imports_of(o, s, &h);
	}
}

/* --- fields ------------------------------------------------------------------------------------ */

static inline const struct btf_type *core_plain(const struct btf *btf, __u32 *id)
{
	const struct btf_type *t = btf__type_by_id(btf, *id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t))) {
		*id = t->type;
		t = btf__type_by_id(btf, *id);
	}
	return t;
}

/* Names the members of "0:5:1" from a type, and their last type. */
static inline void core_name(const struct btf *btf, struct core_field *f)
{
	__u32 id = f->root;
	const struct btf_type *t = core_plain(btf, &id);
	const char *root = btf__name_by_offset(btf, t->name_off);
	const char *flavour = strstr(root, "___");
	int len = snprintf(f->name, sizeof f->name, "%.*s",
			   flavour ? (int)(flavour - root) : (int)strlen(root), root);
	char *at = (char *)f->path;

	ck_assert_msg(strtol(at, &at, 10) == 0, "%s: an array of structures", f->name);
	while (*at == ':') {
		long n = strtol(at + 1, &at, 10);

		t = core_plain(btf, &id);
		ck_assert_msg(btf_is_composite(t) && n < btf_vlen(t), "%s: %s", f->name, f->path);
		const struct btf_member *m = &btf_members(t)[n];
		const char *name = btf__name_by_offset(btf, m->name_off);
		if (*name)
			len += snprintf(f->name + len, sizeof f->name - len, ".%s", name);
		id = m->type;
	}
	f->type = id;
}

static inline void core_read_fields(struct core_object *o)
{
	size_t ignored, code_at;
	Elf_Data *ext = core_section(o, ".BTF.ext", &ignored);
	struct {
		__u16 magic;
		__u8 version, flags;
		__u32 size, func_at, func_bytes, line_at, line_bytes, relo_at, relo_bytes;
	} h;

	memcpy(&h, ext->d_buf, sizeof h);
	ck_assert_uint_ge(h.size, sizeof h);
	const char *at = (char *)ext->d_buf + h.size + h.relo_at, *end = at + h.relo_bytes;
	__u32 record = *(__u32 *)at;
	for (at += 4; at < end;) {
		const char *section = btf__name_by_offset(o->btf, ((__u32 *)at)[0]);
		Elf_Data *code = core_section(o, section, &code_at);
		__u32 n = ((__u32 *)at)[1];

		for (at += 8; n--; at += record) {
			const struct bpf_core_relo *r = (void *)at;
			struct core_field *f = &o->fields[o->n_fields++];

			ck_assert_uint_lt(o->n_fields, CORE_MAX_RELOCATIONS);
			*f = (struct core_field){ .root = r->type_id,
						  .path = btf__name_by_offset(o->btf,
									      r->access_str_off),
						  .kind = r->kind };
			memcpy(&f->insn, (char *)code->d_buf + r->insn_off, sizeof f->insn);
			f->in = core_function_at(o, code_at, r->insn_off);
			f->insn_at = (r->insn_off - f->in->start) / 8;
			core_name(o->btf, f);
		}
	}
}

/* users: returns a number for each program; functions get the sum of their programs. */
static inline void core_open(struct core_object *o, const char *path,
			     uint32_t (*users)(const char *section, const char *name))
{
	memset(o, 0, sizeof *o);
	elf_version(EV_CURRENT);
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(o->fd >= 0, "%s", path);
	o->elf = elf_begin(o->fd, ELF_C_READ, NULL);
	o->btf = btf__parse(path, NULL);
	ck_assert_ptr_nonnull(o->elf);
	ck_assert_ptr_nonnull(o->btf);
	core_read_functions(o, users);
	core_spread_users(o);
	core_read_calls(o);
	core_read_imports(o);
	core_read_fields(o);
}

static inline void core_close(struct core_object *o)
{
	btf__free(o->btf);
	elf_end(o->elf);
	close(o->fd);
}

/* --- in a kernel's types ----------------------------------------------------------------------- */

struct core_place {
	long bits; /* from the beginning of the structure */
	__u32 type;
};

static inline bool core_find_member(const struct btf *btf, __u32 id, const char *name, size_t len,
				    struct core_place *p)
{
	const struct btf_type *t = core_plain(btf, &id);

	for (int i = 0; t && btf_is_composite(t) && i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *its = btf__name_by_offset(btf, m->name_off);
		struct core_place inner = { p->bits + btf_member_bit_offset(t, i), m->type };

		if (!*its ? core_find_member(btf, m->type, name, len, &inner)
			  : strlen(its) == len && !memcmp(its, name, len)) {
			*p = inner;
			return true;
		}
	}
	return false;
}

/* Finds "type.member.member"; false if there is none. */
static inline bool core_find(const struct btf *btf, const char *path, struct core_place *p)
{
	char type[128];
	size_t len = strcspn(path, ".");
	__s32 id;

	snprintf(type, sizeof type, "%.*s", (int)len, path);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	*p = (struct core_place){ 0, id };
	for (path += len; id > 0 && *path; path += len) {
		len = strcspn(++path, ".");
		if (!core_find_member(btf, p->type, path, len, p))
			return false;
	}
	return id > 0;
}

static inline bool core_is_unsigned(const struct btf_type *t)
{
	return btf_is_int(t) && !(btf_int_encoding(t) & BTF_INT_SIGNED);
}

/* Whether the instruction reads what its program means: for a load, libbpf adapts the sizes of unsigned integers and pointers. It does not check
 * fields of which only the address is taken: these must have the same size, or a larger one for an array. */
static inline bool core_reads_right(const struct core_object *o, const struct core_field *f,
				    const struct btf *btf, const struct core_place *p)
{
	__u32 ours = f->type, theirs = p->type;
	const struct btf_type *a = core_plain(o->btf, &ours), *b = core_plain(btf, &theirs);
	long size = btf__resolve_size(o->btf, ours), there = btf__resolve_size(btf, theirs);

	if (f->kind == BPF_CORE_FIELD_EXISTS)
		return true;
	if (!b || btf_kind(a) != btf_kind(b) || p->bits % 8)
		return false;
	if (btf_is_array(a))
		return there >= size;
	if (size == there)
		return true;
	return BPF_CLASS(f->insn.code) == BPF_LDX &&
	       ((btf_is_ptr(a) && btf_is_ptr(b)) || (core_is_unsigned(a) && core_is_unsigned(b)));
}

#endif
