// tier: test
#include "profile/frame.h"
#include "profile/profile.h"
#include "unit.h"

struct made {
	uint64_t offset;
	const char *name; /* NULL: none */
};

/* A profile of one file. id: all bytes of its build id, or 0. origin: where names come from. */
static struct profile *file(const char *path, uint8_t id, const char *origin,
			    const struct made *frames, size_t n)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, path), .build_id_len = id ? 20 : 0 };
	memset(m.build_id, id, m.build_id_len);
	uint32_t mapping = s->ops->mapping(s, &m);
	for (size_t i = 0; i < n; i++) {
		struct frame f = { .mapping = mapping, .offset = frames[i].offset };
		uint32_t frame = s->ops->frame(s, &f);
		if (!frames[i].name)
			continue;
		struct function fn = { .name = sink_string(s, frames[i].name) };
		struct line line = { .function = s->ops->function(s, &fn) };
		s->ops->names(s, frame, &line, 1);
	}
	if (origin)
		s->ops->origin(s, mapping, sink_string(s, origin), n);
	return p;
}
#define FILE_OF(path, id, origin, ...) \
	file(path, id, origin, (const struct made[]){ __VA_ARGS__ }, \
	     sizeof((const struct made[]){ __VA_ARGS__ }) / sizeof(struct made))

static void join(struct profile *all, struct profile *one)
{
	profile_merge_file(all, one);
	profile_free(one);
}

/* All frames: "path:name ", with * if the file has a build id. */
static const char *said(struct profile *p)
{
	static char out[512];
	struct shown_line line;
	size_t len = 0;
	for (uint32_t i = 0; i < p->frames.frames.n; i++) {
		struct mapping m = p->frames.mappings.v[p->frames.frames.v[i].mapping];
		profile_frame_lines(p, i, &line, 1);
		len += snprintf(out + len, sizeof out - len, "%s%s:%s ", profile_str(p, m.name),
				m.build_id_len ? "*" : "", profile_str(p, line.name));
	}
	return out;
}

START_TEST(names_of_two_files_with_one_build_id_stay)
{
	struct profile *p = FILE_OF("/b/one", 1, NULL, { 1, "read" }, { 2, "main" }, { 3, "x" });
	join(p, FILE_OF("/a/two", 1, NULL, { 2, "main" }, { 1, "write" }, { 3, NULL }));
	ck_assert_str_eq(said(p), "/b/one*:read /b/one*:main /b/one*:x "
				  "/a/two:main /a/two:write /a/two:two+0x3 ");
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 1);
	profile_free(p);
}
END_TEST

START_TEST(each_file_is_found_again)
{
	struct profile *p = FILE_OF("one", 1, NULL, { 1, "read" });
	join(p, FILE_OF("two", 1, NULL, { 1, "write" }));
	join(p, FILE_OF("two", 1, NULL, { 1, "write" }));
	join(p, FILE_OF("two", 1, NULL, { 1, "send" }));
	join(p, FILE_OF("one", 1, NULL, { 1, "read" }));
	join(p, FILE_OF("two", 1, NULL, { 1, "send" }));
	ck_assert_str_eq(said(p), "one*:read two:write two:send ");
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 2);
	profile_free(p);
}
END_TEST

START_TEST(merged_files_are_merged_again)
{
	struct profile *p = FILE_OF("one", 1, NULL, { 1, "read" });
	struct profile *q = FILE_OF("two", 1, NULL, { 1, "write" });
	join(p, FILE_OF("two", 1, NULL, { 1, "write" }));
	join(q, FILE_OF("one", 1, NULL, { 1, "read" }));
	join(p, q);
	ck_assert_str_eq(said(p), "one*:read two:write one:read ");
	profile_free(p);
}
END_TEST

START_TEST(a_stripped_copy_has_the_names_of_the_other)
{
	struct profile *p = FILE_OF("/b/one", 1, NULL, { 1, "read" }, { 2, NULL });
	join(p, FILE_OF("/a/bare", 1, NULL, { 2, NULL }, { 1, NULL }));
	join(p, FILE_OF("/b/one", 1, NULL, { 2, "main" }));
	ck_assert_str_eq(said(p), "/b/one*:read /b/one*:main ");
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 0);
	profile_free(p);
}
END_TEST

