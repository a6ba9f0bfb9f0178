#include "collect/context_search.h"

#include "base/clock.h"
#include "collect/process_context.h"

#define SECOND_NS     1000000000ull
#define WAIT_FIRST_NS (SECOND_NS / 4)
#define WAIT_LAST_NS  (2 * SECOND_NS)
#define ANYHOW_NS     (120 * SECOND_NS)
#define SHARE         1000 /* of a CPU: one part of so many */
#define SHARE_OF_ONE  2000
#define BURST_NS      ((int64_t)(10 * SECOND_NS / SHARE))

static bool has_share(struct context_search *s, bool is_old, uint64_t now_ns)
{
	uint64_t since_ns = s->filled_ns, passed_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	int64_t more_ns = passed_ns > 10 * SECOND_NS ? BURST_NS : (int64_t)(passed_ns / SHARE);

	if (more_ns)
		s->filled_ns = now_ns;
	for (int i = 0; i < 2; i++) {
		int64_t left_ns = s->left_ns[i] + more_ns;

		s->left_ns[i] = left_ns < BURST_NS ? left_ns : BURST_NS;
	}
	return s->left_ns[is_old] > 0;
}

/* Grows with each reading, up to WAIT_LAST_NS. */
static bool is_old(const struct process_search *p)
{
	return p->wait_ns >= WAIT_LAST_NS;
}

static bool is_due(const struct process_search *p, uint32_t mappings, uint64_t now_ns)
{
	return now_ns >= p->next_ns &&
	       (mappings != p->mappings || p->is_unsettled || now_ns >= p->read_ns + ANYHOW_NS);
}

static void read_mappings(struct context_search *s, struct process *p, uint64_t now_ns)
{
	bool old = is_old(&p->search);
	uint64_t begin_ns = clock_thread_ns();

	p->context_addr = process_context_find(p->pid);
	p->is_published = p->context_addr;
	uint64_t took_ns = clock_thread_ns() - begin_ns, wait_ns = 2 * p->search.wait_ns;

	p->search.wait_ns = wait_ns < WAIT_LAST_NS ? wait_ns : WAIT_LAST_NS;
	wait_ns = p->search.wait_ns;
	if (wait_ns < took_ns * SHARE_OF_ONE)
		wait_ns = took_ns * SHARE_OF_ONE;
	p->search.next_ns = now_ns + wait_ns;
	p->search.read_ns = now_ns;
	s->left_ns[old] -= took_ns;
	s->reads++;
	s->found += p->is_published;
}

void context_search_look(struct context_search *s, struct process *p, uint32_t mappings,
			 uint64_t now_ns)
{
	struct process_search *search = &p->search;

	if (p->is_kernel_thread || p->context_addr || !mappings)
		return;
	if (!search->wait_ns) {
		search->wait_ns = WAIT_FIRST_NS;
		search->next_ns = now_ns + WAIT_FIRST_NS;
		search->read_ns = now_ns;
	}
	if (!is_due(search, mappings, now_ns) || !has_share(s, is_old(search), now_ns))
		return;
	/* What has just been made may get its name only now. */
	search->is_unsettled = search->mappings != mappings;
	search->mappings = mappings;
	read_mappings(s, p, now_ns);
}

void context_search_resume(struct process *p)
{
	p->context_addr = 0;
	p->search.is_unsettled = true;
}
