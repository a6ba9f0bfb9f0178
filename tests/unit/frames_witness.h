/* tests/unit/frames_witness.h: compares every row that readelf prints for an ELF file with ours, twice: with the row of the call frame information,
 * and with the rule in the unwind table at the row's file offset. */
#ifndef CRESSET_TESTS_FRAMES_WITNESS_H
#define CRESSET_TESTS_FRAMES_WITNESS_H

#include "readelf_rows.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

/* The totals of what was compared. */
struct frames_sum {
	uint64_t files, fdes, rows;
	uint64_t table_rows; /* rows looked up in the table */
	uint64_t table_files;
	uint64_t shadowed;   /* rows that contain the start of another function */
	uint64_t not_mapped; /* rows of code not in the file, or for Go's debuggers: in no table */
	uint64_t restored;   /* rows whose CIE restores registers, for which readelf is wrong */
	uint64_t other_cfa, other_fp, other_ra; /* not expressible as rules */
	uint64_t signal_rows, deref_rows, plt_rows, other_reg_rows;
};

struct frames_check {
	const char *path;
	struct frames_sum *sum;
	struct elf_layout layout;
	VEC(uint64_t) starts; /* of all functions, in order */
	struct unwind_table table;
	struct readelf want;
	bool is_arm64, is_go, want_is_gos;
	char what[256]; /* the first difference */
	char why[256];  /* why it cannot be read */
};

__attribute__((format(printf, 2, 3))) static inline bool frames_differ(struct frames_check *c,
								       const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (!*c->what)
		vsnprintf(c->what, sizeof c->what, fmt, ap);
	va_end(ap);
	return false;
}

