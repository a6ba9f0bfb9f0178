// tier: test
/* The process table: sequences of records with a known outcome, and a long random one compared with a model that knows every page. */
#include "collect/proc/proc_maps.h"
#include "collect/proc/proc_stat.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/proc_scan.h"
#include "collect/process/process.h"
#include "nobodies.h"
#include "rand.h"
#include "shell.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define S 1000000000ull

static struct object_table objects;
static struct process_table table;

static void setup(void)
{
	object_table_init(&objects, 10);
	process_table_init(&table, &objects);
}

static void teardown(void)
{
	process_table_done(&table);
	ck_assert_uint_eq(objects.all.v[OBJECT_ANON]->refs, 0);
	object_trim(&objects);
	object_trim(&objects);
	for (size_t i = 0; i < objects.all.n; i++) /* no other one is in use */
		ck_assert(!objects.all.v[i] || objects.all.v[i]->pinned);
	object_table_done(&objects);
}

/* An object that needs no file. */
static uint32_t object(const char *name)
{
	struct proc_map m = { .start = 1, .end = 2, .name = name };

	return object_of_map(&objects, 0, &m);
}

static void map(uint32_t pid, uint64_t start, uint64_t end, uint64_t pgoff, const char *name)
{
	struct image_map m = { start, end, pgoff, object(name) };

	process_map(&table, process_find(&table, pid), &m);
}

/* "name+offset" of an address, "" if nothing is there. */
static const char *at(uint32_t pid, uint64_t addr)
{
	static char text[64];
	struct process *p = process_find(&table, pid);
	const struct image_map *m = p && p->image ? image_find(p->image, addr) : NULL;

	text[0] = '\0';
	if (m)
		snprintf(text, sizeof text, "%s+%lx", objects.all.v[m->object]->name,
			 m->object == OBJECT_ANON ? 0 : addr - m->start + m->pgoff);
	return text;
}

static struct process *add(uint32_t pid, const char *name)
{
	struct process *p = process_add(&table, pid);

	process_set_name(p, name);
	return p;
}

/* --- sequences -------------------------------------------------------------------------------- */

START_TEST(overlap)
{
	setup();
	add(1, "a");
	map(1, 0x1000, 0x5000, 0x10000, "[a]");
	map(1, 0x2000, 0x3000, 0, "[b]"); /* a hole in the middle */
	ck_assert_str_eq(at(1, 0xfff), "");
	ck_assert_str_eq(at(1, 0x1fff), "[a]+10fff");
	ck_assert_str_eq(at(1, 0x2000), "[b]+0");
	ck_assert_str_eq(at(1, 0x3000), "[a]+12000");
	ck_assert_str_eq(at(1, 0x4fff), "[a]+13fff");
	ck_assert_str_eq(at(1, 0x5000), "");
	map(1, 0, 0x8000, 0, "[c]"); /* all of it */
	ck_assert_uint_eq(process_find(&table, 1)->image->maps.n, 1);
	ck_assert_str_eq(at(1, 0x2000), "[c]+2000");
	teardown();
}
END_TEST

START_TEST(unmapped_and_used_again)
{
	setup();
	add(1, "a");
	map(1, 0x1000, 0x9000, 0, "[lib]");
	/* munmap makes no record; the next mapping there replaces what it overlaps */
	map(1, 0x4000, 0x6000, 0x1000, "[other]");
	ck_assert_str_eq(at(1, 0x4010), "[other]+1010");
	ck_assert_str_eq(at(1, 0x6010), "[lib]+5010");
	teardown();
}
END_TEST

/* Code written page by page is one mapping; protecting a part of it again changes nothing. */
START_TEST(anonymous_pieces)
{
	setup();
	struct process *p = add(1, "jit");
	for (uint64_t page = 20; page-- > 10;)
		map(1, page << 12, (page + 1) << 12, page, "");
	ck_assert_uint_eq(p->image->maps.n, 1);
	uint64_t id = p->image->id;
	map(1, 12 << 12, 14 << 12, 5, "");
	ck_assert_uint_eq(p->image->id, id);
	map(1, 19 << 12, 21 << 12, 5, "");
	ck_assert_uint_ne(p->image->id, id);
	ck_assert_uint_eq(p->image->maps.n, 1);
	ck_assert_uint_eq(p->image->maps.v[0].end, 21 << 12);
	teardown();
}
END_TEST

