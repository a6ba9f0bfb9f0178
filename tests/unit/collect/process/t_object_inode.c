// tier: test
/* Objects of files that are known by their inode: used again, open, by several names. */
#include "object_world.h"

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

UNIT_MAIN("object_inode", inode_used_again, inode_used_again_unknown, open_file_by_another_name,
	  closed_file_by_two_names)
