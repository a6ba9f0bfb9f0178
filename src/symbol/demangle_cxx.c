#include "symbol/demangle.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum {
	CXX_MAX_NAME = 4 << 10, /* the parser recurses once for every few characters */
	CXX_MAX_PARTS = 16 << 10,
	CXX_MAX_DEPTH = 1100, /* libiberty prints 1024 deep */
	CXX_MAX_OLD_BACKREFS = 14,
};

/* The parsed name is a graph of components in one block; parts of it that are referred to several times are shared. The
 * library walks it as a tree, and where nothing comes out of that (looking for a parameter pack) our callback is not asked. */
struct cxx_graph {
	const struct demangle_component *block;
	size_t n;
	uint32_t *parts; /* of each component as a tree, itself included; 0 = not counted yet */
};

static bool component_is_leaf(const struct demangle_component *c)
{
	switch (c->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		return true;
	default:
		return false;
	}
}

/* The others keep their children in two pointers, but some use one of the two places for a number: what does not point at a
 * component is no child. */
static uint32_t graph_count(struct cxx_graph *g, const struct demangle_component *c, unsigned depth)
{
	uintptr_t offset = (uintptr_t)c - (uintptr_t)g->block;
	size_t i = offset / sizeof *c;
	if (i >= g->n || offset % sizeof *c != 0)
		return 0;
	if (depth > CXX_MAX_DEPTH)
		return CXX_MAX_PARTS + 1;
	if (g->parts[i])
		return g->parts[i];
	uint32_t sum = g->parts[i] = 1;
	if (!component_is_leaf(c)) {
		sum += graph_count(g, c->u.s_binary.left, depth + 1);
		sum += graph_count(g, c->u.s_binary.right, depth + 1);
	}
	return g->parts[i] = sum <= CXX_MAX_PARTS ? sum : CXX_MAX_PARTS + 1;
}

static bool graph_print(struct demangle_component *root, struct demangled *d)
{
	buf_clear(&d->text);
	return setjmp(d->full) == 0 &&
	       cplus_demangle_print_callback(DEMANGLE_FLAGS, root, demangled_add, d);
}

/* Names of compilers before the ABI had settled on `sr` (g++ up to 4) are only parsed by this entry, which shows no graph. With
 * few references back a walk cannot get long: each doubles it at most. */
static bool demangle_old(const char *name, struct demangled *d)
{
	unsigned backrefs = 0;
	for (const char *p = name; (p = strchr(p, 'S')); p++)
		backrefs +=
			p[1] == '_' || (p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z');
	buf_clear(&d->text);
	return backrefs <= CXX_MAX_OLD_BACKREFS && setjmp(d->full) == 0 &&
	       cplus_demangle_v3_callback(name, DEMANGLE_FLAGS, demangled_add, d);
}

bool demangle_cxx(const char *name, size_t len, struct demangled *d)
{
	void *block;
	if (len > CXX_MAX_NAME)
		return false;
	struct demangle_component *root =
		cplus_demangle_v3_components(name, DEMANGLE_FLAGS, &block);
	if (!root)
		return demangle_old(name, d);
	/* libiberty makes room for two components a character. */
	struct cxx_graph g = { block, 2 * len, xcalloc(2 * len, sizeof *g.parts) };
	bool ok = graph_count(&g, root, 0) <= CXX_MAX_PARTS && graph_print(root, d);
	free(g.parts);
	free(block);
	return ok;
}