START_TEST(exec_drops_everything)
{
	setup();
	struct process *p = add(1, "sh");
	map(1, 0x1000, 0x2000, 0, "[sh]");
	process_exec(&table, p);
	process_set_name(p, "a name that is too long");
	ck_assert_str_eq(at(1, 0x1000), "");
	ck_assert_str_eq(p->name, "a name that is ");
	map(1, 0x1000, 0x2000, 0, "[cat]");
	ck_assert_str_eq(at(1, 0x1000), "[cat]+0");
	teardown();
}
END_TEST

START_TEST(fork_copies)
{
	setup();
	add(1, "sh");
	map(1, 0x1000, 0x2000, 0, "[sh]");
	struct process *child = process_fork(&table, 1, 2);
	ck_assert_str_eq(child->name, "sh");
	ck_assert_str_eq(at(2, 0x1000), "[sh]+0");
	ck_assert_ptr_eq(child->image, process_find(&table, 1)->image); /* shared */
	map(2, 0x3000, 0x4000, 0, "[dl]");
	ck_assert_str_eq(at(1, 0x3000), "");
	ck_assert_str_eq(at(2, 0x3000), "[dl]+0");
	map(1, 0x1000, 0x2000, 0x8000, "[new]");
	ck_assert_str_eq(at(2, 0x1000), "[sh]+0");
	process_remove(&table, process_find(&table, 1));
	ck_assert_str_eq(at(2, 0x1000), "[sh]+0");
	ck_assert_ptr_nonnull(process_fork(&table, 1, 3)); /* of a parent nobody knows */
	ck_assert_ptr_null(process_find(&table, 3)->image);
	teardown();
}
END_TEST

START_TEST(pid_used_again)
{
	setup();
	add(1, "init");
	add(7, "old");
	map(7, 0x1000, 0x2000, 0, "[old]");
	process_exit(&table, 7, 7, 1 * S);
	struct process *p = process_fork(&table, 1, 7);
	ck_assert_str_eq(p->name, "init");
	ck_assert_str_eq(at(7, 0x1000), "");
	ck_assert_ptr_null(process_next_ended(&table, 9 * S)); /* it was the old process's end */
	teardown();
}
END_TEST

START_TEST(ends)
{
	setup();
	struct process *p = add(5, "a");
	process_exit(&table, 5, 6, 1 * S); /* a thread */
	ck_assert_ptr_null(process_next_ended(&table, 100 * S));
	process_exit(&table, 5, 5, 2 * S); /* the main thread; 8 still runs */
	process_exit(&table, 5, 8, 5 * S);
	ck_assert_ptr_null(process_next_ended(&table, 3 * S + 1));
	ck_assert_ptr_null(process_next_ended(&table, 6 * S - 1)); /* the grace */
	ck_assert_ptr_eq(process_next_ended(&table, 6 * S), p);
	ck_assert_ptr_null(process_next_ended(&table, 100 * S)); /* once only */
	process_exit(&table, 5, 9, 7 * S);
	ck_assert_ptr_eq(process_next_ended(&table, 100 * S), p); /* and again after another end */
	process_exit(&table, 99, 99, 7 * S);                      /* nobody */
	ck_assert_ptr_null(process_next_ended(&table, 100 * S));
	teardown();
}
END_TEST

/* A thread that calls exec becomes the main thread, after the records of the ends of all others. */
START_TEST(exec_by_a_thread)
{
	setup();
	struct process *p = add(5, "a");
	process_exit(&table, 5, 5, 1 * S);
	process_exit(&table, 5, 7, 1 * S);
	process_exec(&table, p);
	ck_assert_ptr_null(process_next_ended(&table, 100 * S));
	teardown();
}
END_TEST

