#include "cmd/report_names.h"

#include "base/str.h"
#include "collect/mapped_file.h"
#include "collect/remedy.h"
#include "symbol/symbol.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By mapping, its most frequent origin first. */
static int by_mapping(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;
	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int by_frames(const void *a, const void *b)
{
	const struct table_binary *x = a, *y = b;
	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* --- remedies ----------------------------------------------------------------------------------- */

/* The file that was recorded is here; of another machine nothing is known. */
static bool is_here(const struct mapping *m, const char *path)
{
	uint8_t id[BUILD_ID_MAX];
	struct stat st;
	int fd = m->build_id_len && *path == '/' ? plain_file_open(path, &st) : -1;
	bool same = fd >= 0 && elf_build_id(fd, id, sizeof id) == m->build_id_len &&
		    memcmp(id, m->build_id, m->build_id_len) == 0;
	if (fd >= 0)
		close(fd);
	return same;
}

/* Its most frequent origin tells: a few addresses between functions have no name anywhere. */
static bool wants_remedy(const struct table_binary *b)
{
	return b->n_origins && remedy_is_wanted(b->origins[0].name);
}

static void add_remedies(struct report_names *r, const struct profile *p)
{
	VEC(struct remedy) wishes = { 0 };
	VEC(uint32_t) rows = { 0 };
	struct remedy_opts opts = { .root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
				    .debuginfod_urls = getenv("DEBUGINFOD_URLS") };
	for (uint32_t i = 0; i < r->rows.n; i++) {
		const struct mapping *m = &p->frames.mappings.v[r->mappings.v[i]];
		if (!wants_remedy(&r->rows.v[i]) || !is_here(m, r->rows.v[i].path))
			continue;
		vec_push(&wishes, (struct remedy){ .path = r->rows.v[i].path });
		vec_push(&rows, i);
	}
	remedies_find(&opts, wishes.v, wishes.n);
	for (size_t i = 0; i < wishes.n; i++)
		r->rows.v[rows.v[i]].remedy =
			arena_dup(&r->text, wishes.v[i].text, strlen(wishes.v[i].text));
	vec_done(&wishes);
	vec_done(&rows);
	close(opts.root);
}

/* --- rows --------------------------------------------------------------------------------------- */

static const char *hex(struct arena *a, const struct mapping *m)
{
	struct buf b = { 0 };
	for (int i = 0; i < m->build_id_len; i++)
		buf_addf(&b, "%02x", m->build_id[i]);
	const char *text = arena_dup(a, b.data, b.len);
	buf_done(&b);
	return text;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* o … o + n - 1 are the origins of one mapping; in r they begin at `first`. */
static void add_row(struct report_names *r, const struct profile *p, const struct origin *o,
		    size_t n, size_t first)
{
	const struct mapping *m = &p->frames.mappings.v[o->mapping];
	const char *path = profile_str(p, m->name);
	struct table_binary row = {
		.name = last_part(path),
		.path = path,
		.build_id = hex(&r->text, m),
		.remedy = "",
		.origins = r->origins.v + first,
		.n_origins = n,
	};
	for (size_t i = 0; i < n; i++)
		row.frames += o[i].frames;
	vec_push(&r->rows, row);
	vec_push(&r->mappings, o->mapping);
}

static void add_rows(struct report_names *r, const struct profile *p)
{
	size_t n = p->origins.all.n;
	struct origin *all = xreallocarray(NULL, n + 1, sizeof *all);
	memcpy(all, p->origins.all.v, n * sizeof *all);
	qsort(all, n, sizeof *all, by_mapping);
	for (size_t i = 0; i < n; i++)
		vec_push(&r->origins,
			 (struct table_origin){ profile_str(p, all[i].name), all[i].frames });
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && all[end].mapping == all[i].mapping; end++)
			;
		add_row(r, p, &all[i], end - i, i);
	}
	free(all);
}

void report_names_init(struct report_names *r, struct profile *p)
{
	*r = (struct report_names){ 0 };
	if (p->origins.all.n) {
		add_rows(r, p);
		add_remedies(r, p);
		qsort(r->rows.v, r->rows.n, sizeof *r->rows.v, by_frames);
	}
	r->binaries = (struct table_binaries){ r->rows.v, r->rows.n };
}

void report_names_done(struct report_names *r)
{
	vec_done(&r->rows);
	vec_done(&r->mappings);
	vec_done(&r->origins);
	arena_done(&r->text);
}
