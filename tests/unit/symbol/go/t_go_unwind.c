// tier: test
/* Real Go programs, stopped wherever they happen to be. Each of their stacks is walked by the rows of gopclntab, and every step is checked against
 * the code: a return address follows a call, a direct call goes to the function that the walk found below it, and the last frame belongs to a
 * function that nothing calls. */
#include "shell.h"
#include "unit.h"

#include "base/vec.h"
#include "symbol/symbol.h"
#include "unwind/table.h"

#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { MAX_FRAMES = 1024, RSP = 7, RBP = 6 };

struct mapping {
	uint64_t start, end, offset;
	uint32_t object;
};
struct object {
	char path[256];
	struct unwind_table table;
	struct symbol_source *names;
};
struct program {
	pid_t pid;
	VEC(struct mapping) maps;
	VEC(struct object) objects;
	VEC(pid_t) threads; /* that are traced */
	uint64_t stacks, complete, wrong, frames, direct_calls, passed_over;
	uint64_t stops, cut_stops; /* a stop is cut if one of its stacks is */
	uint64_t unexplained;      /* stacks that end anywhere but at asmcgocall */
};

/* --- the program ------------------------------------------------------------------------------- */

static bool read_memory(const struct program *p, uint64_t at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)at, n };
	return process_vm_readv(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static int open_object(const struct program *p, const char *path, const struct mapping *m)
{
	if (strcmp(path, "[vdso]") != 0)
		return open(path, O_RDONLY | O_CLOEXEC);
	size_t size = m->end - m->start;
	char *image = malloc(size);
	int fd = read_memory(p, m->start, image, size) ? file_of(image, size) : -1;
	free(image);
	return fd;
}

static uint32_t object_of(struct program *p, const char *path, const struct mapping *m)
{
	for (size_t i = 0; i < p->objects.n; i++)
		if (strcmp(p->objects.v[i].path, path) == 0)
			return i;
	struct object o = { 0 };
	int fd = open_object(p, path, m);
	snprintf(o.path, sizeof o.path, "%s", path);
	if (fd >= 0) {
		unwind_table_build(fd, &o.table, NULL);
		symbol_open_elf(fd, NULL, NULL, &o.names, NULL); /* reads from fd until the end */
	}
	vec_push(&p->objects, o);
	return p->objects.n - 1;
}

static void read_maps(struct program *p)
{
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%d/maps", p->pid);
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f)) {
		struct mapping m;
		char flags[8], name[256] = "";
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m.start, &m.end, flags,
			   &m.offset, name) >= 4 &&
		    flags[2] == 'x') {
			m.object = object_of(p, name, &m);
			vec_push(&p->maps, m);
		}
	}
	fclose(f);
}

static unsigned threads_of(pid_t pid)
{
	char path[32];
	unsigned n = 0;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	for (struct dirent *e; tasks && (e = readdir(tasks));)
		n += e->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return n;
}

