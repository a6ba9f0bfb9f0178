// tier: test
/* The object table on real files: opened in time, distinguished, found again, released. */
#include "base/err.h"
#include "nobodies.h"
#include "object_world.h"

/* --- opening ---------------------------------------------------------------------------------- */

START_TEST(deleted_file)
{
	if (!can_use_map_files())
		T_SKIP("needs CAP_CHECKPOINT_RESTORE");
	setup(10);
	char name[96];
	void *addr;
	struct side_record r = mapped(program, &addr);
	unlink(program);
	snprintf(name, sizeof name, "%s (deleted)", program);
	r.name = name;
	struct object *o = get(object_of_record(&table, &r));
	ck_assert_int_eq(o->state, OBJECT_OPEN);
	ck_assert_str_eq(o->name, program);
	ck_assert_uint_gt(o->build_id_len, 0); /* found in the file */
	ck_assert(same_content(o->fd, "$(readlink -f /bin/true)"));
	munmap(addr, 4096);
	teardown();
}
END_TEST

/* Another program has replaced the file since: the mapped one is opened, the other is a second object. */
START_TEST(replaced_file)
{
	if (!can_use_map_files())
		T_SKIP("needs CAP_CHECKPOINT_RESTORE");
	setup(10);
	void *old_addr, *new_addr;
	struct side_record old = mapped(program, &old_addr);
	shell_do("cp \"$(readlink -f /bin/false)\" %s.new; mv %s.new %s", program, program,
		 program);
	struct side_record new = mapped(program, &new_addr);
	struct object *o = get(object_of_record(&table, &old));
	struct object *n = get(object_of_record(&table, &new));
	ck_assert_ptr_ne(o, n);
	ck_assert_str_eq(o->name, n->name);
	ck_assert(same_content(o->fd, "$(readlink -f /bin/true)"));
	ck_assert(same_content(n->fd, "$(readlink -f /bin/false)"));
	munmap(old_addr, 4096);
	munmap(new_addr, 4096);
	teardown();
}
END_TEST

/* After the process ends, the path is used while it names the same file. No object is better than the wrong one. */
START_TEST(gone_process)
{
	setup(10);
	struct side_record r = record_of_ended(program);
	ck_assert_int_eq(get(object_of_record(&table, &r))->state, OBJECT_OPEN);
	object_table_done(&table);
	object_table_init(&table, 10);
	shell_do("cp \"$(readlink -f /bin/false)\" %s.new; mv %s.new %s", program, program,
		 program);
	struct object *o = get(object_of_record(&table, &r));
	ck_assert_int_eq(o->state, OBJECT_GONE);
	ck_assert_str_eq(o->name, program);
	ck_assert_int_eq(o->fd, -1);
	ck_assert_int_eq(object_fd(&table, o), -1);
	teardown();
}
END_TEST

/* The kernel has merged or split the mapping since the record. */
START_TEST(other_bounds)
{
	if (!can_use_map_files())
		T_SKIP("needs CAP_CHECKPOINT_RESTORE");
	setup(10);
	int fd = file_open(program);
	char *addr = mmap(NULL, 5 * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	struct side_record r = record_of(program, addr + 4096, 4096);
	r.pgoff = 4096;
	unlink(program);
	ck_assert_int_eq(get(object_of_record(&table, &r))->state, OBJECT_OPEN);
	munmap(addr, 5 * 4096);
	teardown();
}
END_TEST

/* Something else is mapped at the record's address by now. */
START_TEST(other_file_in_its_place)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	char other[80];
	snprintf(other, sizeof other, "%s.other", program);
	shell_do("cp %s %s; rm %s", program, other, program);
	int fd = file_open(other);
	ck_assert_ptr_eq(mmap(addr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0),
			 addr);
	close(fd);
	ck_assert_int_eq(get(object_of_record(&table, &r))->state, OBJECT_GONE);
	munmap(addr, 4096);
	teardown();
}
END_TEST

