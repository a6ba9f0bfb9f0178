/* Mapping tables per process, shared after fork. */
#include "format/perf_data/perf_data_space.h"

#include "base/mem.h"
#include "base/search.h"

#include <string.h>

/* --- spaces ----------------------------------------------------------------------------------- */

/* Returns the index of the first mapping that ends after addr. */
static size_t space_at(const struct pd_space *s, uint64_t addr)
{
	return vec_upper(&s->maps, end, addr);
}

const struct pd_map *pd_space_find(const struct pd_space *s, uint64_t addr)
{
	size_t i = s ? space_at(s, addr) : 0;
	return s && i < s->maps.n && s->maps.v[i].start <= addr ? &s->maps.v[i] : NULL;
}

/* Replaces maps[from, to) by the n in with. */
static void space_splice(struct pd_space *s, size_t from, size_t to, const struct pd_map *with,
			 size_t n)
{
	size_t behind = s->maps.n - to;
	vec_reserve(&s->maps, s->maps.n + n);
	memmove(s->maps.v + from + n, s->maps.v + to, behind * sizeof *s->maps.v);
	memcpy(s->maps.v + from, with, n * sizeof *with);
	s->maps.n = from + n + behind;
}

/* Adds a mapping like mmap: parts of older ones before and after it stay. */
static void space_add(struct pd_space *s, const struct pd_map *m)
{
	struct pd_map with[3];
	size_t n = 0, from = space_at(s, m->start), to = from;
	while (to < s->maps.n && s->maps.v[to].start < m->end)
		to++;
	if (from < to && s->maps.v[from].start < m->start) {
		with[n] = s->maps.v[from];
		with[n++].end = m->start;
	}
	with[n++] = *m;
	if (from < to && s->maps.v[to - 1].end > m->end) {
		with[n] = s->maps.v[to - 1];
		with[n].pgoff += m->end - with[n].start;
		with[n++].start = m->end;
	}
	space_splice(s, from, to, with, n);
}

static void space_unref(struct pd_world *w, struct pd_space *s)
{
	if (!s || --s->refs)
		return;
	w->n_maps -= s->maps.n;
	vec_done(&s->maps);
	free(s);
}

/* Counts n mappings to be copied or moved. Returns false at the limit. */
static bool may_move(struct pd_world *w, size_t n)
{
	if (w->moved + n > PD_MAX_MOVED + w->added * PD_MOVED_EACH)
		return false;
	w->moved += n;
	return true;
}

/* Returns the process's space, unshared. NULL at a limit. */
static struct pd_space *space_own(struct pd_world *w, struct pd_process *p)
{
	if (p->space && p->space->refs == 1)
		return p->space;
	size_t n = p->space ? p->space->maps.n : 0;
	if (w->n_maps + n > PD_MAX_ALL_MAPS || !may_move(w, n))
		return NULL;
	struct pd_space *own = xcalloc(1, sizeof *own);
	own->refs = 1;
	if (p->space) {
		vec_append(&own->maps, p->space->maps.v, p->space->maps.n);
		w->n_maps += own->maps.n;
		p->space->refs--;
	}
	p->space = own;
	return own;
}