static void program_start(struct program *p, const char *path)
{
	int pipes[2];
	char ready[6];
	ck_assert_int_eq(pipe(pipes), 0);
	p->pid = fork();
	if (p->pid == 0) {
		dup2(pipes[1], 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(pipes[1]);
	ck_assert_int_eq(read(pipes[0], ready, sizeof ready), 6);
	for (int i = 0; i < 300 && (!i || threads_of(p->pid) <= 2); i++)
		usleep(100000); /* then its threads and the C library are there */
	read_maps(p);
	close(pipes[0]);
}

static void program_end(struct program *p)
{
	kill(p->pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		; /* its threads are ours to wait for */
	for (size_t i = 0; i < p->objects.n; i++) {
		unwind_table_done(&p->objects.v[i].table);
		symbol_close(p->objects.v[i].names);
	}
	vec_done(&p->objects);
	vec_done(&p->maps);
	vec_done(&p->threads);
}

/* --- a walk ------------------------------------------------------------------------------------ */

struct frame {
	uint64_t pc;
	bool is_exact; /* not a return address */
	const struct object *object;
	struct symbol function;
	bool has_function;
	bool is_signal_frame;
};
struct walk {
	uint64_t pc, sp, fp;
	bool is_exact, is_complete;
	struct frame frames[MAX_FRAMES];
	size_t n;
};

static const struct mapping *find_mapping(const struct program *p, uint64_t pc)
{
	for (size_t i = 0; i < p->maps.n; i++)
		if (pc >= p->maps.v[i].start && pc < p->maps.v[i].end)
			return &p->maps.v[i];
	return NULL;
}

static bool value_of(const struct program *p, const struct walk *w, uint64_t cfa, uint8_t place,
		     int32_t offset, uint64_t *value)
{
	uint64_t reg = UNWIND_REGISTER(place) == RSP ? w->sp : w->fp;
	switch (UNWIND_KIND(place)) {
	case UNWIND_NONE:
		return true;
	case UNWIND_REG:
		*value = reg;
		return true;
	case UNWIND_CFA:
		return read_memory(p, cfa + offset, value, 8);
	case UNWIND_DEREF:
		return read_memory(p, reg + offset, value, 8);
	default:
		return false;
	}
}

/* Walks one frame up; false at the end. */
static bool step(const struct program *p, struct walk *w)
{
	uint64_t pc = w->is_exact ? w->pc : w->pc - 1, cfa, ra = 0;
	const struct mapping *m = find_mapping(p, pc);
	struct frame *f = &w->frames[w->n++];
	*f = (struct frame){ .pc = w->pc, .is_exact = w->is_exact };
	if (!m)
		return false;
	f->object = &p->objects.v[m->object];
	uint64_t offset = pc - m->start + m->offset;
	f->has_function = f->object->names && symbol_lookup(f->object->names, offset, &f->function);
	f->function.start += m->start - m->offset;
	const struct unwind_rule *r =
		f->object->table.image.data ? unwind_table_find(&f->object->table, offset) : NULL;
	w->is_complete = r && UNWIND_KIND(r->ra) == UNWIND_UNDEFINED;
	if (!r || w->is_complete)
		return false;
	uint64_t reg = UNWIND_REGISTER(r->cfa) == RSP ? w->sp : w->fp;
	cfa = reg + r->cfa_offset;
	if (UNWIND_KIND(r->cfa) == UNWIND_DEREF) {
		if (!read_memory(p, cfa, &cfa, 8))
			return false;
		cfa += r->cfa_add;
	} else if (UNWIND_KIND(r->cfa) == UNWIND_PLT) {
		cfa += (pc & 15) >= (uint64_t)r->cfa_add ? 8 : 0;
	}
	if (!value_of(p, w, cfa, r->ra, r->ra_offset, &ra) ||
	    !value_of(p, w, cfa, r->fp, r->fp_offset, &w->fp))
		return false;
	w->pc = ra;
	w->sp = cfa;
	w->is_exact = r->flags & UNWIND_SIGNAL;
	f->is_signal_frame = UNWIND_KIND(r->ra) == UNWIND_DEREF;
	return ra && w->n < MAX_FRAMES;
}

/* --- checks of a walk -------------------------------------------------------------------------- */

/* NAME and NAME.abi0 count as one: the second jumps to the first. */
static bool same_name(const char *a, const char *b)
{
	const char *abi = strstr(a, ".abi0");
	size_t n = abi ? (size_t)(abi - a) : strlen(a);
	return strncmp(a, b, n) == 0 && (!b[n] || strcmp(b + n, ".abi0") == 0);
}

static bool is_called(const struct frame *f, const char *name)
{
	return f->has_function && same_name(f->function.name, name);
}

/* Functions of the runtime that jump to others; "": to or from any. */
static bool may_jump(const char *from, const struct frame *to)
{
	static const char *const jumps[][2] = {
		{ "runtime.morestack_noctxt", "runtime.morestack" },
		{ "runtime.systemstack", "" }, /* to its argument, when already on that stack */
		{ "runtime.sigpanic0", "runtime.sigpanic" },
		{ "runtime.reflectcall", "" },
		{ "", "memeqbody" },
		{ "", "cmpbody" },
		{ "", "indexbody" },
		{ "", "indexbytebody" },
		{ "", "countbody" },
		{ "", "gcWriteBarrier" },
		{ "", "runtime.gcWriteBarrier" },
	};
	for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++)
		if ((!*jumps[i][0] || same_name(from, jumps[i][0])) &&
		    (!*jumps[i][1] || is_called(to, jumps[i][1])))
			return true;
	return false;
}

static const struct frame *function_at(struct program *p, uint64_t pc, struct frame *f)
{
	const struct mapping *m = find_mapping(p, pc);
	*f = (struct frame){ .pc = pc };
	if (m && p->objects.v[m->object].names)
		f->has_function = symbol_lookup(p->objects.v[m->object].names,
						pc - m->start + m->offset, &f->function);
	return f;
}

/* Whether the next frame can have called this one. */
static bool called_by(struct program *p, const struct frame *callee, const struct frame *caller)
{
	uint8_t code[8];
	int32_t distance;
	struct frame target;
	if (caller->is_exact || caller->is_signal_frame || is_called(caller, "runtime.goexit"))
		return true; /* nobody calls these */
	if (!read_memory(p, caller->pc - 8, code, sizeof code))
		return false;
	memcpy(&distance, code + 4, 4);
	bool indirect = false;
	for (int i = 0; i < 7; i++)
		indirect |= code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2;
	if (code[3] != 0xe8)
		return indirect;
	function_at(p, caller->pc + distance, &target);
	if (!target.has_function || !callee->has_function || indirect)
		return true; /* PLT, C without symbols */
	p->direct_calls++;
	if (is_called(callee, target.function.name) || may_jump(target.function.name, callee))
		return true;
	/* Up to Go 1.20, its caller is skipped. */
	bool passed_over = is_called(callee, "runtime.systemstack");
	p->passed_over += passed_over;
	return passed_over;
}

static void print_walk(const struct walk *w, const char *why, size_t at)
{
	printf("# %s at frame %zu:", why, at);
	for (size_t i = 0; i < w->n && i < at + 4; i++)
		printf(" %lx %s;", w->frames[i].pc,
		       w->frames[i].has_function ? w->frames[i].function.name : "?");
	printf("\n");
}

static void check_thread(struct program *p, pid_t tid)
{
	static struct walk w;
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
		return;
	w.pc = regs.rip;
	w.sp = regs.rsp;
	w.fp = regs.rbp;
	w.is_exact = true;
	w.n = 0;
	while (step(p, &w))
		;
	p->stacks++;
	p->frames += w.n;
	p->complete += w.is_complete;
	if (!w.is_complete && p->stacks - p->complete < 20)
		print_walk(&w, "incomplete", w.n);
	if (!w.is_complete)
		p->unexplained += !w.n || !is_called(&w.frames[w.n - 1], "runtime.asmcgocall");
	for (size_t i = 0; i + 1 < w.n; i++)
		if (!called_by(p, &w.frames[i], &w.frames[i + 1])) {
			if (p->wrong++ < 20)
				print_walk(&w, "no such call", i);
			break;
		}
}

/* --- stopping ---------------------------------------------------------------------------------- */

static void trace_threads(struct program *p)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", p->pid);
	DIR *dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		pid_t tid = atoi(e->d_name);
		if (tid > 0 && ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0)
			vec_push(&p->threads, tid);
	}
	closedir(dir);
}

