// tier: test
/* Stacks that perf left unwound: unwound as by perf, and only with the file that was running. */
#include "rand.h"
#include "shell.h"
#include "unit.h"

#include "collect/resolve/local.h"
#include "collect/walker/stack_copy.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "unwind/walk.h"

#include <inttypes.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define GOLDEN "tests/golden/perf-data/"
#define DEEP   GOLDEN "deep"

/* --- a recording ------------------------------------------------------------------------------ */

static struct profile *read_golden(struct local_stacks *l)
{
	struct format_here here = { .host = "", .walk_stack = local_stacks_walk, .stacks = l };
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = format_read_file_here(GOLDEN "dwarf.data.gz", NULL, profile_sink(p), &here, NULL,
				       &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	return p;
}

/* As printed by perf script: addresses, leaf first; perf prints -1 where the copy of the stack ends. */
static void add_stack(struct profile *p, uint32_t stack, struct buf *b)
{
	uint32_t frames[256], n = stack_depth(&p->stacks, stack);
	ck_assert_uint_le(n, 256);
	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = n; i-- > 0;) {
		const struct frame *f = &p->frames.frames.v[frames[i]];
		if (f->kind == FRAME_MARKER)
			ck_assert_str_eq(profile_str(p, f->function),
					 "[truncated: stack not sent]");
		buf_addf(b, "%" PRIx64 "%s", f->kind == FRAME_MARKER ? UINT64_MAX : f->offset,
			 i ? " " : "\n");
	}
}

/* perf's cache has the file, whatever is at the original path. */
START_TEST(as_perf_walks_them)
{
	char dir[32];
	struct buf ours = { 0 };
	temp_dir(dir);
	struct local_stacks l = { .home = dir };
	shell_do("id=$(readelf -n " DEEP " | sed -n 's/.*Build ID: //p'); "
		 "kept=%s/.debug/.build-id/${id%%${id#??}}/${id#??}; mkdir -p $kept; cp " DEEP
		 " $kept/elf",
		 dir);
	struct profile *p = read_golden(&l);
	for (size_t i = 0; i < p->samples.n; i++)
		add_stack(p, p->samples.stack[i], &ours);
	char *perf = shell("cat " GOLDEN "dwarf.stacks");
	ck_assert_str_eq(buf_cstr(&ours), perf);
	ck_assert_uint_eq(l.ends[LOCAL_STACKS_WALKED].n, p->samples.n);
	free(perf);
	buf_done(&ours);
	profile_free(p);
	local_stacks_done(&l);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(a_file_that_is_not_here)
{
	struct local_stacks l = { 0 };
	struct profile *p = read_golden(&l);
	uint32_t frames[2];
	for (size_t i = 0; i < p->samples.n; i++) {
		ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[i]), 2);
		stack_frames(&p->stacks, p->samples.stack[i], frames);
		const struct frame *root = &p->frames.frames.v[frames[0]];
		ck_assert_str_eq(profile_str(p, root->function), USER_STACK_NOT_WALKED);
	}
	ck_assert_uint_eq(l.ends[LOCAL_STACKS_MISSING].n, p->samples.n);
	ck_assert_str_eq(l.ends[LOCAL_STACKS_MISSING].example, "/tmp/cresset-golden/deep");
	profile_free(p);
	local_stacks_done(&l);
}
END_TEST

/* --- one stack -------------------------------------------------------------------------------- */

enum { BP = 6, SP = 7, IP = 8 };
#define ALL_REGS 0xff0fffull
#define TEXT     0x400000ull
#define STACK    0x7ffe00001000ull

static uint64_t words[64];

/* At the entry of burn, called by _start. */
static struct user_stack stack_of(bool (*find)(const void *, uint64_t, struct user_map *),
				  const void *space)
{
	struct user_stack s = {
		.machine = USER_MACHINE_X86_64,
		.has_regs = ALL_REGS,
		.stack = words,
		.stack_bytes = sizeof words,
		.find = find,
		.space = space,
	};
	char *start = shell("nm " DEEP " | awk '$3 == \"_start\" { print $1 }'");
	char *burn = shell("nm " DEEP " | awk '$3 == \"burn\" { print $1 }'");
	words[0] = strtoull(start, NULL, 16) + 7;
	s.regs[SP] = STACK;
	s.regs[IP] = strtoull(burn, NULL, 16);
	free(start);
	free(burn);
	return s;
}

