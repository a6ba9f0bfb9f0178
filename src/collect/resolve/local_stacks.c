/* Walks stack copies of a profile by the unwind tables of this machine's files. */
#include "collect/resolve/local.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/kernel/walk_end.h"
#include "collect/process/local_file.h"
#include "collect/walker/stack_copy.h"
#include "unwind/walk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const char *const local_stacks_ends[LOCAL_STACKS_ENDS] = {
	[LOCAL_STACKS_WALKED] = "walked",
	[LOCAL_STACKS_MACHINE] = "of another machine than x86-64",
	[LOCAL_STACKS_REGISTERS] = "without all registers",
	[LOCAL_STACKS_MISSING] = "through a file that is not on this machine",
	[LOCAL_STACKS_DIFFERS] = "through a file with another build id here",
	[LOCAL_STACKS_UNVERIFIED] =
		"through a file that the recording has neither build id nor inode of",
	[LOCAL_STACKS_UNREADABLE] = "through a file that cannot be read",
	[LOCAL_STACKS_BUDGET] = "past the memory for unwind tables",
};

/* For each word of struct pt_regs, the number in asm/perf_regs.h of x86-64, which lacks orig_ax. */
enum { PERF_BP = 6, PERF_SP = 7, PERF_IP = 8, NO_REG = 63 };
static const uint8_t perf_regs[PT_REGS_WORDS] = {
	23,      22,      21, 20,              /* r15 … r12 */
	PERF_BP, 1,                            /* bx */
	19,      18,      17, 16,              /* r11 … r8 */
	0,       2,       3,  4,  5,           /* ax, cx, dx, si, di */
	NO_REG,  PERF_IP, 10, 9,  PERF_SP, 11, /* cs, flags, ss */
};
#define PERF_REGS_NEEDED 0xff01ffull /* general-purpose registers, and ip */

void local_stacks_done(struct local_stacks *l)
{
	for (size_t i = 0; i < l->tables.n; i++)
		unwind_table_done(&l->tables.v[i].table);
	for (size_t i = 0; i < LOCAL_STACKS_ENDS; i++)
		free(l->ends[i].example);
	vec_done(&l->tables);
	map_done(&l->by_file);
	vec_done(&l->frames);
	if (l->code.is_open)
		close(l->code.fd);
}

/* --- tables ----------------------------------------------------------------------------------- */

static enum local_stacks_end end_of_error(int rc)
{
	if (rc == -ESTALE)
		return LOCAL_STACKS_DIFFERS;
	return rc == -ENOENT || rc == -ENOTDIR ? LOCAL_STACKS_MISSING : LOCAL_STACKS_UNREADABLE;
}

/* Takes over fd. A file without unwind information, or with unsupported information, has frame
 * pointers or nothing. */
static enum local_stacks_end build_table(struct local_table *t, int fd)
{
	int rc = unwind_table_build(fd, &t->table, NULL);

	close(fd);
	if (rc && rc != -ENODATA && rc != -ENOTSUP)
		return LOCAL_STACKS_UNREADABLE;
	t->kernel.ref = t->table.ref;
	t->kernel.state = rc ? TABLE_NONE : TABLE_READY;
	return LOCAL_STACKS_WALKED;
}

static int open_file(const struct local_stacks *l, const struct user_file *file)
{
	struct local_file f = { file->path, file->build_id, file->build_id_len, file->inode,
				file->generation };

	return local_file_open(&f, l->home);
}

static enum local_stacks_end load_table(struct local_stacks *l, struct local_table *t,
					const struct user_file *file)
{
	if (!file->build_id_len && !file->inode)
		return LOCAL_STACKS_UNVERIFIED;
	if (l->bytes >= LOCAL_STACKS_MAX_BYTES)
		return LOCAL_STACKS_BUDGET;
	int fd = open_file(l, file);
	return fd < 0 ? end_of_error(fd) : build_table(t, fd);
}

/* Returns the table's index, from 1 on. */
static uint32_t table_of(struct local_stacks *l, const struct user_file *file)
{
	const uint32_t *known = map_get(&l->by_file, file->id);
	struct local_table t = { .kernel.state = TABLE_WANTED };

	if (known)
		return *known + 1;
	t.end = load_table(l, &t, file);
	if (t.end && !l->ends[t.end].example)
		l->ends[t.end].example = xstrdup(file->path);
	l->bytes += t.table.image.len;
	map_put(&l->by_file, file->id, l->tables.n);
	vec_push(&l->tables, t);
	return l->tables.n;
}

/* --- callbacks of the walker ------------------------------------------------------------------ */

struct local_walk {
	struct local_stacks *stacks;
	const struct user_stack *in;
	struct stack_copy copy;
	const struct local_table *table; /* the current one */
};

