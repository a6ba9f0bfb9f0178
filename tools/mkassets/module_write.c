#include "modules.h"

#include <string.h>

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

void module_write(const struct modules *all, uint32_t id, later_writer *later, const void *arg,
		  struct buf *out)
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