static bool space_add_bounded(struct pd_world *w, struct pd_space *s, const struct pd_map *m)
{
	if (s->maps.n + 2 > PD_MAX_MAPS || w->n_maps + 2 > PD_MAX_ALL_MAPS ||
	    !may_move(w, s->maps.n - space_at(s, m->start)))
		return false;
	w->n_maps -= s->maps.n;
	space_add(s, m);
	w->n_maps += s->maps.n;
	w->added++;
	return true;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void process_end(struct pd_world *w, struct pd_process *p)
{
	space_unref(w, p->space);
	space_unref(w, p->before_exec);
	p->space = p->before_exec = NULL;
}

void pd_world_done(struct pd_world *w)
{
	for (size_t i = 0; i < w->processes.n; i++)
		process_end(w, &w->processes.v[i]);
	vec_done(&w->kernel.maps);
	vec_done(&w->threads);
	vec_done(&w->processes);
	map_done(&w->by_tid);
	map_done(&w->by_pid);
}

struct pd_process *pd_process_get(struct pd_world *w, uint32_t pid)
{
	const uint32_t *known = map_get(&w->by_pid, pid);
	if (known)
		return &w->processes.v[*known];
	if (w->processes.n >= PD_MAX_THREADS)
		return NULL;
	map_put(&w->by_pid, pid, w->processes.n);
	vec_push(&w->processes, (struct pd_process){ 0 });
	return &w->processes.v[w->processes.n - 1];
}

struct pd_thread *pd_thread_get(struct pd_world *w, uint32_t pid, uint32_t tid)
{
	const uint32_t *known = map_get(&w->by_tid, tid);
	struct pd_process *p = pd_process_get(w, pid);
	if (!p || (!known && w->threads.n >= PD_MAX_THREADS))
		return NULL;
	uint32_t i = known ? *known : w->threads.n;
	if (!known) {
		map_put(&w->by_tid, tid, i);
		vec_push(&w->threads, (struct pd_thread){ .pid = pid });
	}
	struct pd_thread *t = &w->threads.v[i];
	if (t->pid != pid) /* the number was reused */
		*t = (struct pd_thread){ .pid = pid };
	return t;
}

/* Counts a thread that a record shows to be alive. */
static struct pd_thread *thread_alive(struct pd_world *w, uint32_t pid, uint32_t tid)
{
	struct pd_thread *t = pd_thread_get(w, pid, tid);
	if (t && !t->alive) {
		t->alive = true;
		pd_process_get(w, pid)->threads++;
	}
	return t;
}

/* Resets a process whose end was not recorded, or whose number was reused. */
static void process_renew(struct pd_world *w, uint32_t pid)
{
	struct pd_process *p = pd_process_get(w, pid);
	if (!p)
		return;
	process_end(w, p);
	*p = (struct pd_process){ 0 };
}

bool pd_world_map(struct pd_world *w, uint32_t pid, const struct pd_map *m)
{
	struct pd_process *p = pd_process_get(w, pid);
	struct pd_space *s = p ? space_own(w, p) : NULL;
	return s && space_add_bounded(w, s, m);
}

bool pd_world_map_kernel(struct pd_world *w, const struct pd_map *m)
{
	return space_add_bounded(w, &w->kernel, m);
}

static void share_space(struct pd_world *w, uint32_t pid, uint32_t parent_pid)
{
	struct pd_process *parent = pd_process_get(w, parent_pid);
	struct pd_space *s = parent ? parent->space : NULL;
	struct pd_process *p = pd_process_get(w, pid);
	if (!s || !p)
		return;
	s->refs++;
	p->space = s;
}

bool pd_world_fork(struct pd_world *w, uint32_t pid, uint32_t tid, uint32_t parent_pid,
		   uint32_t parent_tid, bool copy_maps)
{
	const struct pd_thread *parent = pd_thread_get(w, parent_pid, parent_tid);
	uint32_t comm = parent ? parent->comm : 0;
	if (pid != parent_pid && pid == tid) {
		process_renew(w, pid);
		if (copy_maps)
			share_space(w, pid, parent_pid);
	}
	struct pd_thread *t = pd_thread_get(w, pid, tid);
	if (!t)
		return false;
	*t = (struct pd_thread){ .pid = pid, .comm = comm };
	thread_alive(w, pid, tid);
	if (pid == tid)
		pd_process_get(w, pid)->name = comm;
	return true;
}

bool pd_world_comm(struct pd_world *w, uint32_t pid, uint32_t tid, uint32_t comm, bool exec)
{
	struct pd_thread *t = thread_alive(w, pid, tid);
	struct pd_process *p = pd_process_get(w, pid);
	if (!t || !p)
		return false;
	t->comm = comm;
	if (exec) {
		space_unref(w, p->before_exec);
		p->before_exec = p->space;
		p->space = NULL;
	}
	if (pid == tid)
		p->name = comm;
	return true;
}

void pd_world_runs(struct pd_world *w, uint32_t pid)
{
	const uint32_t *i = map_get(&w->by_pid, pid);
	struct pd_process *p = i ? &w->processes.v[*i] : NULL;
	if (!p || !p->before_exec)
		return;
	space_unref(w, p->before_exec);
	p->before_exec = NULL;
}

/* Retains the space of an ended process for a while. If the process has threads again by then, its
 * space stays. */
static void process_ended(struct pd_world *w, struct pd_process *p)
{
	uint32_t *place = &w->ended[w->n_ended % PD_ENDED];
	struct pd_process *oldest = &w->processes.v[*place];
	if (w->n_ended++ >= PD_ENDED && oldest->threads == 0 && oldest != p)
		process_end(w, oldest);
	*place = p - w->processes.v;
}

void pd_world_exit(struct pd_world *w, uint32_t pid, uint32_t tid)
{
	const uint32_t *known = map_get(&w->by_tid, tid);
	struct pd_thread *t = known ? &w->threads.v[*known] : NULL;
	if (!t || !t->alive || t->pid != pid)
		return;
	t->alive = false;
	struct pd_process *p = pd_process_get(w, pid);
	if (p && p->threads && --p->threads == 0)
		process_ended(w, p);
}
