/* Finds Go's heap profile in a program without symbols: in the code of functions of the runtime.
 * Every Go program has their names (symbol/go/gopclntab.h).
 *
 *     runtime.stkbucket      the addresses of its three lists, of memory, mutexes and blocking, in
 *                            a row: lea list(%rip), one register
 *     runtime.profilealloc   loads MemProfileRate: mov rate(%rip), register; so does
 *                            runtime.nextSample, or runtime.allocmcache, which then contains it
 *
 * Bytes inside another instruction may look like one of these, so each address has to be the only
 * one. The reader of the list checks each bucket.
 *
 * Source: disassembly of programs by Go 1.19; found in programs
 * by 1.21 to 1.24, 1.26 and 1.27. */
#include "base/err.h"
#include "base/mem.h"
#include "mem/go/go_heap.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/go/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CODE_MAX = 1 << 16,   /* limit: bytes of a function that is searched */
	MENTIONS_MAX = 128,   /* limit: addresses in it */
	LOOKED_AT_MAX = 4096, /* limit: instructions with an address in it */
	VARIABLES_MAX = 16,   /* limit: segments of its file with variables */
	NEAR = 32,            /* bytes between two instructions in a row */
	/* limit: functions searched for Go's runtime, which is near the start */
	SEARCHED_MAX = 1 << 14,
	AFTER_RUNTIME = 4096, /* they are together */
	REX_W = 0x48,
	REX_R = 0x04,
	LEA = 0x8d,
	MOV = 0x8b,
	LENGTH = 7,
};

struct functions {
	struct go_function stkbucket, profilealloc, next_sample, allocmcache; /* end 0: none */
};
struct mention { /* of an address, in an instruction */
	uint64_t at, target;
	uint8_t reg;
};
struct mentions {
	struct mention v[MENTIONS_MAX];
	uint32_t n;
};
struct code_search {
	const struct elf_file *f;
	const struct elf_layout *layout;
	struct elf_code variables[VARIABLES_MAX];
	uint32_t n_variables;
	uint8_t bytes[CODE_MAX];
};

/* --- functions -------------------------------------------------------------------------------- */

static struct go_function *wanted(struct functions *all, const char *name)
{
	const struct {
		const char *name;
		struct go_function *function;
	} rows[] = {
		{ "runtime.stkbucket", &all->stkbucket },
		{ "runtime.profilealloc", &all->profilealloc },
		{ "runtime.nextSample", &all->next_sample },
		{ "runtime.allocmcache", &all->allocmcache },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(name, rows[i].name) == 0)
			return rows[i].function;
	return NULL;
}

static void find_functions(struct gopclntab *t, struct functions *out)
{
	uint32_t after = 0;

	*out = (struct functions){ 0 };
	const uint32_t most = t->n_functions < SEARCHED_MAX ? t->n_functions : SEARCHED_MAX;

	for (uint32_t i = 0; i < most && after < AFTER_RUNTIME; i++) {
		struct go_function f;
		char name[64];

		if (!gopclntab_function(t, i, &f) || !gopclntab_name(t, f.name, name, sizeof name))
			continue;
		after = strncmp(name, "runtime.", 8) && out->stkbucket.end ? after + 1 : 0;
		struct go_function *to = wanted(out, name);
		if (to && !to->end)
			*to = f;
	}
}

/* --- code ------------------------------------------------------------------------------------- */

static void find_variables(struct code_search *s)
{
	GElf_Phdr p;
	size_t n = 0;

	for (size_t i = 0;
	     elf_getphdrnum(s->f->elf, &n) == 0 && i < n && s->n_variables < VARIABLES_MAX; i++)
		if (gelf_getphdr(s->f->elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_W)
			s->variables[s->n_variables++] =
				(struct elf_code){ p.p_vaddr, p.p_vaddr + p.p_memsz };
}

static bool is_variable(const struct code_search *s, uint64_t addr)
{
	for (uint32_t i = 0; addr % 8 == 0 && i < s->n_variables; i++)
		if (addr >= s->variables[i].start && addr < s->variables[i].end)
			return true;
	return false;
}

/* Instructions of this kind with the address of a variable. */
static void find_mentions(struct code_search *s, const struct go_function *fn, uint8_t opcode,
			  struct mentions *out)
{
	uint64_t offset, size = fn->end - fn->start;
	uint32_t looked_at = 0;

	out->n = 0;
	if (size > sizeof s->bytes || !elf_layout_offset(s->layout, fn->start, &offset) ||
	    !elf_file_read(s->f, offset, s->bytes, size))
		return;
	for (uint64_t i = 0; i + LENGTH <= size && out->n < MENTIONS_MAX; i++) {
		const uint8_t *b = s->bytes + i;
		int32_t distance;

		if ((b[0] & ~REX_R) != REX_W || b[1] != opcode || (b[2] & 0xc7) != 0x05)
			continue;
		if (++looked_at > LOOKED_AT_MAX)
			return;
		memcpy(&distance, b + 3, sizeof distance);
		uint64_t target = fn->start + i + LENGTH + (uint64_t)(int64_t)distance;
		if (is_variable(s, target))
			out->v[out->n++] = (struct mention){ fn->start + i, target,
							     (b[0] & REX_R) << 1 | b[2] >> 3 };
	}
}

/* Three of one register in a row: the first is of the list of memory. 0: none, or
 * several. */
static uint64_t find_lists(struct code_search *s, const struct go_function *stkbucket)
{
	struct mentions m;
	uint64_t found = 0;

	find_mentions(s, stkbucket, LEA, &m);
	for (uint32_t i = 0; i + 2 < m.n; i++) {
		const struct mention *a = &m.v[i], *b = a + 1, *c = a + 2;

		if (a->reg != b->reg || b->reg != c->reg || b->at - a->at > NEAR ||
		    c->at - b->at > NEAR || a->target == b->target || b->target == c->target ||
		    a->target == c->target)
			continue;
		if (found)
			return 0;
		found = a->target;
	}
	return found;
}

static bool has_target(const struct mentions *m, uint64_t target)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->v[i].target == target)
			return true;
	return false;
}

/* The variable that both load. 0: none, or several. */
static uint64_t find_rate(struct code_search *s, const struct functions *all)
{
	struct mentions a, b;
	uint64_t found = 0;

	find_mentions(s, &all->profilealloc, MOV, &a);
	find_mentions(s, &all->next_sample, MOV, &b);
	if (!b.n)
		find_mentions(s, &all->allocmcache, MOV, &b);
	for (uint32_t i = 0; i < a.n; i++) {
		if (a.v[i].target == found || !has_target(&b, a.v[i].target))
			continue;
		if (found)
			return 0;
		found = a.v[i].target;
	}
	return found;
}

int go_heap_find_by_code(const struct elf_file *f, const struct elf_layout *layout,
			 struct gopclntab *table, struct go_heap *out, struct err *err)
{
	struct functions all;

	if (f->header.e_machine != EM_X86_64)
		return err_set(err, ENOTSUP, "a Go program without symbols, for another machine");
	if (gopclntab_open(table, f, layout, err))
		return -ENOTSUP;
	struct code_search *s = xcalloc(1, sizeof *s);
	s->f = f;
	s->layout = layout;
	find_variables(s);
	find_functions(table, &all);
	out->buckets = find_lists(s, &all.stkbucket);
	out->rate = find_rate(s, &all);
	free(s);
	return out->buckets && out->rate
		       ? 0
		       : err_set(err, ENOTSUP,
				 "a Go program without symbols: its heap profile is not found in "
				 "its code");
}