START_TEST(memory_files)
{
	if (!can_use_map_files())
		T_SKIP("needs CAP_CHECKPOINT_RESTORE");
	setup(10);
	static const char code[4096] = { 1, 2, 3 };
	int elf = memfd_create("lib", 0), jit = file_of(code, sizeof code);
	shell_do("cat %s >/proc/%d/fd/%d", program, getpid(), elf);
	struct {
		int fd;
		enum object_kind kind;
		const char *name;
	} cases[] = { { elf, OBJECT_FILE, "memfd:lib" }, { jit, OBJECT_JIT, "memfd:test" } };
	for (int i = 0; i < 2; i++) {
		void *addr = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, cases[i].fd, 0);
		char path[64], name[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", cases[i].fd);
		snprintf(name, sizeof name, "/%s (deleted)", cases[i].name);
		struct side_record r = record_of(path, addr, 4096);
		r.name = name;
		struct object *o = get(object_of_record(&table, &r));
		ck_assert_int_eq(o->kind, cases[i].kind);
		ck_assert_str_eq(o->name, cases[i].name);
		ck_assert((o->fd >= 0) == (cases[i].kind == OBJECT_FILE));
		munmap(addr, 4096);
	}
	close(elf);
	close(jit);
	teardown();
}
END_TEST

/* Devices and pipes are never opened for reading: that may have effects, or block for ever. */
START_TEST(no_regular_files)
{
	setup(10);
	char fifo[64];
	struct stat st;
	snprintf(fifo, sizeof fifo, "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(plain_file_open(fifo, &st), -EINVAL);
	ck_assert_int_eq(plain_file_open("/dev/zero", &st), -EINVAL);
	ck_assert_int_eq(plain_file_open(dir, &st), -EINVAL);
	ck_assert_int_eq(plain_file_open("/nowhere/at/all", &st), -ENOENT);
	ck_assert_int_eq(process_root_open(getpid(), fifo, &st), -EINVAL);
	ck_assert_int_eq(process_root_open(INT32_MAX, program, &st), -ENOENT);
	int fd = process_root_open(getpid(), program, &st);
	ck_assert_int_ge(fd, 0);
	close(fd);
	teardown();
}
END_TEST

/* A process in another root directory: links lead to its own files, wherever they point. */
START_TEST(links_stay_in_the_root)
{
	if (geteuid())
		T_SKIP("needs root");
	setup(10);
	char secret[64];
	struct stat st;
	snprintf(secret, sizeof secret, "%s/secret", dir);
	shell_do("echo secret >%s; mkdir -p %s/root/tmp; ln -s %s %s/root/tmp/out;"
		 "ln -s ../../../..%s %s/root/tmp/up; ln -s /tmp/real %s/root/tmp/in;"
		 "echo real >%s/root/tmp/real",
		 secret, dir, secret, dir, secret, dir, dir, dir);
	int go[2];
	ck_assert_int_eq(pipe(go), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char root[64], c;
		snprintf(root, sizeof root, "%s/root", dir);
		if (chroot(root) || chdir("/") || write(go[1], "x", 1) != 1)
			_exit(1);
		close(go[1]);
		pause();
		_exit(read(0, &c, 1));
	}
	char c;
	ck_assert_int_eq(read(go[0], &c, 1), 1);
	ck_assert_int_lt(process_root_open(pid, "/tmp/out", &st), 0);
	ck_assert_int_lt(process_root_open(pid, "/tmp/up", &st), 0);
	ck_assert_int_lt(process_root_open(pid, secret, &st), 0);
	int fd = process_root_open(pid, "/tmp/in", &st);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(st.st_size, 5);
	close(fd);
	kill(pid, 9);
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
	teardown();
}
END_TEST

/* --- identity --------------------------------------------------------------------------------- */

/* One file from two sources: /proc and a record. */
START_TEST(one_object)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	struct proc_map m = { .start = r.start,
			      .end = r.start + 4096,
			      .maj = r.maj,
			      .min = r.min,
			      .ino = r.ino,
			      .name = program };
	struct object_place place = { getpid(), m.start, m.end, 0 };
	uint32_t by_proc = object_of_map(&table, getpid(), &m);
	ck_assert_int_eq(get(by_proc)->state, OBJECT_NEW); /* opened only when needed */
	ck_assert_uint_eq(object_of_map(&table, getpid(), &m), by_proc);
	ck_assert_uint_eq(object_of_record(&table, &r), by_proc);
	struct object *o = get(by_proc);
	ck_assert_ptr_eq(object_use(&table, by_proc, &place), o);
	ck_assert_ptr_eq(object_use(&table, object_of_record(&table, &r), &place), o);
	ck_assert_uint_eq(table.n_open, 1);
	munmap(addr, 4096);
	teardown();
}
END_TEST

