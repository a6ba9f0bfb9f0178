#include "modules.h"
#include "names.h"

#include <stdio.h>
#include <string.h>

enum { MODULE_LEVEL = 2 }; /* (() => { */

static void write_text(const struct module *m, later_writer *later, const void *arg,
		       struct buf *out)
{
	size_t from = 0;
	for (size_t i = 0; i < m->imports.n; i++) {
		const struct import *import = &m->imports.v[i];
		if (!import->is_later)
			continue;
		buf_add(out, m->text.data + from, import->at - from);
		later(arg, import->module, out);
		from = import->at;
	}
	buf_add(out, m->text.data + from, m->text.len - from);
}

void pair_write(const char *name, const char *value, struct buf *out)
{
	if (strcmp(name, value) != 0)
		buf_addf(out, "%s:", name);
	buf_addf(out, "%s,", value);
}

static void write_whole(const struct modules *all, uint32_t id, later_writer *later,
			const void *arg, struct buf *out)
{
	const struct module *m = all->all.v[id];
	buf_addf(out, "const %s = (() => {\n", m->name);
	for (size_t i = 0; i < m->imports.n; i++)
		if (m->imports.v[i].pattern)
			buf_addf(out, "const %s = %s;\n", m->imports.v[i].pattern,
				 all->all.v[m->imports.v[i].module]->name);
	write_text(m, later, arg, out);
	buf_adds(out, ";\nreturn {");
	for (size_t i = 0; i < m->exports.n; i++)
		pair_write(m->exports.v[i].name, m->exports.v[i].value, out);
	buf_adds(out, "};\n})();\n");
}

int module_write(const struct modules *all, uint32_t id, later_writer *later, const void *arg,
		 struct buf *out)
{
	struct buf text = { 0 };
	const char *trouble = NULL;
	write_whole(all, id, later, arg, &text);
	if (all->keep_names || strstr(all->all.v[id]->path, "/vendor/")) /* those are short */
		buf_add(out, text.data, text.len);
	else
		trouble = names_shorten(text.data, text.len, MODULE_LEVEL, out);
	if (trouble)
		fprintf(stderr, "%s: %s\n", all->all.v[id]->path, trouble);
	buf_done(&text);
	return trouble ? -1 : 0;
}
