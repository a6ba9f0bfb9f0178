/* Applies fork, exec, mmap and exit events in time order. */
#include "collect/process/process.h"

#include "base/mem.h"
#include "collect/process/image.h"

#include <stdlib.h>
#include <string.h>

void process_table_init(struct process_table *t, struct object_table *objects)
{
	*t = (struct process_table){ .objects = objects, .next_image_id = 1 };
}

void process_table_done(struct process_table *t)
{
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.v[i])
			process_remove(t, t->all.v[i]);
	map_done(&t->by_pid);
	vec_done(&t->all);
	vec_done(&t->free_ids);
	vec_done(&t->exits);
	user_shares_done(&t->users);
	*t = (struct process_table){ 0 };
}

struct process *process_find(const struct process_table *t, uint32_t pid)
{
	const uint32_t *id = map_get(&t->by_pid, pid);

	return id ? t->all.v[*id] : NULL;
}

/* --- images ----------------------------------------------------------------------------------- */

struct image *process_new_image(struct process_table *t)
{
	return image_new(t->next_image_id++);
}

/* Charges the user for the mappings of the process as they are now. */
static void charge(struct process_table *t, struct process *p, size_t n)
{
	uint32_t now = n > PROCESS_MANY_MAPS ? (uint32_t)n : 0;

	if (now && !p->charged)
		p->user = user_shares_owner(&t->users, p->pid);
	user_shares_change(&t->users, p->user, p->charged, now);
	p->charged = now;
}

/* Whether the process may have n mappings. */
static bool has_room(struct process_table *t, struct process *p, size_t n)
{
	uint64_t own = p->image && p->image->refs == 1 ? p->image->maps.n : 0;

	if (n > PROCESS_MAX_MAPS || t->n_maps - own + n > PROCESS_MAX_ALL_MAPS)
		return false;
	if (n <= PROCESS_MANY_MAPS || n <= p->charged)
		return true;
	if (!p->charged)
		p->user = user_shares_owner(&t->users, p->pid);
	return user_shares_may(&t->users, p->user, PROCESS_MAX_USER_MAPS);
}

static void drop_image(struct process_table *t, struct process *p)
{
	if (p->image && p->image->refs == 1)
		t->n_maps -= p->image->maps.n;
	charge(t, p, 0);
	image_unref(p->image, t->objects);
	p->image = NULL;
}

/* Returns an image that only p uses and that has a new id. */
static struct image *own_image(struct process_table *t, struct process *p)
{
	if (!p->image) {
		p->image = process_new_image(t);
	} else if (p->image->refs > 1) {
		struct image *copy = image_copy(p->image, t->next_image_id++, t->objects);

		t->n_maps += copy->maps.n;
		drop_image(t, p);
		p->image = copy;
	} else {
		p->image->id = t->next_image_id++;
	}
	return p->image;
}

void process_map(struct process_table *t, struct process *p, const struct image_map *m)
{
	if (p->image && image_has(p->image, m))
		return;
	if (!has_room(t, p, p->image ? p->image->maps.n + 1 : 1)) {
		t->refused++;
		return;
	}
	struct image *image = own_image(t, p);
	t->n_maps -= image->maps.n;
	image_replace(image, m, t->objects);
	t->n_maps += image->maps.n;
	charge(t, p, image->maps.n);
}

void process_set_image(struct process_table *t, struct process *p, struct image *image)
{
	if (p->image && image_equal(p->image, image)) {
		image_unref(image, t->objects);
		return;
	}
	if (!has_room(t, p, image->maps.n)) {
		t->refused++;
		image_unref(image, t->objects);
		return;
	}
	drop_image(t, p);
	p->image = image;
	t->n_maps += image->maps.n;
	charge(t, p, image->maps.n);
}

/* --- life ------------------------------------------------------------------------------------- */

struct process *process_add(struct process_table *t, uint32_t pid)
{
	struct process *old = process_find(t, pid);

	if (old)
		process_remove(t, old);
	if (t->by_pid.n >= PROCESS_MAX) {
		t->refused++;
		return NULL;
	}
	struct process *p = xcalloc(1, sizeof *p);
	uint32_t id = t->free_ids.n ? t->free_ids.v[--t->free_ids.n] : t->all.n;
	p->pid = pid;
	if (id == t->all.n)
		vec_push(&t->all, p);
	t->all.v[id] = p;
	map_put(&t->by_pid, pid, id);
	return p;
}

void process_remove(struct process_table *t, struct process *p)
{
	uint32_t id = *map_get(&t->by_pid, p->pid);

	drop_image(t, p);
	map_del(&t->by_pid, p->pid);
	t->all.v[id] = NULL;
	vec_push(&t->free_ids, id);
	free(p);
}

struct process *process_fork(struct process_table *t, uint32_t ppid, uint32_t pid)
{
	struct process *p = process_add(t, pid);
	struct process *parent = process_find(t, ppid);

	if (p)
		p->parent = ppid;
	if (!p || !parent)
		return p;
	memcpy(p->name, parent->name, sizeof p->name);
	p->is_kernel_thread = parent->is_kernel_thread;
	p->cgroup_id = parent->cgroup_id;
	p->labels = parent->labels;
	p->exe_known = parent->exe_known;
	p->has_uid = parent->has_uid;
	p->uid = parent->uid;
	p->image = parent->image;
	if (p->image) {
		p->image->refs++;
		charge(t, p, p->image->maps.n);
	}
	return p;
}

void process_set_name(struct process *p, const char *name)
{
	size_t len = strnlen(name, sizeof p->name - 1);

	memcpy(p->name, name, len);
	memset(p->name + len, 0, sizeof p->name - len);
}

/* When another thread calls exec it becomes the main thread, after the old one has ended. */
void process_exec(struct process_table *t, struct process *p)
{
	drop_image(t, p);
	p->image = process_new_image(t);
	p->is_kernel_thread = false;
	p->leader_gone = false;
	p->labels_known = p->exe_known = false;
	p->awaits_exe = true;
	p->context_addr = 0;
	p->is_published = p->has_threads = false;
	p->search = (struct process_search){ 0 };
	p->traced = (struct process_traced){ 0 };
}

void process_exit(struct process_table *t, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct process *p = process_find(t, pid);

	if (!p)
		return;
	p->leader_gone |= tid == pid;
	if (!p->leader_gone)
		return;
	p->exit_ns = time_ns;
	vec_push(&t->exits, (struct process_exit){ pid, time_ns });
}

enum { EXITS_KEPT = 4096 };

static void forget_done_exits(struct process_table *t)
{
	if (t->n_done < 64 || t->n_done < t->exits.n / 2)
		return;
	memmove(t->exits.v, t->exits.v + t->n_done, (t->exits.n - t->n_done) * sizeof *t->exits.v);
	t->exits.n -= t->n_done;
	t->n_done = 0;
	if (!t->exits.n && t->exits.cap > EXITS_KEPT) { /* very many ended at one time */
		vec_done(&t->exits);
		mem_trim();
	}
}

struct process *process_next_ended(struct process_table *t, uint64_t now_ns)
{
	while (t->n_done < t->exits.n) {
		struct process_exit e = t->exits.v[t->n_done];
		struct process *p = process_find(t, e.pid);

		if (now_ns < PROCESS_GRACE_NS || e.time_ns > now_ns - PROCESS_GRACE_NS)
			break;
		t->n_done++;
		if (p && p->leader_gone && p->exit_ns == e.time_ns)
			return p;
	}
	forget_done_exits(t);
	return NULL;
}
