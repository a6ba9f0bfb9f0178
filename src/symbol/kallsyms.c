#include "symbol/kallsyms.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbol/lines.h"
#include "symbol/name_cache.h"
#include "symbol/symbol.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum {
	KALLSYMS_MAX_SYMBOLS = 4 << 20, /* a large kernel with all modules has 250 000 */
	KALLSYMS_MAX_NAMES_BYTES = 256 << 20,
	KALLSYMS_MAX_NAME = 1024, /* twice the kernel's KSYM_NAME_LEN; longer names are cut */
	KALLSYMS_MODULE_BITS = 12,
	KALLSYMS_SIZE_BITS = 20,
	KALLSYMS_MAX_MODULES = (1 << KALLSYMS_MODULE_BITS) - 1,
	/* Sizes are not in the file: a symbol reaches to the next one of any kind, but not further than this, as behind the
	 * last function of a module there may be nothing for a gigabyte. */
	KALLSYMS_MAX_SIZE = (1 << KALLSYMS_SIZE_BITS) - 1,
};

struct kallsyms_symbol {
	uint64_t addr;
	uint32_t name; /* offset in text */
	uint32_t size : KALLSYMS_SIZE_BITS;
	uint32_t module : KALLSYMS_MODULE_BITS; /* index in modules, 0 = the kernel itself */
};

struct kallsyms {
	struct symbol_source base;
	VEC(struct kallsyms_symbol) symbols; /* functions by address */
	struct buf text;                     /* NUL-terminated names */
	struct arena module_text;
	VEC(const char *) modules; /* [0] = NULL */
	struct map module_index;
	struct name_cache names;
};

static void kallsyms_close(struct symbol_source *s)
{
	struct kallsyms *k = (struct kallsyms *)s;
	vec_done(&k->symbols);
	buf_done(&k->text);
	arena_done(&k->module_text);
	vec_done(&k->modules);
	map_done(&k->module_index);
	name_cache_done(&k->names);
	free(k);
}

/* The last symbol at or before addr, or NULL. */
static const struct kallsyms_symbol *kallsyms_before(const struct kallsyms *k, uint64_t addr)
{
	size_t lo = 0, hi = k->symbols.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (k->symbols.v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &k->symbols.v[lo - 1] : NULL;
}

static bool kallsyms_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct kallsyms *k = (struct kallsyms *)s;
	const struct kallsyms_symbol *sym = kallsyms_before(k, addr);
	if (!sym || addr - sym->addr >= sym->size)
		return false;
	const struct cached_name *known = name_cache_get(&k->names, sym->name);
	struct cached_name name =
		known ? *known : name_cache_add(&k->names, sym->name, k->text.data + sym->name, "");
	*out = (struct symbol){
		.name = name.name,
		.linkage = name.linkage,
		.module = k->modules.v[sym->module],
		.start = sym->addr,
		.size = sym->size,
	};
	return true;
}

static const struct symbol_source_ops kallsyms_ops = { .lookup = kallsyms_lookup,
						       .close = kallsyms_close };