/* … unless there are two files that it may be a copy of, at another path. */
START_TEST(a_stripped_copy_of_one_of_two_has_no_names)
{
	struct profile *p = FILE_OF("one", 1, NULL, { 1, "read" });
	join(p, FILE_OF("two", 1, NULL, { 1, "write" }));
	join(p, FILE_OF("three", 1, NULL, { 1, NULL }));
	const char *three = "one*:read two:write three:three+0x1 ";
	ck_assert_str_eq(said(p), three);
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 2);
	join(p, FILE_OF("one", 1, NULL, { 1, NULL }));
	join(p, FILE_OF("two", 1, NULL, { 1, NULL }));
	join(p, FILE_OF("three", 1, NULL, { 1, NULL }));
	ck_assert_str_eq(said(p), three);
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 2);
	profile_free(p);
}
END_TEST

static struct profile *all_of(struct profile **files, size_t n)
{
	struct profile *p = files[0];
	for (size_t i = 0; i < n; i++)
		profile_part_nameless(files[i]);
	for (size_t i = 1; i < n; i++)
		join(p, files[i]);
	return profile_join_nameless(p);
}

/* The order of the files does not matter. */
START_TEST(a_stripped_copy_before_the_others_has_no_names)
{
	static const struct {
		const char *path, *want;
		int losses;
	} rows[] = {
		{ "three", "three:three+0x1 one*:read two:write ", 2 },
		{ "one", "one*:read two:write ", 1 },
		{ "two", "two:write one*:read ", 1 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct profile *p =
			all_of((struct profile *[]){ FILE_OF(rows[i].path, 1, NULL, { 1, NULL }),
						     FILE_OF("one", 1, NULL, { 1, "read" }),
						     FILE_OF("two", 1, NULL, { 1, "write" }) },
			       3);
		ck_assert_str_eq(said(p), rows[i].want);
		ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], rows[i].losses);
		profile_free(p);
	}
}
END_TEST

START_TEST(stripped_copies_of_one_file_have_its_names)
{
	struct profile *p =
		all_of((struct profile *[]){ FILE_OF("three", 1, NULL, { 1, NULL }, { 2, NULL }),
					     FILE_OF("four", 1, NULL, { 1, NULL }),
					     FILE_OF("one", 1, NULL, { 1, "read" }) },
		       3);
	ck_assert_str_eq(said(p), "one*:read one*:one+0x2 ");
	profile_free(p);
	p = all_of((struct profile *[]){ FILE_OF("three", 1, NULL, { 1, NULL }),
					 FILE_OF("four", 1, NULL, { 1, NULL }) },
		   2);
	ck_assert_str_eq(said(p), "four*:four+0x1 ");
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 0);
	profile_free(p);
}
END_TEST

/* Exported names can be aliases of those in the full table. */
START_TEST(only_aliases_of_a_stripped_library_stay_apart)
{
	struct profile *p = FILE_OF("libc", 1, ".dynsym", { 1, "malloc" }, { 2, NULL });
	join(p, FILE_OF("libc", 1, "debug file", { 1, "__libc_malloc" }, { 2, "inner" }));
	ck_assert_str_eq(said(p), "libc*:malloc libc*:inner libc:__libc_malloc ");
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 0);
	profile_free(p);
}
END_TEST

/* So can names of debug information be. */
START_TEST(only_aliases_of_a_library_stay_apart)
{
	struct profile *p =
		FILE_OF("libc", 1, ".symtab", { 1, "malloc" }, { 2, "read" }, { 3, "x" });
	join(p,
	     FILE_OF("libc", 1, "debug file", { 1, "__libc_malloc" }, { 2, "read" }, { 3, "x" }));
	ck_assert_str_eq(said(p), "libc*:malloc libc*:read libc*:x libc:__libc_malloc ");
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 0);
	profile_free(p);
}
END_TEST

START_TEST(two_files_at_one_path_stay_apart)
{
	struct profile *p = FILE_OF("/srv/app", 0, NULL, { 1, "read" });
	join(p, FILE_OF("/srv/app", 0, NULL, { 1, "write" }));
	ck_assert_str_eq(said(p), "/srv/app:read /srv/app:write ");
	ck_assert_uint_eq(p->frames.mappings.n, 2);
	ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], 0);
	profile_free(p);
}
END_TEST

UNIT_MAIN("merge_files", names_of_two_files_with_one_build_id_stay, each_file_is_found_again,
	  merged_files_are_merged_again, a_stripped_copy_has_the_names_of_the_other,
	  a_stripped_copy_of_one_of_two_has_no_names,
	  a_stripped_copy_before_the_others_has_no_names,
	  stripped_copies_of_one_file_have_its_names, only_aliases_of_a_stripped_library_stay_apart,
	  only_aliases_of_a_library_stay_apart, two_files_at_one_path_stay_apart)