static bool find_file(const void *space, uint64_t addr, struct user_map *out)
{
	*out = (struct user_map){ TEXT, TEXT + 0x1000, 0, *(const struct user_file *)space };
	return addr - TEXT < 0x1000;
}

static bool find_memory(const void *space, uint64_t addr, struct user_map *out)
{
	(void)space;
	*out = (struct user_map){ .start = TEXT, .end = TEXT + 0x1000 };
	return addr - TEXT < 0x1000;
}

static void check_end(const struct user_file *file, enum local_stacks_end end)
{
	struct local_stacks l = { 0 };
	struct user_stack s = stack_of(find_file, file);
	for (int i = 0; i < 2; i++) {
		struct user_walk w = local_stacks_walk(&l, &s);
		ck_assert_uint_eq(w.addr[0], s.regs[IP]);
		ck_assert_uint_eq(w.n, end ? 1 : 2);
		if (end)
			ck_assert_str_eq(w.marker, USER_STACK_NOT_WALKED);
		else
			ck_assert_ptr_null(w.marker);
	}
	ck_assert_uint_eq(l.tables.n, 1);
	ck_assert_uint_eq(l.ends[end].n, 2);
	ck_assert_int_eq(l.ends[end].example != NULL, end != LOCAL_STACKS_WALKED);
	local_stacks_done(&l);
}

/* A known build id must be the file's; without one, the inode and its generation must match. */
START_TEST(only_by_the_file_that_was_running)
{
	char *here = shell("pwd");
	struct stat st;
	here[strcspn(here, "\n")] = '\0';
	ck_assert_int_eq(stat(DEEP, &st), 0);
	char deep[4096], text[4096], directory[4096];
	snprintf(deep, sizeof deep, "%s/" DEEP, here);
	snprintf(text, sizeof text, "%s/" GOLDEN "deep.c", here);
	snprintf(directory, sizeof directory, "%s/" GOLDEN, here);
	struct user_file f = { .path = deep, .inode = st.st_ino };
	check_end(&f, LOCAL_STACKS_WALKED);
	f.build_id = (const uint8_t *)"not the build id of it";
	f.build_id_len = 20;
	check_end(&f, LOCAL_STACKS_DIFFERS);
	check_end(&(struct user_file){ .path = deep, .inode = st.st_ino + 1 },
		  LOCAL_STACKS_DIFFERS);
	unsigned generation = 0;
	int fd = file_open(DEEP);
	bool has_generation = ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
	close(fd);
	f = (struct user_file){ .path = deep, .inode = st.st_ino, .generation = generation };
	check_end(&f, LOCAL_STACKS_WALKED);
	f.generation = generation + 1;
	check_end(&f, has_generation ? LOCAL_STACKS_DIFFERS : LOCAL_STACKS_WALKED);
	check_end(&(struct user_file){ .path = deep }, LOCAL_STACKS_UNVERIFIED);
	check_end(&(struct user_file){ .path = "[vdso]" }, LOCAL_STACKS_UNVERIFIED);
	check_end(&(struct user_file){ .path = "/nonexistent/deep", .inode = 1 },
		  LOCAL_STACKS_MISSING);
	check_end(&(struct user_file){ .path = "deep", .inode = st.st_ino }, LOCAL_STACKS_MISSING);
	ck_assert_int_eq(stat(GOLDEN, &st), 0);
	check_end(&(struct user_file){ .path = directory, .inode = st.st_ino },
		  LOCAL_STACKS_UNREADABLE);
	ck_assert_int_eq(stat(GOLDEN "deep.c", &st), 0);
	check_end(&(struct user_file){ .path = text, .inode = st.st_ino }, LOCAL_STACKS_UNREADABLE);
	free(here);
}
END_TEST

