/* File offsets of addresses that a recording of another program has relative to its files. */
#include "collect/resolve/local.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/process/local_file.h"
#include "symbol/elf/elf_file.h"

#include <unistd.h>

static struct elf_layout *layout_of(const struct local_file *f, const char *home)
{
	struct elf_layout *layout = NULL;
	struct elf_file elf;
	int fd = local_file_open(f, home);
	if (fd < 0)
		return NULL;
	if (elf_file_open(&elf, fd, NULL) == 0) {
		layout = xcalloc(1, sizeof *layout);
		if (elf_layout_read(layout, &elf, NULL) < 0 || !layout->segments.n) {
			elf_layout_done(layout);
			free(layout);
			layout = NULL;
		}
		elf_file_close(&elf);
	}
	close(fd);
	return layout;
}

bool local_offset(void *offsets, const struct user_file *file, uint64_t relative, uint64_t *offset)
{
	struct local_offsets *l = offsets;
	const uint32_t *known = map_get(&l->by_file, file->id);
	struct local_file f = { .path = file->path,
				.build_id = file->build_id,
				.build_id_len = file->build_id_len };
	struct elf_layout *layout = known ? l->layouts.v[*known] : NULL;
	if (!known) {
		layout = l->files < LOCAL_OFFSETS_MAX_FILES ? layout_of(&f, l->home) : NULL;
		l->files += layout != NULL;
		map_put(&l->by_file, file->id, l->layouts.n);
		vec_push(&l->layouts, layout);
	}
	return layout && elf_layout_offset(layout, layout->segments.v[0].vaddr + relative, offset);
}

void local_offsets_done(struct local_offsets *l)
{
	for (size_t i = 0; i < l->layouts.n; i++) {
		if (l->layouts.v[i])
			elf_layout_done(l->layouts.v[i]);
		free(l->layouts.v[i]);
	}
	vec_done(&l->layouts);
	map_done(&l->by_file);
}
