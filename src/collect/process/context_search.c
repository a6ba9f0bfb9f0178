/* Decides when to look at each new process. */
#include "collect/process/context_search.h"

#include "collect/process/process.h"
#include "collect/worker/proc_reader.h"

#define SECOND_NS     1000000000ull
#define WAIT_FIRST_NS (SECOND_NS / 4)
#define WAIT_LAST_NS  (2 * SECOND_NS)
#define ANYHOW_NS     (120 * SECOND_NS)
#define FILL_NS       (SECOND_NS / 1000)
#define SHARE_OF_ONE  2000 /* one part of a CPU in this many */

static const struct share {
	uint32_t parts; /* one part of a CPU in this many */
	int64_t burst_ns;
} shares[SEARCH_AGES] = {
	[SEARCH_FIRST] = { 1000, 60000000 },
	[SEARCH_YOUNG] = { 2000, 10000000 },
	[SEARCH_OLD] = { 1000, 10000000 },
};

/* wait_ns grows with each reading, so it shows the age. */
static enum search_age age_of(const struct process_search *p)
{
	return p->wait_ns >= WAIT_LAST_NS   ? SEARCH_OLD
	       : p->wait_ns > WAIT_FIRST_NS ? SEARCH_YOUNG
					    : SEARCH_FIRST;
}

static bool has_share(struct context_search *s, enum search_age age, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns > s->filled_ns ? now_ns - s->filled_ns : 0;

	for (int i = 0; i < SEARCH_AGES && passed_ns >= FILL_NS; i++) {
		int64_t left_ns = s->left_ns[i] + (int64_t)(passed_ns / shares[i].parts);

		s->left_ns[i] = left_ns < shares[i].burst_ns ? left_ns : shares[i].burst_ns;
	}
	if (passed_ns >= FILL_NS)
		s->filled_ns = now_ns;
	return s->left_ns[age] > 0;
}

static bool is_due(const struct process_search *p, uint32_t mappings, uint64_t now_ns)
{
	return now_ns >= p->next_ns &&
	       (mappings != p->mappings || p->is_unsettled || now_ns >= p->read_ns + ANYHOW_NS);
}

static void read_mappings(struct context_search *s, struct process *p, uint64_t now_ns)
{
	enum search_age age = age_of(&p->search);
	uint64_t begin_ns = proc_reader_clock_ns(s->reader);

	if (proc_reader_find_context(s->reader, p->pid, &p->context_addr))
		p->search.is_unsettled = true;
	p->is_published = p->context_addr;
	uint64_t took_ns = proc_reader_clock_ns(s->reader) - begin_ns,
		 wait_ns = 2 * p->search.wait_ns;

	p->search.wait_ns = wait_ns < WAIT_LAST_NS ? wait_ns : WAIT_LAST_NS;
	wait_ns = p->search.wait_ns;
	if (wait_ns < took_ns * SHARE_OF_ONE)
		wait_ns = took_ns * SHARE_OF_ONE;
	p->search.next_ns = now_ns + wait_ns;
	p->search.read_ns = now_ns;
	s->left_ns[age] -= took_ns;
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
	if (!is_due(search, mappings, now_ns) || !has_share(s, age_of(search), now_ns))
		return;
	/* A new mapping may get its name only now. */
	search->is_unsettled = search->mappings != mappings;
	search->mappings = mappings;
	read_mappings(s, p, now_ns);
}

void context_search_resume(struct process *p)
{
	p->context_addr = 0;
	p->search.is_unsettled = true;
}
