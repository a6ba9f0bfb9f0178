/* Finds owners of locks in /proc, and names of locks in files. */
#include "collect/resolve/locks.h"

#include "base/buf.h"
#include "bpf/event.h"
#include "collect/proc/proc_stat.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/process/static_data.h"
#include "profile/state.h"

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

void lock_name(struct buf *b, struct object_table *objects, const struct process *p,
	       const struct wait_info *w)
{
	const struct object *o;
	uint64_t vaddr;

	if (!static_data_find(objects, p->pid, p->image, w->lock.address, &o, &vaddr) || !o->name) {
		buf_adds(b, STATE_LOCK_MARKER "]");
		return;
	}
	const char *slash = strrchr(o->name, '/');
	buf_addf(b, STATE_LOCK_MARKER ": %s+0x%" PRIx64 "]", slash ? slash + 1 : o->name, vaddr);
}