/* Every change of the mappings changes the id, and nothing else does. */
START_TEST(image_ids)
{
	setup();
	struct process *p = add(1, "a");
	map(1, 0x1000, 0x2000, 0, "[a]");
	uint64_t id = p->image->id;
	map(1, 0x1000, 0x2000, 0, "[a]");
	ck_assert_uint_eq(p->image->id, id);
	struct process *child = process_fork(&table, 1, 2);
	ck_assert_uint_eq(child->image->id, id);
	map(2, 0x1000, 0x2000, 0x1000, "[a]");
	ck_assert_uint_ne(child->image->id, id);
	ck_assert_uint_eq(p->image->id, id);
	struct image *same = image_copy(p->image, 4711, &objects);
	process_set_image(&table, p, same);
	ck_assert_uint_eq(p->image->id, id);
	process_set_image(&table, p, process_new_image(&table));
	ck_assert_uint_ne(p->image->id, id);
	ck_assert_str_eq(at(1, 0x1000), "");
	teardown();
}
END_TEST

START_TEST(limits)
{
	setup();
	struct process *p = add(1, "a");
	for (uint64_t i = 0; i < PROCESS_MAX_MAPS + 10; i++)
		map(1, i << 13, (i << 13) + 0x1000, 0, i & 1 ? "[a]" : "[b]");
	ck_assert_uint_eq(p->image->maps.n, PROCESS_MAX_MAPS);
	ck_assert_uint_eq(table.refused, 10);
	for (uint32_t pid = 2; pid < PROCESS_MAX + 10; pid++)
		process_fork(&table, 1, pid);
	ck_assert_uint_eq(table.by_pid.n, PROCESS_MAX);
	ck_assert_uint_eq(table.n_maps, PROCESS_MAX_MAPS); /* shared by all */
	teardown();
}
END_TEST

/* One user's processes do not take the space of others' mappings. */
START_TEST(a_user_has_a_share)
{
	enum { MANY = PROCESS_MAX_USER_MAPS / PROCESS_MAX_MAPS + 2 };
	pid_t pids[MANY];

	setup();
	for (int n = 0; n < MANY; n++) {
		pids[n] = nobody_begin();
		if (pids[n] < 0)
			T_SKIP("needs root");
		add((uint32_t)pids[n], "a");
		for (uint64_t i = 0; i < PROCESS_MAX_MAPS; i++)
			map((uint32_t)pids[n], i << 13, (i << 13) + 0x1000, 0,
			    i & 1 ? "[a]" : "[b]");
	}
	ck_assert_uint_ge(table.n_maps, PROCESS_MAX_USER_MAPS);
	ck_assert_uint_le(table.n_maps, PROCESS_MAX_USER_MAPS + MANY * PROCESS_MANY_MAPS);
	struct process *other = add((uint32_t)getpid(), "b");
	for (uint64_t i = 0; i < PROCESS_MAX_MAPS; i++)
		map((uint32_t)getpid(), i << 13, (i << 13) + 0x1000, 0, i & 1 ? "[a]" : "[b]");
	ck_assert_uint_eq(other->image->maps.n, PROCESS_MAX_MAPS);
	process_remove(&table, process_find(&table, (uint32_t)pids[0]));
	struct process *last = process_find(&table, (uint32_t)pids[MANY - 1]);
	size_t before = last->image->maps.n;
	map((uint32_t)pids[MANY - 1], 1ull << 40, (1ull << 40) + 0x1000, 0, "[a]");
	ck_assert_uint_eq(last->image->maps.n, before + 1);
	for (int n = 0; n < MANY; n++)
		nobody_end(pids[n]);
	teardown();
}
END_TEST

/* Images as read from /proc also count. */
START_TEST(images_stay_within_the_limit)
{
	enum { MANY = PROCESS_MAX_ALL_MAPS / PROCESS_MAX_MAPS + 2 };
	uint32_t a = 0;

	setup();
	a = object("[a]");
	for (uint32_t n = 0; n < MANY; n++) {
		struct process *p = add(4000000000u + n, "a");
		struct image *image = process_new_image(&table);

		for (uint64_t i = 0; i < PROCESS_MAX_MAPS; i++) {
			struct image_map m = { i << 13, (i << 13) + 0x1000, 0, a };

			image_replace(image, &m, &objects);
		}
		process_set_image(&table, p, image);
	}
	ck_assert_uint_eq(table.n_maps, PROCESS_MAX_ALL_MAPS);
	ck_assert_uint_eq(table.refused, 2);
	teardown();
}
END_TEST

