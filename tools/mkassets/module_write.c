#include "modules.h"

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
		buf_addf(out, "%s: %s, ", m->exports.v[i].name, m->exports.v[i].value);
	buf_adds(out, "};\n})();\n");
}
