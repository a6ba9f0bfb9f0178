// tier: test
/* Objects of files that are known by their inode: used again, open, by several names. */
#include "base/clock.h"
#include "collect/worker/far_files.h"
#include "collect/worker/helper.h"
#include "object_world.h"

#include <poll.h>
#include <time.h>

START_TEST(inode_used_again)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	r.ino_generation = 1;
	uint32_t id = object_of_record(&table, &r);
	ck_assert_uint_eq(object_of_record(&table, &r), id);
	r.ino_generation = 2;
	ck_assert_uint_ne(object_of_record(&table, &r), id);
	munmap(addr, 4096);
	teardown();
}
END_TEST

/* /proc does not know the generation. Of a file that is not open, the name decides. */
START_TEST(inode_used_again_unknown)
{
	setup(10);
	struct proc_map m = { .start = 4096, .end = 8192, .maj = 8, .min = 1, .ino = 99 };
	struct side_record r = { .kind = SIDE_MMAP,
				 .pid = getpid(),
				 .maj = 8,
				 .min = 1,
				 .ino = 99,
				 .ino_generation = 1 };
	m.name = "/gone/first (deleted)";
	uint32_t first = object_of_map(&table, getpid(), &m);
	r.name = "/gone/second";
	uint32_t second = object_of_record(&table, &r);
	ck_assert_uint_ne(second, first);
	ck_assert_str_eq(get(second)->name, "/gone/second");
	m.name = "/gone/third";
	uint32_t third = object_of_map(&table, getpid(), &m);
	ck_assert_uint_ne(third, second);
	/* The same name is the same file, whose generation is then known. */
	r.name = "/gone/third";
	ck_assert_uint_eq(object_of_record(&table, &r), third);
	ck_assert_uint_eq(object_of_map(&table, getpid(), &m), third);
	r.ino_generation = 2;
	ck_assert_uint_ne(object_of_record(&table, &r), third);
	teardown();
}
END_TEST

static uint32_t object_again(const struct side_record *r)
{
	uint32_t id = object_of_record(&table, r);

	ck_assert_int_eq(get(id)->state, OBJECT_OPEN);
	return id;
}

/* As cp does: the inode stays, and descriptors and mappings show the new content. The old one gets no names and no table from it. */
START_TEST(written_again_in_place)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	uint32_t id = object_again(&r);
	object_ref(&table, id);
	shell_do("cp \"$(readlink -f /bin/false)\" %s; echo >>%s", program, program);
	uint32_t later = object_again(&r);
	ck_assert_uint_ne(later, id);
	ck_assert_int_eq(object_fd(&table, get(id)), -1);
	ck_assert(get(id)->is_rewritten);
	ck_assert_int_ge(object_fd(&table, get(later)), 0);
	shell_do("cp \"$(readlink -f /bin/true)\" %s", program);
	ck_assert_int_eq(object_fd(&table, get(later)), -1); /* it was not mapped since */
	ck_assert_int_eq(object_fd(&table, get(id)), -1);
	munmap(addr, 4096);
	teardown();
}
END_TEST

/* Many records of one reading map a file: it is compared once, before the next reading again. */
START_TEST(one_look_in_a_reading)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	object_begin_reading(&table);
	uint32_t id = object_again(&r);
	ck_assert_uint_eq(object_again(&r), id);
	object_begin_reading(&table);
	ck_assert_uint_eq(object_again(&r), id);
	shell_do("cp \"$(readlink -f /bin/false)\" %s; echo >>%s", program, program);
	ck_assert_uint_eq(object_again(&r), id); /* a record that is older than the change */
	object_begin_reading(&table);
	ck_assert_uint_ne(object_again(&r), id);
	ck_assert(get(id)->is_rewritten);
	munmap(addr, 4096);
	teardown();
}
END_TEST

static struct object *used(const struct side_record *r)
{
	const struct object_place place = { getpid(), r->start, r->start + r->len, 0 };

	return object_use(&table, object_of_record(&table, r), &place);
}

