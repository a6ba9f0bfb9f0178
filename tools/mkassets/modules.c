#include "modules.h"

#include "base/mem.h"
#include "js.h"
#include "read.h"
#include "strip.h"

#include <ctype.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module while it is read: the token at hand, and the one behind it. */
struct reader {
	struct modules *all;
	struct module *m;
	struct js js;
	struct js_token t;
	struct buf source;
	bool after_point, failed;
};

static int fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct reader *r, const char *format, ...)
{
	va_list args;
	char near[40];
	size_t left = r->js.end - r->t.s, n = left < sizeof near ? left : sizeof near - 1;
	snprintf(near, sizeof near, "%.*s", (int)n, r->t.s);
	near[strcspn(near, "\n")] = 0;
	fprintf(stderr, "%s: at '%s': ", r->m->path, near);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	r->failed = true;
	return -1;
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* The next one that means something; blanks go into the module where keep. */
static void next(struct reader *r, bool keep)
{
	bool was_point = r->t.kind == JS_SIGN && *r->t.s == '.';
	while (js_next(&r->js, &r->t) && (r->t.kind == JS_SPACE || r->t.kind == JS_COMMENT))
		if (keep)
			buf_add(&r->m->text, r->t.s, r->t.len);
	r->after_point = was_point;
}

static void keep(struct reader *r)
{
	buf_add(&r->m->text, r->t.s, r->t.len);
	next(r, true);
}

static void skip(struct reader *r)
{
	next(r, false);
}

static bool at(const struct reader *r, const char *text)
{
	return r->t.kind != JS_STRING && js_is(&r->t, text);
}

static bool take(struct reader *r, const char *text)
{
	if (!at(r, text))
		return false;
	skip(r);
	return true;
}

static char *take_word(struct reader *r)
{
	if (r->t.kind != JS_WORD) {
		fail(r, "a name is expected");
		return xstrdup("");
	}
	char *word = xstrndup(r->t.s, r->t.len);
	skip(r);
	return word;
}

/* --- modules ---------------------------------------------------------------------------------- */

/* "a/b.js" below the root: "$a$b"; what modules name has no $. */
static char *name_of(const struct modules *all, const char *path)
{
	if (!all->root)
		return xasprintf("module$%zu", all->all.n);
	const char *below = path + strlen(all->root) + 1;
	char *name = xasprintf("$%.*s", (int)strcspn(below, "."), below);
	for (char *s = name; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			*s = '$';
	return name;
}

static uint32_t add_module(struct modules *all, const char *path)
{
	int known = modules_find(all, path);
	if (known >= 0)
		return known;
	struct module *m = xcalloc(1, sizeof *m);
	m->path = xstrdup(path);
	m->name = name_of(all, path);
	vec_push(&all->all, m);
	return all->all.n - 1;
}

static bool is_below(const char *path, const char *root)
{
	size_t len = root ? strlen(root) : 0;
	return !root || (strncmp(path, root, len) == 0 && path[len] == '/');
}

/* The module that the string at hand names. */
static uint32_t take_path(struct reader *r)
{
	char *from = xstrdup(r->m->path), *dir = dirname(from), *path;
	char real[PATH_MAX];
	uint32_t id = 0;
	bool is_relative = r->t.kind == JS_STRING && r->t.len > 3 && r->t.s[1] == '.' &&
			   !memchr(r->t.s, '\\', r->t.len);
	if (!is_relative) {
		fail(r, "a path that begins with ./ or ../ is expected");
	} else {
		path = xasprintf("%s/%.*s", dir, (int)r->t.len - 2, r->t.s + 1);
		if (!realpath(path, real))
			fail(r, "there is no %s", path);
		else if (!is_below(real, r->all->root))
			fail(r, "%s is not below %s", path, r->all->root);
		else
			id = add_module(r->all, real);
		free(path);
		skip(r);
	}
	free(from);
	return id;
}

/* --- import ----------------------------------------------------------------------------------- */

/* {a, b as c}: as what the left of an assignment says, or as exports; the { is at hand. */
struct name_pair {
	char *name, *as;
};
typedef VEC(struct name_pair) name_list;

static void take_names(struct reader *r, name_list *out)
{
	skip(r);
	while (!r->failed && !take(r, "}")) {
		struct name_pair pair = { .name = take_word(r) };
		pair.as = take(r, "as") ? take_word(r) : xstrdup(pair.name);
		vec_push(out, pair);
		if (!take(r, ",") && !at(r, "}"))
			fail(r, ", or } is expected");
	}
}

static void names_done(name_list *names)
{
	for (size_t i = 0; i < names->n; i++) {
		free(names->v[i].name);
		free(names->v[i].as);
	}
	vec_done(names);
}

static void add_import(struct reader *r, uint32_t module, char *pattern)
{
	vec_push(&r->m->imports, (struct import){ .module = module, .pattern = pattern });
}

/* What stands between import and from. */
static void take_clause(struct reader *r, struct buf *pattern)
{
	name_list names = { 0 };
	if (take(r, "*")) {
		if (!take(r, "as"))
			fail(r, "as is expected");
		char *name = take_word(r);
		buf_adds(pattern, name);
		free(name);
		return;
	}
	buf_addc(pattern, '{');
	if (r->t.kind == JS_WORD) {
		char *name = take_word(r);
		pair_write("default", name, pattern);
		free(name);
		if (take(r, ",") && !at(r, "{"))
			fail(r, "{ is expected");
	}
	if (at(r, "{"))
		take_names(r, &names);
	for (size_t i = 0; i < names.n; i++)
		pair_write(names.v[i].name, names.v[i].as, pattern);
	buf_addc(pattern, '}');
	names_done(&names);
}

static void take_import(struct reader *r)
{
	struct buf pattern = { 0 };
	if (r->t.kind != JS_STRING) {
		take_clause(r, &pattern);
		if (!r->failed && !take(r, "from"))
			fail(r, "from is expected");
	}
	uint32_t module = r->failed ? 0 : take_path(r);
	take(r, ";");
	add_import(r, module, pattern.len ? buf_steal(&pattern) : NULL);
	buf_done(&pattern);
}

static void take_later(struct reader *r)
{
	skip(r);
	uint32_t module = take_path(r);
	if (!r->failed && !at(r, ")"))
		fail(r, "import() takes a path alone");
	vec_push(&r->m->imports,
		 (struct import){ .module = module, .is_later = true, .at = r->m->text.len });
}

static void take_meta(struct reader *r)
{
	r->m->has_meta = true;
	buf_adds(&r->m->text, "import");
	keep(r);
}

static void take_import_word(struct reader *r)
{
	unsigned depth = r->t.depth;
	skip(r);
	if (at(r, "("))
		take_later(r);
	else if (at(r, "."))
		take_meta(r);
	else if (depth == 0)
		take_import(r);
	else
		buf_adds(&r->m->text, "import "); /* the name of something */
}

/* --- export ----------------------------------------------------------------------------------- */

static void add_export(struct reader *r, const char *name, char *value)
{
	vec_push(&r->m->exports, (struct export){ xstrdup(name), value });
}

static void export_names(struct reader *r)
{
	name_list names = { 0 };
	take_names(r, &names);
	bool is_from = take(r, "from");
	uint32_t module = is_from ? take_path(r) : 0;
	if (is_from)
		add_import(r, module, NULL);
	for (size_t i = 0; i < names.n; i++)
		add_export(
			r, names.v[i].as,
			is_from ? xasprintf("%s.%s", r->all->all.v[module]->name, names.v[i].name)
				: xstrdup(names.v[i].name));
	take(r, ";");
	names_done(&names);
}

/* function NAME, async function NAME, class NAME: the declaration stays. */
static void export_declaration(struct reader *r, const char *as)
{
	if (at(r, "async"))
		keep(r);
	keep(r);
	if (at(r, "*"))
		keep(r);
	if (r->t.kind != JS_WORD) {
		fail(r, "what is exported needs a name");
		return;
	}
	char *name = xstrndup(r->t.s, r->t.len);
	add_export(r, as ? as : name, name);
}

static void export_const(struct reader *r)
{
	keep(r);
	if (r->t.kind != JS_WORD) {
		fail(r, "one name for each export is expected");
		return;
	}
	char *name = xstrndup(r->t.s, r->t.len);
	add_export(r, name, name);
	while (r->t.kind != JS_END && !(at(r, ";") && r->t.depth == 0)) {
		if (at(r, ",") && r->t.depth == 0) {
			fail(r, "one name for each export is expected");
			return;
		}
		if (at(r, "import") && !r->after_point)
			take_import_word(r);
		else
			keep(r);
	}
}

static void export_default(struct reader *r)
{
	skip(r);
	if (at(r, "function") || at(r, "class") || at(r, "async")) {
		export_declaration(r, "default");
		return;
	}
	buf_adds(&r->m->text, "const default$ = ");
	add_export(r, "default", xstrdup("default$"));
}

static void take_export(struct reader *r)
{
	if (at(r, "{"))
		export_names(r);
	else if (at(r, "function") || at(r, "class") || at(r, "async"))
		export_declaration(r, NULL);
	else if (at(r, "const"))
		export_const(r);
	else if (at(r, "default"))
		export_default(r);
	else
		fail(r, "this kind of export is not known here: const, function, class, default "
			"and lists are");
}

/* --- a module --------------------------------------------------------------------------------- */

static void take_one(struct reader *r)
{
	bool is_name = r->t.kind == JS_WORD && !r->after_point;
	if (is_name && at(r, "import")) {
		take_import_word(r);
	} else if (is_name && at(r, "export") && r->t.depth == 0) {
		skip(r);
		take_export(r);
	} else {
		keep(r);
	}
}

static int parse(struct reader *r)
{
	next(r, true);
	while (r->t.kind != JS_END && !r->failed)
		take_one(r);
	return r->js.trouble ? fail(r, "%s", r->js.trouble) : r->failed ? -1 : 0;
}

static int read_module(struct modules *all, struct module *m)
{
	struct reader r = { .all = all, .m = m };
	struct buf file = { 0 };
	int rc = read_file(m->path, &file);
	const char *trouble = rc == 0 ? strip(m->path, file.data, file.len, &r.source) : NULL;
	if (trouble) {
		fprintf(stderr, "%s: %s\n", m->path, trouble);
		rc = -1;
	}
	js_init(&r.js, r.source.data, r.source.len);
	if (rc == 0)
		rc = parse(&r);
	buf_done(&r.source);
	buf_done(&file);
	return rc;
}

/* --- all of them ------------------------------------------------------------------------------ */

int modules_find(const struct modules *m, const char *path)
{
	for (uint32_t i = 0; i < m->all.n; i++)
		if (strcmp(m->all.v[i]->path, path) == 0)
			return i;
	return -1;
}

/* Those that it needs before it; those it asks for later anywhere. */
static int visit(struct modules *all, uint32_t id)
{
	struct module *m = all->all.v[id];
	if (m->state == DONE)
		return 0;
	if (m->state == READING) {
		fprintf(stderr, "%s: modules import each other\n", m->path);
		return -1;
	}
	m->state = READING;
	int rc = read_module(all, m);
	for (size_t i = 0; rc == 0 && i < m->imports.n; i++)
		if (!m->imports.v[i].is_later)
			rc = visit(all, m->imports.v[i].module);
	m->state = DONE;
	vec_push(&all->order, id);
	return rc;
}

static int check_export(const struct module *m, const struct module *from, const char *name)
{
	for (size_t i = 0; i < from->exports.n; i++)
		if (strcmp(from->exports.v[i].name, name) == 0)
			return 0;
	fprintf(stderr, "%s: %s exports no %s\n", m->path, from->path, name);
	return -1;
}

/* Each name of a pattern "{a:b,c,}". */
static int check_imports(const struct modules *all, const struct module *m)
{
	int rc = 0;
	for (size_t i = 0; i < m->imports.n; i++) {
		const struct import *import = &m->imports.v[i];
		if (!import->pattern || *import->pattern != '{')
			continue;
		char *names = xstrdup(import->pattern + 1), *rest = names, *name;
		while ((name = strsep(&rest, ",")) && rest) {
			name[strcspn(name, ":")] = 0;
			rc |= check_export(m, all->all.v[import->module], name);
		}
		free(names);
	}
	return rc;
}

int modules_read(struct modules *all, const char *root, const char *entry)
{
	char real[PATH_MAX];
	int rc = 0;
	all->root = root ? realpath(root, NULL) : NULL;
	if ((root && !all->root) || !realpath(entry, real)) {
		perror(entry);
		return -1;
	}
	add_module(all, real);
	for (uint32_t i = 0; rc == 0 && i < all->all.n; i++)
		rc = visit(all, i); /* more come meanwhile: those that are asked for later */
	for (uint32_t i = 0; rc == 0 && i < all->all.n; i++)
		rc = check_imports(all, all->all.v[i]);
	return rc;
}

static void module_free(struct module *m)
{
	for (size_t i = 0; i < m->imports.n; i++)
		free(m->imports.v[i].pattern);
	for (size_t i = 0; i < m->exports.n; i++) {
		free(m->exports.v[i].name);
		free(m->exports.v[i].value);
	}
	vec_done(&m->imports);
	vec_done(&m->exports);
	buf_done(&m->text);
	free(m->path);
	free(m->name);
	free(m);
}

void modules_done(struct modules *m)
{
	for (size_t i = 0; i < m->all.n; i++)
		module_free(m->all.v[i]);
	vec_done(&m->all);
	vec_done(&m->order);
	free(m->root);
}