/* Continues until the thread stops for us; signals that arrive before are passed on to it. */
static bool run_to_stop(pid_t tid, int request)
{
	int status;
	ptrace(request, tid, NULL, NULL);
	for (;;) {
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP || WSTOPSIG(status) == SIGTRAP)
			return true;
		int go_on = request == PTRACE_INTERRUPT ? PTRACE_CONT : request;
		ptrace(go_on, tid, NULL, WSTOPSIG(status));
	}
}

/* A step over a system call may wait for other threads, which are not handled in the meantime. */
static bool may_step(const struct program *p, pid_t tid)
{
	struct user_regs_struct regs;
	uint8_t code[4];
	return ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0 &&
	       read_memory(p, regs.rip - 2, code, sizeof code) &&
	       memcmp(code, "\x0f\x05", 2) != 0 && memcmp(code + 2, "\x0f\x05", 2) != 0;
}

/* Stops one thread after another, checks each of `steps` instructions, and lets it continue. */
static void check_program(struct program *p, const char *path, unsigned stops, unsigned steps)
{
	program_start(p, path);
	trace_threads(p);
	ck_assert_uint_gt(p->threads.n, 2);
	for (unsigned i = 0; i < stops; i++) {
		pid_t tid = p->threads.v[i % p->threads.n];
		if (!run_to_stop(tid, PTRACE_INTERRUPT))
			continue;
		uint64_t cut = p->stacks - p->complete;
		check_thread(p, tid);
		for (unsigned k = 0; k < steps && may_step(p, tid); k++)
			if (run_to_stop(tid, PTRACE_SINGLESTEP))
				check_thread(p, tid);
		p->stops++;
		p->cut_stops += p->stacks - p->complete > cut;
		ptrace(PTRACE_CONT, tid, NULL, NULL);
		usleep(rand() % 2000);
	}
	program_end(p);
}

static void check_build(const char *options, double share)
{
	char dir[32], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/busy", dir);
	shell_do("cd tests/live/prog/go && go build -buildvcs=false %s -o %s .", options, path);
	struct program p = { 0 };
	check_program(&p, path, 400, 0);
	check_program(&p, path, 100, 100); /* enough that one bad stop is a small part */
	printf("# go build %s: %lu stacks, %lu complete, %lu wrong, %lu frames, %lu direct calls, "
	       "%lu without the caller of systemstack, %lu of %lu stops cut\n",
	       options, p.stacks, p.complete, p.wrong, p.frames, p.direct_calls, p.passed_over,
	       p.cut_stops, p.stops);
	ck_assert_uint_gt(p.stacks, 1000);
	ck_assert_uint_gt(p.direct_calls, p.stacks);
	ck_assert_uint_eq(p.unexplained, 0);
	ck_assert_uint_le(p.cut_stops, (1 - share) * p.stops);
	ck_assert_double_le(p.wrong, (1 - share) * p.stacks);
	shell_do("rm -rf %s", dir);
}

START_TEST(plain)
{
	if (system("command -v go >/dev/null") != 0)
		T_SKIP("go is not installed");
	check_build("", 1);
}
END_TEST

START_TEST(stripped_pie)
{
	if (system("command -v go >/dev/null") != 0)
		T_SKIP("go is not installed");
	check_build("-buildmode=pie -ldflags='-s -w'", 1);
}
END_TEST

/* A goroutine's stack can move while C code that it called calls back into Go; the frame pointer that C holds then points to the old stack. Such a
 * stop is rare and cuts all of its steps, so stops are what is counted; all of them end at asmcgocall. */
START_TEST(with_c)
{
	if (system("command -v go >/dev/null") != 0)
		T_SKIP("go is not installed");
	check_build("-tags c", 0.95);
}
END_TEST

UNIT_MAIN("go_unwind", plain, stripped_pie, with_c)
