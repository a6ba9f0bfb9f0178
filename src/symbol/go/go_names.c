/* Converts rows of gopclntab to functions and lines. */
#include "symbol/go/go_names.h"

#include "base/mem.h"
#include "symbol/symbol.h"

#include <ctype.h>
#include <string.h>

int go_names_open(struct go_names *g, const struct elf_file *f, const struct elf_layout *layout,
		  struct err *err)
{
	return gopclntab_open(&g->table, f, layout, err);
}

void go_names_close(struct go_names *g)
{
	gopclntab_close(&g->table);
	name_cache_done(&g->texts);
}

/* Finds the brackets of type arguments: they follow an identifier; others hold the length of an
 * array. */
static const char *find_types(const char *text)
{
	for (const char *p = text + 1; *text && *p; p++)
		if (*p == '[' && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] & 0x80))
			return p;
	return NULL;
}

/* Returns the name as the runtime prints it, without type arguments. NULL if it lacks one, or the
 * cache is full. */
static const char *without_types(struct name_cache *c, const char *text)
{
	const char *open = find_types(text), *close = open ? strrchr(open, ']') : NULL;
	if (!close || strncmp(open, "[...]", close + 1 - open) == 0)
		return NULL;
	char *made = xasprintf("%.*s[...]%s", (int)(open - text), text, close + 1);
	const char *name = name_cache_copy(c, made, strlen(made));
	free(made);
	return name;
}

/* Reads the text at a position in the file, as name and as linkage name. Returns false if there is
 * none or the cache is full. */
static bool text_at(struct go_names *g, uint64_t at, bool is_name, struct cached_name *out)
{
	const struct cached_name *known = name_cache_get(&g->texts, at);
	if (known) {
		*out = *known;
		return true;
	}
	char *text = xmalloc(GO_MAX_NAME);
	size_t len = gopclntab_text(&g->table, at, text, GO_MAX_NAME);
	out->name = out->linkage = len ? name_cache_copy(&g->texts, text, len) : NULL;
	free(text);
	if (!out->name) {
		g->skipped++;
		return false;
	}
	const char *short_name = is_name ? without_types(&g->texts, out->linkage) : NULL;
	if (short_name)
		out->name = short_name;
	name_cache_put(&g->texts, at, *out);
	return true;
}

bool go_names_lookup(struct go_names *g, uint64_t addr, struct symbol *out)
{
	struct go_function f;
	struct cached_name name;
	if (!g->table.kind || !gopclntab_find(&g->table, addr, &f) ||
	    !text_at(g, g->table.names + f.name, true, &name))
		return false;
	*out = (struct symbol){
		.name = name.name,
		.linkage = name.linkage,
		.start = f.start,
		.size = f.end - f.start,
	};
	return true;
}

/* Sets file and line of an address. */
static void place_of(struct go_names *g, const struct go_function *f, uint64_t addr,
		     struct symbol_line *out)
{
	struct cached_name path;
	int32_t file_id, line;
	if (gopclntab_value(&g->table, f, f->lines, addr, &line) && line > 0)
		out->line = line;
	uint64_t at = gopclntab_value(&g->table, f, f->file_ids, addr, &file_id)
			      ? gopclntab_file(&g->table, f, file_id)
			      : 0;
	if (at && text_at(g, at, false, &path))
		out->file = path.name;
}

/* Finds the function that was inlined directly at an address of f; sets *addr to the address of its
 * call. */
static bool inlined_at(struct go_names *g, const struct go_function *f, uint64_t *addr,
		       struct go_inlined *out)
{
	int32_t index;
	if (!gopclntab_value(&g->table, f, f->inline_ids, *addr, &index) || index < 0)
		return false;
	if (!gopclntab_inlined(&g->table, f, index, out)) {
		g->skipped++;
		return false;
	}
	*addr = out->call;
	return true;
}

uint32_t go_names_lines(struct go_names *g, uint64_t addr, struct symbol_line *out, uint32_t max)
{
	struct go_function f;
	bool is_inlined = true;
	uint32_t n = 0;
	if (!g->table.kind || !gopclntab_find(&g->table, addr, &f))
		return 0;
	for (uint32_t depth = 0; depth < max && is_inlined; depth++) {
		struct go_inlined in = { .name = f.name, .start_line = f.start_line };
		struct cached_name name;
		uint64_t here = addr;
		is_inlined = inlined_at(g, &f, &addr, &in);
		if (!text_at(g, g->table.names + in.name, true, &name))
			continue;
		out[n] = (struct symbol_line){ .name = name.name,
					       .linkage = name.linkage,
					       .start_line = in.start_line };
		place_of(g, &f, here, &out[n++]);
	}
	return n;
}
