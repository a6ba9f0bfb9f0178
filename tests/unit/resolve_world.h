/* tests/unit/resolve_world.h: shared by the tests of the resolver: a small collector of the kernel's own records, samples made by hand, and programs
 * that run until they are told to end. */
#ifndef CRESSET_TESTS_RESOLVE_WORLD_H
#define CRESSET_TESTS_RESOLVE_WORLD_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "collect/kernel/side_band.h"
#include "collect/resolve/order.h"
#include "collect/resolve/resolve.h"
#include "profile/profile.h"
#include "shell.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* --- a small collector ------------------------------------------------------------------------ */

struct kept {
	struct side_record r;
	char name[512];
};
static int epoll_fd;
static struct side_band *band;
static struct resolver *resolver;
static struct profile *profile;
static VEC(struct kept) records;
static uint32_t type;
static uint64_t next_hash;
static char dir[32];

static bool children_only;              /* drops records of other processes than children */
static uint8_t is_child[(4 << 20) / 8]; /* a bit for each pid */

static inline bool drops(const struct side_record *r)
{
	if (!children_only || r->kind == SIDE_LOST || r->pid / 8 >= sizeof is_child)
		return false;
	if (r->kind == SIDE_FORK && r->ppid == (uint32_t)getpid())
		is_child[r->pid / 8] |= 1 << r->pid % 8;
	return !(is_child[r->pid / 8] & 1 << r->pid % 8);
}

static inline void keep(void *ctx, const struct side_record *r)
{
	struct kept k = { .r = *r };

	(void)ctx;
	if (drops(r))
		return;
	snprintf(k.name, sizeof k.name, "%s", r->name ? r->name : "");
	resolve_seen(resolver, &k.r);
	vec_push(&records, k);
}

static inline int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->r.time_ns < y->r.time_ns ? -1 : x->r.time_ns > y->r.time_ns;
}

/* Reads the kernel's records, opening files now. */
static inline void see(void)
{
	side_band_drain(band, keep, NULL);
}

/* Applies everything seen, in order. */
static inline void apply(void)
{
	see();
	if (records.n)
		qsort(records.v, records.n, sizeof *records.v, by_time);
	for (size_t i = 0; i < records.n; i++) {
		records.v[i].r.name = records.v[i].name;
		resolve_apply(resolver, &records.v[i].r);
	}
	vec_clear(&records);
}

static inline bool setup_with(struct sampler_opts asked)
{
	struct resolve_opts opts = { .max_open_files = 100 };
	struct err err = { 0 };

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (side_band_open(epoll_fd, 1, 64, &band, &err))
		return false;
	profile = profile_new();
	struct sink *sink = profile_sink(profile);
	type = sink->ops->type(sink, &(struct type){ .name = sink_string(sink, "cpu") });
	sampler_opts_settle(&asked);
	resolver = resolver_new(&opts, &asked,
				&(struct resolve_links){ .sink = sink,
							 .types = { .cpu = type,
								    .off_cpu = TYPE_NONE,
								    .sched_wait = TYPE_NONE,
								    .wall = TYPE_NONE,
								    .period_ns = 10101010 } });
	resolve_snapshot(resolver, NULL, NULL);
	next_hash = 1;
	temp_dir(dir);
	return true;
}

static inline bool setup(void)
{
	return setup_with((struct sampler_opts){ 0 });
}
#define NEEDS "needs CAP_PERFMON"

static inline void teardown(void)
{
	resolver_free(resolver);
	side_band_close(band);
	profile_free(profile);
	vec_done(&records);
	close(epoll_fd);
	shell_do("rm -rf %s", dir);
}

static inline void take_event(const struct event_sample *s)
{
	resolve_event(resolver, &(union order_event){ .sample = *s }, NULL);
}

struct given {
	uint32_t n_kernel, n_user, walk_end;
	uint64_t addr[16];
};
/* Hands over one sample: a thread and its stack. */
static inline void sample_at(uint32_t pid, uint32_t tid, const char *comm, struct given g,
			     uint64_t time_ns)
{
	struct event_sample s = {
		.kind = EVENT_SAMPLE, .time_ns = time_ns, .tgid = pid, .tid = tid, .cgroup_id = 1
	};
	uint64_t space[sizeof(struct event_stack) / 8 + 16];
	struct event_stack *st = (struct event_stack *)space;

	*st = (struct event_stack){ .kind = EVENT_STACK,
				    .n_kernel = g.n_kernel,
				    .n_user = g.n_user,
				    .stack_hash = next_hash++,
				    .walk_end = g.walk_end };
	memcpy(st->addr, g.addr, sizeof g.addr);
	snprintf(s.comm, sizeof s.comm, "%s", comm);
	s.stack_hash = st->stack_hash;
	resolve_stack_contents(resolver, st);
	take_event(&s);
}

