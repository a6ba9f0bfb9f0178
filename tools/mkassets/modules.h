/* tools/mkassets/modules.h: the modules of a program in JavaScript: what each imports and exports, and its text without that.
 *
 * What is not read here is refused: modules that import each other, exports that change (let), of what has no name, or of everything of another. */
#ifndef CRESSET_TOOLS_MODULES_H
#define CRESSET_TOOLS_MODULES_H

#include "base/buf.h"
#include "base/vec.h"

struct import {
	uint32_t module;
	char *pattern; /* what is taken out of it: "{a,b:c,}", "ns"; NULL: nothing */
	bool is_later; /* import(), whose path was at text.data + at: the ) is there still */
	size_t at;
};
struct export
{
	char *name, *value;
};
enum module_state { FOUND, READING, DONE };
struct module {
	char *path, *name; /* the whole path; what the module's object is called in a script */
	enum module_state state;
	bool has_meta; /* it asks for its own address */
	VEC(struct import) imports;
	VEC(struct export) exports;
	struct buf text; /* stripped, without imports and exports */
};
struct modules {
	VEC(struct module *) all;
	VEC(uint32_t) order; /* each behind those that it imports */
	char *root;          /* that names are made of; NULL: they are numbers */
	bool keep_names; /* variables are called what they are called in the sources (names.h) */
};

/* root: NULL, or the folder that all modules are below. -1: what is wrong is on standard error. */
int modules_read(struct modules *m, const char *root, const char *entry);
/* Its number; -1: it was not read. */
int modules_find(const struct modules *m, const char *path);
void modules_done(struct modules *m);

/* "name:value,", "name," where both are the same: of what is between { and }. */
void pair_write(const char *name, const char *value, struct buf *out);
/* `const NAME = (() => { … })();`, where write_later writes what import() of a module is, without the ) behind it. -1: what is wrong is on standard
 * error. */
typedef void later_writer(const void *arg, uint32_t module, struct buf *out);
int module_write(const struct modules *m, uint32_t id, later_writer *later, const void *arg,
		 struct buf *out);

#endif
