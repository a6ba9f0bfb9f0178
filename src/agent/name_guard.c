/* Notes the file being read where the next process can see it, so that a crash identifies the
 * file. */
#include "agent/name_guard.h"

#include "base/err.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

int name_guard_new(struct name_guard **out, struct err *err)
{
	void *p =
		mmap(NULL, sizeof **out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_set(err, errno, "no shared memory: %s", strerror(errno));
	*out = p;
	return 0;
}

void name_guard_free(struct name_guard *g)
{
	if (g)
		munmap(g, sizeof *g);
}

static struct name_guard_file *find(const struct name_guard *g, uint64_t key)
{
	for (size_t i = 0; i < NAME_GUARD_FILES; i++)
		if (g->files[i].key == key)
			return (struct name_guard_file *)&g->files[i];
	return NULL;
}

uint32_t name_guard_left_alone(const struct name_guard *g)
{
	uint32_t n = 0;

	for (size_t i = 0; g && i < NAME_GUARD_FILES; i++)
		n += g->files[i].ends >= NAME_GUARD_ENDS;
	return n;
}

uint32_t name_guard_look(struct name_guard *g)
{
	if (!g)
		return 0;
	if (g->reading) {
		struct name_guard_file *f = find(g, g->reading);
		if (!f) {
			f = &g->files[g->next++ % NAME_GUARD_FILES];
			*f = (struct name_guard_file){ .key = g->reading };
		}
		f->ends++;
	}
	g->reading = 0;
	return name_guard_left_alone(g);
}

uint32_t name_guard_ends(const struct name_guard *g, uint64_t key)
{
	const struct name_guard_file *f = g && key ? find(g, key) : NULL;

	return f ? f->ends : 0;
}

/* A signal can kill a process between any two instructions: the key must be in memory before the
 * file is touched. */
void name_guard_begin(struct name_guard *g, uint64_t key)
{
	if (!g)
		return;
	g->reading = key;
	atomic_signal_fence(memory_order_seq_cst);
}

void name_guard_end(struct name_guard *g)
{
	if (!g)
		return;
	atomic_signal_fence(memory_order_seq_cst);
	struct name_guard_file *f = g->reading ? find(g, g->reading) : NULL;
	g->reading = 0;
	if (f)
		*f = (struct name_guard_file){ 0 };
}