/* A copy is the same object if there is a build id, and another one without. */
START_TEST(copies)
{
	setup(10);
	char copy[64];
	void *addr[4];
	snprintf(copy, sizeof copy, "%s/copy", dir);
	shell_do("cp %s %s", program, copy);
	struct side_record a = mapped(program, &addr[0]), b = mapped(copy, &addr[1]);
	struct object_place place = { getpid(), b.start, b.start + b.len, 0 };
	struct object *first = get(object_of_record(&table, &a));
	ck_assert_ptr_eq(object_use(&table, object_of_record(&table, &b), &place), first);
	shell_do("objcopy --remove-section .note.gnu.build-id %s %s/a; cp %s/a %s/b", program, dir,
		 dir, dir);
	snprintf(copy, sizeof copy, "%s/b", dir);
	snprintf(program, sizeof program, "%s/a", dir);
	a = mapped(program, &addr[2]);
	b = mapped(copy, &addr[3]);
	first = get(object_of_record(&table, &a));
	place = (struct object_place){ getpid(), b.start, b.start + b.len, 0 };
	ck_assert_uint_eq(first->build_id_len, 0);
	ck_assert_int_eq(first->state, OBJECT_OPEN);
	ck_assert_ptr_ne(object_use(&table, object_of_record(&table, &b), &place), first);
	for (int i = 0; i < 4; i++)
		munmap(addr[i], 4096);
	teardown();
}
END_TEST

/* A reused inode number: the generation differs. */
static void build(const char *name, const char *code, const char *id)
{
	shell_do("cd %s && printf 'int main(void) { return %s; }' >%s.c && gcc -O1 -o %s %s.c "
		 "-Wl,--build-id=%s",
		 dir, code, name, name, name, id);
}

/* Files that only share a build id are two, and the later one has none; a stripped copy is the same
 * file. */
START_TEST(build_ids_of_two_files)
{
	static const char id[] = "0x00112233445566778899";
	char path[3][64];
	void *addr[3];
	setup(10);
	build("one", "1", id);
	build("two", "2", id);
	shell_do("strip -o %s/three %s/one", dir, dir);
	struct object *o[3];
	static const char *const names[] = { "one", "two", "three" };
	for (int i = 0; i < 3; i++) {
		snprintf(path[i], sizeof path[i], "%s/%s", dir, names[i]);
		struct side_record r = mapped(path[i], &addr[i]);
		struct object_place place = { getpid(), r.start, r.start + r.len, 0 };
		o[i] = object_use(&table, object_of_record(&table, &r), &place);
	}
	ck_assert_uint_eq(o[0]->build_id_len, 10);
	ck_assert_ptr_null(o[0]->has_build_id_of);
	ck_assert_uint_ne(o[0]->fingerprint, 0);
	ck_assert_ptr_ne(o[1], o[0]);
	ck_assert_uint_eq(o[1]->build_id_len, 0);
	ck_assert_str_eq(o[1]->has_build_id_of, path[0]);
	ck_assert_ptr_eq(o[2], o[0]);
	for (int i = 0; i < 3; i++)
		munmap(addr[i], 4096);
	teardown();
}
END_TEST