/* One frame of user code, now. */
static inline void sample(uint32_t pid, uint64_t addr)
{
	sample_at(pid, pid, "test", (struct given){ .n_user = 1, .addr = { addr } },
		  clock_mono_ns());
}

static inline const char *frame_name(uint32_t frame)
{
	struct shown_line line;

	ck_assert_uint_ge(profile_frame_lines(profile, frame, &line, 1), 1);
	return profile_str(profile, line.name);
}

/* "root;…;leaf" of a row. */
static inline const char *stack_of(size_t row)
{
	static struct buf b;
	uint32_t frames[1024], stack = profile->samples.stack[row];

	buf_clear(&b);
	ck_assert_uint_lt(row, profile->samples.n);
	stack_frames(&profile->stacks, stack, frames);
	for (uint32_t i = 0; i < stack_depth(&profile->stacks, stack); i++)
		buf_addf(&b, "%s%s", i ? ";" : "", frame_name(frames[i]));
	return buf_cstr(&b);
}

static inline const struct frame *leaf_of(size_t row)
{
	return &profile->frames.frames.v[stack_leaf(&profile->stacks, profile->samples.stack[row])];
}

static inline const char *label_of(size_t row, const char *key)
{
	uint32_t set = profile->series.series.v[profile->samples.series[row]].labels;
	uint32_t id = strtab_find(&profile->strings, key);
	const struct label *l = label_find(&profile->series, set, id);

	return l ? profile_str(profile, l->str) : "";
}

/* --- programs --------------------------------------------------------------------------------- */

/* Each prints the address of one of its own functions, then waits for its input to end. */
static const char program_text[] =
	"#include <stdio.h>\n#include <dlfcn.h>\n"
	"int work_here(int n) { for (volatile int i = 0; i < n; i++); return n; }\n"
	"int work_there(int n) { return n + 1; }\n"
	"int main(int argc, char **argv) {\n"
	"  void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;\n"
	"  printf(\"%lx\\n\", lib ? (long)dlsym(lib, \"work_elsewhere\") : (long)work_here);\n"
	"  fflush(stdout); while (getchar() != EOF); return 0; }\n";
static const char library_text[] = "int work_elsewhere(int n) { return n + 1; }\n";

static inline void compile(const char *text, const char *flags, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "%s/%s.c", dir, name);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	shell_do("cc -w -O1 %s -o %s/%s %s -ldl", flags, dir, name, path);
	unlink(path);
}

struct child {
	pid_t pid;
	int in, out;
	uint64_t addr;
};

static inline uint64_t read_addr(int fd)
{
	char text[64] = "";

	for (size_t n = 0; n < sizeof text - 1 && !strchr(text, '\n'); n++)
		ck_assert_int_eq(read(fd, text + n, 1), 1);
	return strtoull(text, NULL, 16);
}

/* Starts a shell command that execs such a program, and waits for its address. */
static inline struct child run_shell(const char *command)
{
	struct child c;
	int in[2], out[2];

	ck_assert_int_eq(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	c.pid = fork();
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c.in = in[1];
	c.out = out[0];
	c.addr = read_addr(c.out);
	return c;
}

static inline struct child run_program(const char *name, const char *arg)
{
	char command[256];

	snprintf(command, sizeof command, "exec %s/%s %s", dir, name, arg);
	return run_shell(command);
}

static inline void end_program(struct child *c)
{
	close(c->in);
	close(c->out);
	waitpid(c->pid, NULL, 0);
}

static inline void record(struct side_record r, const char *name, uint64_t after_ns)
{
	r.name = name;
	r.time_ns = clock_mono_ns() + after_ns;
	resolve_seen(resolver, &r);
	resolve_apply(resolver, &r);
}

__attribute__((noinline)) int function_of_the_test(int n);
int function_of_the_test(int n)
{
	return n * n;
}

#endif