START_TEST(stacks_that_cannot_be_walked)
{
	static const struct {
		enum user_machine machine;
		uint64_t regs;
		enum local_stacks_end end;
		const char *marker;
	} cases[] = {
		{ USER_MACHINE_OTHER, ALL_REGS, LOCAL_STACKS_MACHINE, USER_STACK_NOT_WALKED },
		{ USER_MACHINE_X86, ALL_REGS, LOCAL_STACKS_MACHINE, "[truncated: 32-bit]" },
		{ USER_MACHINE_X86_64, 0, LOCAL_STACKS_REGISTERS, USER_STACK_NOT_WALKED },
		{ USER_MACHINE_X86_64, ALL_REGS & ~(1ull << BP), LOCAL_STACKS_REGISTERS,
		  USER_STACK_NOT_WALKED },
		{ USER_MACHINE_X86_64, ALL_REGS & ~(1ull << 23), LOCAL_STACKS_REGISTERS,
		  USER_STACK_NOT_WALKED },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct local_stacks l = { 0 };
		struct user_stack s = stack_of(find_memory, NULL);
		s.machine = cases[i].machine;
		s.has_regs = cases[i].regs;
		struct user_walk w = local_stacks_walk(&l, &s);
		ck_assert_uint_eq(w.n, 0);
		ck_assert_str_eq(w.marker, cases[i].marker);
		ck_assert_uint_eq(l.ends[cases[i].end].n, 1);
		local_stacks_done(&l);
	}
}
END_TEST

/* Code without a file has frame pointers or nothing. */
START_TEST(memory_without_a_file)
{
	struct local_stacks l = { 0 };
	struct user_stack s = stack_of(find_memory, NULL);
	s.regs[BP] = STACK + 16;
	words[2] = 0;
	words[3] = TEXT + 0x20;
	struct user_walk w = local_stacks_walk(&l, &s);
	ck_assert_uint_eq(w.n, 2);
	ck_assert_uint_eq(w.addr[1], TEXT + 0x1f);
	ck_assert_ptr_null(w.marker);
	s.regs[BP] = 1;
	w = local_stacks_walk(&l, &s);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_str_eq(w.marker, "[truncated: no frame pointer]");
	local_stacks_done(&l);
}
END_TEST

/* In files with unwind rules, code without a rule has no frame, or one word: a word on the stack is a return address if the code before it is a
 * call. */
START_TEST(code_shows_return_addresses)
{
	char deep[4096];
	struct stat st;
	ck_assert_int_eq(stat(DEEP, &st), 0);
	struct user_file file = { .path = realpath(DEEP, deep), .inode = st.st_ino };
	struct local_stacks l = { 0 };
	struct user_stack s = stack_of(find_file, &file);
	uint64_t called = words[0];
	s.regs[IP] = TEXT + 0x300; /* behind all functions */
	for (int i = 0; i < 3; i++) {
		words[0] = i == 0 ? called : called + 1;
		words[1] = i == 1 ? called : 0;
		struct user_walk w = local_stacks_walk(&l, &s);
		ck_assert_uint_eq(w.n, i < 2 ? 2 : 1);
		ck_assert_uint_eq(w.addr[0], s.regs[IP]);
		if (i < 2)
			ck_assert_uint_eq(w.addr[1], called - 1);
		ck_assert_ptr_null(w.marker);
	}
	local_stacks_done(&l);
}
END_TEST

/* --- the copy --------------------------------------------------------------------------------- */

