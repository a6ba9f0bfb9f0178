// tier: test
/* Walks over made stacks, of frames on other stacks and of frames that go round. The code is assembled with the rules that a case needs; each of its
 * functions is 16 bytes long, and memory is two arrays, one far above the other. */
#include "shell.h"
#include "unit.h"

#include "bpf/space.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/table.h"
#include "unwind/walk.h"

/* Functions by number; each address is inside. */
enum { BY_FP, BY_SP, OUTERMOST, FUNCTIONS };
enum { WORDS = 64, MAX_FRAMES = 4096, JIT = 0x20000 };
static const uint64_t low = 0x4000000, high = 0x7f0000000000;

static const char source[] = ".globl _start\n_start:\n"
			     ".p2align 4\n.cfi_startproc\n.cfi_def_cfa 6, 16\n.cfi_offset 6, -16\n"
			     ".skip 16\n.cfi_endproc\n"
			     ".p2align 4\n.cfi_startproc\n.skip 16\n.cfi_endproc\n"
			     ".p2align 4\n.cfi_startproc\n.cfi_undefined 16\n.skip 16\n"
			     ".cfi_endproc\n";

struct made {
	char dir[32];
	struct unwind_table table;
	struct space_table kernel;
	struct space_mapping code, jit; /* jit: made at run time */
	uint64_t low[WORDS], high[WORDS];
};

static bool made_read(void *ctx, void *to, size_t size, uint64_t address)
{
	struct made *m = ctx;
	const char *from = NULL;

	if (address - low <= sizeof m->low - size)
		from = (const char *)m->low + (address - low);
	else if (address - high <= sizeof m->high - size)
		from = (const char *)m->high + (address - high);
	if (from)
		memcpy(to, from, size);
	return from != NULL;
}

static bool made_find(void *ctx, uint64_t address, struct space_mapping *out)
{
	const struct made *m = ctx;

	*out = address >= m->jit.start ? m->jit : m->code;
	return address >= out->start && address < out->end;
}

static struct space_table *made_table(void *ctx, uint32_t index)
{
	struct made *m = ctx;

	return index == 1 ? &m->kernel : NULL;
}

static const void *made_chunk(void *ctx, uint32_t chunk)
{
	const struct buf *image = &((struct made *)ctx)->table.image;

	return chunk < image->len / UNWIND_CHUNK ? image->data + (size_t)chunk * UNWIND_CHUNK
						 : NULL;
}

static void made_begin(struct made *m)
{
	struct elf_file f;
	struct elf_layout l = { 0 };
	uint64_t offset;
	char path[64];

	*m = (struct made){ 0 };
	temp_dir(m->dir);
	snprintf(path, sizeof path, "%s/a", m->dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, source, sizeof source - 1), sizeof source - 1);
	close(fd);
	shell_do("cd %s && as -o a.o a && ld -Ttext=0x10000 -o a a.o", m->dir);
	fd = file_open(path);
	ck_assert_int_eq(unwind_table_build(fd, &m->table, NULL), 0);
	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&l, &f, NULL), 0);
	ck_assert(elf_layout_offset(&l, 0x10000, &offset));
	m->code.pgoff = offset;
	elf_layout_done(&l);
	elf_file_close(&f);
	close(fd);
	m->kernel = (struct space_table){ .ref = m->table.ref, .state = TABLE_READY };
	m->code.start = 0x10000;
	m->code.end = 0x10000 + 16 * FUNCTIONS;
	m->code.table = m->code.object = 1;
	m->jit.start = JIT;
	m->jit.end = JIT + 4096;
}

static void made_end(struct made *m)
{
	unwind_table_done(&m->table);
	shell_do("rm -rf %s", m->dir);
}

static uint64_t code_at(int function)
{
	return function == FUNCTIONS ? JIT + 64 : 0x10000 + 16 * function + 8;
}

/* A saved frame pointer and a return address. */
static void put_pair(uint64_t *at, uint64_t fp, uint64_t ra)
{
	at[0] = fp;
	at[1] = ra;
}

