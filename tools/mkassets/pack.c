#include "pack.h"

#include "base/mem.h"
#include "modules.h"
#include "read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NOWHERE = -1, FIRST = 0 };

/* Sets of packs are bits. */
struct packs {
	struct modules modules;
	uint32_t n;
	uint32_t main[PACKS_MAX]; /* the entry that the pack has its path of */
	uint64_t needs[PACKS_MAX];
	int *owner;      /* of a module: its pack */
	uint64_t *users; /* of a module: the packs that need it */
};
/* Where import() is written. */
struct place {
	const struct packs *p;
	int pack;
};

static const struct module *module_of(const struct packs *p, uint32_t id)
{
	return p->modules.all.v[id];
}

static const char *below_web(const struct packs *p, uint32_t id)
{
	return module_of(p, id)->path + strlen(p->modules.root) + 1;
}

/* --- which module is where -------------------------------------------------------------------- */

static int add_pack(struct packs *p, uint32_t entry)
{
	if (p->n == PACKS_MAX) {
		fprintf(stderr, "%s: more than %d packs\n", below_web(p, entry), PACKS_MAX);
		return -1;
	}
	p->main[p->n] = entry;
	p->owner[entry] = p->n;
	return p->n++;
}

static int find_entry(const struct packs *p, const char *name)
{
	char *path = xasprintf("%s/%s", p->modules.root, name);
	int id = modules_find(&p->modules, path);
	if (id < 0)
		fprintf(stderr, "%s: the page does not ask for it\n", name);
	free(path);
	return id;
}

static int add_group(struct packs *p, const char *group)
{
	char *names = xstrdup(group), *rest = names, *name;
	int number = -1, id = 0;
	while (id >= 0 && (name = strsep(&rest, "+"))) {
		id = find_entry(p, name);
		if (id >= 0 && number < 0)
			number = id = add_pack(p, id);
		else if (id >= 0)
			p->owner[id] = number;
	}
	free(names);
	return id < 0 ? -1 : 0;
}

/* Every module that it imports and that has no place yet is the first pack's. */
static void take_all(struct packs *p, uint32_t id)
{
	const struct module *m = module_of(p, id);
	p->owner[id] = FIRST;
	for (size_t i = 0; i < m->imports.n; i++)
		if (!m->imports.v[i].is_later && p->owner[m->imports.v[i].module] == NOWHERE)
			take_all(p, m->imports.v[i].module);
}

static int add_later(struct packs *p)
{
	for (size_t id = 0; id < p->modules.all.n; id++) {
		const struct module *m = module_of(p, id);
		for (size_t i = 0; i < m->imports.n; i++)
			if (m->imports.v[i].is_later &&
			    p->owner[m->imports.v[i].module] == NOWHERE &&
			    add_pack(p, m->imports.v[i].module) < 0)
				return -1;
	}
	return 0;
}

static void use(struct packs *p, uint32_t id, uint64_t user)
{
	const struct module *m = module_of(p, id);
	p->users[id] |= user;
	for (size_t i = 0; i < m->imports.n; i++) {
		uint32_t module = m->imports.v[i].module;
		if (!m->imports.v[i].is_later && p->owner[module] == NOWHERE &&
		    !(p->users[module] & user))
			use(p, module, user);
	}
}

static void count_users(struct packs *p)
{
	memset(p->users, 0, p->modules.all.n * sizeof *p->users);
	for (size_t id = 0; id < p->modules.all.n; id++)
		if (p->owner[id] != NOWHERE)
			use(p, id, 1ull << p->owner[id]);
}

/* What several need becomes a pack, until there is no such. */
static int add_shared(struct packs *p)
{
	for (bool more = true; more;) {
		more = false;
		count_users(p);
		for (size_t id = 0; !more && id < p->modules.all.n; id++)
			if (p->owner[id] == NOWHERE && (p->users[id] & (p->users[id] - 1))) {
				more = true;
				if (add_pack(p, id) < 0)
					return -1;
			}
	}
	for (size_t id = 0; id < p->modules.all.n; id++)
		if (p->owner[id] == NOWHERE)
			p->owner[id] = __builtin_ctzll(p->users[id]);
	return 0;
}

static int place_modules(struct packs *p, char *const *groups, int n)
{
	for (size_t id = 0; id < p->modules.all.n; id++)
		p->owner[id] = NOWHERE;
	for (int i = 0; i < n; i++)
		if (add_group(p, groups[i]) < 0)
			return -1;
	for (size_t id = 0; id < p->modules.all.n; id++)
		if (p->owner[id] == FIRST)
			take_all(p, id);
	return add_later(p) < 0 ? -1 : add_shared(p);
}

/* --- what packs need of each other ------------------------------------------------------------ */

/* Whether the pack imports the module from another one. */
static bool takes(const struct packs *p, int number, uint32_t module)
{
	for (size_t id = 0; p->owner[module] != number && id < p->modules.all.n; id++) {
		const struct module *m = module_of(p, id);
		for (size_t i = 0; p->owner[id] == number && i < m->imports.n; i++)
			if (!m->imports.v[i].is_later && m->imports.v[i].module == module)
				return true;
	}
	return false;
}

