/* A queue of processes to attach to. Each has a state: waiting, in progress, attached or refused;
 * refused ones are retried at growing intervals where the reason may pass. */
#include "agent/attach_list.h"

#include <errno.h>

#define LOOK_AGAIN_NS 1000000000ull
#define TRY_AGAIN_NS  5000000000ull
enum { LOOKS_GROW = 6, TRIES_GROW = 3 /* factors by which each wait grows */ };

void attach_list_init(struct attach_list *l, const struct attach_list_opts *opts)
{
	*l = (struct attach_list){ .opts = *opts };
}

void attach_list_done(struct attach_list *l)
{
	vec_done(&l->all);
	map_done(&l->by_pid);
}

/* --- processes -------------------------------------------------------------------------------- */

static struct attach_entry *find(const struct attach_list *l, uint32_t pid)
{
	const uint32_t *i = map_get(&l->by_pid, pid);

	return i ? &l->all.v[*i] : NULL;
}

static void drop(struct attach_list *l, struct attach_entry *e)
{
	map_del(&l->by_pid, e->pid);
	*e = (struct attach_entry){ 0 };
	l->n--;
}

/* Resets an entry to a process of which nothing is known. */
static void begin(struct attach_entry *e, uint32_t pid, uint64_t start, uint64_t now_ns)
{
	*e = (struct attach_entry){ .pid = pid,
				    .start = start,
				    .next_ns = now_ns + ATTACH_SETTLE_NS };
}

static uint64_t start_of(const struct attach_list *l, uint32_t pid)
{
	return l->opts.start_of(l->opts.ctx, pid);
}

/* Drops processes whose exit was not reported. */
static void sweep(struct attach_list *l, uint64_t now_ns)
{
	if (l->swept_ns && now_ns < l->swept_ns + ATTACH_SWEEP_NS)
		return;
	l->swept_ns = now_ns;
	for (size_t i = 0; i < l->all.n; i++) {
		struct attach_entry *e = &l->all.v[i];
		if (e->pid && e->state != ATTACH_BUSY && start_of(l, e->pid) != e->start)
			drop(l, e);
	}
}

static struct attach_entry *room(struct attach_list *l, uint64_t now_ns)
{
	if (l->n >= ATTACH_LIST_MAX)
		sweep(l, now_ns);
	if (l->n >= ATTACH_LIST_MAX) {
		l->left_out++;
		return NULL;
	}
	for (size_t i = 0; l->n < l->all.n && i < l->all.n; i++)
		if (!l->all.v[i].pid)
			return &l->all.v[i];
	vec_push(&l->all, (struct attach_entry){ 0 });
	return &l->all.v[l->all.n - 1];
}

static void add(struct attach_list *l, uint32_t pid, uint64_t now_ns)
{
	uint64_t start = start_of(l, pid);
	struct attach_entry *e = start ? room(l, now_ns) : NULL;

	if (!e)
		return;
	begin(e, pid, start, now_ns);
	map_put(&l->by_pid, pid, e - l->all.v);
	l->n++;
}

void attach_list_mapped(struct attach_list *l, uint32_t pid, uint64_t now_ns)
{
	struct attach_entry *e = find(l, pid);

	if (e && start_of(l, pid) != e->start) {
		drop(l, e); /* the pid was reused, and the fork was not reported */
		e = NULL;
	}
	if (!e)
		add(l, pid, now_ns);
}

void attach_list_ended(struct attach_list *l, uint32_t pid)
{
	struct attach_entry *e = find(l, pid);

	if (e)
		drop(l, e);
}

void attach_list_forked(struct attach_list *l, uint32_t parent, uint32_t pid, uint64_t now_ns)
{
	attach_list_ended(l, pid); /* a previous process with this pid */
	if (find(l, parent))
		add(l, pid, now_ns);
}

void attach_list_exec(struct attach_list *l, uint32_t pid, uint64_t now_ns)
{
	struct attach_entry *e = find(l, pid);

	/* The running attach may have hit either program. The next check finds out which. */
	if (e)
		begin(e, pid, e->start, now_ns);
}

/* --- looking ---------------------------------------------------------------------------------- */

static uint64_t look_wait_ns(uint32_t looks)
{
	return LOOK_AGAIN_NS << (looks < LOOKS_GROW ? looks : LOOKS_GROW);
}

static uint64_t try_wait_ns(uint32_t tries)
{
	uint64_t ns = TRY_AGAIN_NS;

	for (uint32_t i = 1; i < tries; i++)
		ns *= TRIES_GROW;
	return ns;
}