/* A child with more executable mappings than are read, or with as many as are. */
static pid_t begin_with_code(int mappings)
{
	int ready[2];
	char byte = 0;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < mappings; i++) { /* with gaps between them */
			char *two =
				mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (two == MAP_FAILED || mprotect(two, 4096, PROT_READ | PROT_EXEC))
				_exit(1);
		}
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static uint64_t refused_of(int mappings)
{
	pid_t pid = begin_with_code(mappings);

	setup();
	proc_scan(&table, add((uint32_t)pid, "a"), S);
	uint64_t refused = table.refused;
	teardown();
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return refused;
}

START_TEST(mappings_that_a_scan_leaves_out_count)
{
	ck_assert_uint_eq(refused_of(PROCESS_MAX_MAPS - 100), 0);
	ck_assert_uint_eq(refused_of(PROCESS_MAX_MAPS + 10), 1);
}
END_TEST

/* --- a model ---------------------------------------------------------------------------------- */

enum { PIDS = 6, PAGES = 48, OBJECTS = 5 };
static const char *const object_names[OBJECTS] = { "", "[a]", "[b]", "[c]", "[d]" };

struct model_page {
	int object; /* -1 = nothing */
	uint64_t pgoff;
};
struct model {
	bool exists[PIDS];
	struct model_page pages[PIDS][PAGES];
};

static void model_clear(struct model *m, int pid)
{
	for (int i = 0; i < PAGES; i++)
		m->pages[pid][i] = (struct model_page){ -1, 0 };
}

static void check_model(const struct model *m)
{
	for (int pid = 0; pid < PIDS; pid++) {
		ck_assert(!!process_find(&table, pid + 1) == m->exists[pid]);
		for (int i = 0; m->exists[pid] && i < PAGES; i++) {
			const struct model_page *page = &m->pages[pid][i];
			char want[64] = "";

			if (page->object == 0)
				snprintf(want, sizeof want, "[anon]+0");
			else if (page->object > 0)
				snprintf(want, sizeof want, "%s+%lx", object_names[page->object],
					 page->pgoff + 0x123);
			ck_assert_str_eq(at(pid + 1, ((uint64_t)i << 12) + 0x123), want);
		}
	}
}

static void random_map(struct model *m, struct rng *rng, int pid)
{
	uint64_t first = rng_below(rng, PAGES), n = 1 + rng_below(rng, 8);
	uint64_t pgoff = rng_below(rng, 100) << 12;
	int object = rng_below(rng, OBJECTS);

	if (first + n > PAGES)
		n = PAGES - first;
	map(pid + 1, first << 12, (first + n) << 12, pgoff, object_names[object]);
	for (uint64_t i = 0; i < n; i++)
		m->pages[pid][first + i] = (struct model_page){ object, pgoff + (i << 12) };
}

static void random_step(struct model *m, struct rng *rng)
{
	int pid = rng_below(rng, PIDS), other = rng_below(rng, PIDS);

	if (!m->exists[pid]) {
		add(pid + 1, "x");
		m->exists[pid] = true;
		model_clear(m, pid);
		return;
	}
	switch (rng_below(rng, 24)) {
	case 0:
		process_exec(&table, process_find(&table, pid + 1));
		model_clear(m, pid);
		break;
	case 1:
		process_remove(&table, process_find(&table, pid + 1));
		m->exists[pid] = false;
		break;
	case 2:
	case 3:
		if (other == pid)
			break;
		process_fork(&table, pid + 1, other + 1);
		m->exists[other] = true;
		memcpy(m->pages[other], m->pages[pid], sizeof m->pages[pid]);
		break;
	default:
		random_map(m, rng, pid);
	}
}

static uint64_t maps_of_all_images(void)
{
	uint64_t n = 0;

	for (size_t i = 0; i < table.all.n; i++) {
		bool counted = !table.all.v[i] || !table.all.v[i]->image;

		for (size_t k = 0; k < i && !counted; k++)
			counted = table.all.v[k] && table.all.v[k]->image == table.all.v[i]->image;
		n += counted ? 0 : table.all.v[i]->image->maps.n;
	}
	return n;
}