static int check_needs(struct packs *p)
{
	for (uint32_t number = 0; number < p->n; number++)
		for (size_t id = 0; id < p->modules.all.n; id++)
			if (takes(p, number, id))
				p->needs[number] |= 1ull << p->owner[id];
	for (uint32_t way = 0; way < p->n; way++)
		for (uint32_t number = 0; number < p->n; number++)
			if (p->needs[number] >> way & 1)
				p->needs[number] |= p->needs[way];
	for (uint32_t number = 0; number < p->n; number++)
		if (p->needs[number] >> number & 1) {
			fprintf(stderr, "%s: packs import each other\n",
				below_web(p, p->main[number]));
			return -1;
		}
	return 0;
}

/* Only what a file is called like has its address. */
static int check_meta(const struct packs *p)
{
	for (size_t id = 0; id < p->modules.all.n; id++)
		if (module_of(p, id)->has_meta && p->main[p->owner[id]] != id) {
			fprintf(stderr, "%s: import.meta is known only where a pack begins\n",
				below_web(p, id));
			return -1;
		}
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_path(const struct packs *p, int from, int to, struct buf *out)
{
	buf_adds(out, "\"./");
	for (const char *s = below_web(p, p->main[from]); (s = strchr(s, '/')); s++)
		buf_adds(out, "../");
	buf_addf(out, "%s\"", below_web(p, p->main[to]));
}

static void write_later(const void *arg, uint32_t module, struct buf *out)
{
	const struct place *at = arg;
	const struct packs *p = at->p;
	int owner = p->owner[module];
	const char *name = module_of(p, module)->name;
	if (owner == at->pack) {
		buf_addf(out, "Promise.resolve().then(() => %s", name);
		return;
	}
	buf_adds(out, "import(");
	write_path(p, at->pack, owner, out);
	if (p->main[owner] != module) /* another entry of its group */
		buf_addf(out, ").then((pack) => pack.%s", name);
}

static void write_imports(const struct packs *p, int number, struct buf *out)
{
	for (size_t id = 0; id < p->modules.all.n; id++)
		if (takes(p, number, id)) {
			buf_addf(out, "import { %s } from ", module_of(p, id)->name);
			write_path(p, number, p->owner[id], out);
			buf_adds(out, ";\n");
		}
}

/* By import() in another pack, and no pack begins with it. */
static bool is_asked_for(const struct packs *p, uint32_t module)
{
	for (size_t id = 0; p->main[p->owner[module]] != module && id < p->modules.all.n; id++) {
		const struct module *m = module_of(p, id);
		for (size_t i = 0; p->owner[id] != p->owner[module] && i < m->imports.n; i++)
			if (m->imports.v[i].is_later && m->imports.v[i].module == module)
				return true;
	}
	return false;
}

static bool is_shared(const struct packs *p, uint32_t module)
{
	for (uint32_t number = 0; number < p->n; number++)
		if (takes(p, number, module))
			return true;
	return is_asked_for(p, module);
}

/* To other packs its modules, those that they need; to everybody what its entry exports. */
static void write_exports(const struct packs *p, int number, struct buf *out)
{
	const struct module *entry = module_of(p, p->main[number]);
	for (size_t id = 0; id < p->modules.all.n; id++)
		if (p->owner[id] == number && is_shared(p, id))
			buf_addf(out, "export { %s };\n", module_of(p, id)->name);
	for (size_t i = 0; i < entry->exports.n; i++)
		buf_addf(out, "const export$%zu = %s.%s;\nexport { export$%zu as %s };\n", i,
			 entry->name, entry->exports.v[i].name, i, entry->exports.v[i].name);
}

static int make_folders(char *path)
{
	for (char *s = path; (s = strchr(s + 1, '/'));) {
		*s = 0;
		int rc = mkdir(path, 0777);
		if (rc < 0 && errno != EEXIST) {
			perror(path);
			return -1;
		}
		*s = '/';
	}
	return 0;
}

static int write_pack(const struct packs *p, int number, const char *dir)
{
	struct place at = { p, number };
	struct buf out = { 0 };
	char *path = xasprintf("%s/%s", dir, below_web(p, p->main[number]));
	int rc = 0;
	write_imports(p, number, &out);
	for (size_t i = 0; rc == 0 && i < p->modules.order.n; i++)
		if (p->owner[p->modules.order.v[i]] == number)
			rc = module_write(&p->modules, p->modules.order.v[i], write_later, &at,
					  &out);
	write_exports(p, number, &out);
	if (rc == 0)
		rc = make_folders(path);
	if (rc == 0)
		rc = write_file(path, out.data, out.len);
	free(path);
	buf_done(&out);
	return rc;
}

static int write_packs(struct packs *p, const char *dir)
{
	int rc = check_needs(p) < 0 || check_meta(p) < 0 ? -1 : 0;
	for (uint32_t number = 0; rc == 0 && number < p->n; number++)
		rc = write_pack(p, number, dir);
	return rc;
}

int pack(const char *web, const char *dir, char *const *groups, int n, bool keep_names)
{
	struct packs p = { .modules.keep_names = keep_names };
	char *entry = xasprintf("%s/%.*s", web, (int)strcspn(groups[0], "+"), groups[0]);
	int rc = modules_read(&p.modules, web, entry);
	p.owner = xcalloc(p.modules.all.n, sizeof *p.owner);
	p.users = xcalloc(p.modules.all.n, sizeof *p.users);
	if (rc == 0)
		rc = place_modules(&p, groups, n);
	if (rc == 0)
		rc = write_packs(&p, dir);
	free(entry);
	free(p.owner);
	free(p.users);
	modules_done(&p.modules);
	return rc;
}
