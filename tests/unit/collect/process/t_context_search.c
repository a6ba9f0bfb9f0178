// tier: test
/* When the mappings of a process are searched for its context, and that it is found soon: this process and its children are searched. */
#include "collect/process/context_search.h"
#include "collect/process/process.h"
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS 1000000ull
#define S  (1000 * MS)

static void *map_context(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	void *at;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	close(fd);
	return at;
}

/* A sample every 50 ms; returns when it was found, or 0. */
static uint64_t search(struct context_search *s, struct process *p, uint32_t mappings,
		       uint64_t from_ns, uint64_t until_ns)
{
	for (uint64_t now_ns = from_ns; now_ns < until_ns; now_ns += 50 * MS) {
		context_search_look(s, p, mappings, now_ns);
		if (p->is_published)
			return now_ns;
	}
	return 0;
}

START_TEST(found_early)
{
	struct context_search s = { 0 };
	struct process p = { .pid = getpid() };
	void *at = map_context();

	uint64_t found_ns = search(&s, &p, 10, 100 * S, 110 * S);
	ck_assert_uint_eq(found_ns, 100 * S + 250 * MS);
	ck_assert_uint_eq(p.context_addr, (uintptr_t)at);
	ck_assert_uint_eq(s.reads, 1);
	search(&s, &p, 11, 110 * S, 300 * S);
	ck_assert_uint_eq(s.reads, 1);
	munmap(at, 4096);
}
END_TEST

/* While the number of mappings is unchanged, nothing is read but a second time and then once every two minutes. */
START_TEST(found_late)
{
	struct context_search s = { 0 };
	struct process p = { .pid = getpid() };

	ck_assert_uint_eq(search(&s, &p, 10, 100 * S, 200 * S), 0);
	ck_assert_uint_eq(s.reads, 2);
	ck_assert_uint_eq(search(&s, &p, 10, 200 * S, 300 * S), 0);
	ck_assert_uint_eq(s.reads, 3);
	void *at = map_context();
	ck_assert_uint_eq(search(&s, &p, 10, 300 * S, 301 * S), 0);
	ck_assert_uint_eq(search(&s, &p, 11, 301 * S, 302 * S), 301 * S);
	munmap(at, 4096);
}
END_TEST

/* Its header is not complete: it is searched again. One that stays incomplete is read every two seconds. */
START_TEST(not_ready)
{
	struct context_search s = { 0 };
	struct process p = { .pid = getpid() };
	void *at = map_context();

	ck_assert_uint_ne(search(&s, &p, 10, 100 * S, 110 * S), 0);
	for (uint64_t now_ns = 100 * S; now_ns < 200 * S; now_ns += 50 * MS) {
		if (p.context_addr)
			context_search_resume(&p);
		context_search_look(&s, &p, 10, now_ns);
	}
	ck_assert_uint_ge(s.reads, 48);
	ck_assert_uint_le(s.reads, 54);
	munmap(at, 4096);
}
END_TEST

/* A process without a context, until *parent is closed. */
static pid_t one_without(int *parent)
{
	int ends[2];
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	*parent = ends[1];
	return pid;
}

/* Processes that map all the time use up the share of old processes; a new one is still found as soon as without them. */
START_TEST(crowd)
{
	enum { CROWD = 500 };
	struct context_search s = { 0 };
	struct process *all = calloc(CROWD, sizeof *all), fresh = { .pid = getpid() };
	int parent;
	pid_t pid = one_without(&parent);

	for (int i = 0; i < CROWD; i++) /* the same one will do */
		all[i] = (struct process){ .pid = pid, .search.wait_ns = 2 * S };
	uint64_t found_ns = 0, now_ns = 100 * S, spent_ns;
	for (uint32_t n = 1; now_ns < 140 * S; now_ns += 50 * MS, n++) {
		for (int i = 0; i < CROWD; i++)
			context_search_look(&s, &all[i], n, now_ns);
		if (now_ns == 120 * S)
			map_context();
		if (now_ns >= 120 * S && !found_ns && search(&s, &fresh, 10, now_ns, now_ns + 1))
			found_ns = now_ns;
	}
	ck_assert_uint_eq(found_ns, 120 * S + 250 * MS);
	/* A burst of 10 s and 40 s of a thousandth of a CPU; the last search may begin with little left. */
	spent_ns = 50 * S / 1000 - s.left_ns[SEARCH_OLD];
	ck_assert_uint_le(spent_ns, 50 * S / 1000 + 5 * MS);
	ck_assert_uint_ge(s.reads, 20);
	close(parent);
	free(all);
}
END_TEST

/* Returns how many processes can be read for the first time in half of the CPU time that there is for it, at most `most`: fewer with sanitizers. */
static int affordable(pid_t pid, int most)
{
	enum { FEW = 10, BURST_NS = 60000000 };
	struct context_search s = { 0 };

	for (int i = 0; i < FEW; i++) {
		struct process p = { .pid = pid };
		context_search_look(&s, &p, 1, 100 * S);
		context_search_look(&s, &p, 1, 101 * S);
	}
	ck_assert_uint_eq(s.reads, FEW);
	int64_t n = BURST_NS / 2 * FEW / (BURST_NS - s.left_ns[SEARCH_FIRST] + 1);
	return n < most ? (int)n : most;
}

/* Recording begins beside hundreds that map all the time: they stay young for long, which does not delay one that starts later. */
START_TEST(hundreds_of_processes)
{
	enum { CROWD = 6000 };
	struct context_search s = { 0 };
	struct process *all = calloc(CROWD, sizeof *all), fresh = { .pid = getpid() };
	int parent;
	pid_t pid = one_without(&parent);
	const int never_read = affordable(pid, 300);

	for (int i = 0; i < CROWD; i++)
		all[i] = (struct process){ .pid = pid, .search.wait_ns = i < never_read ? 0 : S };
	uint64_t found_ns = 0, now_ns = 100 * S;
	for (uint32_t n = 1; now_ns < 104 * S; now_ns += 50 * MS, n++) {
		for (int i = 0; i < CROWD; i++)
			context_search_look(&s, &all[i], n, now_ns);
		if (now_ns == 102 * S)
			map_context();
		if (now_ns >= 102 * S && !found_ns && search(&s, &fresh, 10, now_ns, now_ns + 1))
			found_ns = now_ns;
	}
	ck_assert_uint_eq(found_ns, 102 * S + 250 * MS);
	ck_assert_int_le(s.left_ns[SEARCH_YOUNG], 1000000); /* it is used up */
	close(parent);
	free(all);
}
END_TEST

START_TEST(others)
{
	struct context_search s = { 0 };
	struct process kernel = { .pid = getpid(), .is_kernel_thread = true },
		       unknown = { .pid = getpid() }, gone = { .pid = INT32_MAX };

	search(&s, &kernel, 10, 100 * S, 110 * S);
	search(&s, &unknown, 0, 100 * S, 110 * S);
	ck_assert_uint_eq(s.reads, 0);
	ck_assert_uint_eq(search(&s, &gone, 10, 100 * S, 110 * S), 0);
}
END_TEST

UNIT_MAIN("context_search", found_early, found_late, not_ready, crowd, hundreds_of_processes,
	  others)