/* Whether to attach to a process that is due. */
static bool is_taken(struct attach_list *l, struct attach_entry *e, uint64_t now_ns)
{
	uint64_t start = start_of(l, e->pid);

	if (!start) {
		drop(l, e);
		return false;
	}
	if (start != e->start) {
		begin(e, e->pid, start, now_ns);
		return false;
	}
	if (l->opts.takes(l->opts.ctx, e->pid))
		return true;
	e->next_ns = now_ns + look_wait_ns(e->looks++);
	return false;
}

/* Returns the entry that has waited longest; NULL: none is due. */
static struct attach_entry *first_due(const struct attach_list *l, uint64_t now_ns)
{
	struct attach_entry *first = NULL;

	for (size_t i = 0; i < l->all.n; i++) {
		struct attach_entry *e = &l->all.v[i];
		if (e->pid && e->state == ATTACH_WAITS && e->next_ns <= now_ns &&
		    (!first || e->next_ns < first->next_ns))
			first = e;
	}
	return first;
}

uint32_t attach_list_next(struct attach_list *l, uint64_t now_ns, uint64_t *start)
{
	struct attach_entry *e;

	if (l->busy || now_ns < l->next_ns)
		return 0;
	for (int looks = 0; looks < ATTACH_LOOKS && (e = first_due(l, now_ns)); looks++)
		if (is_taken(l, e, now_ns)) {
			e->state = ATTACH_BUSY;
			l->busy = e->pid;
			*start = e->start;
			return e->pid;
		}
	l->next_ns = now_ns + ATTACH_LOOK_NS;
	return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static bool may_pass(enum gpu_attach_refusal why)
{
	return why == GPU_ATTACH_STOPPED || why == GPU_ATTACH_UNINTERRUPTIBLE ||
	       why == GPU_ATTACH_TRACED || why == GPU_ATTACH_YOUNG ||
	       why == GPU_ATTACH_SHARED_MEMORY || why == GPU_ATTACH_NO_THREAD ||
	       why == GPU_ATTACH_FROZEN || why == GPU_ATTACH_CHANGED || why == GPU_ATTACH_BUSY;
}

/* -ETIMEDOUT and -EIO are final: each further try could leave more of our code in the process. A
 * process that exited after it was stopped may have died because of the attach. */
static enum attach_end end_of(int rc, const struct gpu_attach_report *r)
{
	if (rc == 0)
		return r->already ? ATTACH_END_THERE : ATTACH_END_LOADED;
	if (rc == -EBUSY || may_pass(r->refusal))
		return ATTACH_END_LATER;
	switch (r->refusal) {
	case GPU_ATTACH_NOT_REFUSED:
		return rc == -ESRCH && !r->held_ns ? ATTACH_END_GONE : ATTACH_END_FAILED;
	case GPU_ATTACH_GONE:
	case GPU_ATTACH_ZOMBIE:
	case GPU_ATTACH_IS_THREAD:
	case GPU_ATTACH_KERNEL_THREAD:
	case GPU_ATTACH_NO_LIBRARY:
		return ATTACH_END_GONE;
	default:
		return ATTACH_END_REFUSED;
	}
}

static struct attach_told settle(struct attach_list *l, struct attach_entry *e,
				 struct attach_told told, enum gpu_attach_refusal why,
				 uint64_t now_ns)
{
	told.is_news = told.end == ATTACH_END_FAILED || (why && e->said != why);
	e->said = why ? why : e->said;
	if (told.end == ATTACH_END_LATER && ++e->tries >= ATTACH_TRIES)
		told.end = ATTACH_END_GIVEN_UP;
	e->state = told.end == ATTACH_END_LATER ? ATTACH_WAITS : ATTACH_OVER;
	if (told.end == ATTACH_END_LATER) {
		told.pause_ns = try_wait_ns(e->tries);
		e->next_ns = now_ns + told.pause_ns;
	}
	if (told.end == ATTACH_END_GONE)
		drop(l, e);
	return told;
}

/* The process may have exited or run another program in the meantime. */
struct attach_told attach_list_update(struct attach_list *l, int rc,
				      const struct gpu_attach_report *report, uint64_t now_ns)
{
	struct attach_told told = { .end = end_of(rc, report), .is_news = true };
	struct attach_entry *e = find(l, l->busy);

	l->busy = 0;
	l->next_ns = now_ns + ATTACH_PAUSE_NS;
	return e && e->state == ATTACH_BUSY ? settle(l, e, told, report->refusal, now_ns) : told;
}
