#include "bundle.h"

#include "modules.h"

#include <stdio.h>

static void write_later(const void *arg, uint32_t module, struct buf *out)
{
	const struct modules *m = arg;
	buf_addf(out, "Promise.resolve().then(() => %s", m->all.v[module]->name);
}

/* A script that is part of a page has no address of its own. */
static int check_meta(const struct modules *m)
{
	for (size_t i = 0; i < m->all.n; i++)
		if (m->all.v[i]->has_meta) {
			fprintf(stderr, "%s: import.meta is not known here\n", m->all.v[i]->path);
			return -1;
		}
	return 0;
}

int bundle(const char *entry, bool keep_names, struct buf *out)
{
	struct modules m = { .keep_names = keep_names };
	int rc = modules_read(&m, NULL, entry);
	if (rc == 0)
		rc = check_meta(&m);
	if (rc == 0) {
		buf_adds(out, "(() => {\n'use strict';\n");
		for (size_t i = 0; rc == 0 && i < m.order.n; i++)
			rc = module_write(&m, m.order.v[i], write_later, &m, out);
		buf_adds(out, "})();\n");
	}
	modules_done(&m);
	return rc;
}
