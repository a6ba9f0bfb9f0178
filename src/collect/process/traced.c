/* Examines processes for the variable, and writes its place to the kernel's map. */
#include "collect/process/traced.h"

#include "bpf/trace.h"
#include "collect/process/image.h"
#include "collect/process/process.h"
#include "collect/process/thread_context.h"

#include <bpf/bpf.h>
#include <errno.h>

#define LOOK_AGAIN_NS 1000000000ull

/* Its context has spans of threads, and something is new, or the dynamic linker was not done last
 * time. */
static bool is_due(const struct process *p, uint64_t now_ns)
{
	if (!p->has_threads || !p->image || now_ns < p->traced.next_ns)
		return false;
	return p->traced.waits || p->traced.looks != p->looks || p->traced.image != p->image->id;
}

static bool has_room(struct traced *t, struct process *p)
{
	if (p->traced.is_there)
		return true;
	p->traced.user = user_shares_owner(&t->users, p->pid);
	return user_shares_fits(p->traced.user, user_shares_used(&t->users, p->traced.user), t->n,
				TRACE_MAX_PROCESSES);
}

static void note(struct traced *t, struct process *p, bool is_there)
{
	user_shares_change(&t->users, p->traced.user, p->traced.is_there, is_there);
	t->n += is_there - p->traced.is_there;
	p->traced.is_there = is_there;
}

void traced_look(struct traced *t, struct process *p, struct object_table *objects, uint64_t now_ns)
{
	struct trace_recipe recipe;
	uint32_t object;

	if (!t->maps.is_any)
		return;
	if (p->traced.is_there && !p->has_threads)
		traced_forget(t, p);
	if (!is_due(p, now_ns))
		return;
	p->traced.looks = p->looks;
	p->traced.image = p->image->id;
	p->traced.next_ns = now_ns + LOOK_AGAIN_NS;
	int rc = thread_context_find(p->pid, p->image, objects, &recipe, &object);
	p->traced.waits = rc == -EAGAIN;
	if (p->traced.waits)
		return; /* an earlier recipe is kept: its proof says whether it still holds */
	if (rc) {
		traced_forget(t, p);
		return;
	}
	if (!has_room(t, p) || bpf_map_update_elem(t->maps.recipes, &p->pid, &recipe, BPF_ANY)) {
		t->refused += !p->traced.is_refused;
		p->traced.is_refused = true;
		return;
	}
	note(t, p, true);
	*t->maps.is_any = 1;
}

void traced_forget(struct traced *t, struct process *p)
{
	if (p->traced.is_there)
		bpf_map_delete_elem(t->maps.recipes, &p->pid);
	note(t, p, false);
}

void traced_done(struct traced *t)
{
	user_shares_done(&t->users);
}

void traced_sweep(struct traced *t)
{
	uint32_t first;

	if (t->maps.is_any && *t->maps.is_any)
		*t->maps.is_any = bpf_map_get_next_key(t->maps.recipes, NULL, &first) != -ENOENT;
}