START_TEST(a_copy_of_a_stack)
{
	const uint64_t data[] = { 10, 11 };
	struct stack_copy s = {
		.sp = STACK, .fp = 99, .data = (const uint8_t *)data, .size_bytes = sizeof data
	};
	uint64_t pair[2];
	ck_assert(stack_copy_read(&s, pair, 16, STACK));
	ck_assert_uint_eq(pair[1], 11);
	/* An epilogue has popped the frame pointer. */
	ck_assert(stack_copy_read(&s, pair, 16, STACK - 8));
	ck_assert_uint_eq(pair[0], 99);
	ck_assert_uint_eq(pair[1], 10);
	ck_assert(stack_copy_read(&s, pair, 8, STACK - 128));
	ck_assert(!stack_copy_read(&s, pair, 8, STACK - 136));
	ck_assert_int_eq(stack_copy_end(&s, WALK_UNREADABLE), WALK_UNREADABLE);
	ck_assert(!stack_copy_read(&s, pair, 16, STACK + 8));
	ck_assert_int_eq(stack_copy_end(&s, WALK_UNREADABLE), WALK_CUT);
	ck_assert_int_eq(stack_copy_end(&s, WALK_COMPLETE), WALK_COMPLETE);
	s.is_whole = true;
	ck_assert(!stack_copy_read(&s, pair, 8, STACK + 16));
	ck_assert_int_eq(stack_copy_end(&s, WALK_UNREADABLE), WALK_UNREADABLE);
	ck_assert(!stack_copy_read(&s, pair, 8, STACK + (16 << 20)));
	ck_assert(!stack_copy_read(&s, pair, 8, UINT64_MAX - 3));
}
END_TEST

/* --- anything --------------------------------------------------------------------------------- */

struct odd_space {
	struct rng rng;
	struct user_file files[2];
};

/* Overlapping and changing mappings, with any offset; some with a table. */
static bool find_odd(const void *space, uint64_t addr, struct user_map *out)
{
	struct rng *r = &((struct odd_space *)space)->rng;
	uint64_t kind = rng_below(r, 8);
	*out = (struct user_map){ .start = addr - rng_below(r, 4096),
				  .end = addr + rng_below(r, 4096) };
	out->pgoff = kind == 5 ? rng_next(r) : rng_below(r, 1 << 20);
	if (kind < 6)
		out->file = ((const struct odd_space *)space)->files[kind != 0];
	return kind != 7;
}

START_TEST(any_registers_stack_and_mappings)
{
	char *lib = shell("grep -om1 '/.*libc[.-].*' /proc/self/maps");
	char *here = shell("pwd");
	char deep[4096];
	struct stat st;
	lib[strcspn(lib, "\n")] = here[strcspn(here, "\n")] = '\0';
	snprintf(deep, sizeof deep, "%s/" DEEP, here);
	ck_assert_int_eq(stat(DEEP, &st), 0);
	struct odd_space space = { .rng = { 7 } };
	space.files[0] = (struct user_file){ .id = 0, .path = deep, .inode = st.st_ino };
	ck_assert_int_eq(stat(lib, &st), 0);
	space.files[1] = (struct user_file){ .id = 1, .path = lib, .inode = st.st_ino };
	struct local_stacks l = { 0 };
	struct user_stack s = stack_of(find_odd, &space);
	uint64_t frames = 0;
	for (int i = 0; i < 20000; i++) {
		for (int k = 0; k < USER_REGS; k++)
			s.regs[k] = k % 4 != 1 ? STACK + rng_below(&space.rng, 512)
					       : rng_next(&space.rng);
		for (int k = 0; k < 64; k++)
			words[k] = k & 1 ? rng_below(&space.rng, 1 << 22)
					 : STACK + rng_below(&space.rng, 1024);
		s.stack_bytes = rng_below(&space.rng, sizeof words + 1);
		s.regs[SP] = i % 5 ? STACK : rng_next(&space.rng);
		struct user_walk w = local_stacks_walk(&l, &s);
		ck_assert_uint_le(w.n, 2 + s.stack_bytes / 8);
		ck_assert_uint_gt(w.n, 0);
		ck_assert_uint_eq(w.addr[0], s.regs[IP] & INT64_MAX);
		frames += w.n;
	}
	ck_assert_uint_gt(frames, 25000);
	ck_assert_uint_eq(l.ends[LOCAL_STACKS_WALKED].n, 20000);
	local_stacks_done(&l);
	free(lib);
	free(here);
}
END_TEST

UNIT_MAIN("local_stacks", as_perf_walks_them, a_file_that_is_not_here,
	  only_by_the_file_that_was_running, stacks_that_cannot_be_walked, memory_without_a_file,
	  code_shows_return_addresses, a_copy_of_a_stack, any_registers_stack_and_mappings)
