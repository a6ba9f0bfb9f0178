#include "cmd/top_names.h"

#include "agent/naming.h"
#include "base/clock.h"
#include "base/mem.h"
#include "collect/symbolize.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void top_names_init(struct top_names *n, const struct name_files_opts *opts)
{
	struct name_files_opts local = *opts;
	*n = (struct top_names){ 0 };
	local.debuginfod_urls = NULL;
	name_files_open(&n->files, &local);
}

void top_names_begin(struct top_names *n)
{
	for (size_t i = 0; i < n->wants.n; i++)
		map_done(&n->wants.v[i].frames);
	vec_clear(&n->wants);
	n->seen_frames = 0;
}

static void close_file(struct top_names_file *f)
{
	if (f->names) {
		elf_names_close(f->names);
		free(f->names);
	}
	if (f->fd >= 0)
		close(f->fd);
}

void top_names_done(struct top_names *n)
{
	top_names_begin(n);
	for (size_t i = 0; i < n->open.n; i++)
		close_file(&n->open.v[i]);
	vec_done(&n->open);
	vec_done(&n->wants);
	name_files_close(&n->files);
}

/* --- what is wanted --------------------------------------------------------------------------- */

static struct top_names_want *want_of(struct top_names *n, uint32_t mapping)
{
	for (size_t i = 0; i < n->wants.n; i++)
		if (n->wants.v[i].mapping == mapping)
			return &n->wants.v[i];
	vec_push(&n->wants, (struct top_names_want){ .mapping = mapping });
	return &n->wants.v[n->wants.n - 1];
}

static void look(struct top_names *n, const struct profile *p)
{
	const struct line *lines;
	for (; n->seen_frames < p->frames.frames.n; n->seen_frames++) {
		const struct frame *f = &p->frames.frames.v[n->seen_frames];
		if (f->kind == FRAME_NATIVE && f->mapping != MAPPING_NONE &&
		    !names_get(&p->names, n->seen_frames, &lines))
			map_put(&want_of(n, f->mapping)->frames, f->offset, n->seen_frames);
	}
}

/* --- where it comes from ---------------------------------------------------------------------- */

static struct top_names_file *oldest(struct top_names *n)
{
	struct top_names_file *oldest = &n->open.v[0];
	for (size_t i = 1; i < n->open.n; i++)
		if (n->open.v[i].used < oldest->used)
			oldest = &n->open.v[i];
	return oldest;
}

static struct top_names_file open_file(struct top_names *n, struct collector *c,
				       const struct profile *p, uint32_t mapping)
{
	struct top_names_file f = { .key = naming_key(p, mapping), .fd = -1 };
	int fd = collect_file(c, mapping);
	const char *path = profile_str(p, p->frames.mappings.v[mapping].name);
	/* The collector closes its own when it has too many. */
	f.fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (f.fd < 0)
		return f;
	f.names = xcalloc(1, sizeof *f.names);
	if (elf_names_open(f.names, &n->files, f.fd, path, 0) != 0) {
		free(f.names);
		f.names = NULL;
	}
	return f;
}

static struct top_names_file *file_of(struct top_names *n, struct collector *c,
				      const struct profile *p, uint32_t mapping)
{
	uint64_t key = naming_key(p, mapping);
	for (size_t i = 0; i < n->open.n; i++)
		if (n->open.v[i].key == key)
			return &n->open.v[i];
	struct top_names_file f = open_file(n, c, p, mapping);
	if (n->open.n < TOP_NAMES_OPEN) {
		vec_push(&n->open, f);
		return &n->open.v[n->open.n - 1];
	}
	struct top_names_file *place = oldest(n);
	close_file(place);
	*place = f;
	return place;
}

void top_names_run(struct top_names *n, struct collector *c, struct profile *p, uint64_t until_ns)
{
	struct map nothing = { 0 };
	struct symbolize s = { .sink = profile_sink(p), .leaf_samples = &nothing };
	look(n, p);
	for (size_t i = 0; i < n->wants.n; i++) {
		struct top_names_want *w = &n->wants.v[i];
		if (!w->frames.n)
			continue;
		if (clock_mono_ns() >= until_ns)
			return;
		struct top_names_file *f = file_of(n, c, p, w->mapping);
		f->used = ++n->turn;
		if (f->names)
			symbolize_frames(&s, f->names->source, w->mapping, &w->frames);
		map_done(&w->frames);
	}
}
