// tier: test
/* The walker's view of address spaces, compared with /proc/PID/maps; and a stack sent with a sample, compared with the C library's own walk of it. */
#include "base/clock.h"
#include "base/mem.h"
#include "collect/kernel/side_band.h"
#include "collect/proc/proc_maps.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/proc_scan.h"
#include "collect/process/process.h"
#include "nobodies.h"
#include "shell.h"
#include "space_maps.h"
#include "unit.h"

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

static struct space_maps maps;
static struct object_table objects;
static struct space *space;

static bool setup_for(uint32_t processes, uint32_t blocks)
{
	if (!space_maps_create_for(&maps, 32, processes, blocks))
		return false;
	object_table_init(&objects, 100);
	space = space_new(&maps, &objects, NULL, NULL);
	ck_assert_ptr_nonnull(space);
	return true;
}

static bool setup(void)
{
	return setup_for(64, 1024);
}

static void teardown(void)
{
	space_free(space);
	object_table_done(&objects);
	space_maps_close(&maps);
}

static void settle(void)
{
	uint64_t end_ns = clock_mono_ns() + 30000000000ull;

	for (space_sync(space); space_is_busy(space); space_sync(space)) {
		ck_assert_uint_lt(clock_mono_ns(), end_ns);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* No sample of the process can follow: it is removed from now on. */
static void seen_exit(uint32_t pid)
{
	space_seen(space,
		   &(struct side_record){ .kind = SIDE_EXIT,
					  .pid = pid,
					  .tid = pid,
					  .time_ns = clock_mono_ns() - 2 * PROCESS_GRACE_NS });
}

static struct event_raw *raw_of(uint32_t pid)
{
	struct event_raw *raw = xcalloc(1, sizeof *raw + RAW_MAX_STACK);

	raw->ev.sample = (struct event_sample){ .kind = EVENT_RAW, .tgid = pid, .tid = pid };
	return raw;
}

/* table: as in a raw event. */
static void load_for(uint32_t pid, uint32_t table)
{
	struct event_raw *raw = raw_of(pid);

	raw->table = table;
	space_missed(space, raw);
	settle();
	free(raw);
}

static void load(uint32_t pid)
{
	load_for(pid, 0);
}

/* Finds the mapping of an address in the maps, as the walker does. Returns false if there is none. */
static bool in_kernel(uint32_t pid, uint64_t address, struct space_mapping *out)
{
	struct space_process p;
	struct space_block_key key = { 0 };
	struct space_block b;

	if (bpf_map_lookup_elem(maps.processes, &pid, &p) || !p.n_maps)
		return false;
	key.image = p.image;
	if (p.n_maps > SPACE_BLOCK_MAPS) {
		key.block = SPACE_INDEX;
		ck_assert_int_eq(bpf_map_lookup_elem(maps.blocks, &key, &b), 0);
		for (key.block = 0;
		     key.block + 1 < SPACE_INDEX_BLOCKS && b.starts[key.block + 1] <= address;)
			key.block++;
	}
	ck_assert_int_eq(bpf_map_lookup_elem(maps.blocks, &key, &b), 0);
	for (int i = 0; i < SPACE_BLOCK_MAPS; i++) {
		*out = b.maps[i];
		if (out->start <= address && address < out->end)
			return true;
	}
	return false;
}

struct compared {
	uint32_t pid, files, anonymous, tables;
};

static bool same_mapping(void *ctx, const struct proc_map *m)
{
	struct compared *c = ctx;
	struct space_mapping got;

	if (!m->executable || m->name[0] == '[')
		return true;
	ck_assert_msg(in_kernel(c->pid, m->start, &got), "%s is not there", m->name);
	ck_assert_msg(in_kernel(c->pid, m->end - 1, &got), "%s is not there", m->name);
	if (!m->name[0]) {
		c->anonymous++;
		ck_assert_uint_eq(got.object, 0);
		return true;
	}
	struct object *o = space_object(space, (uint64_t)got.object << FRAME_OFFSET_BITS);
	struct space_table t;
	ck_assert_ptr_nonnull(o);
	ck_assert_msg(strstr(m->name, o->name) == m->name, "%s is not %s", m->name, o->name);
	ck_assert_uint_eq(got.start, m->start);
	ck_assert_uint_eq(got.pgoff, m->pgoff);
	c->files++;
	ck_assert_int_eq(bpf_map_lookup_elem(maps.tables, &got.table, &t), 0);
	c->tables += t.state == TABLE_READY;
	return true;
}

static struct compared compare(uint32_t pid)
{
	struct compared c = { .pid = pid };

	ck_assert_int_eq(proc_maps_read(pid, same_mapping, &c), 0);
	return c;
}

START_TEST(every_mapping_is_reported)
{
	if (!setup())
		T_SKIP(SPACE_NEEDS);
	/* Enough for several blocks. */
	for (int i = 0; i < 100; i++)
		ck_assert(mmap(NULL, 8192, i % 2 ? PROT_READ | PROT_EXEC : PROT_READ,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	load(getpid());
	struct compared c = compare(getpid());
	ck_assert_uint_ge(c.files, 3);
	ck_assert_uint_eq(c.tables, c.files);
	teardown();
}
END_TEST

/* Waiting threads are reported again and again: their processes are not read from /proc each time. */
START_TEST(pending_waits_have_a_process_read_once)
{
	const size_t size = 4096;
	struct space_mapping m;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	load_for(getpid(), RAW_NOT_WALKED);
	ck_assert(in_kernel(getpid(), (uintptr_t)compare, &m));
	void *code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(code != MAP_FAILED);
	nanosleep(&(struct timespec){ 1, 100000000 }, NULL); /* it might be, from now on */
	load_for(getpid(), RAW_NOT_WALKED);
	ck_assert(!in_kernel(getpid(), (uintptr_t)code, &m));
	load(getpid());
	ck_assert(in_kernel(getpid(), (uintptr_t)code, &m));
	munmap(code, size);
	teardown();
}
END_TEST

/* Makes this program's file one that another process opens, and has not opened yet. */
static bool await_own_file(void *ctx, const struct proc_map *m)
{
	struct object **out = ctx;

	if ((uintptr_t)compare < m->start || (uintptr_t)compare >= m->end)
		return true;
	*out = objects.all.v[object_of_map(&objects, getpid(), m)];
	(*out)->state = OBJECT_AWAITED;
	return false;
}

static enum space_table_state own_table_state(void)
{
	struct space_mapping m;
	struct space_table t;

	ck_assert(in_kernel(getpid(), (uintptr_t)compare, &m));
	ck_assert_int_eq(bpf_map_lookup_elem(maps.tables, &m.table, &t), 0);
	return t.state;
}

/* A file may arrive after the mappings: its table is built then, before a stack is walked. */
START_TEST(late_files_get_tables)
{
	struct object *o = NULL;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	proc_maps_read(getpid(), await_own_file, &o);
	ck_assert_ptr_nonnull(o);
	load(getpid());
	ck_assert_int_eq(own_table_state(), TABLE_WANTED);
	o->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(o->fd, 0);
	o->state = OBJECT_OPEN;
	settle();
	ck_assert_int_eq(own_table_state(), TABLE_READY);
	teardown();
}
END_TEST

/* A child has its parent's mappings, and is another program after exec; ended processes are removed from the maps. */
START_TEST(processes_come_and_go)
{
	struct side_record r = { .kind = SIDE_FORK, .pid = 4190001, .ppid = getpid() };
	struct space_mapping m;
	uint32_t key;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	load(getpid());
	space_seen(space, &r);
	settle();
	ck_assert(in_kernel(4190001, (uintptr_t)compare & ~4095ul, &m));
	space_seen(space, &(struct side_record){ .kind = SIDE_COMM, .pid = 4190001, .exec = true });
	settle();
	ck_assert(!in_kernel(4190001, (uintptr_t)compare, &m));
	seen_exit(4190001);
	settle();
	ck_assert_int_eq(bpf_map_get_next_key(maps.processes, NULL, &key), 0);
	ck_assert_uint_eq(key, getpid());
	ck_assert_int_ne(bpf_map_get_next_key(maps.processes, &key, &key), 0);
	teardown();
}
END_TEST

static void map_file(uint32_t pid, uint32_t n)
{
	struct side_record r = { .kind = SIDE_MMAP,
				 .pid = pid,
				 .start = (1ull << 40) + n * 8192ull,
				 .len = 4096,
				 .maj = 8,
				 .min = 1,
				 .ino = n + 1,
				 .name = "/file" };

	space_seen(space, &r);
}

/* A sample taken before the kernel had the mappings of a process does not make /proc be read; a later one does. This process does not exist: reading it
 * ends it. */
START_TEST(recorded_processes_are_not_read)
{
	const uint32_t pid = 4190001;
	struct event_raw *raw = raw_of(pid);
	struct space_mapping m;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	load(getpid());
	space_seen(space, &(struct side_record){ .kind = SIDE_FORK, .pid = pid, .ppid = getpid() });
	load(pid);
	map_file(pid, 0);
	load(pid);
	ck_assert(in_kernel(pid, 1ull << 40, &m));
	raw->ev.sample.time_ns = clock_mono_ns();
	space_missed(space, raw);
	map_file(pid, 1);
	settle();
	ck_assert(!in_kernel(pid, (1ull << 40) + 8192, &m));
	free(raw);
	teardown();
}
END_TEST

/* Nor do samples of a process that started and ended between two readings, until another one may have its number. */
START_TEST(passed_processes_are_not_read)
{
	const struct side_record fork = { .kind = SIDE_FORK,
					  .pid = (uint32_t)getpid(),
					  .ppid = (uint32_t)getppid() };
	struct space_mapping m;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	space_passed(space, &fork);
	load(getpid());
	ck_assert(!in_kernel(getpid(), (uintptr_t)compare, &m));
	space_seen(space, &fork);
	load(getpid());
	ck_assert(in_kernel(getpid(), (uintptr_t)compare, &m));
	teardown();
}
END_TEST

START_TEST(passed_processes_are_read_after_losses)
{
	const struct side_record fork = { .kind = SIDE_FORK,
					  .pid = (uint32_t)getpid(),
					  .ppid = (uint32_t)getppid() };
	struct space_mapping m;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	space_passed(space, &fork);
	space_seen(space, &(struct side_record){ .kind = SIDE_LOST });
	load(getpid());
	ck_assert(in_kernel(getpid(), (uintptr_t)compare, &m));
	teardown();
}
END_TEST

/* --- a stack that was sent along --------------------------------------------------------------------------------------- */

struct taken {
	struct event_raw *raw;
	void *callers[64];
	int n;
};

/* Frames of the C library's walk: AddressSanitizer calls it through a function of its own. */
#ifdef __SANITIZE_ADDRESS__
enum { WITHIN_BACKTRACE = 1 };
#else
enum { WITHIN_BACKTRACE = 0 };
#endif

/* One frame more than backtrace() returns. The kernel copies the stack: AddressSanitizer lets nobody else read between variables. */
static __attribute__((noinline)) void keep_registers(struct event_raw *raw)
{
	ucontext_t uc;

	ck_assert_int_eq(getcontext(&uc), 0);
	raw->regs[PT_IP] = uc.uc_mcontext.gregs[REG_RIP];
	raw->regs[PT_SP] = uc.uc_mcontext.gregs[REG_RSP];
	raw->regs[PT_FP] = uc.uc_mcontext.gregs[REG_RBP];
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t n = pread(fd, raw->stack, RAW_MAX_STACK, raw->regs[PT_SP]);
	ck_assert_int_ge(n, 1024);
	raw->stack_bytes = n;
	close(fd);
}

static __attribute__((noinline)) int innermost(const void *a, const void *b)
{
	static struct taken *taken;

	if (!b) {
		taken = (void *)(uintptr_t)a;
		return 0;
	}
	if (taken && !taken->n) {
		taken->n = backtrace(taken->callers, 64) - WITHIN_BACKTRACE;
		keep_registers(taken->raw);
	}
	return *(const int *)a - *(const int *)b;
}

/* Through the C library's qsort, which has no frame pointers. */
static __attribute__((noinline)) int outer(struct taken *t)
{
	int v[] = { 3, 1, 2 };

	innermost(t, NULL);
	qsort(v, 3, sizeof *v, innermost);
	return v[0];
}

static uint64_t file_offset(const struct image *image, uint64_t address)
{
	const struct image_map *m = image_find(image, address);

	return m ? address - m->start + m->pgoff : 0;
}

START_TEST(stacks_sent_along_are_walked)
{
	struct taken t = { .raw = raw_of(getpid()) };
	struct process_table processes;
	uint64_t frames[64];

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	ck_assert_int_eq(outer(&t), 1);
	load(getpid());
	process_table_init(&processes, &objects);
	struct process *p = process_add(&processes, getpid());
	proc_scan(&processes, p, 1);
	struct unwind_walk w =
		space_walk(space, p->image, t.raw, (struct python_groups){ 0 }, frames, 64);
	ck_assert_uint_eq(w.end, WALK_COMPLETE);
	ck_assert_uint_eq(w.n, t.n + 1);
	ck_assert_uint_eq(w.by_table, t.n);
	for (int i = 1; i < t.n; i++)
		ck_assert_uint_eq(
			frames[i + 1] & FRAME_OFFSET_MASK,
			file_offset(p->image, (uintptr_t)t.callers[i + WITHIN_BACKTRACE] - 1));
	t.raw->stack_bytes = 512; /* missing parts are reported */
	w = space_walk(space, p->image, t.raw, (struct python_groups){ 0 }, frames, 64);
	ck_assert_uint_eq(w.end, WALK_CUT);
	w = space_walk(space, NULL, t.raw, (struct python_groups){ 0 }, frames, 64);
	ck_assert_uint_eq(w.end, WALK_NO_MAPPING);
	ck_assert_uint_eq(w.n, 1);
	process_table_done(&processes);
	free(t.raw);
	teardown();
}
END_TEST

/* Programs with addresses of their own. */
static uint32_t begin_sleep(void)
{
	pid_t pid = fork();
	char exe[64], target[256] = "";

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
	for (int i = 0; i < 5000 && !strstr(target, "sleep") && !strstr(target, "coreutils"); i++) {
		ssize_t n = readlink(exe, target, sizeof target - 1);

		target[n > 0 ? n : 0] = 0;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); /* its libraries */
	return pid;
}

static void end_sleep(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
}

/* The first process takes all the room; the second is refused, until the first is gone. */
static void check_full(bool is_of_blocks)
{
	volatile uint32_t full = 0;
	struct space_process p;
	uint32_t first, second;

	if (!(is_of_blocks ? setup_for(64, 1) : setup_for(1, 1024)))
		T_SKIP(SPACE_NEEDS);
	space_free(space);
	maps.processes_full = &full;
	space = space_new(&maps, &objects, NULL, NULL);
	space_sweep_every(space, 0);
	first = begin_sleep();
	second = begin_sleep();
	load(first);
	ck_assert_uint_eq(space_refused(space), 0);
	load(second);
	ck_assert_uint_eq(space_refused(space), 1);
	load(second);
	ck_assert_uint_eq(space_refused(space), 1); /* it is the same one */
	ck_assert_int_eq(bpf_map_lookup_elem(maps.processes, &first, &p), 0);
	ck_assert_uint_gt(p.n_maps, 0);
	ck_assert_uint_ne(p.n_maps, SPACE_NO_ROOM);
	if (is_of_blocks) {
		ck_assert_int_eq(bpf_map_lookup_elem(maps.processes, &second, &p), 0);
		ck_assert_uint_eq(p.n_maps, SPACE_NO_ROOM);
	} else {
		ck_assert_int_ne(bpf_map_lookup_elem(maps.processes, &second, &p), 0);
	}
	ck_assert_uint_eq(full, !is_of_blocks);

	end_sleep(first);
	seen_exit(first);
	for (int i = 0; i < 12000; i++) {
		space_sync(space);
		if (!bpf_map_lookup_elem(maps.processes, &second, &p) && p.n_maps &&
		    p.n_maps != SPACE_NO_ROOM)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	ck_assert_int_eq(bpf_map_lookup_elem(maps.processes, &second, &p), 0);
	ck_assert_uint_ne(p.n_maps, SPACE_NO_ROOM);
	ck_assert_uint_eq(full, 0);
	ck_assert_uint_eq(space_refused(space), 1);
	end_sleep(second);
	teardown();
}

START_TEST(full_mapping_table)
{
	check_full(true);
}
END_TEST

START_TEST(full_process_table)
{
	check_full(false);
}
END_TEST

/* One user's files do not take the tables of others'. */
START_TEST(a_user_has_a_share_of_tables)
{
	enum { MOST = SPACE_MAX_TABLES / 4, FILES = MOST + 100 };
	uint32_t n_tables = 0, n_files = 0, n_without = 0;
	pid_t pid = nobody_begin();

	if (pid < 0 || !setup_for(64, 4096))
		T_SKIP("needs root, and bpf()");
	load(getpid());
	load((uint32_t)pid);
	while (objects.n < OBJECT_UNCHARGED)
		map_file(getpid(), n_files++);
	for (uint32_t i = 0; i < FILES; i++)
		map_file((uint32_t)pid, n_files++);
	space_sync(space);
	map_file(getpid(), n_files);
	space_sync(space);
	for (size_t i = 0; i < objects.all.n; i++) {
		const struct object *o = objects.all.v[i];

		n_tables += o && o->user && o->table;
		n_without += o && o->number && !o->table;
		if (o && o->ino == n_files + 1)
			ck_assert_uint_ne(o->table, 0);
	}
	ck_assert_uint_eq(n_tables, MOST);
	ck_assert_uint_gt(n_without, 0);
	ck_assert_uint_eq(space_refused(space), n_without);
	nobody_end(pid);
	teardown();
}
END_TEST

/* A file that was refused a table gets one when another file of its user is gone, in the kernel as well. */
START_TEST(a_refused_table_is_tried_again)
{
	enum { FILES = SPACE_MAX_TABLES / 4 + 10 };
	pid_t many = nobody_begin(), one = nobody_begin();
	struct space_mapping got = { 0 };
	uint32_t n = 0;

	if (many < 0 || one < 0 || !setup_for(64, 4096))
		T_SKIP("needs root, and bpf()");
	load(getpid());
	load((uint32_t)many);
	load((uint32_t)one);
	while (objects.n < OBJECT_UNCHARGED)
		map_file(getpid(), n++);
	for (uint32_t i = 0; i < FILES; i++)
		map_file((uint32_t)many, n++);
	space_sync(space);
	map_file((uint32_t)one, n);
	space_sync(space);
	uint64_t at = (1ull << 40) + n * 8192ull;
	ck_assert(in_kernel((uint32_t)one, at, &got));
	ck_assert_uint_eq(got.table, 0);
	space_sweep_every(space, 0);
	nobody_end(many);
	seen_exit((uint32_t)many);
	for (int i = 0; i < 1200 && !got.table; i++) {
		object_trim(&objects);
		space_sync(space);
		ck_assert(in_kernel((uint32_t)one, at, &got));
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	ck_assert_uint_ne(got.table, 0);
	nobody_end(one);
	teardown();
}
END_TEST

static bool is_file_known(uint64_t ino)
{
	for (size_t i = 0; i < objects.all.n; i++)
		if (objects.all.v[i] && objects.all.v[i]->ino == ino)
			return true;
	return false;
}

/* The last stack of a program that has ended misses the table of its file, which is forgotten already. */
START_TEST(a_forgotten_file_needs_no_table)
{
	struct space_mapping got = { 0 };
	pid_t pid = nobody_begin();

	if (pid < 0 || !setup_for(64, 4096))
		T_SKIP("needs root, and bpf()");
	load((uint32_t)pid);
	map_file((uint32_t)pid, 0);
	space_sync(space);
	ck_assert(in_kernel((uint32_t)pid, 1ull << 40, &got));
	ck_assert_uint_ne(got.table, 0);
	space_sweep_every(space, 0);
	nobody_end(pid);
	seen_exit((uint32_t)pid);
	for (int i = 0; i < 1200 && is_file_known(1); i++) {
		space_sync(space);
		object_trim(&objects);
		load_for((uint32_t)pid, got.table);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	ck_assert(!is_file_known(1));
	teardown();
}
END_TEST

static uint32_t table_state(uint32_t table)
{
	struct space_table t;

	ck_assert_int_eq(bpf_map_lookup_elem(maps.tables, &table, &t), 0);
	return t.state;
}

/* Tables that are built do not delay the changes. */
START_TEST(changes_are_sent_without_tables)
{
	struct space_mapping got;
	uint64_t here = (uintptr_t)table_state;

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	space_expect(space, getpid());
	space_send(space, 0);
	ck_assert(!in_kernel(getpid(), here, &got));
	space_send(space, UINT64_MAX);
	ck_assert(in_kernel(getpid(), here, &got));
	ck_assert_uint_ne(got.table, 0);
	struct pollfd built = { .fd = space_fd(space), .events = POLLIN };
	ck_assert_int_eq(poll(&built, 1, 30000), 1);
	space_send(space, UINT64_MAX);
	ck_assert_uint_eq(table_state(got.table), TABLE_WANTED);
	settle();
	ck_assert_uint_eq(table_state(got.table), TABLE_READY);
	teardown();
}
END_TEST

/* Copies of a program are one file, until it is written: the mappings of the other one are sent again then. */
START_TEST(copies_are_parted)
{
	char dir[32], path[2][64];
	struct space_mapping m[2];
	void *addr[2];

	if (!setup())
		T_SKIP(SPACE_NEEDS);
	temp_dir(dir);
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof path[i], "%s/%d", dir, i);
		shell_do("cp \"$(readlink -f /bin/true)\" %s", path[i]);
		int fd = open(path[i], O_RDONLY | O_CLOEXEC);
		addr[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		ck_assert_ptr_ne(addr[i], MAP_FAILED);
		close(fd);
	}
	load(getpid());
	for (int i = 0; i < 2; i++)
		ck_assert(in_kernel(getpid(), (uintptr_t)addr[i], &m[i]));
	ck_assert_uint_eq(m[0].object, m[1].object);
	struct object *o = space_object(space, (uint64_t)m[0].object << FRAME_OFFSET_BITS);
	int other = strcmp(o->name, path[0]) == 0;
	shell_do("cp \"$(readlink -f /bin/false)\" %s; echo >>%s", o->name, o->name);
	ck_assert_int_eq(object_fd(&objects, o), -1);
	space_sweep_every(space, 0);
	settle();
	ck_assert(in_kernel(getpid(), (uintptr_t)addr[other], &m[1]));
	ck_assert_uint_ne(m[0].object, m[1].object);
	o = space_object(space, (uint64_t)m[1].object << FRAME_OFFSET_BITS);
	ck_assert_str_eq(o->name, path[other]);
	ck_assert_int_ge(object_fd(&objects, o), 0);
	for (int i = 0; i < 2; i++)
		munmap(addr[i], 4096);
	shell_do("rm -rf %s", dir);
	teardown();
}
END_TEST

UNIT_MAIN("space", a_user_has_a_share_of_tables, a_refused_table_is_tried_again,
	  a_forgotten_file_needs_no_table, changes_are_sent_without_tables, full_mapping_table,
	  full_process_table, every_mapping_is_reported, pending_waits_have_a_process_read_once,
	  late_files_get_tables, processes_come_and_go, recorded_processes_are_not_read,
	  passed_processes_are_not_read, passed_processes_are_read_after_losses,
	  stacks_sent_along_are_walked, copies_are_parted)