START_TEST(like_the_model)
{
	struct model *m = calloc(1, sizeof *m);
	struct rng rng = { 20240607 };

	setup();
	for (int step = 0; step < 20000; step++) {
		random_step(m, &rng);
		if (step % 10 == 0)
			check_model(m);
		ck_assert_uint_eq(table.n_maps, maps_of_all_images());
	}
	teardown();
	free(m);
}
END_TEST

/* --- /proc ------------------------------------------------------------------------------------ */

START_TEST(stat_lines)
{
	static const char line[] =
		"42 (a) b (c) S 1 42 42 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 17 0 345";
	static const char kthread[] =
		"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1";
	struct proc_stat st;

	ck_assert_int_eq(proc_stat_parse(line, strlen(line), &st), 0);
	ck_assert_str_eq(st.name, "a) b (c");
	ck_assert_int_eq(st.state, 'S');
	ck_assert_uint_eq(st.threads, 17);
	ck_assert_uint_eq(st.start_ticks, 345);
	ck_assert(!st.is_kernel_thread);
	ck_assert_int_eq(proc_stat_parse(kthread, strlen(kthread), &st), 0);
	ck_assert(st.is_kernel_thread);
	for (size_t len = 0; len < strlen(line);
	     len++) /* truncated anywhere: an error or a full result */
		if (proc_stat_parse(line, len, &st) == 0)
			ck_assert_str_eq(st.name, "a) b (c");
	ck_assert_int_eq(proc_stat_parse(line, 20, &st), -EBADMSG);
}
END_TEST

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

/* A process whose main thread has ended is still running. */
START_TEST(threads_outlive_the_leader)
{
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t t;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&t, NULL, wait_for_ever, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	struct proc_stat st = { 0 };
	while (st.state != 'Z')
		ck_assert_int_eq(proc_stat_read(pid, &st), 0);
	ck_assert(proc_is_alive(pid));
	kill(pid, SIGKILL);
	while (proc_is_alive(pid))
		;
	ck_assert_int_eq(proc_stat_read(pid, &st), 0); /* a zombie, not alive */
	waitpid(pid, NULL, 0);
	ck_assert(!proc_is_alive(pid));
}
END_TEST

static void count_one(void *ctx)
{
	++*(uint32_t *)ctx;
}

/* A scan of all of /proc: our parent is found with its name and mappings, kernel threads have none, ended processes are marked. */
START_TEST(scan)
{
	struct proc_stat st;
	uint32_t n = 0;

	setup();
	add(INT32_MAX, "gone");
	proc_scan_all(&table, 5 * S, count_one, &n);
	struct process *p = process_find(&table, getppid());
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(proc_stat_read(getppid(), &st), 0);
	ck_assert_str_eq(p->name, st.name);
	ck_assert_uint_gt(p->image->maps.n, 2);
	char *want = shell("awk 'substr($2, 3, 1) == \"x\"' /proc/%d/maps | wc -l", getppid());
	ck_assert_uint_eq(p->image->maps.n, strtoul(want, NULL, 10));
	free(want);
	struct process *kthreadd = process_find(&table, 2);
	if (kthreadd && kthreadd->is_kernel_thread)
		ck_assert_ptr_null(kthreadd->image);
	struct process *ended = process_next_ended(&table, 6 * S);
	while (ended && ended->pid != INT32_MAX) /* others may have ended meanwhile */
		ended = process_next_ended(&table, 6 * S);
	ck_assert_ptr_nonnull(ended);
	uint64_t id = p->image->id;
	ck_assert_uint_gt(n, 1);
	proc_scan_all(&table, 7 * S, NULL, NULL);
	ck_assert_uint_eq(p->image->id, id);
	teardown();
}
END_TEST

UNIT_MAIN("process", a_user_has_a_share, images_stay_within_the_limit,
	  mappings_that_a_scan_leaves_out_count, overlap, unmapped_and_used_again, anonymous_pieces,
	  exec_drops_everything, fork_copies, pid_used_again, ends, exec_by_a_thread, image_ids,
	  limits, like_the_model, stat_lines, threads_outlive_the_leader, scan)