static struct unwind_walk walk_from(struct made *m, int function, uint64_t sp, uint64_t fp,
				    uint64_t *frames, struct known_frame *known)
{
	struct unwind_source source = { .ctx = m,
					.read = made_read,
					.find = made_find,
					.table = made_table,
					.chunk = made_chunk,
					.known = known };
	uint64_t regs[PT_REGS_WORDS] = { [PT_IP] = code_at(function), [PT_SP] = sp, [PT_FP] = fp };

	return unwind_walk(&source, regs, frames, MAX_FRAMES);
}

/* A thread's stack is left for a goroutine's far below, and that one for another one above. */
START_TEST(other_stacks)
{
	struct made m;
	uint64_t frames[MAX_FRAMES];
	struct known_frame *known = unwind_known_new();

	made_begin(&m);
	m.high[3] = code_at(BY_FP); /* the leaf's caller switched here */
	put_pair(&m.low[10], high + 8 * 20, code_at(BY_SP));
	m.low[12] = code_at(BY_FP);
	put_pair(&m.high[20], low + 8 * 40, code_at(BY_SP));
	m.high[22] = code_at(BY_FP);
	put_pair(&m.low[40], 0, code_at(OUTERMOST));
	for (int round = 0; round < 2; round++) { /* the second by what the first has found */
		struct unwind_walk w =
			walk_from(&m, BY_SP, high + 8 * 3, low + 8 * 10, frames, known);
		ck_assert_int_eq(w.end, WALK_COMPLETE);
		ck_assert_uint_eq(w.n, 7);
		ck_assert_uint_eq(w.by_table, 6);
	}
	free(known);
	made_end(&m);
}
END_TEST

/* Pairs that lead to each other, with any number of them in a round, after any number of others. */
START_TEST(rounds)
{
	struct made m;
	uint64_t frames[MAX_FRAMES];

	made_begin(&m);
	for (int before = 0; before < 12; before++)
		for (int round = 1; round <= 12; round++) {
			int n = before + round;
			for (int i = 0; i < n; i++) { /* each lies below the one before it */
				int next = i + 1 < n ? i + 1 : before;
				put_pair(&m.low[2 * (n - i)], low + 16 * (n - next),
					 code_at(BY_FP));
			}
			struct unwind_walk w =
				walk_from(&m, BY_FP, high, low + 16 * n, frames, NULL);
			ck_assert_msg(w.end == WALK_ASTRAY, "%d before a round of %d: end %d",
				      before, round, w.end);
			ck_assert_uint_le(w.n, 4 * n + 8);
		}
	made_end(&m);
}
END_TEST

/* What is no frame's place ends the walk at once: a lost frame pointer, one that is not aligned, one whose frame is at the stack pointer. */
START_TEST(no_frames)
{
	struct made m;
	uint64_t frames[MAX_FRAMES];
	static const uint64_t bad[] = { 1, 0x4000101, 0x7f0000000000 - 16 };

	made_begin(&m);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct unwind_walk w = walk_from(&m, BY_FP, high, bad[i], frames, NULL);
		ck_assert_int_eq(w.end, WALK_ASTRAY);
		ck_assert_uint_eq(w.n, 1);
	}
	made_end(&m);
}
END_TEST

/* Code made at run time, whose frame pointer is 0: the end only where a chain of frame pointers leads to it. */
START_TEST(no_end)
{
	struct made m;
	uint64_t frames[MAX_FRAMES];
	enum { MADE = FUNCTIONS };

	made_begin(&m);
	struct unwind_walk w = walk_from(&m, MADE, high, 0, frames, NULL);
	ck_assert_int_eq(w.end, WALK_NO_FP);
	ck_assert_uint_eq(w.n, 1);
	m.high[3] = code_at(MADE);
	w = walk_from(&m, BY_SP, high + 8 * 3, 0, frames, NULL);
	ck_assert_int_eq(w.end, WALK_NO_FP);
	ck_assert_uint_eq(w.n, 2);
	put_pair(&m.high[10], 0, code_at(MADE));
	w = walk_from(&m, MADE, high, high + 8 * 10, frames, NULL);
	ck_assert_int_eq(w.end, WALK_COMPLETE);
	ck_assert_uint_eq(w.n, 2);
	made_end(&m);
}
END_TEST

UNIT_MAIN("walk", other_stacks, rounds, no_frames, no_end)