/* Its copies have their own files. */
START_TEST(copy_of_a_file_that_is_written_again)
{
	setup(10);
	void *addr[2];
	char copy[64];

	snprintf(copy, sizeof copy, "%s/copy", dir);
	shell_do("cp %s %s", program, copy);
	struct side_record a = mapped(program, &addr[0]), b = mapped(copy, &addr[1]);
	struct object *first = used(&a);
	uint32_t id = object_of_record(&table, &b);
	object_ref(&table, first->id);
	object_ref(&table, id);
	ck_assert_ptr_eq(used(&b), first);
	shell_do("cp \"$(readlink -f /bin/false)\" %s; echo >>%s", program, program);
	ck_assert_int_eq(object_fd(&table, first), -1);
	ck_assert(map_get(&table.parted, id));
	struct object *second = used(&b);
	ck_assert_ptr_eq(second, get(id));
	ck_assert(same_content(object_fd(&table, second), copy));
	ck_assert(same_content(object_fd(&table, second), "$(readlink -f /bin/true)"));
	object_unref(&table, first->id);
	object_unref(&table, id);
	munmap(addr[0], 4096);
	munmap(addr[1], 4096);
	teardown();
}
END_TEST

/* The copy has no names of the first file. */
START_TEST(copy_that_is_written_again)
{
	setup(10);
	void *addr[2];
	char copy[64];

	snprintf(copy, sizeof copy, "%s/copy", dir);
	shell_do("cp %s %s", program, copy);
	struct side_record a = mapped(program, &addr[0]), b = mapped(copy, &addr[1]);
	struct object *first = used(&a);
	uint32_t id = object_of_record(&table, &b);
	object_ref(&table, id);
	ck_assert_ptr_eq(used(&b), first);
	shell_do("touch %s", copy);
	ck_assert_ptr_eq(used(&b), first);
	shell_do("cp \"$(readlink -f /bin/false)\" %s; echo >>%s", copy, copy);
	struct object *later = used(&b);
	ck_assert_ptr_ne(later, first);
	ck_assert(same_content(object_fd(&table, later), copy));
	ck_assert(get(id)->is_rewritten);
	ck_assert_uint_eq(get(id)->same_as, OBJECT_NONE);
	ck_assert_int_ge(object_fd(&table, first), 0);
	object_unref(&table, id);
	munmap(addr[0], 4096);
	munmap(addr[1], 4096);
	teardown();
}
END_TEST

/* Its record is read when the file has another content: the mapping had another one. */
START_TEST(written_before_its_record_was_read)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	r.time_ns = clock_mono_ns();
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL); /* times of files are coarse */
	shell_do("cp \"$(readlink -f /bin/false)\" %s", program);
	uint32_t early = object_of_record(&table, &r);
	ck_assert(get(early)->is_rewritten);
	ck_assert_int_eq(object_fd(&table, get(early)), -1);
	r.time_ns = clock_mono_ns() + 20000000;
	uint32_t later = object_again(&r);
	ck_assert_uint_ne(later, early);
	ck_assert_uint_eq(object_again(&r), later);
	munmap(addr, 4096);
	teardown();
}
END_TEST

START_TEST(same_content_is_the_same_file)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	uint32_t id = object_again(&r);
	shell_do("touch %s; chmod 700 %s", program, program);
	ck_assert_uint_eq(object_again(&r), id);
	shell_do("cp \"$(readlink -f /bin/true)\" %s", program);
	ck_assert_uint_eq(object_again(&r), id);
	shell_do("rm %s", program);
	ck_assert_int_ge(object_fd(&table, get(id)), 0);
	munmap(addr, 4096);
	teardown();
}
END_TEST

/* By another name, as through a link, a file that is open is the same. */
START_TEST(open_file_by_another_name)
{
	setup(10);
	void *addr;
	struct side_record r = mapped(program, &addr);
	struct proc_map m = { .start = r.start,
			      .end = r.start + 4096,
			      .maj = r.maj,
			      .min = r.min,
			      .ino = r.ino,
			      .name = "/link" };
	r.ino_generation = 1;
	uint32_t id = object_of_record(&table, &r);
	ck_assert_int_eq(get(id)->state, OBJECT_OPEN);
	ck_assert_uint_eq(object_of_map(&table, getpid(), &m), id);
	munmap(addr, 4096);
	teardown();
}
END_TEST

static struct proc_map map_of(const struct side_record *r, const char *name)
{
	return (struct proc_map){ .start = r->start,
				  .end = r->start + r->len,
				  .maj = r->maj,
				  .min = r->min,
				  .ino = r->ino,
				  .name = name };
}