START_TEST(build_ids_that_identify_nothing)
{
	static const char *const ids[] = { "0x0000000000000000000000000000000000000000", "0x12",
					   "0x00112233445566" };
	setup(10);
	for (int i = 0; i < 3; i++) {
		char name[8], path[64];
		void *addr;
		snprintf(name, sizeof name, "p%d", i);
		snprintf(path, sizeof path, "%s/%s", dir, name);
		build(name, "0", ids[i]);
		struct side_record r = mapped(path, &addr);
		ck_assert_uint_eq(get(object_of_record(&table, &r))->build_id_len, 0);
		munmap(addr, 4096);
	}
	teardown();
}
END_TEST

START_TEST(memory_without_files)
{
	static const char *const anonymous[] = { "",
						 "//anon",
						 "[heap]",
						 "[stack]",
						 "[stack:12]",
						 "[anon:v8]",
						 "/anon_hugepage (deleted)" };
	setup(10);
	for (size_t i = 0; i < sizeof anonymous / sizeof *anonymous; i++) {
		struct side_record r = { .name = anonymous[i], .start = 0x1000, .len = 0x1000 };
		ck_assert_uint_eq(object_of_record(&table, &r), OBJECT_ANON);
	}
	struct side_record r = { .name = "[uprobes]", .start = 0x1000, .len = 0x1000 };
	struct object *o = get(object_of_record(&table, &r));
	ck_assert_int_eq(o->kind, OBJECT_NAMED);
	ck_assert_str_eq(o->name, "[uprobes]");
	ck_assert_uint_eq(object_of_record(&table, &r), o->id);
	ck_assert_int_eq(get(OBJECT_ANON)->kind, OBJECT_JIT);
	teardown();
}
END_TEST

START_TEST(vdso)
{
	setup(10);
	struct side_record r = { .name = "[vdso]", .start = 0x7ffff7fc1000, .len = 0x2000 };
	struct object *o = get(object_of_record(&table, &r));
	struct symbol_source *names;
	struct err err = { 0 };
	ck_assert_int_eq(o->kind, OBJECT_FILE);
	ck_assert_uint_gt(o->build_id_len, 0);
	ck_assert_int_eq(symbol_open_elf(object_fd(&table, o), NULL, NULL, &names, &err), 0);
	bool found = false;
	struct symbol sym;
	for (uint64_t addr = 0; addr < 0x2000 && !found; addr++)
		found = symbol_lookup(names, addr, &sym) && strstr(sym.name, "clock_gettime");
	ck_assert(found);
	symbol_close(names);
	ck_assert_uint_eq(object_of_record(&table, &r), o->id);
	r.start = 0xf7fc1000; /* of a 32-bit process */
	ck_assert_uint_ne(object_of_record(&table, &r), o->id);
	teardown();
}
END_TEST

/* --- descriptors and memory ------------------------------------------------------------------- */

static struct side_record nth_program(int i, void **addr)
{
	static char paths[8][80];

	snprintf(paths[i], sizeof paths[i], "%s/p%d", dir, i);
	program_copy(paths[i], i);
	return mapped(paths[i], addr);
}

START_TEST(least_recently_used)
{
	enum { N = 8, OPEN = 5 };
	setup(OPEN);
	void *addr[N];
	struct side_record r[N];
	uint32_t id[N];
	struct object_place nowhere = { 0 };
	for (int i = 0; i < N; i++) {
		r[i] = nth_program(i, &addr[i]);
		id[i] = object_of_record(&table, &r[i]);
		object_ref(&table, id[i]);
		object_use(&table, id[0], &nowhere); /* the first is used all the time */
	}
	ck_assert_uint_eq(table.n_open, OPEN);
	static const int open[N] = { 1, 0, 0, 0, 1, 1, 1, 1 };
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(get(id[i])->state, open[i] ? OBJECT_OPEN : OBJECT_CLOSED);
	ck_assert_int_ge(object_fd(&table, get(id[1])), 0); /* opened again by its path */
	ck_assert_uint_eq(table.n_open, OPEN);
	shell_do("cp %s %s.new; mv %s.new %s", program, r[2].name, r[2].name, r[2].name);
	ck_assert_int_eq(object_fd(&table, get(id[2])), -1); /* it is another one now */
	unlink(r[3].name);
	ck_assert_int_eq(object_fd(&table, get(id[3])), -1);
	for (int i = 0; i < N; i++)
		munmap(addr[i], 4096);
	teardown();
}
END_TEST