static inline const char *frames_register(const struct frames_check *c, unsigned reg, char out[8])
{
	static const char *const x86[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					   "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					   "r12", "r13", "r14", "r15", "ra" };
	if (c->is_arm64)
		snprintf(out, 8, reg == 31 ? "sp" : "x%u", reg);
	else
		snprintf(out, 8, "%s", reg < sizeof x86 / sizeof *x86 ? x86[reg] : "?");
	return out;
}

/* --- our row and our rule, as readelf would write them; an expression is "exp", whatever was recognized in it --- */

static inline void spell_cfa(const struct frames_check *c, const struct cfi_place *p,
			     const char *readelf, char *out)
{
	char name[8];
	if (strcmp(readelf, "exp") == 0 && p->kind != CFI_NONE)
		snprintf(out, 24, "exp");
	else if (p->kind == CFI_OFFSET)
		snprintf(out, 24, "%s%+d", frames_register(c, p->reg, name), (int)p->offset);
	else
		snprintf(out, 24, "kind %d", p->kind);
}

static inline void spell_place(const struct frames_check *c, const struct cfi_place *p, char *out)
{
	static const char *const words[] = {
		[CFI_NONE] = "s", [CFI_UNDEFINED] = "u", [CFI_DEREF] = "exp", [CFI_OTHER] = "exp"
	};
	char name[8];
	if (p->kind == CFI_OFFSET || p->kind == CFI_VALUE)
		snprintf(out, 24, "%c%+d", p->kind == CFI_OFFSET ? 'c' : 'v', (int)p->offset);
	else if (p->kind == CFI_REGISTER)
		snprintf(out, 24, "r%d (%s)", p->reg, frames_register(c, p->reg, name));
	else
		snprintf(out, 24, "%s", words[p->kind]);
}

static inline void spell_rule_cfa(const struct frames_check *c, const struct unwind_rule *r,
				  const char *readelf, char *out)
{
	char name[8];
	if (strcmp(readelf, "exp") == 0)
		snprintf(out, 24, UNWIND_KIND(r->cfa) == UNWIND_NONE ? "none" : "exp");
	else
		snprintf(out, 24, "%s%+d", frames_register(c, UNWIND_REGISTER(r->cfa), name),
			 r->cfa_offset);
}

static inline void spell_rule_place(const struct frames_check *c, uint8_t place, int32_t offset,
				    char *out)
{
	static const char *const words[] = { [UNWIND_NONE] = "s",    [UNWIND_REG] = "",
					     [UNWIND_DEREF] = "exp", [UNWIND_CFA] = "",
					     [UNWIND_PLT] = "?",     [UNWIND_UNDEFINED] = "u",
					     [UNWIND_OTHER] = "?",   "?" };
	char name[8];
	unsigned reg = UNWIND_REGISTER(place);
	if (UNWIND_KIND(place) == UNWIND_CFA)
		snprintf(out, 24, "c%+d", offset);
	else if (UNWIND_KIND(place) == UNWIND_REG)
		snprintf(out, 24, "r%u (%s)", reg, frames_register(c, reg, name));
	else
		snprintf(out, 24, "%s", words[UNWIND_KIND(place)]);
}

/* "" is an absent column, "u" may be one that exists only for a later row. arm64's return address is in its register until a rule says otherwise. */
static inline bool same_place(const struct frames_check *c, const char *ours, const char *readelf,
			      bool is_ra)
{
	bool untold = !*readelf || strcmp(readelf, "u") == 0 || strcmp(readelf, "s") == 0;
	if (strcmp(ours, readelf) == 0 ||
	    (strcmp(readelf, "vexp") == 0 && strcmp(ours, "exp") == 0))
		return true;
	if (is_ra && c->is_arm64)
		return untold && strcmp(ours, "r30 (x30)") == 0;
	return strcmp(ours, "s") == 0 && (!*readelf || (!is_ra && strcmp(readelf, "u") == 0));
}

/* Assemblers move the common start of functions into the CIE, including, in many files, a restored register: restored to its state before the CIE, as
 * gdb and libgcc read it. readelf keeps it saved. */
static inline bool same_fp(struct frames_check *c, const char *ours, const struct readelf_fde *f,
			   const struct readelf_row *want)
{
	if (same_place(c, ours, want->fp, false))
		return true;
	bool restored = f->inherits && strcmp(ours, "s") == 0 && want->fp[0] == 'c';
	c->sum->restored += restored;
	return restored;
}

/* --- one row ----------------------------------------------------------------------------------- */

static inline bool check_row(struct frames_check *c, const struct cfi_rule *rule,
			     const struct readelf_fde *f, const struct readelf_row *want)
{
	char cfa[24], fp[24], ra[24];
	spell_cfa(c, &rule->cfa, want->cfa, cfa);
	spell_place(c, &rule->fp, fp);
	spell_place(c, &rule->ra, ra);
	c->sum->rows++;
	if (strcmp(cfa, want->cfa) == 0 && same_fp(c, fp, f, want) &&
	    same_place(c, ra, want->ra, true))
		return true;
	return frames_differ(c, "%lx: cfa %s fp %s ra %s, readelf says %s %s %s", want->addr, cfa,
			     fp, ra, want->cfa, want->fp, want->ra);
}

/* Another function begins after `start`, at or before addr; or more than one at start. */
static inline bool is_shadowed(const struct frames_check *c, uint64_t start, uint64_t addr)
{
	size_t lo = 0, hi = c->starts.n; /* the first start past addr */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->starts.v[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == 0 || c->starts.v[lo - 1] != start || (lo > 1 && c->starts.v[lo - 2] == start);
}

static inline void count_rule(struct frames_sum *sum, const struct unwind_rule *rule, bool is_arm64)
{
	unsigned kind = UNWIND_KIND(rule->cfa), reg = UNWIND_REGISTER(rule->cfa);
	sum->table_rows++;
	sum->other_cfa += kind == UNWIND_OTHER;
	sum->other_fp += UNWIND_KIND(rule->fp) == UNWIND_OTHER;
	sum->other_ra += UNWIND_KIND(rule->ra) == UNWIND_OTHER;
	sum->deref_rows += kind == UNWIND_DEREF;
	sum->plt_rows += kind == UNWIND_PLT;
	sum->signal_rows += !!(rule->flags & UNWIND_SIGNAL);
	sum->other_reg_rows +=
		kind == UNWIND_REG && (is_arm64 ? reg != 31 && reg != 29 : reg != 7 && reg != 6);
}

static inline bool check_rule(struct frames_check *c, const struct readelf_fde *f,
			      const struct readelf_row *want)
{
	char cfa[24], fp[24], ra[24];
	uint64_t offset;
	if (!c->table.image.data || c->want_is_gos ||
	    !elf_layout_offset(&c->layout, f->start, &offset)) {
		c->sum->not_mapped++;
		return true;
	}
	if (is_shadowed(c, f->start, want->addr)) {
		c->sum->shadowed++;
		return true;
	}
	offset += want->addr - f->start;
	const struct unwind_rule *rule = unwind_table_find(&c->table, offset);
	if (!rule)
		return frames_differ(c, "%lx: no rule at %lx", want->addr, offset);
	count_rule(c->sum, rule, c->is_arm64);
	if (UNWIND_KIND(rule->cfa) == UNWIND_OTHER)
		return true;
	spell_rule_cfa(c, rule, want->cfa, cfa);
	spell_rule_place(c, rule->fp, rule->fp_offset, fp);
	spell_rule_place(c, rule->ra, rule->ra_offset, ra);
	if (strcmp(cfa, want->cfa) == 0 &&
	    (UNWIND_KIND(rule->fp) == UNWIND_OTHER || same_fp(c, fp, f, want)) &&
	    (UNWIND_KIND(rule->ra) == UNWIND_OTHER || same_place(c, ra, want->ra, true)) &&
	    !!(rule->flags & UNWIND_SIGNAL) == f->is_signal)
		return true;
	return frames_differ(c, "%lx: rule: cfa %s fp %s ra %s flags %x, readelf says %s %s %s",
			     want->addr, cfa, fp, ra, rule->flags, want->cfa, want->fp, want->ra);
}

/* --- one function ------------------------------------------------------------------------------ */

/* Each row of readelf's equals our rule for that address; each of our rows is one of readelf's. */
static inline bool check_fde(struct frames_check *c, const struct cfi_fde *ours,
			     const struct readelf_fde *want)
{
	const struct readelf_row *rows = want->rows.v;
	size_t k = 0;
	c->sum->fdes++;
	if (ours->start != want->start || ours->end != want->end)
		return frames_differ(c, "%lx..%lx, readelf says %lx..%lx", ours->start, ours->end,
				     want->start, want->end);
	for (size_t i = 0; i < want->rows.n && rows[i].addr < ours->end; i++) {
		while (k + 1 < ours->n && ours->rows[k + 1].addr <= rows[i].addr)
			k++;
		if (i + 1 < want->rows.n && rows[i + 1].addr == rows[i].addr)
			continue;
		if (!check_row(c, &ours->rows[k].rule, want, &rows[i]) ||
		    !check_rule(c, want, &rows[i]))
			return false;
	}
	if (k != ours->n - 1)
		return frames_differ(c, "%lx: a row that readelf does not have",
				     ours->rows[k + 1].addr);
	return true;
}

/* Functions dropped by the linker, and empty ones, are not in ours. */
static inline bool is_nothing(const struct readelf_fde *f)
{
	return f->start == f->end || f->start == 0;
}

static inline bool check_next(void *ctx, const struct cfi_fde *fde)
{
	struct frames_check *c = ctx;
	const struct readelf_fde *want;
	do
		want = readelf_next(&c->want);
	while (want && is_nothing(want) && fde->start != want->start);
	if (!want)
		return frames_differ(c, "%lx: a function that readelf does not have", fde->start);
	return check_fde(c, fde, want);
}

static inline bool take_start(void *ctx, const struct cfi_fde *fde)
{
	struct frames_check *c = ctx;
	vec_push(&c->starts, fde->start);
	return true;
}

static inline int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* --- one file ---------------------------------------------------------------------------------- */

static inline void check_section(struct frames_check *c, const struct cfi_section *s)
{
	struct err err = { 0 };
	uint64_t skipped = 0;
	const struct readelf_fde *more;
	cfi_read(s, check_next, c, &skipped, &err);
	if (skipped)
		frames_differ(c, "%lu functions skipped", skipped);
	if (err.code)
		frames_differ(c, "%s", err.text);
	while (!*c->what && (more = readelf_next(&c->want)))
		if (!is_nothing(more))
			frames_differ(c, "%lx: a function that we do not have", more->start);
}

struct frames_section {
	struct buf data;
	struct cfi_section section;
	int rc;
};

static inline void read_section(struct frames_check *c, const struct elf_file *f,
				enum cfi_file_kind kind, struct frames_section *out)
{
	struct err err = { 0 };
	uint64_t skipped;
	out->rc = cfi_file_section(f, kind, &out->data, &out->section, &err);
	if (out->rc == 0)
		cfi_read(&out->section, take_start, c, &skipped, NULL);
	else
		snprintf(c->why, sizeof c->why, "%.*s", (int)sizeof c->why - 1, err.text);
}

static inline void compare_with_command(struct frames_check *c, const struct cfi_section *s,
					const char *command)
{
	char line[4200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(line, sizeof line, command, c->path);
#pragma GCC diagnostic pop
	c->want_is_gos = c->is_go && s->is_debug_frame;
	FILE *text = popen(line, "r");
	readelf_begin(&c->want, text, s->is_debug_frame ? "debug_frame" : "eh_frame", c->is_arm64);
	check_section(c, s);
	readelf_done(&c->want);
	pclose(text);
}

static inline int compare_file(struct frames_check *c, const struct elf_file *f, int fd,
			       const char *command)
{
	struct frames_section sections[2] = { 0 };
	struct err err = { 0 };
	int built, rc = -ENODATA;
	read_section(c, f, CFI_EH_FRAME, &sections[0]);
	read_section(c, f, CFI_DEBUG_FRAME, &sections[1]);
	if (c->starts.n)
		qsort(c->starts.v, c->starts.n, sizeof *c->starts.v, by_value);
	built = unwind_table_build(fd, &c->table, &err);
	if (built && built != -ENODATA && sections[0].rc == 0)
		frames_differ(c, "table: %s", err.text);
	c->sum->table_files += built == 0;
	for (int i = 0; i < 2; i++) {
		if (sections[i].rc == 0)
			compare_with_command(c, &sections[i].section, command);
		if (rc == -ENODATA)
			rc = sections[i].rc;
		buf_done(&sections[i].data);
	}
	c->sum->files += rc == 0;
	return rc;
}

/* Compares the file with the command's output; "%s" in it stands for the path. Returns 0, with what empty or the first difference; or the error of
 * reading the file, with what set to the reason. */
static inline int frames_compare(const char *path, const char *command, struct frames_sum *sum,
				 char what[256])
{
	struct frames_check c = { .path = path, .sum = sum };
	struct elf_file f = { 0 };
	struct err err = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : elf_file_open(&f, fd, &err);
	if (rc == 0)
		rc = elf_layout_read(&c.layout, &f, &err);
	if (rc == 0) {
		GElf_Shdr shdr;
		c.is_arm64 = f.header.e_machine == EM_AARCH64;
		c.is_go = elf_file_section(&f, ".go.buildinfo", SHT_NULL, &shdr);
		rc = compare_file(&c, &f, fd, command);
		snprintf(what, 256, "%s", rc ? c.why : c.what);
	} else {
		snprintf(what, 256, "%.255s", err.text);
	}
	elf_file_close(&f);
	if (fd >= 0)
		close(fd);
	elf_layout_done(&c.layout);
	unwind_table_done(&c.table);
	vec_done(&c.starts);
	return rc;
}

#define READELF_FRAMES "readelf -wFN '%s' 2>/dev/null"

static inline void frames_print(const struct frames_sum *s)
{
	printf("# %lu files, %lu functions, %lu rows equal readelf's\n", s->files, s->fdes,
	       s->rows);
	printf("# tables of %lu files: %lu rows asked (%lu inside which another function begins, "
	       "%lu of code not "
	       "in the file); rules cannot say %lu CFAs, %lu frame pointers, %lu return "
	       "addresses\n",
	       s->table_files, s->table_rows, s->shadowed, s->not_mapped, s->other_cfa, s->other_fp,
	       s->other_ra);
	printf("# of them %lu in signal frames, %lu with a CFA in memory, %lu of PLTs, %lu on "
	       "other registers\n",
	       s->signal_rows, s->deref_rows, s->plt_rows, s->other_reg_rows);
}

#endif