/* Processes of two mount namespaces map one file by two paths, and its descriptor is closed: each
 * path stays one object, which is not opened again at each snapshot. */
START_TEST(closed_file_by_two_names)
{
	setup(1);
	void *addr, *other_addr;
	struct side_record r = mapped(program, &addr), other = mapped("/bin/sh", &other_addr);
	struct proc_map by_path = map_of(&r, program), by_link = map_of(&r, "/link");
	struct object_place place = { getpid(), r.start, r.start + r.len, 0 };
	uint32_t one = object_of_map(&table, getpid(), &by_path);
	object_ref(&table, one);
	object_use(&table, one, &place);
	object_of_record(&table, &other);
	ck_assert_int_eq(get(one)->state, OBJECT_CLOSED);
	uint32_t two = object_of_map(&table, getpid(), &by_link);
	object_ref(&table, two);
	ck_assert_uint_ne(two, one);
	uint32_t n = table.n;
	for (int snapshot = 0; snapshot < 3; snapshot++) {
		ck_assert_uint_eq(object_of_map(&table, getpid(), &by_path), one);
		ck_assert_uint_eq(object_of_map(&table, getpid(), &by_link), two);
	}
	ck_assert_uint_eq(table.n, n);
	/* Unmapped, its number may be that of another file. */
	object_unref(&table, two);
	ck_assert_uint_eq(object_of_map(&table, getpid(), &by_path), one);
	object_unref(&table, one);
	ck_assert_int_eq(get(object_of_map(&table, getpid(), &by_path))->state, OBJECT_NEW);
	munmap(addr, 4096);
	munmap(other_addr, 4096);
	teardown();
}
END_TEST

/* Requests the file from a worker, as for a process that cannot be read just then. */
static void ask_worker(uint32_t id, const struct side_record *r)
{
	const struct mapped_file file = { .pid = getpid(),
					  .start = r->start,
					  .end = r->start + r->len,
					  .path = program,
					  .maj = r->maj,
					  .min = r->min,
					  .ino = r->ino };
	struct object *o = get(id);

	o->state = OBJECT_AWAITED;
	o->awaited = far_files_ask(table.far, &file);
	ck_assert_uint_ne(o->awaited, 0);
	map_put(&table.awaited, o->awaited, id);
}

static void await_worker(uint32_t id)
{
	for (int i = 0; i < 60000 && get(id)->state == OBJECT_AWAITED; i++) {
		object_take_far(&table);
		poll(NULL, 0, 1);
	}
	ck_assert_int_ne(get(id)->state, OBJECT_AWAITED);
}

/* A file that a worker has opened is written again: before it comes, and after that. */
START_TEST(written_again_while_a_worker_opens_it)
{
	for (int comes_first = 0; comes_first < 2; comes_first++) {
		struct helper *helper;
		setup(10);
		ck_assert_int_eq(helper_new(&helper), 0);
		table.far = far_files_new(helper);
		void *addr;
		struct side_record r = mapped(program, &addr);
		struct proc_map m = map_of(&r, program);
		uint32_t id = object_of_map(&table, getpid(), &m);
		object_ref(&table, id);
		if (comes_first) {
			ask_worker(id, &r);
			await_worker(id);
			ck_assert_int_eq(get(id)->state, OBJECT_OPEN);
		}
		/* A file's time is the kernel's last tick. */
		poll(NULL, 0, 20);
		shell_do("cp \"$(readlink -f /bin/false)\" %s; echo >>%s", program, program);
		if (comes_first) {
			object_begin_reading(&table);
			ck_assert_uint_ne(object_of_record(&table, &r), id);
		} else {
			ask_worker(id, &r);
			await_worker(id);
		}
		ck_assert(get(id)->is_rewritten);
		ck_assert_int_eq(object_fd(&table, get(id)), -1);
		munmap(addr, 4096);
		struct far_files *far = table.far;
		teardown();
		far_files_free(far);
		helper_free(helper);
	}
}
END_TEST

UNIT_MAIN("object_inode", inode_used_again, inode_used_again_unknown, written_again_in_place,
	  one_look_in_a_reading, written_before_its_record_was_read, same_content_is_the_same_file,
	  copy_of_a_file_that_is_written_again, copy_that_is_written_again,
	  open_file_by_another_name, closed_file_by_two_names,
	  written_again_while_a_worker_opens_it)