void kallsyms_each(struct symbol_source *s, void (*fn)(void *ctx, const struct symbol *sym),
		   void *ctx)
{
	const struct kallsyms *k = (const struct kallsyms *)s;
	for (size_t i = 0; i < k->symbols.n; i++) {
		const struct kallsyms_symbol *sym = &k->symbols.v[i];
		const char *name = k->text.data + sym->name;
		fn(ctx, &(struct symbol){ .name = name,
					  .linkage = name,
					  .module = k->modules.v[sym->module],
					  .start = sym->addr,
					  .size = sym->size });
	}
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

/* While reading the size field holds how well the symbol suits as the name of its address. */
enum {
	RANK_DATA = 0, /* ends the function before it, then goes away */
	RANK_LOCAL = 1 << 12,
	RANK_GLOBAL = 2 << 12, /* minus the length of the name */
};

struct kallsyms_line {
	uint64_t addr;
	char type;
	const char *name, *module; /* module: NULL in the kernel itself */
	size_t name_len;
};

/* "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]" */
static bool kallsyms_parse(char *line, struct kallsyms_line *out)
{
	char *p = line;
	if (!hex_take(&p, &out->addr) || p[0] != ' ' || !p[1] || p[2] != ' ' || !p[3])
		return false;
	out->type = p[1];
	out->name = p + 3;
	out->name_len = strcspn(out->name, "\t");
	out->module = NULL;
	p += 3 + out->name_len;
	if (*p == '\t') {
		*p++ = '\0';
		char *end = strchr(p, ']');
		if (*p != '[' || !end)
			return false;
		*end = '\0';
		out->module = p + 1;
	}
	return out->name_len > 0;
}

struct module_name {
	const struct kallsyms *kallsyms;
	const char *name;
};

static bool module_same(const void *ctx, uint32_t module)
{
	const struct module_name *wanted = ctx;
	return strcmp(wanted->kallsyms->modules.v[module], wanted->name) == 0;
}

/* 0 for the kernel itself and when there are too many. */
static uint32_t kallsyms_module(struct kallsyms *k, const char *name)
{
	if (!name || k->modules.n > KALLSYMS_MAX_MODULES)
		return 0;
	struct module_name wanted = { k, name };
	size_t len = strlen(name);
	uint32_t id = map_intern(&k->module_index, hash_bytes(name, len), k->modules.n, module_same,
				 &wanted);
	if (id == k->modules.n)
		vec_push(&k->modules, arena_dup(&k->module_text, name, len));
	return id;
}

/* Of several names at one address the global one wins, then the shortest. ARM's mapping symbols ($a, $d) are no names. */
static uint32_t kallsyms_rank(const struct kallsyms_line *line)
{
	bool function =
		line->type == 't' || line->type == 'T' || line->type == 'w' || line->type == 'W';
	if (!function)
		return RANK_DATA;
	uint32_t base = isupper((unsigned char)line->type) ? RANK_GLOBAL : RANK_LOCAL;
	return base - (line->name_len < KALLSYMS_MAX_NAME ? line->name_len : KALLSYMS_MAX_NAME);
}

static bool kallsyms_add(struct kallsyms *k, char *text, bool *any_address)
{
	struct kallsyms_line line;
	if (!kallsyms_parse(text, &line))
		return false;
	*any_address |= line.addr != 0;
	/* Absolute symbols ('a', and per-CPU offsets) are numbers, not places. */
	if ((line.type | 0x20) == 'a' || line.name[0] == '$' || line.addr == 0)
		return true;
	if (k->symbols.n >= KALLSYMS_MAX_SYMBOLS || k->text.len >= KALLSYMS_MAX_NAMES_BYTES)
		return false;
	struct kallsyms_symbol sym = { .addr = line.addr, .size = kallsyms_rank(&line) };
	if (sym.size != RANK_DATA) {
		size_t len = line.name_len;
		sym.name = k->text.len;
		sym.module = kallsyms_module(k, line.module);
		buf_add(&k->text, line.name, len < KALLSYMS_MAX_NAME ? len : KALLSYMS_MAX_NAME);
		buf_addc(&k->text, '\0');
	}
	vec_push(&k->symbols, sym);
	return true;
}

/* By address, the best name first; equally good ones stay in the order of the file, which is that of their names' offsets. */
static int kallsyms_compare(const void *a, const void *b)
{
	const struct kallsyms_symbol *x = a, *y = b;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Sorts, leaves one function per address and gives each its size. */
static void kallsyms_build(struct kallsyms *k)
{
	struct kallsyms_symbol *v = k->symbols.v;
	size_t n = k->symbols.n, kept = 0;
	if (n)
		qsort(v, n, sizeof *v, kallsyms_compare);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && v[next].addr == v[i].addr;)
			next++;
		if (v[i].size == RANK_DATA)
			continue;
		uint64_t size = next < n ? v[next].addr - v[i].addr : KALLSYMS_MAX_SIZE;
		v[kept] = v[i];
		v[kept++].size = size < KALLSYMS_MAX_SIZE ? size : KALLSYMS_MAX_SIZE;
	}
	k->symbols.n = kept;
	if (kept)
		k->symbols.v = xreallocarray(v, k->symbols.cap = kept, sizeof *v);
}

static int kallsyms_read(struct kallsyms *k, int fd, struct err *err)
{
	struct lines *lines = xcalloc(1, sizeof *lines);
	lines->fd = fd;
	bool any_address = false;
	char *line;
	size_t len, taken = 0;
	int rc;
	while ((rc = lines_next(lines, &line, &len, err)) > 0) {
		bool good = kallsyms_add(k, line, &any_address);
		taken += good;
		k->base.skipped += !good && len > 0;
	}
	free(lines);
	if (rc < 0)
		return rc;
	if (taken && !any_address) {
		err_set(err, EPERM, "the kernel hides the addresses of its symbols");
		err_hint(err, "run as root, or: sysctl kernel.kptr_restrict=0");
		return -EPERM;
	}
	return 0;
}

int symbol_open_kallsyms(int fd, struct symbol_source **out, struct err *err)
{
	struct kallsyms *k = xcalloc(1, sizeof *k);
	k->base = (struct symbol_source){ .ops = &kallsyms_ops, .origin = "kallsyms" };
	vec_push(&k->modules, NULL);
	int rc = kallsyms_read(k, fd, err);
	if (rc == 0) {
		kallsyms_build(k);
		if (k->symbols.n == 0)
			rc = err_set(err, ENODATA, "no kernel symbols");
	}
	if (rc < 0)
		symbol_close(&k->base);
	else
		*out = &k->base;
	return rc;
}