/* Keeps the file of the last call open: its code is likely to be read again. */
static bool open_code(struct local_stacks *l, const struct user_file *file)
{
	if (l->code.is_open && l->code.file == file->id)
		return true;
	if (l->code.is_open)
		close(l->code.fd);
	l->code.fd = open_file(l, file);
	l->code.file = file->id;
	return l->code.is_open = l->code.fd >= 0;
}

/* The code before an address shows whether a word on the stack is a return address; it is in a file
 * whose table was loaded. */
static bool read_code(struct local_walk *w, void *to, size_t size, uint64_t address)
{
	struct local_stacks *l = w->stacks;
	struct user_map m;

	if (!w->in->find(w->in->space, address, &m) || !m.file.path || size > m.end - address)
		return false;
	if (l->tables.v[table_of(l, &m.file) - 1].end || !open_code(l, &m.file))
		return false;
	uint64_t at = address - m.start + m.pgoff;
	return at <= INT64_MAX && pread(l->code.fd, to, size, at) == (ssize_t)size;
}

static bool read_memory(void *ctx, void *to, size_t size, uint64_t address)
{
	struct local_walk *w = ctx;

	return stack_copy_read(&w->copy, to, size, address) || read_code(w, to, size, address);
}

/* Without an object's number a frame is an address. */
static bool find_map(void *ctx, uint64_t address, struct space_mapping *out)
{
	struct local_walk *w = ctx;
	struct user_map m;

	if (!w->in->find(w->in->space, address, &m))
		return false;
	*out = (struct space_mapping){ .start = m.start, .end = m.end, .pgoff = m.pgoff };
	if (m.file.path)
		out->table = table_of(w->stacks, &m.file);
	return true;
}

static struct space_table *get_table(void *ctx, uint32_t index)
{
	struct local_walk *w = ctx;
	struct local_table *t = &w->stacks->tables.v[index - 1];

	w->table = t;
	return &t->kernel;
}

static const void *get_chunk(void *ctx, uint32_t chunk)
{
	const struct buf *image = &((struct local_walk *)ctx)->table->table.image;

	return chunk < image->len / UNWIND_CHUNK ? image->data + (size_t)chunk * UNWIND_CHUNK
						 : NULL;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static struct user_walk not_walked(struct local_stacks *l, enum local_stacks_end end,
				   const char *marker)
{
	l->ends[end].n++;
	return (struct user_walk){ .marker = marker };
}

/* Each caller has a return address on the stack: more frames would be a loop of signal frames. */
static uint32_t most_frames(size_t stack_bytes)
{
	size_t most = 2 + stack_bytes / 8;

	return most < LOCAL_STACKS_MAX_FRAMES ? most : LOCAL_STACKS_MAX_FRAMES;
}

static struct user_walk walk(struct local_stacks *l, const struct user_stack *s)
{
	struct local_walk w = {
		.stacks = l,
		.in = s,
		.copy = { .sp = s->regs[PERF_SP],
			  .fp = s->regs[PERF_BP],
			  .data = s->stack,
			  .size_bytes = s->stack_bytes,
			  .is_whole = s->is_whole },
	};
	struct unwind_source source = { .ctx = &w,
					.read = read_memory,
					.find = find_map,
					.table = get_table,
					.chunk = get_chunk };
	uint64_t regs[PT_REGS_WORDS];

	for (int i = 0; i < PT_REGS_WORDS; i++)
		regs[i] = perf_regs[i] == NO_REG ? 0 : s->regs[perf_regs[i]];
	uint32_t max = most_frames(s->stack_bytes);
	vec_reserve(&l->frames, max);
	struct unwind_walk got = unwind_walk(&source, regs, l->frames.v, max);
	for (uint32_t i = 0; i < got.n; i++)
		l->frames.v[i] &= ~FRAME_ADDRESS;
	struct user_walk out = { l->frames.v, got.n,
				 walk_end_marker(stack_copy_end(&w.copy, got.end)) };
	if (got.end == WALK_NOT_LOADED)
		out.marker = USER_STACK_NOT_WALKED;
	l->ends[got.end == WALK_NOT_LOADED ? w.table->end : LOCAL_STACKS_WALKED].n++;
	return out;
}

struct user_walk local_stacks_walk(void *stacks, const struct user_stack *s)
{
	struct local_stacks *l = stacks;

	if (s->machine == USER_MACHINE_X86)
		return not_walked(l, LOCAL_STACKS_MACHINE, walk_end_marker(WALK_32BIT));
	if (s->machine != USER_MACHINE_X86_64)
		return not_walked(l, LOCAL_STACKS_MACHINE, USER_STACK_NOT_WALKED);
	if (PERF_REGS_NEEDED & ~s->has_regs)
		return not_walked(l, LOCAL_STACKS_REGISTERS, USER_STACK_NOT_WALKED);
	return walk(l, s);
}