/* After a record that is skipped, known files stay; no file is added. */
START_TEST(files_in_use_stay)
{
	void *addr;

	setup(4);
	struct side_record r = mapped(program, &addr), other = record_of("/bin/sh", addr, 4096);
	uint32_t id = object_of_record(&table, &r);
	uint32_t n = table.n;

	ck_assert_uint_ne(id, OBJECT_NONE);
	for (int i = 0; i < 5; i++) {
		object_trim(&table);
		object_touch(&table, &r);
		object_touch(&table, &other);
	}
	ck_assert_uint_eq(table.n, n);
	ck_assert_uint_eq(object_of_record(&table, &r), id);
	object_trim(&table);
	object_trim(&table);
	ck_assert_uint_eq(table.n, n - 1);
	munmap(addr, 4096);
	teardown();
}
END_TEST

/* An unmapped object without frames is removed after two trims, with its descriptor. Others stay. */
START_TEST(idle_objects_go)
{
	setup(10);
	void *addr[3];
	struct side_record r[3];
	uint32_t id[3];
	for (int i = 0; i < 3; i++) {
		r[i] = nth_program(i, &addr[i]);
		id[i] = object_of_record(&table, &r[i]);
	}
	object_ref(&table, id[0]);
	get(id[1])->mapping = 7; /* frames */
	object_trim(&table);
	ck_assert_uint_eq(table.n, 4);
	ck_assert_uint_eq(object_of_record(&table, &r[2]), id[2]); /* seen again: young again */
	object_trim(&table);
	ck_assert_uint_eq(table.n, 4);
	object_trim(&table);
	ck_assert_uint_eq(table.n, 3);
	ck_assert_uint_eq(table.n_open, 2);
	object_unref(&table, id[0]);
	object_trim(&table);
	object_trim(&table);
	ck_assert_uint_eq(table.n, 2);
	ck_assert_uint_eq(table.n_open, 1);
	ck_assert_int_eq(get(id[1])->state, OBJECT_OPEN);
	for (int i = 0; i < 3; i++)
		munmap(addr[i], 4096);
	teardown();
}
END_TEST

static uint32_t numbered_file(pid_t pid, uint64_t ino)
{
	struct proc_map m = {
		.start = 4096, .end = 8192, .maj = 8, .min = 1, .ino = ino, .name = "/file"
	};

	return object_of_map(&table, (uint32_t)pid, &m);
}

/* One user's files do not take the space of others'. */
START_TEST(a_user_has_a_share)
{
	pid_t pid = nobody_begin();
	uint64_t ino = 1;
	uint32_t n = 0;

	if (pid < 0)
		T_SKIP("needs root");
	setup(10);
	while (table.n < OBJECT_UNCHARGED)
		ck_assert_uint_ne(numbered_file(getpid(), ino++), OBJECT_NONE);
	while (numbered_file(pid, ino++) != OBJECT_NONE)
		n++;
	ck_assert_uint_eq(n, OBJECT_MAX_USER);
	ck_assert_uint_eq(table.refused, 1);
	ck_assert_uint_ne(numbered_file(getpid(), ino++), OBJECT_NONE);
	object_trim(&table);
	object_trim(&table);
	ck_assert_uint_lt(table.n, OBJECT_UNCHARGED);
	ck_assert_uint_eq(table.users.used.n, 0);
	nobody_end(pid);
	teardown();
}
END_TEST

UNIT_MAIN("object", a_user_has_a_share, deleted_file, replaced_file, gone_process, other_bounds,
	  other_file_in_its_place, memory_files, no_regular_files, links_stay_in_the_root,
	  one_object, copies, build_ids_of_two_files, build_ids_that_identify_nothing,
	  memory_without_files, vdso, least_recently_used, files_in_use_stay, idle_objects_go)
