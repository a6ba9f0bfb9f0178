/* Finds owners of locks in /proc, and names of locks in files. */
#include "collect/resolve/locks.h"

#include "base/buf.h"
#include "base/search.h"
#include "bpf/event.h"
#include "collect/proc/proc_stat.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "profile/state.h"
#include "symbol/elf/elf_file.h"

#include <inttypes.h>
#include <string.h>

void locks_done(struct locks *l)
{
	map_done(&l->owners);
}

static bool is_thread(uint32_t pid, const struct lock_wait *lock)
{
	if (lock->how & LOCK_SHARED) /* of any process */
		return proc_find_thread(lock->owner, lock->owner) != PROC_THREAD_NONE ||
		       proc_find_thread(pid, lock->owner) != PROC_THREAD_NONE;
	return proc_find_thread(pid, lock->owner) != PROC_THREAD_NONE;
}

bool locks_has_owner(struct locks *l, uint32_t pid, const struct wait_info *w, uint64_t now_ns)
{
	const uint32_t is_shared = w->lock.how & LOCK_SHARED ? ~FUTEX_OWNER : 0;
	const uint64_t key = (uint64_t)pid << 32 | is_shared | w->lock.owner;
	const uint32_t *known;

	/* The kernel has found the owner of a PI lock, and seen the one that unlocks. */
	if ((w->lock.how & LOCK_HOW) == LOCK_PI ||
	    (w->lock.how & LOCK_UNLOCKED && w->waker_tid == w->lock.owner))
		return true;
	if (l->owners.n >= LOCK_OWNERS_MAX || now_ns > l->since_ns + LOCK_OWNERS_KEPT_NS) {
		map_clear(&l->owners);
		l->since_ns = now_ns;
	}
	known = map_get(&l->owners, key);
	if (known)
		return *known;
	const bool has_it = is_thread(pid, &w->lock);
	map_put(&l->owners, key, has_it);
	return has_it;
}

int64_t locks_count(struct locks *l, double weight)
{
	const double all = weight + l->rest;
	const int64_t whole = (int64_t)all;

	l->rest = all - (double)whole;
	return whole;
}

/* --- the file of a variable --------------------------------------------------------------------
 *
 * Images have executable mappings only, so the place of a file's data follows from that of its
 * code. */

/* Where its segments lie; nothing if code and data may be moved apart. */
static struct object_extent read_extent(int fd)
{
	struct object_extent x = { .from = UINT64_MAX };
	struct elf_file f = { 0 };
	bool has_code = false;
	size_t n = 0;
	GElf_Phdr p;

	if (fd < 0 || elf_file_open(&f, fd, NULL))
		return (struct object_extent){ 0 };
	elf_getphdrnum(f.elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f.elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    p.p_vaddr > UINT64_MAX - p.p_memsz)
			continue;
		if (p.p_vaddr < x.from)
			x.from = p.p_vaddr;
		if (p.p_vaddr + p.p_memsz > x.to)
			x.to = p.p_vaddr + p.p_memsz;
		if (!(p.p_flags & PF_X))
			continue;
		if (has_code && x.code_skew != p.p_vaddr - p.p_offset)
			n = 0; /* which part is mapped is not known */
		x.code_skew = p.p_vaddr - p.p_offset;
		has_code = true;
	}
	elf_file_close(&f);
	return has_code && n ? x : (struct object_extent){ 0 };
}

/* A file that is not open yet may be at the next lock. */
static void know_extent(struct object_table *t, struct object *o)
{
	if (o->extent_known)
		return;
	int fd = object_fd(t, o);
	if (fd >= 0)
		o->extent = read_extent(fd);
	o->extent_known = fd >= 0 || o->state == OBJECT_GONE;
}

/* The last mapping of a file before the address. Data follows the code of its file. */
static const struct image_map *nearest_file(const struct object_table *t, const struct image *image,
					    uint64_t address)
{
	enum { LOOK_AT = 16 }; /* limit: mappings without a file before that of a lock */
	size_t after = vec_upper(&image->maps, start, address);

	for (size_t i = 0; i < LOOK_AT && i < after; i++) {
		const struct image_map *m = &image->maps.v[after - 1 - i];

		if (t->all.v[m->object]->kind == OBJECT_FILE)
			return m;
	}
	return NULL;
}

/* Sets *object, which stays the table's, and *vaddr: the address in the file, as nm shows it.
 * Returns false for memory of no file: the heap, stacks; and while the file is not open. Opens a
 * file for pid, which has it mapped. Reads each file once. */
static bool find_variable(struct object_table *t, uint32_t pid, const struct image *image,
			  uint64_t address, const struct object **object, uint64_t *vaddr)
{
	const struct image_map *m = image ? nearest_file(t, image, address) : NULL;

	if (!m)
		return false;
	const struct object_place place = { pid, m->start, m->end, m->pgoff };
	struct object *o = object_use(t, m->object, &place);
	know_extent(t, o);
	uint64_t at = address - m->start + m->pgoff + o->extent.code_skew;
	if (at < o->extent.from || at >= o->extent.to)
		return false;
	*object = o;
	*vaddr = at;
	return true;
}

void lock_name(struct buf *b, struct object_table *objects, const struct process *p,
	       const struct wait_info *w)
{
	const struct object *o;
	uint64_t vaddr;

	if (!find_variable(objects, p->pid, p->image, w->lock.address, &o, &vaddr) || !o->name) {
		buf_adds(b, STATE_LOCK_MARKER "]");
		return;
	}
	const char *slash = strrchr(o->name, '/');
	buf_addf(b, STATE_LOCK_MARKER ": %s+0x%" PRIx64 "]", slash ? slash + 1 : o->name, vaddr);
}
